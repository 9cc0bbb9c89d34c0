"""The operation and element-type enums of the compute path, one a numbering (cce 1.1, 1.2).

Five numberings name the same four operations; `dgekit.cce.remap` holds the tables between them. The engine's own
numbering is declared with the descriptor bits; the element types of the engine are the ISA's (`Dtype`).
"""

from __future__ import annotations

import enum
from typing import Final

from dgekit.core.dtypes import Dtype
from dgekit.descriptors.bd import CceOptype as CceType
from dgekit.layout import spelled


@spelled("kbin_dma_desc_op")
class KbinOp(enum.IntEnum):
    """What the host structure of a descriptor asks for."""

    COPY = 0
    FMA = 1
    ADD = 2
    MIN = 3
    MAX = 4
    TRANSPOSE = 5
    NUM = 6
    INVALID = (1 << 64) - 1


@spelled("kbin_dtype")
class KbinDtype(enum.IntEnum):
    """Element types as the host structure numbers them; no formula relates them to the engine's."""

    INVALID = 0
    FP8_E3 = 1
    FP8_E4 = 2
    FP8_E5 = 3
    FP16 = 4
    FP32 = 5
    FP32R = 6
    BF16 = 7
    UINT8 = 8
    UINT16 = 9
    UINT32 = 10
    UINT64 = 11
    INT8 = 12
    INT16 = 13
    INT32 = 14
    INT64 = 15


@spelled("CCE_OP")
class IsaCceOp(enum.IntEnum):
    """Reduction of an ISA word; the values are the engine's."""

    ADD = 0
    MAX = 2
    MIN = 3


@spelled("nrt_op_type")
class NrtOp(enum.IntEnum):
    """Operations of the runtime's public interface."""

    ADD = 0
    FMA = 1
    MAX = 2
    MIN = 3
    INVALID = 15


@spelled("ALU_OP")
class AluOp(enum.IntEnum):
    """The ALU operations that a collective trigger may carry."""

    ADD = 0x04
    MAX = 0x08
    MIN = 0x09


@spelled("REDUCE_OP")
class PoolReduceOp(enum.IntEnum):
    """The pooling engine's reductions: a numbering that must never reach a compute word."""

    ADD = 0
    AVERAGE = 1
    MAX = 2
    OR = 3
    AND = 4
    XOR = 5


class FmaOperand(enum.IntEnum):
    """What a selector of the multiply-add takes; 3 is not defined (cce 1.3)."""

    STORED_BUFFER = 0
    INPUT_BUFFER = 1
    SCALE = 2


# A x B + C with A = input, B = scale, C = stored (cce 3.5).
DEFAULT_SELECTORS: Final = (int(FmaOperand.INPUT_BUFFER), int(FmaOperand.SCALE), int(FmaOperand.STORED_BUFFER))

__all__ = [
    "DEFAULT_SELECTORS", "AluOp", "CceType", "Dtype", "FmaOperand", "IsaCceOp", "KbinDtype", "KbinOp", "NrtOp",
    "PoolReduceOp",
]  # fmt: skip

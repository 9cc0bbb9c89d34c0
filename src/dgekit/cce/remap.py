"""From one numbering to another: operations, element types and the two tables of element sizes (cce 1.1, 1.2).

The runtime holds these as constant arrays. Operations are related by name, host element types by the NEFF numbering,
which they share; a test compares the derived arrays with the published ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Final, TypeVar

from dgekit.cce.enums import AluOp, CceType, Dtype, IsaCceOp, KbinDtype, KbinOp, NrtOp
from dgekit.cce.faults import finding, refusal_error
from dgekit.core.dtypes import DTYPES, E4M3FN
from dgekit.core.errors import ComputeError, Issue
from dgekit.layout.say import brief, suggestion
from dgekit.words.enums import ComputeOp

E = TypeVar("E", bound=IntEnum)

MAX_DTYPE: Final = int(Dtype.FP8_EXP5)  # four bits of a compute word

# index op - 1
KBIN_OP_TO_CCETYPE: Final = tuple(CceType[op.name] for op in (KbinOp.FMA, KbinOp.ADD, KbinOp.MIN, KbinOp.MAX))

_SDMA_OF_KBIN = {info.neff_code: info.code for info in DTYPES if info.neff_code is not None}
# index dtype - 1
KBIN_DTYPE_TO_SDMA: Final = tuple(_SDMA_OF_KBIN[code] for code in range(1, len(KbinDtype)))

_WIDTHS = {int(info.code): info.size for info in DTYPES}
# Index: SDMA code. The second table serves `kbin_dtype_size` and transposes only.
DATA_TYPE_SIZES: Final = tuple(_WIDTHS.get(code, 0) for code in range(MAX_DTYPE + 1))
# Every compute and collective size. FP32R is 0 here: sizing a packet with it asserts (cce 5.2).
SDMA_DATA_TYPE_SIZE: Final = tuple(0 if code == Dtype.FP32R else size for code, size in enumerate(DATA_TYPE_SIZES))

TEXT_TO_KBIN_OP: Final[Mapping[str, KbinOp]] = {
    op.name.lower(): op for op in (KbinOp.FMA, KbinOp.ADD, KbinOp.MIN, KbinOp.MAX)
}
TEXT_TO_KBIN_DTYPE: Final[Mapping[str, KbinDtype]] = {
    **{info.neff_name: KbinDtype(info.neff_code) for info in (*DTYPES, E4M3FN) if info.neff_code is not None},
    # opaque containers: their bytes are integers
    "float8_e4m3fn_x4": KbinDtype.UINT32,
    "float8_e5m2_x4": KbinDtype.UINT32,
    "float4_e2m1fn_x4": KbinDtype.UINT16,
}


def ccetype_from_kbin(op: int) -> CceType:
    """The engine's operation for a host operation; ComputeError with the runtime's assertion outside 1..4.

    >>> ccetype_from_kbin(KbinOp.MAX).name
    'MAX'
    """
    if not 1 <= op <= len(KBIN_OP_TO_CCETYPE):
        raise refusal_error("bad_op", op, rule="cce.1.1", op=int(op), fix="FMA 1, ADD 2, MIN 3 or MAX 4")
    return KBIN_OP_TO_CCETYPE[op - 1]


def ccetype_from_nrt(op: int) -> CceType:
    """The engine's operation for one of the public interface."""
    return CceType[_member(NrtOp, op, without=(NrtOp.INVALID,)).name]


def ccetype_from_alu(op: int) -> CceType:
    """The engine's operation for the ALU operation of a collective trigger (M/I: only both sides are observed)."""
    return CceType[_member(AluOp, op).name]


def ccetype_from_isa(op: int) -> CceType:
    """The engine's operation for an ISA reduction."""
    return CceType[_member(IsaCceOp, op).name]


def ccetype_from_compute_op(op: int) -> CceType:
    """The engine's operation for a DGE word's compute op; MULTIPLY has none: it is two FMA sources (cce CHOICE-02)."""
    return CceType[_member(ComputeOp, op, without=(ComputeOp.NONE, ComputeOp.MULTIPLY)).name]


def _member(members: type[E], number: int, *, without: tuple[IntEnum, ...] = ()) -> E:
    for member in members:
        if member == number and member not in without:
            return member
    legal = [member for member in members if member not in without]
    raise ComputeError(
        f"{members.__name__} {number} has no compute type",
        rule="cce.1.1",
        values={"op": int(number), "legal": [int(member) for member in legal]},
        source="cce 1.1",
        fix="one of " + ", ".join(f"{member.name} {int(member)}" for member in legal),
    )


def kbin_op_named(text: str) -> KbinOp:
    """The host operation of a KBIN text key (`add`, `fma`, `min`, `max`)."""
    op = TEXT_TO_KBIN_OP.get(text)
    if op is None:
        fix = "one of " + ", ".join(TEXT_TO_KBIN_OP)
        raise ComputeError(f"no compute operation is called {brief(text)}", rule="cce.1.1", source="cce 1.1", fix=fix)
    return op


def kbin_dtype_named(text: str) -> KbinDtype:
    """The host element type of a KBIN text key; the `_x4` names are opaque 32- and 16-bit containers."""
    dtype = TEXT_TO_KBIN_DTYPE.get(text)
    if dtype is None:
        fix = suggestion(text, TEXT_TO_KBIN_DTYPE)
        raise ComputeError(f"no element type is called {brief(text)}", rule="cce.1.2", source="cce 1.2", fix=fix)
    return dtype


def sdma_from_kbin(dtype: int) -> Dtype:
    """The engine's element type for the host's; ComputeError with the runtime's assertion outside 1..15.

    >>> sdma_from_kbin(KbinDtype.BF16).name
    'BFLOAT16'
    """
    if not 1 <= dtype <= len(KBIN_DTYPE_TO_SDMA):
        raise refusal_error("bad_dtype", dtype, rule="cce.1.2", dtype=int(dtype), fix="a kbin_dtype from 1 to 15")
    return KBIN_DTYPE_TO_SDMA[dtype - 1]


def kbin_dtype_size(dtype: int) -> tuple[int, tuple[Issue, ...]]:
    """Bytes of a host element type; outside 1..15 the runtime logs and goes on with 0, so the size is 0 and an issue.

    >>> kbin_dtype_size(KbinDtype.FP32R)
    (4, ())
    """
    if not 1 <= dtype <= len(KBIN_DTYPE_TO_SDMA):
        return 0, (finding("dtype_size", dtype, rule="cce.1.2", dtype=int(dtype), fix="a kbin_dtype from 1 to 15"),)
    return DATA_TYPE_SIZES[KBIN_DTYPE_TO_SDMA[dtype - 1]], ()

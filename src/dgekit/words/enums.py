"""The enums of the words: values as the headers have them (isa-words 2).

A value that an enum does not hold stays a plain int, so that every word re-encodes.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum, IntFlag
from types import MappingProxyType
from typing import Final

from dgekit.core import state
from dgekit.core.dtypes import Dtype
from dgekit.core.evidence import Evidence
from dgekit.layout import spelled, spelling

# Constants of the words (isa-words 0, 1.3, 1.5, 3.1); all high, observed, the last one medium, inferred.
NUM_DGE_SHAPE_REGISTERS: Final = state.NUM_SHAPE_REGISTERS
NUM_SEMAPHORES: Final = state.NUM_SEMAPHORES
NUM_REGISTERS: Final = state.NUM_REGISTERS
POOLING_NUM_CHANNELS: Final = 128
MAX_INDICES_PER_LEG: Final = 4096
MAX_PRIORITY_CLASS: Final = 4
ADDR8_MARKER_MASK: Final = 0xFC
ADDR4_MARKER_MASK: Final = 0xE0
PARTITION_ADDR_MASK: Final = 0x1FFFFFFF
ELEM_SIZE_ZERO_MEANS: Final = 65536

WORD_SIZE: Final = 64
INST_WORD_LEN: Final = 0x10
INDEX_BYTES: Final = 4  # u32 (isa-words 4.3)
PARTITION_OFFSET_BITS: Final = 18  # bits 17:0 of a PARTITION_OFFSET (isa-words 1.5)
DESCRIPTOR_REGISTERS: Final = 4  # that hold one 16-byte descriptor (isa-words 1.11)

# Transposes (isa-words 4.4, 4.5): the tile of the crossbar and what it is aligned to, in bytes
TILE_ROWS: Final = 16
TILE_COLUMNS: Final = MappingProxyType({2: 128, 4: 64})  # widest tile by bytes of the dtype
LINE_BYTES: Final = 32
GATHER_ELEM_SIZE: Final = range(2, 257)


class Opcode(IntEnum):
    """Byte 0 of a word: the DMA words, the whole pseudo band and neighbours (isa-words 2.1)."""

    GATHER = 0x68
    STREAM_TRANSPOSE = 0x6B
    MOVE_SHAPE = 0xB2
    DMAMEMCPY = 0xB8
    DMA_MEMCPY2 = 0xB9
    DMA_IMMEDIATE = 0xBA
    DMA_INDIRECT = 0xBB
    DMA_TRANSPOSE = 0xBD
    SB2SB_COLLECTIVE = 0xBF
    PSEUDO_DMATRIGGER = 0xC1
    PSEUDO_DMAREARM = 0xC2
    PSEUDO_DMABARRIER = 0xC3
    PSEUDO_DMAMEMCPY_FULL_IND = 0xC4
    PSEUDO_SEMAPHORE_SET = 0xC5
    PSEUDO_LOAD_ACT_FUNC_SET = 0xC6
    PSEUDO_TRIGGER_ALL_REDUCE = 0xC7
    PSEUDO_TRIGGER_COLLECTIVE = 0xC8
    PSEUDO_READ_VAR_ADDR = 0xC9
    PSEUDO_EMBEDDING_UPDATE = 0xCA
    PSEUDO_SEND_RECV = 0xCB
    PSEUDO_BRANCH_LABEL = 0xCC
    PSEUDO_TENSOR_STORE = 0xCD
    PSEUDO_TENSOR_LOAD = 0xCE
    PSEUDO_DMASWAP_QUEUE_SET = 0xCF
    PSEUDO_SET_RNG_SEED = 0xD0
    PSEUDO_FUNCTION_BEGIN = 0xD1
    PSEUDO_FUNCTION_RETURN = 0xD2
    PSEUDO_FUNCTION_CALL = 0xD3
    PSEUDO_DMA_DIRECT2D = 0xD4
    PSEUDO_SYNC_BARRIER = 0xD5
    PSEUDO_RANGE_CHECK = 0xD6
    PSEUDO_JPEG_DECODE = 0xD7
    PSEUDO_CORE_BARRIER = 0xD8
    PSEUDO_TRIGGER_COLLECTIVE2 = 0xD9
    PSEUDO_EXTENSION = 0xDA
    PSEUDO_CUR_PROCESSING_RANK_ID = 0xDB
    PSEUDO_GID_LOAD = 0xDC
    PSEUDO_BRANCH_PREFETCH_HINT = 0xDD
    PSEUDO_TENSOR_COMPLETION = 0xDE
    PSEUDO_INST = 0xDF
    INDIRECT_COPY = 0xE7
    EXTENDED_INST = 0xF0
    DMA_GATHER_TRANSPOSE = 0xF1
    INVALID = 0xFF


UNASSIGNED_OPCODES: Final[Mapping[int, str]] = {
    0xC0: "is the one value of the pseudo band that is not assigned",
    Opcode.INVALID: "is INVALID",
}


@spelled("EXTENDED_OPCODE")
class ExtendedOpcode(IntEnum):
    """Byte 12 of a 0xf0 word; value 5 does not exist (isa-words 2.2)."""

    EXTENDED_ENGINE_NOP = 0x00
    EXTENDED_COPY = 0x01
    EXTENDED_TENSOR_TENSOR_ARITH = 0x02
    EXTENDED_RAND_SET_STATE = 0x03
    EXTENDED_RAND_GET_STATE = 0x04
    EXTENDED_SBUF_TO_SBUF = 0x06
    EXTENDED_CPTC_DECODE = 0x07
    EXTENDED_RDMA_DESC_GEN = 0x08
    EXTENDED_RDMA_DESC_START = 0x09


@spelled("DGE_OPCODE")
class DgeOpcode(IntEnum):
    """Byte 15 of the pseudo word: which word it resolves to (isa-words 2.3)."""

    DMA_DIRECT2D = 0
    DMA_INDIRECT1D = 1
    DMA_TRANSPOSE = 2
    DMA_GATHER_TRANSPOSE = 3


@spelled("DGE_COMPUTE_OP")
class ComputeOp(IntEnum):
    """What happens to the destination element B with the source element A (isa-words 2.4)."""

    NONE = 0
    ADD = 1
    MULTIPLY = 2
    MAX = 3
    MIN = 4


@spelled("INDIRECT_DIM")
class IndirectDim(IntEnum):
    """A dimension of a pattern; X is the fastest (isa-words 2.6)."""

    X = 0
    Y = 1
    Z = 2
    W = 3


@spelled("INDIRECT_DMA_ADDRESSING_MODE")
class IndirectMode(IntEnum):
    """Which leg the index vector applies to; 3 is not defined (isa-words 2.7)."""

    SRC_INDIRECTION = 0
    DST_INDIRECTION = 1
    SRC_DST_INDIRECTION = 2


@spelled("WAIT_MODE")
class WaitMode(IntEnum):
    """What the issue of a word waits for (isa-words 2.8)."""

    NONE = 0x00
    WAIT_FOR_SEM_EQ_IMM = 0x01
    WAIT_FOR_SEM_LT_IMM = 0x02
    WAIT_FOR_SEM_LE_IMM = 0x03
    WAIT_FOR_SEM_GT_IMM = 0x04
    WAIT_FOR_SEM_GE_IMM = 0x05
    WAIT_FOR_EVT_SET = 0x06
    WAIT_FOR_EVT_SET_THEN_CLEAR = 0x07
    WAIT_FOR_EVT_CLEAR = 0x0E
    WAIT_FOR_EVT_CLEAR_THEN_SET = 0x0F
    WAIT_FOR_SEM_EQ_REG = 0x81
    WAIT_FOR_SEM_LT_REG = 0x82
    WAIT_FOR_SEM_LE_REG = 0x83
    WAIT_FOR_SEM_GT_REG = 0x84
    WAIT_FOR_SEM_GE_REG = 0x85
    WAIT_FOR_SEM_EQ_REG_OFFSET = 0x91
    WAIT_FOR_SEM_LT_REG_OFFSET = 0x92
    WAIT_FOR_SEM_LE_REG_OFFSET = 0x93
    WAIT_FOR_SEM_GT_REG_OFFSET = 0x94
    WAIT_FOR_SEM_GE_REG_OFFSET = 0x95
    UNORDERED = 0xFE
    INVALID = 0xFF


@spelled("UPDATE_MODE")
class UpdateMode(IntEnum):
    """What a word does to a semaphore or event; 0x85, 0x89 and 0x95 follow from the pattern (isa-words 2.9)."""

    NONE = 0x00
    EVT_SET_READ = 0x01
    EVT_CLR_READ = 0x02
    SEM_INC_READ = 0x03
    SEM_DEC_READ = 0x04
    SEM_ADD_IMM_READ = 0x05
    SEM_SUB_IMM_READ = 0x07
    SEM_WR_IMM_READ = 0x09
    EVT_SET_COMPLETE = 0x11
    EVT_CLR_COMPLETE = 0x12
    SEM_INC_COMPLETE = 0x13
    SEM_DEC_COMPLETE = 0x14
    SEM_ADD_IMM_COMPLETE = 0x15
    SEM_SUB_IMM_COMPLETE = 0x17
    SEM_WR_IMM_COMPLETE = 0x19
    SEM_ADD_REG_READ = 0x85
    SEM_SUB_REG_READ = 0x87
    SEM_WR_REG_READ = 0x89
    SEM_ADD_REG_COMPLETE = 0x95
    SEM_SUB_REG_COMPLETE = 0x97
    SEM_WR_REG_COMPLETE = 0x99
    INVALID = 0xFF


@spelled("DEBUG_CMD_LEVEL")
class DebugCmdLevel(IntEnum):
    """The profiling marker of a word (isa-words 2.10)."""

    NONE = 0
    NOTIFY = 1
    START = 3
    END = 5
    START_END = 7
    INS_FIELD = 9


@spelled("ADDR8_MARKER")
class Addr8Marker(IntEnum):
    """The legal markers of an 8-byte address, byte 7 under the mask 0xFC (isa-words 1.3)."""

    IMM = 0x00
    SHAPE_REG = 0x40
    ADDR_REG = 0x80
    ADDR_SHAPE_REG = 0xC0
    ADDR_TBL_SHAPE_IMM = 0x20
    ADDR_TBL_SHAPE_IMM_OFFSET_REG = 0x28
    ADDR_TBL_SHAPE_IMM_OFFSET_REG_WIDE = 0x2C
    ADDR_TBL_SHAPE_REG = 0x60
    ADDR_TBL_SHAPE_REG_OFFSET_REG = 0x68
    ADDR_TBL_SHAPE_REG_OFFSET_REG_WIDE = 0x6C


@spelled("ADDR8_MARKER_BIT")
class Addr8MarkerBit(IntFlag):
    """The bits of an ADDR8 marker; VAR_ID exists in pseudo words only (isa-words 1.3)."""

    ADDR_TBL_OFFSET_WIDE = 0x04
    ADDR_TBL_OFFSET_REG = 0x08
    VAR_ID = 0x10
    ADDR_TBL = 0x20
    SHAPE_REG = 0x40
    ADDR_REG = 0x80
    MASK = 0xFC


@spelled("ADDR4_MARKER")
class Addr4Marker(IntEnum):
    """Byte 3 of a 4-byte address, tested under 0xE0; MXTENSOR_V2 is MAVERICK's (isa-words 2.12)."""

    IMM = 0x00
    SHAPE_REG = 0x40
    ADDR_REG = 0x80
    ADDR_SHAPE_REG = 0xC0
    INDIRECT_IMM = 0x20
    INDIRECT_REG = 0xA0
    MXTENSOR_V2 = 0x01


@spelled("DMA_ENGINE_COUNT")
class EngineCount(IntEnum):
    """How many engines a v5 word uses; the value is the logarithm (isa-words 2.11)."""

    ONE = 0
    TWO = 1
    FOUR = 2
    EIGHT = 3


@spelled("SEMA_SYNC")
class SemaSync(IntEnum):
    """How a v5 write-done update is ordered (isa-words 2.11)."""

    SOW = 0
    CLEAR_PCIE_RO = 1


@spelled("DMA_DESC_MODE")
class DescMode(IntEnum):
    """Where an inline descriptor comes from (isa-words 2.11)."""

    IMMEDIATE = 0
    REGISTER = 1


@spelled("DMA_ADDR_MODE")
class AddrMode(IntEnum):
    """The twelve address modes of v5; 0xc to 0xf are not defined (isa-words 2.11)."""

    IMM64 = 0x0
    REG_PAIR = 0x1
    REG_IMM_OFFSET32 = 0x2
    REG_IMM_OFFSET32_I = 0x3
    REG_REG_OFFSET32 = 0x4
    REG_REG_OFFSET32_I = 0x5
    REG_REG_OFFSET64 = 0x6
    REG_REG_OFFSET64_I = 0x7
    REG_REG_IMM_SCALE = 0x8
    REG_REG_IMM_SCALE_I = 0x9
    REG_REG_REG_SCALE = 0xA
    REG_REG_REG_SCALE_I = 0xB


@spelled("DMA_SEMA_UPDATE_MODE")
class SemaUpdateMode(IntEnum):
    """A v5 completion update: bit 0 enabled, 1 counter, 2 collective-sync block, 3 remote (isa-words 2.11)."""

    NONE = 0x0
    LOCAL_SEM_INC = 0x1
    LOCAL_SEM_INC_COUNTER = 0x3
    LOCAL_COLLSYNC_INC = 0x5
    REMOTE_SEM_INC = 0x9
    REMOTE_SEM_INC_COUNTER = 0xB
    REMOTE_COLLSYNC_INC = 0xD


@spelled("TENSOR_SHAPE_MOVE_TYPE")
class MoveType(IntEnum):
    """What MOVE_SHAPE moves (isa-words 2.13)."""

    IMMEDIATE = 0
    REG_TO_SHAPE = 1
    SHAPE_TO_REG = 2


_CLASSES: tuple[type[IntEnum], ...] = (
    Opcode,
    ExtendedOpcode,
    DgeOpcode,
    ComputeOp,
    Dtype,
    IndirectDim,
    IndirectMode,
    WaitMode,
    UpdateMode,
    DebugCmdLevel,
    Addr8Marker,
    Addr4Marker,
    EngineCount,
    SemaSync,
    DescMode,
    AddrMode,
    SemaUpdateMode,
    MoveType,
)

# Every enum by the specification's name.
ENUMS: Mapping[str, type[IntEnum]] = {spelling(cls): cls for cls in _CLASSES}

# Members that no source shows but that follow from the pattern of the others (isa-words 2.9).
INFERRED: Mapping[tuple[str, int], Evidence] = {
    ("UPDATE_MODE", value): Evidence.parse("M/I", "isa-words 2.9") for value in (0x85, 0x89, 0x95)
}

__all__ = [name.__name__ for name in _CLASSES] + ["Addr8MarkerBit"]

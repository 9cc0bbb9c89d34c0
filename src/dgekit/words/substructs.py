"""The building blocks of the words: header, events, flag bytes and the address unions (isa-words 1)."""

from __future__ import annotations

from dgekit.core.dtypes import Dtype
from dgekit.layout import Struct, TaggedUnion
from dgekit.layout.fields import Field, data, enum, i16s, reserved, u8, u16, u16s, u32, uint, union
from dgekit.words import shorthand
from dgekit.words.enums import (
    ADDR4_MARKER_MASK,
    ADDR8_MARKER_MASK,
    INST_WORD_LEN,
    PARTITION_ADDR_MASK,
    PARTITION_OFFSET_BITS,
    Addr4Marker,
    Addr8Marker,
    DebugCmdLevel,
    IndirectDim,
    IndirectMode,
    Opcode,
    UpdateMode,
    WaitMode,
)


def reg(offset: int, doc: str, tag: str = "", *, bits: int = 8, bit: int = 0) -> Field[int]:
    """A register number, 0..63 general registers (isa-words 1.5, REG_NUM)."""
    return uint(bits, offset, doc, tag, bit=bit, spelled="REG_NUM")


class Header(Struct, name="HEADER", size=4, source="isa-words 1.1"):
    """The first four bytes of every word but PSEUDO_DMA_EXT."""

    opcode = enum(0, Opcode, "which word this is")
    inst_word_len = u8(1, "length in 4-byte units, always 0x10", default=INST_WORD_LEN)
    debug_cmd = enum(2, DebugCmdLevel, "profiling marker")
    debug_hint = u8(3, "free trace byte")


class Events(Struct, name="EVENTS", size=8, source="isa-words 1.2"):
    """What gates the issue of a word, and what it updates; independent of the completion semaphore."""

    wait_mode = enum(0, WaitMode, "condition to wait for")
    wait_idx = u8(1, "semaphore or event waited on")
    update_mode = enum(2, UpdateMode, "update made by the word")
    update_idx = u8(3, "semaphore or event updated")
    semaphore_value = u32(4, "immediate of the wait compare and of the update", "M/I")


class SemBaseOffset(Struct, name="SEM_BASE_OFFSET", size=4, source="isa-words 1.2"):
    """How a v5 register-offset wait reads `semaphore_value`; bit order inferred."""

    reg = reg(0, "register with the base value")
    off = uint(24, 1, "offset added to it")

    @classmethod
    def of(cls, semaphore_value: int) -> SemBaseOffset:
        """The two parts of a 32-bit semaphore value."""
        return cls.decode(semaphore_value.to_bytes(4, "little"))


class BoundCheckReg(Struct, name="BOUND_CHECK_REG", size=1, source="isa-words 1.6"):
    """Which register holds an upper limit, and what happens past it."""

    bc_reg = reg(0, "register of the limit (with a wide offset, the pair from it)", bits=6)
    bc_disable_oob_error_notif = uint(1, 0, "1 = out of bounds sends no error notification", bit=6)
    bc_enabled = uint(1, 0, "1 = check", bit=7)


class DmaConfigs(Struct, name="DMA_CONFIGS", size=1, source="isa-words 1.7"):
    """The priority class of a word."""

    priority_class = uint(3, 0, "0 = default packet size, 1..4 = classes")
    reserved_bitfield = reserved(5, 0, bit=3)


class DmaIndirectFlags(Struct, name="DMA_INDIRECT_FLAGS", size=1, source="isa-words 1.8"):
    """How the index vectors of an indirect word apply."""

    indirect_mode = enum(0, IndirectMode, "which leg is indexed", bits=2)
    idx_bound_is_err = uint(1, 0, "1 = an out-of-bound index is an error", bit=2)
    non_unique_dst_idx = uint(1, 0, "1 = several indices may hit one destination", bit=3)
    gather_dim = enum(0, IndirectDim, "dimension of the source index", bit=4, bits=2)
    scatter_dim = enum(0, IndirectDim, "dimension of the destination index", bit=6, bits=2)


class DmaGatherTransposeFlags(Struct, name="DMA_GATHER_TRANSPOSE_FLAGS", size=1, source="isa-words 1.9"):
    """The gather dimension of a gather-transpose."""

    gather_dim = enum(0, IndirectDim, "dimension of the source index", bits=2)
    reserved = reserved(6, 0, bit=2)


class DtypePair(Struct, name="DTYPE_PAIR", size=1, source="isa-words 1.9"):
    """Two dtypes in one byte; only 0x0 to 0xF fit."""

    dtype_lo = enum(0, Dtype, "source dtype", bits=4)
    dtype_hi = enum(0, Dtype, "destination dtype", bit=4, bits=4)


class ExtCompletionInfo(Struct, name="EXT_COMPLETION_INFO", size=1, source="isa-words 1.10"):
    """What an extended word reads and writes."""

    has_read = uint(1, 0, "the word reads")
    reserved0 = reserved(1, 0, bit=1)
    has_write = uint(1, 0, "the word writes", bit=2)
    num_active_ports = uint(3, 0, "0 = 8 ports (128 partitions), else that many ports of 16 partitions", bit=3)
    reserved1 = reserved(2, 0, bit=6)


# ---- ADDR8 (isa-words 1.3) -----------------------------------------------------------------------------------------


class _Addr8Arm(Struct):
    """What every 8-byte arm offers."""

    @property
    def marker_value(self) -> int:
        """Byte 7 under the mask 0xFC."""
        return self.encode()[7] & ADDR8_MARKER_MASK


class Addr8Immediate(_Addr8Arm, name="ADDR8_IMMEDIATE", size=8, source="isa-words 1.3", tag="M/I"):
    """A 58-bit device address; with marker 0 the eight bytes are the address."""

    address = uint(58, 0, "device address", base=16, unit="byte address")
    marker_bits = uint(6, 7, "marker >> 2: 0 or, with the shape in a register, 0x10", bit=2, spelled="ADDR8_MARKER>>2")


class Addr8Reg(_Addr8Arm, name="ADDR8_REG", size=8, source="isa-words 1.3", tag="M/I"):
    """Address from two 32-bit registers, `reg_hi` << 32 + `reg_lo`."""

    reg_lo = reg(0, "register of the low half")
    reg_hi = reg(1, "register of the high half")
    reserved = reserved(40, 2)
    marker = enum(7, Addr8Marker, "0x80, or 0xc0 with the shape in a register", default=Addr8Marker.ADDR_REG)


class Addr8TblImm(_Addr8Arm, name="ADDR8_TBL_IMM", size=8, source="isa-words 1.3", tag="M/I"):
    """Address table entry plus an immediate offset."""

    offset = u32(0, "offset added to the entry", unit="bytes")
    table_entry_id = u16(4, "entry of the address table")
    reserved = reserved(8, 6)
    marker = enum(7, Addr8Marker, "0x20, or 0x60", default=Addr8Marker.ADDR_TBL_SHAPE_IMM)


class Addr8TblReg(_Addr8Arm, name="ADDR8_TBL_REG", size=8, source="isa-words 1.3", tag="M/I"):
    """Address table entry plus an offset in a register, or in the pair `r`, `r + 1` when wide."""

    offset_reg = u32(0, "register of the offset", spelled="u32 holding a REG_NUM")
    table_entry_id = u16(4, "entry of the address table")
    reserved = reserved(8, 6)
    marker = enum(7, Addr8Marker, "0x28 or 0x68, wide + 4", default=Addr8Marker.ADDR_TBL_SHAPE_IMM_OFFSET_REG)


class PseudoAddr8Var(_Addr8Arm, name="PSEUDO_ADDR8_VAR", size=8, source="isa-words 1.4"):
    """A compiler variable plus a byte offset; pseudo words only."""

    offset = u32(0, "offset added after the id is resolved", unit="bytes")
    var_id = uint(24, 4, "compiler variable id")
    marker = enum(7, Addr8Marker, "0x10, or 0x50 with the shape in a register", default=0x10)


class AddrRaw(_Addr8Arm, name="ADDR_RAW", size=8, source="isa-words 1.3", tag="-"):
    """Eight bytes whose marker or mode no source explains."""

    raw = data(8, 0, "the bytes as they are")


Addr8 = Addr8Immediate | Addr8Reg | Addr8TblImm | Addr8TblReg | AddrRaw
PseudoAddr8 = Addr8Immediate | Addr8Reg | Addr8TblImm | Addr8TblReg | PseudoAddr8Var | AddrRaw

_ADDR8_ARMS: dict[int, type[Struct]] = {
    0x00: Addr8Immediate,
    0x40: Addr8Immediate,
    0x80: Addr8Reg,
    0xC0: Addr8Reg,
    0x20: Addr8TblImm,
    0x60: Addr8TblImm,
    0x28: Addr8TblReg,
    0x68: Addr8TblReg,
    0x2C: Addr8TblReg,
    0x6C: Addr8TblReg,
}

ADDR8: TaggedUnion[Addr8] = TaggedUnion(
    "ADDR8",
    tag_offset=7,
    mask=ADDR8_MARKER_MASK,
    arms=_ADDR8_ARMS,
    raw=AddrRaw,
    plain=Addr8Immediate,
    source="isa-words 1.3",
    shorthand=shorthand.addr8,
)

PSEUDO_ADDR8: TaggedUnion[PseudoAddr8] = TaggedUnion(
    "PSEUDO_ADDR8",
    tag_offset=7,
    mask=ADDR8_MARKER_MASK,
    arms={**_ADDR8_ARMS, 0x10: PseudoAddr8Var, 0x50: PseudoAddr8Var},
    raw=AddrRaw,
    plain=Addr8Immediate,
    source="isa-words 1.4",
    shorthand=shorthand.pseudo_addr8,
)


# ---- ADDR4 (isa-words 1.5) -----------------------------------------------------------------------------------------


class _Addr4Arm(Struct):
    """What every 4-byte arm offers."""

    @property
    def marker_value(self) -> int:
        """Byte 3 under the mask 0xE0."""
        return self.encode()[3] & ADDR4_MARKER_MASK


class Addr4Immediate(_Addr4Arm, name="ADDR4_IMMEDIATE", size=4, source="isa-words 1.5"):
    """An on-chip place in one u32: 29 bits of window under a 3-bit marker.

    MAVERICK's MXTENSOR_V2 marker (byte 3 = 0x01) cannot be told from an address with bit 24 set; it decodes here.
    """

    addr_immediate = u32(0, "PARTITION_OFFSET with the marker in bits 31:29", spelled="PARTITION_OFFSET", base=16)

    @property
    def address(self) -> int:
        """The 29-bit window, marker removed."""
        return self.addr_immediate & PARTITION_ADDR_MASK

    @property
    def partition_offset(self) -> int:
        """Bits 17:0, the byte offset inside the partition."""
        return self.addr_immediate & (1 << PARTITION_OFFSET_BITS) - 1

    @property
    def must_be_zero(self) -> int:
        """Bits 22:18."""
        return self.addr_immediate >> PARTITION_OFFSET_BITS & 0x1F

    @property
    def quadrant(self) -> int:
        """Bits 24:23, the partition quadrant (partitions 0, 32, 64 or 96)."""
        return self.addr_immediate >> 23 & 3

    @property
    def is_psum(self) -> bool:
        """Bit 25: PSUM, not SBUF."""
        return bool(self.addr_immediate >> 25 & 1)


class Addr4Reg(_Addr4Arm, name="ADDR4_REG", size=4, source="isa-words 1.5"):
    """An on-chip place from a register; byte 3 is the whole marker."""

    regnum = reg(0, "register with the place")
    reserved0 = reserved(16, 1)
    marker = enum(3, Addr4Marker, "0x80, or 0xc0 with the shape in a register", default=Addr4Marker.ADDR_REG)


class Addr4Raw(_Addr4Arm, name="ADDR4_RAW", size=4, source="isa-words 2.12", tag="-"):
    """Four bytes whose marker has no described layout (INDIRECT_IMM 0x20, INDIRECT_REG 0xa0, 0x60, 0xe0)."""

    raw = data(4, 0, "the bytes as they are")


Addr4 = Addr4Immediate | Addr4Reg | Addr4Raw

ADDR4: TaggedUnion[Addr4] = TaggedUnion(
    "ADDR4",
    tag_offset=3,
    mask=ADDR4_MARKER_MASK,
    arms={0x00: Addr4Immediate, 0x40: Addr4Immediate, 0x80: Addr4Reg, 0xC0: Addr4Reg},
    raw=Addr4Raw,
    plain=Addr4Immediate,
    source="isa-words 1.5",
    shorthand=shorthand.addr4,
)


class Tensor3D(Struct, name="TENSOR3D", size=16, source="isa-words 3.17"):
    """An on-chip pattern of three dimensions, fastest first."""

    start_addr = union(0, ADDR4, "first element")
    step_elem = i16s(3, 4, "signed steps")
    num_elem = u16s(3, 10, "counts")

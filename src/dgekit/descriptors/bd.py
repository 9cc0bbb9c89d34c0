"""The 16-byte buffer descriptor, declared once: control words, metadata words, and the views of a whole BD.

Everything else about these bits is derived: the scalar structures below, the masks that the batch code uses and the
tables that people read. Bit 0 is the least significant bit of a 32-bit word. Sources: rings 1.1 to 1.11, cce 3.
"""

from __future__ import annotations

import enum

from dgekit.layout.fields import enum as enum_field
from dgekit.layout.fields import reserved, sub, u32, u64, uint
from dgekit.layout.kinds import spelled
from dgekit.layout.struct import Struct

BD_BYTES = 16
MAX_BD_BYTES = 65536  # stored as 0 (rings 1.7)


@spelled("SDMA_OP")
class SdmaOp(enum.IntEnum):
    """Engine operation class, word1 [25:23] (rings 1.6)."""

    NONE = 0
    DRE = 1
    CME = 2
    CCE = 4


@spelled("CME_OPTYPE")
class CmeOptype(enum.IntEnum):
    """Sub-operation of op CME (rings 1.6)."""

    COPY = 0
    CRC32 = 1
    CRC32C = 2
    CKSUM16 = 3
    CKSUM32 = 4
    CRC16 = 5
    CKSUM32_ADLER = 6
    CRC8 = 7


@spelled("CCE_OPTYPE")
class CceOptype(enum.IntEnum):
    """Sub-operation of op CCE (rings 1.6)."""

    ADD = 0
    FMA = 1
    MAX = 2
    MIN = 3
    EXT = 4
    GCE = 5


@spelled("DRE_OPTYPE")
class DreOptype(enum.IntEnum):
    """Sub-operation of op DRE (cce 3.1)."""

    SPLIT = 0
    TRANSPOSE = 1
    REPLICATION = 2


class M2SControl(Struct, name="M2S_LEN_CTRL", size=4, source="rings 1.2", tag="H/D"):
    """word0 of an M2S BD."""

    length = uint(16, 0, "bytes this BD moves; 0 encodes 65536", unit="bytes")
    netag0_meta = uint(6, 0, "opaque tag, 0 for copies; echoed in start-of-packet trace records", "M/C", bit=16)
    dummy = uint(1, 0, "metadata-only BD that carries no data", "H/O", bit=22)
    md = uint(1, 0, "metadata or compute BD (tx_meta view)", "H/O", bit=23)
    ring_id = uint(2, 0, "2-bit generation of the ring slot", bit=24)
    first = uint(1, 0, "first BD of a packet", bit=26)
    last = uint(1, 0, "last BD of a packet", bit=27)
    int_en = uint(1, 0, "interrupt when this BD completes", bit=28)
    no_snoop = uint(1, 0, "AXI no-snoop hint", "H/O", bit=29)
    dmb = uint(1, 0, "data memory barrier: start after all earlier transfers of the queue", bit=30)
    concat = uint(1, 0, "continues the logical source of the preceding BD of the packet", "H/O", bit=31)


class S2MControl(Struct, name="S2M_LEN_CTRL", size=4, source="rings 1.3", tag="H/D"):
    """word0 of an S2M BD."""

    length = uint(16, 0, "buffer size; 0 encodes 65536", unit="bytes")
    reserved_23_16 = reserved(8, 0, "zero on the memory-to-memory path", bit=16)
    ring_id = uint(2, 0, "2-bit generation of the ring slot", bit=24)
    first = uint(1, 0, "as on the M2S side; software leaves it 0", bit=26)
    last = uint(1, 0, "as on the M2S side; software leaves it 0", bit=27)
    int_en = uint(1, 0, "interrupt on completion", bit=28)
    strong_order_wr = uint(1, 0, "strongly ordered write, v3 and later", "H/C", bit=29)
    reserved_30 = reserved(1, 0, "no barrier bit on this side", "M/I", bit=30)
    dual_buf_or_embedded_sem = uint(1, 0, "second buffer, or an embedded semaphore is present", "M/C", bit=31)


class CopyMeta(Struct, name="META_CTRL_CME", size=4, source="rings 1.4", tag="H/D"):
    """word1 of an M2S BD, copy and CRC view; op decides which enum `optype` belongs to."""

    is_last_block = uint(1, 0, "block attribute bit 0")
    is_first_block = uint(1, 0, "block attribute bit 1", bit=1)
    block_attr_rsvd = uint(1, 0, "block attribute bit 2", bit=2)
    cached_crc_iv_index = uint(3, 0, "CRC initial-value cache slot", bit=3)
    endian_result_byte_swap = uint(1, 0, "endian control", bit=6)
    endian_result_bit_swap = uint(1, 0, "endian control", bit=7)
    endian_intrval_byte_swap = uint(1, 0, "endian control", bit=8)
    endian_intrval_bit_swap = uint(1, 0, "endian control", bit=9)
    endian_src_byte_swap = uint(1, 0, "endian control", bit=10)
    endian_src_bit_swap = uint(1, 0, "endian control", bit=11)
    endian_init_byte_swap = uint(1, 0, "endian control", bit=12)
    endian_init_bit_swap = uint(1, 0, "endian control", bit=13)
    validate_crc = uint(1, 0, "check the incoming CRC", bit=14)
    use_stored_crc_iv = uint(1, 0, "seed the CRC from the cache", bit=15)
    send_crc_result = uint(1, 0, "append the CRC to the stream", bit=16)
    store_crc_result = uint(1, 0, "write the CRC back to the cache", bit=17)
    store_source_crc = uint(1, 0, "keep the source-side CRC", bit=18)
    copy_source_data = uint(1, 0, "forward the payload as well", bit=19)
    optype = uint(3, 0, "sub-operation, by op", bit=20)
    op = enum_field(0, SdmaOp, "engine operation class", bit=23, bits=3)
    write_barrier = uint(1, 0, "order this BD's write before later writes", bit=26)
    netag0_rsvd = uint(5, 0, "reserved; bit 28 is the notification mask on v4", bit=27)


class ComputeMeta(Struct, name="META_CTRL_CCE", size=4, source="rings 1.5", tag="H/C"):
    """word1 of an M2S BD, compute view (op = CCE)."""

    block_attr_sub = uint(3, 0, "sub or block attribute", "M/C")
    rsvd3 = uint(1, 0, "unnamed", "L/I", bit=3)
    flag4 = uint(1, 0, "MIN and MAX: last source; else an unnamed flag", "L/C", bit=4)
    use_const = uint(1, 0, "MIN and MAX: constant operand present", "M/C", bit=5)
    wrbar = uint(1, 0, "write barrier of the compute word", "M/C", bit=6)
    flag7 = uint(1, 0, "ADD, FMA, GCE: last source (flush); MIN and MAX: notify", "M/C", bit=7)
    in_dtype = uint(4, 0, "source element type", bit=8)
    out_dtype = uint(4, 0, "output, scale or mid element type", bit=12)
    accum_dtype = uint(4, 0, "accumulator element type", bit=16)
    optype = enum_field(0, CceOptype, "compute type", bit=20, bits=3)
    op = enum_field(0, SdmaOp, "CCE", bit=23, bits=3, default=SdmaOp.CCE)
    write_barrier = uint(1, 0, "same bit as in the copy view", "H/D", bit=26)
    rsvd_31_27 = uint(5, 0, "mode or sub-op bits in some builders", "L/C", bit=27)


class Operands(Struct, name="META1_CCE", size=4, source="rings 1.10", tag="H/C"):
    """word2 of a parameter BD: which operands the multiply-add takes."""

    length = uint(24, 0, "source length or semaphore")
    a_sel = uint(2, 0, "multiply operand A: 0 stored, 1 input, 2 scale", bit=24)
    b_sel = uint(2, 0, "multiply operand B: 0 stored, 1 input, 2 scale", bit=26)
    c_sel = uint(2, 0, "add operand: 0 stored, 1 input, 2 scale", bit=28)
    unnamed = uint(2, 0, "zero in every known builder", bit=30)


class M2SCopy(Struct, name="BD_M2S_CME", size=BD_BYTES, source="rings 1.1", tag="H/D"):
    """An M2S BD whose word1 is in the copy and CRC view (any op but CCE)."""

    len_ctrl = sub(0, M2SControl, "length, ring id, packet bits")
    meta_ctrl = sub(4, CopyMeta, "operation")
    buf_ptr = u64(8, "SoC address the engine reads", base=16)


class M2SCompute(Struct, name="BD_M2S_CCE", size=BD_BYTES, source="rings 1.1", tag="H/D"):
    """An M2S data BD whose word1 is in the compute view."""

    len_ctrl = sub(0, M2SControl, "length, ring id, packet bits")
    meta_ctrl = sub(4, ComputeMeta, "operation")
    buf_ptr = u64(8, "SoC address the engine reads", base=16)


class M2SParameter(Struct, name="BD_M2S_META", size=BD_BYTES, source="rings 1.10", tag="H/C"):
    """A metadata BD: word2 and word3 are inline words, not an address."""

    len_ctrl = sub(0, M2SControl, "length, ring id, packet bits")
    meta_ctrl = sub(4, ComputeMeta, "operation")
    meta1 = sub(8, Operands, "operand selectors")
    meta2 = u32(12, "FMA: FP32 scale; MIN and MAX: constant", base=16)


class S2M(Struct, name="BD_S2M", size=BD_BYTES, source="rings 1.1", tag="H/D"):
    """An S2M BD."""

    len_ctrl = sub(0, S2MControl, "length, ring id")
    buf2_ptr_lo = u32(4, "second buffer, 0 on the memory-to-memory path", base=16)
    buf_ptr = u64(8, "SoC address the engine writes", base=16)


def mask(word: type[Struct], field: str) -> int:
    """The bits of one field within its 32-bit word.

    >>> hex(mask(M2SControl, "ring_id"))
    '0x3000000'
    """
    place = word.layout.field(field)
    return ((1 << place.bits) - 1) << place.start


def value(word: Struct) -> int:
    """A one-word structure as its 32-bit number."""
    return int.from_bytes(word.encode(), "little")


FIRST = mask(M2SControl, "first")
LAST = mask(M2SControl, "last")
CONCAT = mask(M2SControl, "concat")
DMB = mask(M2SControl, "dmb")
MD = mask(M2SControl, "md")
INT_EN = mask(M2SControl, "int_en")
RING_ID_SHIFT = M2SControl.layout.field("ring_id").start
RING_ID = mask(M2SControl, "ring_id")
LENGTH = mask(M2SControl, "length")
WRITE_BARRIER = mask(CopyMeta, "write_barrier")
EXT_BIT, MORE_BIT = 29, 30  # a builder's mode argument; "more descriptors follow" in a combined packet (cce 3.3)
MORE = 1 << MORE_BIT
CCE_WRITE_BARRIER = mask(ComputeMeta, "wrbar")

COPY_WORD1 = value(CopyMeta(is_last_block=1, is_first_block=1, copy_source_data=1, op=SdmaOp.CME))
TRANSPOSE_WORD1 = value(CopyMeta(op=SdmaOp.DRE, optype=DreOptype.TRANSPOSE))


def add_word1(out_dtype: int, accum_dtype: int, *, last: bool) -> int:
    """word1 of one ADD source; `last` flushes the accumulator (cce 3.8). Raises EncodeError for codes above 15.

    >>> hex(add_word1(6, 10, last=True))
    '0x20a6080'
    """
    return value(ComputeMeta(out_dtype=out_dtype, accum_dtype=accum_dtype, optype=CceOptype.ADD, flag7=int(last)))

"""The words and blocks that MAVERICK adds (isa-words 1.11, 3.11, 3.12).

Header facts only: no v5 firmware was decoded.
"""

from __future__ import annotations

from dgekit.layout import Struct, Union
from dgekit.layout.fields import data, enum, i32s, reserved, sub, subs, u8, u8s, u16, u16s, u32, u64, uint, union
from dgekit.words.enums import AddrMode, DescMode, EngineCount, Opcode, SemaSync, SemaUpdateMode, WaitMode
from dgekit.words.substructs import AddrRaw, reg
from dgekit.words.word import Word, head


class DmaEngineConfig(Struct, name="DMA_ENGINE_CONFIG", size=1, source="isa-words 1.11"):
    """First engine and how many."""

    start_id = uint(5, 0, "first engine")
    engine_count = enum(0, EngineCount, "how many engines from it", bit=5, bits=2)
    reserved = reserved(1, 0, bit=7)


class DmaFlags(Struct, name="DMA_FLAGS", size=1, source="isa-words 1.11"):
    """Queue and synchronisation of a v5 word; the 4-bit remark on `queue_id` in the header text is stale."""

    tdg = uint(1, 0, "tdg")
    wr_done_sync = enum(0, SemaSync, "ordering of the write-done update", bit=1, bits=1)
    queue_id = uint(3, 0, "queue 0..7", bit=2)
    reserved = reserved(3, 0, bit=5)


class DescFlags(Struct, name="DESC_FLAGS", size=1, source="isa-words 1.11"):
    """How many inline descriptors there are and where each comes from."""

    num_descriptors = uint(2, 0, "1..3")
    desc0_src = enum(0, DescMode, "source of descriptor 0", bit=2, bits=1)
    desc1_src = enum(0, DescMode, "source of descriptor 1", bit=3, bits=1)
    desc2_src = enum(0, DescMode, "source of descriptor 2", bit=4, bits=1)
    reserved = reserved(3, 0, bit=5)


class DmaAddrModePair(Struct, name="DMA_ADDR_MODE_PAIR", size=1, source="isa-words 1.11"):
    """The address modes of both legs."""

    src_addr_mode = enum(0, AddrMode, "source mode", bits=4)
    dst_addr_mode = enum(0, AddrMode, "destination mode", bit=4, bits=4)


class DmaSemaUpdates(Struct, name="DMA_SEMA_UPDATES", size=1, source="isa-words 1.11"):
    """The two completion updates of a v5 copy."""

    rd_done = enum(0, SemaUpdateMode, "when reads are done", bits=4)
    wr_done = enum(0, SemaUpdateMode, "when writes are done", bit=4, bits=4)


class DmaAddrImm64(Struct, name="DMA_ADDR_IMM64", size=8, source="isa-words 1.11"):
    """The plain 64-bit address of mode IMM64."""

    address = u64(0, "device address", base=16, unit="byte address")


class DmaAddrStruct(Struct, name="DMA_ADDR_STRUCT", size=8, source="isa-words 1.11"):
    """Registers and offset of every other mode."""

    base_reg = reg(0, "register of the base")
    offset_reg = reg(1, "register of the offset")
    inc_reg = reg(2, "register of the increment")
    reserved = reserved(8, 3)
    offset_imm = u32(4, "immediate offset")


DmaAddr = DmaAddrImm64 | DmaAddrStruct | AddrRaw

# Modes 0xc to 0xf are not defined: their bytes stay raw.
DMA_ADDR_UNION: Union[DmaAddr] = Union(
    "DMA_ADDR_UNION",
    arms={int(mode): DmaAddrImm64 if mode is AddrMode.IMM64 else DmaAddrStruct for mode in AddrMode},
    raw=AddrRaw,
    plain=DmaAddrImm64,
    source="isa-words 1.11",
)


class DescriptorRaw(Struct, name="DESCRIPTOR_RAW", size=16, source="isa-words 1.11"):
    """Sixteen bytes, read as one buffer descriptor."""

    bytes = data(16, 0, "a 16-byte buffer descriptor")


class DmaImmediate(Word, name="DMA_IMMEDIATE", opcode=Opcode.DMA_IMMEDIATE, source="isa-words 3.11"):
    """Up to three descriptors inside the word. No EVENTS block: bytes 4 to 9 are the wait."""

    header = head(Opcode.DMA_IMMEDIATE)
    wait_sema_value = u32(4, "wait threshold, immediate or register by wait mode", "H/O")
    wait_sema_idx = u8(8, "semaphore waited on (immediate or register)", "H/O")
    wait_sema_mode = enum(9, WaitMode, "wait condition", "H/O")
    dma_engines = sub(10, DmaEngineConfig, "engine_count must be ONE", "H/O")
    dma_flags = sub(11, DmaFlags, "tdg = 0 (and wr_done_sync = 0 on one page)", "H/O")
    descriptor_flags = sub(12, DescFlags, "how many descriptors and where each comes from", "H/O")
    descriptor_reg = u8s(3, 13, "first register of each register-sourced descriptor", "H/O")
    descriptor_imm = subs(3, 16, DescriptorRaw, "three raw 16-byte descriptors", "H/O")


class DmaCopy2D(Word, name="DMA_COPY2D", opcode=Opcode.DMA_MEMCPY2, source="isa-words 3.12"):
    """A two-dimensional copy with address modes and completion updates of its own; no dtype, no bounds."""

    header = head(Opcode.DMA_MEMCPY2)
    wait_sema_value = u32(4, "wait threshold, immediate or register by wait mode", "H/O")
    wait_sema_idx = u8(8, "semaphore waited on (immediate or register)", "H/O")
    wait_sema_mode = enum(9, WaitMode, "wait condition", "H/O")
    dma_engines = sub(10, DmaEngineConfig, "first engine and fan-out", "H/O")
    dma_flags = sub(11, DmaFlags, "tdg, write-done sync, queue id", "H/O")
    addr_mode = sub(12, DmaAddrModePair, "low nibble source mode, high nibble destination mode", "H/O")
    sema_update_mode = sub(13, DmaSemaUpdates, "low nibble read-done, high nibble write-done", "H/O")
    rd_done_sema_update_idx = u16(14, "read-done index (immediate or register)", "H/O")
    src_start_addr = union(
        16, DMA_ADDR_UNION, "imm64 or register struct, by source mode", "H/O", select="addr_mode.src_addr_mode"
    )
    src_step_elem = i32s(2, 24, "signed source steps", "H/O")
    src_num_elem = u16s(2, 32, "source counts", "H/O", unit="elements")
    src_elem_size = u16(36, "bytes per source element", "H/O", unit="bytes")
    wr_done_sema_update_idx = u16(38, "write-done index (immediate or register)", "H/O")
    dst_start_addr = union(
        40, DMA_ADDR_UNION, "imm64 or register struct, by destination mode", "H/O", select="addr_mode.dst_addr_mode"
    )
    dst_step_elem = i32s(2, 48, "signed destination steps", "H/O")
    dst_num_elem = u16s(2, 56, "destination counts", "H/O", unit="elements")
    dst_elem_size = u16(60, "bytes per destination element", "H/O", unit="bytes")
    remote_core_id = reg(62, "register naming the peer core", "H/O")
    reserved = reserved(8, 63, "RESERVED, must be zero", "H/O", spelled="u8")

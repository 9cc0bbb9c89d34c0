"""The words the compiler writes and the loader rewrites; never executed (isa-words 3.5 to 3.10)."""

from __future__ import annotations

from dgekit.core.dtypes import Dtype
from dgekit.layout.fields import enum, i32, i32s, sub, text, u8, u8s, u16, u16s, u32, u32s, union
from dgekit.words.enums import ComputeOp, DgeOpcode, IndirectMode, Opcode
from dgekit.words.substructs import ADDR4, PSEUDO_ADDR8, BoundCheckReg, DmaConfigs, DmaIndirectFlags
from dgekit.words.word import Word, events, head

QUEUE_NAME = "NUL-terminated queue name, at most 31 characters"
UNKNOWN = "UNKNOWN, written as zero"


class PseudoDmaDirect2D(Word, name="PSEUDO_DMA_DIRECT2D", opcode=Opcode.PSEUDO_DMA_DIRECT2D, source="isa-words 3.5"):
    """What every DGE word looks like before it is resolved; as DMA_DIRECT2D but for byte 15 and the addresses."""

    header = head(Opcode.PSEUDO_DMA_DIRECT2D)
    events = events()
    dma_configs = sub(12, DmaConfigs, "priority class", "H/O")
    semaphore = u8(13, "completion semaphore index", "H/O")
    sem_increment = u8(14, "completion increment", "H/O")
    dge_op = enum(15, DgeOpcode, "selects the resolved word", "H/O")
    src_start_addr = union(16, PSEUDO_ADDR8, "source base, may be a variable id", "H/O")
    src_step_elem = i32s(2, 24, "signed source steps", "H/O")
    src_num_elem = u16s(2, 32, "source counts", "H/O", unit="elements")
    src_elem_size = u16(36, "bytes per source element; 0 stands for 65536", "H/O", unit="bytes")
    src_bound_reg = sub(38, BoundCheckReg, "address bound (kinds 0, 2) or index bound (kind 1)", "H/O")
    dst_bound_reg = sub(39, BoundCheckReg, "address bound (kinds 0, 2) or index bound (kind 1)", "H/O")
    dst_start_addr = union(40, PSEUDO_ADDR8, "destination base, may be a variable id", "H/O")
    dst_step_elem = i32s(2, 48, "signed destination steps", "H/O")
    dst_num_elem = u16s(2, 56, "destination counts", "H/O", unit="elements")
    dst_elem_size = u16(60, "bytes per destination element; 0 stands for 65536", "H/O", unit="bytes")
    in_dtype = enum(62, Dtype, "source dtype", "H/O")
    out_dtype = enum(63, Dtype, "destination dtype", "H/O")


class PseudoDmaExt(Word, name="PSEUDO_DMA_EXT", opcode=Opcode.PSEUDO_EXTENSION, source="isa-words 3.6"):
    """The operands that do not fit the pseudo word; directly behind it. No header, no events: byte 1 is `flags`."""

    opcode = enum(0, Opcode, "0xda; the word has no HEADER and no EVENTS", "H/O", default=Opcode.PSEUDO_EXTENSION)
    flags = sub(1, DmaIndirectFlags, "copied to INDIRECT1D.flags", "H/O")
    idx_num_active_channels = u8(2, "index fields are checked only when this is non-zero", "H/O")
    compute_op = enum(3, ComputeOp, "reduce operation", "H/O")
    src_idx_start_addr = union(4, ADDR4, "gather index vector", "H/O")
    dst_idx_start_addr = union(8, ADDR4, "scatter index vector", "H/O")
    src_bound_size_bytes = u32(12, "source bound in bytes, low half", "H/O", unit="bytes")
    dst_bound_size_bytes = u32(16, "destination bound in bytes, low half", "H/O", unit="bytes")
    tile_src_row_step = i32(20, "tile row step for the transposes", "H/O")
    tile_src_rows = u8(24, "16, or 0 when no tile is carried", "H/O")
    tile_src_cols = u8(25, "128, or 0 when no tile is carried", "H/O")
    reserved1 = u8s(30, 26, "RESERVED, write zero", "H/O", role="reserved")
    src_bound_size_bytes_upper = u32(56, "source bound, high half", "H/O")
    dst_bound_size_bytes_upper = u32(60, "destination bound, high half", "H/O")


class PseudoDmaMemcpyFullInd(
    Word,
    name="PSEUDO_DMA_MEMCPY_FULL_IND",
    opcode=Opcode.PSEUDO_DMAMEMCPY_FULL_IND,
    source="isa-words 3.7",
):
    """A copy whose whole index leg is built at run time in SBUF; not one of the four DGE kinds."""

    header = head(Opcode.PSEUDO_DMAMEMCPY_FULL_IND)
    events = events()
    indirect_start_offset = u32(12, "start of the index leg", "H/O")
    indirect_step_elems = i32s(
        2,
        16,
        "index-leg steps (the shipped compiler writes 1 and an architecture stride); signedness UNKNOWN",
        "H/O",
    )
    indirect_num_elems = u32s(2, 24, "index-leg counts", "H/O", unit="elements")
    direct_start_offset = u32(32, "start of the data leg", "H/O")
    direct_step_elems = i32s(2, 36, "data-leg steps; signedness UNKNOWN", "H/O")
    direct_num_elems = u32s(2, 44, "data-leg counts", "H/O", unit="elements")
    direct_elem_size = u32(52, "bytes per data element", "H/O", unit="bytes")
    direct_var_id = u16(56, "variable id of the data leg (the shipped compiler writes 0)", "H/O")
    semaphore_wait_value = u16(58, "completion target, low 16 bits", "H/O")
    indirection_mode = enum(60, IndirectMode, "0 = load / source-indirect, 1 = save / destination-indirect", "H/O")
    unknown0 = u8(61, UNKNOWN, "-", role="unknown")
    semaphore_wait_value_hi = u16(62, "completion target, high 16 bits", "H/O")


class PseudoDmaTrigger(Word, name="PSEUDO_DMA_TRIGGER", opcode=Opcode.PSEUDO_DMATRIGGER, source="isa-words 3.8"):
    """Starts a block of a static queue."""

    header = head(Opcode.PSEUDO_DMATRIGGER)
    events = events()
    queue_name = text(32, 12, QUEUE_NAME, "H/O")
    unknown0 = u8s(4, 44, UNKNOWN, "-", role="unknown")
    dma_block_id = u32(48, "DMA block id", "H/O")
    unknown1 = u8s(12, 52, UNKNOWN, "-", role="unknown")


class PseudoDmaRearm(Word, name="PSEUDO_DMA_REARM", opcode=Opcode.PSEUDO_DMAREARM, source="isa-words 3.9"):
    """Makes a static queue ready again."""

    header = head(Opcode.PSEUDO_DMAREARM)
    events = events()
    queue_name = text(32, 12, QUEUE_NAME, "H/O")
    unknown0 = u8s(20, 44, UNKNOWN, "-", role="unknown")


class PseudoDmaSwapQueueSet(
    Word, name="PSEUDO_DMA_SWAP_QUEUE_SET", opcode=Opcode.PSEUDO_DMASWAP_QUEUE_SET, source="isa-words 3.10"
):
    """Changes the queue set."""

    header = head(Opcode.PSEUDO_DMASWAP_QUEUE_SET)
    events = events()
    queue_name = text(32, 12, QUEUE_NAME, "H/O")
    unknown0 = u8s(15, 44, UNKNOWN, "-", role="unknown")
    queue_instance_flag = u8(59, "queue-instance flag; field name UNKNOWN", "H/O")
    swap_marker = u32(60, "the shipped compiler writes 1; field name UNKNOWN", "H/O")

"""The words the device executes: copies, indirect copies, transposes, extended words.

Source: isa-words 3.1 to 3.4 and 3.13 to 3.17.
"""

from __future__ import annotations

from dgekit.core.dtypes import Dtype
from dgekit.layout.fields import data, enum, i32, i32s, reserved, sub, u8, u8s, u16, u16s, u32, union
from dgekit.words.enums import ComputeOp, ExtendedOpcode, MoveType, Opcode
from dgekit.words.substructs import (
    ADDR4,
    ADDR8,
    BoundCheckReg,
    DmaConfigs,
    DmaGatherTransposeFlags,
    DmaIndirectFlags,
    DtypePair,
    ExtCompletionInfo,
    Tensor3D,
)
from dgekit.words.word import Word, events, head, sub_opcode


class DmaDirect2D(Word, name="DMA_DIRECT2D", opcode=Opcode.DMAMEMCPY, source="isa-words 3.1"):
    """A two-dimensional copy, cast or reduce-on-copy."""

    header = head(Opcode.DMAMEMCPY)
    events = events()
    dma_configs = sub(12, DmaConfigs, "priority class", "H/O")
    semaphore = u8(13, "completion semaphore index 0..255", "H/O")
    sem_increment = u8(14, "amount added to that semaphore on completion; 0 = no increment", "H/O")
    compute_op = enum(15, ComputeOp, "reduce-on-copy operation", "H/O")
    src_start_addr = union(16, ADDR8, "source base", "H/O")
    src_step_elem = i32s(2, 24, "signed source steps, [0]=X, [1]=Y", "H/O")
    src_num_elem = u16s(2, 32, "source counts, [0]=X, [1]=Y", "H/O", unit="elements")
    src_elem_size = u16(36, "bytes per source element; 0 stands for 65536", "H/O", unit="bytes")
    src_bound_reg = sub(38, BoundCheckReg, "bound on the source address", "H/O")
    dst_bound_reg = sub(39, BoundCheckReg, "bound on the destination address", "H/O")
    dst_start_addr = union(40, ADDR8, "destination base", "H/O")
    dst_step_elem = i32s(2, 48, "signed destination steps", "H/O")
    dst_num_elem = u16s(2, 56, "destination counts", "H/O", unit="elements")
    dst_elem_size = u16(60, "bytes per destination element; 0 stands for 65536", "H/O", unit="bytes")
    in_dtype = enum(62, Dtype, "source dtype", "H/O")
    out_dtype = enum(63, Dtype, "destination dtype", "H/O")


class DmaIndirect1D(Word, name="DMA_INDIRECT1D", opcode=Opcode.DMA_INDIRECT, source="isa-words 3.2"):
    """A gather, a scatter or both; the bound registers gate the index vectors, not the data."""

    header = head(Opcode.DMA_INDIRECT)
    events = events()
    semaphore = u8(12, "completion semaphore index", "H/O")
    sem_increment = u8(13, "completion increment", "H/O")
    idx_num_active_channels = u8(14, "must be 128", "H/O")
    flags = sub(15, DmaIndirectFlags, "mode, error policy, dims", "H/O")
    src_start_addr = union(16, ADDR8, "gather table base or source base", "H/O")
    src_step_elem = i32(24, "signed source step", "H/O")
    src_num_elem = u16(28, "source count, at most 4096 on an active leg", "H/O", unit="elements")
    src_elem_size = u16(30, "bytes per source element", "H/O", unit="bytes")
    dst_start_addr = union(32, ADDR8, "scatter base or destination base", "H/O")
    dst_step_elem = i32(40, "signed destination step", "H/O")
    dst_num_elem = u16(44, "destination count, at most 4096 on an active leg", "H/O", unit="elements")
    dst_elem_size = u16(46, "bytes per destination element", "H/O", unit="bytes")
    src_idx_start_addr = union(48, ADDR4, "gather index vector (u32 indices), SBUF partition 0 or register", "H/O")
    dst_idx_start_addr = union(52, ADDR4, "scatter index vector (u32 indices), SBUF partition 0 or register", "H/O")
    in_dtype = enum(56, Dtype, "source dtype", "H/O")
    out_dtype = enum(57, Dtype, "destination dtype", "H/O")
    src_idx_bound_reg = sub(58, BoundCheckReg, "bound on the gather INDEX", "H/O")
    dst_idx_bound_reg = sub(59, BoundCheckReg, "bound on the scatter INDEX", "H/O")
    compute_op = enum(60, ComputeOp, "reduce on scatter", "H/O")
    dma_configs = sub(61, DmaConfigs, "priority class (only the top 5 bits must be zero)", "H/O")
    reserved = u8s(2, 62, "RESERVED, must be zero", "H/O", role="reserved")


class DmaDirect2DXpose(Word, name="DMA_DIRECT2D_XPOSE", opcode=Opcode.DMA_TRANSPOSE, source="isa-words 3.3"):
    """A two-dimensional transpose in tiles of 16 rows; no element size, no completion increment."""

    header = head(Opcode.DMA_TRANSPOSE)
    events = events()
    src_bound_reg = sub(12, BoundCheckReg, "bound on the source address", "H/O")
    dst_bound_reg = sub(13, BoundCheckReg, "bound on the destination address", "H/O")
    in_dtype = enum(14, Dtype, "source dtype", "H/O")
    out_dtype = enum(15, Dtype, "destination dtype, 1 byte, equals in_dtype", "H/O")
    src_start_addr = union(16, ADDR8, "source base", "H/O")
    src_step_elem = i32s(2, 24, "signed source steps X, Y", "H/O")
    src_num_elem = u16s(2, 32, "source counts X, Y", "H/O", unit="elements")
    tile_src_row_step = i32(36, "signed source step from row to row inside a tile", "H/O")
    dst_start_addr = union(40, ADDR8, "destination base, SBUF, 32-byte aligned", "H/O")
    dst_step_elem = i32s(2, 48, "signed destination steps X, Y", "H/O")
    dst_num_elem = u16s(2, 56, "destination counts X, Y", "H/O", unit="elements")
    tile_src_rows = u8(60, "tile rows, must be 16", "H/O")
    tile_src_cols = u8(61, "tile columns, 1..128 (2-byte) or 1..64 (4-byte)", "H/O")
    semaphore = u8(62, "completion semaphore index", "H/O")
    dma_configs = sub(63, DmaConfigs, "priority class", "H/O")


class DmaGatherXpose(Word, name="DMA_GATHER_XPOSE", opcode=Opcode.DMA_GATHER_TRANSPOSE, source="isa-words 3.4"):
    """A gather with a transpose; the only word with a packed dtype pair and an implicit step."""

    header = head(Opcode.DMA_GATHER_TRANSPOSE)
    events = events()
    semaphore = u8(12, "completion semaphore index", "H/O")
    dma_configs = sub(13, DmaConfigs, "priority class", "H/O")
    idx_num_active_channels = u8(14, "must be 128", "H/O")
    src_idx_bound_reg = sub(15, BoundCheckReg, "bound on the gather INDEX (no flags coupling)", "H/O")
    src_start_addr = union(16, ADDR8, "gather source base, HBM or SBUF, 2-byte aligned", "H/O")
    src_step_elem = i32s(2, 24, "signed source steps X, Y", "H/O")
    src_num_elem = u16s(2, 32, "source counts; [1] (Y) = number of indices", "H/O", unit="elements")
    src_idx_start_addr = union(36, ADDR4, "u32 index vector, 4-byte aligned", "H/O")
    dst_start_addr = union(40, ADDR8, "destination base, SBUF, 32-byte aligned", "H/O")
    reserved = u8s(3, 48, "RESERVED, must be zero", "H/O", role="reserved")
    dst_bound_reg = sub(51, BoundCheckReg, "bound on the destination ADDRESS", "H/O")
    dst_step_elem_1 = i32(52, "signed destination step of dim 1; dim 0 step is implicit = size of dtype_hi", "H/O")
    dst_num_elem = u16s(2, 56, "destination counts; [0] = number of indices", "H/O", unit="elements")
    elem_size = u16(60, "2..256, even; see open point on what it measures", "H/O", unit="bytes")
    dtype = sub(62, DtypePair, "low nibble source, high nibble destination", "H/O")
    flags = sub(63, DmaGatherTransposeFlags, "gather_dim, rest zero", "H/O")


class Extended(Word, name="EXTENDED", opcode=Opcode.EXTENDED_INST, source="isa-words 3.13"):
    """The generic envelope of a 0xf0 word; sub-opcodes 8 and 9 have their own classes."""

    header = head(Opcode.EXTENDED_INST)
    events = events()
    extended_opcode = sub_opcode("sub-opcode")
    completion_info = sub(13, ExtCompletionInfo, "read/write/port information", "H/O")
    inst_specific0 = u8s(18, 14, "defined by the sub-opcode", "H/O")
    inst_specific1 = u8s(32, 32, "defined by the sub-opcode", "H/O")


class ExtendedRdmaDescGen(
    Word,
    name="EXTENDED_RDMA_DESC_GEN",
    opcode=Opcode.EXTENDED_INST,
    sub=ExtendedOpcode.EXTENDED_RDMA_DESC_GEN,
    source="isa-words 3.14",
):
    """Generates the descriptors of a send to another core."""

    header = head(Opcode.EXTENDED_INST)
    events = events()
    extended_opcode = sub_opcode("8", ExtendedOpcode.EXTENDED_RDMA_DESC_GEN)
    completion_info = sub(13, ExtCompletionInfo, "has_read = has_write = 0, ports = 0, so 0x00", "H/O")
    local_sem = u8(14, "source-release semaphore", "H/O")
    remote_sem = u8(15, "data-ready semaphore on the peer", "H/O")
    remote_core_id = u32(16, "physical id of the peer core", "H/O", spelled="IMM_VAL_INST_FIELD")
    remote_routing_id = u32(20, "routing id folded into the high SoC address bits", "H/O", spelled="IMM_VAL_INST_FIELD")
    dma_engine_mask = u32(
        24, "16-bit mask; the number of engines is 1, 2, 4, 8 or 16", "H/O", spelled="IMM_VAL_INST_FIELD"
    )
    src_addr = union(28, ADDR4, "local SBUF partition offset", "H/O")
    dst_addr = union(32, ADDR4, "peer SBUF partition offset", "H/O")
    free_dim_bytes = u32(36, "bytes per partition over all 128 partitions; 0 = semaphores only", "H/O", unit="bytes")
    is_bidirectional = u8(40, "two-peer send; not supported yet", "H/O")
    remote_sem_prev = u8(41, "previous neighbour's semaphore (bidirectional)", "H/O")
    reserved0 = u8s(2, 42, "RESERVED", "H/O", role="reserved")
    reserved1 = u8s(20, 44, "RESERVED", "H/O", role="reserved")


class ExtendedRdmaDescStart(
    Word,
    name="EXTENDED_RDMA_DESC_START",
    opcode=Opcode.EXTENDED_INST,
    sub=ExtendedOpcode.EXTENDED_RDMA_DESC_START,
    source="isa-words 3.15",
):
    """Starts what the word before it generated; it has no operands."""

    header = head(Opcode.EXTENDED_INST)
    events = events("the wait of the pair is normally put here")
    extended_opcode = sub_opcode("9", ExtendedOpcode.EXTENDED_RDMA_DESC_START)
    completion_info = sub(13, ExtCompletionInfo, "0x00", "H/O")
    reserved0 = u8s(2, 14, "RESERVED", "H/O", role="reserved")
    reserved1 = u8s(48, 16, "RESERVED; the word has no operands", "H/O", role="reserved")


class CtrlMs(Word, name="CTRL_MS", opcode=Opcode.MOVE_SHAPE, source="isa-words 3.16"):
    """Loads the DGE shape registers."""

    header = head(Opcode.MOVE_SHAPE)
    events = events()
    move_type = enum(12, MoveType, "immediate, register-to-shape, shape-to-register", "H/O")
    num_move = u8(13, "number of shapes moved", "H/O")
    shape_reg_type = u8(14, "values UNKNOWN", "H/O", spelled="SHAPE_REG_TYPE")
    reserved0 = reserved(8, 15, "RESERVED", "H/O", spelled="u8")
    shape_registers = u8s(4, 16, "shape register indices", "H/O")
    reserved1 = u8s(12, 20, "RESERVED", "H/O", role="reserved")
    data = data(32, 32, "immediate shapes or register ids; interior UNKNOWN", "H/O", spelled="TENSOR_SHAPE_DATA")


class S3D3Collective(Word, name="S3D3_COLLECTIVE", opcode=Opcode.SB2SB_COLLECTIVE, source="isa-words 3.17"):
    """An on-chip collective between cores; not a DGE word."""

    header = head(Opcode.SB2SB_COLLECTIVE)
    events = events()
    in_dtype = enum(12, Dtype, "source dtype", "H/O")
    out_dtype = enum(13, Dtype, "destination dtype, equals in_dtype", "H/O")
    reserved0 = u8s(2, 14, "RESERVED, must be zero", "H/O", role="reserved")
    src_mem_pattern = sub(16, Tensor3D, "source pattern", "H/O")
    lnc_size_fmt = u8(32, "values UNKNOWN here", "H/O", spelled="LNC_SIZE_FMT")
    num_active_channels = u8(33, "1..128", "H/O")
    reserved1 = u8s(14, 34, "RESERVED, must be zero", "H/O", role="reserved")
    dst_mem_pattern = sub(48, Tensor3D, "destination pattern", "H/O")

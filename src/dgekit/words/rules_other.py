"""Rules of the words around the copies: v5, RDMA, queues, shapes, collectives, and of reserved and unknown bytes.

Sources: isa-words 0, 3.7 to 3.17, 4.7, 4.8.
"""

from __future__ import annotations

from collections.abc import Iterator

from dgekit.core.dtypes import Dtype
from dgekit.words.enums import (
    DESCRIPTOR_REGISTERS,
    NUM_DGE_SHAPE_REGISTERS,
    NUM_REGISTERS,
    POOLING_NUM_CHANNELS,
    AddrMode,
    DescMode,
    EngineCount,
    ExtendedOpcode,
    IndirectMode,
    MoveType,
    SemaUpdateMode,
)
from dgekit.words.rules import Finding, Subject, rule
from dgekit.words.rules_common import checked_leaves, enum_text, is_member, wait_problem

_V5 = ("DMA_IMMEDIATE", "DMA_COPY2D")
_IMMEDIATE = ("DMA_IMMEDIATE",)
_COPY2D = ("DMA_COPY2D",)
_RDMA = ("EXTENDED_RDMA_DESC_GEN", "EXTENDED_RDMA_DESC_START")
_GEN = ("EXTENDED_RDMA_DESC_GEN",)
_EXTENDED = ("EXTENDED", *_RDMA)
_QUEUE_WORDS = ("PSEUDO_DMA_TRIGGER", "PSEUDO_DMA_REARM", "PSEUDO_DMA_SWAP_QUEUE_SET")

DMA_ENGINE_MASK = 0xFFFF
RDMA_ENGINE_COUNTS = frozenset({1, 2, 4, 8, 16})
QUEUE_NAME_BYTES = 32

# reserved and unknown bytes


@rule("isa.0.reserved", "Reserved bits are zero.", source="0")
def _reserved(s: Subject) -> Iterator[Finding]:
    for path, field, value in checked_leaves(s.word):
        if field.role == "reserved" and value != field.default and path != "dma_configs.reserved_bitfield":
            shown = field.to_json(value)
            yield Finding(f"{path} is reserved and holds {shown}", path, {"value": shown}, f"write 0 to {path}")


@rule("isa.0.unknown", "Bytes that no source describes are written as zero.", source="0", severity="advice")
def _unknown(s: Subject) -> Iterator[Finding]:
    for path, field, value in checked_leaves(s.word):
        if field.role == "unknown" and value != field.default:
            shown = field.to_json(value)
            yield Finding(f"no source describes {path}, which holds {shown}", path, {"value": shown})


# v5


@rule("isa.4.7.engine_count", "An immediate word runs on one engine.", source="4.7", words=_IMMEDIATE)
def _engine_count(s: Subject) -> Iterator[Finding]:
    count = s.word.dma_engines.engine_count
    if count != EngineCount.ONE:
        message = f"engine_count is {enum_text(EngineCount, count)}, it must be ONE (0x0)"
        yield Finding(message, "dma_engines.engine_count", {"engine_count": int(count), "required": 0})


@rule("isa.4.7.num_descriptors", "An immediate word holds 1 to 3 descriptors.", source="4.7", words=_IMMEDIATE)
def _num_descriptors(s: Subject) -> Iterator[Finding]:
    if s.word.descriptor_flags.num_descriptors == 0:
        message = "num_descriptors is 0; an immediate word holds 1 to 3"
        yield Finding(message, "descriptor_flags.num_descriptors", {"num_descriptors": 0, "minimum": 1, "maximum": 3})


@rule("isa.4.7.tdg", "tdg is 0 in an immediate word.", source="4.7", words=_IMMEDIATE)
def _tdg(s: Subject) -> Iterator[Finding]:
    if s.word.dma_flags.tdg:
        yield Finding("tdg is set in an immediate word", "dma_flags.tdg", {"tdg": 1, "required": 0})


@rule(
    "isa.4.7.wr_done_sync",
    "wr_done_sync is 0 in an immediate word (one page of two).",
    source="4.7",
    words=_IMMEDIATE,
    severity="warning",
)
def _wr_done_sync(s: Subject) -> Iterator[Finding]:
    if s.word.dma_flags.wr_done_sync:
        message = "wr_done_sync is set; one page wants 0 in an immediate word, two do not mention it"
        yield Finding(message, "dma_flags.wr_done_sync", {"wr_done_sync": int(s.word.dma_flags.wr_done_sync)})


@rule(
    "isa.1.11.descriptor_reg",
    "A register-sourced descriptor takes four registers, all below 64.",
    source="1.11",
    evidence="M/I",
    words=_IMMEDIATE,
)
def _descriptor_registers(s: Subject) -> Iterator[Finding]:
    flags = s.word.descriptor_flags
    for n, first in enumerate(s.word.descriptor_reg[: flags.num_descriptors]):
        last = first + DESCRIPTOR_REGISTERS - 1
        if getattr(flags, f"desc{n}_src") == DescMode.REGISTER and last >= NUM_REGISTERS:
            message = f"descriptor {n} takes registers {first} to {last}; the last is {NUM_REGISTERS - 1}"
            yield Finding(message, f"descriptor_reg[{n}]", {"register": last, "maximum": NUM_REGISTERS - 1})


@rule("isa.4.7.wait_mode", "wait_sema_mode is a wait mode of the generation.", source="4.7", evidence="M/I", words=_V5)
def _v5_wait(s: Subject) -> Iterator[Finding]:
    mode = int(s.word.wait_sema_mode)
    problem = wait_problem(mode, s.generation)
    if problem:
        yield Finding(problem, "wait_sema_mode", {"wait_mode": mode, "generation": s.generation.name})


@rule("isa.4.7.addr_mode", "Both address modes are 0x0 to 0xb.", source="4.7", evidence="M/I", words=_COPY2D)
def _addr_mode(s: Subject) -> Iterator[Finding]:
    for name in ("src_addr_mode", "dst_addr_mode"):
        mode = int(getattr(s.word.addr_mode, name))
        if not is_member(AddrMode, mode):
            message = f"{name} {mode:#x} is not defined; the highest mode is 0xb"
            yield Finding(message, f"addr_mode.{name}", {"mode": mode, "maximum": 0xB})


@rule(
    "isa.4.7.update_mode", "Both semaphore update modes are in the enum.", source="4.7", evidence="M/I", words=_COPY2D
)
def _sema_update(s: Subject) -> Iterator[Finding]:
    for name in ("rd_done", "wr_done"):
        mode = int(getattr(s.word.sema_update_mode, name))
        if not is_member(SemaUpdateMode, mode):
            yield Finding(f"{name} {mode:#x} is no update mode", f"sema_update_mode.{name}", {"mode": mode})


# RDMA


@rule("isa.2.2.extended_opcode", "The sub-opcode exists.", source="2.2", words=_EXTENDED)
def _sub_opcode(s: Subject) -> Iterator[Finding]:
    code = int(s.word.extended_opcode)
    if not is_member(ExtendedOpcode, code):
        yield Finding(f"extended opcode {code:#x} does not exist", "extended_opcode", {"extended_opcode": code})


@rule("isa.4.8.completion_info", "completion_info is 0.", source="4.8", evidence="M/I", words=_RDMA)
def _completion_info(s: Subject) -> Iterator[Finding]:
    value = s.word.completion_info.encode()[0]
    if value:
        message = f"completion_info is {value:#x}, an RDMA word has 0"
        yield Finding(message, "completion_info", {"completion_info": value, "required": 0})


@rule(
    "isa.4.8.engine_mask", "The engine mask names 1, 2, 4, 8 or 16 engines.", source="4.8", evidence="M/I", words=_GEN
)
def _engine_mask(s: Subject) -> Iterator[Finding]:
    if s.choices.text("imm_val_field") == "register":
        return  # the word names a register that holds the mask
    mask = int(s.word.dma_engine_mask)
    engines = mask.bit_count()
    if engines not in RDMA_ENGINE_COUNTS or mask > DMA_ENGINE_MASK:
        message = f"dma_engine_mask {mask:#x} names {engines} engines in 32 bits; 1, 2, 4, 8 or 16 in 16 bits are legal"
        yield Finding(
            message, "dma_engine_mask", {"mask": mask, "engines": engines, "legal": sorted(RDMA_ENGINE_COUNTS)}
        )


@rule("isa.4.8.bidirectional", "is_bidirectional is 0.", source="4.8", evidence="M/I", words=_GEN)
def _bidirectional(s: Subject) -> Iterator[Finding]:
    if s.word.is_bidirectional:
        message = "is_bidirectional is set; two pages say that it is not supported"
        yield Finding(message, "is_bidirectional", {"is_bidirectional": s.word.is_bidirectional, "required": 0})


@rule(
    "isa.7.rdma",
    "SUNDA's headers have the RDMA words; its firmware is not stated.",
    source="7",
    evidence="-",
    words=_RDMA,
)
def _rdma_on_sunda(s: Subject) -> Iterator[Finding]:
    if s.generation.nc < 3:
        message = f"no source says whether the firmware of {s.generation.name} runs {s.kind}"
        yield Finding(message, "extended_opcode", {"generation": s.generation.name})


# queues, shapes, collectives


@rule("isa.3.8.queue_name", "A queue name ends with NUL within 32 bytes.", source="3.8", words=_QUEUE_WORDS)
def _queue_name(s: Subject) -> Iterator[Finding]:
    name = s.word.queue_name
    if len(name) >= QUEUE_NAME_BYTES:
        message = (
            f"queue_name fills all {QUEUE_NAME_BYTES} bytes; at most {QUEUE_NAME_BYTES - 1} characters and a NUL fit"
        )
        yield Finding(message, "queue_name", {"characters": len(name), "maximum": QUEUE_NAME_BYTES - 1})
    elif "\0" in name or not name.isascii():
        message = f"queue_name holds bytes after its NUL or outside ASCII: {name!r}"
        yield Finding(message, "queue_name", {"queue_name": name}, severity="warning")


@rule("isa.3.7.mode", "indirection_mode is 0 or 1.", source="3.7", words=("PSEUDO_DMA_MEMCPY_FULL_IND",))
def _full_ind_mode(s: Subject) -> Iterator[Finding]:
    mode = int(s.word.indirection_mode)
    if mode not in (IndirectMode.SRC_INDIRECTION, IndirectMode.DST_INDIRECTION):
        message = f"indirection_mode is {enum_text(IndirectMode, mode)}; 0 loads, 1 saves"
        yield Finding(message, "indirection_mode", {"indirection_mode": mode, "maximum": 1})


@rule("isa.3.16.move_type", "move_type is in its enum.", source="3.16", words=("CTRL_MS",))
def _move_type(s: Subject) -> Iterator[Finding]:
    if not is_member(MoveType, s.word.move_type):
        move = int(s.word.move_type)
        yield Finding(f"move_type {move:#x} is none of 0, 1, 2", "move_type", {"move_type": move, "maximum": 2})


@rule(
    "isa.3.16.shape_register",
    "A shape register's index is below 4, and at most 4 shapes are moved.",
    source="3.16",
    evidence="M/I",
    words=("CTRL_MS",),
)
def _shape_indices(s: Subject) -> Iterator[Finding]:
    moved = s.word.num_move
    if moved > NUM_DGE_SHAPE_REGISTERS:
        message = f"num_move is {moved}, the word names {NUM_DGE_SHAPE_REGISTERS} registers"
        yield Finding(message, "num_move", {"num_move": moved, "maximum": NUM_DGE_SHAPE_REGISTERS})
    for i, index in enumerate(s.word.shape_registers[:moved]):
        if index >= NUM_DGE_SHAPE_REGISTERS:
            message = f"shape register {index}; there are {NUM_DGE_SHAPE_REGISTERS}"
            yield Finding(message, f"shape_registers[{i}]", {"shape_register": index, "count": NUM_DGE_SHAPE_REGISTERS})


@rule("isa.3.17.no_cast", "in_dtype equals out_dtype.", source="3.17", evidence="M/I", words=("S3D3_COLLECTIVE",))
def _collective_dtypes(s: Subject) -> Iterator[Finding]:
    first, second = int(s.word.in_dtype), int(s.word.out_dtype)
    if first != second:
        message = f"the collective does not cast: {enum_text(Dtype, first)} to {enum_text(Dtype, second)}"
        yield Finding(message, "out_dtype", {"in_dtype": first, "out_dtype": second})


@rule(
    "isa.3.17.channels", "num_active_channels is 1 to 128.", source="3.17", evidence="M/I", words=("S3D3_COLLECTIVE",)
)
def _collective_channels(s: Subject) -> Iterator[Finding]:
    channels = s.word.num_active_channels
    if not 1 <= channels <= POOLING_NUM_CHANNELS:
        message = f"num_active_channels is {channels}, the range is 1..{POOLING_NUM_CHANNELS}"
        yield Finding(
            message, "num_active_channels", {"channels": channels, "minimum": 1, "maximum": POOLING_NUM_CHANNELS}
        )

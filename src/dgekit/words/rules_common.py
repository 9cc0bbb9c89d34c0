"""Rules that many words share: header, events, markers, presence, small fields, dtypes (isa-words 4.1, 7)."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import Any

from dgekit.core.errors import Severity
from dgekit.core.generations import Generation
from dgekit.layout import Field
from dgekit.words.enums import (
    INST_WORD_LEN,
    MAX_PRIORITY_CLASS,
    POOLING_NUM_CHANNELS,
    UNASSIGNED_OPCODES,
    ComputeOp,
    DebugCmdLevel,
    Opcode,
    UpdateMode,
    WaitMode,
)
from dgekit.words.legs import dtype_bits
from dgekit.words.rules import Finding, Subject, rule

RESOLVED = ("DMA_DIRECT2D", "DMA_INDIRECT1D", "DMA_DIRECT2D_XPOSE", "DMA_GATHER_XPOSE")
TRANSPOSES = ("DMA_DIRECT2D_XPOSE", "DMA_GATHER_XPOSE")
SHAPED = ("DMA_DIRECT2D", "DMA_INDIRECT1D")
WITH_LEGS = (*RESOLVED, "PSEUDO_DMA_DIRECT2D")
MEMCPY_LIKE = ("DMA_DIRECT2D", "DMA_INDIRECT1D", "PSEUDO_DMA_DIRECT2D")
COMPUTING = ("DMA_DIRECT2D", "DMA_INDIRECT1D", "PSEUDO_DMA_EXT")

_EVENT_WAITS = {
    WaitMode.WAIT_FOR_EVT_SET,
    WaitMode.WAIT_FOR_EVT_SET_THEN_CLEAR,
    WaitMode.WAIT_FOR_EVT_CLEAR,
    WaitMode.WAIT_FOR_EVT_CLEAR_THEN_SET,
}
_OFFSET_WAITS = {
    WaitMode.WAIT_FOR_SEM_EQ_REG_OFFSET,
    WaitMode.WAIT_FOR_SEM_LT_REG_OFFSET,
    WaitMode.WAIT_FOR_SEM_LE_REG_OFFSET,
    WaitMode.WAIT_FOR_SEM_GT_REG_OFFSET,
    WaitMode.WAIT_FOR_SEM_GE_REG_OFFSET,
    WaitMode.UNORDERED,
}
_EVENT_UPDATES = {
    UpdateMode.EVT_SET_READ,
    UpdateMode.EVT_CLR_READ,
    UpdateMode.EVT_SET_COMPLETE,
    UpdateMode.EVT_CLR_COMPLETE,
}


def is_member(members: type[enum.IntEnum], value: int) -> bool:
    """True when the enum has the value."""
    return value in members._value2member_map_


def enum_text(members: type[enum.IntEnum], value: int) -> str:
    """`NAME (0x..)`, or the number alone for a value the enum does not have."""
    return f"{members(value).name} ({int(value):#x})" if is_member(members, value) else f"{int(value):#x}"


def opcode_of(word: Any) -> int:
    """Byte 0 of any word: its header's, or its own where it has no header."""
    return int(word.header.opcode if hasattr(word, "header") else word.opcode)


def has_idle_index_fields(word: Any) -> bool:
    """True for an extension without index channels: its index fields are not checked (isa-words 3.6, 4.6)."""
    return bool(word.kind == "PSEUDO_DMA_EXT" and not word.idx_num_active_channels)


def checked_leaves(word: Any) -> Iterator[tuple[str, Field[Any], Any]]:
    """(path, field, value) of everything in a word that a rule may judge."""
    idle = has_idle_index_fields(word)
    for path, field, value in word.leaves():
        if not (idle and path.startswith(("src_idx_start_addr", "dst_idx_start_addr"))):
            yield path, field, value


# header and presence


@rule("isa.C1", "The opcode is a member of OPCODE and inst_word_len is 16.", source="4.1")
def _header(s: Subject) -> Iterator[Finding]:
    opcode = opcode_of(s.word)
    if opcode in UNASSIGNED_OPCODES:
        yield Finding(f"opcode {opcode:#x} {UNASSIGNED_OPCODES[opcode]}", "header.opcode", {"opcode": opcode})
    elif not is_member(Opcode, opcode):
        message = f"opcode {opcode:#x} is not among the DMA-related opcodes this specification lists"
        yield Finding(message, "header.opcode", {"opcode": opcode}, severity="unspecified")
    if s.kind == "PSEUDO_DMA_EXT":
        return  # its byte 1 holds flags (isa-words 3.6)
    length = s.word.header.inst_word_len if hasattr(s.word, "header") else s.word.raw[1]
    if length != INST_WORD_LEN:
        yield Finding(
            f"inst_word_len is {length:#x}, every word has {INST_WORD_LEN:#x}",
            "header.inst_word_len",
            {"inst_word_len": length, "required": INST_WORD_LEN},
            "set inst_word_len = 0x10",
        )


@rule("isa.7.word", "The generation has the word.", source="7")
def _present(s: Subject) -> Iterator[Finding]:
    opcode = opcode_of(s.word)
    if opcode in s.generation.opcodes_absent:
        message = f"{s.generation.name} has no opcode {opcode:#x}"
        yield Finding(message, "header.opcode", {"opcode": opcode, "generation": s.generation.name})


@rule("isa.2.10.debug_cmd", "debug_cmd is a member of its enum.", source="2.10", evidence="M/I")
def _debug_cmd(s: Subject) -> Iterator[Finding]:
    if hasattr(s.word, "header") and not is_member(DebugCmdLevel, s.word.header.debug_cmd):
        level = int(s.word.header.debug_cmd)
        yield Finding(f"debug_cmd {level:#x} is no profiling level", "header.debug_cmd", {"debug_cmd": level})


# events


def wait_problem(mode: int, generation: Generation) -> str | None:
    """Why `mode` is no wait mode of the generation, None when it is one."""
    if not is_member(WaitMode, mode):
        return f"wait mode {mode:#x} is not in WAIT_MODE"
    if mode == WaitMode.INVALID:
        return "wait mode 0xff is INVALID"
    if mode in _EVENT_WAITS and not generation.has_event_modes:
        return f"{WaitMode(mode).name} ({mode:#x}) does not exist on {generation.name}: event modes were dropped"
    if mode in _OFFSET_WAITS and not generation.has_offset_waits:
        return f"{WaitMode(mode).name} ({mode:#x}) does not exist on {generation.name}: it is new on MAVERICK"
    return None


def update_problem(mode: int, generation: Generation) -> str | None:
    """Why `mode` is no update mode of the generation, None when it is one."""
    if not is_member(UpdateMode, mode):
        return f"update mode {mode:#x} is not in UPDATE_MODE"
    if mode == UpdateMode.INVALID:
        return "update mode 0xff is INVALID"
    if mode in _EVENT_UPDATES and not generation.has_event_modes:
        return f"{UpdateMode(mode).name} ({mode:#x}) does not exist on {generation.name}: event modes were dropped"
    return None


@rule("isa.C2", "wait_mode and update_mode are members of their enums for the generation.", source="4.1")
def _events(s: Subject) -> Iterator[Finding]:
    if not hasattr(s.word, "events"):
        return
    events = s.word.events
    for name, mode, problem in (
        ("wait_mode", int(events.wait_mode), wait_problem(int(events.wait_mode), s.generation)),
        ("update_mode", int(events.update_mode), update_problem(int(events.update_mode), s.generation)),
    ):
        if problem:
            yield Finding(problem, f"events.{name}", {name: mode, "generation": s.generation.name})


# small shared fields


def inferred_on_xpose(s: Subject) -> Severity | None:
    """That C3 and C7 hold for DMA_DIRECT2D_XPOSE too is inferred (isa-words 4.4): a warning there."""
    return "warning" if s.kind == "DMA_DIRECT2D_XPOSE" else None


@rule("isa.C3", "priority_class is at most 4 and the upper five bits are zero.", source="4.1")
def _dma_configs(s: Subject) -> Iterator[Finding]:
    configs = getattr(s.word, "dma_configs", None)
    if configs is None:
        return
    if configs.priority_class > MAX_PRIORITY_CLASS:
        yield Finding(
            f"priority_class {configs.priority_class} is above {MAX_PRIORITY_CLASS}",
            "dma_configs.priority_class",
            {"priority_class": configs.priority_class, "maximum": MAX_PRIORITY_CLASS},
            "use a class from 0 to 4",
            inferred_on_xpose(s),
        )
    if configs.reserved_bitfield:
        message = f"the upper five bits of dma_configs are {configs.reserved_bitfield:#x}, not zero"
        yield Finding(message, "dma_configs.reserved_bitfield", {"reserved_bitfield": configs.reserved_bitfield})


@rule("isa.2.4.compute_op", "compute_op is a member of DGE_COMPUTE_OP.", source="2.4", words=COMPUTING)
def _compute_op(s: Subject) -> Iterator[Finding]:
    op = int(s.word.compute_op)
    if not is_member(ComputeOp, op):
        yield Finding(f"compute_op {op:#x} is not in DGE_COMPUTE_OP", "compute_op", {"compute_op": op})


@rule(
    "isa.2.4.compiler",
    "The shipped compiler emits only NONE and ADD, and no compute op for core v5.",
    source="2.4",
    words=COMPUTING,
    severity="advice",
)
def _compiler_op(s: Subject) -> Iterator[Finding]:
    op = int(s.word.compute_op)
    legal = {ComputeOp.NONE} if s.generation.nc >= 5 else {ComputeOp.NONE, ComputeOp.ADD}
    if is_member(ComputeOp, op) and op not in legal:
        message = f"the shipped compiler never emits {enum_text(ComputeOp, op)} for {s.generation.name}"
        yield Finding(message, "compute_op", {"compute_op": op, "generation": s.generation.name})


@rule(
    "isa.C11",
    "idx_num_active_channels is 128.",
    source="4.1",
    words=("DMA_INDIRECT1D", "DMA_GATHER_XPOSE", "PSEUDO_DMA_EXT"),
)
def _channels(s: Subject) -> Iterator[Finding]:
    channels = s.word.idx_num_active_channels
    if has_idle_index_fields(s.word):
        return
    if channels != POOLING_NUM_CHANNELS:
        yield Finding(
            f"idx_num_active_channels is {channels}, it must be {POOLING_NUM_CHANNELS}",
            "idx_num_active_channels",
            {"idx_num_active_channels": channels, "required": POOLING_NUM_CHANNELS},
            "set idx_num_active_channels = 128",
        )


# dtypes


def leg_dtypes(s: Subject) -> Iterator[tuple[str, int]]:
    """(field name, code) of both element types of any word that has them."""
    if s.kind == "DMA_GATHER_XPOSE":
        yield "dtype.dtype_lo", int(s.word.dtype.dtype_lo)
        yield "dtype.dtype_hi", int(s.word.dtype.dtype_hi)
    elif hasattr(s.word, "in_dtype"):
        yield "in_dtype", int(s.word.in_dtype)
        yield "out_dtype", int(s.word.out_dtype)


@rule("isa.2.5.dtype", "The element type exists on the generation.", source="2.5")
def _dtype_present(s: Subject) -> Iterator[Finding]:
    for name, code in leg_dtypes(s):
        if code not in s.generation.dtypes:
            message = f"{name} {code:#x} is not in the DTYPE enum of {s.generation.name}"
            yield Finding(message, name, {"dtype": code, "generation": s.generation.name})


@rule("isa.2.5.invalid", "The element type is not INVALID.", source="2.5", evidence="M/I")
def _dtype_invalid(s: Subject) -> Iterator[Finding]:
    for name, code in leg_dtypes(s):
        if code == 0:
            yield Finding(f"{name} is INVALID (0x0)", name, {"dtype": code})


def misaligned(address: int | None, code: int) -> tuple[int, int] | None:
    """(remainder, element bytes) when an immediate address is not aligned to its dtype (C13), else None."""
    size = (dtype_bits(code) or 0) // 8
    if address is None or size == 0 or address % size == 0:
        return None
    return address % size, size

"""The words of MAVERICK: no push model, the descriptors or the whole copy stand in the word (isa-words 3.11, 3.12).

Header facts only: no v5 firmware was decoded, so everything whose meaning nobody gives raises Unspecified.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dgekit.core.choices import Choices
from dgekit.core.errors import IllegalWord, Unspecified, Unsupported
from dgekit.core.events import EventLog
from dgekit.core.generations import Generation
from dgekit.core.state import NUM_REGISTERS, NUM_SEMAPHORES, StateView
from dgekit.descriptors import bd
from dgekit.descriptors.batch import ChannelWork
from dgekit.firmware.outcome import Outcome
from dgekit.firmware.values import Backend
from dgekit.patterns.channels import row_blocks
from dgekit.patterns.runs import Runs, runs
from dgekit.patterns.walk import Walk
from dgekit.transfers.events import COMPARES, WAIT_FOR_NOTHING
from dgekit.transfers.transfer import Update, Wait
from dgekit.words.enums import DESCRIPTOR_REGISTERS, AddrMode, DescMode, SemaUpdateMode, WaitMode
from dgekit.words.legs import element_bytes, step_bytes
from dgekit.words.structs import DmaCopy2D, DmaImmediate

KINDS = frozenset({"DMA_IMMEDIATE", "DMA_COPY2D"})
_COPY_OPS = (bd.SdmaOp.NONE, bd.SdmaOp.CME)


@dataclass(frozen=True, slots=True)
class InlineDescriptor:
    """One 16-byte descriptor of DMA_IMMEDIATE: bytes to move (0 stored is 65536), command word, pointer."""

    nbytes: int
    word1: int
    pointer: int
    raw: bytes

    @classmethod
    def of(cls, raw: bytes) -> InlineDescriptor:
        """Read the layout of section 1 of the ring chapter."""
        word0, word1 = int.from_bytes(raw[:4], "little"), int.from_bytes(raw[4:8], "little")
        return cls(word0 & 0xFFFF or bd.MAX_BD_BYTES, word1, int.from_bytes(raw[8:], "little"), raw)


def run(word: Any, state: StateView, generation: Generation, choices: Choices, events: EventLog) -> Outcome:
    """The outcome of 0xba or 0xb9; raises IllegalWord off MAVERICK, Unspecified for what no source describes."""
    if not generation.has_inline_descriptors:
        raise IllegalWord(
            f"{generation.name} has no {word.kind}",
            rule="isa.7.word",
            values={"opcode": int(word.header.opcode), "generation": generation.name},
            source="isa-words 7",
            fix="use MAVERICK",
        )
    waits = wait_of(word)
    updates: tuple[Update, ...] = ()
    if isinstance(word, DmaImmediate):
        work = _immediate(word, state, choices, events)
    else:
        work, updates = _copy2d(word, state, generation, choices), _updates(word)
    events.emit("push", "inline", kind=word.kind, dmas=[part.dma for part in work])
    size = generation.max_packet_bytes
    return Outcome("done", backend=Backend.INLINE, work=work, packet_bytes=size, waits=waits, updates=updates)


def wait_of(word: DmaImmediate | DmaCopy2D) -> tuple[Wait, ...]:
    """What the word waits for; raises Unspecified for the register forms, IllegalWord for a mode v5 lacks."""
    mode = int(word.wait_sema_mode)
    if mode in WAIT_FOR_NOTHING:
        return ()
    if mode in COMPARES:
        return (Wait(int(word.wait_sema_idx), int(word.wait_sema_value), COMPARES[mode]),)
    if mode in list(WaitMode) and mode >= WaitMode.WAIT_FOR_SEM_EQ_REG and mode != WaitMode.INVALID:
        raise Unspecified(
            f"no source says which parts of a {WaitMode(mode).name} wait are registers in {word.kind}",
            rule="isa.8.33",
            where="wait_sema_mode",
            values={"wait_sema_mode": mode},
            fix="use an immediate wait",
        )
    raise IllegalWord(
        f"wait mode {mode:#x} does not exist on MAVERICK",
        rule="isa.4.7.wait_mode",
        where="wait_sema_mode",
        values={"wait_sema_mode": mode},
        source="isa-words 2.8",
    )


def descriptors_of(word: DmaImmediate, state: StateView) -> tuple[InlineDescriptor, ...]:
    """The 1 to 3 descriptors of the word, from its own bytes or from four registers each (isa-words 1.11)."""
    flags = word.descriptor_flags
    count = int(flags.num_descriptors)
    if not count:
        raise IllegalWord(
            "DMA_IMMEDIATE holds no descriptor",
            rule="isa.4.7.num_descriptors",
            where="descriptor_flags.num_descriptors",
            values={"num_descriptors": 0, "range": "1..3"},
            source="isa-words 4.7",
        )
    modes = (flags.desc0_src, flags.desc1_src, flags.desc2_src)[:count]
    return tuple(
        InlineDescriptor.of(
            _from_registers(int(word.descriptor_reg[i]), state)
            if mode == DescMode.REGISTER
            else bytes(word.descriptor_imm[i].bytes)
        )
        for i, mode in enumerate(modes)
    )


def _from_registers(first: int, state: StateView) -> bytes:
    _require_registers(first, DESCRIPTOR_REGISTERS, "descriptor_reg")
    return b"".join(state.register(first + i).to_bytes(4, "little") for i in range(DESCRIPTOR_REGISTERS))


def _immediate(word: DmaImmediate, state: StateView, choices: Choices, events: EventLog) -> tuple[ChannelWork, ...]:
    """Two descriptors are the M2S and the S2M one of a copy (`inline_legs`); nobody says what one or three mean."""
    found = descriptors_of(word, state)
    for index, descriptor in enumerate(found):
        events.emit("push", "inline_descriptor", index=index, raw=descriptor.raw.hex())
    if len(found) != 2 or choices.text("inline_legs") == "refuse":
        raise Unspecified(
            f"no source says which leg each of {len(found)} inline descriptors belongs to",
            rule="isa.3.11.legs",
            where="descriptor_flags.num_descriptors",
            values={"num_descriptors": len(found)},
            source="isa-words 1.11, decision D8",
            fix="give two descriptors, source then destination",
        )
    src, dst = found
    meta = bd.CopyMeta.decode(src.word1.to_bytes(4, "little"))
    if meta.op not in _COPY_OPS or meta.optype != bd.CmeOptype.COPY:
        raise Unsupported(
            f"an inline descriptor with command word {src.word1:#010x} is no plain copy",
            rule="isa.3.11.copy",
            where="descriptor_imm[0]",
            values={"word1": src.word1},
            fix="use a copy command",
        )
    if src.nbytes != dst.nbytes:
        raise IllegalWord(
            f"inline descriptors of {src.nbytes} and {dst.nbytes} bytes do not pair",
            rule="pipeline.6.1",
            values={"src": src.nbytes, "dst": dst.nbytes, "unit": "bytes"},
            source="rings 1.8",
        )
    engine, queue = int(word.dma_engines.start_id), int(word.dma_flags.queue_id)
    legs = (Runs.of([src.pointer], src.nbytes), Runs.of([dst.pointer], dst.nbytes))
    return (ChannelWork(engine, *legs, queue=queue),)


def _copy2d(word: DmaCopy2D, state: StateView, generation: Generation, choices: Choices) -> tuple[ChannelWork, ...]:
    """Both walks, cut along the dimension with the most rows over the engines that the word names."""
    src = _walk(word, "src", int(word.addr_mode.src_addr_mode), state, choices)
    dst = _walk(word, "dst", int(word.addr_mode.dst_addr_mode), state, choices)
    if src.nbytes != dst.nbytes:
        raise IllegalWord(
            f"the source has {src.nbytes} bytes, the destination {dst.nbytes}",
            rule="pipeline.6.1",
            values={"src": src.nbytes, "dst": dst.nbytes, "unit": "bytes"},
            source="isa-words 4.2",
        )
    engines, queue = _engines(word, generation), int(word.dma_flags.queue_id)
    if src.counts != dst.counts or not src.count:
        return (ChannelWork(engines[0], runs(src), runs(dst), queue=queue),)
    dim = max(range(len(src.dims)), key=lambda index: src.dims[index][1])
    blocks = row_blocks(src.dims[dim][1], len(engines))
    return tuple(
        ChannelWork(engine, runs(src.slice(dim, lo, hi)), runs(dst.slice(dim, lo, hi)), queue=queue)
        for engine, (lo, hi) in zip(engines, blocks, strict=False)
    )


def _walk(word: DmaCopy2D, leg: str, mode: int, state: StateView, choices: Choices) -> Walk:
    elem = element_bytes(int(getattr(word, f"{leg}_elem_size")))
    steps = (step_bytes(step, elem, choices) for step in getattr(word, f"{leg}_step_elem"))
    start = _start(getattr(word, f"{leg}_start_addr"), leg, mode, state)
    return Walk(start, tuple(zip(steps, getattr(word, f"{leg}_num_elem"), strict=True)), elem)


def _start(address: Any, leg: str, mode: int, state: StateView) -> int:
    """IMM64 and the plain register pair are clear; the other ten modes are named, not described (isa-words 8.33)."""
    if mode == AddrMode.IMM64:
        return int(address.address)
    if mode == AddrMode.REG_PAIR:
        _require_registers(int(address.base_reg), 2, f"{leg}_start_addr.base_reg")
        return state.register_pair(int(address.base_reg))
    name = AddrMode(mode).name if mode in list(AddrMode) else f"mode {mode:#x}"
    raise Unspecified(
        f"no source says what {name} computes",
        rule="isa.8.33",
        where=f"addr_mode.{leg}_addr_mode",
        values={"addr_mode": mode},
        fix="use IMM64 or REG_PAIR",
    )


def _engines(word: DmaCopy2D, generation: Generation) -> tuple[int, ...]:
    first, count = int(word.dma_engines.start_id), 1 << int(word.dma_engines.engine_count)
    if first + count > generation.engines:
        raise IllegalWord(
            f"engines {first}..{first + count - 1} do not exist on {generation.name}",
            rule="isa.4.7.engines",
            where="dma_engines",
            values={"start_id": first, "engines": count, "maximum": generation.engines},
            source="rings 8",
        )
    return tuple(range(first, first + count))


def _updates(word: DmaCopy2D) -> tuple[Update, ...]:
    """Local increments of one semaphore; counters, collective-sync blocks and remote cores are not described."""
    modes = ((word.sema_update_mode.rd_done, word.rd_done_sema_update_idx, "rd_done"),
             (word.sema_update_mode.wr_done, word.wr_done_sema_update_idx, "wr_done"))  # fmt: skip
    updates = []
    for mode, index, name in modes:
        if mode == SemaUpdateMode.NONE:
            continue
        if mode != SemaUpdateMode.LOCAL_SEM_INC:
            raise Unspecified(
                f"no source says what {name} update mode {int(mode):#x} does",
                rule="isa.2.11.update",
                where=f"sema_update_mode.{name}",
                values={"mode": int(mode)},
                fix="use NONE or LOCAL_SEM_INC",
            )
        if index >= NUM_SEMAPHORES:
            raise IllegalWord(
                f"{name} names semaphore {index}; there are {NUM_SEMAPHORES}",
                rule="isa.2.11.update",
                where=f"{name}_sema_update_idx",
                values={"semaphore": int(index), "maximum": NUM_SEMAPHORES - 1},
                source="isa-words 3.12",
            )
        updates.append(Update(int(index), "add", 1))
    return tuple(updates)


def _require_registers(first: int, count: int, name: str) -> None:
    if first + count > NUM_REGISTERS:
        raise IllegalWord(
            f"{name} {first} reaches register {first + count - 1}; the last is {NUM_REGISTERS - 1}",
            rule="isa.C8",
            where=name,
            values={"register": first + count - 1, "maximum": NUM_REGISTERS - 1},
            source="isa-words 1.11",
        )

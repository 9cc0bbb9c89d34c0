"""The two processors that carry a leg between cores: one builds the rings, one starts them (pipeline 3.7, 7.3).

Processor 2n (RX) builds the S2M rings, processor 2n + 1 (TX) the M2S rings, on the engines of the executing core.
Start compares what was built with what was expected, then RX rings the S2M doorbells and signals (right push); TX
waits for that (left pop) and rings the M2S doorbells. Each processor has its own log; RX's lines stand first here.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

from dgekit.core.choices import Choices
from dgekit.core.errors import LoweringError
from dgekit.core.events import EventLog
from dgekit.core.generations import Generation
from dgekit.descriptors.batch import DescriptorBatch
from dgekit.descriptors.doorbell import Leg as Unit
from dgekit.descriptors.doorbell import doorbell_address, unit_base
from dgekit.firmware.remote import Iteration, Leg

SLOTS = 16  # entries of the swizzle and of the window table, one an engine


class StreamMismatch(LoweringError):
    """What was built is not what start expects: the firmware logs it and stops."""


class Role(enum.IntEnum):
    """What a processor does for a leg; bit 0 of its id."""

    RX = 0
    TX = 1

    @property
    def unit(self) -> Unit:
        """The unit whose ring it builds: RX prints S2M, TX prints M2S."""
        return "S2M" if self is Role.RX else "M2S"


@dataclass(frozen=True, slots=True)
class Stream:
    """The descriptors that one processor has built: its role, how many an engine, and how many there should be."""

    processor: int
    role: Role
    written: int
    expected: int


def processors(choices: Choices) -> tuple[tuple[int, Role], ...]:
    """The pair of processors with the roles they build for."""
    first = choices.number("rdma_prid")
    return (first, Role.RX), (first + 1, Role.TX)


def counts(batch: DescriptorBatch, leg: Leg, role: Role) -> tuple[int, int]:
    """Descriptors and data descriptors of a masked engine on one leg; all masked engines have the same (pipeline 3.7).

    The two semaphore descriptors stand behind the data.
    """
    channel = next(channel for channel in batch.channels if channel.dma == leg.dmas[0])
    total = len(channel.s2m if role is Role.RX else channel.m2s)
    return total, total - 2


def tell_generate(leg: Leg, batch: DescriptorBatch, generation: Generation, choices: Choices, events: EventLog) -> None:
    """The lines of EXTENDED_RDMA_DESC_GEN, processor after processor."""
    for processor, role in processors(choices):
        say = _Speaker(events, choices, processor, role)
        mask, active = leg.mask, len(leg.dmas)
        ring, peer = choices.number("rdma_ring"), leg.peer
        say("rdma_gen.start", processor)
        say("rdma_gen.args", ring, leg.core, leg.nbytes, peer.core, peer.routing_id, mask)
        say("rdma_gen.active", mask, active)
        say("rdma_gen.addresses", leg.src, leg.dst)
        say("rdma_gen.routed", peer.routing_id, leg.routed, active)
        turns = say.guess(len(leg.iterations))
        say("rdma_gen.loop", turns, say.guess(counts(batch, leg, role)[1]))
        for number, turn in enumerate(leg.iterations):
            base = turn.src if role is Role.TX else turn.dst
            say("rdma_gen.iteration", number, turns, base, active, turn.nbytes)
            say.plain("rdma_gen.swizzle", *range(SLOTS))
            say.plain("rdma_gen.windows", *_windows(leg, turn, role, generation, say))
        say("rdma_gen.local_semaphore", leg.core, leg.local_sem)
        say("rdma_gen.remote_semaphore", peer.core, peer.routing_id, leg.remote_sem)
        say("rdma_gen.end")


def _windows(leg: Leg, turn: Iteration, role: Role, generation: Generation, say: _Speaker) -> list[int]:
    """High and low half of where each engine's block begins in this turn, 0 for slots without an engine (MODEL)."""
    first = turn.src if role is Role.TX else turn.dst
    found: list[int] = []
    for slot in range(SLOTS):
        place = first + slot * leg.rows * generation.partition_stride if slot < len(leg.dmas) else 0
        found += [say.guess(place >> 32), say.guess(place & 0xFFFF_FFFF)]
    return found


def start(leg: Leg, streams: Sequence[Stream], generation: Generation, choices: Choices, events: EventLog) -> None:
    """The lines of EXTENDED_RDMA_DESC_START, and its two checks.

    Raises StreamMismatch where a stream is shorter than it should be, or belongs to the other role than its processor:
    the firmware logs both with the same text and stops.
    """
    for stream in streams:
        say = _Speaker(events, choices, stream.processor, stream.role)
        queue, unit = choices.number("rdma_ring"), stream.role.unit
        first = leg.core * generation.engines  # as if all engines sat behind the core's first one (MODEL)
        base = say.guess(unit_base(generation, first, unit) & 0xFFFF_FFFF)
        address = say.guess(doorbell_address(generation, first, queue, unit) & 0xFFFF_FFFF)
        say("rdma_start.start", stream.processor)
        say("rdma_start.args", queue, stream.expected, base)
        say("doorbell.rdma_trigger", unit, address, leg.mask, stream.expected)
        say("rdma_start.draining")
        say("rdma_start.drained")
        _check(stream, say)
        for key in _STORES[stream.role]:
            say.plain(key)
        say("rdma_start.end")


_STORES = {
    Role.RX: ("doorbell.rx_tail", "rdma_start.signaling", "rdma_start.signaled"),
    Role.TX: ("rdma_start.waiting", "doorbell.tx_tail", "doorbell.tx_tail_written"),
}


def _check(stream: Stream, say: _Speaker) -> None:
    values = {
        "processor": stream.processor, "role": stream.role.name, "wrote": stream.written, "expected": stream.expected
    }  # fmt: skip
    if stream.processor & 1 != stream.role:
        problem = f"processor {stream.processor} is {Role(stream.processor & 1).name}, its descriptors are for"
        message, rule, fix = f"{problem} {stream.role.name}", "pipeline.3.7.role", "an even rdma_prid"
    elif stream.written != stream.expected:
        message = f"the descriptor stream wrote {stream.written} of {stream.expected} descriptors an engine"
        rule, fix = "pipeline.3.7.count", "a longer ring (ring_size), or fewer descriptors between two starts"
    else:
        return
    say.plain("bounds.count", stream.written, stream.expected)
    raise StreamMismatch(message, rule=rule, values=values, source="pipeline 3.7, 6.6", fix=fix)


class _Speaker:
    """Emits the lines of one processor in one role."""

    __slots__ = ("_events", "_guesses", "_processor", "_role")

    def __init__(self, events: EventLog, choices: Choices, processor: int, role: Role) -> None:
        self._events = events
        self._guesses = choices.text("rdma_log_args") == "model"
        self._processor = processor
        self._role = role

    def __call__(self, line: str, *args: object) -> None:
        """A line that begins with the role."""
        self.plain(line, self._role.name, *args)

    def plain(self, line: str, *args: object) -> None:
        """A line without the role."""
        name = line.rpartition(".")[2]
        self._events.emit("remote", name, line, args, processor=self._processor, role=self._role.name)

    def guess(self, value: int) -> int:
        """An argument that no source explains: the model's value, or 0."""
        return value if self._guesses else 0

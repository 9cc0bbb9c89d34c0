"""One DMA engine: 16 queue pairs, the states of its two units, and the execution of packets (rings 2.7 to 2.10).

`step` executes one packet; `drain` everything that is ready, groups of independent packets at once, with the same
result. Transfers of a queue retire in order; queues take turns at packet boundaries (round robin, rings 5.4).
"""

from __future__ import annotations

import enum
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dgekit.core.choices import Choices
from dgekit.core.errors import DgeError, EngineError, Issue, RingError, Unspecified, Unsupported
from dgekit.core.generations import Generation
from dgekit.descriptors import bd
from dgekit.descriptors.batch import U32
from dgekit.descriptors.doorbell import LEGS, Leg
from dgekit.machine import causes
from dgekit.machine.arithmetic import arithmetic_error
from dgekit.machine.completion import CompletionRing
from dgekit.machine.memory import Memory
from dgekit.machine.operations import Legs, before, group_starts, independent, legs_of, perform
from dgekit.machine.packets import Limits, Window, read_packets
from dgekit.machine.ring import Ring
from dgekit.numerics.stochastic import SrLanes
from dgekit.patterns.runs import I64

# What the driver writes at bring-up (rings 2.5, 2.9): cfg_len 0x010fffff, max_desc_per_pkt 0x41 = 64 + 1
DRIVER_PACKET_BYTES = 0xFFFFF
METADATA_BDS = 1


class State(enum.IntEnum):
    """State of a unit's sub-machines (rings 2.9)."""

    IDLE = 0
    NORMAL = 1
    ABORT = 2


@dataclass(frozen=True, slots=True)
class Progress:
    """What a step or a drain did: packets, BDs of each leg, bytes read; `waiting` says why it went no further.

    `waiting` is "" (the queue is empty), "packet" (no LAST yet), "s2m" (nothing posted to write to), "idle" or
    "abort" (the engine is not in its normal state).
    """

    packets: int = 0
    m2s: int = 0
    s2m: int = 0
    bytes: int = 0
    waiting: str = ""

    def __add__(self, other: Progress) -> Progress:
        return Progress(
            self.packets + other.packets,
            self.m2s + other.m2s,
            self.s2m + other.s2m,
            self.bytes + other.bytes,
            other.waiting,
        )


class QueuePair:
    """The M2S and the S2M ring of one queue number: a copy always uses both.

    `completions` holds a completion ring for each leg that has one (the driver gives none); `packets` counts the
    packets executed since reset, `lanes` is the state of stochastic rounding.
    """

    __slots__ = ("completions", "lanes", "m2s", "number", "packets", "s2m")

    def __init__(self, number: int, m2s: Ring, s2m: Ring) -> None:
        self.number = number
        self.m2s = m2s
        self.s2m = s2m
        self.completions: dict[Leg, CompletionRing] = {}
        self.packets = 0
        self.lanes = SrLanes()

    def ring(self, leg: Leg) -> Ring:
        """The ring of one leg."""
        return self.m2s if leg == "M2S" else self.s2m

    def retire(self, leg: Leg, count: int) -> None:
        """Fetch and retire the oldest BDs of a leg."""
        self.ring(leg).fetch(count)
        self.ring(leg).retire(count)


class Engine:
    """One engine of a device; `number` counts over the device. It starts idle: `arm` it before it moves anything.

    `interrupts[leg]` has a bit for each queue on which a BD with INT_EN completed (groups C and B, rings 6.5);
    `lossy` counts the elements that lost bits in conversions since the start or the last `initialise`; `issues` are
    the findings of compute packets that nobody has taken yet.
    """

    def __init__(
        self,
        number: int,
        generation: Generation,
        memory: Memory,
        *,
        check_ring_id: bool | None = None,
        dmb_enabled: bool = True,
        choices: Choices | None = None,
    ) -> None:
        self.number = number
        self.generation = generation
        self.memory = memory
        self.check_ring_id = generation.check_ring_id if check_ring_id is None else check_ring_id
        self.dmb_enabled = dmb_enabled
        self._choices = choices if choices is not None else Choices()
        packet_bytes = max(DRIVER_PACKET_BYTES, generation.max_packet_bytes)
        self.limits = Limits(packet_bytes, generation.tx_cap + METADATA_BDS, generation.cce_elements)
        self.queues: dict[int, QueuePair] = {}
        self.units: dict[Leg, State] = dict.fromkeys(LEGS, State.IDLE)
        self.error: tuple[Leg, int] | None = None
        self.interrupts: dict[Leg, int] = dict.fromkeys(LEGS, 0)
        self.lossy = 0
        self.issues: list[Issue] = []
        self._turn = -1

    # set-up

    def add_queue(self, number: int, m2s: Ring, s2m: Ring) -> QueuePair:
        """Give a queue its two rings; raises RingError for a number that does not exist or has its rings."""
        if not 0 <= number < self.generation.queues_per_engine or number in self.queues:
            problem = "already has its rings" if number in self.queues else "does not exist"
            raise RingError(
                f"queue {number} of engine {self.number} {problem}",
                rule="rings.2.1",
                values={"queue": number, "queues": self.generation.queues_per_engine},
            )
        self.queues[number] = QueuePair(number, m2s, s2m)
        return self.queues[number]

    @property
    def state(self) -> State:
        """Abort if any unit is, else normal if any is, else idle."""
        for state in (State.ABORT, State.NORMAL):
            if state in self.units.values():
                return state
        return State.IDLE

    def arm(self) -> None:
        """`change_state.normal` on both units; raises EngineError in the abort state."""
        if self.state is State.ABORT:
            raise self.aborted()
        self.units = dict.fromkeys(LEGS, State.NORMAL)

    def stop(self) -> None:
        """`change_state.dis` on both units: idle; an aborted unit stays so."""
        self.units = {leg: s if s is State.ABORT else State.IDLE for leg, s in self.units.items()}

    def abort(self, unit: Leg, cause: int = causes.UNKNOWN) -> None:
        """Move a unit to its abort state, as `change_state.abort` or an unmasked error cause does."""
        self.units[unit] = State.ABORT
        self.error = (unit, cause)

    def initialise(self) -> None:
        """Re-initialise: every pointer reset, both units idle, no error; the only way out of abort."""
        for pair in self.queues.values():
            pair.m2s.reset()
            pair.s2m.reset()
            pair.packets = 0
            pair.lanes = SrLanes()
            for completion in pair.completions.values():
                completion.reset()
        self.units = dict.fromkeys(LEGS, State.IDLE)
        self.error = None
        self.interrupts = dict.fromkeys(LEGS, 0)
        self.lossy = 0
        self.issues = []

    def aborted(self) -> EngineError:
        """The error of using an engine that is in its abort state."""
        unit, cause = self.error or ("M2S", causes.UNKNOWN)
        return EngineError(
            f"engine {self.number} is in abort since {unit} error cause {cause} ({causes.name(unit, cause)})",
            cause=cause,
            rule="rings.2.9",
            values={"engine": self.number, "unit": unit, "cause": cause},
            fix="re-initialise the engine",
        )

    # execution

    def step(self, queue: int | None = None) -> Progress:
        """Execute one packet of a queue, or of the next ready queue in turn; nothing ready gives `packets` 0.

        Raises EngineError, RingError, Unsupported or a MemoryFault with its place; the packet then moved nothing.
        """
        if self.state is not State.NORMAL:
            return Progress(waiting=self.state.name.lower())
        if queue is not None:
            return self._advance(self.queues[queue], one=True)
        waiting = ""
        for number in self._round():
            done = self._advance(self.queues[number], one=True)
            if done.packets:
                self._turn = number
                return done
            waiting = waiting or done.waiting
        return Progress(waiting=waiting)

    def drain(self, queue: int) -> Progress:
        """Execute every ready packet of a queue; raises as `step` does, with all earlier packets done."""
        if self.state is not State.NORMAL:
            return Progress(waiting=self.state.name.lower())
        return self._advance(self.queues[queue], one=False)

    def run(self) -> Progress:
        """Execute until no queue has a ready packet; several busy queues take turns packet by packet."""
        busy = [number for number, pair in self.queues.items() if not pair.m2s.empty]
        if len(busy) == 1:
            return self.drain(busy[0])
        total = Progress()
        while (done := self.step()).packets:
            total += done
        return total + done

    def _round(self) -> Iterator[int]:
        """Queue numbers in turn, beginning after the one served last."""
        numbers = sorted(self.queues)
        yield from (n for n in numbers if n > self._turn)
        yield from (n for n in numbers if n <= self._turn)

    def _advance(self, pair: QueuePair, *, one: bool) -> Progress:
        """Execute the first, or every, legal packet of a queue, then raise what stopped the reading."""
        window = self._read(pair, one)
        count = min(len(window), 1) if one else len(window)
        for low, high in self._groups(window, count):
            self._execute(pair, window, low, high)
        m2s, s2m = before(window.m2s_ends, count), before(window.s2m_ends, count)
        problem = window.problem
        if problem is not None and not (one and count):
            at = problem.bd - (m2s if problem.unit == "M2S" else s2m)
            raise self._stop(pair, problem.unit, at, problem.error, problem.cause)
        taken = int(window.src_lengths[: before(window.src_ends, count)].sum())
        return Progress(count, m2s, s2m, taken, "" if one and count else window.waiting)

    def _read(self, pair: QueuePair, one: bool) -> Window:
        """The packets at the head of a queue."""
        m2s, s2m = pair.m2s, pair.s2m
        words = m2s.pending(self.limits.packet_bds + 1 if one else None)
        posted = s2m.pending()
        ids = None
        if self.check_ring_id:
            ids = m2s.ring_ids(m2s.head, len(words)), s2m.ring_ids(s2m.head, len(posted))
        return read_packets(words, posted, lambda firsts: m2s.side(m2s.head + firsts), self.limits, ids)

    def _groups(self, window: Window, count: int) -> Iterator[tuple[int, int]]:
        """Stretches [low, high) of packets of one kind; a packet with a DMB starts a new one."""
        if count < 2:
            yield from [(0, count)] * count
            return
        opens = group_starts(window, count)
        barriers = np.flatnonzero(window.m2s[: before(window.m2s_ends, count), 0] & bd.DMB)
        if self.dmb_enabled and len(barriers):
            opens[np.searchsorted(window.m2s_ends, barriers, "right")] = True
        opens[0] = False
        yield from itertools.pairwise([0, *np.flatnonzero(opens).tolist(), count])

    def _execute(self, pair: QueuePair, window: Window, low: int, high: int) -> None:
        """Execute packets [low, high), all of one kind: together where none depends on another, else in two halves."""
        legs = legs_of(window, low, high)
        kind = int(window.side["kind"][low])
        free_order = not self._touches_window(legs) and independent(legs, kind, high - low)
        if high - low > 1 and not free_order:
            middle = (low + high) // 2
            self._execute(pair, window, low, middle)
            self._execute(pair, window, middle, high)
            return
        refused = self._refused(pair, window, legs, low)
        if refused is None:
            self._perform(pair, window, low, high, legs, free_order)
            return
        packet, leg, at, error = refused
        if packet > low:
            self._execute(pair, window, low, packet)
        raise self._stop(pair, leg, at, error, causes.READ_RESPONSE if leg == "M2S" else causes.UNKNOWN)

    def _touches_window(self, legs: Legs) -> bool:
        """True when a run lies in a semaphore window: its effect depends on the order."""
        memory = self.memory
        return bool(memory.in_window(legs.dst_starts).any() or memory.in_window(legs.src_starts).any())

    def _refused(self, pair: QueuePair, window: Window, legs: Legs, low: int) -> tuple[int, Leg, int, DgeError] | None:
        """The first packet that cannot run: packet, leg, BD counted from the packet's first, and why."""
        found: list[tuple[int, Leg, int, DgeError]] = []
        error = arithmetic_error(window, low, self.generation, self._choices, pair.lanes)
        if error is not None:
            found.append((low, "M2S", 0, error))
        legs_in_turn: tuple[tuple[Leg, I64, I64, I64], ...] = (
            ("M2S", legs.src_starts, legs.src_lengths, window.src_ends),
            ("S2M", legs.dst_starts, legs.dst_lengths, window.s2m_ends),
        )
        for leg, starts, lengths, ends in legs_in_turn:
            fault = self.memory.first_fault(starts, lengths, reading=leg == "M2S")
            if fault is not None:
                number = before(ends, low) + fault[0]
                packet = int(np.searchsorted(ends, number, "right"))
                row = int(window.src_rows[number]) if leg == "M2S" else number
                first = before(window.m2s_ends if leg == "M2S" else ends, packet)
                found.append((packet, leg, row - first, fault[1]))
        return min(found, key=lambda each: each[0], default=None)

    def _perform(self, pair: QueuePair, window: Window, low: int, high: int, legs: Legs, free_order: bool) -> None:
        """Move the bytes of packets [low, high), then retire their BDs."""
        effect = perform(self.memory, window, low, high, legs, self._choices, pair.lanes, free_order=free_order)
        self.lossy += effect.lossy
        self.issues += [issue for issue in effect.issues if issue not in self.issues]
        ends: dict[Leg, I64] = {"M2S": window.m2s_ends, "S2M": window.s2m_ends}
        words: dict[Leg, U32] = {"M2S": window.m2s, "S2M": window.s2m}
        for leg, columns in words.items():
            used = slice(before(ends[leg], low), before(ends[leg], high))
            if (columns[used, 0] & bd.INT_EN).any():
                self.interrupts[leg] |= 1 << pair.number
            pair.retire(leg, used.stop - used.start)
        for leg, completion in pair.completions.items():
            for packet in range(low, high):
                completion.complete(before(ends[leg], packet + 1) - before(ends[leg], packet))
        pair.packets += high - low

    def _stop(self, pair: QueuePair, unit: Leg, at: int, error: DgeError, cause: int) -> DgeError:
        """The error with its place; the unit goes to abort unless it is the tool that refuses."""
        error.where = self._place(pair, unit, at)
        if not isinstance(error, Unsupported | Unspecified):
            self.abort(unit, cause)
        return error

    def _place(self, pair: QueuePair, unit: Leg, at: int) -> str:
        """Engine, queue, packet and BD; `at` counts BDs from the head of that leg."""
        number = pair.ring(unit).head + at
        slot = number % pair.ring(unit).length
        return f"engine {self.number} queue {pair.number} packet {pair.packets} {unit} BD {number} (slot {slot})"

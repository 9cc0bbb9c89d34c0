"""One batch through the rings: store, ring S2M then M2S, run the engines, until all of it is done (D29, D34)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dgekit.core.errors import Deadlock, Issue
from dgekit.core.events import EventLog
from dgekit.descriptors.batch import U32
from dgekit.descriptors.doorbell import Leg, doorbell_address
from dgekit.machine.engine import Engine, Progress, State
from dgekit.machine.feed import Feed
from dgekit.machine.ring import FIRST_RING_ID, RING_IDS, Packets, Ring
from dgekit.machine.semaphores import Change

# Stores BDs and side rows in a ring and makes them known: engine, queue, leg, ring, BDs, side rows
Producer = Callable[[Engine, int, Leg, Ring, U32, Packets | None], None]


@dataclass(frozen=True, slots=True)
class ExecStats:
    """What one batch took: packets, BDs of each leg, bytes the engines read, doorbells rung, ring wraps.

    `lossy` counts the elements that lost bits on their way out of a conversion; `issues` are what the engines found.
    """

    packets: int = 0
    m2s: int = 0
    s2m: int = 0
    bytes: int = 0
    doorbells: int = 0
    wraps: int = 0
    lossy: int = 0
    issues: tuple[Issue, ...] = ()


def store_and_ring(engine: Engine, queue: int, leg: Leg, ring: Ring, bds: U32, side: Packets | None) -> None:
    """The plain producer: write the BDs into the ring, then the doorbell with their number."""
    ring.store(bds, side)
    ring.doorbell(len(bds))


class Execution:
    """Carries the channels of one batch; `engine_of` gives the engine of a channel's DMA number.

    `produce` puts BDs into a ring, a `multiple` of them at a time.
    """

    def __init__(
        self, engine_of: Callable[[int], Engine], events: EventLog, produce: Producer, multiple: int = 1
    ) -> None:
        self._engine_of = engine_of
        self._events = events
        self._produce = produce
        self._multiple = multiple
        self._doorbells = 0
        self._wraps = 0
        self._lossy = 0
        self._issues: list[Issue] = []

    def carry_out(self, feeds: list[Feed]) -> ExecStats:
        """Until every packet of every feed is done; raises what an engine raises, Deadlock when nothing moves."""
        total = Progress()
        dmas = list(dict.fromkeys(feed.channel.dma for feed in feeds))
        while any(feed.left for feed in feeds):
            pushed = sum(self._push(feed) for feed in feeds)
            done = [self._run(dma) for dma in dmas]
            if not pushed and not any(progress.packets for progress in done):
                raise _stuck(feeds)
            total = sum(done, total)
        if any(not feed.pair.m2s.empty for feed in feeds):
            raise _stuck(feeds)
        return ExecStats(
            total.packets, total.m2s, total.s2m, total.bytes, self._doorbells, self._wraps,
            self._lossy, tuple(self._issues),
        )  # fmt: skip

    def _push(self, feed: Feed) -> int:
        """Store the packets that fit; returns how many."""
        part = feed.take(self._multiple)
        if len(part):
            channel = feed.channel
            self._send(feed, "S2M", channel.s2m[slice(*part.s2m)], None)
            self._send(feed, "M2S", channel.m2s[slice(*part.m2s)], part.side)
        return len(part)

    def _send(self, feed: Feed, leg: Leg, bds: U32, side: Packets | None) -> None:
        ring, dma, queue = feed.pair.ring(leg), feed.channel.dma, feed.channel.queue
        engine = self._engine_of(dma)
        before = ring.tail
        self._produce(engine, queue, leg, ring, bds, side)
        address = doorbell_address(engine.generation, engine.number, queue, leg)
        self._events.emit("doorbell", "doorbell", dma=dma, queue=queue, leg=leg, count=len(bds), address=address)
        self._doorbells += 1
        for passes in range(before // ring.length + 1, ring.tail // ring.length + 1):
            ring_id = (FIRST_RING_ID + passes) % RING_IDS
            self._events.emit("ring", "wrap", dma=dma, queue=queue, leg=leg, ring_id=ring_id, length=ring.length)
            self._wraps += 1

    def _run(self, dma: int) -> Progress:
        """Run one engine until it has nothing ready; semaphore updates it made become events."""
        engine = self._engine_of(dma)
        if engine.state is State.ABORT:
            raise engine.aborted()
        changes, lossy = engine.memory.changes, engine.lossy
        try:
            done = engine.run()
        finally:
            for change in changes:
                emit_change(self._events, change.core, change)
            changes.clear()
        self._lossy += engine.lossy - lossy
        self._issues += [issue for issue in engine.issues if issue not in self._issues]
        engine.issues.clear()
        if done.packets:
            self._events.emit(
                "engine", "packets", dma=dma, engine=engine.number,
                packets=done.packets, m2s=done.m2s, s2m=done.s2m, bytes=done.bytes,
            )  # fmt: skip
        return done


def emit_change(events: EventLog, core: int, change: Change) -> None:
    """The event of one semaphore update; `device` is there where the window was reached by its routing id."""
    device: dict[str, Any] = {} if change.device is None else {"device": change.device}
    events.emit(
        "completion", "semaphore", core=core, semaphore=change.semaphore,
        before=change.before, value=change.after, wrapped=change.wrapped, **device,
    )  # fmt: skip


def _stuck(feeds: list[Feed]) -> Deadlock:
    waits = [
        {
            "dma": feed.channel.dma,
            "queue": feed.channel.queue,
            "packets": feed.left,
            "unread": feed.pair.m2s.used,
            "m2s_free": feed.pair.m2s.free,
            "s2m_free": feed.pair.s2m.free,
        }
        for feed in feeds
        if feed.left or not feed.pair.m2s.empty
    ]
    return Deadlock(
        f"no engine has a packet it can finish, and {len(waits)} channels wait",
        rule="rings.2.10",
        values={"waits": waits},
        fix="an unfinished packet or unmatched S2M BDs were left in the queue: re-initialise the engine",
    )

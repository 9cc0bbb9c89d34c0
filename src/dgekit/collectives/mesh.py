"""The mesh: every rank reaches every other; the event lists of subtypes t0, t1 and t2 (cce 7.6, CHOICE-56, 57).

An event waits for those before it, moves bytes, and triggers its own semaphore at the ranks concerned. Groups are the
ranks that stand together: all in t0 and t1, `--group` of them in t2. An all-gather is t1 without the reduce, a
reduce-scatter t2 without the writes to others.
"""

from __future__ import annotations

from collections.abc import Iterator

from dgekit.cce.limits import MAX_SOURCES
from dgekit.cce.runtime_enums import MeshEvent
from dgekit.collectives.geometry import Span
from dgekit.collectives.request import ALLGATHER, ALLREDUCE, T0, T1, T2, Setup
from dgekit.collectives.ring import output
from dgekit.collectives.steps import Dma, Region, Signal, Step, Wait, copy, reduce

E = MeshEvent
EVENTS: dict[str, tuple[MeshEvent, ...]] = {
    T0: (E.LOCAL_HNDSHK, E.REDUCE_COPY, E.SYNC),
    T1: (E.LOCAL_HNDSHK, E.GLOBAL_HNDSHK, E.INTRA_GRP_BRDCST, E.INTER_GRP_BRDCST, E.REDUCE_WRITE, E.SYNC),
    T2: (
        E.LOCAL_HNDSHK, E.GLOBAL_HNDSHK, E.INTER_GRP_BRDCST, E.REDUCE_COPY, E.REDUCE_WRITE, E.REDUCE_LOCAL_HNDSHK,
        E.INTER_GRP_BRDCST_2, E.SYNC,
    ),
}  # fmt: skip
_ALLGATHER = tuple(event for event in EVENTS[T1] if event != E.REDUCE_WRITE)
# the second half of t2 exists only where the reduced shards go round
_BROADCAST_AGAIN = frozenset({E.REDUCE_WRITE, E.REDUCE_LOCAL_HNDSHK, E.INTER_GRP_BRDCST_2})


def events(setup: Setup) -> tuple[MeshEvent, ...]:
    """The events of a pass, in order."""
    if setup.kind == ALLGATHER:
        return _ALLGATHER
    if setup.kind == ALLREDUCE:
        return EVENTS[setup.mesh]
    return tuple(event for event in EVENTS[T2] if event not in _BROADCAST_AGAIN)


def program(setup: Setup, rank: int, channel: int) -> Iterator[Step]:
    """Every pass of one rank."""
    for number in range(setup.geometry.passes):
        yield from _MeshPass(setup, rank, channel, number).steps()


def buffers(setup: Setup, channel: int) -> dict[str, int]:
    """A slot for the copy of each other rank's input, where copies are made before the reduce."""
    needed = setup.mesh in (T1, T2) and setup.kind != ALLGATHER
    return {f"peer{channel}": setup.ranks * setup.geometry.chunk} if needed else {}


def semaphores(setup: Setup) -> dict[str, int]:
    """One for each event but the last, which only waits."""
    return {event.name: 0 for event in events(setup)[:-1]}


class _MeshPass:
    """One pass of one rank on one channel."""

    __slots__ = ("_channel", "_mates", "_number", "_others", "_rank", "_setup")

    def __init__(self, setup: Setup, rank: int, channel: int, number: int) -> None:
        self._setup = setup
        self._rank = rank
        self._channel = channel
        self._number = number
        mates = range(rank // setup.group * setup.group, (rank // setup.group + 1) * setup.group)
        self._mates = tuple(one for one in mates if one != rank)
        self._others = tuple(one for one in range(setup.ranks) if one not in mates)

    def steps(self) -> Iterator[Step]:
        """Each event waits for what was triggered since the last wait of any event."""
        pending: tuple[Wait, ...] = ()
        for event in events(self._setup):
            told = self._told(event)
            # a broadcast needs nothing from the one before it: its copies may still arrive
            waits = () if event == E.INTER_GRP_BRDCST and E.INTRA_GRP_BRDCST in events(self._setup) else pending
            pending = pending[len(waits) :]
            yield Step(event.name, self._number, None, waits, self._transfers(event), self._signals(event, told))
            if told:
                pending += (Wait(event.name, len(told), len(told), told),)

    def _told(self, event: MeshEvent) -> tuple[int, ...]:
        """The ranks that an event triggers; they trigger this rank by the same event."""
        match event:
            case E.LOCAL_HNDSHK | E.INTRA_GRP_BRDCST | E.REDUCE_LOCAL_HNDSHK:
                return self._mates
            case E.GLOBAL_HNDSHK | E.INTER_GRP_BRDCST | E.INTER_GRP_BRDCST_2:
                return self._others
            case E.REDUCE_COPY | E.REDUCE_WRITE:
                return tuple(sorted(self._mates + self._others))
            case _:
                return ()

    def _signals(self, event: MeshEvent, told: tuple[int, ...]) -> tuple[Signal, ...]:
        return tuple(Signal(rank, event.name) for rank in told)

    def _transfers(self, event: MeshEvent) -> tuple[Dma, ...]:
        match event:
            case E.INTRA_GRP_BRDCST if self._setup.kind == ALLGATHER:
                return self._shard_to((self._rank, *self._mates))
            case E.INTER_GRP_BRDCST if self._setup.kind == ALLGATHER:
                return self._shard_to(self._others)
            case E.INTRA_GRP_BRDCST:
                return self._input_to(self._mates)
            case E.INTER_GRP_BRDCST:
                return self._input_to(self._others)
            case E.REDUCE_WRITE if self._setup.mesh == T2:
                return self._result_to(self._mates)
            case E.REDUCE_COPY | E.REDUCE_WRITE:
                return self._reduced()
            case E.INTER_GRP_BRDCST_2:
                return self._result_to(self._others)
            case _:
                return ()

    def _piece(self, rank: int) -> Span:
        """What `rank` reduces (or gives): all of the pass, or its shard of it."""
        part = rank if self._setup.geometry.region else 0
        return self._setup.geometry.piece(self._number, self._channel, part)

    def _shard_to(self, ranks: tuple[int, ...]) -> tuple[Dma, ...]:
        span = self._piece(self._rank)
        first = self._setup.shard_span(self._rank)[0]
        source = Region(self._rank, "input", span.first - first, span.count)
        return copy(source, *(output(self._setup, rank, span) for rank in ranks))

    def _input_to(self, ranks: tuple[int, ...]) -> tuple[Dma, ...]:
        """The own input, as much of it as each rank reduces, into this rank's slot there."""
        found: tuple[Dma, ...] = ()
        for rank in ranks:
            span = self._piece(rank)
            found += copy(Region(self._rank, "input", span.first, span.count), self._slot(rank, self._rank, span))
        return found

    def _reduced(self) -> tuple[Dma, ...]:
        """All ranks in ascending order; over 32, the partial is the first source of the next packet (CHOICE-57)."""
        span = self._piece(self._rank)
        own = output(self._setup, self._rank, span)
        sources = tuple(self._source(rank, span) for rank in range(self._setup.ranks))
        found = reduce(sources[:MAX_SOURCES], own)
        for first in range(MAX_SOURCES, len(sources), MAX_SOURCES - 1):
            found += reduce((own, *sources[first : first + MAX_SOURCES - 1]), own)
        return found

    def _source(self, rank: int, span: Span) -> Region:
        """Where the input of a rank is read: in place, or in the slot that its broadcast has filled."""
        in_place = rank == self._rank or (self._setup.mesh != T1 and rank in self._mates)
        if in_place:
            return Region(rank, "input", span.first, span.count)
        return self._slot(self._rank, rank, span)

    def _result_to(self, ranks: tuple[int, ...]) -> tuple[Dma, ...]:
        span = self._piece(self._rank)
        own = output(self._setup, self._rank, span)
        return copy(own, *(output(self._setup, rank, span) for rank in ranks))

    def _slot(self, rank: int, source: int, span: Span) -> Region:
        return Region(rank, f"peer{self._channel}", source * self._setup.geometry.chunk, span.count)

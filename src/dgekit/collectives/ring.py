"""The ring, and the ring that a kangaring runs over its positions (cce 7.4, 7.5, CHOICE-50, 52, 55).

A pass is a reduce-scatter phase and an all-gather phase over P positions. The rank that carries a position reads its
own input and that of its peers (none in a plain ring); it writes to the buffer of the next rank, which gives a credit
back for every piece it has taken out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dgekit.collectives.geometry import Span
from dgekit.collectives.request import ALLGATHER, ALLREDUCE, KANGARING, REDUCESCATTER, Setup
from dgekit.collectives.steps import (
    HALVES,
    PEER_SEMA,
    RECV_SEMA,
    SEND_SEMA,
    Dma,
    ReductionType,
    Region,
    Signal,
    Step,
    Wait,
    copy,
    reduce,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Place:
    """Where a rank stands in the ring of one channel: its position, its neighbours there, the peers it speaks for."""

    rank: int
    position: int
    next: int
    prev: int
    peers: tuple[int, ...] = ()


def program(setup: Setup, rank: int, channel: int) -> Iterator[Step]:
    """Every pass of a plain ring; the ring order is that of the ranks."""
    place = Place(rank, rank, (rank + 1) % setup.ranks, (rank - 1) % setup.ranks)
    for number in range(setup.geometry.passes):
        yield from RingPass(setup, place, channel, number).steps()


def buffers(setup: Setup, channel: int) -> dict[str, int]:
    """What arrives from the previous rank lies in one slot a credit, each of a half-chunk."""
    chunk = setup.geometry.chunk
    found = {f"recv{channel}": slots(setup) * (chunk // 2)}
    if setup.algo == KANGARING and setup.kind == REDUCESCATTER:
        found[f"stage{channel}"] = chunk
    return found


def semaphores(setup: Setup) -> dict[str, int]:
    """Arrivals start at none, credits at the initial credit (D60)."""
    found = {SEND_SEMA: setup.credits, RECV_SEMA: 0}
    return found | {PEER_SEMA: 0} if setup.algo == KANGARING else found


def slots(setup: Setup) -> int:
    """Slots of a receive buffer: the credits, but no more than the pieces of a pass."""
    phases = 2 if setup.kind == ALLREDUCE else 1
    return min(setup.credits, phases * (setup.positions - 1) * len(HALVES))


class RingPass:
    """One pass of one rank on one channel."""

    __slots__ = ("_arrivals", "_channel", "_number", "_place", "_sent", "_setup", "_slots")

    def __init__(self, setup: Setup, place: Place, channel: int, number: int) -> None:
        self._setup = setup
        self._place = place
        self._channel = channel
        self._number = number
        self._slots = slots(setup)
        self._sent = 0
        self._arrivals = 0

    def steps(self) -> Iterator[Step]:
        """The phases of the collective, and the end of the pass: all credits are home again."""
        if self._setup.kind == ALLGATHER:
            yield from self._each_half("direct_copy_send", self._place.position)
        else:
            yield from self._reduce_scatter()
        if self._setup.kind != REDUCESCATTER:
            yield from self._all_gather()
        credits = self._setup.credits
        home = Wait(SEND_SEMA, credits, 0, (self._place.next,))
        yield Step("mark_end", self._number, waits=(home,))

    def _reduce_scatter(self) -> Iterator[Step]:
        positions, own = self._setup.positions, self._place.position
        first = "direct_reduce_send_kangaring" if self._place.peers else "send"
        yield from self._each_half(first, (own - 1) % positions)
        for step in range(1, positions - 1):
            yield from self._each_half("recv_reduce_send", (own - 1 - step) % positions)
        if self._setup.fused:
            yield from self._each_half("recv_reduce_copy_send", own)
            return
        yield from self._each_half("recv_reduce_copy", own)
        if self._setup.kind == ALLREDUCE:
            yield from self._each_half("direct_copy_send", own)

    def _all_gather(self) -> Iterator[Step]:
        positions, own = self._setup.positions, self._place.position
        for step in range(1, positions - 1):
            yield from self._each_half("direct_recv_send", (own - step) % positions)
        yield from self._each_half("direct_recv", (own + 1) % positions)

    def _each_half(self, primitive: str, chunk: int) -> Iterator[Step]:
        for half in range(len(HALVES)):
            yield self._step(primitive, chunk, half)

    def _step(self, primitive: str, chunk: int, half: int) -> Step:
        """The waits and signals that the name of a primitive promises, and its transfers (cce 7.2)."""
        place = self._place
        receives, sends = primitive.startswith(("recv", "direct_recv")), "send" in primitive
        waits: tuple[Wait, ...] = ()
        signals: tuple[Signal, ...] = ()
        if receives:
            waits += (Wait(RECV_SEMA, 1, 1, (place.prev,)),)
        if sends:
            waits += (Wait(SEND_SEMA, 1, 1, (place.next,)),)
            signals += (Signal(place.next, RECV_SEMA),)
        if receives:
            signals += (Signal(place.prev, SEND_SEMA),)
        span = self._setup.geometry.piece(self._number, self._channel, chunk, half)
        dmas = self._transfers(primitive, span, half)
        self._sent += sends
        self._arrivals += receives
        return Step(primitive, self._number, half, waits, dmas, signals, self._reduction(primitive))

    def _reduction(self, primitive: str) -> ReductionType | None:
        if "reduce" not in primitive:
            return None
        if self._place.peers:
            return ReductionType.KANGARING_NR1W
        fused = primitive == "recv_reduce_copy_send"
        return ReductionType.RING_2R2W if fused else ReductionType.RING_2R1W

    def _transfers(self, primitive: str, span: Span, half: int) -> tuple[Dma, ...]:
        incoming = self._slot(self._place.rank, self._arrivals, span)
        following = self._slot(self._place.next, self._sent, span)
        match primitive:
            case "send":
                return copy(self._inputs(span)[0], following)
            case "direct_reduce_send_kangaring":
                return reduce(self._inputs(span), following)
            case "recv_reduce_send":
                return reduce((incoming, *self._inputs(span)), following)
            case "recv_reduce_copy":
                return self._reduced((incoming, *self._inputs(span)), span, half)
            case "recv_reduce_copy_send":
                return self._reduced_and_sent((incoming, *self._inputs(span)), span, following)
            case "direct_copy_send" if self._setup.kind == ALLGATHER:
                own = self._output(self._place.rank, span)
                return self._gathered(span) + copy(own, *self._peer_outputs(span), following)
            case "direct_copy_send":
                return copy(self._output(self._place.rank, span), following)
            case "direct_recv_send":
                return self._arrived(incoming, span) + copy(incoming, following)
            case _:
                return self._arrived(incoming, span)

    def _reduced(self, sources: tuple[Region, ...], span: Span, half: int) -> tuple[Dma, ...]:
        """The last reduce of a piece: into the own output, or by way of a stage to the members' shards (CHOICE-55)."""
        setup, rank = self._setup, self._place.rank
        if setup.kind == REDUCESCATTER and self._place.peers:
            return staged(setup, rank, (rank, *self._place.peers), self._channel, sources, span, half)
        own = self._output(rank, span)
        return reduce(sources, own) + copy(own, *self._peer_outputs(span))

    def _reduced_and_sent(self, sources: tuple[Region, ...], span: Span, following: Region) -> tuple[Dma, ...]:
        """One packet with two destinations where those exist, else a reduce and a copy (CHOICE-48)."""
        own = self._output(self._place.rank, span)
        peers = copy(own, *self._peer_outputs(span))
        if self._setup.generation.has_combo:
            return reduce(sources, own, following) + peers
        return reduce(sources, own) + peers + copy(own, following)

    def _gathered(self, span: Span) -> tuple[Dma, ...]:
        """The shards of the position's ranks, brought into the own output."""
        return gathered(self._setup, self._place.rank, (self._place.rank, *self._place.peers), span)

    def _arrived(self, incoming: Region, span: Span) -> tuple[Dma, ...]:
        return copy(incoming, self._output(self._place.rank, span), *self._peer_outputs(span))

    def _inputs(self, span: Span) -> tuple[Region, ...]:
        """Own, then the peers in slot order (CHOICE-49)."""
        return inputs((self._place.rank, *self._place.peers), span)

    def _peer_outputs(self, span: Span) -> tuple[Region, ...]:
        return tuple(self._output(peer, span) for peer in self._place.peers)

    def _output(self, rank: int, span: Span) -> Region:
        return output(self._setup, rank, span)

    def _slot(self, rank: int, message: int, span: Span) -> Region:
        width = self._setup.geometry.chunk // 2
        return Region(rank, f"recv{self._channel}", message % self._slots * width, span.count)


def inputs(ranks: tuple[int, ...], span: Span) -> tuple[Region, ...]:
    """The same piece of the input of each rank, which holds the full vector."""
    return tuple(Region(rank, "input", span.first, span.count) for rank in ranks)


def output(setup: Setup, rank: int, span: Span) -> Region:
    """A piece of a rank's output."""
    return Region(rank, "output", span.first - setup.held(rank, output=True)[0], span.count)


def gathered(setup: Setup, to: int, ranks: tuple[int, ...], span: Span) -> tuple[Dma, ...]:
    """Copies of what lies of each rank's shard in `span`, into the output of `to`."""
    found: tuple[Dma, ...] = ()
    for rank in ranks:
        first, end = setup.shard_span(rank)
        part = span.within(first, end)
        found += copy(Region(rank, "input", part.first - first, part.count), output(setup, to, part))
    return found


def staged(
    setup: Setup, rank: int, ranks: tuple[int, ...], channel: int, sources: tuple[Region, ...], span: Span, half: int
) -> tuple[Dma, ...]:
    """The result of a position's piece in the primary's stage, and from there each member's part of it."""
    place = half * (setup.geometry.chunk // 2)
    found = reduce(sources, Region(rank, f"stage{channel}", place, span.count))
    for member in sorted(ranks):
        part = span.within(*setup.shard_span(member))
        source = Region(rank, f"stage{channel}", place + part.first - span.first, part.count)
        found += copy(source, output(setup, member, part))
    return found

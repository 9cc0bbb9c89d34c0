"""What a rank does, as values: a step waits, moves bytes, then signals (cce 7.2)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

SEND_SEMA = "send_sema"  # credits that the next rank has given (CHOICE-50)
RECV_SEMA = "recv_sema"  # pieces that have arrived
PEER_SEMA = "mine"  # kangaring: input ready at a primary, output written at a secondary
HALVES = ("H0", "H1")


class ReductionType(IntEnum):
    """reduction_type_t: how many operands a reduce reads and writes (cce 1.3)."""

    RING_2R1W = 0
    RING_2R2W = 1
    KANGARING_NR1W = 2


@dataclass(frozen=True, slots=True)
class Region:
    """`count` elements from element `first` of a rank's buffer on."""

    rank: int
    buffer: str
    first: int
    count: int


@dataclass(frozen=True, slots=True)
class Wait:
    """Go on once the rank's own semaphore holds `at_least`, then take `take` off; `ranks` are those who raise it."""

    semaphore: str
    at_least: int
    take: int
    ranks: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Signal:
    """One added to a semaphore of `rank`, on the channel of the step."""

    rank: int
    semaphore: str


@dataclass(frozen=True, slots=True)
class Dma:
    """One transfer: a copy of one source, or with `reduce` the sources combined in order; written to every `dest`."""

    sources: tuple[Region, ...]
    dests: tuple[Region, ...]
    reduce: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a channel: its primitive, the pass it belongs to, its half-chunk (None where there are none).

    All waits are over before the first transfer starts; all transfers are complete before the signals go out.
    """

    primitive: str
    number: int
    half: int | None = None
    waits: tuple[Wait, ...] = ()
    dmas: tuple[Dma, ...] = ()
    signals: tuple[Signal, ...] = ()
    reduction: ReductionType | None = None


def copy(source: Region, *dests: Region) -> tuple[Dma, ...]:
    """One copy for each destination; none for an empty piece (D73)."""
    return tuple(Dma((source,), (dest,)) for dest in dests) if source.count else ()


def reduce(sources: tuple[Region, ...], *dests: Region) -> tuple[Dma, ...]:
    """One compute transfer over equal regions; none for an empty piece."""
    return (Dma(sources, dests, True),) if sources[0].count else ()

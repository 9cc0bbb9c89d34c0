"""What the items of a program do to semaphores, chain by chain (D33, D42, D53)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dgekit.core.evt_sem import PROGRAM_CORE
from dgekit.machine.semaphores import Semaphores
from dgekit.transfers.transfer import Item, RawWords, Transfer
from dgekit.words.stream import split_stream

Counter = tuple[int, int]  # core and semaphore


@dataclass(slots=True)
class Adds:
    """One chain's increments of one semaphore: their `places` in the chain, and running sums from 0.

    A piece is what one engine adds: a static transfer is done when all have added theirs, and an engine that lags
    holds back its pieces of all later members too. Where the increment comes once, the piece is the whole.
    """

    chain: int
    places: list[int] = field(default_factory=list)
    totals: list[int] = field(default_factory=lambda: [0])
    pieces: list[int] = field(default_factory=lambda: [0])


def increments(
    items: Sequence[Item], chain: Sequence[int], place: Sequence[int], engines: int, per_engine: bool
) -> Mapping[Counter, list[Adds]]:
    """By semaphore and chain: who adds to it, in order."""
    found: dict[Counter, dict[int, Adds]] = {}
    for number, item in enumerate(items):
        for counter, piece, pieces in amounts(item, engines, per_engine):
            if piece * pieces <= 0:
                continue
            adds = found.setdefault(counter, {}).setdefault(chain[number], Adds(chain[number]))
            adds.places.append(place[number])
            adds.totals.append(adds.totals[-1] + piece * pieces)
            adds.pieces.append(adds.pieces[-1] + piece)
    return {counter: list(by_chain.values()) for counter, by_chain in found.items()}


def amounts(item: Item, engines: int, per_engine: bool) -> Iterator[tuple[Counter, int, int]]:
    """(semaphore, one piece, at most how many) of an item: its completion, and its own updates."""
    if isinstance(item, RawWords):
        yield from _of_words(item)
    elif isinstance(item, Transfer) and item.semaphore is not None:
        counter = (PROGRAM_CORE, item.semaphore)
        if item.mode != "none" and item.op != "reduce":
            yield counter, item.increment, engines if per_engine else 1
        elif item.num_queues is not None:
            yield counter, 1, item.num_queues
        else:
            yield counter, item.increment, engines
    for update in item.updates:
        if update.op == "add":
            yield (update.core, update.semaphore), update.value, 1


def _of_words(item: RawWords) -> Iterator[tuple[Counter, int, int]]:
    """The semaphore that raw words name themselves, or that is given beside them (D5)."""
    for _, word, _ in split_stream(item.words).items:
        semaphore = getattr(word, "semaphore", item.semaphore)
        if isinstance(semaphore, int):
            yield (PROGRAM_CORE, semaphore), int(getattr(word, "sem_increment", item.increment or 1)), 1


def written_values(items: Sequence[Item]) -> Mapping[Counter, list[int]]:
    """Values that updates set semaphores to."""
    found: dict[Counter, list[int]] = {}
    for item in items:
        for update in item.updates:
            if update.op == "write":
                found.setdefault((update.core, update.semaphore), []).append(update.value)
    return found


def taken_by_waits(items: Sequence[Item]) -> Mapping[Counter, list[tuple[int, int]]]:
    """By semaphore: (item, amount) of waits that subtract what they waited for; they do so when the item starts."""
    found: dict[Counter, list[tuple[int, int]]] = {}
    for number, item in enumerate(items):
        for wait in item.wait:
            if wait.decrement:
                found.setdefault((wait.core, wait.semaphore), []).append((number, wait.value))
    return found


def apply(item: Item, engines: int, semaphores_of: Callable[[int], Semaphores]) -> None:
    """Add what a finished item adds, as `run` would: to find an order in which a program can run."""
    for (core, semaphore), piece, pieces in amounts(item, engines, per_engine=False):
        semaphores_of(core).add(semaphore, piece * pieces)
    for update in item.updates:
        if update.op == "sub":
            semaphores_of(update.core).add(update.semaphore, -update.value)
        elif update.op == "write":
            semaphores_of(update.core).set(update.semaphore, update.value)

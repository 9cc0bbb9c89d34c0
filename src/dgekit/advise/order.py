"""Which items of a program are done before which start: program order and semaphores (D53).

An item is known by its chain: the transfers of one engine on one queue, or the other instructions of one engine;
the members of a chain finish in order. `done[i]` says, chain by chain, how many members are surely finished when item
i starts. A wait for a semaphore orders exactly those increments without which the value cannot be reached: the sum of
all others that may come before it stays below.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import numpy.typing as npt

from dgekit.core.choices import Choices
from dgekit.core.evt_sem import PROGRAM_CORE
from dgekit.transfers.queues import STATIC_QUEUE, queue_name
from dgekit.transfers.transfer import Item, RawWords, SemaphoreStep, Transfer, Wait, Workload
from dgekit.words.stream import split_stream

I32 = npt.NDArray[np.int32]
Counter = tuple[int, int]  # core and semaphore

MAX_PASSES = 16  # each pass only adds order; what is left out shows as a hazard too many, never as one too few
_REACHES = ("ge", "gt", "eq")  # comparisons that only increments make true


@dataclass(slots=True)
class _Adds:
    """One chain's increments of one semaphore: their `places` in the chain, their `total`, and running sums of pieces.

    A piece is what one engine adds: a static transfer is done when all have added theirs, and an engine that lags
    holds back its pieces of all later members too. Where the increment comes once, the piece is the whole.
    """

    chain: int
    places: list[int] = field(default_factory=list)
    totals: list[int] = field(default_factory=lambda: [0])
    pieces: list[int] = field(default_factory=lambda: [0])


class Order:
    """The order of a workload's items.

    >>> from dgekit.core.generations import CAYMAN
    >>> from dgekit.transfers.transfer import Access
    >>> load = Transfer("load", "copy", Access("x"), Access("t"), semaphore=4)
    >>> store = Transfer("store", "copy", Access("t"), Access("y"), engine="act", wait=(Wait(4, 1),))
    >>> order = Order(Workload(CAYMAN, (), (load, store)))
    >>> order.before(0, 1), order.before(1, 0)
    (True, False)
    """

    def __init__(self, workload: Workload) -> None:
        self.items = workload.items
        self._initial = {(PROGRAM_CORE, number): value for number, value in workload.state.semaphores.items()}
        self.chain, self.place, self._chains = _chains(self.items)
        self.done: I32 = np.zeros((len(self.items), len(self._chains)), np.int32)
        self._streams = _streams(self.items)
        self._started: I32 = np.zeros((len(self.items), len(self._streams)), np.int32)
        self._engine_of = {engine: number for number, engine in enumerate(self._streams)}
        self._stream_place = {i: at for stream in self._streams.values() for at, i in enumerate(stream)}
        per_engine = Choices(workload.choices).text("sem_mode") == "per_engine"
        self._adds = _increments(self.items, self.chain, self.place, workload.generation.engines, per_engine)
        self._writes = _semaphore_writes(self.items)
        self._takes = _decrements(self.items)
        for _ in range(MAX_PASSES):
            if not self._pass():
                break

    def before(self, first: int, second: int) -> bool:
        """True when item `first` is surely done before item `second` starts."""
        return bool(self.done[second, self.chain[first]] > self.place[first])

    def unordered(self, firsts: I32, seconds: I32) -> npt.NDArray[np.bool_]:
        """For pairs of items, column by column: True where neither is surely done before the other starts."""
        chains, places = np.array(self.chain, np.int32), np.array(self.place, np.int32)
        forth = self.done[seconds, chains[firsts]] > places[firsts]
        back = self.done[firsts, chains[seconds]] > places[seconds]
        return ~(forth | back)

    # one pass over all streams

    def _pass(self) -> bool:
        before = (self.done.copy(), self._started.copy())
        for column in itertools.zip_longest(*self._streams.values()):
            for item in column:
                if item is not None:
                    self._visit(item)
        return not (np.array_equal(before[0], self.done) and np.array_equal(before[1], self._started))

    def _visit(self, i: int) -> None:
        engine = self._engine_of[self.items[i].engine]
        at = self._stream_place[i]
        if at:
            previous = self._streams[self.items[i].engine][at - 1]
            self._after(i, previous)
            if isinstance(self.items[previous], SemaphoreStep):
                self._finished(i, previous)
        if self.place[i]:
            self._finished(i, self._chains[self.chain[i]][self.place[i] - 1])
        self._started[i, engine] = max(int(self._started[i, engine]), at)
        for wait in self.items[i].wait:
            if wait.compare in _REACHES:
                self._wait(i, wait)

    def _after(self, i: int, earlier: int) -> None:
        """Item i starts after `earlier` has started."""
        np.maximum(self.done[i], self.done[earlier], out=self.done[i])
        np.maximum(self._started[i], self._started[earlier], out=self._started[i])
        engine = self._engine_of[self.items[earlier].engine]
        self._started[i, engine] = max(int(self._started[i, engine]), self._stream_place[earlier] + 1)

    def _finished(self, i: int, earlier: int) -> None:
        """Item i starts after `earlier` is done."""
        self._after(i, earlier)
        chain = self.chain[earlier]
        self.done[i, chain] = max(int(self.done[i, chain]), self.place[earlier] + 1)

    def _wait(self, i: int, wait: Wait) -> None:
        """Order the increments that the wait cannot do without."""
        need = wait.value + (wait.compare == "gt")
        counter = (wait.core, wait.semaphore)
        reach = self._initial.get(counter, 0) - self._taken(i, counter)
        reach += sum(max(0, value) for value in self._writes.get(counter, ()))
        possible = []
        for adds in self._adds.get(counter, ()):
            usable = bisect.bisect_left(adds.places, True, key=partial(self._is_later, i, adds.chain))
            possible.append((adds, usable))
            reach += adds.totals[usable]
        for adds, usable in possible:
            # a lag from member k on leaves reach - (pieces[usable] - pieces[k]): k is needed while that falls short
            spare = reach - adds.pieces[usable]
            needed = bisect.bisect_left(adds.pieces, need - spare, 0, usable)
            if needed:
                self._finished(i, self._chains[adds.chain][adds.places[needed - 1]])

    def _is_later(self, i: int, chain: int, place: int) -> bool:
        """True when that member of a chain surely starts after item i has started (or is item i)."""
        member = self._chains[chain][place]
        if member == i:
            return True
        engine = self._engine_of[self.items[i].engine]
        return bool(self._started[member, engine] > self._stream_place[i])

    def _taken(self, i: int, counter: Counter) -> int:
        """What earlier instructions of the same engine, or finished items, have surely taken off again."""
        total = 0
        for item, amount in self._takes.get(counter, ()):
            same = self.items[item].engine == self.items[i].engine and self._stream_place[item] < self._stream_place[i]
            if same or (item != i and self.before(item, i)):
                total += amount
        return total


def _chains(items: Sequence[Item]) -> tuple[list[int], list[int], list[list[int]]]:
    """Each item's chain and place in it, and the members of each chain."""
    numbers: dict[tuple[str, str], int] = {}
    chains: list[list[int]] = []
    of, place = [], []
    for number, item in enumerate(items):
        key = (item.engine, _queue(item))
        chain = numbers.setdefault(key, len(numbers))
        if chain == len(chains):
            chains.append([])
        of.append(chain)
        place.append(len(chains[chain]))
        chains[chain].append(number)
    return of, place, chains


def _queue(item: Item) -> str:
    if isinstance(item, Transfer):
        return queue_name(item)
    if isinstance(item, SemaphoreStep):
        return ""
    return STATIC_QUEUE if item.mode == "none" else "words"


def _streams(items: Sequence[Item]) -> dict[str, list[int]]:
    streams: dict[str, list[int]] = {}
    for number, item in enumerate(items):
        streams.setdefault(item.engine, []).append(number)
    return streams


def _increments(
    items: Sequence[Item], chain: Sequence[int], place: Sequence[int], engines: int, per_engine: bool
) -> Mapping[Counter, list[_Adds]]:
    """By semaphore and chain: who adds to it, in order."""
    found: dict[Counter, dict[int, _Adds]] = {}
    for number, item in enumerate(items):
        for counter, piece, pieces in _amounts(item, engines, per_engine):
            if piece * pieces <= 0:
                continue
            adds = found.setdefault(counter, {}).setdefault(chain[number], _Adds(chain[number]))
            adds.places.append(place[number])
            adds.totals.append(adds.totals[-1] + piece * pieces)
            adds.pieces.append(adds.pieces[-1] + piece)
    return {counter: list(by_chain.values()) for counter, by_chain in found.items()}


def _amounts(item: Item, engines: int, per_engine: bool) -> Iterable[tuple[Counter, int, int]]:
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


def _of_words(item: RawWords) -> Iterable[tuple[Counter, int, int]]:
    """The semaphore that raw words name themselves, or that is given beside them (D5)."""
    for _, word, _ in split_stream(item.words).items:
        semaphore = getattr(word, "semaphore", item.semaphore)
        if isinstance(semaphore, int):
            yield (PROGRAM_CORE, semaphore), int(getattr(word, "sem_increment", item.increment or 1)), 1


def _semaphore_writes(items: Sequence[Item]) -> Mapping[Counter, list[int]]:
    """Values that updates set semaphores to."""
    found: dict[Counter, list[int]] = {}
    for item in items:
        for update in item.updates:
            if update.op == "write":
                found.setdefault((update.core, update.semaphore), []).append(update.value)
    return found


def _decrements(items: Sequence[Item]) -> Mapping[Counter, list[tuple[int, int]]]:
    """By semaphore: (item, amount) of waits that subtract and updates that do."""
    found: dict[Counter, list[tuple[int, int]]] = {}
    for number, item in enumerate(items):
        taken = [((wait.core, wait.semaphore), wait.value) for wait in item.wait if wait.decrement]
        taken += [((update.core, update.semaphore), update.value) for update in item.updates if update.op == "sub"]
        for counter, amount in taken:
            found.setdefault(counter, []).append((number, amount))
    return found

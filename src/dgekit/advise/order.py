"""Which items of a program are done before which start: program order and semaphores (D53).

Items form chains: the transfers of one engine on one queue, or the other instructions of one engine. The members of a
chain finish in order; an engine starts its items in order, waiting for none but by a semaphore. A wait orders exactly
those increments without which its value cannot be reached: the sum of all others that may come before it stays below.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from dgekit.advise.semaphore_use import Counter, apply, increments, taken_by_waits, written_values
from dgekit.core.choices import Choices
from dgekit.core.errors import DgeError
from dgekit.core.evt_sem import PROGRAM_CORE
from dgekit.machine.scheduler import run_in_order
from dgekit.machine.semaphores import Semaphores
from dgekit.transfers.queues import queue_name
from dgekit.transfers.transfer import Item, RawWords, SemaphoreStep, Transfer, Wait, Workload

I32 = npt.NDArray[np.int32]

MAX_PASSES = 16  # each pass only adds order: what is left out shows as a hazard too many, never as one too few
_REACHES = ("ge", "gt", "eq")  # comparisons that only increments make true
_WORDS = "words"  # the queue of items given as words


class Order:
    """The order of a workload's items, as vector clocks: per item and chain, how many members come before it.

    `_issued` counts members that are done when the item is issued, `_done` those done when its own bytes start to
    move, which on its queue is after its predecessor's; `_started` counts, per engine, items issued before it.

    >>> from dgekit.core.generations import CAYMAN
    >>> from dgekit.transfers.transfer import Access
    >>> load = Transfer("load", "copy", Access("x"), Access("t"), semaphore=4)
    >>> store = Transfer("store", "copy", Access("t"), Access("y"), engine="act", wait=(Wait(4, 1),))
    >>> order = Order(Workload(CAYMAN, (), (load, store)))
    >>> order.before(0, 1), order.before(1, 0)
    (True, False)
    """

    def __init__(self, workload: Workload) -> None:
        self._items = workload.items
        self._initial = {(PROGRAM_CORE, number): value for number, value in workload.state.semaphores.items()}
        self._chain, self._place, self._chains = _chains(self._items)
        self._columns = np.array(self._chain, np.int32), np.array(self._place, np.int32)
        self._engine, self._at, self._streams = _streams(self._items)
        shape = len(self._items), len(self._chains)
        self._issued: I32 = np.zeros(shape, np.int32)
        self._done: I32 = np.zeros(shape, np.int32)
        self._started: I32 = np.zeros((len(self._items), len(self._streams)), np.int32)
        engines = workload.generation.engines
        per_engine = Choices(workload.choices).text("sem_mode") == "per_engine"
        self._adds = increments(self._items, self._chain, self._place, engines, per_engine)
        self._written = written_values(self._items)
        self._taken = taken_by_waits(self._items)
        self._settle(_executable(workload))

    def before(self, first: int, second: int) -> bool:
        """True when item `first` is surely done before the bytes of item `second` move."""
        return bool(self._done[second, self._chain[first]] > self._place[first])

    def unordered(self, firsts: I32, seconds: I32) -> npt.NDArray[np.bool_]:
        """For pairs of items, column by column: True where neither is surely done before the other."""
        chains, places = self._columns
        forth = self._done[seconds, chains[firsts]] > places[firsts]
        back = self._done[firsts, chains[seconds]] > places[seconds]
        return ~(forth | back)

    def _settle(self, order: Sequence[int]) -> None:
        for _ in range(MAX_PASSES):
            before = self._issued.copy(), self._done.copy(), self._started.copy()
            for item in order:
                self._visit(item)
            after = self._issued, self._done, self._started
            if all(np.array_equal(old, new) for old, new in zip(before, after, strict=True)):
                return

    def _visit(self, i: int) -> None:
        if self._at[i]:
            previous = self._streams[self._engine[i]][self._at[i] - 1]
            self._issued_after(i, previous)
            if isinstance(self._items[previous], SemaphoreStep):
                self._after_completion(i, previous)
        for wait in self._items[i].wait:
            if wait.compare in _REACHES:
                self._wait(i, wait)
        np.maximum(self._done[i], self._issued[i], out=self._done[i])
        if self._place[i]:
            predecessor = self._chains[self._chain[i]][self._place[i] - 1]
            np.maximum(self._done[i], self._done[predecessor], out=self._done[i])
            self._done[i, self._chain[i]] = self._place[i]

    def _issued_after(self, i: int, earlier: int) -> None:
        """Item i is issued after `earlier` has been issued."""
        np.maximum(self._issued[i], self._issued[earlier], out=self._issued[i])
        np.maximum(self._started[i], self._started[earlier], out=self._started[i])
        engine = self._engine[earlier]
        self._started[i, engine] = max(int(self._started[i, engine]), self._at[earlier] + 1)

    def _after_completion(self, i: int, earlier: int) -> None:
        """Item i is issued after `earlier` is done."""
        self._issued_after(i, earlier)
        np.maximum(self._issued[i], self._done[earlier], out=self._issued[i])
        chain = self._chain[earlier]
        self._issued[i, chain] = max(int(self._issued[i, chain]), self._place[earlier] + 1)

    def _wait(self, i: int, wait: Wait) -> None:
        """Order the increments that the wait cannot do without."""
        counter = (wait.core, wait.semaphore)
        need = wait.value + (wait.compare == "gt")
        reach = self._initial.get(counter, 0) - self._surely_taken(i, counter)
        reach += sum(max(0, value) for value in self._written.get(counter, ()))
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
                self._after_completion(i, self._chains[adds.chain][adds.places[needed - 1]])

    def _is_later(self, i: int, chain: int, place: int) -> bool:
        """True when that member of a chain is surely issued after item i (or is item i)."""
        member = self._chains[chain][place]
        return member == i or bool(self._started[member, self._engine[i]] > self._at[i])

    def _surely_taken(self, i: int, counter: Counter) -> int:
        """What waits of items that were issued before this one have taken off again."""
        takes = self._taken.get(counter, ())
        return sum(amount for item, amount in takes if self._started[i, self._engine[item]] > self._at[item])


def _chains(items: Sequence[Item]) -> tuple[list[int], list[int], list[list[int]]]:
    """Each item's chain and place in it, and the members of each chain."""
    return _grouped([(item.engine, _queue(item)) for item in items])


def _streams(items: Sequence[Item]) -> tuple[list[int], list[int], list[list[int]]]:
    """Each item's engine and place in its stream, and the items of each stream."""
    return _grouped([item.engine for item in items])


def _grouped(keys: Sequence[object]) -> tuple[list[int], list[int], list[list[int]]]:
    numbers: dict[object, int] = {}
    group, place = [], []
    groups: list[list[int]] = []
    for item, key in enumerate(keys):
        number = numbers.setdefault(key, len(numbers))
        if number == len(groups):
            groups.append([])
        group.append(number)
        place.append(len(groups[number]))
        groups[number].append(item)
    return group, place, groups


def _queue(item: Item) -> str:
    if isinstance(item, Transfer):
        return queue_name(item)
    return _WORDS if isinstance(item, RawWords) else ""


def _executable(workload: Workload) -> list[int]:
    """An order in which the program can run, so that few passes settle it; what never runs comes last."""
    counters: dict[int, Semaphores] = {}
    order: list[int] = []

    def semaphores_of(core: int) -> Semaphores:
        return counters.setdefault(core, Semaphores())

    def finish(number: int, item: Item) -> bool:
        order.append(number)
        apply(item, workload.generation.engines, semaphores_of)
        return True

    try:
        for semaphore, value in workload.state.semaphores.items():
            semaphores_of(PROGRAM_CORE).set(semaphore, value)
        run_in_order(workload.items, semaphores_of, finish)
    except DgeError:
        pass  # the run says what holds it up
    reached = set(order)
    return [*order, *(number for number in range(len(workload.items)) if number not in reached)]

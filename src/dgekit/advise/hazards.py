"""Hazards: two items of a program touch the same bytes, one of them writes, and nothing orders them (D53).

All bytes are looked at at once: the runs of every access are sorted by address and cut into clusters that overlap;
clusters of equal form (the rows of a tile in its partitions) are looked at once. Kernels have none: for data that
passes between NKI calls the compiler inserts the waits (D53).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from dgekit.advise.order import I32, Order
from dgekit.core.errors import DgeError, Issue
from dgekit.patterns.runs import I64, Runs, runs
from dgekit.transfers.access import access_walk
from dgekit.transfers.placement import Placement
from dgekit.transfers.transfer import Access, Item, SemaphoreStep, Transfer, Workload

MAX_RUNS = 1 << 22  # of all accesses together
MAX_PAIRS = 1 << 20  # overlapping runs compared at a time
MAX_LOOSE = 1 << 20  # conflicts without an order, after which it is enough
SHOWN = 200  # hazards that are listed one by one
Kind = Literal["read after write", "write after read", "write after write"]


@dataclass(frozen=True, slots=True)
class Hazard:
    """Two items, by number in the program, and the first range [low, high) of `nbytes` shared bytes, in `tensor`."""

    first: int
    second: int
    kind: Kind
    low: int
    high: int
    nbytes: int
    tensor: str

    def issue(self, items: Sequence[Item]) -> Issue:
        """The hazard at the later item, with both names and places."""
        one, two = items[self.first], items[self.second]
        places = [f"{item.name} ({item.where})" if item.where else item.name for item in (one, two)]
        more = f", {self.nbytes} bytes in all" if self.nbytes > self.high - self.low else ""
        return Issue(
            "dec.D53",
            "warning",
            f"{self.kind}: {places[1]} and {places[0]} share bytes {self.low:#x} to {self.high:#x} of {self.tensor}"
            f"{more}, and nothing orders them",
            two.where or two.name,
            {
                "first": one.name,
                "first_where": one.where,
                "second": two.name,
                "second_where": two.where,
                "kind": self.kind,
                "tensor": self.tensor,
                "low": hex(self.low),
                "high": hex(self.high),
                "bytes": self.nbytes,
            },
            "decision D53",
            f"let {one.name} increment a semaphore and {two.name} wait for it, or put both on one engine and queue",
        )


@dataclass(frozen=True, slots=True)
class Hazards:
    """What was found: hazards in program order, how many more at least, and accesses that were not looked at."""

    found: tuple[Hazard, ...] = ()
    more: int = 0
    skipped: int = 0

    def notes(self, source: str) -> list[Issue]:
        """What the list leaves out."""
        issues = []
        if self.more:
            message = f"at least {self.more} further pairs of items share bytes without an order"
            issues.append(Issue("dec.D53", "warning", message, source, {"more": self.more}, "decision D53"))
        if self.skipped:
            message = f"hazards leave out {self.skipped} accesses of too many runs, or of no valid place"
            values = {"skipped": self.skipped, "limit": MAX_RUNS}
            issues.append(Issue("hazards.skipped", "advice", message, source, values, "decision D53"))
        return issues


@dataclass(slots=True)
class _Accesses:
    """Columns of all accesses: item number, does it write, tensor; and the runs of all, with their access."""

    item: list[int]
    writes: list[bool]
    tensor: list[str]
    pieces: list[Runs]
    skipped: int = 0


def find_hazards(workload: Workload, placement: Placement) -> Hazards:
    """Every pair of items in conflict; none in a kernel, whose data dependencies the compiler orders."""
    if any(isinstance(item, Transfer) and item.call is not None for item in workload.items):
        return Hazards()
    accesses = _collect(workload, placement)
    if len(set(accesses.item)) < 2 or not any(accesses.writes):
        return Hazards(skipped=accesses.skipped)
    loose = _loose(accesses, workload)
    loose = loose[np.lexsort((loose["first"], loose["second"]))]
    found = tuple(_hazard(row, accesses) for row in loose[:SHOWN])
    return Hazards(found, max(0, len(loose) - SHOWN), accesses.skipped)


def _collect(workload: Workload, placement: Placement) -> _Accesses:
    found = _Accesses([], [], [], [])
    budget = MAX_RUNS
    for number, item in enumerate(workload.items):
        for access, writes in _touched(item):
            try:
                walk = access_walk(access, placement, workload.generation, item.where)
                if walk.folded().count > budget:
                    found.skipped += 1
                    continue
                pieces = runs(walk)
            except DgeError:
                found.skipped += 1  # lowering says what is wrong with it
                continue
            budget -= len(pieces)
            found.item.append(number)
            found.writes.append(writes)
            found.tensor.append(access.tensor)
            found.pieces.append(pieces)
    return found


def _touched(item: Item) -> Iterator[tuple[Access, bool]]:
    """The accesses of an item, and whether they write; of an indexed side the whole table."""
    if isinstance(item, SemaphoreStep):
        yield from ((write.access, True) for write in item.writes)
    elif isinstance(item, Transfer):
        for access in item.dsts or (item.dst,):
            yield access, True
        for access in item.srcs or (item.src,):
            yield access, False
        if item.indices is not None:
            yield item.indices, False


_PAIR = np.dtype(
    [
        ("first", np.int32),
        ("second", np.int32),
        ("earlier", np.int32),
        ("later", np.int32),
        ("low", np.int64),
        ("high", np.int64),
        ("nbytes", np.int64),
    ]
)
Pairs = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class _Columns:
    """The runs of all accesses by address: whose access each is; by access, the item and does it write."""

    owner: I32
    starts: I64
    ends: I64
    item: I32
    writes: npt.NDArray[np.bool_]

    def part(self, low: int, high: int) -> _Columns:
        """Some of the runs."""
        return _Columns(self.owner[low:high], self.starts[low:high], self.ends[low:high], self.item, self.writes)


def _sorted(accesses: _Accesses) -> _Columns:
    lengths = [len(pieces) for pieces in accesses.pieces]
    owner = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
    starts = np.concatenate([pieces.starts for pieces in accesses.pieces])
    ends = starts + np.concatenate([pieces.lengths for pieces in accesses.pieces])
    order = np.lexsort((owner, starts))
    return _Columns(
        owner[order], starts[order], ends[order], np.array(accesses.item, np.int32), np.array(accesses.writes)
    )


def _loose(accesses: _Accesses, workload: Workload) -> Pairs:
    """Pairs of items that share bytes, one of them writing, without an order: the first range, and all bytes."""
    columns = _sorted(accesses)
    clusters = list(_clusters(columns))
    if not clusters:
        return np.zeros(0, _PAIR)
    order = Order(workload)
    parts: list[Pairs] = []
    held = 0
    for low, high, times in clusters:
        for part in _pairs(columns.part(low, high), order, times):
            parts.append(part)
            held += len(part)
            if held > MAX_LOOSE:
                return _merged(parts)
    return _merged(parts)


def _clusters(columns: _Columns) -> Iterator[tuple[int, int, int]]:
    """Stretches of overlapping runs with two items and a write, as (low, high, how many stretches look like it)."""
    owner, starts, ends = columns.owner, columns.starts, columns.ends
    reach = np.maximum.accumulate(ends)
    firsts = np.flatnonzero(np.concatenate(([True], starts[1:] >= reach[:-1])))
    items, written = columns.item[owner], columns.writes[owner]
    mixed = np.minimum.reduceat(items, firsts) != np.maximum.reduceat(items, firsts)
    mixed &= np.logical_or.reduceat(written, firsts)
    sizes = np.diff(np.append(firsts, len(starts)))
    for size in np.unique(sizes[mixed]):
        lows = firsts[mixed & (sizes == size)]
        places = lows[:, None] + np.arange(size)
        forms = np.concatenate(
            (owner[places], starts[places] - starts[lows][:, None], ends[places] - starts[lows][:, None]), axis=1
        )
        _, chosen, times = np.unique(forms, axis=0, return_index=True, return_counts=True)
        for which, count in zip(chosen.tolist(), times.tolist(), strict=True):
            low = int(lows[which])
            yield low, low + int(size), int(count)


def _pairs(columns: _Columns, order: Order, times: int) -> Iterator[Pairs]:
    """Conflicting pairs of one cluster; runs are sorted, so run k overlaps those after it that start before its end."""
    owner, starts, ends = columns.owner, columns.starts, columns.ends
    count = np.searchsorted(starts, ends, "left") - np.arange(len(starts)) - 1
    total = np.cumsum(count)
    low = 0
    while low < len(starts):
        passed = int(total[low - 1]) if low else 0
        high = max(low + 1, int(np.searchsorted(total, passed + MAX_PAIRS, "right")))
        some = count[low:high]
        one = np.repeat(np.arange(low, low + len(some)), some)
        two = one + 1 + np.arange(len(one)) - np.repeat(np.cumsum(some) - some, some)
        items = columns.item[owner[one]], columns.item[owner[two]]
        keep = (items[0] != items[1]) & (columns.writes[owner[one]] | columns.writes[owner[two]])
        keep[keep] = order.unordered(items[0][keep], items[1][keep])
        one, two = one[keep], two[keep]
        shared = np.minimum(ends[one], ends[two])
        yield _merged([_rows(owner[one], owner[two], starts[two], shared, columns.item, times)])
        low = high


def _rows(a: I32, b: I32, low: I64, high: I64, item: I32, times: int) -> Pairs:
    """Pair records with the item that stands first in the program in front."""
    swap = item[a] > item[b]
    rows = np.zeros(len(a), _PAIR)
    rows["earlier"], rows["later"] = np.where(swap, b, a), np.where(swap, a, b)
    rows["first"], rows["second"] = item[rows["earlier"]], item[rows["later"]]
    rows["low"], rows["high"], rows["nbytes"] = low, high, (high - low) * times
    return rows


def _merged(parts: Sequence[Pairs]) -> Pairs:
    """One record a pair of items: the lowest range, all bytes."""
    rows = np.concatenate(parts)
    if not len(rows):
        return rows
    rows = rows[np.lexsort((rows["low"], rows["second"], rows["first"]))]
    opens = (rows["first"][1:] != rows["first"][:-1]) | (rows["second"][1:] != rows["second"][:-1])
    firsts = np.flatnonzero(np.concatenate(([True], opens)))
    merged = rows[firsts].copy()
    merged["nbytes"] = np.add.reduceat(rows["nbytes"], firsts)
    return merged


def _hazard(row: Any, accesses: _Accesses) -> Hazard:
    earlier, later = int(row["earlier"]), int(row["later"])
    kind: Kind = "write after write"
    if not accesses.writes[earlier]:
        kind = "write after read"
    elif not accesses.writes[later]:
        kind = "read after write"
    low, high = int(row["low"]), int(row["high"])
    tensor = accesses.tensor[earlier]
    return Hazard(int(row["first"]), int(row["second"]), kind, low, high, int(row["nbytes"]), tensor)

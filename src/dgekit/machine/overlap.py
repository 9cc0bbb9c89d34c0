"""Do runs share bytes: one sort and one merge, whatever their number (rings 2.10: a queue moves bytes in order)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dgekit.core.errors import Issue
from dgekit.patterns.runs import I64, Runs


@dataclass(frozen=True, slots=True)
class Shared:
    """The first pair of runs found to share bytes: run numbers and the shared range [low, high)."""

    first: int
    second: int
    low: int
    high: int


def shared_within(starts: I64, lengths: I64) -> Shared | None:
    """Two runs of one list that share bytes, or None."""
    if len(starts) < 2:
        return None
    ends = starts + lengths
    if (starts[1:] >= ends[:-1]).all():  # ascending and apart, the usual case
        return None
    order = np.argsort(starts, kind="stable")
    found = np.flatnonzero(starts[order][1:] < ends[order][:-1])
    if not len(found):
        return None
    one, other = int(order[found[0]]), int(order[found[0] + 1])
    return _shared(one, other, starts, ends, starts, ends)


def shared_between(a_starts: I64, a_lengths: I64, b_starts: I64, b_lengths: I64) -> Shared | None:
    """A run of `a` and a run of `b` that share bytes, or None."""
    if not len(a_starts) or not len(b_starts):
        return None
    a_ends, b_ends = a_starts + a_lengths, b_starts + b_lengths
    if a_starts.min() >= b_ends.max() or b_starts.min() >= a_ends.max():
        return None
    order = np.argsort(b_starts, kind="stable")
    sorted_starts = b_starts[order]
    reach = np.maximum.accumulate(b_ends[order])  # the furthest end of all runs up to here
    before = np.searchsorted(sorted_starts, a_ends, "left")  # runs of b that start below each end of a
    candidates = np.flatnonzero((before > 0) & (reach[np.maximum(before, 1) - 1] > a_starts))
    if not len(candidates):
        return None
    one = int(candidates[0])
    meets = np.flatnonzero((b_starts < a_ends[one]) & (b_ends > a_starts[one]))
    return _shared(one, int(meets[0]), a_starts, a_ends, b_starts, b_ends)


def check_overlap(src: Runs, dst: Runs, where: str = "") -> list[Issue]:
    """Copies whose result would depend on an order nobody documents: source and destination, or two destinations, meet.

    >>> [issue.rule for issue in check_overlap(Runs.of([0], 64), Runs.of([32], 64))]
    ['memory.overlap']
    """
    issues = []
    legs = shared_between(src.starts, src.lengths, dst.starts, dst.lengths)
    if legs is not None:
        issues.append(_issue(f"source run {legs.first} and destination run {legs.second}", legs, where))
    twice = shared_within(dst.starts, dst.lengths)
    if twice is not None:
        issues.append(_issue(f"destination runs {twice.first} and {twice.second}", twice, where))
    return issues


def _issue(what: str, shared: Shared, where: str) -> Issue:
    return Issue(
        "memory.overlap",
        "error",
        f"{what} share bytes {shared.low:#x} to {shared.high:#x}, so the result depends on the order of moves",
        where,
        {"first": shared.first, "second": shared.second, "low": hex(shared.low), "high": hex(shared.high)},
        "rings 2.10",
        "copy through a third tensor, or move disjoint ranges",
    )


def _shared(one: int, other: int, a_starts: I64, a_ends: I64, b_starts: I64, b_ends: I64) -> Shared:
    low = max(int(a_starts[one]), int(b_starts[other]))
    return Shared(one, other, low, min(int(a_ends[one]), int(b_ends[other])))

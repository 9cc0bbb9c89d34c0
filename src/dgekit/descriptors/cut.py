"""Cutting two byte streams at common places: where packets end, and the pieces of each leg (decision D32).

Positions are bytes (or elements, for a cast) from the start of the work; `ends` arrays hold the position after each
run, ascending. Everything is int64.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

import numpy as np

from dgekit.patterns.runs import I64, Runs


@dataclass(frozen=True, slots=True)
class Caps:
    """What one packet may hold at most: bytes, and pieces of the M2S and of the S2M leg."""

    nbytes: int
    m2s: int
    s2m: int


def ends_of(runs: Runs) -> I64:
    """The position after each run.

    >>> ends_of(Runs.of([0, 100], [10, 5])).tolist()
    [10, 15]
    """
    return np.cumsum(runs.lengths)


def union(a: I64, b: I64) -> I64:
    """The distinct values of two ascending arrays, ascending.

    >>> union(np.array([2, 6]), np.array([3, 6])).tolist()
    [2, 3, 6]
    """
    both = np.concatenate((a, b))
    both.sort(kind="stable")  # two sorted stretches: linear
    keep = np.empty(len(both), dtype=bool)
    keep[:1] = True
    np.not_equal(both[1:], both[:-1], out=keep[1:])
    return both[keep]


def cut(runs: Runs, cuts: I64) -> Runs:
    """The same bytes in pieces that also end at every position of `cuts` (the last one is the total).

    >>> pieces = cut(Runs.of([0, 100], [10, 5]), np.array([4, 12, 15]))
    >>> pieces.starts.tolist(), pieces.lengths.tolist()
    ([0, 4, 100, 102], [4, 6, 2, 3])
    """
    ends = ends_of(runs)
    piece_ends = union(ends, cuts)
    if len(piece_ends) == len(ends):
        return runs
    begins = np.concatenate((np.zeros(1, dtype=np.int64), piece_ends[:-1]))
    owner = np.searchsorted(ends, begins, side="right")
    starts = runs.starts[owner] + begins - (ends[owner] - runs.lengths[owner])
    return Runs(starts, piece_ends - begins)


def capped_ends(ends: I64, cap: int) -> I64:
    """`ends` with more of them, so that no two follow at a distance over `cap`: each stretch is cut greedily.

    >>> capped_ends(np.array([5, 6]), 2).tolist()
    [2, 4, 5, 6]
    """
    lengths = np.diff(ends, prepend=0)
    parts = -(-lengths // cap)
    if len(parts) == parts.sum():
        return ends
    index = np.arange(parts.sum()) - np.repeat(np.cumsum(parts) - parts, parts)
    cuts: I64 = np.minimum(np.repeat(ends - lengths, parts) + (index + 1) * cap, np.repeat(ends, parts))
    return cuts


def packet_ends(src: Runs, dst: Runs, caps: Caps) -> I64:
    """Where each packet ends: always the longest prefix within the caps; a run may be cut there.

    >>> packet_ends(Runs.of([0], 100), Runs.of([0, 50, 90], [40, 40, 20]), Caps(64, 64, 1)).tolist()
    [40, 80, 100]
    """
    step = _uniform_step(src, dst, caps)
    total = src.nbytes
    if step:
        return np.append(np.arange(step, total, step, dtype=np.int64), total)
    return _greedy(ends_of(src).tolist(), ends_of(dst).tolist(), caps)


def _uniform_step(src: Runs, dst: Runs, caps: Caps) -> int:
    """The size of all packets but the last where runs of equal length make them equal; 0 where they do not.

    With step = min(bytes, pieces x length of either leg), every packet begins at the same place within a run if
    the step and the run length divide one another, so the greedy choice is the same each time.
    """
    lengths = []
    step = caps.nbytes
    for runs, pieces in ((src, caps.m2s), (dst, caps.s2m)):
        length = int(runs.lengths[0])
        if len(runs) > 1 and (runs.lengths[:-1] != length).any():
            return 0
        if runs.lengths[-1] > length:
            return 0
        if len(runs) > 1:
            lengths.append(length)
            step = min(step, pieces * length)
    return step if all(step % length == 0 or length % step == 0 for length in lengths) else 0


def _greedy(src: list[int], dst: list[int], caps: Caps) -> I64:
    """Packet ends one at a time, from the ends of the runs of both legs."""
    ends: list[int] = []
    position, i, j, total = 0, 0, 0, src[-1]
    while position < total:
        end = min(position + caps.nbytes, total)
        if i + caps.m2s <= len(src):
            end = min(end, src[i + caps.m2s - 1])
        if j + caps.s2m <= len(dst):
            end = min(end, dst[j + caps.s2m - 1])
        ends.append(end)
        position = end
        i = bisect_right(src, position, i, min(len(src), i + caps.m2s))
        j = bisect_right(dst, position, j, min(len(dst), j + caps.s2m))
    return np.array(ends, dtype=np.int64)

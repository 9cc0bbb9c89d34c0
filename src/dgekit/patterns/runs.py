"""Runs: the contiguous pieces that a walk (or an index vector) visits, as numpy columns."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dgekit.core.errors import LoweringError, Unsupported
from dgekit.patterns.walk import Walk

I64 = npt.NDArray[np.int64]

MAX_RUNS = 1 << 24  # one ring cannot hold more BDs (rings 2.5); keeps a hostile shape from filling the memory
ADDRESS_END = 1 << 63


@dataclass(frozen=True, slots=True, eq=False)
class Runs:
    """Contiguous pieces in order: `starts` (n,) byte addresses and `lengths` (n,) bytes, both int64."""

    starts: I64
    lengths: I64

    @property
    def nbytes(self) -> int:
        """Bytes of all pieces together."""
        return int(self.lengths.sum())

    def __len__(self) -> int:
        return len(self.starts)

    @classmethod
    def of(cls, starts: npt.ArrayLike, lengths: npt.ArrayLike) -> Runs:
        """Runs from start addresses and one length for all, or one length each; raises ValueError on a mismatch.

        >>> Runs.of([0, 64, 32], 16).lengths.tolist()
        [16, 16, 16]
        """
        first = np.array(starts, dtype=np.int64, ndmin=1)
        return cls(first, np.broadcast_to(np.asarray(lengths, dtype=np.int64), first.shape).copy())

    @classmethod
    def joined(cls, parts: Iterable[Runs]) -> Runs:
        """All pieces of several runs, one after the other (no pieces: empty runs)."""
        listed = list(parts)
        if not listed:
            return cls.of([], 0)
        return cls(np.concatenate([p.starts for p in listed]), np.concatenate([p.lengths for p in listed]))

    def merged(self) -> Runs:
        """The same bytes in the same order as the longest possible pieces.

        >>> Runs.of([0, 16, 64], 16).merged().lengths.tolist()
        [32, 16]
        """
        if len(self) < 2:
            return self
        opens = np.concatenate(([True], self.starts[1:] != self.starts[:-1] + self.lengths[:-1]))
        firsts = np.flatnonzero(opens)
        return Runs(self.starts[firsts], np.add.reduceat(self.lengths, firsts))


def runs(walk: Walk) -> Runs:
    """The maximal contiguous pieces of a walk, in its order.

    Raises LoweringError for addresses outside 0..2**63-1 and Unsupported for more than MAX_RUNS pieces.

    >>> pieces = runs(Walk(0, ((4, 8), (100, 3)), 4))
    >>> pieces.starts.tolist(), pieces.lengths.tolist()
    ([0, 100, 200], [32, 32, 32])
    """
    _check_addresses(walk)
    folded = walk.folded()
    if folded.count > MAX_RUNS:
        raise Unsupported(
            f"a walk of {folded.count} separate runs is over the {MAX_RUNS} this tool expands",
            rule="patterns.runs",
            values={"runs": folded.count, "limit": MAX_RUNS},
            fix="cut the transfer",
        )
    starts = _starts(folded)
    pieces = Runs(starts, np.full(len(starts), folded.elem, dtype=np.int64))
    return pieces.merged() if _may_touch(folded) else pieces


def element_starts(walk: Walk) -> I64:
    """The start address of every element in order, nothing merged: (count,) int64; raises as `runs` does."""
    _check_addresses(walk)
    if walk.count > MAX_RUNS:
        raise Unsupported(
            f"a walk of {walk.count} elements is over the {MAX_RUNS} this tool expands",
            rule="patterns.runs",
            values={"runs": walk.count, "limit": MAX_RUNS},
        )
    return _starts(walk)


def _starts(walk: Walk) -> I64:
    grid = np.full(1, walk.start, dtype=np.int64)
    for step, count in walk.without_unit_dims().dims:
        grid = (np.arange(count, dtype=np.int64)[:, None] * step + grid[None, :]).ravel()
    return grid


def _may_touch(walk: Walk) -> bool:
    """True when one piece may end where the next begins: some carry of the odometer advances by the element."""
    backs = itertools.accumulate((step * (count - 1) for step, count in walk.dims), initial=0)
    return any(step - back == walk.elem for (step, _), back in zip(walk.dims, backs, strict=False))


def _check_addresses(walk: Walk) -> None:
    low, high = walk.span()
    if low < 0 or high > ADDRESS_END:
        raise LoweringError(
            f"a walk from {low:#x} to {high:#x} leaves the address space",
            rule="patterns.address",
            values={"low": low, "high": high},
        )

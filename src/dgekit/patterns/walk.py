"""Walks: the immutable N-D pattern that every layer below the user's passes on.

A walk visits equal-sized contiguous elements of bytes. Units are bytes; `dims` holds `(step_bytes, count)` with
the innermost (fastest) dimension FIRST, as words, NEFF and descriptors have it (users write outermost first;
front ends reverse at the border). The order of addresses is part of the meaning: a transformation is legal only
if the concatenated byte sequence stays identical.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

Dim = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Walk:
    """`count` elements of `elem` bytes each, starting at byte address `start`, over `dims` innermost first.

    >>> walk = Walk(0, ((4, 2), (100, 2)), 4)
    >>> list(walk.addresses()), walk.nbytes
    ([0, 4, 100, 104], 16)
    """

    start: int
    dims: tuple[Dim, ...]
    elem: int

    def __post_init__(self) -> None:
        if self.elem < 1:
            raise ValueError(f"elem {self.elem} bytes is below 1")
        for step, count in self.dims:
            if count < 0:
                raise ValueError(f"count {count} of dimension with step {step} is negative")

    @property
    def count(self) -> int:
        """Number of elements."""
        return math.prod(count for _, count in self.dims)

    @property
    def nbytes(self) -> int:
        """Bytes moved: count times element size."""
        return self.count * self.elem

    def addresses(self) -> Iterator[int]:
        """Start address of each element in order: the plain oracle, one Python int at a time."""
        ranges = [range(count) for _, count in reversed(self.dims)]
        steps = [step for step, _ in reversed(self.dims)]
        for index in itertools.product(*ranges):
            yield self.start + sum(i * s for i, s in zip(index, steps, strict=True))

    def span(self) -> tuple[int, int]:
        """Lowest byte address touched and the first one after the highest; (start, start) when empty."""
        if self.count == 0:
            return self.start, self.start
        low = sum(min(0, step * (count - 1)) for step, count in self.dims)
        high = sum(max(0, step * (count - 1)) for step, count in self.dims)
        return self.start + low, self.start + high + self.elem

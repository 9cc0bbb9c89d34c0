"""Walks: the immutable N-D pattern that every layer below the user's passes on.

A walk visits equal-sized contiguous elements of bytes. Units are bytes; `dims` holds `(step_bytes, count)` with
the innermost (fastest) dimension FIRST, as words, NEFF and descriptors have it (users write outermost first;
front ends reverse at the border). The order of addresses is part of the meaning: a transformation is legal only
if the concatenated byte sequence stays identical. The four methods that do change it (`permute`, `slice`, `reverse`
and `moved`) say so; what is done to one leg with them is done to the other.

Steps may be negative or zero; a count of zero makes an empty walk.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

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
    def counts(self) -> tuple[int, ...]:
        """The counts of all dimensions, innermost first."""
        return tuple(count for _, count in self.dims)

    @property
    def nbytes(self) -> int:
        """Bytes moved: count times element size."""
        return self.count * self.elem

    @property
    def contiguous(self) -> bool:
        """True when the walk is one ascending run of bytes (or empty)."""
        return self.count == 0 or not self.folded().dims

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

    # the same bytes in the same order

    def without_unit_dims(self) -> Walk:
        """The same walk without dimensions of count 1; an empty walk keeps one dimension of count 0.

        >>> Walk(0, ((4, 1), (8, 3), (99, 1)), 4).without_unit_dims().dims
        ((8, 3),)
        """
        if self.count == 0:
            return Walk(self.start, ((0, 0),), self.elem)
        return Walk(self.start, tuple(dim for dim in self.dims if dim[1] != 1), self.elem)

    def can_merge(self, dim: int) -> bool:
        """True when dimension `dim + 1` continues dimension `dim`: its step is the inner step times the inner count."""
        (step, count), (outer_step, _) = self.dims[dim], self.dims[dim + 1]
        return outer_step == step * count

    def merge(self, dim: int) -> Walk:
        """Dimensions `dim` and `dim + 1` as one; raises ValueError where they are not one progression.

        >>> Walk(0, ((4, 2), (8, 3)), 4).merge(0).dims
        ((4, 6),)
        """
        if not self.can_merge(dim):
            raise ValueError(f"dimension {dim + 1} of {self.dims} does not continue dimension {dim}")
        (step, count), (_, outer_count) = self.dims[dim], self.dims[dim + 1]
        return self._with_dims(dim, dim + 2, (step, count * outer_count))

    def merged(self) -> Walk:
        """The fewest dimensions that give the same elements in the same order (the element is left alone)."""
        walk = self.without_unit_dims()
        dim = 0
        while dim + 1 < len(walk.dims):
            if walk.can_merge(dim):
                walk = walk.merge(dim)
            else:
                dim += 1
        return walk

    def split(self, dim: int, inner: int) -> Walk:
        """Dimension `dim` as two, the inner one of `inner` counts; raises ValueError if that does not divide.

        >>> Walk(0, ((4, 6),), 4).split(0, 2).dims
        ((4, 2), (8, 3))
        """
        step, count = self.dims[dim]
        if inner < 1 or count % inner:
            raise ValueError(f"count {count} of dimension {dim} is no multiple of {inner}")
        return self._with_dims(dim, dim + 1, (step, inner), (step * inner, count // inner))

    def fold(self) -> Walk:
        """The innermost dimension folded into the element; raises ValueError unless its step is the element size.

        >>> Walk(0, ((4, 6), (100, 2)), 4).fold()
        Walk(start=0, dims=((100, 2),), elem=24)
        """
        if not self.can_fold():
            raise ValueError(f"the innermost dimension of {self.dims} is not contiguous for elements of {self.elem} B")
        return Walk(self.start, self.dims[1:], self.elem * self.dims[0][1])

    def can_fold(self) -> bool:
        """True when the innermost dimension is contiguous and not empty."""
        return bool(self.dims) and self.dims[0][0] == self.elem and self.dims[0][1] > 0

    def folded(self) -> Walk:
        """The shortest form: no unit dimensions, all mergeable ones merged, the contiguous run as the element.

        >>> Walk(0, ((4, 8), (32, 2), (256, 1), (512, 3)), 4).folded()
        Walk(start=0, dims=((512, 3),), elem=64)
        """
        walk = self.merged()
        return walk.fold() if walk.can_fold() else walk

    def unfolded(self, size: int) -> Walk:
        """The same bytes as elements of `size` bytes; raises ValueError if that does not divide the element.

        >>> Walk(0, ((512, 3),), 64).unfolded(4).dims
        ((4, 16), (512, 3))
        """
        if size < 1 or self.elem % size:
            raise ValueError(f"element of {self.elem} bytes is no multiple of {size}")
        if size == self.elem:
            return self
        return Walk(self.start, ((size, self.elem // size), *self.dims), size)

    # other bytes, or another order: to be done to both legs alike

    def permute(self, order: Sequence[int]) -> Walk:
        """The dimensions in the given order (new dimension i is old `order[i]`): changes the order of addresses."""
        if sorted(order) != list(range(len(self.dims))):
            raise ValueError(f"{tuple(order)} is no permutation of {len(self.dims)} dimensions")
        return replace(self, dims=tuple(self.dims[i] for i in order))

    def slice(self, dim: int, lo: int, hi: int) -> Walk:
        """Only indices lo..hi-1 of one dimension; raises ValueError outside 0 <= lo <= hi <= count.

        >>> Walk(0, ((4, 8),), 4).slice(0, 2, 5)
        Walk(start=8, dims=((4, 3),), elem=4)
        """
        step, count = self.dims[dim]
        if not 0 <= lo <= hi <= count:
            raise ValueError(f"slice {lo}:{hi} is outside dimension {dim} of count {count}")
        return replace(self._with_dims(dim, dim + 1, (step, hi - lo)), start=self.start + lo * step)

    def reverse(self, dim: int) -> Walk:
        """One dimension walked backward: the same elements, that dimension in the opposite order."""
        step, count = self.dims[dim]
        return replace(self._with_dims(dim, dim + 1, (-step, count)), start=self.start + step * max(0, count - 1))

    def moved(self, start: int) -> Walk:
        """The same pattern from another start address."""
        return replace(self, start=start)

    def _with_dims(self, lo: int, hi: int, *dims: Dim) -> Walk:
        return replace(self, dims=self.dims[:lo] + dims + self.dims[hi:])

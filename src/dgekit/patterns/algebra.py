"""Pairs of walks: one common shape for both legs of a transfer, and folding them together (decision D2)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from dgekit.patterns.walk import Walk


def common_shape(a: Walk, b: Walk) -> tuple[Walk, Walk] | None:
    """Both walks with the same counts, dimension by dimension, or None where their shapes do not nest.

    The walks pair element by element; the element sizes may differ (a cast). Walks whose counts already agree come
    back as they are. Otherwise each is merged to its fewest dimensions, then both are cut where either has a
    boundary; the shapes nest when every boundary divides the next. Raises ValueError for differing element counts.

    >>> a, b = common_shape(Walk(0, ((2, 16384),), 2), Walk(0, ((2, 128), (262144, 128)), 2))
    >>> a.dims, b.dims
    (((2, 128), (256, 128)), ((2, 128), (262144, 128)))
    >>> common_shape(Walk(0, ((2, 4), (100, 3)), 2), Walk(0, ((2, 6), (100, 2)), 2)) is None
    True
    """
    found = common_shapes((a, b))
    return None if found is None else (found[0], found[1])


def common_shapes(walks: Sequence[Walk]) -> tuple[Walk, ...] | None:
    """Any number of walks with the same counts, dimension by dimension, or None; as `common_shape` for two."""
    first = walks[0]
    for other in walks[1:]:
        if other.count != first.count:
            raise ValueError(f"{first.count} elements cannot pair with {other.count}")
    if all(walk.counts == first.counts for walk in walks):
        return tuple(walks)
    merged = [walk.merged() for walk in walks]
    if first.count == 0:
        return tuple(merged)
    boundaries = sorted({boundary for walk in merged for boundary in _boundaries(walk)})
    if any(upper % lower for lower, upper in itertools.pairwise(boundaries)):
        return None
    return tuple(_cut(walk, boundaries) for walk in merged)


def fold_pair(a: Walk, b: Walk) -> tuple[Walk, Walk]:
    """Two walks of the same counts in their shortest common form (decision D2).

    A dimension is merged, or folded into the element, only where it is contiguous on both legs; both elements then
    hold the same number of original elements. Raises ValueError for differing counts.

    >>> fold_pair(Walk(0, ((2, 128), (256, 128)), 2), Walk(0, ((2, 128), (262144, 128)), 2))
    (Walk(start=0, dims=((256, 128),), elem=256), Walk(start=0, dims=((262144, 128),), elem=256))
    """
    if a.counts != b.counts:
        raise ValueError(f"counts {a.counts} and {b.counts} are no common shape")
    a, b = a.without_unit_dims(), b.without_unit_dims()
    dim = 0
    while dim + 1 < len(a.dims):
        if a.can_merge(dim) and b.can_merge(dim):
            a, b = a.merge(dim), b.merge(dim)
        else:
            dim += 1
    if a.can_fold() and b.can_fold():
        a, b = a.fold(), b.fold()
    return a, b


def _boundaries(walk: Walk) -> itertools.accumulate[int]:
    """How many elements each dimension and all those inside it visit together."""
    return itertools.accumulate(walk.counts, lambda inner, count: inner * count)


def _cut(walk: Walk, boundaries: list[int]) -> Walk:
    """The walk with a dimension boundary at every given element count; each divides the next."""
    inside = 1
    for dim, boundary in enumerate(boundaries):
        wanted = boundary // inside
        if walk.dims[dim][1] != wanted:
            walk = walk.split(dim, wanted)
        inside = boundary
    return walk

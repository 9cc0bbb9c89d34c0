"""Arithmetic of shapes and strides, in elements, outermost first."""

from __future__ import annotations

import math

from dgekit.frontends.nki.faults import KernelError

Extents = tuple[int, ...]


def dense_strides(shape: Extents) -> Extents:
    """The strides of a dense tensor.

    >>> dense_strides((4, 2, 8))
    (16, 8, 1)
    """
    strides, inside = [], 1
    for extent in reversed(shape):
        strides.append(inside)
        inside *= extent
    return tuple(reversed(strides))


def filled(shape: Extents, size: int) -> Extents:
    """The shape with its -1, if any, replaced by what `size` elements leave; raises KernelError if none fits.

    >>> filled((2, -1), 12)
    (2, 6)
    """
    known = math.prod(extent for extent in shape if extent != -1)
    wanted = tuple(size // known if extent == -1 and known else extent for extent in shape)
    if shape.count(-1) > 1 or min(wanted, default=1) < 1 or math.prod(wanted) != size:
        raise KernelError(
            f"{size} elements have no shape {shape}", rule="nki.view", values={"elements": size, "wanted": list(shape)}
        )
    return wanted


def reshaped(shape: Extents, strides: Extents, wanted: Extents) -> Extents | None:
    """The strides of the same elements in another shape of as many elements; None where that needs a copy.

    >>> reshaped((4, 8), (8, 1), (2, 2, 8)), reshaped((4, 8), (16, 1), (32,))
    ((16, 8, 1), None)
    """
    runs = _merged(shape, strides)
    found: list[int] = []
    step, count = runs.pop() if runs else (1, 1)
    for extent in reversed(wanted):
        if extent == 1:
            found.append(step)
            continue
        if count == 1 and runs:
            step, count = runs.pop()
        if count % extent:
            return None
        found.append(step)
        step, count = step * extent, count // extent
    return tuple(reversed(found))


def _merged(shape: Extents, strides: Extents) -> list[tuple[int, int]]:
    """(step, count) of the dimensions, those that continue each other joined, outermost first."""
    runs: list[tuple[int, int]] = []
    for extent, stride in zip(shape, strides, strict=True):
        if extent == 1:
            continue
        if runs and runs[-1][0] == stride * extent:
            runs[-1] = (stride, runs[-1][1] * extent)
        else:
            runs.append((stride, extent))
    return runs

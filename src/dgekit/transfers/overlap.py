"""Bytes that two legs share, or that one leg writes twice: what the order of packets would decide, so refused."""

from __future__ import annotations

import numpy as np

from dgekit.core.errors import Overlap
from dgekit.patterns.runs import I64, runs
from dgekit.patterns.walk import Walk
from dgekit.transfers.request import Request


def check_overlap(request: Request) -> None:
    """Raise Overlap when source and destination share bytes, or when the destination holds a byte twice.

    Legs in different tensors never meet: placement keeps tensors apart, bounds keep legs inside.
    """
    src, dst = request.src, request.dst
    if src.placed is dst.placed:
        shared = shared_byte(src.walk, dst.walk)
        if shared is not None:
            raise Overlap(
                f"source and destination share bytes of {src.placed.tensor.name}, the first at {shared:#x}",
                where=request.where,
                values={"address": shared},
                fix="copy through another tensor",
            )
    twice = repeated_byte(dst.walk)
    if twice is not None:
        raise Overlap(
            f"the destination writes the byte at {twice:#x} more than once",
            where=request.where,
            values={"address": twice},
            fix="zero or overlapping steps are for sources only",
        )


def shared_byte(a: Walk, b: Walk) -> int | None:
    """The lowest address found in both walks, None when they are apart.

    >>> shared_byte(Walk(0, ((8, 4),), 4), Walk(4, ((8, 4),), 4)) is None
    True
    >>> shared_byte(Walk(0, ((8, 4),), 4), Walk(2, ((8, 4),), 4))
    2
    """
    (a_low, a_high), (b_low, b_high) = a.span(), b.span()
    if a_high <= b_low or b_high <= a_low:
        return None
    starts, reach = _sorted_reach(a)
    pieces = runs(b)
    before = np.searchsorted(starts, pieces.starts + pieces.lengths, "left") - 1
    met = (before >= 0) & (reach[before] > pieces.starts)
    if not met.any():
        return None
    first = pieces.starts[met]
    inside = np.searchsorted(starts, first, "right") - 1
    covered = (inside >= 0) & (reach[inside] > first)
    following = starts[np.minimum(inside + 1, len(starts) - 1)]
    return int(np.where(covered, first, following).min())


def repeated_byte(walk: Walk) -> int | None:
    """The lowest address that a walk visits twice, None when all its bytes are distinct.

    >>> repeated_byte(Walk(0, ((4, 4), (8, 2)), 4)), repeated_byte(Walk(0, ((16, 2), (4, 4)), 4))
    (8, None)
    """
    if _nested(walk):
        return None
    starts, reach = _sorted_reach(walk)
    met = np.flatnonzero(starts[1:] < reach[:-1])
    return int(starts[1:][met[0]]) if len(met) else None


def _nested(walk: Walk) -> bool:
    """True when each dimension steps over everything the smaller ones span, so that no byte comes twice."""
    extent = walk.elem
    for step, count in sorted((abs(step), count) for step, count in walk.dims if count > 1):
        if step < extent:
            return False
        extent = step * (count - 1) + extent
    return True


def _sorted_reach(walk: Walk) -> tuple[I64, I64]:
    """The starts of a walk's runs in ascending order, and how far any run up to each one reaches."""
    pieces = runs(walk)
    order = np.argsort(pieces.starts, kind="stable")
    return pieces.starts[order], np.maximum.accumulate(pieces.starts[order] + pieces.lengths[order])

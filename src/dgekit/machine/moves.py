"""Moving many byte runs between two buffers: strided when the runs form a grid, by index otherwise.

Runs that pair one to one (same length on both sides) are first grouped by length; a group whose offsets form an
arithmetic progression (of progressions ...) on both sides is one strided numpy copy. The caller has checked bounds
and that no run of the destination shares bytes with any other run.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dgekit.descriptors.cut import union
from dgekit.patterns.algebra import common_shape
from dgekit.patterns.runs import I64
from dgekit.patterns.walk import Dim, Walk

U8 = npt.NDArray[np.uint8]

_MAX_LEVELS = 4  # nested progressions looked for
_MAX_GROUPS = 16  # distinct lengths copied group by group; more are copied run by run
_LOOP_LENGTH = 4096  # bytes from which one slice copy a run is as fast as an indexed copy
_BLOCK_BYTES = 4 << 20  # temporary of an indexed copy


def move(dst: U8, dst_offsets: I64, src: U8, src_offsets: I64, lengths: I64) -> None:
    """Copy run i, `lengths[i]` bytes, from `src[src_offsets[i]:]` to `dst[dst_offsets[i]:]`; all (n,) int64."""
    if not len(lengths):
        return
    if (lengths == lengths[0]).all():
        _move_equal(dst, dst_offsets, src, src_offsets, int(lengths[0]))
        return
    sizes = np.unique(lengths)
    if len(sizes) > _MAX_GROUPS:
        _move_singly(dst, dst_offsets, src, src_offsets, lengths)
        return
    for size in sizes:
        chosen = np.flatnonzero(lengths == size)
        _move_equal(dst, dst_offsets[chosen], src, src_offsets[chosen], int(size))


def _move_equal(dst: U8, dst_offsets: I64, src: U8, src_offsets: I64, length: int) -> None:
    """Copy runs of one length."""
    pair = _common_grid(dst_offsets, src_offsets, length)
    if pair is not None:
        _move_grid(dst, pair[0], src, pair[1])
    elif length >= _LOOP_LENGTH:
        _move_singly(dst, dst_offsets, src, src_offsets, np.full(len(dst_offsets), length, np.int64))
    else:
        _move_indexed(dst, dst_offsets, src, src_offsets, length)


def _common_grid(dst_offsets: I64, src_offsets: I64, length: int) -> tuple[Walk, Walk] | None:
    """Both sides as walks of the same counts, or None where either is no grid or the grids do not nest."""
    dst_dims = progression(dst_offsets)
    src_dims = progression(src_offsets) if dst_dims is not None else None
    if dst_dims is None or src_dims is None:
        return None
    return common_shape(Walk(int(dst_offsets[0]), dst_dims, length), Walk(int(src_offsets[0]), src_dims, length))


def progression(offsets: I64) -> tuple[Dim, ...] | None:
    """The `(step, count)` levels, innermost first, that generate the offsets, or None for no such grid.

    >>> progression(np.array([0, 4, 100, 104, 200, 204]))
    ((4, 2), (100, 3))
    >>> progression(np.array([0, 4, 5])) is None
    True
    """
    dims: list[Dim] = []
    while len(dims) < _MAX_LEVELS:
        if len(offsets) == 1:
            return (*dims, (0, 1)) if not dims else tuple(dims)
        steps = np.diff(offsets)
        step = int(steps[0])
        breaks = np.flatnonzero(steps != step)
        if not len(breaks):
            return (*dims, (step, len(offsets)))
        count = int(breaks[0]) + 1
        if len(offsets) % count:
            return None
        rows = offsets.reshape(-1, count)
        if (np.diff(rows, axis=1) != step).any():
            return None
        dims.append((step, count))
        offsets = rows[:, 0]
    return None


def _move_grid(dst: U8, to: Walk, src: U8, frm: Walk) -> None:
    """One strided copy, in the widest word that divides the length and every offset."""
    width = _word_width(to, frm)
    np.copyto(_strided(dst, to, width), _strided(src, frm, width))


def _word_width(a: Walk, b: Walk) -> int:
    together = a.elem | a.start | b.start
    for step, _ in (*a.dims, *b.dims):
        together |= step
    return min(8, together & -together)


def _strided(buffer: U8, walk: Walk, width: int) -> npt.NDArray[Any]:
    """A walk over a buffer as an array view, outermost dimension first, the element's words last."""
    dims = (*reversed(walk.dims), (width, walk.elem // width))
    return np.ndarray(
        shape=tuple(count for _, count in dims),
        dtype=np.dtype(f"u{width}"),
        buffer=buffer,
        offset=walk.start,
        strides=tuple(step for step, _ in dims),
    )


def _move_indexed(dst: U8, dst_offsets: I64, src: U8, src_offsets: I64, length: int) -> None:
    """Copy runs of one length at any offsets, in bounded blocks."""
    windows_in = np.lib.stride_tricks.sliding_window_view(src, length)
    windows_out = np.lib.stride_tricks.sliding_window_view(dst, length, writeable=True)
    rows = max(1, _BLOCK_BYTES // length)
    for first in range(0, len(dst_offsets), rows):
        part = slice(first, first + rows)
        windows_out[dst_offsets[part]] = windows_in[src_offsets[part]]


def _move_singly(dst: U8, dst_offsets: I64, src: U8, src_offsets: I64, lengths: I64) -> None:
    for to, frm, size in zip(dst_offsets.tolist(), src_offsets.tolist(), lengths.tolist(), strict=True):
        dst[to : to + size] = src[frm : frm + size]


def cut_pairs(src_lengths: I64, dst_lengths: I64) -> tuple[I64, I64, I64, I64, I64]:
    """Two lists of runs that hold the same byte stream, cut at the union of their boundaries.

    Returns, per piece: source run, byte inside it, destination run, byte inside it, length; all (k,) int64.

    >>> [column.tolist() for column in cut_pairs(np.array([6, 2]), np.array([4, 4]))]
    [[0, 0, 1], [0, 4, 0], [0, 1, 1], [0, 0, 2], [4, 2, 2]]
    """
    src_ends, dst_ends = np.cumsum(src_lengths), np.cumsum(dst_lengths)
    ends = union(src_ends, dst_ends)
    starts = np.concatenate(([0], ends[:-1]))
    src_run = np.searchsorted(src_ends, starts, "right")
    dst_run = np.searchsorted(dst_ends, starts, "right")
    src_byte = starts - (src_ends - src_lengths)[src_run]
    dst_byte = starts - (dst_ends - dst_lengths)[dst_run]
    return src_run, src_byte, dst_run, dst_byte, ends - starts

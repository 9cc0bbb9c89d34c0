"""Fan-out: which part of a transfer each DMA channel moves (decision D23)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from dgekit.core.errors import LoweringError
from dgekit.patterns.walk import Walk

ROWS_PER_DMA = 8  # 128 partitions over 16 engines (rings 3.3)
_ENUMERATED = 1 << 16  # partition sums worked out one by one; a real SBUF has 128

ChannelPart = tuple[int, Walk, Walk]


def dma_count(partitions: int, available: int) -> int:
    """#DMA: min(available, ceil(partitions / 8)), at least 1.

    >>> dma_count(128, 16), dma_count(4, 16), dma_count(128, 3)
    (16, 1, 3)
    """
    return max(1, min(available, -(-partitions // ROWS_PER_DMA)))


def row_blocks(rows: int, parts: int) -> list[tuple[int, int]]:
    """`rows` cut into blocks of ceil(rows / parts), as (lo, hi); the last may be shorter and none is empty.

    >>> row_blocks(20, 3), row_blocks(2, 16)
    ([(0, 7), (7, 14), (14, 20)], [(0, 1), (1, 2)])
    """
    size = max(1, -(-rows // parts))
    return [(lo, min(lo + size, rows)) for lo in range(0, rows, size)]


def partitions_touched(walk: Walk, base: int, stride: int) -> int:
    """How many SBUF partitions (`stride` bytes apart, partition 0 at `base`) the walk touches.

    Exact where each step is a multiple of `stride` or stays inside its partition; otherwise, and for walks far
    larger than an SBUF, every partition between the lowest and the highest address counts.

    >>> partitions_touched(Walk(0x2000000000, ((2, 64), (0x40000, 128)), 2), 0x2000000000, 0x40000)
    128
    """
    if walk.count == 0:
        return 0
    whole = [(step // stride, count) for step, count in walk.dims if step and step % stride == 0]
    inside = Walk(walk.start, tuple(dim for dim in walk.dims if dim[0] % stride), walk.elem)
    reach = _rows(inside, base, stride)
    if len(reach) * math.prod(count for _, count in whole) > _ENUMERATED:
        return len(_rows(walk, base, stride))
    rows = set(reach)
    for step, count in whole:
        rows = {row + index * step for row in rows for index in range(count)}
    return len(rows)


def partition_dim(walk: Walk, stride: int) -> int | None:
    """The dimension that steps through partitions; of several the one of the largest count, outermost on a tie.

    >>> partition_dim(Walk(0, ((2, 64), (0x40000, 4), (0x100000, 32)), 2), 0x40000)
    2
    """
    carriers = [(count, dim) for dim, (step, count) in enumerate(walk.dims) if count > 1 and abs(step) >= stride]
    return max(carriers)[1] if carriers else None


def outermost_dim(walk: Walk) -> int | None:
    """The outermost dimension of more than one count, None where there is none.

    >>> outermost_dim(Walk(0, ((4, 8), (64, 3), (1, 1)), 4))
    1
    """
    return max((dim for dim, count in enumerate(walk.counts) if count > 1), default=None)


def split_channels(
    src: Walk,
    dst: Walk,
    src_sbuf: bool,
    dst_sbuf: bool,
    partition_stride: int,
    dmas: Sequence[int],
    *,
    src_base: int = 0,
    dst_base: int = 0,
    hbm_split: bool = False,
) -> list[ChannelPart]:
    """The part of both legs that each channel moves, as (dma, source, destination), in channel order.

    `dmas` are the available channels, in order; channel k takes rows k x ceil(P / #DMA) onward of the partition
    dimension on the SBUF side (the leg with more partitions if both are SBUF; the source on a tie). HBM to HBM and
    legs whose counts differ use one channel; with `hbm_split` HBM to HBM is cut along the outermost dimension
    that counts more than 1.
    Raises LoweringError when no channel is available.
    """
    parts = split_legs(
        (src, dst), (src_sbuf, dst_sbuf), (src_base, dst_base), partition_stride, dmas, hbm_split=hbm_split
    )
    return [(dma, part_src, part_dst) for dma, (part_src, part_dst) in parts]


def split_legs(
    walks: Sequence[Walk],
    in_sbuf: Sequence[bool],
    bases: Sequence[int],
    partition_stride: int,
    dmas: Sequence[int],
    *,
    hbm_split: bool = False,
) -> list[tuple[int, tuple[Walk, ...]]]:
    """The part of any number of legs that each channel moves, as (dma, parts), in channel order; as `split_channels`.

    Of several SBUF legs the one with the most partitions decides, the first of those on a tie.
    """
    if not dmas:
        raise LoweringError("no DMA channel is available", rule="dec.D23", fix="set mask bits in local register 40")
    dim, parts = _split_plan(walks, bases, in_sbuf, partition_stride, len(dmas))
    if hbm_split and not any(in_sbuf):
        dim, parts = outermost_dim(walks[0]), len(dmas)
    if dim is None or any(walk.counts != walks[0].counts for walk in walks) or walks[0].count == 0:
        return [(dmas[0], tuple(walks))]
    blocks = row_blocks(walks[0].dims[dim][1], parts)
    return [
        (dma, tuple(walk.slice(dim, lo, hi) for walk in walks)) for dma, (lo, hi) in zip(dmas, blocks, strict=False)
    ]


def _split_plan(
    walks: Sequence[Walk], bases: Sequence[int], in_sbuf: Sequence[bool], stride: int, available: int
) -> tuple[int | None, int]:
    """The dimension to split and into how many parts, from the SBUF leg that touches most partitions."""
    legs = [
        (partitions_touched(walk, base, stride), walk)
        for walk, base, on_chip in zip(walks, bases, in_sbuf, strict=True)
        if on_chip
    ]
    if not legs:
        return None, 1
    partitions, walk = max(legs, key=lambda leg: leg[0])
    return partition_dim(walk, stride), dma_count(partitions, available)


def _rows(walk: Walk, base: int, stride: int) -> range:
    """All partitions between the lowest and the highest byte of a walk."""
    low, high = walk.span()
    return range((low - base) // stride, (high - 1 - base) // stride + 1)

"""The tiles of a DMA transpose: what they cover, and which columns a channel takes (D10, isa-words 3.3).

Tile (x, y) starts at `src + x*src_step[0] + y*src_step[1]`, its element (r, c) lies at `+ r*row_step + c*size`; it
lands in partition `p(dst) + c`, at byte `dst + x*dst_step[0] + y*dst_step[1] + r*size`.
"""

from __future__ import annotations

from dataclasses import replace

from dgekit.firmware.values import DgeShape, ShapePair, Share, Tile
from dgekit.patterns.channels import row_blocks
from dgekit.patterns.walk import Walk


def source_footprint(shape: DgeShape, tile: Tile) -> Walk:
    """Every byte the tiles read: elements are tile rows, rows innermost, then the tiles."""
    tiles = tuple(zip(shape.step, shape.num, strict=True))
    return Walk(shape.start, ((tile.row_step, tile.rows), *tiles), tile.cols * tile.size)


def destination_footprint(shape: DgeShape, tile: Tile, partition_stride: int) -> Walk:
    """Every byte the tiles write: elements are tile columns, one a partition, columns innermost, then the tiles."""
    tiles = tuple(zip(shape.step, shape.num, strict=True))
    return Walk(shape.start, ((partition_stride, tile.cols), *tiles), tile.rows * tile.size)


def column_shares(pair: ShapePair, tile: Tile, dmas: tuple[int, ...], partition_stride: int) -> tuple[Share, ...]:
    """One share a channel: ceil(columns / #DMA) columns of every tile (D10)."""
    shares = []
    for dma, (lo, hi) in zip(dmas, row_blocks(tile.cols, len(dmas)), strict=False):
        src = replace(pair.src, start=pair.src.start + lo * tile.size)
        dst = replace(pair.dst, start=pair.dst.start + lo * partition_stride)
        shares.append(Share(dma, src, dst, replace(tile, cols=hi - lo)))
    return tuple(shares)

"""Gather-transpose: gathered rows in tiles of 16 rows, each written as columns (isa-words 3.4, 4.5; D12).

Element (lane i, column c) lies at `src + index[i]*src_step[1] + c*src_step[0]` and lands at
`dst + i*dst_step[0] + c*dst_step[1]`; the first destination step is the size of the dtype.
"""

from __future__ import annotations

import numpy as np

from dgekit.core.errors import Unspecified
from dgekit.descriptors.batch import ChannelWork, PacketKind
from dgekit.firmware.indirection import Mask, check_reach
from dgekit.firmware.values import DgeShape, ShapePair, Share
from dgekit.patterns.runs import I64, Runs
from dgekit.words.enums import TILE_COLUMNS, TILE_ROWS

LANES, COLUMNS = 1, 0  # dimensions of the source: gather_dim is Y (isa-words 4.5)


def check_counts(pair: ShapePair) -> None:
    """The columns of the gathered rows are those of the destination; nothing says what else a word would mean."""
    src, dst = pair.src.num, pair.dst.num
    indices = pair.indices
    if len(src) == len(dst) == 2 and src == dst[::-1] and indices is not None and indices.src_dim == LANES:
        return
    raise Unspecified(
        f"counts {src} and {dst} of a gather-transpose do not mirror each other",
        rule="isa.8.30",
        values={"src": src, "dst": dst},
        source="isa-words 4.5, 8.30",
        fix="give the destination the counts of the source the other way round, and gather_dim = Y",
    )


def tile_work(share: Share, pair: ShapePair, keep: Mask) -> list[ChannelWork]:
    """The tiles of one channel, those of equal form together.

    A lane that is dropped splits its tile: the kept lanes around it become smaller tiles, so that no byte of the
    dropped lane's place is written.
    """
    rows = pair.tile.rows if pair.tile else TILE_ROWS
    check_reach(share.src, pair.indices.src if pair.indices else None, LANES, keep)
    blocks = _lane_blocks(np.flatnonzero(keep), rows)
    vector = np.asarray(pair.indices.src if pair.indices else (), dtype=np.int64) & 0xFFFF_FFFF
    works = []
    for height in sorted({height for _, height in blocks}, reverse=True):
        firsts = np.asarray([first for first, h in blocks if h == height], dtype=np.int64)
        works += [_tiles(share, vector, firsts, height, lo, width) for lo, width in _column_blocks(share.src)]
    return works


def _lane_blocks(lanes: I64, rows: int) -> list[tuple[int, int]]:
    """(first lane, lanes) of every stretch of neighbouring lanes inside one tile of `rows` lanes."""
    if not len(lanes):
        return []
    opens = (np.diff(lanes) != 1) | (lanes[1:] % rows == 0)
    firsts = np.concatenate(([0], np.flatnonzero(opens) + 1, [len(lanes)]))
    return list(zip(lanes[firsts[:-1]].tolist(), np.diff(firsts).tolist(), strict=True))


def _column_blocks(src: DgeShape) -> list[tuple[int, int]]:
    """(first column, columns) of every tile across; single columns where a row is not contiguous."""
    count = src.num[COLUMNS]
    width = max(TILE_COLUMNS.values()) if src.step[COLUMNS] == src.elem_size else 1
    return [(lo, min(width, count - lo)) for lo in range(0, count, width)]


def _tiles(share: Share, vector: I64, firsts: I64, height: int, lo: int, width: int) -> ChannelWork:
    """The tiles of `height` lanes from each of `firsts` on, over `width` columns from `lo` on."""
    src, dst = share.src, share.dst
    size, dtype = src.elem_size, int(src.dtype)
    indices = vector[firsts[:, None] + np.arange(height)]
    row_starts = src.start + indices * src.step[LANES] + lo * src.step[COLUMNS]
    columns = lo + np.arange(width, dtype=np.int64)
    column_starts = dst.start + firsts[:, None] * dst.step[0] + columns * dst.step[1]
    return ChannelWork(
        share.dma,
        Runs.of(row_starts.ravel(), width * size),
        Runs.of(column_starts.ravel(), height * size),
        PacketKind.TRANSPOSE,
        dtype,
        dtype,
        dtype,
        height,
        width,
    )

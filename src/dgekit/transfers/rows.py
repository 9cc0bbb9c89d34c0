"""The geometry of indirect copies: an indexed leg of rows, a direct leg that takes one row for each index.

The outermost dimension of the indexed leg is the one an index picks; everything inside it is one row. The direct leg
visits N rows of as many elements, N the number of indices.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from dgekit.patterns.algebra import common_shape, fold_pair
from dgekit.patterns.walk import Walk
from dgekit.transfers.request import Leg, Request


@dataclass(frozen=True, slots=True)
class Piece:
    """One contiguous piece of a row: byte offset from the row's start and bytes, in the table and in the data."""

    table_at: int
    table_bytes: int
    data_at: int
    data_bytes: int


@dataclass(frozen=True, slots=True)
class RowPlan:
    """An indirect copy as pieces of rows.

    `table` and `data` are one row on either side, folded together (elements hold one contiguous piece); row i of the
    table starts `row_step` bytes after row i-1 and there are `rows`. `lanes` walks the direct leg's row starts, one
    for each index.
    """

    indexed: Leg
    direct: Leg
    table: Walk
    data: Walk
    row_step: int
    rows: int
    lanes: Walk

    def piece_count(self, most: int) -> int:
        """How many pieces `pieces` gives."""
        longest = most // max(self.indexed.dtype.size, self.direct.dtype.size)
        return self.table.count * -(-(self.table.elem // self.indexed.dtype.size) // longest)

    def pieces(self, most: int) -> Iterator[Piece]:
        """The contiguous pieces of one row, in order, none over `most` bytes on either side."""
        table_size, data_size = self.indexed.dtype.size, self.direct.dtype.size
        whole = self.table.elem // table_size
        longest = most // max(table_size, data_size)
        starts = zip(self.table.moved(0).addresses(), self.data.moved(0).addresses(), strict=True)
        for table_at, data_at in starts:
            for done in range(0, whole, longest):
                elements = min(longest, whole - done)
                yield Piece(
                    table_at + done * table_size,
                    elements * table_size,
                    data_at + done * data_size,
                    elements * data_size,
                )


def row_plan(request: Request, indices: int) -> RowPlan:
    """Both legs of a gather or scatter as rows; raises LoweringError where they do not fit each other."""
    scatter = request.transfer.op == "scatter"
    indexed, direct = (request.dst, request.src) if scatter else (request.src, request.dst)
    row, (row_step, rows) = _row_of(request, indexed)
    if direct.walk.count != indices * row.count:
        raise request.refuse(
            f"{indices} indices times rows of {row.count} elements are {indices * row.count}, but the {direct.name} "
            f"has {direct.walk.count} elements",
            "transfers.shape",
            {"indices": indices, "row": row.count, direct.name: direct.walk.count},
            f"give the {direct.name} one row for each index",
        )
    data, lanes = _cut(request, direct, row.count, indices)
    paired = common_shape(row, data)
    if paired is None:
        raise request.refuse(
            f"a row has counts {list(row.counts)} on the {indexed.name} and {list(data.counts)} on the {direct.name} "
            "(innermost first), which do not nest",
            "dec.D2",
            {indexed.name: list(row.counts), direct.name: list(data.counts)},
            "give both rows the same counts",
            "decision D2",
        )
    table, data = fold_pair(*paired)
    return RowPlan(indexed, direct, table, data, row_step, rows, lanes)


def _row_of(request: Request, leg: Leg) -> tuple[Walk, tuple[int, int]]:
    """One row of the indexed leg, and the (step, count) of its rows."""
    if not leg.walk.dims:
        raise request.refuse(f"the {leg.name} is one element; an index picks among rows", "transfers.shape", {})
    inner, outer = leg.walk.dims[:-1], leg.walk.dims[-1]
    return Walk(leg.walk.start, inner, leg.walk.elem), outer


def _cut(request: Request, leg: Leg, row: int, indices: int) -> tuple[Walk, Walk]:
    """The direct leg as one row and the walk over the rows' starts."""
    walk = leg.walk.without_unit_dims()
    inside = 1
    for dim, (_, count) in enumerate(walk.dims):
        if inside * count > row:
            if row % inside or (inside * count) % row:
                break
            if row > inside:
                walk, dim = walk.split(dim, row // inside), dim + 1
            return _parts(walk, dim)
        inside *= count
    else:
        return _parts(walk, len(walk.dims))
    raise request.refuse(
        f"counts {list(leg.walk.counts)} of the {leg.name} (innermost first) have no boundary after a row of {row}",
        "dec.D2",
        {leg.name: list(leg.walk.counts), "row": row, "indices": indices},
        "make the innermost dimensions one row",
        "decision D2",
    )


def _parts(walk: Walk, dim: int) -> tuple[Walk, Walk]:
    return Walk(walk.start, walk.dims[:dim], walk.elem), Walk(walk.start, walk.dims[dim:], walk.elem).merged()


def block_count(lanes: Walk, most: int) -> int:
    """How many stretches `lane_blocks` gives."""
    inner = lanes.dims[0][1] if lanes.dims else 1
    return lanes.count // inner * -(-inner // most)


def lane_blocks(lanes: Walk, most: int) -> Iterator[tuple[int, int, int, int]]:
    """Stretches of lanes that one step joins, as (first lane, start address, step bytes, lanes), at most `most` each.

    >>> list(lane_blocks(Walk(0, ((64, 5), (1000, 2)), 4), 3))
    [(0, 0, 64, 3), (3, 192, 64, 2), (5, 1000, 64, 3), (8, 1192, 64, 2)]
    """
    step, count = lanes.dims[0] if lanes.dims else (0, 1)
    outer = Walk(lanes.start, lanes.dims[1:], lanes.elem)
    for base, lo in itertools.product(enumerate(outer.addresses()), range(0, count, most)):
        group, start = base
        yield group * count + lo, start + lo * step, step, min(most, count - lo)

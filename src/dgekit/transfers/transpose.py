"""Two-dimensional transposes as DIRECT2D_XPOSE words, over tiles or over elements (D10, D11, isa-words 4.4)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from dgekit.core.errors import LoweringError, Unsupported
from dgekit.patterns.walk import Walk
from dgekit.transfers.overlap import check_overlap
from dgekit.transfers.pack import Side, bound_register, bound_values, finish, pseudo_word, stored_step
from dgekit.transfers.request import Request
from dgekit.transfers.shapes import MAX_COUNT
from dgekit.transfers.values import Built
from dgekit.words.enums import LINE_BYTES, TILE_COLUMNS, TILE_ROWS, DgeOpcode
from dgekit.words.structs import PseudoDmaDirect2D, PseudoDmaExt

Matrix = tuple[int, int, int, int]
Dims = tuple[tuple[int | None, int], ...]


@dataclass(frozen=True, slots=True)
class Geometry:
    """A transpose in bytes: source element (r, c) lies at `src + r*src_row + c*src_col`, destination element (c, r)
    at `dst + c*dst_row + r*dst_col`; `rows` x `cols` are the source's.
    """

    src: int
    dst: int
    rows: int
    cols: int
    src_row: int
    src_col: int
    dst_row: int
    dst_col: int
    size: int

    @property
    def tile_cols(self) -> int:
        """The most columns one tile may have; 0 for a size that has no tiles."""
        return TILE_COLUMNS.get(self.size, 0)

    def columns(self, lo: int, hi: int) -> Geometry:
        """Only the source columns lo..hi-1."""
        return Geometry(
            self.src + lo * self.src_col, self.dst + lo * self.dst_row, self.rows, hi - lo,
            self.src_row, self.src_col, self.dst_row, self.dst_col, self.size,
        )  # fmt: skip

    def column_blocks(self) -> Iterator[tuple[Geometry, int]]:
        """Blocks whose columns fill whole tiles, with the columns of each tile: the full tiles, then the rest."""
        full = self.cols // self.tile_cols * self.tile_cols
        if full:
            yield self.columns(0, full), self.tile_cols
        if full < self.cols:
            yield self.columns(full, self.cols), self.cols - full


def transpose_words(request: Request) -> Built:
    """The words of a transpose; a step counts elements of the dtype (D1), and nothing is folded (D2)."""
    geometry = transpose_geometry(request)
    check_overlap(request)
    if request.choices.text("xpose_walk") == "tiles":
        refusal = tile_refusal(request, geometry)
        if refusal is not None:
            raise refusal
        words = list(_tile_words(request, geometry))
    else:
        words = list(_element_words(request, geometry))
    bounds = (request.transfer.src_bound, request.transfer.dst_bound)
    return Built(finish(request, words), (), (), bound_values(request, bounds), request.core)


def transpose_geometry(request: Request) -> Geometry:
    """Both legs as one matrix and its transpose; raises LoweringError for shapes or types that are none."""
    src, dst = (_matrix(request, leg.name, leg.walk) for leg in (request.src, request.dst))
    src_col, cols, src_row, rows = src
    dst_col, dst_cols, dst_row, dst_rows = dst
    if (rows, cols) != (dst_cols, dst_rows):
        raise request.refuse(
            f"the source is {rows} x {cols}, so the destination must be {cols} x {rows}, not {dst_rows} x {dst_cols}",
            "transfers.shape",
            {"src": [rows, cols], "dst": [dst_rows, dst_cols]},
            "give the destination the source's counts the other way round",
        )
    if request.is_cast:
        raise request.refuse(
            f"a transpose cannot cast {request.src.dtype.name} to {request.dst.dtype.name}",
            "isa.4.4.no_cast",
            {"in_dtype": int(request.src.dtype.code), "out_dtype": int(request.dst.dtype.code)},
            "cast in a transfer of its own",
            "isa-words 4.4",
        )
    size = request.src.dtype.size
    starts = request.src.walk.start, request.dst.walk.start
    return Geometry(*starts, rows, cols, src_row, src_col, dst_row, dst_col, size)


def _matrix(request: Request, name: str, walk: Walk) -> Matrix:
    """(step, count) of the fast and of the slow dimension."""
    dims = walk.dims if len(walk.dims) == 2 else walk.without_unit_dims().dims
    if len(dims) != 2:
        raise Unsupported(
            f"the {name} of a transpose has counts {list(reversed(walk.counts))}, and two dimensions are needed",
            rule="transfers.shape",
            where=request.where,
            values={name: list(reversed(walk.counts))},
            fix="give a pattern of two dimensions, or use one transfer for each slice",
        )
    return (*dims[0], *dims[1])


# tiles (D10)


def tile_refusal(request: Request, geometry: Geometry) -> LoweringError | None:
    """Why a transpose cannot be tiles of 16 rows (isa-words 4.4), None when it can."""
    g = geometry
    stride, align = request.generation.partition_stride, LINE_BYTES
    sizes = _legal_sizes(request)
    rules = (
        (g.size in sizes, "isa.C12", "an element of", g.size, f"{sizes} bytes"),
        (g.rows % TILE_ROWS == 0, "isa.4.4.tile_rows", "source rows", g.rows, f"a multiple of {TILE_ROWS}"),
        (request.dst.in_sbuf, "isa.4.4.sbuf", "a destination in", request.dst.placed.tensor.space, "sbuf"),
        (g.dst % align == 0, "isa.4.4.dst_align", "a destination address of", g.dst, f"a multiple of {align}"),
        (g.cols == 1 or g.src_col == g.size, "dec.D10", "a source column step of", g.src_col, f"{g.size} bytes"),
        (g.dst_col == g.size, "dec.D10", "a destination column step of", g.dst_col, f"{g.size} bytes"),
        (g.cols == 1 or g.dst_row == stride, "dec.D10", "a destination row step of", g.dst_row, f"{stride} bytes"),
    )
    for holds, rule, what, found, wanted in rules:
        if not holds:
            return request.refuse(
                f"a transpose in tiles needs {what} {wanted}; it has {found}",
                rule,
                {"found": found, "wanted": wanted},
                "use mode none, or xpose_walk = elements",
                "isa-words 4.4, decision D10",
            )
    return None


def _tile_words(request: Request, geometry: Geometry) -> Iterator[tuple[PseudoDmaDirect2D, PseudoDmaExt]]:
    """A word for the full tiles and one for a rest of columns; x walks tiles down the rows, y along the columns."""
    for part, tile_cols in geometry.column_blocks():
        down, along = part.rows // TILE_ROWS, part.cols // tile_cols
        src = _used((TILE_ROWS * part.src_row, down), (tile_cols * part.src_col, along))
        dst = _used((TILE_ROWS * part.size, down), (tile_cols * part.dst_row, along))
        yield _word(request, part, src, dst, tile_cols)


def _used(*dims: tuple[int, int]) -> Dims:
    """The dimensions, without a step where a count of 1 leaves it unused."""
    return tuple((step if count > 1 else None, count) for step, count in dims)


# elements (D11)


def _element_words(request: Request, geometry: Geometry) -> Iterator[tuple[PseudoDmaDirect2D, PseudoDmaExt]]:
    """The seed's form: source (column, row) against destination (row, column), counts verbatim."""
    g = geometry
    if g.size not in _legal_sizes(request):
        raise request.refuse(
            f"a transpose word takes elements of {_legal_sizes(request)} bytes, not {g.size}",
            "isa.C12",
            {"found": g.size, "wanted": _legal_sizes(request)},
            "use mode none",
            "isa-words 4.4",
        )
    starts = itertools.product(range(0, g.rows, MAX_COUNT), range(0, g.cols, MAX_COUNT))
    for row, col in starts:
        rows, cols = min(MAX_COUNT, g.rows - row), min(MAX_COUNT, g.cols - col)
        part = Geometry(
            g.src + row * g.src_row + col * g.src_col, g.dst + col * g.dst_row + row * g.dst_col, rows, cols,
            g.src_row, g.src_col, g.dst_row, g.dst_col, g.size,
        )  # fmt: skip
        src, dst = ((g.src_col, cols), (g.src_row, rows)), ((g.dst_col, rows), (g.dst_row, cols))
        yield _word(request, part, src, dst, min(cols, g.tile_cols))


def _legal_sizes(request: Request) -> list[int]:
    """Element widths of a transpose word: two pages differ (switch xpose_dtype)."""
    return [2, 4] if request.choices.text("xpose_dtype") == "two_or_four" else [2]


def _word(
    request: Request, part: Geometry, src: Dims, dst: Dims, tile_cols: int
) -> tuple[PseudoDmaDirect2D, PseudoDmaExt]:
    transfer, types = request.transfer, (request.src.dtype, request.dst.dtype)
    sides = (
        Side(request.src, part.src, src, part.size, bound_register(request, transfer.src_bound)),
        Side(request.dst, part.dst, dst, part.size, bound_register(request, transfer.dst_bound)),
    )
    pseudo = pseudo_word(request, DgeOpcode.DMA_TRANSPOSE, *sides, types, (part.size, part.size))
    ext = PseudoDmaExt(
        tile_src_row_step=stored_step(request, "tile row step", part.src_row, part.size),
        tile_src_rows=TILE_ROWS,
        tile_src_cols=tile_cols,
    )
    return pseudo, ext

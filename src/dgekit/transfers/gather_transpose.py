"""Gather-transposes as GATHER_XPOSE words: dst[c][i] = src[index[i]][c] (isa-words 3.4, 4.5)."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from dgekit.transfers.indices import IndexVector, index_bound, index_vector
from dgekit.transfers.overlap import check_overlap
from dgekit.transfers.pack import Side, bound_register, bound_values, finish, pseudo_word
from dgekit.transfers.request import Request
from dgekit.transfers.values import Built
from dgekit.words.enums import (
    GATHER_ELEM_SIZE,
    LINE_BYTES,
    MAX_INDICES_PER_LEG,
    POOLING_NUM_CHANNELS,
    TILE_ROWS,
    DgeOpcode,
    IndirectDim,
    IndirectMode,
)
from dgekit.words.structs import BoundCheckReg, DmaIndirectFlags, PseudoDmaDirect2D, PseudoDmaExt

ELEMENT_BYTES = 2


@dataclass(frozen=True, slots=True)
class Lookup:
    """A gather-transpose in bytes: row i of the table starts at `src + i*row_step` and holds `cols` elements; column
    c of index number i goes to `dst + i*dst_col + c*dst_row`.
    """

    src: int
    dst: int
    rows: int
    row_step: int
    src_col: int
    cols: int
    indices: int
    dst_row: int
    dst_col: int
    size: int


def lookup_of(request: Request, indices: int) -> Lookup:
    """Both legs of a gather-transpose; raises LoweringError `transfers.shape` where they do not fit each other."""
    src, dst = request.src.walk, request.dst.walk
    if len(src.dims) != 2 or len(dst.dims) != 2:
        raise request.refuse(
            f"a gather-transpose takes a table of rows and columns and a destination of columns and indices, not "
            f"{len(src.dims)} and {len(dst.dims)} dimensions",
            "transfers.shape",
            {"src": list(reversed(src.counts)), "dst": list(reversed(dst.counts))},
            "give both patterns two dimensions",
        )
    (src_col, cols), (row_step, rows) = src.dims
    (dst_col, lanes), (dst_row, dst_rows) = dst.dims
    if (dst_rows, lanes) != (cols, indices):
        raise request.refuse(
            f"{indices} indices into rows of {cols} elements give {cols} x {indices}, but the destination is "
            f"{dst_rows} x {lanes}",
            "transfers.shape",
            {"wanted": [cols, indices], "dst": [dst_rows, lanes]},
            "the destination has one row for each column of the table, one column for each index",
        )
    return Lookup(src.start, dst.start, rows, row_step, src_col, cols, lanes, dst_row, dst_col, src.elem)


def gather_transpose_words(request: Request, used_registers: Collection[int]) -> Built:
    """The words of a gather-transpose: one for each 128 columns and each 4096 indices. A step counts elements of the
    dtype (D1). The word has no error flag: `skip` clears its bound's notification, which then decides (isa-words 1.8).
    """
    transfer = request.transfer
    vector = index_vector(request)
    lookup = lookup_of(request, vector.count)
    check_overlap(request)
    _check_rules(request, lookup)
    bound = index_bound(request, transfer.src_bound, lookup.rows, used_registers)
    bounds = (
        bound_register(request, bound, silent=transfer.oob == "skip"),
        bound_register(request, transfer.dst_bound),
    )
    words = list(_words(request, lookup, vector, bounds))
    registers = bound_values(request, (bound, transfer.dst_bound))
    return Built(finish(request, words), vector.issues, vector.stagings, registers, request.core)


def _check_rules(request: Request, lookup: Lookup) -> None:
    g = lookup
    rules = (
        (not request.is_cast, "isa.4.5.no_cast", "equal types", request.dst.dtype.name, request.src.dtype.name),
        (g.size == ELEMENT_BYTES, "isa.C12", "elements of", g.size, f"{ELEMENT_BYTES} bytes"),
        (not request.transfer.accumulate, "isa.3.4", "no accumulate", request.transfer.accumulate, "none"),
        (g.indices % TILE_ROWS == 0, "isa.4.5.index_multiple", "indices", g.indices, f"a multiple of {TILE_ROWS}"),
        (g.cols == 1 or g.src_col == g.size, "isa.4.5.elem_size", "a column step of", g.src_col, f"{g.size} bytes"),
        (g.dst_col == g.size, "isa.3.4", "a step between indices of", g.dst_col, f"{g.size} bytes"),
        (g.src % ELEMENT_BYTES == 0, "isa.4.5.src_align", "a source address of", g.src, "a multiple of 2"),
        (g.dst % LINE_BYTES == 0, "isa.4.5.dst_align", "a destination address of", g.dst, "a multiple of 32"),
        (
            g.cols == 1 or g.dst_row % LINE_BYTES == 0,
            "isa.4.5.step32",
            "a destination row step of",
            g.dst_row,
            "a multiple of 32 bytes",
        ),
    )
    for holds, rule, what, found, wanted in rules:
        if not holds:
            raise request.refuse(
                f"a gather-transpose needs {what} {wanted}; it has {found}",
                rule,
                {"found": found, "wanted": wanted},
                "use gather and transpose as two transfers",
                "isa-words 4.5",
            )


def _words(
    request: Request, lookup: Lookup, vector: IndexVector, bounds: tuple[BoundCheckReg, BoundCheckReg]
) -> Iterator[tuple[PseudoDmaDirect2D, PseudoDmaExt]]:
    widest = max(GATHER_ELEM_SIZE) // lookup.size
    for first in range(0, lookup.indices, MAX_INDICES_PER_LEG):
        lanes = min(MAX_INDICES_PER_LEG, lookup.indices - first)
        for column in range(0, lookup.cols, widest):
            cols = min(widest, lookup.cols - column)
            src_at = lookup.src + column * lookup.src_col
            dst_at = lookup.dst + column * lookup.dst_row + first * lookup.dst_col
            yield (
                _word(request, lookup, (src_at, dst_at), lanes, cols, bounds),
                PseudoDmaExt(
                    flags=DmaIndirectFlags(indirect_mode=IndirectMode.SRC_INDIRECTION, gather_dim=IndirectDim.Y),
                    idx_num_active_channels=POOLING_NUM_CHANNELS,
                    src_idx_start_addr=vector.address(first),
                ),
            )


def _word(
    request: Request,
    lookup: Lookup,
    starts: tuple[int, int],
    lanes: int,
    cols: int,
    bounds: tuple[BoundCheckReg, BoundCheckReg],
) -> PseudoDmaDirect2D:
    size, row_bytes = lookup.size, cols * lookup.size
    row_step = lookup.dst_row if cols > 1 else None
    src = Side(request.src, starts[0], ((size, cols), (lookup.row_step, lanes)), row_bytes, bounds[0])
    dst = Side(request.dst, starts[1], ((size, lanes), (row_step, cols)), row_bytes, bounds[1])
    types = (request.src.dtype, request.dst.dtype)
    return pseudo_word(request, DgeOpcode.DMA_GATHER_TRANSPOSE, src, dst, types, (size, size))

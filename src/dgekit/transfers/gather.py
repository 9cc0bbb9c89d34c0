"""Gathers and scatters as INDIRECT1D words (isa-words 3.2, 4.3, decisions D25, D26)."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from dgekit.core.dtypes import DtypeInfo
from dgekit.core.errors import Unsupported
from dgekit.transfers.indices import IndexVector, index_bound, index_vector
from dgekit.transfers.overlap import check_overlap
from dgekit.transfers.pack import Side, bound_register, bound_values, finish, pseudo_word
from dgekit.transfers.request import Request, copy_dtypes
from dgekit.transfers.rows import Piece, RowPlan, block_count, lane_blocks, row_plan
from dgekit.transfers.shapes import MAX_ELEM, MAX_WORDS
from dgekit.transfers.values import Built
from dgekit.transfers.work import compute_op
from dgekit.words.enums import MAX_INDICES_PER_LEG, POOLING_NUM_CHANNELS, DgeOpcode, IndirectMode
from dgekit.words.structs import BoundCheckReg, DmaIndirectFlags, PseudoDmaDirect2D, PseudoDmaExt

WordPair = tuple[PseudoDmaDirect2D, PseudoDmaExt]
Types = tuple[DtypeInfo, DtypeInfo]


def indirect_words(request: Request, used_registers: Collection[int]) -> Built:
    """The words of a gather or scatter, one for each contiguous piece of a row (at most 64 KiB), each stretch of
    evenly spaced rows and each 4096 indices. A step counts elements of the word's `elem_size` (D1).
    """
    transfer = request.transfer
    scatter = transfer.op == "scatter"
    vector = index_vector(request)
    plan = row_plan(request, vector.count)
    check_overlap(request)
    _check_direct_bound(request)
    src_type, dst_type, notes = copy_dtypes(request)
    given = transfer.dst_bound if scatter else transfer.src_bound
    bound = index_bound(request, given, plan.rows, used_registers)
    words = list(_words(request, plan, vector, (src_type, dst_type), bound_register(request, bound)))
    return Built(
        finish(request, words),
        (*notes, *vector.issues),
        vector.stagings,
        bound_values(request, (bound,)),
        request.core,
    )


def _check_direct_bound(request: Request) -> None:
    """An indirect word bounds its index vectors only (isa-words 3.2), so a bound on the direct leg has no place."""
    transfer = request.transfer
    name, bound = ("src", transfer.src_bound) if transfer.op == "scatter" else ("dst", transfer.dst_bound)
    if bound is not None:
        raise request.refuse(
            f"a {transfer.op} word bounds the index of its indexed leg only; {name}_bound has no place",
            "isa.3.2",
            {"register": bound.register},
            f"drop {name}_bound",
            "isa-words 3.2",
        )


def _words(
    request: Request, plan: RowPlan, vector: IndexVector, types: Types, bound: BoundCheckReg
) -> Iterator[WordPair]:
    pieces, blocks = plan.piece_count(MAX_ELEM), block_count(plan.lanes, MAX_INDICES_PER_LEG)
    if pieces * blocks > MAX_WORDS:
        raise Unsupported(
            f"{pieces} pieces of a row times {blocks} stretches of indices need {pieces * blocks} words, more than the "
            f"{MAX_WORDS} this tool builds for one transfer",
            rule="transfers.words",
            where=request.where,
            values={"words": pieces * blocks, "limit": MAX_WORDS},
            fix="make the rows contiguous on both legs",
        )
    for first, start, step, lanes in lane_blocks(plan.lanes, MAX_INDICES_PER_LEG):
        for piece in plan.pieces(MAX_ELEM):
            row = (start, step if lanes > 1 else None, lanes)
            yield _word(request, plan, piece, row, types, bound), _extension(request, vector, first)


def _word(
    request: Request, plan: RowPlan, piece: Piece, row: tuple[int, int | None, int], types: Types, bound: BoundCheckReg
) -> PseudoDmaDirect2D:
    start, step, lanes = row
    indexed = Side(plan.indexed, plan.table.start + piece.table_at, ((plan.row_step, lanes),), piece.table_bytes, bound)
    direct = Side(plan.direct, start + piece.data_at, ((step, lanes),), piece.data_bytes, BoundCheckReg())
    src, dst = (direct, indexed) if request.transfer.op == "scatter" else (indexed, direct)
    return pseudo_word(request, DgeOpcode.DMA_INDIRECT1D, src, dst, types, (src.elem_size, dst.elem_size))


def _extension(request: Request, vector: IndexVector, first: int) -> PseudoDmaExt:
    """Mode, error policy and index vector; the bound sizes in bytes stay 0 (D25)."""
    transfer = request.transfer
    scatter = transfer.op == "scatter"
    flags = DmaIndirectFlags(
        indirect_mode=IndirectMode.DST_INDIRECTION if scatter else IndirectMode.SRC_INDIRECTION,
        idx_bound_is_err=int(transfer.oob == "error"),
        non_unique_dst_idx=int(transfer.non_unique),
    )
    place = {"dst_idx_start_addr" if scatter else "src_idx_start_addr": vector.address(first)}
    return PseudoDmaExt(
        flags=flags,
        idx_num_active_channels=POOLING_NUM_CHANNELS,
        compute_op=compute_op(transfer),
        **place,
    )

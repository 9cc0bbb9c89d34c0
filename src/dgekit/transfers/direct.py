"""Straight copies and casts as DIRECT2D words (isa-words 3.1, 4.2)."""

from __future__ import annotations

from dgekit.core.errors import Unspecified
from dgekit.transfers.overlap import check_overlap
from dgekit.transfers.pack import Side, bound_register, bound_values, finish, pseudo_word
from dgekit.transfers.request import Request, check_same_count, copy_dtypes
from dgekit.transfers.shapes import word_pairs
from dgekit.transfers.values import Built
from dgekit.transfers.work import compute_op
from dgekit.words.enums import DgeOpcode
from dgekit.words.structs import PseudoDmaExt


def copy_words(request: Request) -> Built:
    """The words of a copy; a step counts elements of the word's `elem_size` (D1)."""
    check_same_count(request)
    check_overlap(request)
    src_type, dst_type, notes = copy_dtypes(request)
    transfer = request.transfer
    src_bound, dst_bound = (bound_register(request, b) for b in (transfer.src_bound, transfer.dst_bound))
    words = []
    for src, dst in word_pairs(request):
        sides = Side.of(request.src, src, src_bound), Side.of(request.dst, dst, dst_bound)
        unit = (src.elem, dst.elem)
        words.append(pseudo_word(request, DgeOpcode.DMA_DIRECT2D, *sides, (src_type, dst_type), unit))
    ext = _compute_extension(request)
    registers = bound_values(request, (transfer.src_bound, transfer.dst_bound))
    return Built(finish(request, ((word, ext) for word in words)), notes, (), registers, request.core)


def _compute_extension(request: Request) -> PseudoDmaExt | None:
    """What carries the op of a copy that accumulates; whether the loader reads it is a choice (isa-words 5.2)."""
    if not request.transfer.accumulate:
        return None
    if request.choices.text("kind0_compute_op") != "extension":
        raise Unspecified(
            "no source says how a plain copy word gets its compute op",
            rule="isa.5.2.compute_op",
            where=request.where,
            source="isa-words 5.2",
            fix="use kind0_compute_op = extension, or mode none",
        )
    return PseudoDmaExt(compute_op=compute_op(request.transfer))

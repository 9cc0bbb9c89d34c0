"""The result that the documented order gives, computed without steps, buffers or signals (cce 7.4, CHOICE-49, 55, 57).

Every piece of the vector is a fold: some ranks' elements in one packet, then the partial, rounded to the output type,
with the next ranks' in a packet, and so on. Which ranks in which order is all that an algorithm decides.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dgekit.cce.execute import compute
from dgekit.cce.limits import MAX_SOURCES
from dgekit.cce.packet import CcePacket
from dgekit.collectives.actor import U8
from dgekit.collectives.geometry import Span
from dgekit.collectives.request import KANGARING, RING, Setup

Fold = tuple[tuple[int, ...], ...]


def expected(setup: Setup, rows: Sequence[U8]) -> U8:
    """The bytes of the full vector that all ranks together hold in the end; `rows` are the inputs of all ranks."""
    if not setup.reduces:
        return np.concatenate(rows)
    if setup.ranks == 1:
        return rows[0].copy()
    size = setup.size
    out = np.zeros(setup.request.elements * size, np.uint8)
    geometry = setup.geometry
    for channel in range(geometry.channels):
        for part in range(geometry.parts):
            order = fold_order(setup, channel, part)
            for number in range(geometry.passes):
                span = geometry.piece(number, channel, part)
                if span.count:
                    out[span.first * size : span.end * size] = _folded(setup, order, rows, span)
    return out


def expected_row(setup: Setup, rank: int, whole: U8) -> U8:
    """What of `expected` a rank's output holds."""
    first, end = setup.held(rank, output=True)
    return whole[first * setup.size : end * setup.size]


def fold_order(setup: Setup, channel: int, part: int) -> Fold:
    """The ranks whose elements meet in each packet, in order, for one chunk.

    Ring: from the successor of `part` round to `part`. Kangaring: the same over positions, primary first. Mesh: all
    ranks ascending, at most 32 sources a packet, the partial being the first of the following ones.
    """
    if setup.algo == RING:
        return tuple(((part + 1 + hop) % setup.ranks,) for hop in range(setup.ranks))
    if setup.algo == KANGARING:
        positions = ((part + 1 + hop) % setup.positions for hop in range(setup.positions))
        return tuple(_members(setup, position, channel) for position in positions)
    ranks = tuple(range(setup.ranks))
    later = range(MAX_SOURCES, setup.ranks, MAX_SOURCES - 1)
    return (ranks[:MAX_SOURCES], *(ranks[first : first + MAX_SOURCES - 1] for first in later))


def _members(setup: Setup, position: int, channel: int) -> tuple[int, ...]:
    """The primary of a position on this channel, then its peers."""
    first = position * setup.group
    primary = first + channel % setup.group
    return (primary, *(rank for rank in range(first, first + setup.group) if rank != primary))


def _folded(setup: Setup, order: Fold, rows: Sequence[U8], span: Span) -> U8:
    size = setup.size
    partial: list[U8] = []
    for ranks in order:
        sources = partial + [rows[rank][span.first * size : span.end * size] for rank in ranks]
        # the first rank of a ring sends its elements as they are
        partial = sources if len(sources) == 1 else [_combined(setup, sources, span.count)]
    return partial[0]


def _combined(setup: Setup, sources: list[U8], elements: int) -> U8:
    request = setup.request
    packet = CcePacket(
        op=request.op,
        sources=(0,) * len(sources),
        dests=(0,),
        elements=elements,
        in_dtype=request.dtype.code,
        accum_dtype=setup.accum,
        out_dtype=request.dtype.code,
        in_fn=request.dtype.fn,
        out_fn=request.dtype.fn,
    )
    return compute(packet, sources, setup.choices, setup.generation).data

"""What an engine does with the bytes of a group of packets of one kind (rings 2.10; decisions D12, D30, D65).

`legs` are the BDs of whole packets in queue order. When no packet of the group depends on another, the group runs
as one; else the caller runs smaller groups, in order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dgekit.core.errors import DgeError
from dgekit.descriptors.batch import PacketKind
from dgekit.machine.memory import Memory
from dgekit.machine.moves import U8
from dgekit.machine.overlap import shared_between, shared_within
from dgekit.machine.packets import Window
from dgekit.numerics.add import add_bytes
from dgekit.numerics.cast import cast_bytes
from dgekit.numerics.formats import float_format
from dgekit.patterns.runs import I64


@dataclass(frozen=True, slots=True, eq=False)
class Legs:
    """The runs that the packets of a group read and write, each (n,) int64."""

    src_starts: I64
    src_lengths: I64
    dst_starts: I64
    dst_lengths: I64


def before(ends: I64, packet: int) -> int:
    """How many BDs lie before a packet, given the counts up to and with each packet."""
    return int(ends[packet - 1]) if packet else 0


def narrows_to_fp8(row: np.void) -> bool:
    """True for the side row of a cast whose result depends on the FP8 overflow policy."""
    shape = float_format(int(row["out_dtype"])) if row["kind"] == PacketKind.CAST else None
    return shape is not None and shape.saturates


def legs_of(window: Window, low: int, high: int) -> Legs:
    """The runs of packets [low, high) of a window."""
    src = slice(before(window.m2s_ends, low), before(window.m2s_ends, high))
    dst = slice(before(window.s2m_ends, low), before(window.s2m_ends, high))
    return Legs(window.src_starts[src], window.src_lengths[src], window.dst_starts[dst], window.dst_lengths[dst])


def independent(legs: Legs, kind: int) -> bool:
    """True when the packets may run in any order: nothing written is read or written by another run.

    An accumulating packet reads its own destination first; that is no dependence.
    """
    if shared_within(legs.dst_starts, legs.dst_lengths) is not None:
        return False
    starts, lengths = legs.src_starts, legs.src_lengths
    if kind == PacketKind.ADD and np.array_equal(starts[0::2], legs.dst_starts):
        starts, lengths = starts[1::2], lengths[1::2]
    return shared_between(starts, lengths, legs.dst_starts, legs.dst_lengths) is None


def arithmetic_error(row: np.void) -> DgeError | None:
    """Why the arithmetic of a packet with that side row cannot be done, or None."""
    nothing = np.zeros(0, np.uint8)
    try:
        if row["kind"] == PacketKind.CAST:
            cast_bytes(nothing, int(row["in_dtype"]), int(row["out_dtype"]))
        elif row["kind"] == PacketKind.ADD:
            add_bytes(nothing, nothing, int(row["out_dtype"]))
    except DgeError as error:
        return error
    return None


def perform(memory: Memory, legs: Legs, row: np.void, *, free_order: bool, saturate: bool = False) -> None:
    """Move and transform the bytes of packets that share one side row.

    `free_order` promises `independent(legs)`; without it all of the source is read before anything is written, which
    is right for one packet. `saturate` is the FP8 overflow policy of casts. The caller has checked the runs and the
    arithmetic.
    """
    kind = int(row["kind"])
    if kind == PacketKind.COPY and free_order:
        memory.copy_stream(legs.src_starts, legs.src_lengths, legs.dst_starts, legs.dst_lengths)
        return
    if kind == PacketKind.ADD:
        data = _sum(memory, legs, int(row["out_dtype"]))
    else:
        data = memory.gather(legs.src_starts, legs.src_lengths)
    if kind == PacketKind.CAST:
        types = int(row["in_dtype"]), int(row["out_dtype"])
        data = cast_bytes(data, *types, in_fn=bool(row["in_fn"]), out_fn=bool(row["out_fn"]), saturate=saturate)
    elif kind == PacketKind.TRANSPOSE:
        data = transposed(data, int(row["tile_rows"]), int(row["tile_cols"]), int(legs.src_lengths[0]))
    memory.scatter(legs.dst_starts, legs.dst_lengths, data)


def _sum(memory: Memory, legs: Legs, dtype: int) -> U8:
    """Destination plus source, BD by BD: even M2S BDs are the destination, odd ones what is added."""
    base = memory.gather(legs.src_starts[0::2], legs.src_lengths[0::2])
    added = memory.gather(legs.src_starts[1::2], legs.src_lengths[1::2])
    return add_bytes(base, added, dtype)


def transposed(data: U8, rows: int, cols: int, row_bytes: int) -> U8:
    """Tiles of `rows` x `cols` elements, row by row, to column by column; `row_bytes` gives the element size.

    >>> transposed(np.array([1, 2, 3, 4, 5, 6], np.uint8), 2, 3, 3).tolist()
    [1, 4, 2, 5, 3, 6]
    """
    size = row_bytes // cols
    word = size & -size if size in (2, 4, 8) else 1
    tiles = data.view(f"u{word}").reshape(-1, rows, cols, size // word)
    return np.ascontiguousarray(tiles.transpose(0, 2, 1, 3)).reshape(-1).view(np.uint8)

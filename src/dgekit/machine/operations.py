"""What an engine does with the bytes of a group of packets of one kind (rings 2.10; decisions D12, D30, D65).

`legs` are the BDs of whole packets in queue order. When no packet of the group depends on another, the group runs
as one; else the caller runs smaller groups, in order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dgekit.cce.enums import CceType, Dtype
from dgekit.cce.execute import compute_many
from dgekit.cce.packet import CcePacket
from dgekit.core.choices import Choices
from dgekit.core.errors import DgeError
from dgekit.descriptors.batch import PacketKind
from dgekit.machine.memory import Memory
from dgekit.machine.moves import U8
from dgekit.machine.overlap import shared_between, shared_within
from dgekit.machine.packets import Window
from dgekit.numerics.elements import accumulator, element
from dgekit.numerics.formats import integer_limits, is_castable, unsupported
from dgekit.patterns.runs import I64

_SOURCES = {PacketKind.CAST: 1, PacketKind.ADD: 2}
_COMPUTE = tuple(_SOURCES)


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
    kind = int(row["kind"])
    if kind not in _COMPUTE:
        return None
    try:
        for name in ("in_dtype", "out_dtype"):
            dtype = int(row[name])
            element(dtype)
            if kind == PacketKind.CAST and not is_castable(dtype):
                return unsupported(dtype, "a cast")
    except DgeError as error:
        return error
    return None


def perform(memory: Memory, legs: Legs, row: np.void, choices: Choices, *, free_order: bool) -> int:
    """Move and transform the bytes of packets that share one side row; how many elements lost bits in a conversion.

    `free_order` promises `independent(legs)`; without it all of the source is read before anything is written, which
    is right for one packet. The caller has checked the runs and the arithmetic.
    """
    kind = int(row["kind"])
    if kind == PacketKind.COPY and free_order:
        memory.copy_stream(legs.src_starts, legs.src_lengths, legs.dst_starts, legs.dst_lengths)
        return 0
    data, lossy = memory.gather(legs.src_starts, legs.src_lengths), 0
    if kind in _COMPUTE:
        data, lossy = _computed(data, legs, row, memory, choices)
    elif kind == PacketKind.TRANSPOSE:
        data = transposed(data, int(row["tile_rows"]), int(row["tile_cols"]), int(legs.src_lengths[0]))
    memory.scatter(legs.dst_starts, legs.dst_lengths, data)
    return lossy


def _computed(data: U8, legs: Legs, row: np.void, memory: Memory, choices: Choices) -> tuple[U8, int]:
    """The packets' results: an M2S BD a source, so that BD i of every packet is part of source i."""
    packet = _packet(row)
    count = len(packet.sources)
    size = element(packet.in_dtype).size
    elements = (legs.src_lengths[::count] // size).tolist()
    sources = [data] if count == 1 else _by_source(data, legs.src_lengths, count)
    result = compute_many(packet, sources, elements, choices, memory.generation)
    return result.data, result.lossy


def _packet(row: np.void) -> CcePacket:
    """A side row as a compute packet without addresses: a cast has one source, an addition [B, A] (cce.CHOICE-01)."""
    types = {int(Dtype.FP32R): int(Dtype.FP32)}  # FP32R is only no type to size packets with (cce.CHOICE-28)
    read, write = (types.get(dtype, dtype) for dtype in (int(row["in_dtype"]), int(row["out_dtype"])))
    accum = int(row["accum_dtype"]) or int(accumulator(read, write))
    count = _SOURCES[PacketKind(int(row["kind"]))]
    if count == 1:  # through fp32 (D62), but equal integers are moved
        accum = read if read == write and integer_limits(read) is not None else int(Dtype.FP32)
    in_fn, out_fn = bool(row["in_fn"]), bool(row["out_fn"])
    return CcePacket(CceType.ADD, (0,) * count, (0,), 0, read, accum, write, in_fn=in_fn, out_fn=out_fn)


def _by_source(data: U8, lengths: I64, count: int) -> list[U8]:
    """A stream of BDs, `count` a packet and all of a packet equally long, as one stream a source."""
    if (lengths == lengths[0]).all():
        table = data.reshape(-1, count, int(lengths[0]))
        return [np.ascontiguousarray(table[:, source]).reshape(-1) for source in range(count)]
    pieces = np.split(data, np.cumsum(lengths)[:-1])
    return [np.concatenate(pieces[source::count]) for source in range(count)]


def transposed(data: U8, rows: int, cols: int, row_bytes: int) -> U8:
    """Tiles of `rows` x `cols` elements, row by row, to column by column; `row_bytes` gives the element size.

    >>> transposed(np.array([1, 2, 3, 4, 5, 6], np.uint8), 2, 3, 3).tolist()
    [1, 4, 2, 5, 3, 6]
    """
    size = row_bytes // cols
    word = size & -size if size in (2, 4, 8) else 1
    tiles = data.view(f"u{word}").reshape(-1, rows, cols, size // word)
    return np.ascontiguousarray(tiles.transpose(0, 2, 1, 3)).reshape(-1).view(np.uint8)

"""What an engine does with the bytes of a group of packets of one kind (rings 2.10; decisions D12, D30, D61, D65).

`legs` are the BDs of whole packets in queue order, without those that hold operands. When no packet of the group
depends on another, the group runs as one; else the caller runs smaller groups, in order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dgekit.cce.execute import compute_many
from dgekit.cce.packet import CcePacket
from dgekit.core.choices import Choices
from dgekit.core.errors import Issue
from dgekit.core.generations import Generation
from dgekit.descriptors import bd
from dgekit.descriptors.batch import PacketKind
from dgekit.machine.arithmetic import COMPUTE, operations_of
from dgekit.machine.memory import Memory
from dgekit.machine.moves import U8
from dgekit.machine.overlap import shared_between, shared_within
from dgekit.machine.packets import Window
from dgekit.numerics.elements import element
from dgekit.numerics.stochastic import SrLanes
from dgekit.patterns.runs import I64

_SEED_WORD1 = 0x06000000
_SIDE_COLUMNS = (
    "kind", "in_dtype", "accum_dtype", "out_dtype", "tile_rows", "tile_cols", "in_fn", "out_fn", "stochastic",
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Legs:
    """The runs that the packets of a group read and write, each (n,) int64."""

    src_starts: I64
    src_lengths: I64
    dst_starts: I64
    dst_lengths: I64


@dataclass(frozen=True, slots=True)
class Effect:
    """What carrying out a group told: elements that lost bits in a conversion, and findings."""

    lossy: int = 0
    issues: tuple[Issue, ...] = ()


def before(ends: I64, packet: int) -> int:
    """How many BDs lie before a packet, given the counts up to and with each packet."""
    return int(ends[packet - 1]) if packet else 0


def legs_of(window: Window, low: int, high: int) -> Legs:
    """The runs of packets [low, high) of a window."""
    src = slice(before(window.src_ends, low), before(window.src_ends, high))
    dst = slice(before(window.s2m_ends, low), before(window.s2m_ends, high))
    return Legs(window.src_starts[src], window.src_lengths[src], window.dst_starts[dst], window.dst_lengths[dst])


def group_starts(window: Window, count: int) -> npt.NDArray[np.bool_]:
    """True where packet i of the first `count` does something else than the packet before it; False for packet 0."""
    opens = np.zeros(count, np.bool_)
    for name in _SIDE_COLUMNS:
        column = window.side[name][:count]
        opens[1:] |= column[1:] != column[:-1]
    if (window.side["kind"][:count] == PacketKind.COMPUTE).any():
        opens[1:] |= _other_operation(window, count)
    return opens


def _other_operation(window: Window, count: int) -> npt.NDArray[np.bool_]:
    """True for each packet but the first whose words differ from those of the packet before, addresses aside.

    Packets that seed the rounding are always apart: each of them sets the state anew.
    """
    firsts = np.concatenate((np.zeros(1, np.int64), window.m2s_ends[: count - 1]))
    counts = window.m2s_ends[:count] - firsts
    differs: npt.NDArray[np.bool_] = (
        (counts[1:] != counts[:-1]) | _seeds(window.m2s[firsts])[1:] | _seeds(window.m2s[firsts])[:-1]
    )
    is_data = np.zeros(len(window.m2s), np.bool_)
    is_data[window.src_rows] = True
    words = window.m2s[:, 1:].copy()
    words[is_data, 1:] = 0
    for size in np.unique(counts[1:][~differs]).tolist():
        packets = np.flatnonzero(~differs & (counts[1:] == size)) + 1
        rows = firsts[packets][:, None] + np.arange(size)
        differs[packets - 1] = (words[rows] != words[rows - size]).any(axis=(1, 2))
    return differs


def _seeds(first_bds: npt.NDArray[np.uint32]) -> npt.NDArray[np.bool_]:
    """Which packets, given by their first BDs, set the state of stochastic rounding (cce 3.7)."""
    found: npt.NDArray[np.bool_] = (first_bds[:, 1] & ~np.uint32(bd.MORE)) == _SEED_WORD1
    found &= first_bds[:, 2] == 0
    return found


def independent(legs: Legs, kind: int, packets: int) -> bool:
    """True when the packets may run in any order: nothing written is read or written by another run.

    A compute packet may read its own destination; that is no dependence.
    """
    if shared_within(legs.dst_starts, legs.dst_lengths) is not None:
        return False
    starts, lengths = legs.src_starts, legs.src_lengths
    if kind == PacketKind.COMPUTE and len(legs.dst_starts) == packets:
        table = starts.reshape(packets, -1)
        others = (table != legs.dst_starts[:, None]).any(axis=0)
        starts, lengths = table[:, others].ravel(), lengths.reshape(packets, -1)[:, others].ravel()
    return shared_between(starts, lengths, legs.dst_starts, legs.dst_lengths) is None


def perform(
    memory: Memory,
    window: Window,
    low: int,
    high: int,
    legs: Legs,
    choices: Choices,
    lanes: SrLanes | None = None,
    *,
    free_order: bool,
) -> Effect:
    """Move and transform the bytes of packets [low, high), which do the same and whose runs are `legs`.

    `free_order` promises `independent(legs)`; without it all of the source is read before anything is written, which
    is right for one packet. `lanes` is the queue's state of stochastic rounding. The caller has checked the runs and
    the arithmetic.
    """
    row = window.side[low]
    kind = int(row["kind"])
    if kind == PacketKind.COPY and free_order:
        memory.copy_stream(legs.src_starts, legs.src_lengths, legs.dst_starts, legs.dst_lengths)
        return Effect()
    data, effect = memory.gather(legs.src_starts, legs.src_lengths), Effect()
    if kind in COMPUTE:
        packet = operations_of(window, low, choices)
        data, effect = _computed(data, legs, packet, high - low, choices, memory.generation, lanes)
    elif kind == PacketKind.TRANSPOSE:
        data = transposed(data, int(row["tile_rows"]), int(row["tile_cols"]), int(legs.src_lengths[0]))
    memory.scatter(legs.dst_starts, legs.dst_lengths, data)
    return effect


def _computed(
    data: U8,
    legs: Legs,
    packet: CcePacket,
    packets: int,
    choices: Choices,
    generation: Generation,
    lanes: SrLanes | None,
) -> tuple[U8, Effect]:
    """The packets' results: run i of every packet is its part of source i, and each destination takes all of it."""
    count = len(packet.sources)
    elements = legs.src_lengths[::count] // element(packet.in_dtype).size
    sources = [data] if count == 1 else _by_source(data, legs.src_lengths, count)
    result = compute_many(packet, sources, elements.tolist(), choices, generation, lanes)
    copies = len(legs.dst_starts) // packets
    written = result.data if copies == 1 else _repeated(result.data, legs.dst_lengths[::copies], copies)
    return written, Effect(result.lossy, result.issues)


def _by_source(data: U8, lengths: I64, count: int) -> list[U8]:
    """A stream of runs, `count` a packet and all of a packet equally long, as one stream a source."""
    if (lengths == lengths[0]).all():
        table = data.reshape(-1, count, int(lengths[0]))
        return [np.ascontiguousarray(table[:, source]).reshape(-1) for source in range(count)]
    pieces = np.split(data, np.cumsum(lengths)[:-1])
    return [np.concatenate(pieces[source::count]) for source in range(count)]


def _repeated(data: U8, lengths: I64, copies: int) -> U8:
    """The result of each packet, `lengths` bytes, `copies` times in a row."""
    if (lengths == lengths[0]).all():
        return np.repeat(data.reshape(-1, 1, int(lengths[0])), copies, axis=1).reshape(-1)
    pieces = np.split(data, np.cumsum(lengths)[:-1])
    return np.concatenate([piece for piece in pieces for _ in range(copies)])


def transposed(data: U8, rows: int, cols: int, row_bytes: int) -> U8:
    """Tiles of `rows` x `cols` elements, row by row, to column by column; `row_bytes` gives the element size.

    >>> transposed(np.array([1, 2, 3, 4, 5, 6], np.uint8), 2, 3, 3).tolist()
    [1, 4, 2, 5, 3, 6]
    """
    size = row_bytes // cols
    word = size & -size if size in (2, 4, 8) else 1
    tiles = data.view(f"u{word}").reshape(-1, rows, cols, size // word)
    return np.ascontiguousarray(tiles.transpose(0, 2, 1, 3)).reshape(-1).view(np.uint8)

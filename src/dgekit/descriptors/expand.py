"""From what a channel moves to its descriptors: packets, pieces and BDs (decisions D12, D30, D32).

Compute packets of several sources are expanded by `dgekit.cce.expand`, which takes every kind of work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from dgekit.core.dtypes import Dtype, dtype_info
from dgekit.core.errors import RingError, Unspecified, Unsupported
from dgekit.core.generations import Generation
from dgekit.descriptors import bd
from dgekit.descriptors.batch import ChannelBatch, ChannelWork, DescriptorBatch, PacketKind
from dgekit.descriptors.build import bytes_read, columns, frame, packet_table
from dgekit.descriptors.cut import Caps, capped_ends, cut, ends_of, packet_ends, union
from dgekit.patterns.runs import I64, Runs

MAX_BDS = 1 << 24  # a limit of this tool, one full ring (rings 2.5)

_COMPUTE = (PacketKind.CAST, PacketKind.COMPUTE)


def expand(
    work: Iterable[ChannelWork], generation: Generation, packet_bytes: int, *, barrier_last: bool
) -> DescriptorBatch:
    """The descriptors of all channels of one transfer, one entry a channel and queue, in order of first appearance.

    Packets hold at most `packet_bytes` (never over 64 KiB) and the generation's BDs a leg. With `barrier_last` the
    first BD of each channel's last packet carries the write barrier, for the semaphore BD that follows it.
    Raises RingError when the legs do not hold the same bytes (`rings.1.8`; elements for a cast), for a piece of zero
    bytes (`rings.1.7`), Unsupported for more than MAX_BDS descriptors.
    """
    return by_channel((expanded(item, generation, packet_bytes) for item in work), barrier_last=barrier_last)


def by_channel(parts: Iterable[ChannelBatch], *, barrier_last: bool) -> DescriptorBatch:
    """Batches in order, those of one channel and queue as one; `barrier_last` as in `expand`."""
    channels: dict[tuple[int, int], list[ChannelBatch]] = {}
    for part in parts:
        channels.setdefault((part.dma, part.queue), []).append(part)
    batches = [joined(listed) for listed in channels.values()]
    if barrier_last:
        for batch in batches:
            set_barrier(batch, len(batch.packets) - 1)
    return DescriptorBatch(tuple(batches))


def set_barrier(batch: ChannelBatch, packet: int) -> None:
    """Put the write barrier on a packet, in place: bit 26 of its first BD, bit 6 of a compute word's first source."""
    row = batch.packets[packet]
    first, count = int(row["m2s_first"]), int(row["m2s_count"])
    if row["kind"] not in _COMPUTE:
        batch.m2s[first, 1] |= bd.WRITE_BARRIER
        return
    source = first + int(np.flatnonzero(bytes_read(batch.m2s[first : first + count]))[0])
    batch.m2s[source, 1] |= bd.CCE_WRITE_BARRIER


def expanded(work: ChannelWork, generation: Generation, packet_bytes: int) -> ChannelBatch:
    """The descriptors of one work; raises as `expand` does."""
    for leg, runs in (("source", work.src), ("destination", work.dst)):
        check_runs(f"DMA {work.dma}", leg, runs)
    caps = Caps(_byte_cap(packet_bytes), generation.tx_cap, generation.rx_cap)
    return _EXPANDERS[work.kind](work, generation, caps)


def _copy(work: ChannelWork, generation: Generation, caps: Caps) -> ChannelBatch:
    _same_total(work, work.src.nbytes, work.dst.nbytes, "bytes")
    check_count(len(work.src) + len(work.dst) + 2 * work.src.nbytes // caps.nbytes)
    ends = packet_ends(work.src, work.dst, caps)
    begins = _begins(ends)
    src, dst = cut(work.src, ends), cut(work.dst, ends)
    m2s, s2m = columns(src), columns(dst)
    packets = packet_table(
        work, np.searchsorted(ends_of(src), begins, "right"), len(src),
        np.searchsorted(ends_of(dst), begins, "right"), len(dst),
    )  # fmt: skip
    frame(m2s, packets, bd.COPY_WORD1)
    return ChannelBatch(work.dma, work.queue, m2s, s2m, packets)


def _cast(work: ChannelWork, generation: Generation, caps: Caps) -> ChannelBatch:
    work = _typed(work)
    in_size, out_size = _size(work.in_dtype), _size(work.out_dtype)
    src_ends, dst_ends = element_ends(work.src, in_size), element_ends(work.dst, out_size)
    _same_total(work, int(src_ends[-1]), int(dst_ends[-1]), "elements")
    elements = _element_cap(generation, caps, in_size)
    check_count(len(src_ends) + len(dst_ends) + int(src_ends[-1]) // elements)
    ends = capped_ends(union(src_ends, dst_ends), elements)
    src, dst = cut(work.src, ends * in_size), cut(work.dst, ends * out_size)
    m2s, s2m = columns(src), columns(dst)
    each = np.arange(len(ends))
    packets = packet_table(work, each, len(ends), each, len(ends))
    m2s[:, 0] |= bd.MD
    frame(m2s, packets, bd.add_word1(work.out_dtype, work.accum_dtype, last=True), concat=False)
    return ChannelBatch(work.dma, work.queue, m2s, s2m, packets)


def _transpose(work: ChannelWork, generation: Generation, caps: Caps) -> ChannelBatch:
    """One packet a tile: an M2S BD a row, an S2M BD a column; exempt from the receive cap (D12)."""
    tiles = _tiles(work, generation)
    check_count(len(work.src) + len(work.dst))
    each = np.arange(tiles)
    m2s, s2m = columns(work.src), columns(work.dst)
    packets = packet_table(work, each * work.tile_rows, len(m2s), each * work.tile_cols, len(s2m))
    taken = np.add.reduceat(work.src.lengths, packets["m2s_first"])
    filled = np.add.reduceat(work.dst.lengths, packets["s2m_first"])
    for tile in np.flatnonzero(taken != filled)[:1]:
        _same_total(work, int(taken[tile]), int(filled[tile]), f"bytes in tile {tile}")
    frame(m2s, packets, bd.TRANSPOSE_WORD1)
    return ChannelBatch(work.dma, work.queue, m2s, s2m, packets)


_EXPANDERS: dict[PacketKind, Callable[[ChannelWork, Generation, Caps], ChannelBatch]] = {
    PacketKind.COPY: _copy,
    PacketKind.CAST: _cast,
    PacketKind.TRANSPOSE: _transpose,
}


def joined(parts: list[ChannelBatch]) -> ChannelBatch:
    """Several batches of one channel as one, in order."""
    if len(parts) == 1:
        return parts[0]
    tables = []
    m2s_before = s2m_before = 0
    for part in parts:
        table = part.packets.copy()
        table["m2s_first"] += m2s_before
        table["s2m_first"] += s2m_before
        tables.append(table)
        m2s_before += len(part.m2s)
        s2m_before += len(part.s2m)
    m2s = np.concatenate([part.m2s for part in parts])
    s2m = np.concatenate([part.s2m for part in parts])
    return ChannelBatch(parts[0].dma, parts[0].queue, m2s, s2m, np.concatenate(tables))


def _begins(ends: I64) -> I64:
    return np.concatenate((np.zeros(1, dtype=np.int64), ends[:-1]))


def _byte_cap(packet_bytes: int) -> int:
    if packet_bytes < 1:
        raise RingError(
            f"a packet of {packet_bytes} bytes moves nothing", rule="dec.D32", values={"bytes": packet_bytes}
        )
    return min(packet_bytes, bd.MAX_BD_BYTES)  # D32: at most 64 KiB, whatever a priority class prefers


def _element_cap(generation: Generation, caps: Caps, size: int) -> int:
    """Elements of one compute packet (cce CHOICE-43)."""
    return max(1, min(generation.cce_elements, caps.nbytes // size))


def _typed(work: ChannelWork) -> ChannelWork:
    """The work with its accumulate type named: FP32 unless given (D62)."""
    return work if work.accum_dtype else replace(work, accum_dtype=int(Dtype.FP32))


def _size(code: int) -> int:
    size = dtype_info(code).size
    if not size or code > 0xF:  # the dtype fields of a compute word are 4 bits wide (rings 1.5)
        raise Unspecified(
            f"no source says how a compute word holds dtype {dtype_info(code).name}",
            rule="rings.1.5",
            values={"dtype": code},
        )
    return size


def element_ends(runs: Runs, size: int) -> I64:
    """Element positions after each run; every run must hold whole elements."""
    odd = np.flatnonzero(runs.lengths % size)
    if len(odd):
        length = int(runs.lengths[odd[0]])
        raise RingError(
            f"run {odd[0]} of {length} bytes holds no whole number of {size}-byte elements",
            rule="rings.1.8",
            values={"bytes": length, "element": size},
        )
    return ends_of(runs) // size


def check_runs(place: str, leg: str, runs: Runs) -> None:
    """Raise RingError `rings.1.7` for a leg without bytes, or with a run of none."""
    if not len(runs) or int(runs.lengths.min()) < 1:
        raise RingError(
            f"{place}: a {leg} of zero bytes cannot be encoded (a stored length of 0 means 65536)",
            rule="rings.1.7",
            where=place,
            values={"bytes": 0},
            source="rings 1.7",
        )


def _same_total(work: ChannelWork, taken: int, filled: int, unit: str) -> None:
    if taken != filled:
        raise RingError(
            f"DMA {work.dma}: the source holds {taken} {unit}, the destination {filled}",
            rule="rings.1.8",
            values={"dma": work.dma, "source": taken, "destination": filled},
            source="rings 1.8",
        )


def check_count(estimate: int) -> None:
    """Raise Unsupported for more descriptors than this tool builds at once."""
    if estimate > MAX_BDS:
        raise Unsupported(
            f"about {estimate} descriptors are over the {MAX_BDS} this tool builds at once",
            rule="rings.2.5",
            values={"descriptors": estimate, "limit": MAX_BDS},
            fix="cut the transfer",
        )


def _tiles(work: ChannelWork, generation: Generation) -> int:
    """Whole tiles of the work; both legs must agree and a tile's rows must fit one packet."""
    rows, cols = work.tile_rows, work.tile_cols
    if (
        rows < 1
        or cols < 1
        or len(work.src) % rows
        or len(work.dst) % cols
        or len(work.src) * cols != len(work.dst) * rows
    ):
        raise RingError(
            f"DMA {work.dma}: {len(work.src)} rows and {len(work.dst)} columns are no whole tiles of {rows} x {cols}",
            rule="rings.1.8",
            values={"rows": len(work.src), "columns": len(work.dst), "tile_rows": rows, "tile_cols": cols},
        )
    if rows > generation.tx_cap:
        raise RingError(
            f"DMA {work.dma}: {rows} tile rows are over the {generation.tx_cap} M2S BDs of a packet",
            rule="rings.2.5",
            values={"rows": rows, "limit": generation.tx_cap},
        )
    return len(work.src) // rows

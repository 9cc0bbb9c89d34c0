"""Work of every kind to descriptors: compute work is cut where a run of any leg ends or a packet is full (D61, D69).

`descriptors.expand` does the same for work that is no compute work.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import reduce

import numpy as np
import numpy.typing as npt

from dgekit.cce.build import U32, build, build_many, promoted
from dgekit.cce.dtypes import element_size
from dgekit.cce.limits import packet_elements
from dgekit.cce.packet import CcePacket
from dgekit.cce.validate import tx_count
from dgekit.cce.work import ComputeWork, Work
from dgekit.core.choices import Choices
from dgekit.core.errors import ComputeError
from dgekit.core.generations import Generation
from dgekit.descriptors.batch import PACKET_DTYPE, ChannelBatch, DescriptorBatch, PacketKind
from dgekit.descriptors.cut import capped_ends, cut, union
from dgekit.descriptors.expand import by_channel, check_count, check_runs, element_ends, expanded
from dgekit.patterns.runs import I64, Runs


def expand(
    work: Iterable[Work], generation: Generation, packet_bytes: int, choices: Choices, *, barrier_last: bool
) -> DescriptorBatch:
    """The descriptors of all channels, as `descriptors.expand.expand` gives them, with compute work among them.

    `packet_bytes` caps one source of a compute packet. Raises as that function does, and ComputeError with the reason
    why the generation does not take a packet, or for legs that do not hold the same number of elements.
    """
    parts = (
        compute_batch(item, generation, packet_bytes, choices)
        if isinstance(item, ComputeWork)
        else expanded(item, generation, packet_bytes)
        for item in work
    )
    return by_channel(parts, barrier_last=barrier_last)


def compute_batch(work: ComputeWork, generation: Generation, packet_bytes: int, choices: Choices) -> ChannelBatch:
    """The packets of one compute work: BDs as `cce.build` makes them, ring ids 0. The first carries the seed (D64)."""
    packet = work.packet
    sizes = [element_size(packet.source_dtype)] * len(work.sources) + [element_size(packet.dest_dtype)] * len(
        work.dests
    )
    legs = [*work.sources, *work.dests]
    ends = _packet_ends(work, legs, sizes, generation, packet_bytes)
    addresses = np.stack([cut(runs, ends * size).starts for runs, size in zip(legs, sizes, strict=True)], axis=1)
    counts = np.diff(ends, prepend=0)
    tx, rx = _built(packet, addresses, counts, len(work.sources), generation, choices)
    return ChannelBatch(work.dma, work.queue, tx, rx, _table(packet, counts, len(tx), len(work.dests)))


def _packet_ends(
    work: ComputeWork, legs: list[Runs], sizes: list[int], generation: Generation, packet_bytes: int
) -> I64:
    """The elements after each packet."""
    for number, runs in enumerate(legs):
        where = "source" if number < len(work.sources) else "destination"
        check_runs(f"DMA {work.dma}", where, runs)
    all_ends = [element_ends(runs, size) for runs, size in zip(legs, sizes, strict=True)]
    totals = [int(ends[-1]) for ends in all_ends]
    if len(set(totals)) > 1:
        raise ComputeError(
            f"the legs hold unequal numbers of elements: {', '.join(map(str, sorted(set(totals))))}",
            rule="cce.4.10",
            where=f"DMA {work.dma}",
            values={"elements": totals},
            source="cce 4.10",
            fix="give every source and destination the same number of elements",
        )
    most = packet_elements(generation, work.packet.source_dtype, work.packet.accum_dtype, packet_bytes)
    ends = reduce(union, all_ends)
    check_count((tx_count(work.packet) + len(work.dests)) * (len(ends) + totals[0] // most))
    return capped_ends(ends, most)


def _built(
    packet: CcePacket, addresses: I64, counts: I64, sources: int, generation: Generation, choices: Choices
) -> tuple[U32, U32]:
    """The BDs of all packets, both legs flat; packets of equal size are built together."""
    plain = replace(packet, seed=None, stochastic=packet.stochastic or packet.seed is not None)
    dests = addresses.shape[1] - sources
    tx = np.empty((len(counts), tx_count(plain), 4), np.uint32)
    rx = np.empty((len(counts), dests, 4), np.uint32)
    for count in np.unique(counts):
        same = counts == count
        one = replace(plain, elements=int(count))
        from_, to = addresses[same, :sources], addresses[same, sources:]
        tx[same], rx[same] = build_many(one, from_, to, generation, choices, ring_id=0)
    rows = tx.reshape(-1, 4)
    if packet.seed is not None:
        first = replace(
            packet,
            elements=int(counts[0]),
            sources=tuple(addresses[0, :sources].tolist()),
            dests=tuple(addresses[0, sources:].tolist()),
        )
        rows = np.concatenate((build(first, generation, choices, ring_id=0).tx, rows[tx.shape[1] :]))
    return rows, rx.reshape(-1, 4)


def _table(packet: CcePacket, counts: I64, tx: int, dests: int) -> npt.NDArray[np.void]:
    """The rows beside the packets; bytes that are moved as UINT16 say so on both sides (cce 4.4)."""
    table = np.zeros(len(counts), PACKET_DTYPE)
    seeds = int(packet.seed is not None)
    each = (tx - seeds) // len(counts)
    table["m2s_count"] = each
    table["m2s_count"][0] += seeds
    table["m2s_first"] = np.cumsum(table["m2s_count"]) - table["m2s_count"]
    table["s2m_count"] = dests
    table["s2m_first"] = np.arange(len(counts)) * dests
    table["kind"] = PacketKind.COMPUTE
    table["stochastic"] = packet.stochastic or packet.seed is not None
    even = counts % 2 == 0
    for rows, elements in ((even, 2), (~even, 1)):
        given = promoted(replace(packet, elements=elements))
        for name in ("in_dtype", "accum_dtype", "out_dtype", "in_fn", "out_fn"):
            table[name][rows] = getattr(given, name)
    return table

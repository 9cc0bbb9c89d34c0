"""Semaphore packets: 4-byte copies into the INC window that follow a channel's data (rings 6.2, decision D33)."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from dgekit.core.evt_sem import REGISTER_BYTES
from dgekit.descriptors import bd
from dgekit.descriptors.batch import ChannelBatch, ChannelWork, DescriptorBatch, PacketKind
from dgekit.descriptors.build import columns, frame, packet_table
from dgekit.descriptors.expand import joined, set_barrier
from dgekit.patterns.runs import Runs


def semaphore_packet(dma: int, value_address: int, inc_address: int, queue: int = 0) -> ChannelBatch:
    """One BD pair that copies the increment at `value_address` to the semaphore's INC window at `inc_address`.

    >>> hex(semaphore_packet(0, 0x2000037FFC, 0x2802701828).m2s[0, 0])
    '0xc000004'
    """
    src, dst = Runs.of([value_address], REGISTER_BYTES), Runs.of([inc_address], REGISTER_BYTES)
    m2s, s2m = columns(src), columns(dst)
    one = np.zeros(1, dtype=np.int64)
    packets = packet_table(ChannelWork(dma, src, dst, PacketKind.SEMAPHORE), one, 1, one, 1)
    frame(m2s, packets, bd.COPY_WORD1)
    return ChannelBatch(dma, queue, m2s, s2m, packets)


def with_semaphore(batch: DescriptorBatch, targets: Iterable[tuple[int, int, int]], queue: int = 0) -> DescriptorBatch:
    """The batch with a semaphore packet behind each channel named in `targets` = (dma, value address, INC address).

    A channel without data gets the semaphore packet alone (every engine of the set sends its update); one with data
    keeps its queue, and its last data packet carries the write barrier. Of several entries of one channel the last
    one is followed.
    """
    channels = list(batch.channels)
    last = {channel.dma: index for index, channel in enumerate(channels)}
    for dma, value_address, inc_address in targets:
        if dma in last:
            data = channels[last[dma]]
            packet = semaphore_packet(dma, value_address, inc_address, data.queue)
            channels[last[dma]] = _behind(data, packet)
        else:
            last[dma] = len(channels)
            channels.append(semaphore_packet(dma, value_address, inc_address, queue))
    return DescriptorBatch(tuple(channels))


def _behind(data: ChannelBatch, packet: ChannelBatch) -> ChannelBatch:
    whole = joined([data, packet])
    ordinary = np.flatnonzero(whole.packets["kind"] != PacketKind.SEMAPHORE)
    if len(ordinary):
        set_barrier(whole, int(ordinary[-1]))
    return whole

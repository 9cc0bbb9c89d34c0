"""What a batch holds, counted: the `descriptors` object of a run's JSON."""

from __future__ import annotations

from typing import Any

import numpy as np

from dgekit.descriptors.batch import ChannelBatch, DescriptorBatch, PacketKind
from dgekit.descriptors.build import addresses_of, bytes_read
from dgekit.patterns.runs import I64


def data_bytes(channel: ChannelBatch) -> int:
    """Bytes of the source legs: M2S bytes of all data packets; semaphore packets do not count (D30).

    A compute packet may read its destination first (`B = B op A`); that source is not counted.
    """
    lengths = bytes_read(channel.m2s)
    before = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(lengths)))
    packets = channel.packets
    firsts = packets["m2s_first"]
    sizes = before[firsts + packets["m2s_count"]] - before[firsts]
    sizes -= _read_back(channel, lengths)
    return int(sizes[packets["kind"] != PacketKind.SEMAPHORE].sum())


def _read_back(channel: ChannelBatch, lengths: I64) -> I64:
    """The bytes of each compute packet's first source that are also its destination; 0 for other packets."""
    found = np.zeros(len(channel.packets), dtype=np.int64)
    compute = np.flatnonzero(channel.packets["kind"] == PacketKind.COMPUTE)
    if len(compute):
        rows = channel.packets[compute]
        data = np.flatnonzero(lengths)
        source = data[np.searchsorted(data, rows["m2s_first"])]
        in_place = addresses_of(channel.m2s[source]) == addresses_of(channel.s2m[rows["s2m_first"]])
        found[compute] = np.where(in_place, lengths[source], 0)
    return found


def summary(batch: DescriptorBatch) -> dict[str, Any]:
    """`{"m2s", "s2m", "bytes", "per_engine"}`: BDs of both legs, data bytes of the source leg, the same by engine."""
    engines: dict[int, dict[str, int]] = {}
    for channel in batch.channels:
        row = engines.setdefault(channel.dma, {"engine": channel.dma, "m2s": 0, "s2m": 0, "bytes": 0})
        row["m2s"] += len(channel.m2s)
        row["s2m"] += len(channel.s2m)
        row["bytes"] += data_bytes(channel)
    return {
        "m2s": batch.m2s_count,
        "s2m": batch.s2m_count,
        "bytes": sum(row["bytes"] for row in engines.values()),
        "per_engine": [engines[dma] for dma in sorted(engines)],
    }

"""What a batch holds, counted: the `descriptors` object of a run's JSON."""

from __future__ import annotations

from typing import Any

import numpy as np

from dgekit.descriptors.batch import ChannelBatch, DescriptorBatch, PacketKind
from dgekit.descriptors.build import lengths_of


def data_bytes(channel: ChannelBatch) -> int:
    """Bytes of the source leg: M2S bytes of all data packets; semaphore packets do not count (D30).

    An accumulating packet reads its destination too; that second source is not counted.
    """
    before = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(lengths_of(channel.m2s))))
    packets = channel.packets
    firsts = packets["m2s_first"]
    sizes = before[firsts + packets["m2s_count"]] - before[firsts]
    sizes[packets["kind"] == PacketKind.ADD] //= 2
    return int(sizes[packets["kind"] != PacketKind.SEMAPHORE].sum())


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

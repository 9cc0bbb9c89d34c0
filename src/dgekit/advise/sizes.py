"""Data descriptors by size: how many of which size, how many are small (decision D85)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from dgekit.descriptors.batch import ChannelBatch, DescriptorBatch, PacketKind
from dgekit.descriptors.build import bytes_read, lengths_of
from dgekit.patterns.runs import I64


@dataclass(frozen=True, slots=True)
class Sizes:
    """Data descriptors of both legs: `histogram` by power of two (its lower end, in bytes), `small` below the limit.

    Semaphore writes and the operands of compute packets are no data.
    """

    m2s: int = 0
    s2m: int = 0
    small: int = 0
    histogram: Mapping[int, int] = field(default_factory=dict)

    def __add__(self, other: Sizes) -> Sizes:
        merged = Counter(self.histogram) + Counter(other.histogram)
        return Sizes(self.m2s + other.m2s, self.s2m + other.s2m, self.small + other.small, dict(sorted(merged.items())))

    @property
    def total(self) -> int:
        """Data descriptors of both legs."""
        return self.m2s + self.s2m

    def to_json(self) -> list[dict[str, int]]:
        """One entry a size, smallest first: descriptors of at least so many bytes, and less than twice as many."""
        return [{"bytes": size, "descriptors": count} for size, count in sorted(self.histogram.items())]


def sizes_of(batch: DescriptorBatch, small_bytes: int) -> Sizes:
    """The sizes of a batch; `small_bytes` is what a descriptor must have not to be small."""
    legs = [[data[data > 0] for data in _data(channel)] for channel in batch.channels]
    if not legs:
        return Sizes()
    m2s, s2m = (np.concatenate([leg[side] for leg in legs]) for side in (0, 1))
    both = np.concatenate((m2s, s2m))
    exponents = np.frexp(both)[1] - 1
    counts = np.bincount(exponents) if len(both) else np.zeros(0, np.int64)
    histogram = {1 << exponent: int(count) for exponent, count in enumerate(counts.tolist()) if count}
    return Sizes(len(m2s), len(s2m), int((both < small_bytes).sum()), histogram)


def _data(channel: ChannelBatch) -> tuple[I64, I64]:
    """The lengths of both legs' data descriptors; 0 for what is none."""
    m2s, s2m = bytes_read(channel.m2s), lengths_of(channel.s2m)
    semaphores = channel.packets[channel.packets["kind"] == PacketKind.SEMAPHORE]
    _clear(m2s, semaphores["m2s_first"], semaphores["m2s_count"])
    _clear(s2m, semaphores["s2m_first"], semaphores["s2m_count"])
    return m2s, s2m


def _clear(lengths: I64, firsts: npt.NDArray[np.int64], counts: npt.NDArray[np.int64]) -> None:
    for first, count in zip(firsts.tolist(), counts.tolist(), strict=True):
        lengths[first : first + count] = 0

"""The batch: what layer 2 hands to the rings, as numpy columns of 16-byte records for both legs.

BD words are little-endian u32 columns `[word0, word1, ptr_lo, ptr_hi]`. The ring id bits [25:24] of word0 are
zero in a batch: a ring writes them when it stores the BD. Packets pair the legs: packet i of a channel takes
`m2s[m2s_first : m2s_first + m2s_count]` and fills `s2m[s2m_first : s2m_first + s2m_count]`.
A packet's row says what its BDs leave out: what the engine does, and the element types at both ends; what a COMPUTE
packet computes is in its BDs (cce 3).
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dgekit.patterns.runs import Runs

U32 = npt.NDArray[np.uint32]


class PacketKind(enum.IntEnum):
    """What an engine does with the bytes of a packet."""

    COPY = 0
    CAST = 1
    TRANSPOSE = 2
    COMPUTE = 3
    SEMAPHORE = 4


PACKET_DTYPE = np.dtype(
    [
        ("m2s_first", np.int64),
        ("m2s_count", np.int64),
        ("s2m_first", np.int64),
        ("s2m_count", np.int64),
        ("kind", np.uint8),
        ("in_dtype", np.uint8),
        ("accum_dtype", np.uint8),
        ("out_dtype", np.uint8),
        ("tile_rows", np.int32),
        ("tile_cols", np.int32),
        ("in_fn", np.bool_),
        ("out_fn", np.bool_),
        ("stochastic", np.bool_),
    ]
)


@dataclass(frozen=True, slots=True, eq=False)
class ChannelWork:
    """What one DMA channel is to move, before it is cut into packets and BDs.

    COPY: `src` and `dst` hold the same bytes in order. CAST: `src` holds n elements of `in_dtype`, `dst` n of
    `out_dtype`; `in_fn` and `out_fn` mark E4M3 in its FN form (D54). TRANSPOSE: `src` lists tile rows (`tile_rows`
    runs a tile), `dst` tile columns (`tile_cols` runs). COMPUTE packets come from `dgekit.cce.work.ComputeWork`.
    """

    dma: int
    src: Runs
    dst: Runs
    kind: PacketKind = PacketKind.COPY
    in_dtype: int = 0
    accum_dtype: int = 0
    out_dtype: int = 0
    tile_rows: int = 0
    tile_cols: int = 0
    queue: int = 0
    in_fn: bool = False
    out_fn: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class ChannelBatch:
    """The descriptors of one DMA channel: `m2s` (N, 4) and `s2m` (M, 4) u32, `packets` (P,) of PACKET_DTYPE."""

    dma: int
    queue: int
    m2s: U32
    s2m: U32
    packets: npt.NDArray[np.void]


@dataclass(frozen=True, slots=True, eq=False)
class DescriptorBatch:
    """The descriptors of one word (or one static transfer), one entry a channel, in channel order."""

    channels: tuple[ChannelBatch, ...] = ()

    @property
    def m2s_count(self) -> int:
        """M2S BDs over all channels."""
        return sum(len(channel.m2s) for channel in self.channels)

    @property
    def s2m_count(self) -> int:
        """S2M BDs over all channels."""
        return sum(len(channel.s2m) for channel in self.channels)

    @classmethod
    def joined(cls, batches: Iterable[DescriptorBatch]) -> DescriptorBatch:
        """All channels of several batches, in order."""
        return cls(tuple(channel for batch in batches for channel in batch.channels))

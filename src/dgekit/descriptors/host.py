"""Host copies: one-BD packets of at most 64 KiB, as the kernel driver builds them (rings 1.7 to 1.9, E1 to E7)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from dgekit.core.errors import RingError
from dgekit.descriptors import bd
from dgekit.descriptors.batch import U32, ChannelBatch, ChannelWork
from dgekit.descriptors.build import columns, frame, packet_table
from dgekit.descriptors.expand import check_count
from dgekit.patterns.runs import I64, Runs

Barrier = Literal["none", "dmb", "write"]


def host_chunks(
    src: int,
    dst: int,
    nbytes: int,
    *,
    barrier: Barrier = "write",
    rx_interrupt: bool = False,
    dma: int = 0,
    queue: int = 0,
) -> ChannelBatch:
    """A contiguous copy cut greedily at 64 KiB, every chunk a packet of one BD a leg; ring ids are left 0.

    `barrier` goes on the last chunk: `write` is word1 bit 26, `dmb` word0 bit 30. `rx_interrupt` sets INT_EN on the
    last S2M BD. Raises RingError for zero bytes (`rings.1.7`), Unsupported beyond
    `expand.MAX_BDS`.

    >>> [hex(word0) for word0 in host_chunks(0x3000000, 0x5000000, 200000).m2s[:, 0]]
    ['0xc000000', '0xc000000', '0xc000000', '0xc000d40']
    """
    if nbytes < 1:
        raise RingError(
            f"a copy of {nbytes} bytes cannot be encoded (a stored length of 0 means 65536)",
            rule="rings.1.7",
            values={"bytes": nbytes},
            source="rings 1.7",
        )
    check_count(2 * (nbytes // bd.MAX_BD_BYTES))
    offsets = np.arange(0, nbytes, bd.MAX_BD_BYTES, dtype=np.int64)
    lengths = np.minimum(nbytes - offsets, bd.MAX_BD_BYTES)
    source, destination = Runs(src + offsets, lengths), Runs(dst + offsets, lengths)
    m2s, s2m = columns(source), columns(destination)
    each = np.arange(len(offsets))
    packets = packet_table(ChannelWork(dma, source, destination), each, len(each), each, len(each))
    frame(m2s, packets, bd.COPY_WORD1)
    if barrier == "write":
        m2s[-1, 1] |= bd.WRITE_BARRIER
    elif barrier == "dmb":
        m2s[-1, 0] |= bd.DMB
    if rx_interrupt:
        s2m[-1, 0] |= bd.INT_EN
    return ChannelBatch(dma, queue, m2s, s2m, packets)


def ring_slots(count: int, first_slot: int, ring_length: int, ring_id: int = 1) -> tuple[I64, U32]:
    """Slot and ring id of `count` BDs written from `first_slot` on; the id grows by 1 modulo 4 at each wrap (D28).

    >>> slots, ids = ring_slots(4, 30, 32)
    >>> slots.tolist(), ids.tolist()
    ([30, 31, 0, 1], [1, 1, 2, 2])
    """
    laps, slots = np.divmod(first_slot + np.arange(count, dtype=np.int64), ring_length)
    return slots, ((ring_id + laps) & 3).astype(np.uint32)


def stamped(bds: U32, ring_ids: U32) -> U32:
    """A copy of BDs with their ring ids written into word0 [25:24]."""
    out = bds.copy()
    out[:, 0] &= ~np.uint32(bd.RING_ID)
    out[:, 0] |= ring_ids << np.uint32(bd.RING_ID_SHIFT)
    return out


def packed(bds: U32) -> bytes:
    """The BDs as they lie in memory, 16 bytes each."""
    return bds.astype("<u4").tobytes()

"""BD columns from pieces: word0 with its packet bits, word1 by kind of packet, the 64-bit pointer."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dgekit.core.errors import RingError
from dgekit.descriptors import bd
from dgekit.descriptors.batch import PACKET_DTYPE, U32, ChannelWork
from dgekit.patterns.runs import I64, Runs

Packets = npt.NDArray[np.void]


def columns(pieces: Runs) -> U32:
    """(n, 4) BDs with length and pointer set and nothing else; raises RingError for a length no BD can hold."""
    _check_lengths(pieces)
    out: U32 = np.zeros((len(pieces), 4), dtype=np.uint32)
    out[:, 0] = pieces.lengths & bd.LENGTH
    out[:, 2] = pieces.starts & 0xFFFFFFFF
    out[:, 3] = pieces.starts >> 32
    return out


def frame(m2s: U32, packets: Packets, word1: int, *, concat: bool = True) -> None:
    """Write FIRST, LAST and word1 into M2S columns: word1 on the first BD of each packet, CONCAT on the others."""
    firsts = packets["m2s_first"]
    if concat:
        m2s[:, 0] |= bd.CONCAT
        m2s[firsts, 0] &= ~np.uint32(bd.CONCAT)
    m2s[firsts, 0] |= bd.FIRST
    m2s[firsts + packets["m2s_count"] - 1, 0] |= bd.LAST
    m2s[firsts, 1] = word1


def packet_table(work: ChannelWork, m2s_first: I64, m2s_total: int, s2m_first: I64, s2m_total: int) -> Packets:
    """The packets of one work from where each begins on either leg."""
    packets = np.zeros(len(m2s_first), dtype=PACKET_DTYPE)
    packets["m2s_first"], packets["m2s_count"] = m2s_first, np.diff(m2s_first, append=m2s_total)
    packets["s2m_first"], packets["s2m_count"] = s2m_first, np.diff(s2m_first, append=s2m_total)
    packets["kind"] = work.kind
    packets["in_dtype"], packets["accum_dtype"] = work.in_dtype, work.accum_dtype
    packets["out_dtype"] = work.out_dtype
    packets["tile_rows"], packets["tile_cols"] = work.tile_rows, work.tile_cols
    packets["in_fn"], packets["out_fn"] = work.in_fn, work.out_fn
    return packets


def lengths_of(bds: U32) -> I64:
    """The true byte counts of BDs (a stored 0 is 65536), int64.

    >>> lengths_of(np.array([[0, 0, 0, 0], [0x0D000004, 0, 0, 0]], dtype=np.uint32)).tolist()
    [65536, 4]
    """
    stored = (bds[:, 0] & bd.LENGTH).astype(np.int64)
    stored[stored == 0] = bd.MAX_BD_BYTES
    return stored


def bytes_read(m2s: U32) -> I64:
    """What each M2S BD reads, int64: a metadata BD that stores length 0 holds operands and reads nothing.

    A compute BD never moves 65536 bytes, so that a stored 0 has one meaning there (cce CHOICE-07, cce 5.1).

    >>> bytes_read(np.array([[0, 0, 0, 0], [0x05800000, 0x02100000, 0, 0]], dtype=np.uint32)).tolist()
    [65536, 0]
    """
    lengths = lengths_of(m2s)
    lengths[(m2s[:, 0] & (bd.MD | bd.LENGTH)) == bd.MD] = 0
    return lengths


def addresses_of(bds: U32) -> I64:
    """The pointers of BDs, int64."""
    return bds[:, 2].astype(np.int64) | bds[:, 3].astype(np.int64) << 32


def _check_lengths(pieces: Runs) -> None:
    if not len(pieces):
        return
    low, high = int(pieces.lengths.min()), int(pieces.lengths.max())
    if low < 1 or high > bd.MAX_BD_BYTES:
        wrong = low if low < 1 else high
        raise RingError(
            f"one BD moves 1 to {bd.MAX_BD_BYTES} bytes, not {wrong}",
            rule="rings.1.7",
            values={"bytes": wrong, "limit": bd.MAX_BD_BYTES},
            source="rings 1.7",
        )

"""The producer's side of one channel: how many of its packets fit into the rings now, and storing them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dgekit.core.errors import Issue, RingError
from dgekit.descriptors.batch import ChannelBatch
from dgekit.machine.engine import QueuePair
from dgekit.machine.ring import Packets
from dgekit.patterns.runs import I64


def packet_ends(channel: ChannelBatch) -> tuple[I64, I64]:
    """BDs of each leg up to and with each packet, (P,) int64."""
    packets = channel.packets
    return packets["m2s_first"] + packets["m2s_count"], packets["s2m_first"] + packets["s2m_count"]


def table_issue(channel: ChannelBatch, ring_size: int) -> Issue | None:
    """Why the packet table cannot be pushed: packets that leave gaps, or one that is longer than its ring."""
    packets = channel.packets
    where = f"dma {channel.dma} queue {channel.queue}"
    for leg, ends, bds in zip(("m2s", "s2m"), packet_ends(channel), (channel.m2s, channel.s2m), strict=True):
        starts = np.concatenate((np.zeros(1, np.int64), ends))
        if (starts[:-1] != packets[f"{leg}_first"]).any() or starts[-1] != len(bds):
            return Issue("rings.1.8", "error", f"the packets do not cover the {leg.upper()} BDs in order", where)
        longest = int(packets[f"{leg}_count"].max(initial=0))
        if longest > ring_size:
            return Issue(
                "rings.2.6",
                "error",
                f"a packet of {longest} {leg.upper()} BDs cannot enter a ring of {ring_size}",
                where,
                {"bds": longest, "ring_size": ring_size},
                "dec.D34",
                "set a larger ring_size",
            )
    return None


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Packets [low, high) of a channel: the range of their BDs on each leg, and side rows that count from its start."""

    low: int
    high: int
    m2s: tuple[int, int]
    s2m: tuple[int, int]
    side: Packets

    def __len__(self) -> int:
        return self.high - self.low


class Feed:
    """One channel of a batch on its way into a queue; raises RingError for a table that cannot be pushed."""

    __slots__ = ("_m2s_ends", "_next", "_s2m_ends", "channel", "pair")

    def __init__(self, channel: ChannelBatch, pair: QueuePair) -> None:
        issue = table_issue(channel, min(pair.m2s.length, pair.s2m.length))
        if issue is not None:
            raise RingError(issue.message, rule=issue.rule, where=issue.where, values=issue.values, fix=issue.fix)
        self.channel = channel
        self.pair = pair
        self._m2s_ends, self._s2m_ends = packet_ends(channel)
        self._next = 0

    @property
    def left(self) -> int:
        """Packets that have not been taken yet."""
        return len(self.channel.packets) - self._next

    def take(self, multiple: int = 1) -> Part:
        """The next packets that fit into the free slots of both rings (perhaps none).

        Each leg then has a whole `multiple` of BDs.
        """
        low = self._next
        m2s_first, s2m_first = _first(self._m2s_ends, low), _first(self._s2m_ends, low)
        high = min(
            int(np.searchsorted(self._m2s_ends, m2s_first + self.pair.m2s.free, "right")),
            int(np.searchsorted(self._s2m_ends, s2m_first + self.pair.s2m.free, "right")),
        )
        if multiple > 1:
            whole = ((self._m2s_ends - m2s_first) % multiple == 0) & ((self._s2m_ends - s2m_first) % multiple == 0)
            high = low + int(np.flatnonzero(whole[low:high]).max(initial=-1)) + 1
        side = self.channel.packets[low:high].copy()
        side["m2s_first"] -= m2s_first
        side["s2m_first"] -= s2m_first
        self._next = high
        return Part(
            low, high, (m2s_first, _first(self._m2s_ends, high)), (s2m_first, _first(self._s2m_ends, high)), side
        )


def _first(ends: I64, packet: int) -> int:
    """The first BD of a packet (one past the last BD for the packet after the last)."""
    return int(ends[packet - 1]) if packet else 0

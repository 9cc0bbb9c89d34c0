"""Completion: rings of entries where hardware writes them, and the host's accounting where it does not.

The driver uses no completion ring (rings 2.11); a raw queue may be given one. Sources: rings 1.12, 2.6, 2.11, 6.3.
"""

from __future__ import annotations

from dgekit.core.errors import RingError
from dgekit.descriptors.completion import CompletionEntry, CompletionStatus
from dgekit.descriptors.doorbell import Leg
from dgekit.machine.ring import FIRST_RING_ID, RING_IDS, check_geometry, pointer_word

HOST_GUARD = 16  # BDs the host keeps free when a ring wraps (rings 2.5)


class CompletionRing:
    """The entries of one unit, as long as its descriptor ring; the engine writes, software polls.

    One entry a packet on M2S, one a BD on S2M (MODEL: the pages do not say); entries are 16 bytes, little endian.

    >>> ring = CompletionRing("M2S", 0x2040000000, 32)
    >>> ring.complete(1); ring.entry(0).hex(" ", 4), ring.poll(), hex(ring.head_word)
    ('0000000d 00000000 00000000 00000000', True, '0x40000001')
    """

    __slots__ = ("_entries", "base", "consumed", "length", "unit", "written")

    def __init__(self, unit: Leg, base: int, length: int) -> None:
        check_geometry(base, length)
        self.unit = unit
        self.base = base
        self.length = length
        self._entries: dict[int, bytes] = {}
        self.reset()

    def reset(self) -> None:
        """Forget all entries; the head is back at ring id 1, offset 0."""
        self._entries.clear()
        self.written = self.consumed = 0

    @property
    def head_word(self) -> int:
        """The completion head register (TCRHP, RCRHP)."""
        return pointer_word(self.written, self.length)

    def complete(self, bds: int) -> None:
        """Write the entries of one packet of `bds` BDs; raises RingError when the consumer is a whole ring behind."""
        entries = 1 if self.unit == "M2S" else bds
        if self.written + entries - self.consumed > self.length:
            raise RingError(
                f"{entries} completion entries do not fit: {self.written - self.consumed} of {self.length} are unread",
                rule="rings.2.11",
                values={"entries": entries, "unread": self.written - self.consumed, "length": self.length},
                fix="acknowledge completed entries",
            )
        for index in range(entries):
            self._write(first=index == 0, last=index == entries - 1)

    def _write(self, *, first: bool, last: bool) -> None:
        status = CompletionStatus(ring_id=self._ring_id(self.written), first=int(first), last=int(last))
        self._entries[self.written % self.length] = CompletionEntry(word0=status).encode()
        self.written += 1

    def _ring_id(self, position: int) -> int:
        return (FIRST_RING_ID + position // self.length) % RING_IDS

    def entry(self, slot: int) -> bytes:
        """The 16 bytes of a slot; zeros where nothing was written."""
        return self._entries.get(slot, bytes(CompletionEntry.layout.size))

    def poll(self) -> bool:
        """Ring-id polling (rings 6.3): does byte 3 & 3 of the next entry equal the expected ring id?"""
        return self.entry(self.consumed % self.length)[3] & 3 == self._ring_id(self.consumed)

    def acknowledge(self, count: int) -> None:
        """Consume `count` entries; raises RingError for more than were written."""
        if not 0 <= count <= self.written - self.consumed:
            raise RingError(
                f"acknowledging {count} completions of {self.written - self.consumed}",
                rule="rings.2.11",
                values={"count": count, "unread": self.written - self.consumed},
            )
        self.consumed += count


class HostAccounting:
    """How the host counts the slots of a ring without completions: what it queued, and what it acknowledged (2.6).

    >>> host = HostAccounting(64)
    >>> host.free, host.take(40), host.free, host.acknowledge(40), host.free
    (48, 0, 8, None, 48)
    """

    __slots__ = ("completed", "length", "queued")

    def __init__(self, length: int) -> None:
        self.length = length
        self.queued = 0
        self.completed = 0

    @property
    def free(self) -> int:
        """BDs that may be queued: (next_completed - next_free - 16) modulo the length, 0 in the guard."""
        return max(0, self.length - HOST_GUARD - (self.queued - self.completed))

    def take(self, count: int) -> int:
        """Claim `count` slots and return the first; raises RingError when fewer are free."""
        if not 0 <= count <= self.free:
            raise RingError(
                f"{count} BDs do not fit: {self.free} of {self.length} are free, {HOST_GUARD} stay so",
                rule="rings.2.6",
                values={"count": count, "free": self.free, "guard": HOST_GUARD},
                fix="acknowledge completed BDs, or use a longer ring",
            )
        first = self.queued % self.length
        self.queued += count
        return first

    def acknowledge(self, count: int) -> None:
        """Give `count` completed BDs back; raises RingError for more than are queued."""
        if not 0 <= count <= self.queued - self.completed:
            raise RingError(
                f"acknowledging {count} BDs of {self.queued - self.completed} queued",
                rule="rings.2.6",
                values={"count": count, "queued": self.queued - self.completed},
            )
        self.completed += count


def host_ring_length(requested: int) -> int:
    """BDs the host allocates for a wrapping ring: 64 below 32, else the next power of two of requested + 16.

    Raises RingError below 1 or where the result is over the largest ring (rings 2.5).

    >>> [host_ring_length(n) for n in (1, 31, 32, 48, 49, 100, 4096)]
    [64, 64, 64, 64, 128, 128, 8192]
    """
    length = 64 if requested < 32 else 1 << (requested + HOST_GUARD - 1).bit_length()
    if requested < 1:
        raise RingError(f"a ring of {requested} BDs is no ring", rule="rings.2.5", values={"requested": requested})
    check_geometry(0, length)
    return length

"""One descriptor ring: storage, the producer's slot and the hardware pointers (rings 2.5 to 2.7, decision D28).

Pointers are kept as BD counts since reset; the register form `(ring_id, offset)` follows from them, because the
ring id starts at 1 and goes up by 1 modulo 4 whenever the offset wraps.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dgekit.core.errors import RingError
from dgekit.descriptors import bd
from dgekit.descriptors.batch import PACKET_DTYPE, U32
from dgekit.descriptors.doorbell import Leg

MIN_LENGTH = 32
MAX_LENGTH = (1 << 24) - 16
LENGTH_MULTIPLE = 16
BASE_ALIGN = 256
FIRST_RING_ID = 1
RING_IDS = 4
NO_KIND = 0xFF  # side row of a BD that starts no packet, or came without side columns

Packets = npt.NDArray[np.void]


def pointer_word(position: int, length: int) -> int:
    """The pointer register after `position` BDs of a ring of `length`: ring id [31:30], offset [23:0].

    >>> hex(pointer_word(0, 32)), hex(pointer_word(32, 32)), hex(pointer_word(8, 32))
    ('0x40000000', '0x80000000', '0x40000008')
    """
    passes, offset = divmod(position, length)
    return (FIRST_RING_ID + passes) % RING_IDS << 30 | offset


def check_geometry(base: int, length: int) -> None:
    """Raise RingError for a ring that no queue can be given (rings 2.5)."""
    values = {"base": hex(base), "length": length}
    if not MIN_LENGTH <= length <= MAX_LENGTH:
        problem = f"a ring holds {MIN_LENGTH} to {MAX_LENGTH} BDs, not {length}"
    elif length % LENGTH_MULTIPLE:
        problem = f"a ring of {length} BDs is no multiple of {LENGTH_MULTIPLE}"
    elif base % BASE_ALIGN or base < 0:
        problem = f"ring base {base:#x} is not {BASE_ALIGN}-byte aligned"
    else:
        return
    raise RingError(problem, rule="rings.2.5", values=values, source="rings 2.5")


class Ring:
    """The ring of one unit (`M2S` or `S2M`) of one queue, `length` BDs at SoC address `base`.

    `produced` counts BDs stored, `tail` those announced by doorbells, `head` those fetched and `current` those
    retired; current <= head <= tail <= produced <= current + length. `storage`, (length, 4) u32, is where the BDs
    lie when the ring is part of simulated memory. Raises RingError for an illegal geometry.

    >>> ring = Ring("M2S", 0x2040000000, 32)
    >>> ring.store(np.zeros((3, 4), np.uint32)); ring.doorbell(3)
    >>> ring.used, ring.free, hex(ring.tail_word)
    (3, 29, '0x40000003')
    """

    __slots__ = ("_bds", "_side", "base", "current", "head", "length", "produced", "tail", "unit")

    def __init__(self, unit: Leg, base: int, length: int, storage: U32 | None = None) -> None:
        check_geometry(base, length)
        self.unit = unit
        self.base = base
        self.length = length
        self._bds: U32 = np.zeros((length, 4), np.uint32) if storage is None else storage
        self._side: Packets | None = None
        self.reset()

    def reset(self) -> None:
        """Reset every pointer to ring id 1, offset 0 (`q_sw_ctrl.rst_q`); the stored BDs stay."""
        self.produced = self.tail = self.head = self.current = 0

    @property
    def head_word(self) -> int:
        """The head register (TDRHP, RDRHP): next BD to fetch."""
        return pointer_word(self.head, self.length)

    @property
    def tail_word(self) -> int:
        """The tail register (TDRTP, RDRTP): next free slot."""
        return pointer_word(self.tail, self.length)

    @property
    def current_word(self) -> int:
        """The current register (TDCP, RDCP): oldest BD that is not retired."""
        return pointer_word(self.current, self.length)

    @property
    def used(self) -> int:
        """BDs announced and not fetched: the `q_used` field."""
        return self.tail - self.head

    @property
    def empty(self) -> bool:
        """Head and tail are equal, ring id included."""
        return self.head == self.tail

    @property
    def full(self) -> bool:
        """Head and tail have equal offsets and different ring ids."""
        return self.used == self.length

    @property
    def free(self) -> int:
        """Slots the producer may still fill."""
        return self.length - (self.produced - self.current)

    def ring_ids(self, first: int, count: int) -> U32:
        """The ring id of `count` slots from BD number `first` on."""
        numbers = np.arange(first, first + count, dtype=np.int64)
        ids: U32 = ((FIRST_RING_ID + numbers // self.length) % RING_IDS).astype(np.uint32)
        return ids

    def store(self, bds: U32, side: Packets | None = None, *, keep_ring_id: bool = False) -> None:
        """Write BDs, (n, 4) u32, into the next slots, with the ring id of each slot in word0 [25:24].

        `side` holds one row of PACKET_DTYPE for every packet (M2S only; `m2s_first` counts from the first BD given).
        `keep_ring_id` stores word0 as it is, as a faulty producer would. Raises RingError when the slots are taken.
        """
        if len(bds) > self.free:
            raise RingError(
                f"{len(bds)} BDs do not fit into the {self.free} free slots of a {self.unit} ring of {self.length}",
                rule="rings.2.6",
                values={"bds": len(bds), "free": self.free, "length": self.length},
                fix="drain the queue first, or give it a longer ring (ring_size)",
            )
        done = 0
        while done < len(bds):
            slot = (self.produced + done) % self.length
            part = min(len(bds) - done, self.length - slot)
            here = self._bds[slot : slot + part]
            here[:] = bds[done : done + part]
            if not keep_ring_id:
                here[:, 0] &= ~np.uint32(bd.RING_ID)
                here[:, 0] |= self.ring_ids(self.produced + done, 1) << bd.RING_ID_SHIFT
            done += part
        self.note_side(len(bds), side)
        self.produced += len(bds)

    def withdraw(self) -> None:
        """Forget the BDs that were stored and never announced; their slots are free again."""
        self.produced = self.tail

    def note_side(self, count: int, side: Packets | None) -> None:
        """Lay side rows beside the next `count` slots (rows as in `store`), for BDs that somebody else writes there."""
        if self._side is None:
            if side is None:
                return
            self._side = np.zeros(self.length, PACKET_DTYPE)
            self._side["kind"] = NO_KIND
        slots = (self.produced + np.arange(count)) % self.length
        self._side["kind"][slots] = NO_KIND
        if side is not None:
            self._side[(self.produced + side["m2s_first"]) % self.length] = side

    def side(self, numbers: npt.NDArray[np.int64]) -> Packets:
        """The side rows of packets that start at the given BD numbers (kind NO_KIND where there is none)."""
        if self._side is None:
            rows = np.zeros(len(numbers), PACKET_DTYPE)
            rows["kind"] = NO_KIND
            return rows
        return self._side[numbers % self.length]

    def doorbell(self, count: int) -> None:
        """Announce `count` new BDs: the tail-increment register. Raises RingError for a count that cannot be."""
        room = self.length - self.used
        if not 1 <= count <= room:
            raise RingError(
                f"a doorbell of {count} on a {self.unit} ring of {self.length} BDs that holds {self.used}",
                rule="rings.2.7",
                values={"count": count, "length": self.length, "used": self.used},
                source="rings 2.7",
                fix=f"ring it with 1 to {room}" if room else "wait until the engine has fetched",
            )
        self.tail += count
        self.produced = max(self.produced, self.tail)

    def pending(self, limit: int | None = None) -> U32:
        """The announced BDs that are not fetched yet, oldest first, (n, 4); at most `limit`."""
        count = self.used if limit is None else min(limit, self.used)
        slot = self.head % self.length
        if slot + count <= self.length:
            return self._bds[slot : slot + count]
        return np.concatenate((self._bds[slot:], self._bds[: slot + count - self.length]))

    def fetch(self, count: int) -> None:
        """Move the head over `count` BDs; raises RingError past the tail."""
        if not 0 <= count <= self.used:
            raise RingError(
                f"fetching {count} BDs passes the tail of a {self.unit} ring that holds {self.used}",
                rule="rings.2.8",
                values={"count": count, "used": self.used},
            )
        self.head += count

    def retire(self, count: int) -> None:
        """Free the slots of the `count` oldest fetched BDs; raises RingError for BDs that were not fetched."""
        if not 0 <= count <= self.head - self.current:
            raise RingError(
                f"retiring {count} BDs of a {self.unit} ring that has fetched {self.head - self.current}",
                rule="rings.2.6",
                values={"count": count, "fetched": self.head - self.current},
            )
        self.current += count

    def status_word(self) -> int:
        """The status register: q_used [24:0], q_full [31] (rings 2.2)."""
        return self.used | int(self.full) << 31

    def dump(self) -> bytes:
        """The ring as it lies in memory: `length` BDs of 16 bytes, little endian."""
        return self._bds.astype("<u4").tobytes()

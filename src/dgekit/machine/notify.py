"""Notification queues: rings of 16-byte records that the host drains by phase (rings 6.4, pipeline 6.5)."""

from __future__ import annotations

import enum

from dgekit.core.errors import InputError, RingError
from dgekit.descriptors.notification import RECORD_BYTES, Header

HEADER_BYTE = 3  # record type, overflow bits and phase share this byte in every record
FIRST_PHASE = 1  # the phase of the first pass is not published (rings 6.4, MODEL)


class Overflow(enum.Enum):
    """What a full ring does with the next record: hold it up, or overwrite the oldest and mark it."""

    BACKPRESSURE = "backpressure"
    OVERWRITE = "overwrite"


class NotificationQueue:
    """One queue: `size` bytes of records at `base`. The device pushes and moves `tail`; software drains, moves `head`.

    A disabled queue drops records, counts them and raises its interrupt. Raises RingError unless `size` is a power
    of two that holds at least two records.

    >>> queue = NotificationQueue(0x400000000000, 64)
    >>> queue.push(bytes.fromhex("2301100effff08005544332211000000"))
    True
    >>> queue.drain()[0].hex(" ")
    '23 01 10 8e ff ff 08 00 55 44 33 22 11 00 00 00'
    """

    __slots__ = (
        "_memory", "_read", "_written", "base", "dropped", "enabled", "interrupt", "overflow", "overwritten", "size",
    )  # fmt: skip

    def __init__(self, base: int, size: int, overflow: Overflow = Overflow.BACKPRESSURE) -> None:
        if size < 2 * RECORD_BYTES or size & (size - 1):
            raise RingError(
                f"a notification queue of {size} bytes is no power of two of two records or more",
                rule="rings.6.4",
                values={"size": size, "record": RECORD_BYTES},
                source="rings 6.4",
            )
        self.base = base
        self.size = size
        self.overflow = overflow
        self.enabled = True
        self.interrupt = False
        self.dropped = 0
        self.overwritten = 0
        self._memory = bytearray(size)
        self._written = 0
        self._read = 0

    @property
    def records(self) -> int:
        """Records the ring holds at most."""
        return self.size // RECORD_BYTES

    @property
    def head(self) -> int:
        """The head register: byte offset of the next record software reads."""
        return self._read * RECORD_BYTES % self.size

    @property
    def tail(self) -> int:
        """The tail register: byte offset of the next record the device writes."""
        return self._written * RECORD_BYTES % self.size

    @property
    def full(self) -> bool:
        """True when every slot holds an unread record."""
        return self._written - self._read == self.records

    def push(self, record: bytes) -> bool:
        """Write one record with the phase of this pass; False when it was dropped or is held up by a full ring."""
        if len(record) != RECORD_BYTES:
            raise InputError(
                f"a record has {RECORD_BYTES} bytes, not {len(record)}",
                rule="rings.6.4",
                values={"bytes": len(record)},
            )
        if not self.enabled:
            self.dropped += 1
            self.interrupt = True
            return False
        lost = self.full
        if lost and self.overflow is Overflow.BACKPRESSURE:
            return False
        if lost:
            self._read += 1
            self.overwritten += 1
        self._store(record, overflow=lost)
        return True

    def _store(self, record: bytes, *, overflow: bool) -> None:
        header = Header.decode(record[HEADER_BYTE : HEADER_BYTE + 1])
        marked = header.replace(
            phase=self._phase(self._written),
            software_queue_overflow=int(overflow or bool(header.software_queue_overflow)),
        )
        stored = record[:HEADER_BYTE] + marked.encode() + record[HEADER_BYTE + 1 :]
        self._memory[self.tail : self.tail + RECORD_BYTES] = stored
        self._written += 1

    def _phase(self, position: int) -> int:
        return FIRST_PHASE ^ (position // self.records & 1)

    def pop(self) -> bytes | None:
        """The record at the head when its phase is the expected one, else None; moves the head."""
        record = bytes(self._memory[self.head : self.head + RECORD_BYTES])
        if record[HEADER_BYTE] >> 7 != self._phase(self._read) or self._read == self._written:
            return None
        self._read += 1
        return record

    def drain(self) -> list[bytes]:
        """All records that software can read, oldest first."""
        return list(iter(self.pop, None))

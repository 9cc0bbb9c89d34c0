"""The device log ring as a binary dump: control block, records of severity byte and C string, wrap (pipeline 1.5, 7.1).

The firmware writes `[severity u8][C string][NUL]`, with further NULs where it likes; `head` is where it writes next.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dgekit.core.errors import InputError
from dgekit.descriptors.notification import (
    DEBUG_HINT_DGE,
    RECORD_BYTES,
    DgeCompletion,
    ErrorRecord,
    NotificType,
    decode_record,
)
from dgekit.layout.fields import u32, u32s, u64
from dgekit.layout.struct import Struct
from dgekit.logs.parse import ParsedLine, parse_line
from dgekit.logs.source import MAX_LINE

UNCLAIMED = 0x6099CB34  # written over the magic when the core is destroyed
SIZE_MULTIPLE = 0x20
LEVELS = {1: "error", 4: "debug"}  # the levels between are not named by any source


class ControlBlock(Struct, name="CORE_CONTROL_BLOCK", size=0x48, source="pipeline 1.5"):
    """The host state of one core, as far as the log needs it."""

    magic = u32(0, "claim magic; 0x6099cb34 once the core is destroyed", base=16)
    log_size = u32(4, "log ring size in bytes, a multiple of 0x20", base=16)
    log_address = u64(8, "device address of the log ring", base=16)
    log_head = u32(0x10, "where the device writes next", base=16)
    max_log_level = u32(0x14, "the highest severity number that is logged")
    priority_bytes = u32s(4, 0x18, "preferred bytes per packet of classes 1 to 4")
    mailboxes = u32s(4, 0x28, "priority and DMA mask of each mailbox", base=16)
    pc_low = u64(0x38, "lowest program counter", base=16)
    pc_high = u64(0x40, "highest program counter", base=16)


@dataclass(frozen=True, slots=True)
class Ring:
    """The bytes of a log ring, where the device writes next, and where in the dump the ring begins."""

    data: bytes
    head: int
    at: int
    block: ControlBlock | None = None

    @property
    def wrapped(self) -> bool:
        """True when something lies past the head: the device has been round at least once."""
        return any(self.data[self.head :])


@dataclass(frozen=True, slots=True)
class RingRecord:
    """One record: its place in the ring, its severity byte (0 where there is none) and its text, parsed."""

    offset: int
    severity: int
    parsed: ParsedLine

    def to_json(self) -> dict[str, Any]:
        """The object of `dge log ring`: that of `dge log parse`, with the place and the severity."""
        return {
            "offset": self.offset,
            "severity": self.severity or None,
            "level": LEVELS.get(self.severity),
            **self.parsed.to_json(),
        }


def open_ring(data: bytes, *, head: int | None = None, size: int | None = None, at: int | None = None) -> Ring:
    """The ring in a dump: behind its control block, or all of the dump where `head` and `size` are given (D97).

    `at` is the offset of the ring in the dump. Raises InputError when the numbers do not fit the dump.
    """
    block = None
    if head is None or size is None:
        if len(data) < ControlBlock.layout.size:
            raise InputError(
                f"a dump of {len(data)} bytes holds no control block of {ControlBlock.layout.size}",
                rule="logs.ring",
                values={"bytes": len(data), "control_block": ControlBlock.layout.size},
                fix="give --head and --size if the dump is the ring alone",
            )
        block = ControlBlock.decode(data[: ControlBlock.layout.size])
        head = int(block.log_head) if head is None else head
        size = int(block.log_size) if size is None else size
    place = at if at is not None else 0 if block is None else ControlBlock.layout.size
    _check(data, head, size, place, block, guessed=at is None)
    return Ring(data[place : place + size], head, place, block)


def _check(data: bytes, head: int, size: int, place: int, block: ControlBlock | None, *, guessed: bool) -> None:
    numbers = {"head": head, "size": size, "at": place, "bytes": len(data)}
    if size <= 0 or (block is not None and size % SIZE_MULTIPLE):
        raise InputError(
            f"{size:#x} is no size of a log ring", rule="logs.ring", values=numbers,
            source="pipeline 1.5", fix="the dump does not start with a control block: give --head and --size",
        )  # fmt: skip
    if not 0 <= head <= size:
        raise InputError(
            f"head {head:#x} is beyond the ring of {size:#x} bytes", rule="logs.ring", values=numbers,
            source="pipeline 7.1", fix="the ring or the control block is damaged",
        )  # fmt: skip
    if place < 0 or place + size > len(data):
        raise InputError(
            f"a ring of {size:#x} bytes at {place:#x} does not fit the dump of {len(data):#x}",
            rule="logs.ring", values=numbers, fix="give --head and --size, or --at OFFSET",
        )  # fmt: skip
    if block is not None and guessed and place + size != len(data):
        raise InputError(
            f"the dump goes on {len(data) - place - size:#x} bytes behind a ring at {place:#x}: where is the ring?",
            rule="logs.ring", values=numbers, fix="give --at OFFSET",
        )  # fmt: skip


def ring_records(ring: Ring) -> Iterator[RingRecord]:
    """The records of a ring, the oldest first; of a wrapped one the first behind a NUL past the head (D97)."""
    first = ring.head if ring.wrapped else 0
    data = (ring.data[first:] if ring.wrapped else b"") + ring.data[: ring.head]
    place = data.find(b"\0") + 1 if ring.wrapped else 0
    number = 0
    while place < len(data):
        end = data.find(b"\0", place)
        ended, end = end >= 0, end if end >= 0 else len(data)
        if end > place:
            number += 1
            yield _record(data[place:end], (first + place) % len(ring.data), number, ended)
        place = end + 1


def _record(data: bytes, offset: int, number: int, ended: bool) -> RingRecord:
    """One record; `ended` is False for one without its NUL, which the device was still writing."""
    severity = data[0] if data[0] < ord(" ") else 0
    body = data[1:] if severity else data
    text = body[:MAX_LINE].removesuffix(b"\n").decode("utf-8", "backslashreplace")
    return RingRecord(offset, severity, parse_line(text, number, ended=ended and len(body) <= MAX_LINE))


@dataclass(frozen=True, slots=True)
class Notification:
    """One 16-byte record of a notification queue: what it is, and its fields; `record` is None for other types."""

    offset: int
    data: bytes
    kind: str
    record: ErrorRecord | DgeCompletion | None

    def to_json(self) -> dict[str, Any]:
        """The object of `dge log ring --records`."""
        fields = self.record.to_json() if self.record is not None else {}
        return {"offset": self.offset, "kind": self.kind, "fields": fields, "hex": self.data.hex()}


def notifications(data: bytes) -> Iterator[Notification]:
    """The records of a queue dump: errors (0x03, 0x1f), DGE completions (0x0e with hint 1), others by their bytes.

    Empty slots are left out. Raises InputError for a length that is no multiple of 16.
    """
    if len(data) % RECORD_BYTES:
        raise InputError(
            f"{len(data)} bytes are no whole number of {RECORD_BYTES}-byte records",
            rule="logs.records",
            values={"bytes": len(data), "record": RECORD_BYTES},
        )
    for offset in range(0, len(data), RECORD_BYTES):
        raw = data[offset : offset + RECORD_BYTES]
        if any(raw):
            yield _notification(offset, raw)


def _notification(offset: int, raw: bytes) -> Notification:
    record = decode_record(raw)
    if isinstance(record, ErrorRecord):
        return Notification(offset, raw, "error", record)
    if record.head.notific_type == NotificType.POOL_EXPLICIT and record.head.debug_hint == DEBUG_HINT_DGE:
        return Notification(offset, raw, "completion", record)
    return Notification(offset, raw, "other", None)

"""The 16-byte completion entry (rings 1.12)."""

from __future__ import annotations

from dgekit.layout.fields import reserved, sub, u32, uint
from dgekit.layout.struct import Struct


class CompletionStatus(Struct, name="COMPLETION_STATUS", size=4, source="rings 1.12", tag="H/O"):
    """word0 of a completion entry; byte 3 & 3 is the ring id that a poller compares."""

    reserved_23_0 = reserved(24, 0, "not decoded", "L/I")
    ring_id = uint(2, 0, "2-bit generation of the completion ring pass", bit=24)
    first = uint(1, 0, "first BD of the packet", "H/D", bit=26)
    last = uint(1, 0, "last BD of the packet", "H/D", bit=27)
    reserved_28 = reserved(1, 0, "unknown", "L/I", bit=28)
    reserved_29 = reserved(1, 0, "unknown", "L/I", bit=29)
    buf1_used = uint(1, 0, "RX buffer 1 was used", bit=30)
    error = uint(1, 0, "transfer ended in error", bit=31)


class SecondBuffer(Struct, name="COMPLETION_BUFFER_2", size=4, source="rings 1.12", tag="H/O"):
    """word2 of a completion entry."""

    reserved_15_0 = reserved(16, 0, "unknown", "L/I")
    buf2_len = uint(14, 0, "buffer-2 length, when comp_cfg.buf2_len_location is 1", bit=16, unit="bytes")
    reserved_30 = reserved(1, 0, "unknown", "L/I", bit=30)
    buf2_used = uint(1, 0, "buffer 2 was used", bit=31)


class CompletionEntry(Struct, name="COMPLETION_ENTRY", size=16, source="rings 1.12", tag="H/D"):
    """What an engine writes to a completion ring for one BD.

    >>> CompletionEntry(word0=CompletionStatus(ring_id=1, first=1, last=1)).encode()[:4].hex()
    '0000000d'
    """

    word0 = sub(0, CompletionStatus, "packet bits, ring id, error")
    word1 = u32(4, "not decoded; one page sketches the received length", "M/I", base=16)
    word2 = sub(8, SecondBuffer, "second buffer")
    word3 = u32(12, "metadata, not decoded", "-", base=16)

"""Lines out of a byte stream of any size: chunk by chunk, gzip included, in bounded memory (D99).

What is no UTF-8 is shown as `\\xNN`. A line over the limit is handed on in its first 64 KiB, marked `ended = False`.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from dgekit.core.errors import InputError

MAX_LINE = 1 << 16
CHUNK = 1 << 16
GZIP_MAGIC = b"\x1f\x8b"
_GZIP_WINDOW = 31  # zlib: a gzip header, the largest window
# A log packs well, a bomb better: past this size, more than this many bytes for each packed one are refused.
FREE_BYTES = 1 << 28
MAX_RATIO = 200


class ByteStream(Protocol):
    """What lines are read from: `read1` hands out what is there without waiting for more."""

    def read1(self, size: int, /) -> bytes:
        """Up to `size` bytes; empty at the end."""
        ...


@dataclass(frozen=True, slots=True)
class RawLine:
    """One line without its line feed; `ended` is False for a last line that has none, and for one over the limit."""

    number: int
    text: str
    ended: bool = True


def batches(stream: ByteStream) -> Iterator[list[RawLine]]:
    """The lines of a stream, as many at a time as one read yields, so that a live pipe is answered at once.

    Raises InputError for a broken gzip stream, and for one that unpacks beyond measure.
    """
    pending, number, skipping = b"", 0, False
    for chunk in _chunks(stream):
        found: list[RawLine] = []
        *whole, pending = (pending + chunk).split(b"\n")
        for line in whole:
            if skipping:
                skipping = False
                continue
            number += 1
            found.append(_raw(number, line))
        if skipping:
            pending = b""
        elif len(pending) > MAX_LINE:
            number += 1
            found.append(_raw(number, pending))
            pending, skipping = b"", True
        yield found
    if pending:
        yield [RawLine(number + 1, _text(pending), False)]


def _raw(number: int, line: bytes) -> RawLine:
    if len(line) > MAX_LINE:
        return RawLine(number, _text(line[:MAX_LINE]), False)
    return RawLine(number, _text(line))


def _text(line: bytes) -> str:
    return line.removesuffix(b"\r").decode("utf-8", "backslashreplace")


def _chunks(stream: ByteStream) -> Iterator[bytes]:
    """The bytes of a stream, unpacked if they begin like gzip."""
    start = stream.read1(CHUNK)
    while 0 < len(start) < len(GZIP_MAGIC) and GZIP_MAGIC.startswith(start):
        more = stream.read1(CHUNK)
        if not more:
            break
        start += more
    if start.startswith(GZIP_MAGIC):
        yield from _unpacked(start, stream)
        return
    while start:
        yield start
        start = stream.read1(CHUNK)


def _unpacked(start: bytes, stream: ByteStream) -> Iterator[bytes]:
    """One gzip member after the other; zero padding behind the last one is nothing."""
    packed = unpacked = 0
    unpacker: zlib._Decompress | None = None  # None between two members
    data = start
    while data:
        packed += len(data)
        while data or unpacker is not None:
            if unpacker is None:
                unpacker = zlib.decompressobj(_GZIP_WINDOW)
            try:
                piece = unpacker.decompress(data, CHUNK)
            except zlib.error as problem:
                raise InputError(f"broken gzip data: {problem}", rule="logs.gzip") from None
            unpacked += len(piece)
            _check_ratio(packed, unpacked)
            if piece:
                yield piece
            if unpacker.eof:
                data, unpacker = unpacker.unused_data.lstrip(b"\0"), None
                continue
            data = unpacker.unconsumed_tail
            if not data and len(piece) < CHUNK:
                break
        data = stream.read1(CHUNK)
    if unpacker is not None:
        raise InputError("the gzip data ends too early", rule="logs.gzip", values={"packed": packed})


def _check_ratio(packed: int, unpacked: int) -> None:
    if unpacked > FREE_BYTES and unpacked > packed * MAX_RATIO:
        raise InputError(
            f"{packed} bytes of gzip unpack to more than {unpacked}: refused",
            rule="logs.gzip_ratio",
            values={"packed": packed, "unpacked": unpacked, "max_ratio": MAX_RATIO},
            source="D99",
            fix="unpack the file first",
        )

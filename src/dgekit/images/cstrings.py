"""The C strings of an image: runs of printable bytes that a NUL ends, and where they are (pipeline 8.2)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from dgekit.core.errors import InputError
from dgekit.images.limits import MAX_STRING, MAX_STRINGS

Bytes = bytes | memoryview
# no NUL in the pattern: one pass without going back, whatever the bytes are
_PRINTABLE = rb"[\x20-\x7e\t\n\r]"
_RUN = re.compile(_PRINTABLE + b"+")


@dataclass(frozen=True, slots=True)
class CString:
    """One string: the offset of its first byte in the image, and its text without the NUL."""

    offset: int
    text: str

    @property
    def line(self) -> str:
        """The text without its line feed."""
        return self.text.removesuffix("\n")

    @property
    def shown(self) -> str:
        """The text with its control characters written out, safe on a terminal."""
        return self.text.encode("unicode_escape").decode("ascii")


def c_strings(data: Bytes, where: str, minimum: int = 1) -> Iterator[CString]:
    r"""Every string of at least `minimum` characters, in order; raises InputError for one beyond the limit.

    >>> [s.text for s in c_strings(b"\1ab\0\0cd\n\0ef", "x")]
    ['ab', 'cd\n']
    """
    count = 0
    for found in re.finditer(_PRINTABLE + b"{%d,}" % minimum, data):
        start, end = found.span()
        if end - start > MAX_STRING:
            raise InputError(
                f"a string of {end - start} characters at 0x{start:x}",
                rule="images.string",
                where=where,
                values={"characters": end - start, "limit": MAX_STRING},
            )
        if end < len(data) and data[end] == 0:
            count += 1
            if count > MAX_STRINGS:
                raise InputError(f"more than {MAX_STRINGS} strings", rule="images.strings", where=where)
            yield CString(start, found[0].decode("ascii"))


def string_at(data: Bytes, offset: int) -> CString | None:
    """The string whose first byte is at an offset; None if no NUL-ended text of at most the limit starts there."""
    found = _RUN.match(data, offset, offset + MAX_STRING)
    if found is None or found.end() >= len(data) or data[found.end()] != 0:
        return None
    return CString(offset, found[0].decode("ascii"))


def count_lines(data: bytes, pattern: bytes) -> int:
    r"""Lines (pieces between line feeds, NULs or not) that hold the pattern: how the published counts were made.

    >>> count_lines(b"a\0ab\nb\na\n", b"a")
    2
    """
    lines = 0
    place = data.find(pattern)
    while place >= 0:
        lines += 1
        end = data.find(b"\n", place + len(pattern))
        place = -1 if end < 0 else data.find(pattern, end)
    return lines

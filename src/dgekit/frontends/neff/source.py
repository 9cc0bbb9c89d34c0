"""Bytes that are read in places and in pieces: from memory, or from a file that is never read whole.

Everything that looks into a NEFF reads through a `Source`, so that a large file costs no memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from dgekit.core.errors import InputError

PIECE = 1 << 20

# What is being read, bytes done, bytes in all: called now and then by whatever reads long.
Progress = Callable[[str, int, int], None]


class Source(Protocol):
    """A row of bytes of known length."""

    def __len__(self) -> int:
        """Bytes in all."""
        ...

    def chunks(self, offset: int, size: int) -> Iterator[bytes]:
        """These bytes in pieces of at most `PIECE`; fewer where the source ends before."""
        ...

    def read(self, offset: int, size: int) -> bytes:
        """These bytes at once; fewer where the source ends before."""
        ...


@dataclass(frozen=True, slots=True)
class BytesSource:
    """Bytes in memory."""

    data: memoryview

    @classmethod
    def of(cls, data: bytes | bytearray | memoryview) -> BytesSource:
        """A source of these bytes; they are not copied."""
        return cls(memoryview(data).toreadonly())

    def after(self, offset: int) -> BytesSource:
        """The rest from `offset` on."""
        return BytesSource(self.data[offset:])

    def __len__(self) -> int:
        return len(self.data)

    def chunks(self, offset: int, size: int) -> Iterator[bytes]:
        """These bytes in pieces."""
        end = min(len(self.data), offset + size)
        for at in range(offset, end, PIECE):
            yield bytes(self.data[at : min(end, at + PIECE)])

    def read(self, offset: int, size: int) -> bytes:
        """These bytes at once."""
        return bytes(self.data[offset : offset + size])


@dataclass(frozen=True, slots=True)
class FileSource:
    """Part of a file, `size` bytes from `start` on; the file is open only while something reads."""

    path: Path
    start: int
    size: int

    def after(self, offset: int) -> FileSource:
        """The rest from `offset` on."""
        return FileSource(self.path, self.start + offset, max(0, self.size - offset))

    def __len__(self) -> int:
        return self.size

    def chunks(self, offset: int, size: int) -> Iterator[bytes]:
        """These bytes in pieces."""
        left = min(size, self.size - offset)
        with self.path.open("rb") as file:
            file.seek(self.start + offset)
            while left > 0 and (piece := file.read(min(PIECE, left))):
                left -= len(piece)
                yield piece

    def read(self, offset: int, size: int) -> bytes:
        """These bytes at once."""
        return b"".join(self.chunks(offset, size))


def open_source(path: Path, where: str, most: int) -> FileSource | BytesSource:
    """A whole file of at most `most` bytes; what cannot be read twice (a pipe) is held. Raises InputError."""
    try:
        with path.open("rb") as file:
            if file.seekable():
                source: FileSource | BytesSource = FileSource(path, 0, file.seek(0, 2))
            else:
                source = BytesSource.of(file.read(most + 1))
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise InputError(f"cannot read {path}: {reason}", rule="input.file", where=where) from None
    if len(source) > most:
        raise InputError(
            f"{len(source)} bytes are more than the limit of {most}",
            rule="neff.limit",
            where=where,
            values={"size": len(source), "limit": most},
        )
    return source


def source_of(data: bytes | Source) -> Source:
    """Bytes as a source; a source as it is."""
    return BytesSource.of(data) if isinstance(data, bytes) else data

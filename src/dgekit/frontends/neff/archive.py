"""The payload of a NEFF: a tar archive, usually gzip-compressed, read within stated limits (D89).

A small archive is unpacked in memory. A large one is not kept: its gzip stream is read again, from a state remembered
every few megabytes, for each member that is asked for.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dgekit.core.errors import InputError
from dgekit.core.generations import GIB, MIB
from dgekit.frontends.neff.header import GZIP_MAGIC
from dgekit.frontends.neff.source import PIECE, BytesSource, Progress, Source, source_of
from dgekit.frontends.neff.tar import MAX_MEMBERS, Extent, index_tar

_GZIP_WINDOW = 31
_FEED = 1 << 16
KEPT = 32 * MIB  # an unpacked archive up to this size stays in memory
SPACING = 8 * MIB  # unpacked bytes between two remembered states


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a NEFF may unpack to: bytes in all, bytes for each stored byte, members.

    The ratio counts only above `ratio_floor` bytes: a small archive is mostly padding.
    """

    unpacked: int = 2 * GIB
    ratio: int = 200
    ratio_floor: int = MIB
    members: int = MAX_MEMBERS


DEFAULT_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class Archive(Mapping[str, bytes]):
    """Members by name, in archive order; a member's bytes are read when asked for.

    `order` are the names of all entries, those of folders with a `/` at the end.
    """

    data: Source
    extents: Mapping[str, Extent]
    compressed: bool = False
    order: Sequence[str] = ()

    def __getitem__(self, name: str) -> bytes:
        extent = self.extents[name]
        return self.data.read(extent.offset, extent.size)

    def __contains__(self, name: object) -> bool:  # the inherited one would read the member
        return name in self.extents

    def __iter__(self) -> Iterator[str]:
        return iter(self.extents)

    def __len__(self) -> int:
        return len(self.extents)

    def size(self, name: str) -> int:
        """Bytes of a member."""
        return self.extents[name].size

    def chunks(self, name: str) -> Iterator[bytes]:
        """A member's bytes in pieces."""
        extent = self.extents[name]
        return self.data.chunks(extent.offset, extent.size)


def read_archive(
    payload: bytes | Source, where: str, limits: Limits = DEFAULT_LIMITS, progress: Progress | None = None
) -> Archive:
    """The archive in a NEFF's payload; gzip is told by its magic. Raises InputError naming member, rule and limit."""
    stored = source_of(payload)
    compressed = stored.read(0, 2) == GZIP_MAGIC
    unpacked = _unpack(stored, where, limits, progress) if compressed else stored
    if not len(unpacked):
        raise InputError("there is no archive after the header", rule="neff.truncated", where=where)
    if len(unpacked) > limits.unpacked:
        raise _too_large(len(unpacked), limits.unpacked, where)
    order: list[str] = []
    extents = index_tar(unpacked, where, limits.members, order)
    return Archive(unpacked, extents, compressed, tuple(order))


@dataclass(slots=True)
class _Inflater:
    """Unpacks gzip streams that follow one another, piece by piece; output is bounded at every step."""

    stored: Source
    where: str
    position: int = 0  # of the next stored byte to be read
    engine: zlib._Decompress = field(default_factory=lambda: zlib.decompressobj(_GZIP_WINDOW))
    pending: bytes = b""

    def copy(self) -> _Inflater:
        """The same state once more."""
        return _Inflater(self.stored, self.where, self.position, self.engine.copy(), self.pending)

    def next_piece(self) -> bytes:
        """The next unpacked bytes, empty at the end; raises InputError for a damaged stream or one cut short."""
        while True:
            if self.engine.eof and not self._next_stream():
                return b""
            piece = self._step()
            if piece:
                return piece

    def _step(self) -> bytes:
        if not self.pending:
            self.pending = self.stored.read(self.position, _FEED)
            self.position += len(self.pending)
        exhausted = not self.pending
        try:
            piece = self.engine.decompress(self.pending, PIECE)
        except zlib.error as problem:
            raise InputError(f"the gzip stream is damaged: {problem}", rule="neff.gzip", where=self.where) from None
        self.pending = self.engine.unconsumed_tail
        if exhausted and not piece and not self.engine.eof:
            raise InputError(
                "the gzip stream is cut short",
                rule="neff.truncated",
                where=self.where,
                values={"bytes": len(self.stored)},
            )
        return piece

    def _next_stream(self) -> bool:
        """Begin the stream that follows the one that ended; False at the end. Only zeros may follow the last one."""
        start = self.position - len(self.engine.unused_data)
        if self.stored.read(start, 2) == GZIP_MAGIC:
            self.position, self.pending = start, b""
            self.engine = zlib.decompressobj(_GZIP_WINDOW)
            return True
        rest = len(self.stored) - start
        if any(piece.strip(b"\0") for piece in self.stored.chunks(start, rest)):
            raise InputError(
                f"{rest} bytes follow the gzip stream", rule="neff.gzip", where=self.where, values={"bytes": rest}
            )
        return False


@dataclass(frozen=True, slots=True)
class _State:
    """An inflater that has just unpacked the byte before `offset`."""

    offset: int
    inflater: _Inflater


@dataclass(slots=True)
class _Cursor:
    """An inflater on its way: `piece` are the unpacked bytes from `start` on."""

    inflater: _Inflater
    start: int
    piece: bytes = b""

    @property
    def end(self) -> int:
        return self.start + len(self.piece)

    def advance(self) -> bool:
        self.start = self.end
        self.piece = self.inflater.next_piece()
        return bool(self.piece)


@dataclass(slots=True)
class GzipSource:
    """The unpacked bytes of gzip streams, read again from the nearest remembered state (reading on is cheap)."""

    size: int
    states: list[_State]
    _cursor: _Cursor | None = None

    def __len__(self) -> int:
        return self.size

    def chunks(self, offset: int, size: int) -> Iterator[bytes]:
        """These bytes in pieces."""
        end = min(self.size, offset + size)
        cursor = self._at(offset)
        while offset < end:
            part = cursor.piece[max(0, offset - cursor.start) : end - cursor.start]
            if part:
                offset += len(part)
                yield part
            elif not cursor.advance():
                break
        self._cursor = cursor

    def read(self, offset: int, size: int) -> bytes:
        """These bytes at once."""
        return b"".join(self.chunks(offset, size))

    def _at(self, offset: int) -> _Cursor:
        """A cursor at or before `offset`; whoever holds it has it alone."""
        nearest = next(state for state in reversed(self.states) if state.offset <= offset)
        cursor, self._cursor = self._cursor, None
        if cursor is not None and cursor.start <= offset and cursor.end >= nearest.offset:
            return cursor
        return _Cursor(nearest.inflater.copy(), nearest.offset)


def _unpack(stored: Source, where: str, limits: Limits, progress: Progress | None) -> Source:
    """The unpacked bytes; everything is unpacked once, so that limits and checksums hold before anything is read."""
    allowed = min(limits.unpacked, max(limits.ratio_floor, limits.ratio * len(stored)))
    inflater = _Inflater(stored, where)
    states = [_State(0, inflater.copy())]
    kept: bytearray | None = bytearray()
    size = 0
    while piece := inflater.next_piece():
        size += len(piece)
        if size > allowed:
            raise _too_large(size, allowed, where)
        if kept is not None:
            kept += piece
            kept = kept if len(kept) <= KEPT else None
        if size >= states[-1].offset + SPACING and not inflater.engine.eof:
            states.append(_State(size, inflater.copy()))
        if progress is not None:
            progress("unpacking", inflater.position, len(stored))
    return BytesSource.of(kept) if kept is not None else GzipSource(size, states)


def _too_large(size: int, limit: int, where: str) -> InputError:
    return InputError(
        f"the archive unpacks to more than {limit} bytes",
        rule="neff.limit",
        where=where,
        values={"size": size, "limit": limit},
        source="dec.D89",
    )

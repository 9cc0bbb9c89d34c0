"""The payload of a NEFF: a tar archive, usually gzip-compressed, unpacked in memory within stated limits (D89)."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dgekit.core.errors import InputError
from dgekit.core.generations import GIB, MIB
from dgekit.frontends.neff.header import GZIP_MAGIC
from dgekit.frontends.neff.tar import MAX_MEMBERS, Extent, index_tar

_GZIP_WINDOW = 31
_CHUNK = 1 << 20
_FEED = 1 << 16


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
    """Members by name, in archive order; a member's bytes are copied out when asked for."""

    data: memoryview
    extents: Mapping[str, Extent]
    compressed: bool = False

    def __getitem__(self, name: str) -> bytes:
        extent = self.extents[name]
        return bytes(self.data[extent.offset : extent.offset + extent.size])

    def __iter__(self) -> Iterator[str]:
        return iter(self.extents)

    def __len__(self) -> int:
        return len(self.extents)

    def size(self, name: str) -> int:
        """Bytes of a member."""
        return self.extents[name].size


def read_archive(payload: bytes, where: str, limits: Limits = DEFAULT_LIMITS) -> Archive:
    """The archive in a NEFF's payload; gzip is told by its magic. Raises InputError naming member, rule and limit."""
    compressed = payload[:2] == GZIP_MAGIC
    unpacked = memoryview(_gunzip(payload, where, limits) if compressed else payload).toreadonly()
    if not unpacked:
        raise InputError("there is no archive after the header", rule="neff.truncated", where=where)
    if len(unpacked) > limits.unpacked:
        raise _too_large(len(unpacked), limits.unpacked, where)
    return Archive(unpacked, index_tar(unpacked, where, limits.members), compressed)


def _gunzip(payload: bytes, where: str, limits: Limits) -> bytearray:
    allowed = min(limits.unpacked, max(limits.ratio_floor, limits.ratio * len(payload)))
    found = bytearray()
    rest = memoryview(payload)
    while rest[:2] == GZIP_MAGIC:  # a gzip file may hold several streams
        rest = _unpack_stream(rest, found, allowed, where)
    if bytes(rest).strip(b"\0"):
        raise InputError(
            f"{len(rest)} bytes follow the gzip stream", rule="neff.gzip", where=where, values={"bytes": len(rest)}
        )
    return found


def _unpack_stream(stored: memoryview, found: bytearray, allowed: int, where: str) -> memoryview:
    """Append one stream's bytes to `found`; what follows it. Output is bounded at every step."""
    engine = zlib.decompressobj(_GZIP_WINDOW)
    position = 0
    pending: bytes = b""
    while not engine.eof:
        if not pending:
            pending = bytes(stored[position : position + _FEED])
            position += len(pending)
        exhausted = not pending
        try:
            piece = engine.decompress(pending, _CHUNK)
        except zlib.error as problem:
            raise InputError(f"the gzip stream is damaged: {problem}", rule="neff.gzip", where=where) from None
        if exhausted and not piece and not engine.eof:
            raise InputError(
                "the gzip stream is cut short", rule="neff.truncated", where=where, values={"bytes": len(stored)}
            )
        found += piece
        pending = engine.unconsumed_tail
        if len(found) > allowed:
            raise _too_large(len(found), allowed, where)
    return stored[position - len(engine.unused_data) :]


def _too_large(size: int, limit: int, where: str) -> InputError:
    return InputError(
        f"the archive unpacks to more than {limit} bytes",
        rule="neff.limit",
        where=where,
        values={"size": size, "limit": limit},
        source="dec.D89",
    )

"""The images inside a shared object (decision D99): by symbols, else by published offsets, else by a scan.

Published offsets hold only for the published file. The scan knows where images start, by the control magic and the two
boot jumps, not where they end: an image found so reaches to the next one or to the end of its section.
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_right
from dataclasses import dataclass

from dgekit.core.errors import InputError
from dgekit.images.boot import DRAM_HEAD, HEAD_BYTES, sniff_segment
from dgekit.images.elf import Elf, Symbol
from dgekit.images.limits import MAX_BYTES, limited_members
from dgekit.images.names import image_name, read_label
from dgekit.images.published import IMAGES, SHARED_OBJECT

# every published offset in the shared object is a multiple of 32
_ALIGNMENT = 32
_FIRST_BYTES = re.compile(b"[" + re.escape(DRAM_HEAD[:1]) + b"\x06]")


@dataclass(frozen=True, slots=True)
class Part:
    """One image in the file: its name, how it was found, its first byte and the byte after its last."""

    name: str
    origin: str
    start: int
    end: int


def find_images(file: Elf, data: bytes) -> tuple[Part, ...]:
    """The images of a shared object in file order, by the first way that finds any; raises InputError."""
    found = _by_symbols(file) or _by_published_offsets(data) or _by_scan(file, data)
    limited_members(len(found), file.where)
    total = sum(part.end - part.start for part in found)
    if total > MAX_BYTES:
        raise InputError(
            f"its symbols ask for {total} bytes of images",
            rule="images.total",
            where=file.where,
            values={"bytes": total, "limit": MAX_BYTES},
        )
    return tuple(sorted(found, key=lambda part: (part.start, part.name)))


def _by_symbols(file: Elf) -> list[Part]:
    symbols: dict[str, Symbol] = {}
    for symbol in file.data_symbols():
        name = image_name(symbol.name)
        if read_label(name).segment and (name not in symbols or symbol.size > symbols[name].size):
            symbols[name] = symbol
            limited_members(len(symbols), file.where)
    starts = sorted({symbol.offset for symbol in symbols.values()})
    return [_symbol_part(name, symbol, starts) for name, symbol in symbols.items()]


def _symbol_part(name: str, symbol: Symbol, starts: list[int]) -> Part:
    """A symbol without a size reaches to the next image of its section."""
    if symbol.size:
        return Part(name, symbol.name, symbol.offset, symbol.offset + symbol.size)
    later = bisect_right(starts, symbol.offset)
    end = min(starts[later], symbol.section.end) if later < len(starts) else symbol.section.end
    return Part(name, symbol.name, symbol.offset, end)


def _by_published_offsets(data: bytes) -> list[Part]:
    if len(data) != SHARED_OBJECT.size or not SHARED_OBJECT.is_file(len(data), hashlib.sha256(data).hexdigest()):
        return []
    return [
        Part(row.name, f"published offset 0x{row.so_offset:x}", row.so_offset, row.so_offset + row.size)
        for row in IMAGES.values()
        if row.so_offset is not None
    ]


def _by_scan(file: Elf, data: bytes) -> list[Part]:
    starts: list[tuple[int, str]] = []
    for found in _FIRST_BYTES.finditer(data[::_ALIGNMENT]):
        start = found.start() * _ALIGNMENT
        kind = sniff_segment(data[start : start + HEAD_BYTES])
        if kind:
            starts.append((start, kind))
            limited_members(len(starts), file.where)
    ends = {section.end for section in file.sections if section.end <= len(data)}
    edges = sorted({start for start, _ in starts} | ends | {len(data)})
    return [
        Part(f"scan_0x{start:x}_{kind}", f"{kind} start at 0x{start:x}", start, edges[bisect_right(edges, start)])
        for start, kind in starts
    ]

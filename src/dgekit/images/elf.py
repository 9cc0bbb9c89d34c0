"""What this tool needs of an ELF file: 64-bit little-endian sections and symbols, bounds checked, nothing copied."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from dgekit.core.errors import InputError
from dgekit.images.limits import MAX_STRING, MAX_SYMBOLS

MAGIC = b"\x7fELF"
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_CLASS64_LITTLE = b"\x02\x01"
TYPE_RELOCATABLE = 1
_NOBITS = 8
_SYMBOL_TABLES = (2, 11)  # SYMTAB, DYNSYM
_COMPRESSED = 0x800
_EXECUTABLE = 0x4
_FUNCTION = 2


@dataclass(frozen=True, slots=True)
class Section:
    """One section header: where its bytes are in the file, and its address."""

    name: str
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int

    @property
    def end(self) -> int:
        """The first byte after it in the file."""
        return self.offset + self.size


@dataclass(frozen=True, slots=True)
class Symbol:
    """One symbol of data: its name and its bytes as a place in the file."""

    name: str
    offset: int
    size: int
    section: Section


@dataclass(frozen=True, slots=True)
class Elf:
    """An ELF file: its bytes, its type, its sections in header order."""

    data: memoryview
    kind: int
    sections: tuple[Section, ...]
    where: str

    @property
    def is_relocatable(self) -> bool:
        """True for an object file, false for an executable or a shared object."""
        return self.kind == TYPE_RELOCATABLE

    def payload(self, name: str) -> memoryview:
        """The bytes of the one section of that name (empty if there is none); raises InputError for two."""
        found = [section for section in self.sections if section.name == name and section.size]
        if len(found) > 1:
            raise InputError(f"{len(found)} sections are named {name}", rule="images.elf_sections", where=self.where)
        return self.data[found[0].offset : found[0].end] if found else self.data[:0]

    def data_symbols(self) -> Iterator[Symbol]:
        """Symbols of bytes that are no code, of every symbol table: a getter's stub is code and never carved."""
        seen = 0
        for table in self.sections:
            if table.kind not in _SYMBOL_TABLES or not 0 < table.link < len(self.sections):
                continue
            names = self.sections[table.link]
            for place in range(table.offset, table.end - _SYMBOL.size + 1, _SYMBOL.size):
                seen += 1
                if seen > MAX_SYMBOLS:
                    raise InputError(f"more than {MAX_SYMBOLS} symbols", rule="images.elf_symbols", where=self.where)
                symbol = self._data_symbol(place, names)
                if symbol is not None:
                    yield symbol

    def _data_symbol(self, place: int, names: Section) -> Symbol | None:
        name, info, _, index, value, size = _SYMBOL.unpack_from(self.data, place)
        if not 0 < index < len(self.sections) or info & 0xF >= _FUNCTION:
            return None
        section = self.sections[index]
        start = section.offset + value - (0 if self.is_relocatable else section.address)
        if section.flags & _EXECUTABLE or section.kind == _NOBITS or not section.offset <= start < section.end:
            return None
        return Symbol(_text(self.data, names, name), start, min(size, section.end - start), section)


def read_elf(data: memoryview, where: str) -> Elf:
    """Read the headers of an ELF file; raises InputError for another class, bad bounds, overlapping sections."""
    if len(data) < _HEADER.size:
        raise _elf_error(f"{len(data)} bytes, less than an ELF header", "images.elf_truncated", where)
    ident, kind, _, _, _, _, table, _, _, _, _, entry_size, count, names = _HEADER.unpack_from(data)
    if not ident.startswith(MAGIC + _CLASS64_LITTLE):
        raise _elf_error("no 64-bit little-endian ELF file", "images.elf_class", where)
    if count and entry_size != _SECTION.size:
        raise _elf_error(f"section headers of {entry_size} bytes, not {_SECTION.size}", "images.elf_header", where)
    if not count and table:
        raise _elf_error("more sections than the header can count", "images.elf_header", where)
    if table + count * entry_size > len(data):
        raise _elf_error(
            f"{count} section headers at 0x{table:x} do not fit {len(data)} bytes", "images.elf_truncated", where
        )
    raw = [_SECTION.unpack_from(data, table + index * _SECTION.size) for index in range(count)]
    sections = tuple(_section(data, header, raw, names, where) for header in raw)
    _check_overlap(sections, where)
    return Elf(data, kind, sections, where)


def _section(data: memoryview, header: tuple[int, ...], raw: list[tuple[int, ...]], names: int, where: str) -> Section:
    name, kind, flags, address, offset, size, link, _, _, _ = header
    if kind and kind != _NOBITS and offset + size > len(data):
        raise _elf_error(
            f"a section of {size} bytes at 0x{offset:x} does not fit {len(data)} bytes", "images.elf_truncated", where
        )
    if flags & _COMPRESSED:
        raise _elf_error("a compressed section: only plain bytes are read", "images.elf_compressed", where)
    text = ""
    if names < len(raw):
        strings = Section("", 0, 0, 0, raw[names][4], min(raw[names][5], len(data)), 0)
        text = _text(data, strings, name)
    return Section(text, kind, flags, address, offset, size, link)


def _check_overlap(sections: tuple[Section, ...], where: str) -> None:
    placed = sorted((s for s in sections if s.size and s.kind not in (0, _NOBITS)), key=lambda s: s.offset)
    for first, second in pairwise(placed):
        if second.offset < first.end:
            raise InputError(
                f"sections {first.name!r} and {second.name!r} share bytes from 0x{second.offset:x} on",
                rule="images.elf_overlap",
                where=where,
                values={"end": first.end, "start": second.offset},
            )


def _text(data: memoryview, strings: Section, start: int) -> str:
    """A name of a string table; a name longer than the limit is cut there, which no known name reaches."""
    if start >= strings.size:
        return ""
    place = strings.offset + start
    window = bytes(data[place : min(place + MAX_STRING, strings.end)])
    return window.partition(b"\0")[0].decode("latin-1")


def _elf_error(message: str, rule: str, where: str) -> InputError:
    return InputError(message, rule=rule, where=where)

"""The members of an `ar` archive: GNU and BSD names, bounds checked, nothing copied.

The format is the common one of Unix: the magic, then per member a header of 60 bytes in text (name 16, date 12,
owner 6, group 6, mode 8, size 10, end mark 2) and the bytes, padded to an even place.
"""

from __future__ import annotations

from dataclasses import dataclass

from dgekit.core.errors import InputError
from dgekit.images.limits import MAX_STRING, limited_members

MAGIC = b"!<arch>\n"
THIN_MAGIC = b"!<thin>\n"
_HEADER = 60
_END_MARK = b"`\n"
_INDEX_NAMES = ("/", "/SYM64/", "__.SYMDEF", "__.SYMDEF SORTED")


@dataclass(frozen=True, slots=True)
class Member:
    """One member: its name, where its bytes start in the archive, and a view of them."""

    name: str
    offset: int
    data: memoryview


def read_members(data: bytes, where: str) -> tuple[Member, ...]:
    """The members of an archive in file order, without the symbol index and the table of names; raises InputError."""
    if data.startswith(THIN_MAGIC):
        raise InputError(
            "a thin archive holds no bytes of its members",
            rule="images.ar_thin",
            where=where,
            fix="make a full archive",
        )
    view = memoryview(data)
    members: list[Member] = []
    long_names = b""
    place = len(MAGIC)
    while place < len(data):
        name, start, size = _header(data, place, where)
        if start + size > len(data):
            raise InputError(
                f"member at 0x{place:x} says {size} bytes, the archive has {len(data) - start} after its header",
                rule="images.ar_truncated",
                where=where,
                values={"bytes": size, "left": len(data) - start},
            )
        place = start + size + size % 2
        if name == "//":
            long_names = bytes(view[start : start + size])
            continue
        if name in _INDEX_NAMES:
            continue
        if name.startswith("#1/"):
            name, start, size = _bsd_name(view, name, start, size, where)
            if name in _INDEX_NAMES:
                continue
        elif name.startswith("/"):
            name = _long_name(long_names, name, where)
        members.append(Member(name.removesuffix("/"), start, view[start : start + size]))
        limited_members(len(members), where)
    return tuple(members)


def _header(data: bytes, place: int, where: str) -> tuple[str, int, int]:
    header = data[place : place + _HEADER]
    if len(header) < _HEADER:
        raise InputError(
            f"the archive ends inside the header at 0x{place:x}",
            rule="images.ar_truncated",
            where=where,
            values={"bytes": len(header), "header": _HEADER},
        )
    size = header[48:58].strip()
    if header[58:] != _END_MARK or not size.isdigit():
        raise InputError(f"no member header at 0x{place:x}", rule="images.ar_header", where=where)
    return header[:16].decode("latin-1").rstrip(" "), place + _HEADER, int(size)


def _long_name(table: bytes, name: str, where: str) -> str:
    digits = name[1:]
    start = int(digits) if digits.isdecimal() and digits.isascii() else len(table)
    end = table.find(b"\n", start, start + MAX_STRING)
    if start >= len(table) or end < 0:
        raise InputError(f"the archive has no long name {name!r}", rule="images.ar_name", where=where)
    return table[start:end].decode("latin-1")


def _bsd_name(view: memoryview, name: str, start: int, size: int, where: str) -> tuple[str, int, int]:
    digits = name[3:]
    length = int(digits) if digits.isdecimal() and digits.isascii() else size + 1
    if length > min(size, MAX_STRING):
        raise InputError(f"the name {name!r} does not fit its member", rule="images.ar_name", where=where)
    found = bytes(view[start : start + length]).rstrip(b"\0").decode("latin-1")
    return found, start + length, size - length

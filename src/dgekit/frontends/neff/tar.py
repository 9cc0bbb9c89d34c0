"""Reading a tar archive as a hostile file: names, sizes, bounds; nothing is ever written.

ustar with the `prefix` field, pax `path` and `size`, GNU long names and binary sizes. Links, devices, sparse
members, duplicate names and paths that leave the archive are refused (D89).
"""

from __future__ import annotations

from dataclasses import dataclass

from dgekit.core.errors import InputError
from dgekit.frontends.neff.source import Source

BLOCK = 512
MAX_MEMBERS = 100_000
MAX_EXTENSION = 1 << 20
_REGULAR = (b"0", b"\0", b"7")
_DIRECTORY = b"5"
_PAX_NEXT = b"x"
_PAX_GLOBAL = b"g"
_GNU_LONG_NAME = b"L"
_GNU_BINARY = 0x80  # first byte of a number written big-endian
_KIND_NAMES = {b"1": "a hard link", b"2": "a symbolic link", b"3": "a device", b"4": "a device", b"6": "a pipe"}


@dataclass(frozen=True, slots=True)
class Extent:
    """Where a member's bytes lie in the unpacked archive."""

    offset: int
    size: int


def index_tar(
    data: Source, where: str, max_members: int = MAX_MEMBERS, order: list[str] | None = None
) -> dict[str, Extent]:
    """Regular members by name, in archive order; raises InputError naming the member and the rule.

    `order`, where given, receives the names of all entries, those of folders with a `/` at the end.
    """
    found: dict[str, Extent] = {}
    offset = 0
    headers = 0
    long_name = ""
    pax: dict[str, str] = {}
    while offset + BLOCK <= len(data):
        block = data.read(offset, BLOCK)
        if not block.strip(b"\0"):
            return found
        headers += 1
        if headers > max_members:
            raise _error("neff.limit", f"more than {max_members} members", where, {"limit": max_members})
        _check_sum(block, offset, where)
        kind = block[156:157]
        size = _size(pax.get("size"), block, offset, where)
        name = pax.get("path") or long_name or _name(block, offset, where)
        body = offset + BLOCK
        if size > len(data) - body:
            raise _error(
                "neff.truncated",
                f"{name} of {size} bytes runs over the end of the archive",
                where,
                {"size": size, "available": len(data) - body},
            )
        offset = body + -(-size // BLOCK) * BLOCK
        if kind in (_PAX_NEXT, _PAX_GLOBAL):
            entries = _pax(_extension(data, body, size, where), where)
            pax = entries if kind == _PAX_NEXT else pax
            continue
        if kind == _GNU_LONG_NAME:
            long_name = _text(_extension(data, body, size, where).rstrip(b"\0"), where)
            continue
        if kind == _DIRECTORY:
            entry = _folder_name(name, where)
        else:
            entry = _add(found, name, kind, Extent(body, size), where)
        if order is not None and entry:
            order.append(entry)
        long_name, pax = "", {}
    raise _error("neff.truncated", "the archive ends without its closing block", where, {"offset": offset})


def _add(found: dict[str, Extent], name: str, kind: bytes, extent: Extent, where: str) -> str:
    if kind not in _REGULAR:
        shown = _KIND_NAMES.get(kind, f"of type {kind!r}")
        raise _error("neff.member", f"{name} is {shown}; only regular files belong into a NEFF", where, {})
    clean = safe_name(name, where)
    if clean in found:
        raise _error("neff.duplicate", f"member {clean} is there twice", where, {"member": clean})
    found[clean] = extent
    return clean


def _folder_name(name: str, where: str) -> str:
    """A folder's name with a `/` at the end; empty for the archive's own root, `./`."""
    if not name.startswith("/") and all(part in ("", ".") for part in name.split("/")):
        return ""
    return safe_name(name, where) + "/"


def safe_name(name: str, where: str) -> str:
    """A member's name without empty parts; raises InputError for one that leads out of the archive or is not plain."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if name.startswith("/") or ".." in parts or "\\" in name or not parts or not name.isprintable():
        raise _error("neff.path", f"member name {name[:80]!r} leaves the archive", where, {"member": name[:80]})
    return "/".join(parts)


def _check_sum(block: bytes, offset: int, where: str) -> None:
    stated = _octal(block[148:156], offset, where)
    actual = sum(block) - sum(block[148:156]) + 8 * ord(" ")
    if stated != actual:
        raise _error(
            "neff.tar",
            f"the member header at byte {offset} has checksum {actual}, it states {stated}: no tar archive",
            where,
            {"stated": stated, "actual": actual, "offset": offset},
        )


def _size(pax_size: str | None, block: bytes, offset: int, where: str) -> int:
    if pax_size is None:
        return _octal(block[124:136], offset, where)
    if not (pax_size.isascii() and pax_size.isdigit() and len(pax_size) < 20):
        raise _error("neff.tar", f"pax size {pax_size[:20]!r} is no number", where, {"offset": offset})
    return int(pax_size)


def _octal(field: bytes, offset: int, where: str) -> int:
    if field[0] == _GNU_BINARY:
        return int.from_bytes(field[1:], "big")
    text = field.split(b"\0", 1)[0].strip()
    if any(digit not in b"01234567" for digit in text):
        raise _error(
            "neff.tar", f"{field!r} in the member header at byte {offset} is no number", where, {"offset": offset}
        )
    return int(text or b"0", 8)


def _name(block: bytes, offset: int, where: str) -> str:
    name = block[:100].split(b"\0", 1)[0]
    prefix = block[345:500].split(b"\0", 1)[0] if block[257:263] == b"ustar\0" else b""
    return _text(prefix + b"/" + name if prefix else name, where)


def _pax(data: bytes, where: str) -> dict[str, str]:
    """The records `LENGTH KEY=VALUE\\n` of a pax header."""
    found: dict[str, str] = {}
    position = 0
    while position < len(data):
        digits = data[position : position + 8].split(b" ", 1)[0]
        length = int(digits) if digits.isdigit() else 0
        record = data[position + len(digits) + 1 : position + length]
        if length <= len(digits) + 1 or position + length > len(data) or not record.endswith(b"\n"):
            raise _error("neff.tar", "a pax header is malformed", where, {"offset": position})
        key, _, value = record[:-1].partition(b"=")
        if key.startswith(b"GNU.sparse"):
            raise _error("neff.member", "a sparse member; only regular files belong into a NEFF", where, {})
        if key in (b"path", b"size"):
            found[key.decode()] = _text(value, where)
        position += length
    return found


def _extension(data: Source, offset: int, size: int, where: str) -> bytes:
    """The contents of a record that belongs to the next member."""
    if size > MAX_EXTENSION:
        raise _error(
            "neff.limit",
            f"a name record of {size} bytes is above {MAX_EXTENSION}",
            where,
            {"size": size, "limit": MAX_EXTENSION},
        )
    return data.read(offset, size)


def _text(raw: bytes, where: str) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise _error("neff.path", f"member name {raw[:80]!r} is no UTF-8", where, {}) from None


def _error(rule: str, message: str, where: str, values: dict[str, int] | dict[str, str]) -> InputError:
    return InputError(message, rule=rule, where=where, values=values, source="dec.D89")

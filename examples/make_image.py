"""Writes synthetic.a: an archive in the form of libnrtucode.a, with nothing in it but what is published.

Each member is an object file whose `.rodata` is the image: published strings at their published offsets (others at a
free place, in the order of a sibling image), the quoted instruction bytes at their addresses, zeros elsewhere. No
vendor file is read: with it the commands of docs/images.md can be tried.

    python examples/make_image.py [FILE]
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from dgekit.images.anchor_table import ANCHORS
from dgekit.images.names import read_label
from dgekit.images.offsets import OFFSETS, expected_formats
from dgekit.images.published import DRAM_MAGIC, IMAGES
from dgekit.logs.formats import FORMATS


def relocatable(payload: bytes) -> bytes:
    """A minimal 64-bit object file whose one section of bytes is `.rodata`."""
    return elf(1, [(".rodata", 0, payload)], [])


def elf(kind: int, blocks: list[tuple[str, int, bytes]], symbols: list[tuple[str, int, int, int]]) -> bytes:
    """An ELF file of blocks (name, address, bytes) and data symbols (name, block, value, size)."""
    names = "\0".join(["", *(name for name, _, _ in blocks), ".symtab", ".strtab", ".shstrtab", ""]).encode()
    texts = "\0".join(["", *(name for name, _, _, _ in symbols), ""]).encode()
    table = bytes(24) + b"".join(
        struct.pack("<IBBHQQ", texts.index(b"\0" + name.encode() + b"\0") + 1, 0x11, 0, block + 1, value, size)
        for name, block, value, size in symbols
    )
    bodies = [(name, 1, address, body, 0, 0) for name, address, body in blocks]
    bodies += [
        (".symtab", 2, 0, table, len(blocks) + 2, 24),
        (".strtab", 3, 0, texts, 0, 0),
        (".shstrtab", 3, 0, names, 0, 0),
    ]
    headers, place, data = [bytes(64)], 64, b""
    for name, code, address, body, link, entry in bodies:
        start = place + len(data)
        at = names.index(b"\0" + name.encode() + b"\0") + 1
        headers.append(struct.pack("<IIQQQQIIQQ", at, code, 2, address, start, len(body), link, 0, 1, entry))
        data += body
    ident = b"\x7fELF\2\1\1" + bytes(9)
    head = struct.pack(
        "<16sHHIQQQIHHHHHH",
        ident,
        kind,
        62,
        1,
        0,
        0,
        place + len(data),
        0,
        64,
        0,
        0,
        64,
        len(headers),
        len(headers) - 1,
    )
    return head + data + b"".join(headers)


def archive(members: Mapping[str, bytes]) -> bytes:
    """An archive with a table of long names, as GNU ar writes it."""
    table = b"".join(name.encode() + b"/\n" for name in members)
    out = b"!<arch>\n" + member("//", table)
    for name, data in members.items():
        out += member(f"/{table.index(name.encode() + b'/')}", data)
    return out


def member(name: str, data: bytes) -> bytes:
    """One member with its header, padded to an even length."""
    return f"{name:<16}{0:<12}{0:<6}{0:<6}{'644':<8}{len(data):<10}`\n".encode() + data + b"\n" * (len(data) % 2)


def dram(name: str) -> bytes:
    """A DRAM image: the control magic, then every string that is published for it."""
    image = bytearray(IMAGES[name].size)
    image[:4] = DRAM_MAGIC.to_bytes(4, "little")
    placed = OFFSETS.get(name, {})
    end = 0x800
    for offset, key in placed.items():
        text = c_string(key)
        image[offset : offset + len(text)] = text
        end = max(end, offset + len(text))
    for text in free_strings(name, set(placed.values())):
        image[end : end + len(text)] = text
        end += len(text)
    return bytes(image)


def free_strings(name: str, placed: set[str]) -> Iterable[bytes]:
    """The strings without a published offset in this image: neighbours elsewhere stay neighbours here."""
    label = read_label(name)
    sibling = OFFSETS[f"img_CAYMAN_{label.core}_POOL_DEBUG_DRAM"].values()
    keys = expected_formats(name) - placed
    together = [key for key in sibling if key in keys]
    yield from (c_string(key) for key in together)
    yield from (b"\n\0" + c_string(key) for key in FORMATS if key in keys and key not in together)


def c_string(key: str) -> bytes:
    row = FORMATS[key]
    return row.text.encode() + (b"\n" if row.trailing_lf else b"") + b"\0"


def code(name: str) -> bytes:
    """An IRAM image: the quoted instructions at their addresses."""
    image = bytearray(IMAGES[name].size)
    for anchor in ANCHORS:
        if anchor.image == name:
            quoted = bytes.fromhex(anchor.hex)
            image[anchor.address : anchor.address + len(quoted)] = quoted
    return bytes(image)


def members() -> dict[str, bytes]:
    """The members of the archive: the DEBUG images of POOL of the four generations that are in the published one."""
    found = {}
    for name in IMAGES:
        label = read_label(name)
        if (label.engine, label.mode) == ("POOL", "DEBUG") and label.generation != "MAVERICK":
            payload = dram(name) if label.segment == "DRAM" else code(name)
            found[f"{name}_contents.c.o"] = relocatable(payload)
    return found


def write(path: str = "synthetic.a") -> None:
    Path(path).write_bytes(archive(members()))


if __name__ == "__main__":
    write(*sys.argv[1:2])

"""Where images come from: an archive, a shared object, carved blobs, or a folder of any of these."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from dgekit.core.errors import InputError, UsageError
from dgekit.images import ar, elf, embedded
from dgekit.images.boot import sniff_segment
from dgekit.images.limits import MAX_BYTES, limited_bytes, limited_members
from dgekit.images.names import Label, image_name, read_label
from dgekit.images.published import DRAM_BASE, hash_check

_PACKED = (b"\x1f\x8b", b"PK\x03\x04", b"\xfd7zXZ", b"BZh", b"\x28\xb5\x2f\xfd")
PAYLOAD = ".rodata"


@dataclass(frozen=True, slots=True)
class Image:
    """One device image: its name without what the container adds, the container's name for it, and its bytes."""

    name: str
    member: str
    data: bytes

    @property
    def label(self) -> Label:
        """What the name says."""
        return read_label(self.name)

    @property
    def segment(self) -> str:
        """The segment the name says, else the one the first bytes tell; empty for none."""
        return self.label.segment or sniff_segment(self.data)

    @property
    def sha256(self) -> str:
        """The hash of the bytes, in hex."""
        return hashlib.sha256(self.data).hexdigest()

    @property
    def published(self) -> str:
        """`same` or `differs` by published size and hash; empty where nothing is published."""
        return hash_check(self.name, len(self.data), self.sha256)

    def va(self, offset: int) -> int | None:
        """The device address of an offset: DRAM at 0x80000, IRAM at 0 (pipeline 8.2); None for other segments."""
        base = {"DRAM": DRAM_BASE, "IRAM": 0}.get(self.segment)
        return None if base is None else base + offset


def load_images(data: bytes, name: str) -> tuple[Image, ...]:
    """The images of one file, in file order; raises InputError for a file that is none, damaged or too large."""
    limited_bytes(len(data), name)
    if data.startswith(_PACKED):
        raise InputError("a compressed file", rule="images.packed", where=name, fix="unpack it first")
    if data.startswith((ar.MAGIC, ar.THIN_MAGIC)):
        return tuple(
            _member_image(member.name, bytes(member.data), f"{name}({member.name})")
            for member in ar.read_members(data, name)
        )
    if data.startswith(elf.MAGIC):
        return _elf_images(data, name)
    return (Image(image_name(name), name, data),)


def read_images(path: Path) -> tuple[Image, ...]:
    """The images of a file, or of every file of a folder in the order of their names; raises InputError."""
    if not path.is_dir():
        return load_images(_read(path), path.name)
    found: list[Image] = []
    total = 0
    for entry in sorted(path.iterdir()):
        if entry.is_file():
            data = _read(entry)
            total += len(data)
            limited_bytes(total, path.name)
            found += load_images(data, entry.name)
            limited_members(len(found), path.name)
    if not found:
        raise InputError("the folder holds no file", rule="images.empty", where=path.name)
    return tuple(found)


def by_name(images: Iterable[Image]) -> dict[str, Image]:
    """The images by their names; raises InputError when two share one."""
    found: dict[str, Image] = {}
    for image in images:
        if image.name in found:
            raise InputError(
                f"two images are named {image.name[:80]}", rule="images.duplicate", where=image.member[:80]
            )
        found[image.name] = image
    return found


def image_named(images: Iterable[Image], name: str) -> Image:
    """The image of a name, its own or the container's; raises UsageError with the nearest one."""
    known = list(images)
    for image in known:
        if name in (image.name, image.member):
            return image
    near = get_close_matches(name, [image.name for image in known], 1)
    raise UsageError(f"no image is named {name!r}", rule="images.unknown", fix=f"write {near[0]}" if near else "")


def _read(path: Path) -> bytes:
    try:
        if not path.is_file():
            raise InputError(f"{path} is no file and no folder", rule="images.file", where=path.name)
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as problem:
        raise InputError(f"cannot read {path}: {problem}", rule="images.file", where=path.name) from None


def _member_image(member: str, data: bytes, where: str) -> Image:
    """A member: its `.rodata` is the device segment, unmodified (pipeline 8.2); other bytes stand as they are."""
    if data.startswith(elf.MAGIC):
        data = bytes(elf.read_elf(memoryview(data), where).payload(PAYLOAD))
    return Image(image_name(member), member, data)


def _elf_images(data: bytes, name: str) -> tuple[Image, ...]:
    file = elf.read_elf(memoryview(data), name)
    if file.is_relocatable:
        return (_member_image(name, data, name),)
    found = embedded.find_images(file, data)
    if not found:
        raise InputError(
            "no firmware image in this ELF file: no symbol names one, its hash is not the published one, and no "
            "control magic or pair of boot jumps is in it",
            rule="images.none",
            where=name,
        )
    return tuple(Image(part.name, part.origin, data[part.start : part.end]) for part in found)

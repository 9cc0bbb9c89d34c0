"""Synthetic images: golden strings at their golden offsets, quoted bytes at their addresses, sizes of pipeline 8.3."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).parents[2]
ENTRIES: list[dict[str, Any]] = json.loads((ROOT / "tests" / "golden" / "spec" / "log-strings.json").read_text())

# pipeline 8.3: bytes of the DEBUG images of POOL, (IRAM, DRAM)
SIZES = {
    "SUNDA_NX": (59_600, 14_432),
    "CAYMAN_NX": (116_768, 28_448),
    "CAYMAN_Q7": (125_504, 89_344),
    "MARIANA_NX": (114_816, 28_672),
    "MARIANA_Q7": (126_272, 89_472),
    "MARIANA_PLUS_NX": (119_616, 29_024),
    "MARIANA_PLUS_Q7": (126_720, 89_472),
}
# pipeline 8.6 and 8.7: the byte groups as the chapter prints them
GROUPS: dict[str, dict[int, str]] = {
    "CAYMAN_Q7": {
        0x0: "067f00", 0x6: "868000", 0x3394: "366100", 0x3397: "240900", 0x340A: "447c08", 0x340D: "4033a0",
        0x3410: "3803", 0x3412: "a00300",
        0x3538: "a40800 b0eb03 a40c0e a54e15 e50810 067200",
        0x3566: "a40800 b0eb03 a4320e e54b15 a56e10 866600",
        0x36A3: "a40800 b0eb03 a41f0e e53715 e55910 461700",
        0x3742: "25ab12", 0x161F4: "36814a", 0x1723C: "360102", 0x16210: "a40800", 0x16216: "a45148",
        0x1736B: "7807 b0eb03 707004 679775 ac66",
        0x17388: "41a408", 0x1738F: "a4654e", 0x17398: "a4a34e", 0x1739B: "3904",
        0x173A3: "a4e14e", 0x173A9: "3904", 0x173B1: "a41f4f", 0x1739D: "060a00",
        0x1565A: "a4003e b4193e 24e860 e00200",
    },
    "CAYMAN_NX": {
        0x0: "067600", 0x6: "867700", 0xAC81: "240800 24c223 29a1 2871 22020d 8ce2", 0xAC99: "a65203",
        0xF544: "44a05d a45731 0c06 3804 16d304 a56a09", 0xF5A2: "a42f31 656509 62622f", 0x13E23: "20 15 f3",
    },
    "MARIANA_NX": {0x0: "067d00", 0x6: "867e00"},
    "MARIANA_PLUS_NX": {0x0: "067d00", 0x6: "867e00", 0xF9B0: "44e05f a49731 0c05 3804 16f307 25d309"},
}  # fmt: skip
MAGIC = bytes.fromhex("34cb9960")


def maker() -> ModuleType:
    """The example script, for its writers of archives and ELF files."""
    spec = importlib.util.spec_from_file_location("make_image", ROOT / "examples" / "make_image.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def core_of(entry: dict[str, Any]) -> set[str]:
    named = {"NX" if "_NX_" in image else "Q7" for image in (entry["image"], *(one["image"] for one in entry["also"]))}
    if entry["format"] == "tensor_reshape_transpose_sb2sb":  # one hit on NX and one on Q7 (pipeline 7.3)
        return {"NX", "Q7"}
    return named


def text_of(entry: dict[str, Any]) -> bytes:
    return entry["format"].encode() + (b"\n" if entry["trailing_lf"] else b"") + b"\0"


def offset_in(entry: dict[str, Any], image: str) -> int | None:
    for place in (entry, *entry["also"]):
        if place["image"] == image and place["file_offset"]:
            return int(place["file_offset"], 16)
    return None


def strings_of(name: str) -> list[tuple[int, bytes]]:
    """The strings of an image: at their offset, else behind all others, the order of CAYMAN's image kept."""
    generation, core = name.rsplit("_", 1)
    mine = [e for e in ENTRIES if generation in e["generations"] and core in core_of(e)]
    image, sibling = f"img_{name}_POOL_DEBUG_DRAM", f"img_CAYMAN_{core}_POOL_DEBUG_DRAM"
    placed = [(offset, text_of(e)) for e in mine if (offset := offset_in(e, image)) is not None]
    end = max((offset + len(text) for offset, text in placed), default=0x900)
    free = [e for e in mine if offset_in(e, image) is None]
    free.sort(key=lambda e: (offset_in(e, sibling) is None, offset_in(e, sibling) or 0))
    for entry in free:
        lead = b"" if offset_in(entry, sibling) is not None else b"\n\0"
        placed.append((end + len(lead), text_of(entry)))
        end += len(lead) + len(text_of(entry))
    return sorted(placed)


def dram(name: str, strings: list[tuple[int, bytes]] | None = None) -> bytes:
    image = bytearray(SIZES[name][1])
    image[:4] = MAGIC
    for offset, text in strings_of(name) if strings is None else strings:
        assert not any(image[offset : offset + len(text)]), hex(offset)
        image[offset : offset + len(text)] = text
        if offset_free(image, offset):
            image[offset - 2] = 0x0A
    return bytes(image)


def offset_free(image: bytearray, offset: int) -> bool:
    """Two zero bytes before a string: a line feed there starts its line anew, as other strings would."""
    return image[offset - 3 : offset] == bytes(3)


def iram(name: str) -> bytes:
    image = bytearray(SIZES[name][0])
    for address, group in GROUPS.get(name, {}).items():
        quoted = bytes.fromhex(group.replace(" ", ""))
        image[address : address + len(quoted)] = quoted
    return bytes(image)


def payloads() -> dict[str, bytes]:
    """The members of pipeline 8.3 that are in the archive, by image name."""
    found = {}
    for name in SIZES:
        found[f"img_{name}_POOL_DEBUG_IRAM"] = iram(name)
        found[f"img_{name}_POOL_DEBUG_DRAM"] = dram(name)
    return found


def archive(images: dict[str, bytes]) -> bytes:
    write = maker()
    return write.archive({f"{name}_contents.c.o": write.relocatable(data) for name, data in images.items()})


def with_moved_line() -> bytes:
    """CAYMAN's DRAM with the line `Setting up DGE` 0x40 bytes further on."""
    strings = [(at + 0x40 if text.startswith(b"S: Setting up") else at, text) for at, text in strings_of("CAYMAN_NX")]
    return dram("CAYMAN_NX", strings)

"""Checking the published anchors: what stands at their addresses, read and decoded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dgekit.images.anchor_table import ANCHORS, Anchor
from dgekit.images.cstrings import CString, string_at
from dgekit.images.xtensa import decode

MATCH = "match"  # the quoted bytes stand there
DECODED = "decoded"  # no bytes are quoted; what stands there decodes to the published instruction
DIFFERS = "differs"  # other bytes than the quoted ones
UNSEEN = "unseen"  # no bytes are quoted, and something else stands there
OUTSIDE = "outside"  # the image ends before the address
ABSENT = "absent"  # the image is not in the file
STATUSES = (MATCH, DECODED, DIFFERS, UNSEEN, OUTSIDE, ABSENT)


@dataclass(frozen=True, slots=True)
class Check:
    """One anchor and what was found: the bytes in hex, their decoding (empty: unknown), the string they load."""

    anchor: Anchor
    status: str
    hex: str = ""
    text: str = ""
    string: str = ""

    def to_json(self) -> dict[str, Any]:
        """The form of `dge image anchors --json`."""
        anchor = self.anchor
        return {
            "image": anchor.image,
            "group": anchor.group,
            "address": f"0x{anchor.address:x}",
            "published": {"hex": anchor.hex, "text": anchor.text, "meaning": anchor.meaning},
            "found": {"hex": self.hex, "text": self.text, "string": self.string},
            "status": self.status,
        }


def anchored_images() -> tuple[str, ...]:
    """The names of the images that have published anchors, in the table's order."""
    return tuple(dict.fromkeys(anchor.image for anchor in ANCHORS))


def check_image(reference: str, code: bytes, strings: bytes = b"") -> tuple[Check, ...]:
    """Check the anchors of a published image on the bytes of one; `strings` is its DRAM, for what a const16 loads."""
    return tuple(_check(anchor, code, strings) for anchor in ANCHORS if anchor.image == reference)


def check_anchors(code: Mapping[str, bytes], strings: Mapping[str, bytes]) -> tuple[Check, ...]:
    """Check every anchor; the mappings give the bytes of the images and of their DRAM by the image's published name."""
    found: list[Check] = []
    for name in anchored_images():
        if name in code:
            found += check_image(name, code[name], strings.get(name, b""))
        else:
            found += [Check(anchor, ABSENT) for anchor in ANCHORS if anchor.image == name]
    return tuple(found)


def failed(checks: Iterable[Check]) -> bool:
    """True when bytes that a source quotes are not there."""
    return any(check.status == DIFFERS or (check.status == OUTSIDE and check.anchor.hex) for check in checks)


def _check(anchor: Anchor, code: bytes, strings: bytes) -> Check:
    here = decode(code, anchor.address)
    size = len(anchor.hex) // 2 or (here.size if here else 3)
    raw = code[anchor.address : anchor.address + size]
    text = here.text if here else ""
    if len(raw) < size:
        return Check(anchor, OUTSIDE, raw.hex(), text)
    loaded = None if anchor.offset is None else string_at(strings, anchor.offset)
    return Check(anchor, _status(anchor, raw.hex(), text), raw.hex(), text, _shown(loaded))


def _status(anchor: Anchor, raw: str, text: str) -> str:
    if anchor.hex:
        return MATCH if raw == anchor.hex else DIFFERS
    return DECODED if text == anchor.text else UNSEEN


def _shown(loaded: CString | None) -> str:
    return "" if loaded is None else loaded.line

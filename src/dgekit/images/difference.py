"""What changed between two images: strings gained, lost, moved."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dgekit.core.errors import UsageError
from dgekit.images.cstrings import CString, c_strings
from dgekit.images.known import find_format
from dgekit.images.source import Image

MINIMUM = 4


@dataclass(frozen=True, slots=True)
class Move:
    """One string at another offset: `old` in the left image, `new` in the right one."""

    old: CString
    new: CString

    @property
    def distance(self) -> int:
        """How far it moved, in bytes."""
        return self.new.offset - self.old.offset


@dataclass(frozen=True, slots=True)
class Difference:
    """Two images and their strings that are not the same: lost from the left, gained in the right, moved."""

    left: Image
    right: Image
    lost: tuple[CString, ...]
    gained: tuple[CString, ...]
    moved: tuple[Move, ...]

    def __bool__(self) -> bool:
        return bool(self.lost or self.gained or self.moved)

    @property
    def distances(self) -> Counter[int]:
        """How many strings moved by how many bytes."""
        return Counter(move.distance for move in self.moved)

    def to_json(self) -> dict[str, Any]:
        """The form of `dge image diff --json`."""
        return {
            "left": self.left.name,
            "right": self.right.name,
            "lost": [string_json(self.left, string) for string in self.lost],
            "gained": [string_json(self.right, string) for string in self.gained],
            "moved": [
                {
                    "text": move.new.text,
                    "format": find_format(move.new.line),
                    "from": f"0x{move.old.offset:x}",
                    "to": f"0x{move.new.offset:x}",
                    "distance": move.distance,
                }
                for move in self.moved
            ],
        }


def pair_images(
    left: Mapping[str, Image], right: Mapping[str, Image]
) -> tuple[list[tuple[Image, Image]], list[str], list[str]]:
    """Which images to compare, and the names that only the left or only the right side has; raises UsageError for none.

    Images of one name are a pair; two sides of one image each are a pair whatever their names.
    """
    if len(left) == len(right) == 1:
        return list(zip(left.values(), right.values(), strict=True)), [], []
    pairs = [(image, right[name]) for name, image in left.items() if name in right]
    if not pairs:
        raise UsageError(
            "no image has the same name on both sides", rule="images.pairs", fix="--image NAME --with NAME"
        )
    return pairs, [name for name in left if name not in right], [name for name in right if name not in left]


def diff_images(left: Image, right: Image, minimum: int = MINIMUM) -> Difference:
    """Compare the strings of two images of at least `minimum` characters; raises InputError.

    A string that stands in both at the same offset is the same; of the others, those of equal text are paired in order
    as moves, and what is left over is lost or gained.
    """
    old, new = (_by_text(image, minimum) for image in (left, right))
    lost: list[CString] = []
    gained: list[CString] = []
    moved: list[Move] = []
    for text in dict.fromkeys((*old, *new)):
        before, after = _without_common(old.get(text, ()), new.get(text, ()))
        pairs = min(len(before), len(after))
        moved += [Move(a, b) for a, b in zip(before[:pairs], after[:pairs], strict=True)]
        lost += before[pairs:]
        gained += after[pairs:]
    return Difference(
        left,
        right,
        tuple(sorted(lost, key=lambda s: s.offset)),
        tuple(sorted(gained, key=lambda s: s.offset)),
        tuple(sorted(moved, key=lambda m: m.old.offset)),
    )


def _by_text(image: Image, minimum: int) -> dict[str, list[CString]]:
    found: dict[str, list[CString]] = {}
    for string in c_strings(image.data, image.name, minimum):
        found.setdefault(string.text, []).append(string)
    return found


def _without_common(old: Iterable[CString], new: Iterable[CString]) -> tuple[list[CString], list[CString]]:
    old, new = list(old), list(new)
    common = {string.offset for string in old} & {string.offset for string in new}
    return [s for s in old if s.offset not in common], [s for s in new if s.offset not in common]


def string_json(image: Image, string: CString) -> dict[str, Any]:
    """One string with its offset, its device address (null where the segment has no rule) and its format."""
    address = image.va(string.offset)
    return {
        "offset": f"0x{string.offset:x}",
        "va": None if address is None else f"0x{address:x}",
        "text": string.text,
        "format": find_format(string.line),
    }

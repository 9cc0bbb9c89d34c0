"""The census: how often each known format and symbol is in each image, and the published rows beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dgekit.core.generations import GENERATIONS
from dgekit.images.counts import LINES, ROWS, STRINGS, TOTALS, Row
from dgekit.images.cstrings import c_strings, count_lines
from dgekit.images.known import find_format
from dgekit.images.offsets import debug_image, expected_formats
from dgekit.logs.formats import FORMATS

_GENERATIONS = tuple(generation.name for generation in GENERATIONS)
_SHORTEST = min(len(row.text) for row in FORMATS.values())
# a symbol that is itself the pattern of a published row is counted as that row is
_LINE_COUNTED = {row.pattern for row in ROWS if row.counter == LINES}


@dataclass(frozen=True, slots=True)
class Found:
    """One row of the comparison: what was counted where, by which counter, and what is published (None: nothing)."""

    images: tuple[str, ...]
    pattern: str
    counter: str
    count: int
    published: int | None
    compared: bool
    note: str = ""

    @property
    def differs(self) -> bool:
        """True when a published count that is compared is another one."""
        return self.compared and self.published is not None and self.count != self.published

    def to_json(self) -> dict[str, Any]:
        """The form of `dge image census --published --json`."""
        return {
            "images": list(self.images),
            "pattern": self.pattern,
            "counter": self.counter,
            "count": self.count,
            "published": self.published,
            "compared": self.compared,
            "differs": self.differs,
            "note": self.note,
        }


def format_counter(key: str) -> str:
    """The counter of a format: `lines` for a symbol that is a published row's pattern, else `strings`.

    >>> format_counter("symbol.reshape_transpose"), format_counter("push.regwrite")
    ('lines', 'strings')
    """
    return LINES if FORMATS[key].text in _LINE_COUNTED else STRINGS


def count_formats(data: bytes, where: str) -> dict[str, int]:
    """How often each format and symbol of the log table is in an image, by key, zeros included; raises InputError."""
    keys = Counter(find_format(string.line) for string in c_strings(data, where, _SHORTEST))
    return {
        key: count_lines(data, row.text.encode()) if format_counter(key) == LINES else keys[key]
        for key, row in FORMATS.items()
    }


def count_pattern(data: bytes, pattern: str, counter: str, where: str) -> int:
    """How often a pattern is in an image by a counter, `lines` or `strings`; raises InputError."""
    if counter == LINES:
        return count_lines(data, pattern.encode())
    return sum(pattern in string.text for string in c_strings(data, where))


def compare_rows(images: Mapping[str, bytes]) -> tuple[Found, ...]:
    """Every published row on the images that are there, by published name; rows without their image are left out."""
    found = [
        _compare(row, generation, images[name], name)
        for row in ROWS
        for generation in _GENERATIONS
        if (name := debug_image(generation, row.core, row.engine)) in images
    ]
    return (*found, *_totals(images))


def missing_formats(name: str, counts: Mapping[str, int]) -> tuple[str, ...]:
    """The keys of the formats that are published for an image and not in it."""
    return tuple(key for key in FORMATS if key in expected_formats(name) and not counts[key])


def unlisted_formats(name: str, counts: Mapping[str, int]) -> tuple[str, ...]:
    """The keys of the formats that are in an image though no source lists them for it: news, not a difference."""
    return tuple(key for key, count in counts.items() if count and key not in expected_formats(name))


def _compare(row: Row, generation: str, data: bytes, name: str) -> Found:
    count = count_pattern(data, row.pattern, row.counter, name)
    return Found((name,), row.pattern, row.counter, count, row.counts.get(generation), row.compared, row.note)


def _totals(images: Mapping[str, bytes]) -> Iterable[Found]:
    for total in TOTALS:
        if all(name in images for name in total.images):
            count = sum(count_lines(images[name], total.pattern.encode()) for name in total.images)
            yield Found(total.images, total.pattern, LINES, count, total.count, True, total.note)

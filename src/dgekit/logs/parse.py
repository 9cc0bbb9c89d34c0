"""Firmware lines to events: dialect, host prefix, cut lines, and what lies in between (pipeline 7.1, 7.4; D92 to D95).

A line is the firmware's when a dialect token `S: `, `P<id>: ` or `R: ` stands at its start or behind a space; the
leftmost one counts. A full match wins over a cut one; of two formats that match, the one with more literal letters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from dgekit.core.events import Event
from dgekit.logs.fields import name_fields
from dgekit.logs.formats import LogFormat
from dgekit.logs.matchers import Arg, dialects
from dgekit.logs.source import RawLine

# Severity bytes and NULs of a ring may stand before the first token of a line.
_TOKEN = re.compile(r"(?:\A[\x00-\x08]*|(?<= ))(?:([SR])|P(0|[1-9][0-9]{0,9})): ")
_BLANK = " \t\r\n\x00"
_INVISIBLE = _BLANK + "".join(map(chr, range(9)))
MAX_HOST = 32  # characters of a friendly name (pipeline 7.1)
# What loggers put in front of a name: [anything], dates, times, seconds.
_STAMP = re.compile(
    r"(?:\[[^\]]*\]|\d{4}-\d{2}-\d{2}(?:T[\d:.,+\-Z]+)?|[A-Z][a-z]{2} +\d{1,2}|\d{1,2}:\d{2}:\d{2}[\d.,Z]*|\d+\.\d+:?)"
    r"(?=\s|\Z)"
)


@dataclass(frozen=True, slots=True)
class ParsedLine:
    """One line: its number (from 1), its text, and what it says.

    `dialect` is S, P, R or empty for a line that is not the firmware's; `processor` the id of a `P%i:` line, else -1.
    `row` is the format, None if none fits whole; then `candidates` are the formats it may be the beginning of.
    `args` are the values in the order of the text; `cut` marks a line without its end, whose last value is not to be
    trusted (None where nothing is left of it).
    """

    line: int
    text: str
    dialect: str = ""
    host: str = ""
    processor: int = -1
    row: LogFormat | None = None
    args: tuple[Arg, ...] = ()
    cut: bool = False
    candidates: tuple[LogFormat, ...] = ()

    @property
    def stage(self) -> str:
        """The firmware stage of the line; empty where no format fits."""
        return self.row.stage if self.row is not None else ""

    @property
    def key(self) -> str:
        """The key of the format; empty where none fits."""
        return self.row.key if self.row is not None else ""

    @property
    def fields(self) -> dict[str, Any]:
        """The values by name (D92)."""
        return name_fields(self.row, self.args) if self.row is not None else {}

    @property
    def is_unknown(self) -> bool:
        """True for a line that has a dialect token and fits no format: what `--strict` is about (D95)."""
        return bool(self.dialect) and self.row is None

    def event(self) -> Event:
        """The event that this line was rendered from; one without a line where no format fits."""
        if self.row is None:
            return Event("memory", "text", data={"text": self.text})
        name = self.row.key.partition(".")[2]
        return Event(self.row.stage, name, self.row.key, self.args, processor=max(0, self.processor))

    def to_json(self) -> dict[str, Any]:
        """The object of `dge log parse`; `host`, `cut` and `candidates` only where there is something to say."""
        found: dict[str, Any] = {
            "line": self.line,
            "dialect": self.dialect or None,
            "processor": self.processor if self.processor >= 0 else None,
            "stage": self.row.stage if self.row is not None else None,
            "format": self.row.text if self.row is not None else None,
            "fields": self.fields,
            "text": self.text,
        }
        if self.host:
            found["host"] = self.host
        if self.cut:
            found["cut"] = True
        if self.candidates:
            found["candidates"] = [row.text for row in self.candidates]
        return found


def parse_lines(lines: Iterable[RawLine]) -> Iterator[ParsedLine]:
    """Parse lines as they come; nothing is kept."""
    for raw in lines:
        yield parse_line(raw.text, raw.number, ended=raw.ended)


def parse_line(text: str, number: int = 1, *, ended: bool = True) -> ParsedLine:
    """One line; `ended` is False for a line that lacks its line feed, so that its last value may be cut.

    >>> parse_line("nrt: P3: Generating 64 descriptors; ring_ndesc = 4096").fields
    {'Generating': 64, 'ring_ndesc': 4096}
    >>> parse_line("S: DGE: Select backend Poo").cut
    True
    """
    token = _TOKEN.search(text)
    if token is None:
        return _boot_line(text, number, ended)
    start, place = token.span()
    dialect, processor = (token[1], -1) if token[1] else ("P", int(token[2]))
    host = _host(text[:start]) if start else ""
    grammar = dialects()[dialect]
    body = text[place:].rstrip(_BLANK)
    if (found := grammar.match(body)) is not None:
        matcher, args = found
        cut = matcher.ends_in_value and (dialect == "R" or not ended)
        return ParsedLine(number, text, dialect, host, processor, matcher.row, args, cut)
    if (found := grammar.match_cut(body)) is not None:
        return ParsedLine(number, text, dialect, host, processor, found[0].row, found[1], True)
    if body in dialects()[""].exact:
        return ParsedLine(number, text, dialect, host, processor, dialects()[""].exact[body].row)
    candidates = tuple(matcher.row for matcher in grammar.candidates(text[place:].rstrip("\r\n\x00")))
    return ParsedLine(number, text, dialect, host, processor, None, (), bool(candidates), candidates)


def _boot_line(text: str, number: int, ended: bool) -> ParsedLine:
    """A boot self-name, whose prefix is not published, or a line of somebody else."""
    matcher = dialects()[""].exact.get(text.strip(_BLANK))
    if matcher is None:
        return ParsedLine(number, text)
    return ParsedLine(number, text, row=matcher.row, cut=not ended)


def _host(before: str) -> str:
    """The host's name in the text before a dialect token: what is left of `name: ` without time stamps."""
    if not before.endswith(": "):
        return ""
    name = before[:-2].rpartition("] ")[2].strip(_INVISIBLE)
    while " " in name and (stamp := _STAMP.match(name)):
        name = name[stamp.end() :].lstrip()
    return name.rpartition(": ")[2][-MAX_HOST:]

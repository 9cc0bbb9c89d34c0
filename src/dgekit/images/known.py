"""Which format or symbol of the log table a string of an image is.

A string is its format's text, plus the line feed where it has one. Where the table says that a byte is unexplained, one
more byte is allowed; where a source elides a part, or quotes no prefix, the known pieces must stand in order.
"""

from __future__ import annotations

import re
from functools import cache

from dgekit.logs.formats import FORMATS, LogFormat

# one more byte is possible at the end (pipeline 7.3), though the table does not count it as unexplained
_END_OPEN = ("dump.software",)
# sources show one and two spaces
_TWO_SPELLINGS = {"P%i: After  IVP_MULUSAN_2X32: address=0x%x_%x": "indirection.after"}
_ELISION = "..."


def find_format(line: str) -> str | None:
    """The key of the format or symbol that a string (without its line feed) is; None for an unknown string.

    >>> find_format("S: push REGWRITE to DMA[%d] "), find_format("S: begin BEGIN on mariana")
    ('push.regwrite', 'boot.mariana')
    """
    exact = _exact().get(line)
    if exact is not None or len(line) < _shortest():
        return exact
    for row in _with_one_more_byte():
        if len(line) == len(row.text) + 1 and _less_one_byte(line, row.text):
            return row.key
    for key, pattern in _elided():
        if pattern.fullmatch(line):
            return key
    return None


@cache
def _exact() -> dict[str, str]:
    found = {row.text: row.key for row in FORMATS.values() if not row.is_elided}
    return found | _TWO_SPELLINGS


@cache
def _with_one_more_byte() -> tuple[LogFormat, ...]:
    return tuple(row for row in FORMATS.values() if row.is_uncertain or row.key in _END_OPEN)


@cache
def _shortest() -> int:
    """No string below this length needs a look beyond the exact texts."""
    pieces = [len(row.text) for row in _with_one_more_byte()]
    return min([*pieces, *(len(row.text.replace(_ELISION, "")) for row in FORMATS.values() if row.is_elided)])


@cache
def _elided() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((row.key, _pattern(row)) for row in FORMATS.values() if row.is_elided)


def _pattern(row: LogFormat) -> re.Pattern[str]:
    if row.stage == "boot":  # the prefix is not published; one name is the start of the other
        return re.compile(rf".*\b{re.escape(row.text)}\b.*")
    pieces = [re.escape(piece.strip()) for piece in row.text.split(_ELISION)]
    return re.compile(".*".join(pieces))


def _less_one_byte(line: str, text: str) -> bool:
    same = next((i for i, (a, b) in enumerate(zip(line, text, strict=False)) if a != b), len(text))
    return line[same + 1 :] == text[same:]

"""JSON read as a stream: an object whose one long array is given element by element, the rest as values (D89).

A value is decoded by the standard library's scanner in a buffer that slides over the text, so that only one element
is in memory at a time. Strict in the same way as `json_member`: no doubled keys, no NaN, UTF-8 only.
"""

from __future__ import annotations

import codecs
import itertools
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from dgekit.core.errors import InputError
from dgekit.frontends.neff.json_member import MAX_JSON, no_constant, unique_keys
from dgekit.frontends.place import Place, shown

_AHEAD = 1 << 16  # text that is kept ahead of the place where a value begins
_SPACE = re.compile(r"[ \t\n\r]*")
_COMMA = re.compile(r"[ \t\n\r]*,[ \t\n\r]*")
_CUT_SHORT = 16  # a complaint this near to the end of the buffer may be of a token that is not all there yet
_UNTERMINATED = "Unterminated string"
_DECODER = json.JSONDecoder(object_pairs_hook=unique_keys, parse_constant=no_constant)


@dataclass(slots=True)
class ObjectStream:
    """One JSON object from the pieces of its text.

    `elements(key)` gives the elements of the array under `key`; afterwards `values` holds all other members (and
    that of `key` too when it is no array). A text that is no object leaves its value in `other`.
    """

    pieces: Iterable[bytes]
    place: Place
    values: dict[str, Any] = field(default_factory=dict)
    other: Any = None
    _text: str = ""
    _at: int = 0
    _line: int = 1
    _column: int = 0  # characters of this line before the buffer
    _ended: bool = False
    _feed: Iterator[str] = field(default_factory=lambda: iter(()))

    def elements(self, key: str) -> Iterator[Any]:
        """The elements of the array under `key`, in order; reads the whole text. Raises InputError for wrong JSON."""
        self._feed = self._decoded()
        if self._peek() != "{":
            self.other = self._value()
            self._end()
            return
        self._take("{")
        seen: set[str] = set()
        while self._peek() != "}":
            if seen:
                self._take(",")
            name = self._name(seen)
            if name == key and self._peek() == "[":
                yield from self._array()
            else:
                self.values[name] = self._value()
        self._take("}")
        self._end()

    def _name(self, seen: set[str]) -> str:
        if self._peek() != '"':
            raise self._error("Expecting property name enclosed in double quotes")
        name = str(self._value())
        if name in seen:
            raise self._error(f"key {name[:60]!r} is there twice")
        seen.add(name)
        self._peek()
        self._take(":")
        return name

    def _array(self) -> Iterator[Any]:
        self._take("[")
        if self._peek() == "]":
            self._take("]")
            return
        decode, comma = _DECODER.raw_decode, _COMMA.match
        while True:
            value = None
            if len(self._text) - self._at > _AHEAD:  # the common case, without a call
                try:
                    value, end = decode(self._text, self._at)
                except (ValueError, RecursionError):
                    value = self._value()
                else:
                    self._at = end
            else:
                value = self._value()
            yield value
            separator = comma(self._text, self._at) if len(self._text) - self._at > _AHEAD else None
            if separator is not None:
                self._at = separator.end()
                continue
            if self._peek() == "]":
                self._take("]")
                return
            self._take(",")
            self._peek()

    def _value(self) -> Any:
        """The value here, with as much text as it needs, up to the limit of a whole member."""
        self._peek()
        self._fill(_AHEAD)
        while True:
            whole = self._ended
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
                if whole or end < len(self._text):  # a number that ends with the buffer may go on
                    self._at = end
                    return value
            except json.JSONDecodeError as problem:
                near_end = problem.pos > len(self._text) - _CUT_SHORT or problem.msg.startswith(_UNTERMINATED)
                if whole or not near_end:
                    raise self._error(problem.msg, problem.pos) from None
            except RecursionError:
                raise self._error("values are nested too deeply") from None
            except ValueError as problem:
                raise self._error(str(problem)) from None
            have = len(self._text) - self._at
            if have > MAX_JSON:
                raise self.place.error(
                    "limit", f"one value of more than {MAX_JSON} characters", values={"limit": MAX_JSON}
                )
            self._fill(2 * have + 1)

    def _peek(self) -> str:
        """The next character that is no space, not taken; empty at the end."""
        while True:
            found = _SPACE.match(self._text, self._at)
            self._at = found.end() if found else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if self._ended:
                return ""
            self._fill(1)

    def _take(self, wanted: str) -> None:
        if self._peek() != wanted:
            raise self._error(f"Expecting {shown(wanted)} delimiter")
        self._at += 1

    def _end(self) -> None:
        if self._peek():
            raise self._error("Extra data")

    def _fill(self, ahead: int) -> None:
        """Have at least `ahead` characters from here on, unless the text ends before."""
        if self._ended or len(self._text) - self._at >= ahead:
            return
        last = self._text.rfind("\n", 0, self._at)
        self._line += self._text.count("\n", 0, self._at)
        self._column = self._at - last - 1 if last >= 0 else self._column + self._at
        parts = [self._text[self._at :]]
        have = len(parts[0])
        while have < ahead:
            piece = next(self._feed, None)
            if piece is None:
                self._ended = True
                break
            parts.append(piece)
            have += len(piece)
        self._text, self._at = "".join(parts), 0

    def _decoded(self) -> Iterator[str]:
        decoder = codecs.getincrementaldecoder("utf-8")()
        given = 0
        try:
            for piece in itertools.chain(self.pieces, (b"",)):
                begin = given - len(decoder.getstate()[0])  # the last piece may have cut a character
                given += len(piece)
                yield decoder.decode(piece, final=not piece)
        except UnicodeDecodeError as problem:
            at = begin + problem.start
            raise self.place.error("json", f"byte {at} is no UTF-8", values={"offset": at}) from None

    def _error(self, message: str, at: int | None = None) -> InputError:
        position = self._at if at is None else at
        line = self._line + self._text.count("\n", 0, position)
        last = self._text.rfind("\n", 0, position)
        column = position - last if last >= 0 else self._column + position + 1
        return self.place.error("json", f"{message} at line {line}, column {column}")

"""Matchers: every format of the table as a linear-time pattern, derived from its printf form once (pipeline 7.4, D93).

A number is accepted in exactly the form that printf gives it: no leading zeros but those of `%08x`, no value beyond its
width; `%08x` is eight digits, `%p` is `0x..` or `(nil)`, `%s` a closed set where the firmware's is known. So whatever
matches in full renders back to the same text. No pattern repeats a group, so none can run away.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from dgekit.logs.formats import FORMATS, LogFormat
from dgekit.logs.printf import Conversion, split_format

Arg = int | str | None
Reader = Callable[[str], Arg]

HEAD_CHARS = 4  # the index of the table: no head is shorter
ELISION = "..."  # what the source left out, in the texts that are elided

_ROLE = (FORMATS["token.tx"].text, FORMATS["token.rx"].text)
_RING = (FORMATS["token.m2s"].text, FORMATS["token.s2m"].text)
_LEG = (FORMATS["token.rd"].text, FORMATS["token.wr"].text)
_FREE_TEXT, _FILE_NAME = "(.*)", "([^():]*)"
# The texts of every %s, by format; all formats not named here print a role (pipeline 7.4).
_TEXTS: Mapping[str, tuple[Sequence[str] | str, ...]] = {
    "push.generate": (_LEG,),
    "doorbell.rdma_trigger": (_ROLE, _RING),
    "seq.assertion": (_FREE_TEXT, _FILE_NAME),
}
# What sources show in two forms: the exact text, and the pattern that takes both (notes of the table).
_VARIANTS: Mapping[str, tuple[str, str]] = {
    "doorbell.trigger": (r"\ n_desc=", r",?\ n_desc="),
    "indirection.after": (r"After\ IVP", r"After\ \ ?IVP"),
}


@dataclass(frozen=True, slots=True)
class Value:
    """One conversion as a pattern: all its texts (`whole`, one group), the beginnings of one, and how it is read."""

    whole: re.Pattern[str]
    begun: re.Pattern[str]
    read: Reader


@dataclass(frozen=True, slots=True)
class Matcher:
    """One format, ready to match what stands behind the dialect token.

    `head` is the literal before the first value; `parts` are the patterns to be found one after the other, more than
    one only where the source elides text; `literals` and `values` alternate.
    """

    row: LogFormat
    head: str
    literals: tuple[str, ...]
    values: tuple[Value, ...]
    readers: tuple[Reader, ...]
    parts: tuple[re.Pattern[str], ...]
    tail: re.Pattern[str] | None

    @property
    def literal_length(self) -> int:
        """Characters that are always the same: of two formats that match, the one with more of them wins."""
        return sum(map(len, self.literals))

    @property
    def ends_in_value(self) -> bool:
        """True where the last thing printed is a value, which a cut would falsify."""
        return bool(self.values) and not self.literals[-1]

    def match(self, body: str) -> tuple[Arg, ...] | None:
        """The arguments of a body that is all of this format's text, else None."""
        match = self.parts[0].match(body)
        if match is None:
            return None
        found = match.groups()
        for part in self.parts[1:]:
            match = part.search(body, match.end())
            if match is None:
                return None
            found += match.groups()
        return self._read(found)

    def match_cut(self, body: str) -> tuple[Arg, ...] | None:
        """Like `match`, for a body whose last letter may be missing from its last value: None where nothing is left."""
        match = self.tail.match(body) if self.tail is not None else None
        if match is None:
            return None
        *kept, last = match.groups()
        values = self._read((*kept, last or "0"))
        return values if last else (*values[:-1], None)

    def begins_with(self, body: str) -> bool:
        """Whether the body is the beginning of a text of this format, cut anywhere."""
        if self.row.is_elided and self.values:
            return body.startswith(self.head) or self.head.startswith(body)
        place = 0
        for index, literal in enumerate(self.literals):
            rest = body[place : place + len(literal)]
            if len(rest) < len(literal) or place + len(literal) == len(body):
                return literal.startswith(rest)
            if rest != literal:
                return False
            place += len(literal)
            if index == len(self.values):
                return False
            value = self.values[index]
            whole = value.whole.match(body, place)
            if whole is None or whole.end() == len(body):
                return value.begun.fullmatch(body, place) is not None
            place = whole.end()
        return False

    def _read(self, texts: Sequence[str]) -> tuple[Arg, ...]:
        return tuple([read(text) for read, text in zip(self.readers, texts, strict=True)])


@dataclass(frozen=True, slots=True)
class Dialect:
    """The formats of one dialect.

    Those without values by their text, whole (`exact`) and without its last letter (`clipped`); the others by their
    first letters; `open_ended` end in a value that may lack its last digit.
    """

    exact: Mapping[str, Matcher]
    clipped: Mapping[str, Matcher]
    by_head: Mapping[str, tuple[Matcher, ...]]
    all: tuple[Matcher, ...]
    open_ended: tuple[Matcher, ...]

    def match(self, body: str) -> tuple[Matcher, tuple[Arg, ...]] | None:
        """The format that a body is a full text of, the one with the most literal letters first; None for no format."""
        exact = self.exact.get(body)
        if exact is not None:
            return exact, ()
        for matcher in self.by_head.get(body[:HEAD_CHARS], ()):
            args = matcher.match(body)
            if args is not None:
                return matcher, args
        return None

    def match_cut(self, body: str) -> tuple[Matcher, tuple[Arg, ...]] | None:
        """The format of a line whose text has no line feed of its own and that lost its last letter (pipeline 7.1)."""
        if body in self.clipped:
            return self.clipped[body], ()
        for matcher in self.open_ended:
            args = matcher.match_cut(body)
            if args is not None:
                return matcher, args
        return None

    def candidates(self, body: str) -> tuple[Matcher, ...]:
        """Every format whose texts may begin with the body."""
        return tuple(matcher for matcher in self.all if matcher.begins_with(body))


@cache
def dialects() -> Mapping[str, Dialect]:
    """The dialects `S`, `P`, `R`, and the empty one of the boot names, each with its formats."""
    rows: dict[str, list[Matcher]] = {"S": [], "P": [], "R": [], "": []}
    for row in FORMATS.values():
        if row.is_line:
            rows[row.prefix[:1]].append(_matcher(row))
    return {name: _dialect(matchers) for name, matchers in rows.items()}


def _dialect(matchers: list[Matcher]) -> Dialect:
    ordered = sorted(matchers, key=lambda matcher: -matcher.literal_length)
    by_head: dict[str, list[Matcher]] = {}
    for matcher in ordered:
        if matcher.values or matcher.row.is_elided:
            by_head.setdefault(matcher.head[:HEAD_CHARS], []).append(matcher)
    exact = {matcher.head: matcher for matcher in ordered if not matcher.values}
    clipped = {text[:-1]: matcher for text, matcher in exact.items() if not matcher.row.trailing_lf and text}
    open_ended = tuple(matcher for matcher in ordered if matcher.tail is not None)
    return Dialect(exact, clipped, {head: tuple(found) for head, found in by_head.items()}, tuple(ordered), open_ended)


def _matcher(row: LogFormat) -> Matcher:
    literals, conversions = split_format(row.text)
    if row.prefix == "P%i:":
        literals, conversions = (literals[1].removeprefix(": "), *literals[2:]), conversions[1:]
    else:
        literals = (literals[0].removeprefix(f"{row.prefix} "), *literals[1:])
    values = _values(row, conversions)
    pieces = [_escaped(row, literals[0])]
    for value, literal in zip(values, literals[1:], strict=True):
        pieces += (value.whole.pattern, _escaped(row, literal))
    segments = "".join(pieces).split(re.escape(ELISION)) if row.is_elided else ["".join(pieces)]
    tail = None
    if not row.trailing_lf and values and not literals[-1]:
        tail = re.compile("".join(pieces[:-2]) + _optional(values[-1].whole.pattern) + r"\Z")
    # an elided text may end where its source stops
    ends = "" if row.is_elided else r"\Z"
    patterns = [re.compile(segment) for segment in segments[:-1]] + [re.compile(segments[-1] + ends)]
    head = literals[0].partition(ELISION)[0] if values else literals[0]
    return Matcher(row, head, literals, values, tuple(value.read for value in values), tuple(patterns), tail)


def _optional(pattern: str) -> str:
    return f"({pattern[1:-1]}|)"


def _escaped(row: LogFormat, literal: str) -> str:
    escaped = re.escape(literal)
    if row.key in _VARIANTS:
        escaped = escaped.replace(*_VARIANTS[row.key])
    return escaped


def _values(row: LogFormat, conversions: Sequence[Conversion]) -> tuple[Value, ...]:
    texts = iter(_TEXTS.get(row.key, (_ROLE,) * len(conversions)))
    return tuple(
        _text_value(next(texts)) if conversion.kind == "s" else number_value(conversion) for conversion in conversions
    )


def _text_value(texts: Sequence[str] | str) -> Value:
    if isinstance(texts, str):
        return Value(re.compile(texts), re.compile(texts), str)
    begun = sorted({text[:end] for text in texts for end in range(len(text) + 1)})
    return Value(re.compile(f"({'|'.join(texts)})"), re.compile("|".join(map(re.escape, reversed(begun)))), str)


@cache
def number_value(conversion: Conversion) -> Value:
    """The pattern of one numeric conversion: exactly the texts of the numbers that its width holds."""
    bits, kind = conversion.bits, conversion.kind
    if kind == "p":
        digits = f"0x[1-9a-f][0-9a-f]{{0,{bits // 4 - 1}}}"
        begun = re.compile(rf"(?:\((?:n(?:i(?:l\)?)?)?)?|0x?|{digits})?")
        return Value(re.compile(rf"(\(nil\)|{digits})"), begun, _pointer)
    if kind in "xX":
        return _hex_value("0-9a-f" if kind == "x" else "0-9A-F", int(conversion.width or 1), bits // 4)
    if kind == "u":
        plain = _up_to((1 << bits) - 1)
        return Value(re.compile(f"({plain})"), re.compile(f"(?:{plain})?"), int)
    half = 1 << (bits - 1)
    signed = f"{_up_to(half - 1)}|-(?:{_up_to(half).removeprefix('0|')})"
    return Value(re.compile(f"({signed})"), re.compile(f"(?:{signed})?|-"), int)


def _up_to(highest: int) -> str:
    """A pattern of the decimal numbers 0 to `highest`, the longer ones first.

    >>> _up_to(255)
    '0|25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9][0-9]{0,1}'
    """
    digits = str(highest)
    parts = ["0"]
    for place in range(len(digits) - 1, -1, -1):
        low, digit, rest = int(place == 0), int(digits[place]), len(digits) - place - 1
        top = digit if rest == 0 else digit - 1
        if top >= low:
            letters = str(top) if top == low else f"[{low}-{top}]"
            parts.append(digits[:place] + letters + (f"[0-9]{{{rest}}}" if rest > 1 else "[0-9]" * rest))
    if len(digits) > 1:
        parts.append(f"[1-9][0-9]{{0,{len(digits) - 2}}}")
    return "|".join(parts)


def _hex_value(letters: str, width: int, digits: int) -> Value:
    short = f"[{letters}]{{{width}}}"
    begun = re.compile(f"[{letters}]{{0,{digits}}}")
    if width == digits:
        return Value(re.compile(f"({short})"), begun, _hex)
    longer = f"[{letters.replace('0-9', '1-9')}][{letters}]{{{width},{digits - 1}}}"
    return Value(re.compile(f"({longer}|{short})"), begun, _hex)


def _hex(text: str) -> int:
    return int(text, 16)


def _pointer(text: str) -> int:
    return 0 if text == "(nil)" else int(text, 16)

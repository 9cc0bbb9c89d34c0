"""What kind of input a file is, and words in any of their forms as plain bytes.

Kinds: `toml` (a transfer file), `neff`, `py` (an NKI-style script), `jsonl` (word objects, one a line), `hex` (text),
`bin` (words as bytes).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Literal, get_args

from dgekit.core.errors import DgeError, InputError, UsageError
from dgekit.frontends.neff.header import GZIP_MAGIC, HEADER_SIZE, HEADER_SIZE_OFFSET

InputKind = Literal["toml", "neff", "py", "jsonl", "hex", "bin"]
KINDS: tuple[InputKind, ...] = get_args(InputKind)
WORD_KINDS: tuple[InputKind, ...] = ("jsonl", "hex", "bin")
AUTO = "auto"
_USTAR_AT = HEADER_SIZE + 257
_LOOK = 1 << 16  # text is judged by its beginning
_HEX_LINE = re.compile(r"\s*(?:(?:0[xX])?[0-9A-Fa-f]+:)?[\s0-9A-Fa-f]*")
_OFFSET = re.compile(r"\s*(?:0[xX])?[0-9A-Fa-f]+:")
_SCRIPT_NAME = re.compile(r".+\.py(:\w+)?")  # a script, with the function to call
_TOML_LINE = re.compile(r"""\s*(?:\[\[?[^\]\n]+\]\]?|(?:[A-Za-z0-9_.-]+|"[^"\n]*")\s*=)""")


def detect(data: bytes, name: str = "") -> InputKind:
    """The kind of input; `.py`, `.toml` and `.neff` in its `name` decide, else its bytes do.

    >>> detect(b"b8 10 00 00"), detect(b'{"kind": "DMA_DIRECT2D"}'), detect(b"generation = 'v3'"), detect(bytes(64))
    ('hex', 'jsonl', 'toml', 'bin')
    """
    if _is_neff(data) or name.endswith(".neff"):
        return "neff"
    if _SCRIPT_NAME.fullmatch(name):
        return "py"
    if name.endswith(".toml"):
        return "toml"
    text = _as_text(data[:_LOOK])
    if text is None:
        return "bin"
    if text.lstrip().startswith("{"):
        return "jsonl"
    lines = [line for line in (_without_comment(line) for line in text.splitlines()) if line.strip()]
    if len(data) > _LOOK and len(lines) > 1:
        lines.pop()  # cut in the middle
    if lines and all(_HEX_LINE.fullmatch(line) for line in lines):
        return "hex"
    if lines and _TOML_LINE.match(lines[0]):
        return "toml"
    return "bin" if lines else "hex"


def _is_neff(data: bytes) -> bool:
    if data[HEADER_SIZE_OFFSET : HEADER_SIZE_OFFSET + 8] != HEADER_SIZE.to_bytes(8, "little"):
        return False
    if len(data) <= _USTAR_AT + 5:  # cut short: the version in front decides, which is no opcode
        return data[1:HEADER_SIZE_OFFSET] == bytes(HEADER_SIZE_OFFSET - 1)
    return data[HEADER_SIZE : HEADER_SIZE + 2] == GZIP_MAGIC or data[_USTAR_AT : _USTAR_AT + 5] == b"ustar"


def _as_text(data: bytes) -> str | None:
    """The bytes as text, or None when they hold control characters or are no UTF-8 (a cut last character is fine)."""
    for cut in range(4):
        try:
            text = data[: len(data) - cut].decode("utf-8")
        except UnicodeDecodeError:
            continue
        return None if any(ord(letter) < 32 and letter not in "\t\n\r\f" for letter in text) else text
    return None


def _without_comment(line: str) -> str:
    return line.split("#", 1)[0]


def check_kind(name: str) -> InputKind:
    """The kind of that name; raises UsageError listing them."""
    for kind in KINDS:
        if kind == name:
            return kind
    raise UsageError(f"there is no input format {name!r}", rule="input.format", fix="one of " + ", ".join(KINDS))


def read_words_input(data: bytes, format: str = AUTO, name: str = "<input>") -> bytes:
    """Words as plain bytes, from JSON lines, hex text or raw binary; `format` forces the kind.

    Hex text may hold spaces, `00:` offsets at the start of a line and `#` comments. Raises InputError naming the line,
    UsageError for a format that is none or holds no words.
    """
    from dgekit.words.text import word_from_json

    return read_records(data, lambda obj: word_from_json(obj).encode(), format, name)


def read_records(
    data: bytes, from_json: Callable[[Any], bytes], format: str = AUTO, name: str = "<input>", what: str = "words"
) -> bytes:
    """Like `read_words_input` for records of any kind: `from_json` gives the bytes of one line's object."""
    kind = detect(data, name) if format in ("", AUTO) else check_kind(format)
    if kind == "bin":
        return data
    if kind not in WORD_KINDS:
        raise UsageError(
            f"{name} is a {kind} input, not {what}", rule="input.format", fix="--format " + "|".join(WORD_KINDS)
        )
    lines = _lines(data, name)
    return _from_json(lines, from_json, name) if kind == "jsonl" else _from_hex(lines, name)


def _lines(data: bytes, name: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(data.splitlines(), 1):
        try:
            yield number, line.decode("utf-8")
        except UnicodeDecodeError:
            raise _bad_line(name, number, "the line is no UTF-8") from None


def _from_hex(lines: Iterator[tuple[int, str]], name: str) -> bytes:
    found = bytearray()
    for number, line in lines:
        digits = "".join(_OFFSET.sub("", _without_comment(line), count=1).split())
        if len(digits) % 2:
            raise _bad_line(name, number, f"{len(digits)} hex digits are no whole bytes")
        try:
            found += bytes.fromhex(digits)
        except ValueError:
            raise _bad_line(name, number, "not hex digits") from None
    return bytes(found)


def _from_json(lines: Iterator[tuple[int, str]], from_json: Callable[[Any], bytes], name: str) -> bytes:
    import json

    found = bytearray()
    for number, line in lines:
        if not line.strip():
            continue
        try:
            found += from_json(json.loads(line))
        except DgeError as problem:
            raise _bad_line(name, number, problem.message, problem) from None
        except (ValueError, RecursionError) as problem:
            raise _bad_line(name, number, f"no JSON: {str(problem)[:80]}") from None
    return bytes(found)


def _bad_line(name: str, number: int, message: str, cause: DgeError | None = None) -> InputError:
    rule = cause.rule if cause else "input.line"
    return InputError(
        message,
        rule=rule,
        where=f"{name}: line {number}",
        values={"line": number, **(cause.values if cause else {})},
        fix=cause.fix if cause else "",
    )

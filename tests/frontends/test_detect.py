"""Input kinds, and words in each of their forms as the same bytes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgekit.core.errors import DgeError, InputError, UsageError
from dgekit.frontends.detect import KINDS, check_kind, detect, read_words_input
from dgekit.frontends.neff.write import build_neff
from dgekit.words.codec import decode_word
from dgekit.words.text import word_to_json

EXAMPLES = Path(__file__).parents[2] / "examples"
WORD = """
00: b8 10 00 00 00 00 00 00 00 00 00 00 00 0a 01 00
10: 00 00 00 00 01 00 00 00 01 00 00 00 80 00 00 00
20: 80 00 01 00 04 00 00 00 00 00 00 00 20 00 00 00
30: 01 00 00 00 80 00 00 00 80 00 01 00 04 00 0a 0a
"""
BYTES = bytes.fromhex("".join(line.partition(":")[2] for line in WORD.splitlines()))
JSON_LINE = json.dumps(word_to_json(decode_word(BYTES))).encode()


@pytest.mark.parametrize(
    ("data", "name", "kind"),
    [
        (WORD.encode(), "", "hex"),
        (BYTES.hex().encode(), "", "hex"),
        (b"0x00: b8 10  # opcode\n\n", "", "hex"),
        (b"", "", "hex"),
        (b"", "p.neff", "neff"),
        (b"cut short", "p.neff", "neff"),
        (b"", "p.toml", "toml"),
        (b"generation = 'trn2'\0", "p.toml", "toml"),
        (b"# only a comment\n", "p.toml", "toml"),
        (BYTES, "", "bin"),
        (b"\xff" * 64, "", "bin"),
        (b"no words at all", "", "bin"),
        (JSON_LINE + b"\n" + JSON_LINE, "", "jsonl"),
        (b'\n{"kind": "X"}', "", "jsonl"),
        (b"# comment\ngeneration = 'trn2'\n", "", "toml"),
        (b"[[transfers]]\n", "", "toml"),
        (b"[tensors.x]\n", "", "toml"),
        (b"ab = 1\n", "", "toml"),
        (build_neff({"a": b""}), "", "neff"),
        (build_neff({"a": b""}, compress=False), "", "neff"),
        (bytes(8) + (1024).to_bytes(8, "little") + bytes(2000), "", "bin"),
        (b"b8 " * 100_000 + b"\n", "", "hex"),
        (b"b8 10 \n" * 100_000, "", "hex"),
    ],
)
def test_kinds(data: bytes, name: str, kind: str) -> None:
    assert detect(data, name) == kind


def test_examples_are_told() -> None:
    for path in EXAMPLES.iterdir():
        if path.suffix in (".toml", ".neff"):
            assert detect(path.read_bytes()) == path.suffix[1:]


@pytest.mark.parametrize("data", [WORD.encode(), BYTES.hex(" ").encode(), BYTES, JSON_LINE, JSON_LINE + b"\n\n"])
def test_each_form_gives_the_same_word(data: bytes) -> None:
    assert read_words_input(data) == BYTES


def test_a_format_wins_over_the_guess() -> None:
    assert read_words_input(b"b810", "bin") == b"b810"
    assert read_words_input(b"b810", "hex") == b"\xb8\x10"


@pytest.mark.parametrize(
    ("data", "format", "rule", "line"),
    [
        (b"b8\nb8 1\n", "hex", "input.line", 2),
        (b"b8\nzz\n", "hex", "input.line", 2),
        (b"b8\n\xff\xfe", "hex", "input.line", 2),
        (b"{", "jsonl", "input.line", 1),
        (b"[" * 100_000, "jsonl", "input.line", 1),
        (b"\n\n[]", "jsonl", "words.json", 3),
        (b'{"kind": "NO_WORD", "fields": {}}', "jsonl", None, 1),
        (b'{"kind": "DMA_DIRECT2D", "fields": {"semaphore": 256}}', "jsonl", None, 1),
    ],
)
def test_wrong_words_name_their_line(data: bytes, format: str, rule: str | None, line: int) -> None:
    with pytest.raises(InputError) as caught:
        read_words_input(data, format, "w.txt")
    assert caught.value.where == f"w.txt: line {line}" and caught.value.values["line"] == line
    assert rule is None or caught.value.rule == rule


def test_formats_that_hold_no_words_are_refused() -> None:
    for data, format in ((b"generation = 'v3'", "auto"), (BYTES, "neff"), (BYTES, "xml")):
        with pytest.raises(UsageError) as caught:
            read_words_input(data, format)
        assert caught.value.rule == "input.format"
    assert [check_kind(kind) for kind in KINDS] == list(KINDS)


@settings(max_examples=60, deadline=None)
@given(st.one_of(st.binary(max_size=200), st.text(max_size=100).map(str.encode)), st.sampled_from(["auto", *KINDS]))
def test_anything_is_read_or_refused(data: bytes, format: str) -> None:
    assert detect(data) in KINDS
    try:
        assert isinstance(read_words_input(data, format), bytes)
    except DgeError as refused:
        assert refused.rule

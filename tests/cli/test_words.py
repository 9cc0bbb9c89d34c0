"""decode, encode, diff and check on words: every form in, every form out, the pair an identity."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Dge = Callable[..., Any]
SPEC = json.loads((Path(__file__).parents[1] / "golden" / "spec" / "isa-words.json").read_text(encoding="utf-8"))
EXAMPLES = {name: bytes.fromhex(text) for name, text in SPEC["examples"].items()}
WORDS = b"".join(EXAMPLES.values())
RESOLVED = EXAMPLES["B resolved 0xb8, same copy"]
PSEUDO = EXAMPLES["A pseudo 0xd4, 2-D memcpy"]
OPAQUE = b"\x21" + bytes(range(63))


def hex_lines(data: bytes) -> bytes:
    return "".join(f"{data[at : at + 64].hex()}\n" for at in range(0, len(data), 64)).encode()


@pytest.fixture
def files(tmp_path: Path, dge: Dge) -> dict[str, Path]:
    """The same words in each form."""
    contents = {"bin": WORDS, "hex": hex_lines(WORDS), "jsonl": dge("decode", "--json", stdin=WORDS).out}
    for form, data in contents.items():
        (tmp_path / f"words.{form}").write_bytes(data)
    return {form: tmp_path / f"words.{form}" for form in contents}


@pytest.mark.parametrize("form", ["bin", "hex", "jsonl"])
@pytest.mark.parametrize("told", [True, False])
def test_decode_then_encode_is_the_identity(form: str, told: bool, files: dict[str, Path], dge: Dge) -> None:
    decoded = dge("decode", files[form], "--json", *(["--format", form] if told else []))
    assert decoded.code == 0
    objects = decoded.json_lines("decode")
    assert [one["offset"] for one in objects] == list(range(0, len(WORDS), 64))
    assert b"".join(bytes.fromhex(one["hex"]) for one in objects) == WORDS
    assert dge("encode", "--format", "bin", stdin=decoded.out).out == WORDS
    assert dge("encode", stdin=decoded.out).out == hex_lines(WORDS)
    again = dge("encode", "-", "--json", stdin=decoded.out)
    assert [one["fields"] for one in again.json_lines("decode")] == [one["fields"] for one in objects]


def test_unknown_opcodes_and_an_odd_end(dge: Dge) -> None:
    decoded = dge("decode", "--json", stdin=OPAQUE + b"\xb8\x10")
    assert decoded.code == 1  # the part of a word
    assert "isa.stream.partial" in decoded.err
    (word,) = decoded.json_lines("decode")
    assert word["kind"] == "OPAQUE"
    assert dge("encode", "--format", "bin", stdin=decoded.out).out == OPAQUE


def test_decode_for_people(dge: Dge) -> None:
    answer = dge("decode", RESOLVED.hex(" "))
    assert answer.code == 0
    assert answer.lines[0] == "0x0: DMA_DIRECT2D (0xb8 DMAMEMCPY)"
    row = next(line for line in answer.lines if " src_elem_size " in line)
    assert row.split()[:3] == ["36", "src_elem_size", "4"]
    assert answer.text == dge("decode", "--format", "hex", stdin=RESOLVED.hex().encode()).text


def test_decode_can_check(dge: Dge) -> None:
    broken = bytearray(RESOLVED)
    broken[36:38] = bytes([3, 0])  # a 3-byte source element of FP32
    quiet, checked = dge("decode", broken.hex()), dge("decode", broken.hex(), "--check", "--json")
    assert (quiet.code, checked.code) == (0, 1)
    (word,) = checked.json_lines("decode")
    assert any(issue["severity"] == "error" for issue in word["issues"])


def test_encode_of_assignments(dge: Dge) -> None:
    """Word B of isa-words 6.1, field by field."""
    answer = dge(
        "encode", "DMA_DIRECT2D", "semaphore=10", "sem_increment=1", "src_elem_size=4", "dst_elem_size=4",
        "src_start_addr=0x100000000", "dst_start_addr=0x2000000000", "src_num_elem=128,1", "dst_num_elem=128,1",
        "src_step_elem=1,128", "dst_step_elem=1,128", "in_dtype=FP32", "out_dtype=FP32",
    )  # fmt: skip
    assert (answer.code, answer.err) == (0, "")
    assert bytes.fromhex(answer.text) == RESOLVED


@pytest.mark.parametrize(
    ("words", "rule", "near"),
    [
        (["DMA_DIRECT2D", "semaphor=10"], "[", "write semaphore"),
        (["DMA_DIRECT2D", "semaphore=256"], "layout.range", ""),
        (["DMA_DIRECT2D", "src_num_elem=65536,1"], "layout.range", ""),
        (["DMA_DIRECT2D", "src_bound_reg.bc_reg=64"], "layout.range", ""),
        (["DMA_DIRECT2D", "semaphore"], "[", ""),
        (["DMA_DIRECT2X", "semaphore=1"], "[", "DMA_DIRECT2D"),
    ],
)
def test_encode_refuses(words: list[str], rule: str, near: str, dge: Dge) -> None:
    answer = dge("encode", *words)
    assert answer.code in (1, 2)
    assert answer.out == b""
    assert answer.err.startswith("dge: ") and answer.err.count("\n") == 1
    assert rule in answer.err and near in answer.err


def test_encode_to_a_file(tmp_path: Path, dge: Dge) -> None:
    target = tmp_path / "word.bin"
    assert dge("encode", "DMA_DIRECT2D", "semaphore=10", "--format", "bin", "-o", target).code == 0
    assert len(target.read_bytes()) == 64
    assert [path.name for path in tmp_path.iterdir()] == ["word.bin"]


def test_diff(tmp_path: Path, dge: Dge) -> None:
    other = bytearray(RESOLVED)
    other[13] = 11
    assert dge("diff", RESOLVED.hex(), RESOLVED.hex()).code == 0
    answer = dge("diff", RESOLVED.hex(), other.hex())
    assert (answer.code, answer.lines) == (1, ["0x0000  semaphore: 10 -> 11"])
    same = dge("diff", "-", RESOLVED.hex(), "--json", stdin=RESOLVED)
    assert (same.code, same.json("diff")) == (0, [])
    path = tmp_path / "b.bin"
    path.write_bytes(RESOLVED + bytes(other))
    found = dge("diff", path, "-", "--json", stdin=RESOLVED + RESOLVED)
    assert found.code == 1
    assert found.json("diff") == [{"offset": 64, "path": "semaphore", "left": 11, "right": 10}]


def test_diff_of_other_kinds_and_sizes(dge: Dge) -> None:
    kinds = dge("diff", RESOLVED.hex(), PSEUDO.hex(), "--json")
    assert kinds.code == 1
    assert kinds.json("diff")[0]["path"] == "kind"
    sizes = dge("diff", RESOLVED.hex(), WORDS.hex())
    assert sizes.code == 3
    assert "diff.size" in sizes.err


def test_check_of_words(dge: Dge) -> None:
    clean = dge("check", stdin=RESOLVED)
    assert clean.code == 0
    assert clean.lines[-1].startswith("1 words: 0 errors")
    everything = dge("check", "--all", "--json", stdin=RESOLVED).json("check")["issues"]
    assert {issue["severity"] for issue in everything} >= {"unspecified"}
    broken = bytearray(RESOLVED)
    broken[36:38] = bytes([3, 0])
    answer = dge("check", broken.hex(), "--json")
    assert answer.code == 1
    assert any(issue["severity"] == "error" and issue["rule"] for issue in answer.json("check")["issues"])


def test_the_generation_decides_what_a_check_says(dge: Dge) -> None:
    """The v5 words exist on MAVERICK only."""
    word = EXAMPLES["I v5 0xb9, 2-D copy"].hex()
    assert dge("check", word, "--gen", "MAVERICK").code == 0
    assert dge("check", word, "--gen", "trn2").code == 1
    assert dge("--gen", "trn2", "check", word).code == 1


@pytest.mark.parametrize(
    ("data", "form", "rule"),
    [
        (b"b8 1", "hex", "input.line"),
        (b"zz" * 64, "hex", "input.line"),
        (b'{"kind": "DMA_DIRECT2D"', "jsonl", "input.line"),
        (b"[" * 100_000, "jsonl", "input.line"),
        (b'{"kind": "DMA_DIRECT2X", "fields": {}}', "jsonl", "DMA_DIRECT2D"),
        (b'{"kind": "DMA_DIRECT2D", "fields": {"semaphor": 1}}', "jsonl", "write semaphore"),
        (b'{"kind": "DMA_DIRECT2D", "fields": {"semaphore": 1e400}}', "jsonl", "line 1"),
        (b'{"kind": "DMA_DIRECT2D", "fields": {"semaphore": NaN}}', "jsonl", "line 1"),
        (b"\xff\xfe", "jsonl", "UTF-8"),
        (b"generation = 'v3'", "auto", "input.format"),
    ],
)
def test_decode_refuses(data: bytes, form: str, rule: str, dge: Dge) -> None:
    answer = dge("decode", "-", "--format", form, stdin=data)
    assert answer.code in (2, 3)
    assert answer.err.startswith("dge: <stdin>") and answer.err.count("\n") == 1
    assert rule in answer.err


def test_lists_may_have_brackets(dge: Dge) -> None:
    """`src_step_elem=[4,1]`, as JSON and the transfer file write it, is the same as `src_step_elem=4,1`."""
    plain = dge("encode", "DMA_DIRECT2D", "src_step_elem=4,1", "src_num_elem=128,1")
    assert plain.code == 0
    assert dge("encode", "DMA_DIRECT2D", "src_step_elem=[4, 1]", "src_num_elem=[128,1]").out == plain.out


def test_a_name_that_is_no_file_and_no_word(dge: Dge) -> None:
    answer = dge("encode", "DMA_DIRECT3D")
    assert answer.code == 3 and "no word of that name [input.file] Fix: write DMA_DIRECT2D" in answer.err


@pytest.mark.parametrize(
    ("rule", "words"), [("dec.D24", "dge choices bound_address"), ("pipeline.6.1", "explained by the issue")]
)
def test_rules_of_other_chapters_say_where_they_are_explained(rule: str, words: str, dge: Dge) -> None:
    answer = dge("spec", rule)
    assert answer.code == 2 and words in answer.err and "[spec.name]" in answer.err

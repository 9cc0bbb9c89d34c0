"""Every parser on random and on mutated input: an answer or a DgeError, in bounded time and memory."""

from __future__ import annotations

import json
import random
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dgekit.advise.rings import neff_rings
from dgekit.core.choices import Choices
from dgekit.core.errors import Issue
from dgekit.core.generations import GENERATIONS
from dgekit.descriptors.completion import CompletionEntry
from dgekit.descriptors.decode import bd_line, bd_to_json, decode_bd
from dgekit.descriptors.notification import decode_record
from dgekit.export.neff_dump import dump
from dgekit.export.neff_info import neff_lines, neff_to_json
from dgekit.export.neff_rings import rings_to_json
from dgekit.frontends.detect import KINDS, WORD_KINDS, detect, read_words_input
from dgekit.frontends.load import load_program
from dgekit.frontends.neff.checks import check_neff
from dgekit.frontends.neff.header import HEADER_SIZE
from dgekit.frontends.neff.opened import open_neff
from dgekit.frontends.neff.read import Neff, read_neff
from dgekit.frontends.neff.variables import member_contents
from dgekit.frontends.neff.write import build_neff
from dgekit.frontends.neff_run import workload
from dgekit.frontends.toml_file import loads
from dgekit.machine.contents import load_npy
from dgekit.words.checks import check_stream
from dgekit.words.codec import decode_word
from dgekit.words.columns import decode_columns, encode_columns
from dgekit.words.describe import describe, names
from dgekit.words.names import all_words
from dgekit.words.stream import split_stream
from dgekit.words.structs import word_classes
from dgekit.words.text import diff_words, format_word, word_from_assignments, word_from_json, word_to_json

EXAMPLES = Path(__file__).parents[2] / "examples"
GRADIENT = (EXAMPLES / "gradient.neff").read_bytes()
PROGRAMS = [path.read_text(encoding="utf-8") for path in sorted(EXAMPLES.glob("*.toml"))]
OPCODES = sorted({code for cls in word_classes() for code in [cls().encode()[0]]})
COUNTS = [pytest.param(150, id="quick"), pytest.param(1000, id="long", marks=pytest.mark.slow)]
many = pytest.mark.parametrize("count", COUNTS)
Holds = Callable[..., Any]
Mutate = Callable[[bytes, random.Random], bytes]
MutateText = Callable[[str, random.Random], str]


def seeds(count: int) -> Iterator[random.Random]:
    return (random.Random(seed) for seed in range(count))


def some_word(rng: random.Random) -> bytes:
    """A random body, mostly behind a known opcode."""
    body = rng.randbytes(63) if rng.random() < 0.7 else bytes(rng.choice((0, 0, 0, 1, 255)) for _ in range(63))
    return bytes([rng.choice(OPCODES) if rng.random() < 0.9 else rng.randrange(256)]) + body


@many
def test_words(count: int, holds: Holds) -> None:
    for rng in seeds(4 * count):
        data = some_word(rng)
        word = decode_word(data)
        assert word.encode() == data
        assert decode_word(word_from_json(json.loads(json.dumps(word_to_json(word)))).encode()) == word
        assert format_word(word) and not diff_words(word, word)
    for rng in seeds(count):
        holds(decode_word, rng.randbytes(rng.randrange(200)))


@many
def test_streams_are_split_and_checked(count: int, holds: Holds) -> None:
    for rng in seeds(count):
        data = b"".join(some_word(rng) for _ in range(rng.randrange(5))) + rng.randbytes(rng.choice((0, 0, 1, 63)))
        stream = split_stream(data)
        assert (
            b"".join(w.encode() + (e.encode() if e else b"") for _, w, e in stream.items)
            == data[: len(data) // 64 * 64]
        )
        check_stream(stream, rng.choice(GENERATIONS), Choices())


@many
def test_columns(count: int, holds: Holds) -> None:
    for rng in seeds(max(1, count // 10)):
        data = b"".join(some_word(rng) for _ in range(rng.randrange(1, 40)))
        assert encode_columns(decode_columns(data)).tobytes() == data
        holds(decode_columns, rng.randbytes(rng.randrange(300)))


def mutated_object(value: Any, rng: random.Random) -> Any:
    """A JSON value with one leaf or key replaced."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(list(value))
        found = dict(value)
        inner = found.pop(key)
        if rng.random() < 0.8:
            found[key if rng.random() < 0.9 else key + "x"] = mutated_object(inner, rng)
        return found
    if isinstance(value, list) and value and rng.random() < 0.7:
        at = rng.randrange(len(value))
        return [*value[:at], mutated_object(value[at], rng), *value[at + rng.randrange(2) :]]
    strange = (None, True, -1, 1 << 80, 1.5, float("nan"), "", "x", "DMA_DIRECT2D", [], {}, [1] * 20, {"a": 1}, "0x10")
    return rng.choice(strange)


@many
def test_word_objects(count: int, holds: Holds) -> None:
    for rng in seeds(4 * count):
        thing = mutated_object(word_to_json(decode_word(some_word(rng))), rng)
        word = holds(word_from_json, thing)
        assert word is None or len(word.encode()) == 64


@many
def test_assignments(count: int, holds: Holds, loose_text: Callable[[random.Random], str]) -> None:
    values = [
        "1",
        "-1",
        "0x10",
        "var:1+2",
        "reg:1,2",
        "table:3+4",
        "var:",
        "reg:1",
        "table:x",
        "1,2",
        "1,2,3,4,5",
        "",
        "FP32",
        "9" * 5000,
    ]
    for rng in seeds(4 * count):
        kind = rng.choice(all_words())
        fields = [field.name for field in kind.layout.fields]
        path = ".".join(rng.choices([*fields, "events", "wait_mode", "[0]", "x"], k=rng.choice((1, 1, 1, 2))))
        text = f"{path}={rng.choice([*values, loose_text(rng)])}" if rng.random() < 0.9 else loose_text(rng)
        word = holds(
            word_from_assignments, rng.choice([kind.kind, loose_text(rng)]) if rng.random() < 0.1 else kind.kind, [text]
        )
        assert word is None or len(word.encode()) == 64


@many
def test_descriptions(
    count: int, holds: Holds, mutated_text: MutateText, loose_text: Callable[[random.Random], str]
) -> None:
    known = names()
    for rng in seeds(count):
        name = rng.choice(known)
        for text in (name[: rng.randrange(len(name) + 1)], name.swapcase(), loose_text(rng)):
            holds(lambda text: list(describe(text).lines()), text)


@many
def test_transfer_files(
    count: int, holds: Holds, mutated_text: MutateText, loose_text: Callable[[random.Random], str]
) -> None:
    for rng in seeds(2 * count):
        holds(loads, mutated_text(rng.choice(PROGRAMS), rng), EXAMPLES)
        holds(loads, loose_text(rng))


@many
def test_neff_bytes(count: int, holds: Holds, mutated: Mutate) -> None:
    plain = build_neff(dict(read_neff(GRADIENT).members), compress=False)
    for rng in seeds(count):
        for start in (GRADIENT, plain):
            holds(opened, mutated(start, rng))
        holds(opened, GRADIENT[:HEADER_SIZE] + rng.randbytes(rng.randrange(2000)))


@many
def test_neff_members(count: int, holds: Holds, mutated: Mutate, mutated_text: MutateText) -> None:
    members = dict(read_neff(GRADIENT).members)
    for rng in seeds(count):
        changed = dict(members)
        for name in rng.sample([n for n in members if not n.endswith("/")], 2):
            if name.endswith(".json"):
                content = json.loads(members[name])
                changed[name] = json.dumps(mutated_object(content, rng)).encode()
                if rng.random() < 0.3:
                    changed[name] = mutated_text(members[name].decode(), rng).encode()
            elif rng.random() < 0.3:
                del changed[name]
            else:
                changed[name] = mutated(members[name], rng)
        holds(opened, build_neff(changed))


def opened(data: bytes) -> None:
    """All that reads a NEFF, up to the program it is."""
    found: list[Issue] = []
    lenient = open_neff(data, found=found)
    json.dumps([issue.to_json() for issue in (*found, *check_neff(lenient))])
    json.dumps(rings_to_json(neff_rings(lenient)))
    json.dumps([record.to_json() for record in dump(open_neff(data))])
    info = neff_to_json(open_neff(data))
    json.dumps(info)
    assert list(neff_lines(info))
    neff: Neff = read_neff(data)
    workload(neff, memory_limit=1 << 26)


@many
def test_detection_and_programs(
    count: int, holds: Holds, mutated: Mutate, loose_text: Callable[[random.Random], str]
) -> None:
    word = some_word(random.Random(1))
    starts = [
        word * 3,
        word.hex().encode(),
        json.dumps(word_to_json(decode_word(word))).encode(),
        GRADIENT,
        PROGRAMS[0].encode(),
    ]
    for rng in seeds(count):
        data = mutated(rng.choice(starts), rng) if rng.random() < 0.7 else loose_text(rng).encode()
        assert detect(data) in KINDS
        for form in ("auto", rng.choice(WORD_KINDS)):
            holds(read_words_input, data, form)
        holds(load_program, data, rng.choice(["a", "a.toml", "b.neff"]))


@many
def test_descriptors_and_records(count: int, holds: Holds) -> None:
    for rng in seeds(2 * count):
        data = rng.randbytes(16) if rng.random() < 0.9 else rng.randbytes(rng.randrange(40))
        for leg in ("m2s", "s2m"):
            holds(lambda data, leg=leg: (bd_to_json(data, leg), bd_line(data, leg)), data)
            if len(data) == 16:
                assert decode_bd(data, leg).encode() == data
        if len(data) == 16:
            assert CompletionEntry.decode(data).encode() == data
            assert decode_record(data).encode() == data
        holds(CompletionEntry.decode, data)
        holds(decode_record, data)


def test_arrays_that_are_no_arrays(tmp_path: Path, holds: Holds, mutated: Mutate) -> None:
    path = tmp_path / "x.npy"
    np.save(path, np.arange(10, dtype=np.float32))
    good = path.read_bytes()
    for rng in seeds(300):
        path.write_bytes(mutated(good, rng))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            holds(load_npy, path, "here")
            holds(member_contents, path.read_bytes(), "x.npy", "here")

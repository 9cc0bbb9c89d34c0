"""The published schemas: stored as derived, and true of what the tool reads and prints."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from schema_checker import problems

from dgekit.core.choices import CHOICES
from dgekit.core.errors import InputError, Issue, UsageError
from dgekit.export.publish import SCHEMAS, schema_text, stored_schema, write_schemas
from dgekit.export.run_json import run_to_json
from dgekit.frontends.neff.read import read_neff
from dgekit.frontends.neff_run import workload
from dgekit.frontends.toml_file import load, loads
from dgekit.machine.session import run_workload
from dgekit.words.codec import decode_word
from dgekit.words.text import word_to_json

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize("name", SCHEMAS)
def test_stored_as_derived(name: str) -> None:
    assert json.loads(schema_text(name)) == stored_schema(name)
    assert stored_schema(name)["$id"] == f"dgekit.{name}/1"


def test_writing_them(tmp_path: Path) -> None:
    write_schemas(tmp_path)
    assert {path.stem for path in tmp_path.iterdir()} == set(SCHEMAS)


def test_unknown_names() -> None:
    for ask in (schema_text, stored_schema):
        with pytest.raises(UsageError) as caught:
            ask("nothing")
        assert caught.value.rule == "dge.schema"


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.toml")), ids=lambda path: path.name)
def test_examples_follow_the_program_schema(path: Path) -> None:
    assert problems(tomllib.loads(path.read_text()), stored_schema("program")) == []


@pytest.mark.parametrize(
    "text",
    [
        "generatio = 'v3'",
        "transfers = 3",
        "[[transfers]]\nsemaphore = 256",
        "[[transfers]]\nsemaphore = true",
        "[[transfers]]\nmode = 'fast'",
        "[[transfers]]\nqueue = ''",
        "[[transfers]]\nsrc = { tensor = 'x', pattern = [[1]] }",
        "[[transfers]]\nsrc = { offset = 1 }",
        "[[transfers]]\nwait = [{ semaphore = 1 }]",
        "[tensors.x]\nspace = 'hbm'",
        "[registers]\nr5 = 1",
        "[registers]\n5 = -1",
        "[[shape_registers]]\nindex = 4",
    ],
)
def test_schema_and_loader_refuse_alike(text: str) -> None:
    assert problems(tomllib.loads(text), stored_schema("program"))
    with pytest.raises(InputError):
        loads(text)


def test_every_key_is_described() -> None:
    def described(schema: Any) -> None:
        for one in schema.get("properties", {}).values():
            assert one["description"]
            for inner in [one, one.get("items", {}), one.get("additionalProperties", {}), *one.get("anyOf", [])]:
                if isinstance(inner, dict):
                    described(inner)

    described(stored_schema("program"))


def test_decoded_words_follow_their_schema() -> None:
    issue = Issue("isa.C1", "error", "text", "where", {"a": 1})
    for word in (
        bytes.fromhex("b810") + bytes(62),
        b"\xf0\x10" + bytes(62),
        b"\x21" * 64,
        bytes(64),
        b"\xda" + bytes(63),
    ):
        line = word_to_json(decode_word(word), 64, [issue])
        assert problems(json.loads(json.dumps(line)), stored_schema("decode")) == []
    assert problems({"offset": 0}, stored_schema("decode"))


def test_issues_follow_their_schema() -> None:
    for severity in ("error", "warning", "advice", "unspecified"):
        assert problems(Issue("a.b", severity, "m").to_json(), stored_schema("issue")) == []
    assert problems({**Issue("a.b", "error", "m").to_json(), "severity": "fatal"}, stored_schema("issue"))


def run_object() -> dict[str, Any]:
    """A run as the surface describes it."""
    return {
        "schema": "dgekit.run/1",
        "generation": "CAYMAN",
        "choices": {name: choice.default for name, choice in CHOICES.items()},
        "transfers": [
            {
                "name": "load",
                "where": "prog.toml: transfers[0]",
                "kind": "copy",
                "mode": "unknown",
                "backend": "pool",
                "words": {"pseudo": ["d4" * 64], "resolved": ["b8" * 64]},
                "program": [
                    {"op": "REGWRITE", "dma": 0},
                    {"op": "GENERATE", "dma": 0, "dir": "RD", "addr": "0x100000000", "elem_size": 4, "sem_num": 10},
                    {"op": "DIMPUSH", "dma": 0, "num": [128, 128], "step": [1, 1]},
                ],
                "descriptors": {
                    "m2s": 1,
                    "s2m": 1,
                    "bytes": 512,
                    "per_engine": [{"engine": 0, "m2s": 1, "s2m": 1, "bytes": 512}],
                },
                "lossy": 0,
                "status": "done",
                "issues": [],
            }
        ],
        "semaphores": {"10": 1},
        "core_semaphores": {"1": {"3": 2}},
        "tensors": {"x": {"shape": [128], "dtype": "float32", "sha256": "0" * 64}},
        "log": ["S: DGE: Select backend Pool"],
        "notifications": [],
        "issues": [],
    }


def test_a_run_follows_its_schema() -> None:
    assert problems(run_object(), stored_schema("run")) == []


def test_a_kernels_run_follows_it_too() -> None:
    out = {"shape": [2, 2], "dtype": "float32", "sha256": "0" * 64}
    assert problems({**run_object(), "nki_version": "0.6.0", "outputs": {"out": out}}, stored_schema("run")) == []


@pytest.mark.parametrize("name", ["seed_copy.toml", "gather_oob.toml", "load_e18.toml", "gradient.neff"])
def test_real_runs_follow_it(name: str) -> None:
    path = EXAMPLES / name
    program = load(path) if path.suffix == ".toml" else workload(read_neff(path))
    printed = json.loads(json.dumps(run_to_json(run_workload(program)[0])))
    assert problems(printed, stored_schema("run")) == []


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("schema",), "dgekit.run/2"),
        (("generation",), "trn2"),
        (("transfers", 0, "status"), "ok"),
        (("transfers", 0, "backend"), "Pool"),
        (("transfers", 0, "program", 1, "addr"), 4294967296),
        (("transfers", 0, "program", 2, "num"), [128]),
        (("transfers", 0, "words", "pseudo", 0), "D4"),
        (("tensors", "x", "sha256"), "12"),
        (("semaphores", "10"), "1"),
        (("surprise",), 1),
    ],
)
def test_a_wrong_run_does_not(path: tuple[Any, ...], value: Any) -> None:
    run = run_object()
    holder: Any = run
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    assert problems(run, stored_schema("run"))

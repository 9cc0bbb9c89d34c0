"""Whole commands on mutated programs: an exit code people can act on, one line on stderr, never an internal fault."""

from __future__ import annotations

import json
import random
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from dgekit.cli.main import run_cli

EXAMPLES = Path(__file__).parents[2] / "examples"
PROGRAMS = [path.read_text(encoding="utf-8") for path in sorted(EXAMPLES.glob("*.toml"))]
GRADIENT = (EXAMPLES / "gradient.neff").read_bytes()
SPEC = Path(__file__).parents[1] / "golden" / "spec" / "isa-words.json"
WORDS = [bytes.fromhex(text) for text in json.loads(SPEC.read_text(encoding="utf-8"))["examples"].values()]
SECONDS = 60.0  # the largest program that the limits let through, on a busy machine
COUNTS = [pytest.param(120, id="quick"), pytest.param(1000, id="long", marks=pytest.mark.slow)]
many = pytest.mark.parametrize("count", COUNTS)
VERBS = (
    ["run", "-q"],
    ["run", "--json"],
    ["run"],
    ["check"],
    ["lower", "--stage", "descriptors"],
    ["lower", "--stage", "plan", "--json"],
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for path in EXAMPLES.glob("*.npy"):
        shutil.copy(path, tmp_path)
    return tmp_path


@pytest.fixture(autouse=True)
def small_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limits are real but small here, so that a grown tensor costs no minutes."""
    monkeypatch.setattr("dgekit.frontends.toml_file.MEMORY_LIMIT", 1 << 26)
    monkeypatch.setattr("dgekit.frontends.toml_file.loads.__kwdefaults__", {"name": "<text>", "memory_limit": 1 << 26})
    monkeypatch.setattr("dgekit.patterns.runs.MAX_RUNS", 1 << 18)
    monkeypatch.setattr("dgekit.descriptors.expand.MAX_BDS", 1 << 18)


def judged(argv: list[str], capsys: pytest.CaptureFixture[str]) -> int:
    started = time.process_time()
    code = run_cli(argv)
    out, err = capsys.readouterr()
    assert code in (0, 1, 2, 3, 4), (argv, err)
    assert "Traceback" not in out + err
    assert time.process_time() - started < SECONDS
    if code >= 2:
        assert err.startswith("dge: ") and err.count("\n") == 1, err
    return code


@many
def test_mutated_transfer_files(
    count: int, folder: Path, mutated_text: Callable[[str, random.Random], str], capsys: pytest.CaptureFixture[str]
) -> None:
    path = folder / "program.toml"
    for seed in range(count):
        rng = random.Random(seed)
        path.write_text(mutated_text(rng.choice(PROGRAMS), rng), encoding="utf-8")
        judged([*rng.choice(VERBS), str(path)], capsys)
    assert {one.name for one in folder.iterdir()} == {path.name, *(p.name for p in EXAMPLES.glob("*.npy"))}


@many
def test_mutated_neffs(
    count: int, folder: Path, mutated: Callable[[bytes, random.Random], bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    from dgekit.frontends.neff.read import read_neff
    from dgekit.frontends.neff.write import build_neff

    path = folder / "program.neff"
    members = dict(read_neff(GRADIENT).members)
    for seed in range(count):
        rng = random.Random(seed)
        name = rng.choice([name for name in members if not name.endswith("/") and members[name]])
        data = (
            build_neff({**members, name: mutated(members[name], rng)}) if rng.random() < 0.8 else mutated(GRADIENT, rng)
        )
        path.write_bytes(data)
        judged([*rng.choice((*VERBS, ["neff", "info"])), str(path)], capsys)


@many
def test_mutated_words(
    count: int, folder: Path, mutated: Callable[[bytes, random.Random], bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    """Bare words run too: what they touch is mostly not there."""
    path = folder / "words.bin"
    for seed in range(count):
        rng = random.Random(seed)
        data = b"".join(rng.choices(WORDS, k=rng.choice((1, 1, 2))))
        path.write_bytes(mutated(data, rng)[: 64 * 4])
        judged([*rng.choice((*VERBS, ["decode", "--check"], ["decode", "--json"])), str(path)], capsys)

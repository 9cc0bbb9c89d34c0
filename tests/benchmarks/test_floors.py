"""The speed floors, as ratios and times of the best try in one process; a busy machine gets more than one chance."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest
from measuring import Measure

ROOT = Path(__file__).parents[2]
NAMES = sorted(path.stem for path in (ROOT / "benchmarks").glob("bench_*.py"))
CHANCES = 4


def test_each_benchmark_is_here() -> None:
    assert NAMES == ["bench_copy", "bench_expansion", "bench_start", "bench_words"]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_floors_hold(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    module = importlib.import_module(name)
    missed: list[Measure] = []
    for chance in range(CHANCES):
        measures = list(module.measures(tries=5 + 4 * chance))
        assert any(measure.floor is not None for measure in measures)
        missed = [measure for measure in measures if not measure.holds]
        if not missed:
            return
    pytest.fail("\n".join(map(str, missed)))


def test_a_floor_is_a_maximum_or_a_minimum() -> None:
    assert Measure("a", 2.9, "x", 3.0).holds and not Measure("a", 3.1, "x", 3.0).holds
    assert Measure("a", 60, "/s", 50, at_least=True).holds and not Measure("a", 40, "/s", 50, at_least=True).holds
    assert Measure("a", 1e9, "x").holds
    assert str(Measure("a", 3.1, "x", 3.0)).endswith("MISSED")


def test_the_script_takes_names() -> None:
    script = [sys.executable, str(ROOT / "benchmarks" / "run.py")]
    wrong = subprocess.run([*script, "nothing"], capture_output=True, text=True, timeout=60)
    assert wrong.returncode == 2
    assert "one of copy, expansion, start, words" in wrong.stderr

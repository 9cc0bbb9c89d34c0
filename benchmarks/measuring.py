"""Measuring on a busy machine: the best of several tries, both sides of a ratio in turn."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Measure:
    """One figure: what it is, its value and unit, and the floor it must keep (a maximum, or a minimum)."""

    name: str
    value: float
    unit: str
    floor: float | None = None
    at_least: bool = False

    @property
    def holds(self) -> bool:
        if self.floor is None:
            return True
        return self.value >= self.floor if self.at_least else self.value <= self.floor

    def __str__(self) -> str:
        bound = "" if self.floor is None else f"   {'>=' if self.at_least else '<='} {self.floor:g}"
        verdict = "" if self.floor is None else "   ok" if self.holds else "   MISSED"
        return f"{self.name:58} {self.value:12.3f} {self.unit:10}{bound}{verdict}"


def seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def best(work: Callable[[], object], tries: int = 5) -> float:
    """The least seconds of several tries: what the work takes when nobody is in the way."""
    return min(seconds(work) for _ in range(tries))


def best_of_both(one: Callable[[], object], other: Callable[[], object], tries: int = 7) -> tuple[float, float]:
    """The least seconds of each, measured in turn, so that a busy moment hits both."""
    pairs = [(seconds(one), seconds(other)) for _ in range(tries)]
    return min(first for first, _ in pairs), min(second for _, second in pairs)


class Starts:
    """Processor milliseconds of short commands, with compiled modules as an installed package has them."""

    def __init__(self) -> None:
        self._cache = tempfile.TemporaryDirectory(prefix="dgekit-bench-")
        self._env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        self._env["PYTHONPYCACHEPREFIX"] = self._cache.name

    def __enter__(self) -> Starts:
        return self

    def __exit__(self, *_: object) -> None:
        self._cache.cleanup()

    def python(self, *arguments: str, tries: int = 9) -> float:
        return min(self._one([sys.executable, *arguments]) for _ in range(tries))

    def dge(self, *arguments: str, tries: int = 9) -> float:
        return self.python("-c", "from dgekit.cli.main import main; main()", *arguments, tries=tries)

    def _one(self, argv: Sequence[str]) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(argv, check=True, env=self._env, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)

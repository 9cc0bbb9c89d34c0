"""A spot check of the tests: change one number of a declaration at a time and see whether a test notices.

    python tests/tools/mutate.py [--count 40] [--seed 0] [--only MODULE]

Every mutant is a copy of the sources in which one integer is one larger; the tests of its package run against the copy.
Prints the survivors and the share killed. Not part of the test suite: a sample takes minutes.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path("src/dgekit")

# declarations, and the tests that should know them
TARGETS = {
    "core/generations.py": ["core"],
    "core/dtypes.py": ["core", "numerics"],
    "core/evt_sem.py": ["machine/test_semaphores.py", "transfers/test_static.py"],
    "core/state.py": ["core", "firmware"],
    "words/enums.py": ["words"],
    "words/substructs.py": ["words"],
    "words/resolved.py": ["words"],
    "words/pseudo.py": ["words"],
    "words/v5.py": ["words"],
    "words/structs.py": ["words"],
    "words/rules_common.py": ["words"],
    "words/rules_copy.py": ["words"],
    "words/rules_transpose.py": ["words"],
    "words/rules_address.py": ["words"],
    "words/rules_other.py": ["words"],
    "words/resolve.py": ["words"],
    "descriptors/bd.py": ["descriptors"],
    "descriptors/completion.py": ["descriptors"],
    "descriptors/notification.py": ["descriptors", "firmware/test_notify.py"],
    "descriptors/doorbell.py": ["descriptors"],
    "descriptors/host.py": ["descriptors"],
    "descriptors/expand.py": ["descriptors"],
    "patterns/channels.py": ["patterns"],
    "transfers/allocation.py": ["transfers"],
    "transfers/placement.py": ["transfers"],
    "transfers/pack.py": ["transfers"],
    "transfers/shapes.py": ["transfers"],
    "firmware/context.py": ["firmware"],
    "firmware/emit.py": ["firmware"],
    "firmware/bounds.py": ["firmware"],
    "firmware/notify.py": ["firmware"],
    "firmware/spray.py": ["firmware"],
    "machine/causes.py": ["machine"],
    "machine/ring.py": ["machine"],
    "machine/rdm.py": ["machine"],
    "machine/completion.py": ["machine"],
    "machine/address_map.py": ["machine"],
    "machine/semaphores.py": ["machine"],
    "machine/engine.py": ["machine"],
}


@dataclass(frozen=True, slots=True)
class Mutant:
    """One integer of one module, by place."""

    module: str
    line: int
    start: int
    end: int
    value: int

    def __str__(self) -> str:
        text = (ROOT / PACKAGE / self.module).read_text(encoding="utf-8").splitlines()[self.line - 1].strip()
        return f"{self.module}:{self.line}: {self.value} -> {self.value + 1} in `{text[:100]}`"


def mutants(module: str) -> list[Mutant]:
    """Every integer of a module that stands on one line."""
    tree = ast.parse((ROOT / PACKAGE / module).read_text(encoding="utf-8"))
    return [
        Mutant(module, node.lineno, node.col_offset, node.end_col_offset or 0, node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and type(node.value) is int and node.lineno == node.end_lineno
    ]


def is_killed(mutant: Mutant, work: Path) -> bool:
    """Whether the tests of the mutant's package fail on it."""
    path = work / PACKAGE / mutant.module
    original = path.read_text(encoding="utf-8")
    lines = original.splitlines(keepends=True)
    line = lines[mutant.line - 1].encode()
    changed = line[: mutant.start] + str(mutant.value + 1).encode() + line[mutant.end :]
    lines[mutant.line - 1] = changed.decode()
    path.write_text("".join(lines), encoding="utf-8")
    try:
        return not passes(mutant.module, work)
    finally:
        path.write_text(original, encoding="utf-8")


def passes(module: str, work: Path) -> bool:
    """Whether the tests of a module pass in the copy."""
    tests = [str(work / "tests" / name) for name in TARGETS[module]]
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", "not slow", *tests]
    environment = {**os.environ, "PYTHONPATH": str(work / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(command, cwd=work, env=environment, capture_output=True, timeout=300, check=False)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=40, help="mutants to try")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="only modules whose name holds this")
    options = parser.parse_args()
    found = [m for module in TARGETS if options.only in module for m in mutants(module)]
    sample = random.Random(options.seed).sample(found, min(options.count, len(found)))
    survivors = []
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        for name in ("src", "tests", "docs", "examples", "pyproject.toml"):
            source = ROOT / name
            (shutil.copytree if source.is_dir() else shutil.copy)(source, work / name)
        for module in {mutant.module for mutant in sample}:
            if not passes(module, work):
                sys.exit(f"the tests of {module} fail without any change: {TARGETS[module]}")
        for number, mutant in enumerate(sample, 1):
            killed = is_killed(mutant, work)
            print(f"{number}/{len(sample)} {'killed' if killed else 'SURVIVED'} {mutant}", flush=True)
            survivors += [] if killed else [mutant]
    print(f"{len(sample) - len(survivors)} of {len(sample)} killed ({len(found)} integers in all)")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())

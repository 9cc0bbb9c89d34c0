"""All benchmarks, each figure with its floor: `make bench`, or `python benchmarks/run.py [NAME ...]`."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
NAMES = sorted(path.stem.removeprefix("bench_") for path in HERE.glob("bench_*.py"))


def main(names: list[str]) -> int:
    unknown = set(names) - set(NAMES)
    if unknown:
        print(f"no benchmark is named {min(unknown)}; one of {', '.join(NAMES)}", file=sys.stderr)
        return 2
    os.chdir(HERE.parent)
    missed = 0
    for name in names or NAMES:
        module = importlib.import_module(f"bench_{name}")
        print(f"{name}: {(module.__doc__ or '').splitlines()[0]}")
        for measure in module.measures():
            print(f"  {measure}", flush=True)
            missed += not measure.holds
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

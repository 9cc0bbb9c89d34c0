"""What a command costs before it does anything, over bare Python: processor time, compiled modules in place."""

from __future__ import annotations

from collections.abc import Iterator

from measuring import Measure, Starts

WORD = "b810" + "00" * 62


def measures(tries: int = 9) -> Iterator[Measure]:
    with Starts() as starts:
        bare = starts.python("-c", "pass", tries=tries)
        yield Measure("bare Python", bare, "ms")
        yield Measure("import dgekit, on top", starts.python("-c", "import dgekit", tries=tries) - bare, "ms")
        yield Measure("import click, on top", starts.python("-c", "import click", tries=tries) - bare, "ms")
        yield Measure("import numpy, on top", starts.python("-c", "import numpy", tries=tries) - bare, "ms")
        for argv, floor in (
            (["--help"], 60.0),
            (["decode", WORD], 80.0),
            (["encode", "DMA_DIRECT2D", "semaphore=10"], None),
            (["spec", "0xb8"], None),
            (["run", "examples/gradient.neff", "-q"], None),
        ):
            yield Measure(f"dge {' '.join(argv)[:40]}, on top", starts.dge(*argv, tries=tries) - bare, "ms", floor)

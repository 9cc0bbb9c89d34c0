"""Progress of long reading, on a terminal only."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

FIRST_AFTER = 0.5  # seconds; what is done before shows nothing
EVERY = 0.1


@contextmanager
def progress() -> Iterator[Callable[[str, int, int], None] | None]:
    """A function that shows how far reading is, on the last line of standard error; None where that is no terminal."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    line = _Line()
    try:
        yield line.show
    finally:
        line.clear()


class _Line:
    """The one line that is written again and again."""

    def __init__(self) -> None:
        self.due = time.monotonic() + FIRST_AFTER
        self.width = 0

    def show(self, what: str, done: int, total: int) -> None:
        """Show it, unless that was done a moment ago."""
        now = time.monotonic()
        if now < self.due:
            return
        self.due = now + EVERY
        percent = 100 * done // total if total else 100
        name = "".join(letter if letter.isprintable() else "?" for letter in what[-50:])
        text = f"{name}: {percent} % of {total >> 20} MiB"
        sys.stderr.write("\r" + text.ljust(self.width))
        sys.stderr.flush()
        self.width = len(text)

    def clear(self) -> None:
        """Take the line away."""
        if self.width:
            sys.stderr.write("\r" + " " * self.width + "\r")
            sys.stderr.flush()

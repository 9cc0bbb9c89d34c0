"""How a fault speaks of what it met: short, whatever the input was."""

from __future__ import annotations

from collections.abc import Iterable

LONGEST = 80
SHOWN_NAMES = 12


def brief(value: object) -> str:
    """`repr`, cut to a line; a value too large to print is told by its type.

    >>> brief("x" * 1000) == "'" + "x" * 76 + "..."
    True
    """
    try:
        text = repr(value)
    except ValueError:  # an integer of more digits than Python prints
        return f"a huge {type(value).__name__}"
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."


def suggestion(word: str, names: Iterable[str]) -> str:
    """What to write instead of a wrong name: the nearest right one, else the first few.

    >>> suggestion("semaphor", ["events", "semaphore"])
    'write semaphore'
    """
    import difflib

    known = list(names)
    near = difflib.get_close_matches(word[:LONGEST], known, 1, 0.4)
    return f"write {near[0]}" if near else "one of " + ", ".join(known[:SHOWN_NAMES])

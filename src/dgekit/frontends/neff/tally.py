"""How much a dma list holds, counted as it streams by: entries, movements by op, entries by queue."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from dgekit.frontends.neff.definitions import ENTRY
from dgekit.frontends.neff.engine_file import EngineFile

_KNOWN_OPS = frozenset({"copy", "cast", "add", "fma", "min", "max", "transpose"})


@dataclass(slots=True)
class Tally:
    """Counts of one dma list; `by_queue` by the name that the entries give: a queue instance, else a queue set."""

    entries: int = 0
    movements: Counter[str] = field(default_factory=Counter)
    by_queue: Counter[str] = field(default_factory=Counter)


def tally(engine: EngineFile) -> Tally:
    """Count an engine's dma list; raises InputError for wrong JSON and for entries of the wrong form."""
    found = Tally()
    for index, table in enumerate(engine.tables()):
        try:
            name = table.get("instance_name") or table.get("queue") or ""
            desc = table.get("desc") or ()
            ops = [one.get("op", "copy") for one in (desc if type(desc) is list else (desc,) if desc else ())]
            plain = type(name) is str and _KNOWN_OPS.issuperset(ops)
        except (AttributeError, TypeError):
            plain = False
        if not plain:
            ENTRY.check(table, engine.place_of(index))  # says what is wrong with it
        found.entries += 1
        found.by_queue[name] += 1
        for op in ops:
            found.movements[op] += 1
    return found

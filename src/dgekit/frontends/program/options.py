"""Options of a transfer given from Python: the keys of a transfer file, as fields of `Transfer`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dgekit.frontends.kinds import Section
from dgekit.frontends.place import Place
from dgekit.frontends.program.keys import BOUND, WAIT
from dgekit.frontends.program.transfers import bound_of, waits_of
from dgekit.transfers.transfer import Bound, Wait

_RENAMED = {"non_unique_dst_idx": "non_unique"}


def option_fields(op: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options under the names of `Transfer`'s fields, tables turned into `Wait` and `Bound` values.

    Raises InputError for a table that a transfer file could not hold either.

    >>> option_fields("copy", {"wait": [{"semaphore": 4, "at_least": 16}]})
    {'wait': (Wait(semaphore=4, value=16, compare='ge', decrement=False, core=0),)}
    """
    place = Place(op, rules="api")
    found: dict[str, Any] = {}
    for name, value in options.items():
        here = place.key(name)
        if name == "wait":
            found[name] = _waits(value, here)
        elif name in ("src_bound", "dst_bound") and value is not None:
            found[name] = value if isinstance(value, Bound) else bound_of(_table(BOUND, value, here))
        else:
            found[_RENAMED.get(name, name)] = value
    return found


def _waits(value: Any, place: Place) -> tuple[Wait, ...]:
    if not isinstance(value, list | tuple):
        raise place.error("type", f"{type(value).__name__} where a list of waits is wanted", fix="[{...}]")
    return tuple(
        wait
        for index, entry in enumerate(value)
        for wait in ((entry,) if isinstance(entry, Wait) else waits_of((_table(WAIT, entry, place.item(index)),)))
    )


def _table(section: Section, value: Any, place: Place) -> dict[str, Any]:
    """A checked table; whole numbers of numpy count as such."""
    plain = {name: _plain(entry) for name, entry in value.items()} if isinstance(value, dict) else value
    return section.check(plain, place)


def _plain(value: Any) -> Any:
    return value if isinstance(value, bool) or not hasattr(value, "__index__") else int(value)

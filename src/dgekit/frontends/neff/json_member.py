"""JSON members of a NEFF: parsed once, strictly, with errors that name the member."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from dgekit.frontends.place import Place

MAX_JSON = 64 << 20


def read_json(members: Mapping[str, bytes], name: str, where: str) -> Any:
    """The value of a JSON member; raises InputError for wrong text, doubled keys and what is too large or too deep."""
    place = member_place(name, where)
    text = members[name]
    if len(text) > MAX_JSON:
        raise place.error(
            "limit",
            f"{len(text)} bytes of JSON, the limit is {MAX_JSON}",
            values={"size": len(text), "limit": MAX_JSON},
        )
    try:
        return json.loads(text.decode("utf-8"), object_pairs_hook=unique_keys, parse_constant=no_constant)
    except UnicodeDecodeError as problem:
        raise place.error("json", f"byte {problem.start} is no UTF-8", values={"offset": problem.start}) from None
    except json.JSONDecodeError as problem:
        raise place.error("json", f"{problem.msg} at line {problem.lineno}, column {problem.colno}") from None
    except RecursionError:
        raise place.error("json", "values are nested too deeply") from None
    except ValueError as problem:
        raise place.error("json", str(problem)) from None


def member_place(name: str, where: str) -> Place:
    """The place of a member in the file `where`."""
    return Place(f"{where}: {name}", rules="neff")


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of these members; raises ValueError for a key that is there twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ValueError(f"key {key[:60]!r} is there twice")
            seen.add(key)
    return found


def no_constant(name: str) -> None:
    """Refuses NaN and the infinities, which are no JSON; raises ValueError."""
    raise ValueError(f"{name} is no JSON number")

"""A checker of the part of JSON Schema that our schemas use."""

from __future__ import annotations

import re
from typing import Any

TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
}


def problems(value: Any, schema: dict[str, Any], path: str = "$") -> list[str]:
    """A checker of the part of JSON Schema that our schemas use; raises KeyError for any other keyword."""
    found: list[str] = []
    for keyword, wanted in schema.items():
        found += RULES[keyword](value, wanted, schema, path)
    return found


def is_type(value: Any, name: str) -> bool:
    return isinstance(value, TYPES[name]) and (name == "boolean" or not isinstance(value, bool))


def check_type(value: Any, wanted: Any, schema: Any, path: str) -> list[str]:
    names = [wanted] if isinstance(wanted, str) else wanted
    return [] if any(is_type(value, name) for name in names) else [f"{path} is no {wanted}"]


def check_properties(value: Any, wanted: Any, schema: Any, path: str) -> list[str]:
    if not isinstance(value, dict):
        return []
    return [p for key, inner in wanted.items() if key in value for p in problems(value[key], inner, f"{path}.{key}")]


def check_additional(value: Any, wanted: Any, schema: Any, path: str) -> list[str]:
    if not isinstance(value, dict):
        return []
    others = [key for key in value if key not in schema.get("properties", {})]
    if isinstance(wanted, bool):
        return [f"{path}.{key} is unknown" for key in others if not wanted]
    return [p for key in others for p in problems(value[key], wanted, f"{path}.{key}")]


def when(kind: type | tuple[type, ...], holds: Any) -> Any:
    def rule(value: Any, wanted: Any, schema: Any, path: str) -> list[str]:
        return [f"{path} breaks {wanted}"] if isinstance(value, kind) and not holds(value, wanted) else []

    return rule


RULES: dict[str, Any] = {
    **dict.fromkeys(["$schema", "$id", "title", "description", "default"], lambda *_: []),
    "type": check_type,
    "properties": check_properties,
    "additionalProperties": check_additional,
    "required": when(dict, lambda value, wanted: all(key in value for key in wanted)),
    "propertyNames": when(dict, lambda value, wanted: all(re.search(wanted["pattern"], key) for key in value)),
    "items": lambda value, wanted, schema, path: (
        [p for n, one in enumerate(value) for p in problems(one, wanted, f"{path}[{n}]")]
        if isinstance(value, list)
        else []
    ),
    "minItems": when(list, lambda value, wanted: len(value) >= wanted),
    "maxItems": when(list, lambda value, wanted: len(value) <= wanted),
    "minLength": when(str, lambda value, wanted: len(value) >= wanted),
    "pattern": when(str, lambda value, wanted: re.search(wanted, value)),
    "minimum": when((int, float), lambda value, wanted: value >= wanted),
    "maximum": when((int, float), lambda value, wanted: value <= wanted),
    "enum": when(object, lambda value, wanted: value in wanted),
    "const": when(object, lambda value, wanted: value == wanted),
    "anyOf": lambda value, wanted, schema, path: (
        [] if any(not problems(value, one, path) for one in wanted) else [f"{path} fits none of {len(wanted)}"]
    ),
}

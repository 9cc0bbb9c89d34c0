"""The pieces that schemas are made of."""

from __future__ import annotations

from typing import Any, get_args

from dgekit.core.errors import Severity

Schema = dict[str, Any]
DIALECT = "https://json-schema.org/draft/2020-12/schema"
HEX = {"type": "string", "pattern": "^([0-9a-f]{2})*$"}
HEX_ADDRESS = {"type": "string", "pattern": "^0x[0-9a-f]+$"}
SHA256 = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
COUNT = {"type": "integer", "minimum": 0}
TEXT = {"type": "string"}
PAIR = {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2}


def closed(properties: Schema, *, optional: tuple[str, ...] = (), doc: str = "") -> Schema:
    """An object with exactly these properties, all required but the optional ones."""
    found: Schema = {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }
    return {"description": doc, **found} if doc else found


def list_of(of: Schema) -> Schema:
    """An array of these."""
    return {"type": "array", "items": of}


def by_name(of: Schema) -> Schema:
    """An object with any keys, each value one of these."""
    return {"type": "object", "additionalProperties": of}


def head(name: str, title: str) -> Schema:
    """What every schema starts with."""
    return {"$schema": DIALECT, "$id": f"dgekit.{name}/1", "title": title}


def issue() -> Schema:
    """An issue, wherever one stands."""
    return closed(
        {
            "rule": TEXT,
            "severity": {"enum": list(get_args(Severity))},
            "message": TEXT,
            "where": TEXT,
            "values": {"type": "object"},
            "source": TEXT,
            "fix": TEXT,
        },
        doc="A finding: the rule, how bad it is, where, the numbers on both sides, the source and the fix (D51).",
    )


def nullable(of: Schema) -> Schema:
    """This, or null."""
    return {"anyOf": [of, {"type": "null"}]}

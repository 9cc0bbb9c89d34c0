"""The published JSON Schemas: derived from the declarations, stored beside this file, tested equal.

`program` describes a transfer file, `run` the output of `dge run --json`, `decode` one line of `dge decode --json`,
`issue` an issue anywhere. `python -m dgekit.export.publish` writes the files anew.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, get_args

from dgekit.core.errors import Severity, UsageError
from dgekit.core.generations import GENERATIONS
from dgekit.frontends.program.keys import program_schema
from dgekit.transfers.transfer import MODES, OPS

Schema = dict[str, Any]
DIALECT = "https://json-schema.org/draft/2020-12/schema"
STATUSES = ("done", "skipped", "refused")
_HEX = {"type": "string", "pattern": "^([0-9a-f]{2})*$"}
_HEX_ADDRESS = {"type": "string", "pattern": "^0x[0-9a-f]+$"}
_SHA256 = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
_COUNT = {"type": "integer", "minimum": 0}
_TEXT = {"type": "string"}
_PAIR = {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2}


def _closed(properties: Schema, *, optional: tuple[str, ...] = (), doc: str = "") -> Schema:
    """An object with exactly these properties, all required but the optional ones."""
    found: Schema = {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }
    return {"description": doc, **found} if doc else found


def _list(of: Schema) -> Schema:
    return {"type": "array", "items": of}


def _by_name(of: Schema) -> Schema:
    return {"type": "object", "additionalProperties": of}


def _head(name: str, title: str) -> Schema:
    return {"$schema": DIALECT, "$id": f"dgekit.{name}/1", "title": title}


def _issue() -> Schema:
    return _closed(
        {
            "rule": _TEXT,
            "severity": {"enum": list(get_args(Severity))},
            "message": _TEXT,
            "where": _TEXT,
            "values": {"type": "object"},
            "source": _TEXT,
            "fix": _TEXT,
        },
        doc="A finding: the rule, how bad it is, where, the numbers on both sides, the source and the fix (D51).",
    )


def issue_schema() -> Schema:
    """An issue, as every command prints it."""
    return {**_head("issue", "dgekit issue"), **_issue()}


def decode_schema() -> Schema:
    """One line of `dge decode --json`."""
    from dgekit.words.structs import OpaqueWord, word_classes

    kinds = [cls.kind for cls in word_classes()]
    return {
        **_head("decode", "dgekit decoded word"),
        **_closed(
            {
                "offset": {**_COUNT, "description": "byte offset in the stream"},
                "kind": {"enum": [*kinds, OpaqueWord.kind]},
                "opcode": {"type": ["string", "integer"], "description": "name, or number where no header has it"},
                "fields": {"type": "object", "description": "by name; enums by name, structures nested, arrays listed"},
                "hex": {**_HEX, "description": "the 64 bytes, for people: `dge encode` ignores it"},
                "issues": _list(_issue()),
            }
        ),
    }


def _micro_op() -> Schema:
    generate = _closed(
        {
            "op": {"const": "GENERATE"},
            "dma": _COUNT,
            "dir": {"enum": ["RD", "WR"]},
            "addr": _HEX_ADDRESS,
            "elem_size": _COUNT,
            "sem_num": _COUNT,
        }
    )
    push = _closed({"op": {"const": "DIMPUSH"}, "dma": _COUNT, "num": _PAIR, "step": _PAIR})
    return {"anyOf": [generate, push, _closed({"op": {"const": "REGWRITE"}, "dma": _COUNT})]}


def _descriptors() -> Schema:
    counts = {"m2s": _COUNT, "s2m": _COUNT, "bytes": _COUNT}
    return _closed({**counts, "per_engine": _list(_closed({"engine": _COUNT, **counts}))})


def _transfer() -> Schema:
    from dgekit.firmware.values import Backend

    return _closed(
        {
            "name": _TEXT,
            "kind": {**_TEXT, "description": "op (" + ", ".join(OPS) + "), or what a word given raw is"},
            "mode": {"enum": list(MODES)},
            "backend": {"enum": [backend.value for backend in Backend]},
            "words": _closed({"pseudo": _list(_HEX), "resolved": _list(_HEX)}),
            "program": _list(_micro_op()),
            "descriptors": _descriptors(),
            "status": {"enum": list(STATUSES)},
            "issues": _list(_issue()),
        }
    )


def run_schema() -> Schema:
    """The output of `dge run --json`."""
    tensor = _closed({"shape": _list(_COUNT), "dtype": _TEXT, "sha256": _SHA256})
    return {
        **_head("run", "dgekit run"),
        **_closed(
            {
                "schema": {"const": "dgekit.run/1"},
                "generation": {"enum": [generation.name for generation in GENERATIONS]},
                "choices": _by_name({"type": ["string", "integer", "boolean"]}),
                "transfers": _list(_transfer()),
                "semaphores": {**_by_name({"type": "integer"}), "description": "those that are not 0, by number"},
                "tensors": _by_name(tensor),
                "log": _list(_TEXT),
                "notifications": _list(_HEX),
                "issues": _list(_issue()),
            }
        ),
    }


SCHEMAS: Mapping[str, Callable[[], Schema]] = {
    "program": program_schema,
    "run": run_schema,
    "decode": decode_schema,
    "issue": issue_schema,
}


def schema_text(name: str) -> str:
    """The text of a schema file, derived now; raises UsageError for a name that is none."""
    if name not in SCHEMAS:
        raise UsageError(f"there is no schema {name!r}", rule="dge.schema", fix="one of " + ", ".join(SCHEMAS))
    return json.dumps(SCHEMAS[name](), indent=2, ensure_ascii=False) + "\n"


def stored_schema(name: str) -> Any:
    """A schema as the package ships it; raises UsageError for a name that is none."""
    if name not in SCHEMAS:
        raise UsageError(f"there is no schema {name!r}", rule="dge.schema", fix="one of " + ", ".join(SCHEMAS))
    return json.loads(files("dgekit.export").joinpath("schemas", f"{name}.json").read_text(encoding="utf-8"))


def write_schemas(folder: Path) -> None:
    """Write all schema files into `folder`."""
    for name in SCHEMAS:
        (folder / f"{name}.json").write_text(schema_text(name), encoding="utf-8")


if __name__ == "__main__":
    write_schemas(Path(__file__).with_name("schemas"))

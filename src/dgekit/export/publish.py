"""The published JSON Schemas: derived from the declarations, stored beside this file, tested equal.

`program` describes a transfer file, `cce_packets` a packet file, `issue` an issue anywhere, `decode` one line of
`dge decode --json`, `neff` the output of `dge neff info --json`, `neff_dump` one line of `dge neff dump --json`,
`neff_header` the header file that `dge neff build` reads, `what_if` the output of `dge advise --what-if --json`, the
others what the command of that name (`cce_plan`: `dge cce plan`) prints with --json.
`python -m dgekit.export.publish` writes the files anew.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from dgekit.core.errors import UsageError
from dgekit.export.schema_advise import advise_schema, what_if_schema
from dgekit.export.schema_cce import cce_decode_schema, cce_packets_schema, cce_plan_schema, cce_run_schema
from dgekit.export.schema_collective import collective_schema
from dgekit.export.schema_image import IMAGE_SCHEMAS
from dgekit.export.schema_log import log_explain_schema, log_parse_schema, log_records_schema, log_ring_schema
from dgekit.export.schema_neff import NEFF_SCHEMAS
from dgekit.export.schema_parts import Schema
from dgekit.export.schema_reports import check_schema, choices_schema, diff_schema, issue_schema, neff_schema
from dgekit.export.schema_run import decode_schema, lower_schema, run_schema
from dgekit.frontends.program.keys import program_schema

__all__ = ["SCHEMAS", "Schema", "schema_text", "stored_schema", "write_schemas"]

SCHEMAS: Mapping[str, Callable[[], Schema]] = {
    "program": program_schema,
    "run": run_schema,
    "decode": decode_schema,
    "issue": issue_schema,
    "lower": lower_schema,
    "check": check_schema,
    "diff": diff_schema,
    "choices": choices_schema,
    "advise": advise_schema,
    "what_if": what_if_schema,
    "neff": neff_schema,
    **NEFF_SCHEMAS,
    "log_parse": log_parse_schema,
    "log_ring": log_ring_schema,
    "log_records": log_records_schema,
    "log_explain": log_explain_schema,
    "cce_decode": cce_decode_schema,
    "cce_packets": cce_packets_schema,
    "cce_plan": cce_plan_schema,
    "cce_run": cce_run_schema,
    "collective": collective_schema,
    **IMAGE_SCHEMAS,
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

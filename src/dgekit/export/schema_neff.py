"""Schemas of what `dge neff` prints beside its `info`, and of the header file of a folder."""

from __future__ import annotations

from dgekit.core.generations import GENERATIONS
from dgekit.export.schema_parts import COUNT, HEX, TEXT, Schema, by_name, closed, head, issue, list_of, nullable
from dgekit.export.schema_run import decode_schema

BYTES = closed({"estimate_a": COUNT, "estimate_b": COUNT, "exact": COUNT}, doc="bytes")


def rings_schema() -> Schema:
    """The output of `dge neff rings --json`."""
    queue = {
        "name": {**TEXT, "description": "queue set or instance, as its entries name it"},
        "set": {**nullable(TEXT), "description": "queue set; null: the file has none of that name"},
        "type": nullable(TEXT),
        "kind": {"enum": ["io", "spill"], "description": "as the runtime's print-out files it"},
        "num_queues": COUNT,
        "entries": COUNT,
        "movements": COUNT,
        "ring_bytes": BYTES,
        "descriptors": closed({"estimate_a": COUNT, "estimate_b": COUNT, "exact": COUNT, "m2s": COUNT, "s2m": COUNT}),
        "largest_ring": {**COUNT, "description": "descriptors of the fullest ring: one leg of one hardware queue"},
        "even_ring": {**COUNT, "description": "the same if all its hardware queues held as much"},
        "uncounted": {**by_name(COUNT), "description": "movements that exact leaves out, by reason"},
    }
    core = {
        "core": COUNT,
        "subgraph": TEXT,
        "ring_bytes": BYTES,
        "code_bytes": {**COUNT, "description": "instruction streams"},
        "constant_bytes": {**COUNT, "description": "variables of type file"},
        "scratchpad_bytes": {**COUNT, "description": "shared scratchpad, not rounded"},
        "queues": list_of(closed(queue)),
    }
    return {
        **head("neff_rings", "dgekit neff rings"),
        **closed(
            {
                "schema": {"const": "dgekit.neff_rings/1"},
                "file": TEXT,
                "generation": {"enum": [generation.name for generation in GENERATIONS]},
                "limit": {**COUNT, "description": "descriptors of one ring"},
                "ring_bytes": BYTES,
                "largest": nullable(closed({"subgraph": TEXT, "queue": TEXT, "descriptors": COUNT})),
                "cores": list_of(closed(core)),
                "issues": list_of(issue()),
            }
        ),
    }


def dump_schema() -> Schema:
    """One line of `dge neff dump --json`."""
    place = {"subgraph": TEXT, "engine": TEXT}
    leg = {
        "variable": TEXT,
        "offset": COUNT,
        "steps": nullable(list_of({"type": "integer"})),
        "sizes": nullable(list_of(COUNT)),
        "dtype": nullable(TEXT),
    }
    movement = {"op": TEXT, "from": list_of(closed(leg)), "to": nullable(closed(leg))}
    entry = {
        "record": {"const": "entry"},
        **place,
        "index": COUNT,
        "id": COUNT,
        "queue": TEXT,
        "queue_set": nullable(TEXT),
        "num_queues": nullable(COUNT),
        "semaphore": nullable(COUNT),
        "movements": list_of(closed(movement)),
    }
    word = {
        "record": {"const": "word"},
        **place,
        "slot": COUNT,
        "symbols": {**by_name(TEXT), "description": "what ids and names stand for, by field"},
        "word": {key: value for key, value in decode_schema().items() if key not in ("$schema", "$id", "title")},
    }
    stream = {"record": {"const": "stream"}, **place, "bytes": COUNT, "hex": HEX}
    return {
        **head("neff_dump", "dgekit neff dump"),
        "anyOf": [closed(entry), closed(word), closed(stream)],
    }


def neff_check_schema() -> Schema:
    """The output of `dge neff check --json`."""
    return {
        **head("neff_check", "dgekit neff check"),
        **closed({"schema": {"const": "dgekit.neff_check/1"}, "file": TEXT, "issues": list_of(issue())}),
    }


def neff_diff_schema() -> Schema:
    """The output of `dge neff diff --json`."""
    difference = {
        "where": TEXT,
        "left": {"description": "what the first file has; null: nothing"},
        "right": {"description": "likewise"},
    }
    return {
        **head("neff_diff", "dgekit neff diff"),
        **closed({"schema": {"const": "dgekit.neff_diff/1"}, "differences": list_of(closed(difference))}),
    }


def extract_schema() -> Schema:
    """The output of `dge neff extract --json`: the files written."""
    return {**head("neff_extract", "dgekit neff extract"), **list_of(closed({"file": TEXT, "bytes": COUNT}))}


def header_file_schema() -> Schema:
    """`neff-header.json` of a folder that `dge neff build` reads."""
    from dgekit.frontends.neff.folder import HEADER_SECTION

    return {**head("neff_header", "dgekit neff header file"), **HEADER_SECTION.schema()}


NEFF_SCHEMAS = {
    "neff_rings": rings_schema,
    "neff_dump": dump_schema,
    "neff_check": neff_check_schema,
    "neff_diff": neff_diff_schema,
    "neff_extract": extract_schema,
    "neff_header": header_file_schema,
}

"""Schemas of what `dge log` prints: one line each of `parse`, `ring` and `ring --records`, and `explain --json`."""

from __future__ import annotations

from dgekit.core.generations import GENERATIONS
from dgekit.explain.show import EXPLAIN_SCHEMA
from dgekit.export.schema_parts import (
    COUNT,
    HEX,
    HEX_ADDRESS,
    TEXT,
    Schema,
    by_name,
    closed,
    head,
    issue,
    list_of,
    nullable,
)
from dgekit.firmware.values import Backend, Kind

_ANY_OBJECT: Schema = {"type": "object"}
_NUMBER: Schema = {"type": "integer"}


def _line() -> Schema:
    return {
        "line": {**COUNT, "description": "number of the line, from 1"},
        "dialect": {**nullable({"enum": ["S", "P", "R"]}), "description": "null: the line is not the firmware's"},
        "processor": {**nullable(COUNT), "description": "id of a P<id>: line"},
        "stage": {**nullable(TEXT), "description": "firmware stage; null where no format fits"},
        "format": {**nullable(TEXT), "description": "the exact printf text"},
        "fields": {**_ANY_OBJECT, "description": "values by name; addresses are hex strings"},
        "text": {**TEXT, "description": "the whole line; what is no UTF-8 as \\xNN"},
        "host": {**TEXT, "description": "the name in `name: `"},
        "cut": {"const": True, "description": "the line lacks its end; its last value is not to be trusted"},
        "candidates": {**list_of(TEXT), "description": "the formats it may be the beginning of"},
    }


_OPTIONAL = ("host", "cut", "candidates")


def log_parse_schema() -> Schema:
    """One line of `dge log parse`."""
    return {**head("log_parse", "dgekit parsed log line"), **closed(_line(), optional=_OPTIONAL)}


def log_ring_schema() -> Schema:
    """One line of `dge log ring --json`."""
    record = {
        "offset": {**COUNT, "description": "place in the ring"},
        "severity": {**nullable(COUNT), "description": "1 error to 4 debug"},
        "level": nullable(TEXT),
        **_line(),
    }
    return {**head("log_ring", "dgekit log ring record"), **closed(record, optional=_OPTIONAL)}


def log_records_schema() -> Schema:
    """One line of `dge log ring --records --json`."""
    record = {
        "offset": COUNT,
        "kind": {"enum": ["error", "completion", "other"]},
        "fields": {**_ANY_OBJECT, "description": "empty for a record of another type"},
        "hex": HEX,
    }
    return {**head("log_records", "dgekit notification record"), **closed(record)}


def log_explain_schema() -> Schema:
    """The output of `dge log explain --json`; `first_difference` only with --program."""
    counts = closed(dict.fromkeys(("lines", "understood", "unknown", "others"), COUNT))
    return {
        **head("log_explain", "dgekit explained log"),
        **closed(
            {
                "schema": {"const": EXPLAIN_SCHEMA},
                "generation": nullable({"enum": [generation.name for generation in GENERATIONS]}),
                "lines": counts,
                "contexts": list_of(closed({"host": TEXT, **_context()})),
                "cards": list_of(closed(_card())),
                "other_formats": {**by_name(COUNT), "description": "lines that belong to no word, by format key"},
                "issues": list_of(issue()),
                "first_difference": nullable(_difference()),
            },
            optional=("first_difference",),
        ),
    }


def _context() -> Schema:
    numbers = dict.fromkeys(("rx", "tx", "sw", "engine", "queue_idx", "queue_num"), COUNT)
    return {**numbers, "rx_base": HEX_ADDRESS, "tx_base": HEX_ADDRESS}


def _card() -> Schema:
    side = {
        "name": {"enum": ["src", "dst"]},
        "addr": HEX_ADDRESS,
        "bracket": COUNT,
        "elem_size": {**nullable(COUNT), "description": "null: its GENERATE is not shown"},
        "num": list_of(COUNT),
        "step": list_of(_NUMBER),
    }
    return {
        "number": COUNT,
        "host": nullable(TEXT),
        "lines": {**list_of(COUNT), "description": "first and last line"},
        "kind": nullable({"enum": [kind.name for kind in Kind]}),
        "backend": {"enum": [backend.value for backend in Backend]},
        "status": {"enum": ["done", "skipped", "refused", "open"]},
        "context": nullable(closed(_context())),
        "semaphore": nullable(_NUMBER),
        "increment": nullable(_NUMBER),
        "analysis": list_of(_ANY_OBJECT),
        "assessment": nullable(_ANY_OBJECT),
        "tile": nullable(_ANY_OBJECT),
        "sides": list_of(closed(side)),
        "cast": nullable(list_of(COUNT)),
        "compute_op": nullable(COUNT),
        "bounds": nullable(_ANY_OBJECT),
        "failed_bounds": COUNT,
        "notified": {"type": "boolean"},
        "program": {**list_of(_ANY_OBJECT), "description": "micro-ops, as in dgekit.run/1"},
        "doorbells": list_of(_ANY_OBJECT),
        "processors": list_of(COUNT),
        "issues": list_of(issue()),
    }


def _difference() -> Schema:
    entry = nullable(closed({"line": COUNT, "format": TEXT, "fields": _ANY_OBJECT}))
    return closed({"word": COUNT, "program": entry, "log": entry, "fields": list_of(TEXT)})

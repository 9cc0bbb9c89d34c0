"""Schemas of what checks, differences, switches and looks into files print."""

from __future__ import annotations

from typing import get_args

from dgekit.advise.rules import MODES
from dgekit.core.generations import GENERATIONS
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


def issue_schema() -> Schema:
    """An issue, as every command prints it."""
    return {**head("issue", "dgekit issue"), **issue()}


def check_schema() -> Schema:
    """The output of `dge check --json`."""
    mode = closed({"legal": {"type": "boolean"}, "issues": list_of(issue())})
    modes: Schema = {
        "type": "object",
        "properties": dict.fromkeys(MODES, mode),
        "additionalProperties": False,
        "description": "none, swdge, hwdge; empty where modes do not apply (raw words, sendrecv, core_barrier)",
    }
    transfer = {
        "name": TEXT,
        "where": {**TEXT, "description": "place in the file, or the author's line"},
        "requested": {**TEXT, "description": "mode asked for"},
        "picked": {**TEXT, "description": "mode that counts: the one asked for, or what `unknown` comes to"},
        "legal": {"type": "boolean"},
        "modes": modes,
        "issues": {**list_of(issue()), "description": "of the mode that counts, the words and hazards"},
    }
    return {
        **head("check", "dgekit check"),
        **closed(
            {
                "schema": {"const": "dgekit.check/1"},
                "generation": {"enum": [generation.name for generation in GENERATIONS]},
                "nki_version": {**TEXT, "description": "empty for bare words"},
                "transfers": list_of(closed(transfer)),
                "issues": {**list_of(issue()), "description": "of the program, then of each transfer"},
            }
        ),
    }


def diff_schema() -> Schema:
    """The output of `dge diff --json`: one entry a field that differs, none when the words are equal."""
    return {
        **head("diff", "dgekit diff"),
        **list_of(
            closed(
                {
                    "offset": {**COUNT, "description": "byte offset of the word"},
                    "path": {**TEXT, "description": "field, as `dge encode` takes it"},
                    "left": {"description": "value as in the JSON of a decoded word"},
                    "right": {"description": "likewise"},
                }
            )
        ),
    }


def choices_schema() -> Schema:
    """The output of `dge choices --json`."""
    value: Schema = {"type": ["string", "integer", "boolean"]}
    return {
        **head("choices", "dgekit choices"),
        **list_of(
            closed(
                {
                    "name": TEXT,
                    "default": value,
                    "value": {**value, "description": "with the --set of this call"},
                    "values": {**nullable(list_of(value)), "description": "null: any whole number"},
                    "question": TEXT,
                    "why": TEXT,
                    "source": TEXT,
                }
            )
        ),
    }


def neff_schema() -> Schema:
    """The output of `dge neff info --json`."""
    from dgekit.frontends.neff.header import FIELDS, HashStatus

    forms: dict[str, Schema] = {"int": COUNT, "text": TEXT, "bytes": HEX}
    header: Schema = {
        field.name: {**forms[field.kind], "description": field.meaning} for field in FIELDS if field.name != "padding"
    }
    verdict = closed({"supported": HEX_ADDRESS, "source": TEXT, "beyond": HEX_ADDRESS, "loads": {"type": "boolean"}})
    return {
        **head("neff", "dgekit neff info"),
        **closed(
            {
                "schema": {"const": "dgekit.neff/1"},
                "file": TEXT,
                "header": closed(header),
                "features": closed({"bits": HEX_ADDRESS, "verdicts": list_of(verdict)}),
                "version": closed({"major": COUNT, "minor": COUNT, "loader": COUNT, "loads": {"type": "boolean"}}),
                "hash": {"enum": list(get_args(HashStatus))},
                "target": nullable({"enum": [generation.name for generation in GENERATIONS]}),
                "compressed": {"type": "boolean"},
                "members": list_of(closed({"name": TEXT, "bytes": COUNT})),
                "subgraphs": list_of(_neff_subgraph()),
                "issues": list_of(issue()),
            }
        ),
    }


def _neff_subgraph() -> Schema:
    queue = {
        "name": TEXT,
        "type": TEXT,
        "num_queues": COUNT,
        "owner": TEXT,
        "semaphore": nullable(COUNT),
        "instances": list_of(TEXT),
        "entries": {**COUNT, "description": "dma entries of all engines on this queue"},
    }
    engine = {
        "name": TEXT,
        "entries": COUNT,
        "movements": {**by_name(COUNT), "description": "movements by op"},
        "stream": {**TEXT, "description": "member"},
        "stream_bytes": COUNT,
        "slots": {**COUNT, "description": "64-byte slots"},
    }
    variable = {"name": TEXT, "type": TEXT, "var_id": COUNT, "bytes": COUNT}
    return closed(
        {
            "name": TEXT,
            "definition": {**TEXT, "description": "member"},
            "queues": list_of(closed(queue)),
            "variables": list_of(closed(variable)),
            "engines": list_of(closed(engine)),
        }
    )

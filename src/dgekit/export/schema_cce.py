"""Schemas of what `dge cce decode`, `plan` and `run` print, and of the packet file that `dge cce encode` reads."""

from __future__ import annotations

from dgekit.cce.classify import KINDS
from dgekit.core.generations import GENERATIONS
from dgekit.export.schema_parts import COUNT, HEX, HEX_ADDRESS, TEXT, Schema, closed, head, issue, list_of
from dgekit.frontends.packet_file import PACKETS

_LEG = {"enum": ["m2s", "s2m"]}


def cce_decode_schema() -> Schema:
    """One line of `dge cce decode --json`; `dge cce encode` reads it back."""
    return {
        **head("cce_decode", "dgekit decoded BD"),
        **closed(
            {
                "offset": {**COUNT, "description": "byte offset in the stream"},
                "leg": {**_LEG, "description": "read side or write side"},
                "kind": {"enum": list(KINDS)},
                "fields": {"type": "object", "description": "by name; enums by name, structures nested"},
                "hex": {**HEX, "description": "the 16 bytes, for people: `dge cce encode` ignores it"},
                "issues": list_of(issue()),
            }
        ),
    }


def cce_plan_schema() -> Schema:
    """The output of `dge cce plan --json`."""
    bd = closed({"leg": _LEG, "kind": {"enum": list(KINDS)}, "bytes": COUNT, "word1": HEX_ADDRESS})
    sizes = {"elements": COUNT, "source_bytes": COUNT, "dest_bytes": COUNT, "tx": COUNT, "rx": COUNT}
    shape = closed({"packets": COUNT, "first_packet": COUNT, "first_element": COUNT, **sizes, "bds": list_of(bd)})
    totals = ("packets", "tx", "rx", "bytes_read", "bytes_written", "ring_bytes")
    packet = ("index", "first_element", "elements", "source_offset", "dest_offset")
    return {
        **head("cce_plan", "dgekit compute plan"),
        **closed(
            {
                "schema": {"const": "dgekit.cce_plan/1"},
                "generation": {"enum": [generation.name for generation in GENERATIONS]},
                "op": TEXT,
                "dtypes": closed({"in": TEXT, "accum": TEXT, "out": TEXT}),
                "elements": COUNT,
                "sources": COUNT,
                "dests": COUNT,
                "packet_elements": {**COUNT, "description": "elements of a whole packet"},
                "shapes": {**list_of(shape), "description": "runs of equal packets, in order"},
                "totals": closed(dict.fromkeys(totals, COUNT)),
                "packets": {**list_of(closed(dict.fromkeys(packet, COUNT))), "description": "with --packets"},
            },
            optional=("packets",),
        ),
    }


def cce_run_schema() -> Schema:
    """The output of `dge cce run --json`."""
    return {
        **head("cce_run", "dgekit reduction"),
        **closed(
            {
                "schema": {"const": "dgekit.cce_run/1"},
                "generation": {"enum": [generation.name for generation in GENERATIONS]},
                "op": TEXT,
                "dtypes": closed({"in": TEXT, "accum": TEXT, "out": TEXT}),
                "elements": {**COUNT, "description": "of each array"},
                "sources": COUNT,
                "packets": COUNT,
                "descriptors": closed(dict.fromkeys(("m2s", "s2m", "bytes"), COUNT)),
                "choices": {"type": "object", "description": "switches that mattered"},
                "sha256": {"type": "string", "description": "of the result's bytes"},
                "lossy": {**COUNT, "description": "elements that lost bits in the output conversion"},
                "promoted": {"type": "boolean", "description": "bytes were moved, nothing was converted"},
                "issues": list_of(issue()),
            }
        ),
    }


def cce_packets_schema() -> Schema:
    """The data that a packet file holds."""
    return {**head("cce_packets", "dgekit compute packets"), **PACKETS.schema()}

"""Schemas of what `dge image` prints with --json."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dgekit.core.generations import GENERATIONS
from dgekit.export.schema_parts import (
    COUNT,
    HEX,
    HEX_ADDRESS,
    SHA256,
    TEXT,
    Schema,
    by_name,
    closed,
    head,
    list_of,
    nullable,
)

_GENERATION = nullable({"enum": [generation.name for generation in GENERATIONS]})
_PART = nullable(TEXT)


def _listed() -> Schema:
    return {
        "name": TEXT,
        "member": {**TEXT, "description": "what the container calls it"},
        "generation": _GENERATION,
        "core": _PART,
        "engine": _PART,
        "mode": _PART,
        "segment": _PART,
        "size": COUNT,
        "sha256": SHA256,
        "published": {**nullable({"enum": ["same", "differs"]}), "description": "by published size and hash"},
    }


def image_ls_schema() -> Schema:
    """The output of `dge image ls --json`."""
    return {**head("image_ls", "dgekit image ls"), **list_of(closed(_listed()))}


def image_carve_schema() -> Schema:
    """The output of `dge image carve --json`."""
    return {**head("image_carve", "dgekit image carve"), **list_of(closed({**_listed(), "file": TEXT}))}


def _string() -> Schema:
    return {
        "offset": HEX_ADDRESS,
        "va": {**nullable(HEX_ADDRESS), "description": "device address; null where the segment has no rule"},
        "text": TEXT,
        "format": {**nullable(TEXT), "description": "key of the log table; null for an unknown string"},
    }


def image_strings_schema() -> Schema:
    """One line of `dge image strings --json`."""
    return {**head("image_strings", "dgekit image strings"), **closed({"image": TEXT, **_string()})}


def image_census_schema() -> Schema:
    """The output of `dge image census --json`: image name to counts by format."""
    return {**head("image_census", "dgekit image census"), **by_name(by_name(COUNT))}


def image_published_schema() -> Schema:
    """The output of `dge image census --published --json`: the published rows."""
    row = {
        "images": {**list_of(TEXT), "description": "one, or those that a total is over"},
        "pattern": TEXT,
        "counter": {"enum": ["lines", "strings"]},
        "count": COUNT,
        "published": nullable(COUNT),
        "compared": {"type": "boolean", "description": "false where the published total counts unknown strings"},
        "differs": {"type": "boolean"},
        "note": TEXT,
    }
    return {**head("image_published", "dgekit image census --published"), **list_of(closed(row))}


def image_anchors_schema() -> Schema:
    """The output of `dge image anchors --json`."""
    anchor = {
        "image": TEXT,
        "group": TEXT,
        "address": HEX_ADDRESS,
        "published": closed({"hex": {**HEX, "description": "empty: not quoted"}, "text": TEXT, "meaning": TEXT}),
        "found": closed({"hex": HEX, "text": TEXT, "string": {**TEXT, "description": "what a const16 loads"}}),
        "status": {"enum": ["match", "decoded", "differs", "unseen", "outside", "absent"]},
    }
    return {**head("image_anchors", "dgekit image anchors"), **list_of(closed(anchor))}


def image_identify_schema() -> Schema:
    """The output of `dge image identify --json`."""
    identity = {
        "image": TEXT,
        "generation": _GENERATION,
        "core": _PART,
        "segment": _PART,
        "mode": _PART,
        "build": {"enum": ["published", "other", "unknown"]},
        "reference": {**_PART, "description": "the published image it is taken for"},
        "candidates": list_of(TEXT),
        "name_agrees": nullable({"type": "boolean"}),
        "size": COUNT,
        "sha256": SHA256,
        "hash": {**nullable({"enum": ["same", "differs"]}), "description": "second check only"},
        "evidence": list_of(TEXT),
    }
    return {**head("image_identify", "dgekit image identify"), **list_of(closed(identity))}


def image_diff_schema() -> Schema:
    """The output of `dge image diff --json`."""
    moved = {
        "text": TEXT,
        "format": nullable(TEXT),
        "from": HEX_ADDRESS,
        "to": HEX_ADDRESS,
        "distance": {"type": "integer", "description": "bytes"},
    }
    image = {
        "left": TEXT,
        "right": TEXT,
        "lost": list_of(closed(_string())),
        "gained": list_of(closed(_string())),
        "moved": list_of(closed(moved)),
    }
    return {
        **head("image_diff", "dgekit image diff"),
        **closed({"images": list_of(closed(image)), "only_left": list_of(TEXT), "only_right": list_of(TEXT)}),
    }


IMAGE_SCHEMAS: Mapping[str, Callable[[], Schema]] = {
    "image_ls": image_ls_schema,
    "image_carve": image_carve_schema,
    "image_strings": image_strings_schema,
    "image_census": image_census_schema,
    "image_published": image_published_schema,
    "image_anchors": image_anchors_schema,
    "image_identify": image_identify_schema,
    "image_diff": image_diff_schema,
}

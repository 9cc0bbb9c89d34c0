"""Schemas of a run, of a decoded word, and of a program lowered to one stage."""

from __future__ import annotations

from typing import get_args

from dgekit.core.generations import GENERATIONS
from dgekit.export.schema_parts import (
    COUNT,
    HEX,
    HEX_ADDRESS,
    PAIR,
    SHA256,
    TEXT,
    Schema,
    by_name,
    closed,
    head,
    issue,
    list_of,
    nullable,
)
from dgekit.machine.results import Status
from dgekit.transfers.transfer import MODES, OPS, REDUCTIONS


def decode_schema() -> Schema:
    """One line of `dge decode --json`."""
    from dgekit.words.structs import OpaqueWord, word_classes

    kinds = [cls.kind for cls in word_classes()]
    return {
        **head("decode", "dgekit decoded word"),
        **closed(
            {
                "offset": {**COUNT, "description": "byte offset in the stream"},
                "kind": {"enum": [*kinds, OpaqueWord.kind]},
                "opcode": {"type": ["string", "integer"], "description": "name, or number where no header has it"},
                "fields": {"type": "object", "description": "by name; enums by name, structures nested, arrays listed"},
                "hex": {**HEX, "description": "the 64 bytes, for people: `dge encode` ignores it"},
                "issues": list_of(issue()),
            }
        ),
    }


def _micro_op() -> Schema:
    generate = closed(
        {
            "op": {"const": "GENERATE"},
            "dma": COUNT,
            "dir": {"enum": ["RD", "WR"]},
            "addr": HEX_ADDRESS,
            "elem_size": COUNT,
            "sem_num": COUNT,
        }
    )
    push = closed({"op": {"const": "DIMPUSH"}, "dma": COUNT, "num": PAIR, "step": PAIR})
    return {"anyOf": [generate, push, closed({"op": {"const": "REGWRITE"}, "dma": COUNT})]}


def _descriptors() -> Schema:
    counts = {"m2s": COUNT, "s2m": COUNT, "bytes": COUNT}
    return closed({**counts, "per_engine": list_of(closed({"engine": COUNT, **counts}))})


def _transfer() -> Schema:
    from dgekit.firmware.values import Backend

    return closed(
        {
            "name": TEXT,
            "where": {**TEXT, "description": "where it was written: file and key, or file and line; may be empty"},
            "kind": {**TEXT, "description": "op (" + ", ".join(OPS) + "), or what a word given raw is"},
            "mode": {"enum": list(MODES)},
            "backend": {"enum": [backend.value for backend in Backend]},
            "words": closed({"pseudo": list_of(HEX), "resolved": list_of(HEX)}),
            "program": list_of(_micro_op()),
            "descriptors": _descriptors(),
            "lossy": {**COUNT, "description": "elements that lost bits when a cast or a computation wrote them"},
            "status": {"enum": list(get_args(Status))},
            "issues": list_of(issue()),
        }
    )


def run_schema() -> Schema:
    """The output of `dge run --json`."""
    tensor = closed({"shape": list_of(COUNT), "dtype": TEXT, "sha256": SHA256})
    return {
        **head("run", "dgekit run"),
        **closed(
            {
                "schema": {"const": "dgekit.run/1"},
                "generation": {"enum": [generation.name for generation in GENERATIONS]},
                "choices": by_name({"type": ["string", "integer", "boolean"]}),
                "transfers": list_of(_transfer()),
                "semaphores": {**by_name({"type": "integer"}), "description": "those that are not 0, by number"},
                "core_semaphores": {
                    **by_name(by_name({"type": "integer"})),
                    "description": "those of cores other than 0, by core; only legs between cores count there",
                },
                "tensors": by_name(tensor),
                "log": list_of(TEXT),
                "notifications": list_of(HEX),
                "issues": list_of(issue()),
                "nki_version": {**TEXT, "description": "of a kernel: the NKI whose rules counted"},
                "outputs": {**by_name(tensor), "description": "of a kernel: what it returned, by name"},
            },
            optional=("nki_version", "outputs"),
        ),
    }


def lower_schema() -> Schema:
    """The output of `dge lower --json`: the key named as the stage holds what each transfer is there."""
    return {
        **head("lower", "dgekit lower"),
        "anyOf": [
            closed(
                {
                    "schema": {"const": "dgekit.lower/1"},
                    "generation": {"enum": [generation.name for generation in GENERATIONS]},
                    "stage": {"const": stage},
                    "choices": by_name({"type": ["string", "integer", "boolean"]}),
                    "transfers": list_of(_lowered(stage, content)),
                }
            )
            for stage, content in _stages().items()
        ],
    }


def _lowered(stage: str, content: Schema) -> Schema:
    properties = _transfer()["properties"]
    shared = {name: properties[name] for name in ("name", "kind", "backend", "status", "issues")}
    return closed({**shared, stage: list_of(content)})


def _stages() -> dict[str, Schema]:
    word = closed(decode_schema()["properties"])
    return {
        "pseudo": word,
        "word": word,
        "shape": _shape_pair(),
        "plan": _plan(),
        "program": _micro_op(),
        "descriptors": _descriptor(),
    }


def _shape_pair() -> Schema:
    return closed(
        {
            "kind": _kind(),
            "src": _shape(),
            "dst": _shape(),
            "semaphore": COUNT,
            "sem_increment": COUNT,
            "priority_class": COUNT,
            "compute_op": COUNT,
        }
    )


def _kind() -> Schema:
    from dgekit.firmware.values import Kind

    return {"enum": [kind.name for kind in Kind]}


def _shape() -> Schema:
    return closed(
        {
            "start": HEX_ADDRESS,
            "num": {**list_of(COUNT), "description": "counts, index 0 fastest"},
            "step_bytes": list_of({"type": "integer"}),
            "elem_size": COUNT,
            "dtype": TEXT,
            "on_chip": {"type": "boolean"},
        }
    )


def _plan() -> Schema:
    share = closed({"dma": COUNT, "src": _shape(), "dst": _shape()})
    word = closed({"kind": _kind(), "strategy": COUNT, "partitions": COUNT, "num_dma": COUNT, "shares": list_of(share)})
    return {"anyOf": [word, _reduction()]}


def _reduction() -> Schema:
    counts = dict.fromkeys(("dma", "elements", "packets", "tx", "rx"), COUNT)
    share = closed({**counts, "sources": list_of(HEX_ADDRESS), "dests": list_of(HEX_ADDRESS)})
    return closed(
        {
            "kind": {"const": "REDUCE"},
            "op": {"enum": list(REDUCTIONS)},
            "dtypes": closed({"in": TEXT, "accum": TEXT, "out": TEXT}),
            "sources": COUNT,
            "dests": COUNT,
            "packets": COUNT,
            "num_dma": COUNT,
            "shares": {**list_of(share), "description": "addresses are those of the first element"},
        }
    )


def _descriptor() -> Schema:
    return closed(
        {
            "engine": COUNT,
            "queue": COUNT,
            "leg": {"enum": ["m2s", "s2m"]},
            "kind": {**TEXT, "description": "what the engine does with it: copy, add, buffer, ..."},
            "bytes": COUNT,
            "ring_id": COUNT,
            "address": {**nullable(HEX_ADDRESS), "description": "null for a parameter descriptor"},
            "fields": {"type": "object"},
            "hex": HEX,
        }
    )

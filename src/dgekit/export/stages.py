"""One stage of a run as data: what `dge lower` prints.

Stages: pseudo and word (64-byte words), shape (what decode extracts), plan (kind, channels, shares), program
(micro-ops), descriptors (16-byte BDs of both legs, as the rings get them but for the ring id).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Literal, get_args

from dgekit.core.errors import UsageError
from dgekit.descriptors.batch import U32, ChannelBatch, DescriptorBatch
from dgekit.descriptors.decode import Leg, bd_line, bd_to_json
from dgekit.export.reduction import reduction_to_json
from dgekit.export.run_json import micro_op_to_json
from dgekit.firmware.values import DgeShape, Plan, ShapePair
from dgekit.machine.results import RunResult, TransferResult
from dgekit.words.codec import decode_word
from dgekit.words.enums import WORD_SIZE
from dgekit.words.text import format_word, word_to_json

LOWER_SCHEMA = "dgekit.lower/1"
Stage = Literal["pseudo", "word", "shape", "plan", "program", "descriptors"]
STAGES: tuple[Stage, ...] = get_args(Stage)


def stage_named(name: str) -> Stage:
    """The stage of that name; raises UsageError listing them."""
    for stage in STAGES:
        if stage == name:
            return stage
    raise UsageError(f"there is no stage {name!r}", rule="lower.stage", fix="one of " + ", ".join(STAGES))


def stage_to_json(run: RunResult, stage: Stage) -> dict[str, Any]:
    """Every transfer of a run at one stage."""
    return {
        "schema": LOWER_SCHEMA,
        "generation": run.generation.name,
        "stage": stage,
        "choices": dict(run.choices),
        "transfers": [_transfer(result, stage) for result in run.transfers],
    }


def stage_lines(run: RunResult, stage: Stage) -> Iterator[str]:
    """Every transfer of a run at one stage, as text for people."""
    for result in run.transfers:
        yield f"{result.name} ({result.kind}, {result.backend.value}): {result.status}"
        if stage in ("pseudo", "word"):
            words = result.pseudo if stage == "pseudo" else result.resolved
            for number, data in enumerate(words):
                yield format_word(decode_word(data), WORD_SIZE * number)
        elif stage == "descriptors":
            yield from descriptor_lines(result.descriptors)
        else:
            yield from (f"  {json.dumps(value)}" for value in _at(result, stage))
        yield from (f"  {issue}" for issue in result.issues)


def _transfer(result: TransferResult, stage: Stage) -> dict[str, Any]:
    return {
        "name": result.name,
        "kind": result.kind,
        "backend": result.backend.value,
        "status": result.status,
        stage: _at(result, stage),
        "issues": [issue.to_json() for issue in result.issues],
    }


def _at(result: TransferResult, stage: Stage) -> list[Any]:
    match stage:
        case "pseudo":
            return _words(result.pseudo)
        case "word":
            return _words(result.resolved)
        case "shape":
            return [_pair(outcome.pair) for outcome in result.outcomes if outcome.pair is not None]
        case "plan":
            if result.kind == "reduce":
                return [reduction_to_json(result)] if result.computes else []
            return [_plan(outcome.plan) for outcome in result.outcomes if outcome.plan is not None]
        case "program":
            return [micro_op_to_json(op) for op in result.program]
        case "descriptors":
            return list(_descriptors(result.descriptors))


def _words(words: list[bytes]) -> list[dict[str, Any]]:
    return [word_to_json(decode_word(data), WORD_SIZE * number) for number, data in enumerate(words)]


def _pair(pair: ShapePair) -> dict[str, Any]:
    """The shapes of a word; steps in bytes, index 0 fastest."""
    return {
        "kind": pair.kind.name,
        "src": _shape(pair.src),
        "dst": _shape(pair.dst),
        "semaphore": pair.semaphore,
        "sem_increment": pair.sem_increment,
        "priority_class": pair.priority_class,
        "compute_op": pair.compute_op,
    }


def _shape(shape: DgeShape) -> dict[str, Any]:
    return {
        "start": hex(shape.start),
        "num": list(shape.num),
        "step_bytes": list(shape.step),
        "elem_size": shape.elem_size,
        "dtype": shape.dtype.name,
        "on_chip": shape.on_chip,
    }


def _plan(plan: Plan) -> dict[str, Any]:
    return {
        "kind": plan.kind.name,
        "strategy": plan.strategy,
        "partitions": plan.partitions,
        "num_dma": plan.num_dma,
        "shares": [{"dma": share.dma, "src": _shape(share.src), "dst": _shape(share.dst)} for share in plan.shares],
    }


def _descriptors(batch: DescriptorBatch) -> Iterator[dict[str, Any]]:
    for channel in batch.channels:
        for leg, rows in _legs(channel):
            for row in rows:
                yield {"engine": channel.dma, "queue": channel.queue, **bd_to_json(row.tobytes(), leg)}


def descriptor_lines(batch: DescriptorBatch) -> Iterator[str]:
    """Every BD as a line for people, channel after channel, M2S before S2M."""
    for channel in batch.channels:
        yield f"engine {channel.dma} queue {channel.queue}"
        for leg, rows in _legs(channel):
            yield from (f"  {bd_line(row.tobytes(), leg)}" for row in rows)


def _legs(channel: ChannelBatch) -> tuple[tuple[Leg, U32], tuple[Leg, U32]]:
    return ("m2s", channel.m2s), ("s2m", channel.s2m)

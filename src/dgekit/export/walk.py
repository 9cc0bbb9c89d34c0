"""A run as text for people: each transfer's way through words, shapes, backend, micro-ops, descriptors, completion."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy.typing as npt

from dgekit.core.choices import Choices
from dgekit.core.events import Event
from dgekit.descriptors.summary import summary
from dgekit.export.reduction import compute_line
from dgekit.export.run_json import digest
from dgekit.export.stages import descriptor_lines
from dgekit.firmware.outcome import Outcome
from dgekit.firmware.values import DgeShape
from dgekit.logs.render import render_log
from dgekit.machine.results import RunResult, TransferResult
from dgekit.words.codec import decode_word

MAX_LINES = 12  # of log lines and descriptors in one section; the rest is counted


def walk_lines(run: RunResult) -> Iterator[str]:
    """The whole walk, transfer after transfer as they ran, then semaphores, tensors and the choices it depended on."""
    yield f"generation {run.generation.name}"
    by_transfer: dict[int, list[Event]] = {}
    for event in run.events:
        by_transfer.setdefault(event.transfer, []).append(event)
    order = {index: place for place, index in enumerate(by_transfer)}
    for result in sorted(run.transfers, key=lambda one: order.get(one.index, len(order))):
        yield ""
        yield from _transfer_lines(result, by_transfer.get(result.index, []), run)
    yield ""
    yield "semaphores: " + (", ".join(f"{n} = {value}" for n, value in run.semaphores.items()) or "all 0")
    for core, values in run.core_semaphores.items():
        yield f"semaphores of core {core}: " + ", ".join(f"{n} = {value}" for n, value in values.items())
    for name, entry in run.tensors.items():
        shape = " x ".join(map(str, entry.tensor.shape))
        yield f"tensor {name}: {entry.tensor.space} {shape} {entry.tensor.dtype.name} sha256 {entry.sha256[:16]}"
    yield "choices it depended on: " + (
        ", ".join(f"{name}={_choice(value)}" for name, value in run.choices.items()) or "none"
    )
    yield from summary_lines(run)


def output_lines(run: RunResult, outputs: Mapping[str, npt.NDArray[Any]], nki_version: str) -> Iterator[str]:
    """What a kernel ran as, and what it returned; nothing for other programs."""
    if nki_version:
        yield f"NKI {nki_version} on {run.generation.name}"
    for name, array in outputs.items():
        shape = " x ".join(map(str, array.shape))
        yield f"{name}: {shape} {array.dtype.name} sha256 {digest(array)[:16]}"


def summary_lines(run: RunResult) -> Iterator[str]:
    """One line a transfer."""
    for result in run.transfers:
        counts = summary(result.descriptors)
        place = f" at {result.line}" if result.line else ""
        yield (
            f"{result.status}: {result.name} ({result.kind}, {result.backend.value}){place}: {counts['bytes']} bytes, "
            f"{counts['m2s']} M2S and {counts['s2m']} S2M descriptors on {_engines(counts)}"
        )


def _engines(counts: dict[str, Any]) -> str:
    number = len(counts["per_engine"])
    return "1 engine" if number == 1 else f"{number} engines"


def _transfer_lines(result: TransferResult, events: list[Event], run: RunResult) -> Iterator[str]:
    yield f"transfer {result.name}: {result.kind}, mode {result.mode}" + (f", {result.line}" if result.line else "")
    yield from _word_section(result)
    for outcome in result.outcomes:
        yield from _outcome_section(outcome)
    yield from _section("log", render_log(events, run.generation, Choices(run.choices)), "--log FILE has all")
    batch = result.descriptors
    if result.computes:
        yield f"  compute: {compute_line(result)}"
    if result.lossy:
        yield f"  lossy: {result.lossy} elements lost bits"
    if batch.channels:
        counts = summary(batch)
        yield f"  descriptors: {counts['m2s']} M2S, {counts['s2m']} S2M, {counts['bytes']} bytes"
        yield from _capped(list(descriptor_lines(batch)), "dge lower --stage descriptors has all")
    doorbells = [_doorbell(event) for event in events if event.name == "doorbell"]
    yield from _section("doorbells", doorbells)
    bumps = [_bump(event) for event in events if event.stage == "completion"]
    yield from _section("completion", bumps)
    yield f"  status: {result.status}"
    for issue in result.issues:
        yield f"  {issue}"


def _word_section(result: TransferResult) -> Iterator[str]:
    for title, words in (("pseudo word", result.pseudo), ("resolved word", result.resolved)):
        for data in words:
            yield f"  {title} {decode_word(data).kind}"
            for at in range(0, len(data), 16):
                yield f"    {at:02x}: {data[at : at + 16].hex(' ')}"


def _outcome_section(outcome: Outcome) -> Iterator[str]:
    pair = outcome.pair
    if pair is None:
        return
    yield f"  shapes ({pair.kind.name})"
    yield f"    src {_shape(pair.src)}"
    yield f"    dst {_shape(pair.dst)}"
    if outcome.plan is not None:
        dmas = ", ".join(str(share.dma) for share in outcome.plan.shares)
        yield f"  plan: {outcome.plan.partitions} partitions over {outcome.plan.num_dma} DMA ({dmas})"
    yield f"  backend: {outcome.backend.value}"
    if outcome.program.ops:
        names = [type(op).__name__.upper() for op in outcome.program.ops]
        counts = ", ".join(f"{names.count(name)} {name}" for name in dict.fromkeys(names))
        yield f"  program: {counts}"


def _shape(shape: DgeShape) -> str:
    where = "SBUF" if shape.on_chip else "HBM"
    return (
        f"{where} {shape.start:#x} elem {shape.elem_size} B, count {list(shape.num)}, "
        f"step {list(shape.step)} B, {shape.dtype.name}"
    )


def _doorbell(event: Event) -> str:
    data = event.data
    return f"{data['leg']} engine {data['dma']} queue {data['queue']}: {data['count']} at {data['address']:#x}"


def _bump(event: Event) -> str:
    data = event.data
    return ", ".join(f"{key} {value}" for key, value in data.items())


def _section(title: str, lines: list[str], rest: str = "") -> Iterator[str]:
    if lines:
        yield f"  {title}"
        yield from _capped(lines, rest)


def _capped(lines: list[str], rest: str) -> Iterator[str]:
    """The first lines; behind them how many are left out and, if anything prints them, what does."""
    yield from (f"    {line}" for line in lines[:MAX_LINES])
    if len(lines) > MAX_LINES:
        yield f"    ... {len(lines) - MAX_LINES} more" + (f" ({rest})" if rest else "")


def _choice(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)

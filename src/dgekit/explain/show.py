"""An explanation as text for people and as JSON (schema dgekit.log_explain/1)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dgekit.core.dtypes import Dtype
from dgekit.core.generations import Generation
from dgekit.explain.cards import Card, Context, Explanation, Side
from dgekit.words.enums import ComputeOp

EXPLAIN_SCHEMA = "dgekit.log_explain/1"
_SHOWN_CHANNELS = 4


def explanation_to_json(found: Explanation, generation: Generation | None) -> dict[str, Any]:
    """The object of `dge log explain --json`."""
    return {
        "schema": EXPLAIN_SCHEMA,
        "generation": generation.name if generation is not None else None,
        "lines": dict(found.counts),
        "contexts": [{"host": host, **_context_to_json(context)} for host, context in found.contexts],
        "cards": [card_to_json(card) for card in found.cards],
        "other_formats": dict(found.other_formats),
        "issues": [issue.to_json() for issue in found.issues],
    }


def card_to_json(card: Card) -> dict[str, Any]:
    """One word."""
    semaphore = card.semaphore()
    sizes = card.elem_sizes()
    dump = card.dump.fields if card.dump is not None else {}
    return {
        "number": card.number,
        "host": card.host or None,
        "lines": [card.lines[0].line, card.lines[-1].line],
        "kind": card.kind.name if card.kind is not None else None,
        "backend": card.backend.value,
        "status": card.status,
        "context": _context_to_json(card.context) if card.context is not None else None,
        "semaphore": semaphore[0] if semaphore is not None else None,
        "increment": semaphore[1] if semaphore is not None else None,
        "analysis": card.analysis,
        "assessment": card.assessed or None,
        "tile": card.tile or None,
        "sides": [_side_to_json(side, sizes.get(side.name)) for side in card.sides or ()],
        "cast": dump.get("cast"),
        "compute_op": dump.get("compute_op"),
        "bounds": dump.get("bounds"),
        "failed_bounds": len(card.failures),
        "notified": card.lines.first("bounds.dispatched") is not None,
        "program": [entry.fields for entry in card.pushes],
        "doorbells": [entry.fields for job in card.jobs for entry in job.lines.all("doorbell.trigger")],
        "processors": [job.processor for job in card.jobs],
        "issues": [issue.to_json() for issue in card.issues],
    }


def _context_to_json(context: Context) -> dict[str, Any]:
    return {
        "rx": context.rx,
        "tx": context.tx,
        "sw": context.sw,
        "engine": context.engine,
        "queue_idx": context.queue_idx,
        "queue_num": context.queue_num,
        "rx_base": hex(context.rx_base),
        "tx_base": hex(context.tx_base),
    }


def _side_to_json(side: Side, elem_size: int | None) -> dict[str, Any]:
    return {
        "name": side.name,
        "addr": hex(side.addr),
        "bracket": side.bracket,
        "elem_size": elem_size,
        "num": [count for _, count in side.dims],
        "step": [step for step, _ in side.dims],
    }


def explanation_lines(found: Explanation) -> Iterator[str]:
    """The whole explanation for people."""
    counts = found.counts
    yield (
        f"{counts['lines']} lines: {counts['understood']} understood, {counts['unknown']} that no format fits, "
        f"{counts['others']} others; {len(found.cards)} words"
    )
    for host, context in found.contexts:
        yield f"context {_context_text(context)}{f' of {host}' if host else ''}"
    for card in found.cards:
        yield ""
        yield from card_lines(card)
    if found.other_formats:
        yield ""
        yield "lines that belong to no word: " + ", ".join(f"{n} x {key}" for key, n in found.other_formats.items())
    for issue in found.issues:
        yield str(issue)
    errors = sum(issue.severity == "error" for issue in found.all_issues)
    others = len(found.all_issues) - errors
    yield ""
    yield f"{errors} errors, {others} other findings"


def card_lines(card: Card) -> Iterator[str]:
    """One word for people: what it is, both sides, who moves it, what does not add up."""
    kind = card.kind.name if card.kind is not None else "word of unknown kind"
    host = f" on {card.host}" if card.host else ""
    yield f"word {card.number}{host}, lines {_span(card)}: {kind}, backend {card.backend.value}, {card.status}"
    if card.context is not None:
        yield f"  context   {_context_text(card.context)}"
    sizes = card.elem_sizes()
    for side in card.sides or ():
        size = f" of {sizes[side.name]} B" if side.name in sizes else ""
        dims = " ".join(f"{count} x {step:#x}" for step, count in side.dims if count != 1) or "1 element"
        yield f"  {'source' if side.name == 'src' else 'target':9} {side.addr:#x}: {dims}{size}"
    if card.sides is None:
        yield from _analyzed(card)
    yield from _operation(card)
    if card.assessed:
        yield f"  fan-out   {card.assessed['#DMA']} of {card.assessed['#DMA Avail']} DMAs"
    yield from _channels(card)
    for job in card.jobs:
        for entry in job.lines.all("doorbell.trigger"):
            fields = entry.fields
            yield (
                f"  doorbell  {fields['n_desc']} descriptors to each engine of mask {fields['mask']:#06x} "
                f"at {fields['trigger addr']} (P{job.processor})"
            )
    semaphore = card.semaphore()
    if semaphore is not None and card.status == "done":
        yield f"  completes $S[{semaphore[0]}] += {semaphore[1]}"
    for issue in card.issues:
        yield f"  {issue}"


def _analyzed(card: Card) -> Iterator[str]:
    """What the analysis tells of both sides of a word without a dump: the low halves of its addresses."""
    for name, fields in zip(("source", "target"), card.analysis, strict=False):
        yield (
            f"  {name:9} ...{fields['base']} (low half): {fields['nelem_target']} elements, "
            f"slowest step {fields['step_target']:#x}, {fields['Num Partitions']} partitions"
        )


def _span(card: Card) -> str:
    first, last = card.lines[0].line, card.lines[-1].line
    return str(first) if first == last else f"{first} to {last}"


def _context_text(context: Context) -> str:
    tier = "software" if context.sw else "hardware"
    bases = f", rings S2M {context.rx_base:#x}, M2S {context.tx_base:#x}" if context.rx_base or context.tx_base else ""
    return (
        f"rx {context.rx:#x} / tx {context.tx:#x}, {tier} tier, engine {context.engine}, "
        f"queue {context.queue_idx} of {context.queue_num}{bases}"
    )


def _operation(card: Card) -> Iterator[str]:
    dump = card.dump.fields if card.dump is not None else {}
    if "cast" in dump:
        src, dst = (_dtype_text(code) for code in dump["cast"])
        op = dump.get("compute_op", 0)
        compute = f", compute {ComputeOp(op).name if op in list(ComputeOp) else hex(op)}" if op else ""
        yield f"  elements  {src if src == dst else f'{src} cast to {dst}'}{compute}"
    if card.tile:
        rows, columns, size = (card.tile[name] for name in ("tile_src_rows", "tile_src_cols", "dtype_size"))
        yield f"  tile      {rows} x {columns}, {size} B each"
    for name, bound in dump.get("bounds", {}).items():
        if bound["enabled"]:
            yield f"  bound     {name} {bound['addr']} <= {bound['limit']}"


def _dtype_text(code: int) -> str:
    return Dtype(code).name if code in list(Dtype) else hex(code)


def _channels(card: Card) -> Iterator[str]:
    by_dma: dict[int, list[str]] = {}
    for group in card.groups:
        legs = [f"{entry.args[1]} {entry.args[2]:#x}" for entry in group.generates]
        more = f" and {len(legs) - 2} more" if len(legs) > 2 else ""
        dims = " ".join(
            f"[{src},{dst}][{src_step},{dst_step}]"
            for (src, dst), (src_step, dst_step) in zip(group.counts, group.steps, strict=True)
        )
        by_dma.setdefault(group.dma, []).append(f"{', '.join(legs[:2])}{more}  {dims}")
    for dma, texts in list(by_dma.items())[:_SHOWN_CHANNELS]:
        more = f" and {len(texts) - 1} more groups" if len(texts) > 1 else ""
        yield f"  DMA {dma:<5} {texts[0]}{more}"
    if len(by_dma) > _SHOWN_CHANNELS:
        yield f"  ...       {len(by_dma) - _SHOWN_CHANNELS} more channels"

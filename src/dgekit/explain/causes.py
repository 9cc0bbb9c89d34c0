"""What went wrong, why, and what to look at next: failed bounds, no backend, counts, illegal words (pipeline 6.6)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dgekit.core.errors import Issue
from dgekit.explain.cards import FATAL, Card, Explanation
from dgekit.explain.finding import Setting, finding
from dgekit.firmware.values import Backend, Kind

_SEQUENCER = {
    "seq.int_div_zero": "an integer division by zero; the sequencer stops for good",
    "seq.fp_error": "a floating point error; the sequencer goes on",
    "seq.assertion": "a failed assertion",
}


def explain_failures(card: Card, at: Setting) -> list[Issue]:
    """The failures that a card's lines tell of, with cause, numbers and the next thing to look at."""
    return [*_failed_bounds(card, at), *_no_backend(card, at), *_illegal(card), *_counts(card)]


def _failed_bounds(card: Card, at: Setting) -> Iterator[Issue]:
    if not card.failures:
        return
    first = card.failures[0]
    number, increment = first.args
    register = at.choices.text("dump_index") != "semaphore"
    meant = f"shape register {number}, offset {increment}" if register else f"semaphore {number}, increment {increment}"
    if card.backend is Backend.SOFTWARE and card.dump is not None:
        yield _dropped_rows(card, meant)
        return
    numbers = {"index": number, "increment": increment, **_reach(card)}
    if card.dump is not None and "bounds" in card.dump.fields:
        numbers |= {f"{leg}_{what}": value for leg, bound in card.dump.fields["bounds"].items()
                    for what, value in bound.items()}  # fmt: skip
    notified = card.lines.first("bounds.dispatched") is not None
    is_index = card.backend is Backend.SOFTWARE
    cause = "an index is above its limit" if is_index else "an effective address is above the limit of its bound"
    look = (
        "the index vector and the bound register of the index"
        if is_index
        else ("the general register that the word's bound byte names (bits 5:0 of src_bound_reg or dst_bound_reg)")
    )
    yield finding(
        "pipeline.6.1", "error",
        f"skipped: {cause} ({meant}). Nothing was moved, no semaphore was bumped; "
        f"{'the host was notified' if notified else 'the host was not notified'}",
        first, **numbers, source="pipeline 6.1, 6.3, dec.D24",
        fix=f"look at {look}; a later wait on the semaphore will hang",
    )  # fmt: skip


def _dropped_rows(card: Card, meant: str) -> Issue:
    masks = [entry for job in card.jobs for entry in job.lines.all("indirection.masks")]
    limits: dict[str, Any] = {}
    if masks:
        limits = {"srx_idx_max": masks[0].args[2], "dst_idx_max": masks[0].args[3]}
    highest = " or ".join(str(value) for value in limits.values() if value)
    return finding(
        "dec.D25", "advice",
        f"{len(card.failures)} rows are out of bounds and dropped ({meant}); the other rows were moved",
        card.failures[0], dropped=len(card.failures), **limits,
        fix=f"look at the index vector: an index may be at most {highest or 'the limit in its bound register'}",
    )  # fmt: skip


def _reach(card: Card) -> dict[str, Any]:
    """What the analysis tells about both tensors of a word whose dump never came: the low halves of its addresses."""
    found: dict[str, Any] = {}
    for name, fields in zip(("src", "dst"), card.analysis, strict=False):
        found[f"{name}_base_low32"] = fields["base"]
        found[f"{name}_elements"] = fields["nelem_target"]
        found[f"{name}_step"] = hex(fields["step_target"])
    return found


def _no_backend(card: Card, at: Setting) -> Iterator[Issue]:
    entry = card.lines.first("select.none")
    if entry is None:
        return
    indexed = card.kind in (Kind.INDIRECT, Kind.GATHER_TRANSPOSE)
    context = card.context.sw if card.context is not None else None
    if indexed:
        cause = f"an {card.kind.name if card.kind else 'indexed'} word, which only the software backend takes (sw = 1)"
    else:
        cause = "neither Pool nor RTL is available to this word; RTL takes no cast and no compute op"
    base = at.generation.availability_base if at.generation is not None else 0
    table = f" (DRAM {0x80000 + base:#x}, word 0 = Pool)" if base else ""
    yield finding(
        "pipeline.4.2", "error",
        f"no backend: {cause}. Nothing was done, the engine goes on",
        entry, kind=card.kind.name if card.kind is not None else None, sw=context,
        source="pipeline 4.1, 4.2, dec.D14 to D16",
        fix=f"look at the availability table{table} and at sw= in the contexts line; mode swdge takes every word",
    )  # fmt: skip


def _illegal(card: Card) -> Iterator[Issue]:
    entry = card.lines.first(*FATAL)
    if entry is None:
        return
    opcode = entry.args[0]
    if entry.key == "seq.bad_opcode":
        yield finding(
            "pipeline.6.6", "error", f"no word of this firmware has opcode {opcode:#x}: the sequencer stops for good",
            entry, opcode=hex(opcode), source="pipeline 6.6", fix="look at dge spec OPCODE, and at the generation",
        )  # fmt: skip
    else:
        yield finding(
            "pipeline.6.2", "error",
            f"word {opcode:#x} breaks a structural rule: the sequencer spins and takes no further word", entry,
            opcode=hex(opcode), source="pipeline 6.2, 6.6",
            fix="run dge check on the word: bound bytes, markers, shape register index, counts",
        )  # fmt: skip


def _counts(card: Card) -> Iterator[Issue]:
    for job in card.jobs:
        for entry in job.lines.all("bounds.count"):
            wrote, expected = entry.args
            generating = job.lines.first("swdge.generating")
            ring = generating.args[1] if generating is not None else None
            role = expected == wrote or generating is None
            cause = (
                "the role bit of the processor does not match: the same line reports it"
                if role else "the ring was too short" if ring is not None and expected > ring
                else "rows were dropped after they had been counted, or the ring was overrun"
            )  # fmt: skip
            yield finding(
                "pipeline.6.1", "error",
                f"DescriptorStream wrote {wrote} descriptors where {expected} were expected; likely {cause}", entry,
                wrote=wrote, expected=expected, ring_ndesc=ring, source="pipeline 6.1, 6.6, 3.7",
                fix="look at the loop and mask lines before it, and at ring_ndesc; the engine stops here",
            )  # fmt: skip


def explain_other_errors(found: Explanation) -> list[Issue]:
    """Errors of the sequencer and the Q7 dispatcher that belong to no word."""
    return [
        finding("pipeline.6.6", "error", f"{found.other_formats[key]} x {meaning}", format=key)
        for key, meaning in _SEQUENCER.items()
        if key in found.other_formats
    ] + (
        [
            finding(
                "pipeline.6.6", "error", "a Q7 processor met an opcode it does not know", format="error.unknown_opcode"
            )
        ]
        if "error.unknown_opcode" in found.other_formats
        else []
    )

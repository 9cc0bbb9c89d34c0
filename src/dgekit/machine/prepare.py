"""Lower one item as far as it goes without running it: words to resolve, or the host's own plan.

A lowering error marks the result refused; nothing here touches memory.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from dgekit.core.choices import Choices
from dgekit.core.errors import DecodeError, DgeError, Issue, LoweringError
from dgekit.core.generations import Generation
from dgekit.machine.results import TransferResult
from dgekit.transfers.build import build_words
from dgekit.transfers.indices import index_walk
from dgekit.transfers.placement import Placement
from dgekit.transfers.request import open_request
from dgekit.transfers.static import StaticPlan, is_static, static_work
from dgekit.transfers.transfer import Item, RawWords, Transfer
from dgekit.transfers.values import Staging
from dgekit.words.legs import sbuf_place
from dgekit.words.resolve import resolve
from dgekit.words.stream import split_stream
from dgekit.words.structs import PseudoDmaDirect2D

NO_EFFECT = "SemaphoreStep"


@dataclass(frozen=True, slots=True)
class ReadyWord:
    """A word the firmware can execute, with the increment carried beside it (None: the word's own field)."""

    word: Any
    sem_increment: int | None


@dataclass(slots=True)
class Prepared:
    """One item, lowered: its `words` in issue order or a `static` plan, and what must be so before it starts.

    An indexed static transfer has no plan yet: it needs the index values that memory holds when it runs.
    """

    item: Item
    result: TransferResult
    words: tuple[ReadyWord, ...] = ()
    is_static: bool = False
    static: StaticPlan | None = None
    stagings: tuple[Staging, ...] = ()
    registers: Mapping[int, int] = field(default_factory=dict)
    core: int = 0


@dataclass(frozen=True, slots=True)
class Lowering:
    """What lowering looks at."""

    placement: Placement
    generation: Generation
    choices: Choices
    ordinals: Mapping[int, int] = field(default_factory=dict)
    used_registers: Collection[int] = ()


def prepare(item: Item, at: Lowering) -> Prepared:
    """Lower one item; a DgeError becomes the result's refusal."""
    call = item.call if isinstance(item, Transfer) else None
    line = call.line if call is not None else ""
    entry = Prepared(item, TransferResult(item.name, _kind_of(item), "", where=item.where, line=line))
    try:
        if isinstance(item, Transfer):
            _prepare_transfer(entry, item, at)
        elif isinstance(item, RawWords):
            _prepare_raw(entry, item, at)
    except DgeError as error:
        entry.result.refuse(error.as_issue())
    return entry


def _kind_of(item: Item) -> str:
    match item:
        case Transfer():
            return item.op
        case RawWords():
            return "words"
    return NO_EFFECT


def _prepare_transfer(entry: Prepared, transfer: Transfer, at: Lowering) -> None:
    result = entry.result
    result.mode = transfer.mode
    if is_static(transfer):
        _prepare_static(entry, transfer, at)
        return
    _check_mode(transfer, at.generation)
    built = build_words(transfer, at.placement, at.generation, at.choices, used_registers=at.used_registers)
    result.issues += built.issues
    entry.stagings, entry.registers, entry.core = built.stagings, built.registers, built.core
    ready = []
    for word in built.words:
        result.pseudo += _slots(word.encode())
        resolved = resolve(word.pseudo, word.ext, word.relocations, at.choices)
        result.resolved.append(resolved.word.encode())
        result.issues += _told(resolved.issues)
        ready.append(ReadyWord(resolved.word, word.sem_increment))
    entry.words = tuple(ready)


def _prepare_static(entry: Prepared, transfer: Transfer, at: Lowering) -> None:
    """Plan the host's own expansion; an indexed one is tried with row 0 in every lane, to find what is wrong early."""
    entry.is_static = True
    indexed = transfer.indices is not None
    trial = [0] * _lanes(transfer, at) if indexed else None
    plan = static_work(transfer, at.placement, at.generation, at.choices, indices=trial, ordinals=at.ordinals)
    entry.core = plan.core
    if not indexed:
        entry.static = plan
        entry.result.issues += plan.issues


def _lanes(transfer: Transfer, at: Lowering) -> int:
    return index_walk(open_request(transfer, at.placement, at.generation, at.choices))[1].count


def _check_mode(transfer: Transfer, generation: Generation) -> None:
    if transfer.mode not in generation.modes:
        raise LoweringError(
            f"{generation.name} has no mode {transfer.mode}",
            rule="dec.D47",
            where=transfer.where or transfer.name,
            values={"mode": transfer.mode, "modes": list(generation.modes)},
            source="decision D47, pipeline 9",
            fix=f"use mode {' or '.join(generation.modes)}",
        )


def _prepare_raw(entry: Prepared, raw: RawWords, at: Lowering) -> None:
    result = entry.result
    stream = split_stream(raw.words)
    broken = next((issue.message for issue in stream.issues if issue.severity == "error"), "")
    if broken or not stream.items:
        raise DecodeError(f"not words: {broken or 'there are none'}", rule="isa.stream", where=raw.where or raw.name)
    ready = []
    for _, word, extension in stream.items:
        _check_beside(raw, word)
        if isinstance(word, PseudoDmaDirect2D):
            result.pseudo += _slots(word.encode() + (extension.encode() if extension is not None else b""))
            resolved = resolve(word, extension, at.placement.relocations(), at.choices)
            result.issues += _told(resolved.issues)
            ready.append(ReadyWord(resolved.word, resolved.sem_increment))
        else:
            ready.append(ReadyWord(word, raw.increment))
        result.resolved.append(ready[-1].word.encode())
    entry.words = tuple(ready)
    result.kind, result.mode = ready[0].word.kind, raw.mode
    entry.core = _core_of(ready[0].word, at.generation) if raw.core is None else _checked_core(raw, at.generation)


def _check_beside(raw: RawWords, word: Any) -> None:
    """What is given beside a word must not contradict it; an increment counts only where the word has no field (D5)."""
    beside = {"semaphore": raw.semaphore, "sem_increment": raw.increment}
    for name, given in beside.items():
        own = getattr(word, name, None)
        if given is not None and own is not None and int(own) != given:
            raise LoweringError(
                f"{name} {given} is given beside a {word.kind} word that holds {int(own)}",
                rule="dec.D41",
                where=raw.where or raw.name,
                values={"given": given, "word": int(own)},
                source="decisions D5, D41",
                fix="change the word, or leave the key out",
            )


def _checked_core(raw: RawWords, generation: Generation) -> int:
    core = raw.core or 0
    if not 0 <= core < generation.cores:
        raise LoweringError(
            f"core {core} does not exist; a device of {generation.name} has {generation.cores}",
            rule="dec.D41",
            where=raw.where or raw.name,
            values={"core": core, "cores": generation.cores},
        )
    return core


def _core_of(word: Any, generation: Generation) -> int:
    """The core whose SBUF an immediate address of the word names, the destination's first; else 0 (D41)."""
    for name in ("dst_start_addr", "src_start_addr"):
        address = getattr(getattr(word, name, None), "address", None)
        place = sbuf_place(address, generation) if isinstance(address, int) else None
        if place is not None:
            return place[0]
    return 0


def _slots(data: bytes) -> Iterator[bytes]:
    return (data[offset : offset + 64] for offset in range(0, len(data), 64))


def _told(issues: tuple[Issue, ...]) -> list[Issue]:
    """What a run reports of resolution: everything but what no source settles."""
    return [issue for issue in issues if issue.severity != "unspecified"]

"""Instruction streams as items: each trigger starts its dma entries, every instruction keeps its waits and updates.

Slots are 64 bytes (neff.md 4). Instructions that move nothing here (compute, barriers) stay as semaphore steps, so
that what waits for them still runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from dgekit.core.choices import Choices
from dgekit.core.errors import InputError, Issue, Unspecified, Unsupported
from dgekit.frontends.neff.definitions import Collective, Entry
from dgekit.frontends.neff.movements import Context, collective_copy, entry_transfers
from dgekit.frontends.neff.read import Engine
from dgekit.transfers.events import read_events
from dgekit.transfers.transfer import Item, RawWords, SemaphoreStep, Transfer, Update, Wait
from dgekit.words.enums import WORD_SIZE, Opcode
from dgekit.words.stream import split_stream
from dgekit.words.structs import Events, OpaqueWord, PseudoDmaRearm, PseudoDmaSwapQueueSet, PseudoDmaTrigger, Word

OPAQUE_RULE = "isa.stream.opaque"  # what stays opaque here is reported by what becomes of it
EVENT_SEMAPHORE = 0xA0  # neff.md 4; the instruction set's own enum does not list it
INST_WORD_LEN = 0x10
EVENTS_AT = slice(4, 12)  # the common prefix of every instruction (neff.md 4)
COLLECTIVES = frozenset(
    {Opcode.PSEUDO_TRIGGER_ALL_REDUCE, Opcode.PSEUDO_TRIGGER_COLLECTIVE, Opcode.PSEUDO_TRIGGER_COLLECTIVE2}
)
CONTROL_FLOW = frozenset({Opcode.PSEUDO_BRANCH_LABEL, Opcode.PSEUDO_FUNCTION_CALL, Opcode.PSEUDO_FUNCTION_RETURN})
WITHOUT_MOVEMENT = (OpaqueWord, PseudoDmaRearm, PseudoDmaSwapQueueSet)
Gates = tuple[tuple[Wait, ...], tuple[Update, ...]]


@dataclass(slots=True)
class StreamReader:
    """Turns one engine's stream into items; `issues` collects what it noticed."""

    engine: Engine
    context: Context
    choices: Choices
    variable_by_id: dict[int, str]
    name_of: Callable[[str], str]
    issues: list[Issue] = field(default_factory=list)
    _skipped: Counter[int] = field(default_factory=Counter)
    _started: set[int] = field(default_factory=set)
    _entries: dict[tuple[str, int], list[int]] = field(default_factory=dict)
    _collectives: dict[int, Collective] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for index, entry in enumerate(self.engine.entries):
            queue = self.context.queue_named(entry.queue, entry.where)
            self._entries.setdefault((queue.name, entry.id), []).append(index)
        self._collectives.update((one.slot, one) for one in self.engine.collectives)

    def items(self) -> Iterator[Item]:
        """The items in stream order; dma entries in listed order when the stream triggers none of them.

        Raises InputError, Unsupported or Unspecified, each naming the slot.
        """
        items = [item for slot, word, extension in self._slots() for item in self._items(slot, word, extension)]
        if not self._started:
            yield from (item for entry in self.engine.entries for item in self._entry(entry))
        else:
            self._report_idle_entries()
        yield from items
        self._report_skipped()

    def _slots(self) -> Iterator[tuple[int, Word, Word | None]]:
        stream = self.engine.stream
        if len(stream) % WORD_SIZE:
            message = f"the stream of {len(stream)} bytes is no whole number of {WORD_SIZE}-byte slots; it is not run"
            if self.engine.name != "sp":
                raise InputError(message, rule="neff.stream", where=self._member, values={"bytes": len(stream)})
            self.issues.append(
                Issue("neff.stream", "warning", message, self._member, {"bytes": len(stream)}, "neff 4, dec.D89")
            )
            return
        split = split_stream(stream)
        self.issues += [issue.at(self._member) for issue in split.issues if issue.rule != OPAQUE_RULE]
        for item in split.items:
            yield item.offset // WORD_SIZE, item.word, item.extension

    @property
    def _member(self) -> str:
        return f"{self.context.where}: {self.engine.stream_member}"

    def _items(self, slot: int, word: Word, extension: Word | None) -> Iterator[Item]:
        where = f"{self._member}: slot {slot}"
        raw = word.encode()
        if raw[0] in CONTROL_FLOW:
            raise Unsupported(
                f"{Opcode(raw[0]).name} steers the stream; only straight streams run",
                rule="neff.control_flow",
                where=where,
            )
        if raw[1] != INST_WORD_LEN:
            self._skipped[raw[0]] += 1
            return
        gates = self._gates(word, raw, where)
        if isinstance(word, PseudoDmaTrigger):
            yield from self._trigger(word, gates, where)
        elif raw[0] in COLLECTIVES:
            yield self._collective(slot, raw[0], gates, where)
        elif isinstance(word, WITHOUT_MOVEMENT):
            if raw[0] != EVENT_SEMAPHORE:
                self._skipped[raw[0]] += 1
            yield SemaphoreStep(self._name(slot), gates[0], gates[1], self.engine.name, where)
        else:
            words = raw + (extension.encode() if extension is not None else b"")
            name = self._name(slot)
            mode = self.context.mode
            yield RawWords(name, words, mode, None, None, gates[0], gates[1], self.engine.name, where)

    def _name(self, slot: int) -> str:
        return self.name_of(f"{self.engine.name}[{slot}]")

    def _gates(self, word: Word, raw: bytes, where: str) -> Gates:
        events = getattr(word, "events", None)
        if events is None and isinstance(word, OpaqueWord):
            events = Events.decode(raw[EVENTS_AT])
        return read_events(events, where) if isinstance(events, Events) else ((), ())

    def _trigger(self, word: PseudoDmaTrigger, gates: Gates, where: str) -> Iterator[Item]:
        name, block = str(word.queue_name), word.dma_block_id
        found = self._entries.get((self.context.queue_named(name, where).name, block))
        if not found:
            raise InputError(
                f"the trigger starts block {block} of queue {name}, and no dma entry has that id",
                rule="neff.trigger",
                where=where,
                values={"block": block},
            )
        items = [item for index in found for item in self._entry(self.engine.entries[index])]
        self._started.update(found)
        items[0] = replace(items[0], wait=gates[0])
        items[-1] = replace(items[-1], updates=gates[1])
        yield from items

    def _entry(self, entry: Entry) -> list[Transfer]:
        transfers = entry_transfers(entry, self.engine.name, self.context)
        return [replace(transfer, name=self.name_of(transfer.name)) for transfer in transfers]

    def _collective(self, slot: int, opcode: int, gates: Gates, where: str) -> Item:
        name = Opcode(opcode).name
        known = self._collectives.get(slot)
        if known is None:
            raise Unspecified(
                f"the payload of {name} is not published: which variables it moves is unknown",
                rule="neff.collective",
                where=where,
                source="neff 4",
            )
        if self.choices.text("solo_collective") == "refuse":
            raise Unsupported(
                f"{known.op} needs other ranks, and choice solo_collective = refuse",
                rule="dec.D43",
                where=where,
                fix="--set solo_collective=copy",
            )
        src, dst = (self._variable(var_id, where) for var_id in (known.input, known.output))
        copy = collective_copy(self.name_of(f"{known.op}[{slot}]"), src, dst, _nbytes(known), self.context, where)
        return replace(copy, engine=self.engine.name, wait=gates[0], updates=gates[1])

    def _variable(self, var_id: int, where: str) -> str:
        if var_id not in self.variable_by_id:
            raise InputError(f"no variable has id {var_id}", rule="neff.variable", where=where)
        return self.variable_by_id[var_id]

    def _report_idle_entries(self) -> None:
        for index, entry in enumerate(self.engine.entries):
            if index not in self._started:
                self.issues.append(
                    Issue("neff.trigger", "warning", f"dma id {entry.id} is never triggered: not run", entry.where)
                )

    def _report_skipped(self) -> None:
        for opcode, count in sorted(self._skipped.items()):
            message = f"{count} instructions of opcode {opcode:#04x} move nothing here: only their semaphores are kept"
            self.issues.append(
                Issue(
                    "neff.instruction", "warning", message, self._member, {"opcode": opcode, "count": count}, "neff 4"
                )
            )


def _nbytes(collective: Collective) -> int:
    return collective.elements * collective.dtype.size

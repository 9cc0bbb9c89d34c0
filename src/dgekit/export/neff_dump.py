"""Everything a NEFF's engines do, with symbols: each dma entry, then each 64-byte slot of each stream."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dgekit.core.errors import Issue
from dgekit.frontends.neff.definitions import Entry, Leg, Movement, Queue
from dgekit.frontends.neff.engine_file import EngineFile
from dgekit.frontends.neff.movements import queues_by_any_name
from dgekit.frontends.neff.opened import OpenNeff, OpenSubgraph
from dgekit.words.enums import WORD_SIZE, Opcode
from dgekit.words.stream import split_stream
from dgekit.words.structs import OpaqueWord, PseudoDmaTrigger, Word
from dgekit.words.text import word_to_json

_VARIABLE_FIELDS = ("var_id", "direct_var_id")


@dataclass(frozen=True, slots=True)
class EntryRecord:
    """One entry of a dma list and the queue set it runs on (None: the file has no such queue)."""

    subgraph: str
    engine: str
    index: int
    entry: Entry
    queue: Queue | None

    @property
    def semaphore(self) -> int | None:
        """What is incremented when all is done: the entry's own semaphore, else the queue set's."""
        if self.entry.semaphore is not None or self.queue is None:
            return self.entry.semaphore
        return self.queue.semaphore

    def to_json(self) -> dict[str, Any]:
        """One line of `dge neff dump --json`."""
        return {
            "record": "entry",
            "subgraph": self.subgraph,
            "engine": self.engine,
            "index": self.index,
            "id": self.entry.id,
            "queue": self.entry.queue,
            "queue_set": None if self.queue is None else self.queue.name,
            "num_queues": None if self.queue is None else self.queue.num_queues,
            "semaphore": self.semaphore,
            "movements": [_movement(movement) for movement in self.entry.movements],
        }

    def lines(self) -> Iterator[str]:
        """The same for people."""
        queue = "unknown" if self.queue is None else f"{self.queue.type}, {self.queue.num_queues} hardware queues"
        yield (
            f"{self.subgraph} {self.engine} dma[{self.index}]: id {self.entry.id} on {self.entry.queue or 'no queue'} "
            f"({queue}), semaphore {'none' if self.semaphore is None else self.semaphore}"
        )
        for movement in self.entry.movements:
            sources = " + ".join(_leg_text(leg) for leg in movement.sources) or "nothing"
            target = "nothing" if movement.target is None else _leg_text(movement.target)
            yield f"  {movement.op} {sources} -> {target}"


@dataclass(frozen=True, slots=True)
class WordRecord:
    """One 64-byte slot of a stream: its word, and what its ids and names stand for, by field."""

    subgraph: str
    engine: str
    offset: int
    word: Word
    symbols: dict[str, str]
    issues: tuple[Issue, ...] = ()

    @property
    def slot(self) -> int:
        """Its number in the stream."""
        return self.offset // WORD_SIZE

    def to_json(self) -> dict[str, Any]:
        """One line of `dge neff dump --json`."""
        return {
            "record": "word",
            "subgraph": self.subgraph,
            "engine": self.engine,
            "slot": self.slot,
            "symbols": self.symbols,
            "word": word_to_json(self.word, self.offset, self.issues),
        }

    def lines(self) -> Iterator[str]:
        """The same for people: the word as it evaluates back, its symbols below."""
        shown = _opaque_text(self.word.encode()) if isinstance(self.word, OpaqueWord) else repr(self.word)
        yield f"{self.subgraph} {self.engine} slot {self.slot}: {shown}"
        yield from (f"  {path} is {name}" for path, name in self.symbols.items())


@dataclass(frozen=True, slots=True)
class StreamRecord:
    """A stream that is no whole number of 64-byte slots (an sp stream may be; dec.D89): its bytes as they are."""

    subgraph: str
    engine: str
    data: bytes

    def to_json(self) -> dict[str, Any]:
        """One line of `dge neff dump --json`."""
        return {
            "record": "stream",
            "subgraph": self.subgraph,
            "engine": self.engine,
            "bytes": len(self.data),
            "hex": self.data.hex(),
        }

    def lines(self) -> Iterator[str]:
        """The same for people."""
        yield f"{self.subgraph} {self.engine}: a stream of {len(self.data)} bytes, no whole 64-byte slots"


Record = EntryRecord | WordRecord | StreamRecord


def dump(neff: OpenNeff, subgraph: str = "", engine: str = "") -> Iterator[Record]:
    """A record an entry and one a word, in the order of the file; `subgraph` and `engine` narrow it.

    Raises InputError for wrong JSON and for entries of the wrong form.
    """
    for graph in neff.subgraphs:
        for one in graph.engines.values():
            if subgraph in ("", graph.name) and engine in ("", one.name):
                yield from _entries(graph, one)
                yield from _words(graph, one)


def _entries(graph: OpenSubgraph, engine: EngineFile) -> Iterator[Record]:
    known = queues_by_any_name(graph.queues)
    for index, entry in enumerate(engine.entries()):
        yield EntryRecord(graph.name, engine.name, index, entry, known.get(entry.queue))


def _words(graph: OpenSubgraph, engine: EngineFile) -> Iterator[Record]:
    stream = engine.stream()
    if len(stream) % WORD_SIZE:
        yield StreamRecord(graph.name, engine.name, stream)
        return
    split = split_stream(stream)
    notes: dict[str, list[Issue]] = {}
    for issue in split.issues:
        notes.setdefault(issue.where.split(" ")[0], []).append(issue)
    by_id = {variable.var_id: name for name, variable in graph.variables.items()}
    for item in split.items:
        for step, word in enumerate((item.word, item.extension)):
            if word is not None:
                offset = item.offset + step * WORD_SIZE
                own = tuple(notes.get(f"{offset:#x}", ()))
                yield WordRecord(graph.name, engine.name, offset, word, _symbols(word, graph, by_id), own)


def _symbols(word: Word, graph: OpenSubgraph, by_id: dict[int, str]) -> dict[str, str]:
    """What the numbers and names of a word stand for: a trigger's queue set, the variables of addresses."""
    if isinstance(word, OpaqueWord):
        return {}
    if isinstance(word, PseudoDmaTrigger):
        queue = queues_by_any_name(graph.queues).get(str(word.queue_name))
        shown = "no queue of this file" if queue is None else f"queue set {queue.name}, {queue.type}"
        return {"queue_name": shown}
    found = {}
    for path, _, value, _ in word.placed_leaves():
        name = path.rpartition(".")[2]
        if name in _VARIABLE_FIELDS and (name == "var_id" or value):
            found[path] = by_id.get(value, "no variable of this file")
    return found


def _movement(movement: Movement) -> dict[str, Any]:
    return {
        "op": movement.op,
        "from": [_leg(leg) for leg in movement.sources],
        "to": None if movement.target is None else _leg(movement.target),
    }


def _leg(leg: Leg) -> dict[str, Any]:
    return {
        "variable": leg.variable,
        "offset": leg.offset,
        "steps": None if leg.steps is None else list(leg.steps),
        "sizes": None if leg.sizes is None else list(leg.sizes),
        "dtype": None if leg.dtype is None else leg.dtype.name,
    }


def _opaque_text(raw: bytes) -> str:
    """A word of no known form: the name of its opcode, where it has one, and its bytes without the zeros at the end."""
    name = Opcode(raw[0]).name if raw[0] in Opcode._value2member_map_ else "opcode"
    return f"{name} {raw[0]:#04x}, {raw.rstrip(bytes(1)).hex(' ', 4)}"


def _leg_text(leg: Leg) -> str:
    """`x+0x100 [1,2048][2048,128]`: variable, offset, [step, size] innermost first, in bytes."""
    steps = leg.steps or ("?",) * len(leg.sizes or ())
    pattern = "".join(f"[{step},{size}]" for step, size in zip(steps, leg.sizes or (), strict=False))
    offset = f"+{leg.offset:#x}" if leg.offset else ""
    return f"{leg.variable}{offset} {pattern}" + (f" {leg.dtype.name}" if leg.dtype is not None else "")

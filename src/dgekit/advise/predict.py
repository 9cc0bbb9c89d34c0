"""What a program will ask of the DMA system: descriptors, bytes, queues, ring memory and time, before it runs.

Each transfer is lowered as a run lowers it, in the mode asked for; ring memory is that of static expansion, whatever
the mode (decision D86). Times are estimates (`advise.cost`); they are None where no public number exists.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from dgekit.advise.cost import Band, Cost, Word, cost_of_words, loads_of, path_of, speeds_of
from dgekit.advise.facts import Path, facts_of, has_facts
from dgekit.advise.likeness import likeness
from dgekit.advise.needs import Needs
from dgekit.advise.preview import Preview
from dgekit.advise.ring_bytes import EngineUse, RingBytes, engine_uses, raw_ring_memory, ring_memory
from dgekit.advise.rings import QUEUE_LIMIT, SEMAPHORE_WRITES, queue_limit_issues
from dgekit.advise.sizes import Sizes, sizes_of
from dgekit.advise.timeline import Span, Step, schedule
from dgekit.advise.verdict import Verdict
from dgekit.core.choices import Choices, Value
from dgekit.core.errors import Issue
from dgekit.core.generations import Generation
from dgekit.descriptors.batch import DescriptorBatch, PacketKind
from dgekit.firmware.values import Backend
from dgekit.machine.prepare import Prepared
from dgekit.transfers.queues import STATIC_QUEUE, queue_name
from dgekit.transfers.transfer import MODES, Mode, RawWords, SemaphoreStep, Transfer, Workload

CHOSEN_MODES: tuple[Mode, ...] = tuple(mode for mode in MODES if mode != "unknown")


@dataclass(frozen=True, slots=True)
class Predicted:
    """One transfer in one mode. `status` and `issues` are those of lowering; a refused one moves nothing.

    `carveout` is what its largest Pool word needs, in descriptors.
    """

    item: Transfer | RawWords
    number: int
    mode: str
    backend: Backend
    path: Path
    status: str
    queue: str
    engines: tuple[EngineUse, ...]
    packets: int
    sizes: Sizes
    words: tuple[Word, ...]
    cost: Cost | None
    rings: RingBytes
    carveout: int
    signals: tuple[tuple[int, int], ...]
    issues: tuple[Issue, ...]
    ring_use: tuple[EngineUse, ...] = ()
    modes: Mapping[str, Predicted] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The transfer's name."""
        return self.item.name

    @property
    def where(self) -> str:
        """The author's line or key."""
        call = self.item.call if isinstance(self.item, Transfer) else None
        return (call.line if call is not None else "") or self.item.where

    @property
    def descriptors(self) -> int:
        """BDs of both legs, semaphore writes among them."""
        return sum(use.m2s + use.s2m for use in self.engines)

    @property
    def nbytes(self) -> int:
        """Bytes of the source leg (D30)."""
        return sum(use.nbytes for use in self.engines)

    @property
    def works(self) -> bool:
        """True when lowering gave something to move."""
        return self.status == "done"


@dataclass(frozen=True, slots=True)
class QueueUse:
    """What the transfers of one queue ask of it; `largest_ring` is its fullest ring if the host expands them."""

    name: str
    transfers: int
    descriptors: int
    nbytes: int
    ring_bytes: RingBytes
    largest_ring: int

    def to_json(self) -> dict[str, object]:
        """The entry of `queues`."""
        return {
            "name": self.name,
            "transfers": self.transfers,
            "descriptors": self.descriptors,
            "bytes": self.nbytes,
            "ring_bytes": self.ring_bytes.to_json(),
            "largest_ring": self.largest_ring,
            "limit": QUEUE_LIMIT,
        }


@dataclass(frozen=True, slots=True)
class Prediction:
    """A whole program: its transfers in order, its queues, and its time where one can be estimated.

    `verdicts`, where it has been judged, are by the item's number.
    """

    workload: Workload
    generation: Generation
    transfers: tuple[Predicted, ...]
    queues: tuple[QueueUse, ...]
    time_ns: Band | None
    spans: tuple[Span, ...]
    carveout: int
    choices: Mapping[str, Value]
    issues: tuple[Issue, ...]
    steps: tuple[Step, ...] = ()
    verdicts: Mapping[int, Verdict] = field(default_factory=dict)

    def is_legal(self, row: Predicted, mode: str) -> bool:
        """False where a rule forbids a transfer that mode; True where nobody has judged."""
        verdict = self.verdicts.get(row.number)
        return verdict is None or mode not in verdict.modes or verdict.modes[mode].legal

    @property
    def descriptors(self) -> int:
        """BDs of both legs of all transfers."""
        return sum(each.descriptors for each in self.transfers)

    @property
    def nbytes(self) -> int:
        """Bytes moved."""
        return sum(each.nbytes for each in self.transfers)

    @property
    def rings(self) -> RingBytes:
        """Ring memory if the host expands every transfer."""
        return sum((each.rings for each in self.transfers), RingBytes())

    @property
    def sizes(self) -> Sizes:
        """Data descriptors by size."""
        return sum((each.sizes for each in self.transfers), Sizes())


def predict(workload: Workload, choices: Choices | None = None, modes: Sequence[Mode] = ()) -> Prediction:
    """Predict a program; `modes` asks for every transfer in those modes beside its own (`Predicted.modes`).

    Raises a DgeError where the program's tensors have no place; what is wrong with a transfer is among its issues.
    """
    preview = Preview(workload, choices)
    generation, needs = workload.generation, Needs(preview.session.placement, workload.generation)
    found: list[Predicted] = []
    steps: list[Step] = []
    for number, item in preview.items():
        if isinstance(item, SemaphoreStep):
            signals = tuple((u.semaphore, -u.value if u.op == "sub" else u.value) for u in item.updates)
            steps.append(Step(item.engine, "static", "", waits=item.wait, signals=signals))
            continue
        row = predicted(item, preview, number, modes)
        found.append(row)
        steps.append(step_of(row, needs.of(number, item)))
    time, spans = _time(steps, generation, workload.state.semaphores)
    carveout = preview.session.state_for(0, {}).carveout
    queues = _queues(found)
    issues = (*workload.issues, *_limits(queues, workload.source), *_uncounted(found, workload.source))
    return Prediction(
        workload, generation, tuple(found), queues, time, spans, carveout, preview.choices.used(), issues, tuple(steps)
    )


def time_of(steps: Sequence[Step], generation: Generation, semaphores: Mapping[int, int]) -> Band | None:
    """The time of a program from its steps; None where no public number exists."""
    return _time(steps, generation, semaphores)[0]


def _time(
    steps: Sequence[Step], generation: Generation, semaphores: Mapping[int, int]
) -> tuple[Band | None, tuple[Span, ...]]:
    """The program's time, and the spans of the estimate."""
    if not has_facts(generation):
        return None, ()
    ends = [schedule(steps, speeds, semaphores) for speeds in speeds_of(facts_of(generation))]
    low, estimate, high = (max((span.end for span in spans), default=0.0) for spans in ends)
    return Band(min(low, estimate), estimate, max(estimate, high)), tuple(ends[1])


def predicted(item: Transfer | RawWords, preview: Preview, number: int = 0, modes: Sequence[Mode] = ()) -> Predicted:
    """One item on its preview's device, in its own mode, and in `modes` beside it."""
    own = _one(item, preview, number)
    if isinstance(item, RawWords):
        return replace(own, rings=raw_ring_memory(own.sizes, own.descriptors), ring_use=own.engines)
    static = own if item.mode == "none" else _one(replace(item, mode="none"), preview, number)
    session = preview.session
    rings, use = ring_memory(item, static.engines, static.sizes, session.placement, session.generation)
    own = replace(own, rings=rings, ring_use=use)
    others: dict[str, Predicted] = {}
    for mode in modes:
        other = (
            static if mode == "none" else own if mode == item.mode else _one(replace(item, mode=mode), preview, number)
        )
        others[mode] = replace(other, rings=rings, ring_use=use)
    return replace(own, modes=others)


def _one(item: Transfer | RawWords, preview: Preview, number: int) -> Predicted:
    """The item in its mode; one that is like an earlier one is not lowered again."""
    session = preview.session
    key = likeness(item, session.placement, session.generation) if isinstance(item, Transfer) else None
    alike: Predicted | None = preview.known.get(key) if key is not None else None
    if alike is not None:
        return replace(alike, item=item, number=number)
    found = _lowered(item, preview, number)
    if key is not None and not found.issues:  # issues name places
        preview.known[key] = found
    return found


def _lowered(item: Transfer | RawWords, preview: Preview, number: int) -> Predicted:
    entry = preview.of(item)
    result, generation = entry.result, preview.session.generation
    batches = result.batches if result.status == "done" else []
    path = path_of(result.backend)
    facts = facts_of(generation) if has_facts(generation) else None
    words = tuple(loads_of(batch, generation, facts) for batch in batches) if facts is not None else ()
    joined = DescriptorBatch.joined(batches)
    return Predicted(
        item=item,
        number=number,
        mode=result.mode or item.mode,
        backend=result.backend,
        path=path,
        status=result.status,
        queue=queue_name(item) if isinstance(item, Transfer) else f"raw {item.engine}",
        engines=engine_uses(joined),
        packets=_data_packets(joined),
        sizes=sizes_of(joined, preview.choices.number("small_bytes")),
        words=words,
        cost=cost_of_words(words, path, facts) if facts is not None and words else None,
        rings=RingBytes(),
        carveout=max((b.m2s_count + b.s2m_count for b in batches), default=0) if result.backend is Backend.POOL else 0,
        signals=_signals(entry),
        issues=tuple(result.issues),
    )


def _data_packets(batch: DescriptorBatch) -> int:
    return sum(int((channel.packets["kind"] != PacketKind.SEMAPHORE).sum()) for channel in batch.channels)


def _signals(entry: Prepared) -> tuple[tuple[int, int], ...]:
    """What the item adds to semaphores when it is complete."""
    item, found = entry.item, []
    if isinstance(item, Transfer) and item.semaphore is not None and entry.static is not None:
        found.append((item.semaphore, sum(pair.value for pair in entry.static.increments)))
    elif isinstance(item, Transfer) and item.semaphore is not None and item.mode == "none":
        found.append((item.semaphore, item.increment * SEMAPHORE_WRITES))  # an indexed one: planned when it runs
    elif entry.words and entry.result.outcomes:
        pair = entry.result.outcomes[-1].pair
        if pair is not None and (entry.words[-1].sem_increment or not isinstance(item, Transfer)):
            found.append((pair.semaphore, pair.sem_increment))
    found += [(u.semaphore, -u.value if u.op == "sub" else u.value) for u in item.updates]
    return tuple(found)


def step_of(row: Predicted, after: tuple[int, ...] = ()) -> Step:
    """The step of a transfer in the program's timeline; `after` are the steps whose bytes it needs."""
    return Step(row.item.engine, row.path, row.queue, row.words, row.item.wait, row.signals, after)


# queues


def _queues(rows: Sequence[Predicted]) -> tuple[QueueUse, ...]:
    groups: dict[str, list[Predicted]] = {}
    for row in rows:
        groups.setdefault(row.queue, []).append(row)
    return tuple(_queue(name, group) for name, group in groups.items())


def _queue(name: str, rows: Sequence[Predicted]) -> QueueUse:
    fullest: Counter[tuple[int, str]] = Counter()
    for row in rows:
        for use in row.ring_use:
            fullest[use.engine, "m2s"] += use.m2s
            fullest[use.engine, "s2m"] += use.s2m
    return QueueUse(
        name,
        len(rows),
        sum(row.descriptors for row in rows),
        sum(row.nbytes for row in rows),
        sum((row.rings for row in rows), RingBytes()),
        max(fullest.values(), default=0),
    )


def _limits(queues: Sequence[QueueUse], where: str) -> list[Issue]:
    """Static queues over the limit; the rings of the others are refilled as they run."""
    return [
        issue
        for queue in queues
        if queue.name == STATIC_QUEUE
        for issue in queue_limit_issues(queue.name, queue.largest_ring, queue.largest_ring, where)
    ]


def _uncounted(rows: Sequence[Predicted], where: str) -> list[Issue]:
    """The transfers whose ring memory is in the estimates only."""
    names = [row.name for row in rows if not row.rings.exact]
    if not names:
        return []
    message = f"the exact ring bytes leave out what cannot be expanded: {', '.join(names[:5])}"
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return [Issue("rings.uncounted", "warning", message + more, where, {"movements": len(names)}, "dec.D86")]

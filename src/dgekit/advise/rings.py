"""How much memory descriptor rings take: two published estimates and the exact count (neff.md 3b, decision D86).

Estimate A counts, for each copy, 16 bytes for every contiguous run of either side and for 16 semaphore writes on each;
estimate B 32 bytes for every run of the side that has more, times the hardware queues where an entry names a queue
instance (it was calibrated on spill queues). `exact` is what static expansion gives: data descriptors of both legs and
a semaphore pair on every hardware queue of the entry.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dgekit.advise.ring_count import Machine, Segment, Side, copy_segments
from dgekit.core.choices import Choices
from dgekit.core.errors import DgeError, Issue
from dgekit.core.generations import DEFAULT, Generation
from dgekit.frontends.neff.definitions import ENTRY, Queue, Variable
from dgekit.frontends.neff.engine_file import EngineFile
from dgekit.frontends.neff.movements import queues_by_any_name
from dgekit.frontends.neff.opened import OpenNeff, OpenSubgraph

QUEUE_LIMIT = 16_777_200  # descriptors of one ring: 2**24 - 16 (nki-dma 7, rings 2.5)
SEMAPHORE_WRITES = 16  # one an engine, whatever a copy's shape (nki-dma 7)
_PAIR = 2  # descriptors of a semaphore write: one a leg
_REMEMBERED = 1 << 14  # shapes kept; files repeat a few, and what repeats none must not fill the memory
_END = 1 << 48


def estimate_a(from_runs: int, to_runs: int) -> int:
    """Descriptors of one copy as the compiler's own analyser counts them, in descriptors of 16 bytes.

    >>> estimate_a(1, 1) + estimate_a(8, 8), 16 * (estimate_a(1, 1) + estimate_a(8, 8))
    (82, 1312)
    """
    return from_runs + SEMAPHORE_WRITES + to_runs + SEMAPHORE_WRITES


def estimate_b(from_runs: int, to_runs: int, num_queues: int = 1) -> int:
    """Descriptors of one copy by the estimate for spill queues; `num_queues` counts for a queue instance only.

    >>> 16 * estimate_b(1, 8), 16 * estimate_b(8, 8, 16)
    (256, 4096)
    """
    return _PAIR * max(from_runs, to_runs) * num_queues


def queue_limit_issues(name: str, fullest: int, spread: int, where: str) -> list[Issue]:
    """What is wrong with a queue whose fullest ring holds `fullest` descriptors, `spread` when spread evenly.

    A ring takes 16,777,200: an error when no spreading over the hardware queues can help, else a warning.
    """
    if fullest <= QUEUE_LIMIT:
        return []
    values = {"descriptors": fullest, "spread": spread, "limit": QUEUE_LIMIT}
    certain = spread > QUEUE_LIMIT
    message = f"queue {name}: a ring of {fullest} descriptors, the limit is {QUEUE_LIMIT}"
    fix = "cut the movements, or merge their runs" if certain else "spread the movements over the hardware queues"
    return [Issue("rings.queue_limit", "error" if certain else "warning", message, where, values, "nki-dma 7", fix)]


@dataclass(slots=True)
class QueueRings:
    """What the entries of one queue (or queue instance) put on its rings; descriptors unless a name says bytes.

    `uncounted` are movements that `exact` leaves out, by reason; `nbytes` what all movements read.
    """

    name: str
    queue: Queue | None
    entries: int = 0
    movements: int = 0
    nbytes: int = 0
    estimate_a: int = 0
    estimate_b: int = 0
    uncounted: Counter[str] = field(default_factory=Counter)
    _m2s: Counter[int] = field(default_factory=Counter)  # by channel: how many more than on the channel before
    _s2m: Counter[int] = field(default_factory=Counter)

    @property
    def num_queues(self) -> int:
        """Hardware queues, 1 where the file does not say."""
        return self.queue.num_queues if self.queue is not None else 1

    @property
    def kind(self) -> str:
        """How the runtime's print-out files it: spill by its name, else io."""
        return "spill" if "spill" in self.name.lower() else "io"

    @property
    def m2s(self) -> tuple[int, ...]:
        """Exact M2S descriptors of each hardware queue."""
        return self._by_channel(self._m2s)

    @property
    def s2m(self) -> tuple[int, ...]:
        """Exact S2M descriptors of each hardware queue."""
        return self._by_channel(self._s2m)

    @property
    def exact(self) -> int:
        """Exact descriptors of all its rings."""
        return sum(self.m2s) + sum(self.s2m)

    @property
    def fullest(self) -> int:
        """Exact descriptors of its fullest ring (one leg of one hardware queue)."""
        return max((*self.m2s, *self.s2m), default=0)

    @property
    def spread(self) -> int:
        """What its fullest ring would hold if every hardware queue held the same."""
        return max(-(-sum(leg) // self.num_queues) for leg in (self.m2s, self.s2m))

    def add_segments(self, segments: Sequence[Segment]) -> None:
        """Count data descriptors."""
        for low, high, m2s, s2m in segments:
            self._m2s[low] += m2s
            self._m2s[high] -= m2s
            self._s2m[low] += s2m
            self._s2m[high] -= s2m

    def _by_channel(self, differences: Counter[int]) -> tuple[int, ...]:
        sums = itertools.accumulate(differences[channel] for channel in range(self.num_queues))
        return tuple(data + self.entries for data in sums)  # and one semaphore BD an entry


@dataclass(frozen=True, slots=True)
class CoreRings:
    """The rings of one subgraph, which is one core, with what else of its memory the file tells, in bytes."""

    subgraph: str
    queues: tuple[QueueRings, ...]
    code: int = 0
    constants: int = 0
    scratchpad: int = 0
    issues: tuple[Issue, ...] = ()


@dataclass(frozen=True, slots=True)
class NeffRings:
    """Ring memory of a whole NEFF."""

    source: str
    generation: Generation
    cores: tuple[CoreRings, ...]

    @property
    def queues(self) -> tuple[QueueRings, ...]:
        """The queues of all cores."""
        return tuple(queue for core in self.cores for queue in core.queues)

    @property
    def issues(self) -> tuple[Issue, ...]:
        """Queues over the limit, and what was not counted."""
        return tuple(issue for core in self.cores for issue in core.issues)


def neff_rings(neff: OpenNeff, choices: Choices | None = None, *, generation: Generation | None = None) -> NeffRings:
    """Count the rings of every subgraph; dma lists are read as streams. Raises InputError for wrong JSON.

    `generation` defaults to the kelf's target, else CAYMAN.
    """
    chip = generation or neff.target or DEFAULT
    settings = choices or Choices()
    cores = tuple(_core(graph, chip, settings, neff.source) for graph in neff.subgraphs)
    return NeffRings(neff.source, chip, cores)


def _core(graph: OpenSubgraph, generation: Generation, choices: Choices, source: str) -> CoreRings:
    counter = RingCounter(graph.queues, graph.variables, generation, choices)
    for engine in graph.engines.values():
        counter.read(engine)
    where = f"{source}: {graph.definition}"
    issues = [
        issue
        for row in counter.rows.values()
        for issue in (*queue_limit_issues(row.name, row.fullest, row.spread, where), *_uncounted(row, where))
    ]
    return CoreRings(
        graph.name,
        tuple(counter.rows.values()),
        sum(engine.stream_bytes for engine in graph.engines.values()),
        sum(variable.size for variable in graph.variables.values() if variable.type == "file"),
        _scratchpad(graph.variables.values()),
        tuple(issues),
    )


def _uncounted(row: QueueRings, where: str) -> Iterator[Issue]:
    for reason, count in sorted(row.uncounted.items()):
        message = f"queue {row.name}: the exact count leaves out {count} movements: {reason}"
        yield Issue("rings.uncounted", "warning", message, where, {"movements": count}, "dec.D86")


def _scratchpad(variables: Any) -> int:
    """Shared scratchpad: over all areas, the end of the last virtual variable of each."""
    areas: dict[str, int] = {}
    for variable in variables:
        if variable.type == "virtual":
            end = variable.backing_offset + variable.size
            areas[variable.backing_area] = max(areas.get(variable.backing_area, 0), end)
    return sum(areas.values())


class _Shape(NamedTuple):
    """What one shape of movement counts: both estimates, exact segments by channel or why there are none.

    A side on chip that needs `reach` bytes of its partition: the segments hold for offsets that leave it there.
    """

    estimate_a: int
    estimate_b: int
    nbytes: int
    segments: tuple[Segment, ...]
    reason: str = ""
    from_reach: int = 0
    to_reach: int = 0


@dataclass(slots=True)
class RingCounter:
    """Counts the movements of a subgraph by queue, from raw JSON entries.

    Shapes that were met before cost a look-up; a desc of the wrong form is given to the declared check, which says
    what is wrong with it.
    """

    queues: Mapping[str, Queue]
    variables: Mapping[str, Variable]
    generation: Generation
    choices: Choices
    rows: dict[str, QueueRings] = field(default_factory=dict)
    _by_name: dict[str, Queue] = field(default_factory=dict)
    _on_chip: frozenset[str] = frozenset()
    _shapes: dict[Any, _Shape] = field(default_factory=dict)
    _machines: dict[int, Machine] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._by_name = queues_by_any_name(self.queues)
        self._on_chip = frozenset(v.name for v in self.variables.values() if v.type == "state-buffer")
        for name in self.queues:
            self._row(name)

    def read(self, engine: EngineFile) -> None:
        """Count every entry of an engine's dma list; raises InputError for wrong JSON."""
        for index, table in enumerate(engine.tables()):
            try:
                name = table.get("instance_name") or table.get("queue")
                row = self.rows.get(name) or self._row(name)
                desc = table.get("desc")
                self._entry(row, desc if type(desc) is list else () if desc is None else (desc,))
            except (AttributeError, KeyError, TypeError, ValueError):
                ENTRY.check(table, engine.place_of(index))  # says which value has the wrong type
                raise engine.place_of(index).error(
                    "missing", "the entry has no queue, or a side without sizes"
                ) from None

    def _row(self, name: str) -> QueueRings:
        if type(name) is not str:
            raise TypeError
        return self.rows.setdefault(name, QueueRings(name, self._by_name.get(name)))

    def _entry(self, row: QueueRings, descs: Sequence[Any]) -> None:
        row.entries += 1
        row.movements += len(descs)
        stride = self.generation.partition_stride
        for desc in descs:
            key = (row.name, _key(desc))
            shape = self._shapes.get(key)
            if shape is None:
                shape = self._remember(key, self._shape(row, desc, 0, 0))
            row.estimate_a += shape.estimate_a
            row.estimate_b += shape.estimate_b
            row.nbytes += shape.nbytes
            if shape.from_reach or shape.to_reach:
                offsets = desc.get("from_off", 0) % stride, desc.get("to_off", 0) % stride
                if offsets[0] + shape.from_reach > stride or offsets[1] + shape.to_reach > stride:
                    crossing = (key, offsets)
                    shape = self._shapes.get(crossing) or self._remember(crossing, self._shape(row, desc, *offsets))
            if shape.reason:
                row.uncounted[shape.reason] += 1
            else:
                row.add_segments(shape.segments)

    def _remember(self, key: Any, shape: _Shape) -> _Shape:
        if len(self._shapes) >= _REMEMBERED:
            self._shapes.clear()
        self._shapes[key] = shape
        return shape

    def _shape(self, row: QueueRings, desc: Mapping[str, Any], from_offset: int, to_offset: int) -> _Shape:
        parts = desc["from_arr"] if desc.get("from_arr") else (desc,)
        to_runs = 0
        a = b = nbytes = 0
        instance = row.num_queues if row.name not in self.queues else 1
        for part in parts:
            from_runs = _runs(part["from_sizes"])
            to_runs = _runs(part.get("to_sizes") or desc.get("to_sizes") or part["from_sizes"])
            a += estimate_a(from_runs, to_runs)
            b += estimate_b(from_runs, to_runs, instance)
            nbytes += math.prod(part["from_sizes"])
        reason = self._reason(desc)
        if reason:
            return _Shape(a, b, nbytes, (), reason)
        src = Side(_dims(desc, "from"), desc["from"] in self._on_chip, from_offset)
        dst = Side(_dims(desc, "to"), desc["to"] in self._on_chip, to_offset)
        if desc["from_sizes"] != desc["to_sizes"] and _nbytes(src) != _nbytes(dst):
            return _Shape(a, b, nbytes, (), "the two sides do not hold the same bytes")
        try:
            segments = copy_segments(src, dst, self._machine(row.num_queues))
        except DgeError as problem:
            return _Shape(a, b, nbytes, (), f"it cannot be expanded ({problem.rule})")
        return _Shape(a, b, nbytes, segments, "", self._reach(src), self._reach(dst))

    def _reason(self, desc: Mapping[str, Any]) -> str:
        """Why a movement has no exact count; empty when it has one."""
        op = desc.get("op", "copy")
        if op not in ("copy", "cast"):
            return f"op {op} is not expanded here"
        if desc.get("from_arr"):
            return "a copy with several sources"
        if desc.get("from") not in self.variables or desc.get("to") not in self.variables:
            return "a side names no variable of this subgraph"
        for side in ("from", "to"):
            sizes, steps = desc.get(f"{side}_sizes"), desc.get(f"{side}_steps")
            if sizes is None or len(steps or (1,)) != len(sizes):
                return "sizes or steps of a side are not given"
        if desc.get("from_dtype", "uint8") != desc.get("to_dtype", "uint8"):
            return "the two sides have different dtypes"
        return ""

    def _reach(self, side: Side) -> int:
        """Bytes of its partition that a side on chip needs from its offset on; 0 in HBM."""
        if not side.on_chip:
            return 0
        stride, reach = self.generation.partition_stride, 1
        for step, count in side.dims:
            if step > 0 and step % stride:
                reach += step * (count - 1)
        return reach

    def _machine(self, num_queues: int) -> Machine:
        if num_queues not in self._machines:
            self._machines[num_queues] = Machine(
                self.generation,
                min(num_queues, self.generation.engines),
                self.choices.number("packet_bytes"),
                self.choices.text("hbm_split") == "equal",
            )
        return self._machines[num_queues]


def _key(desc: Mapping[str, Any]) -> Any:
    """A movement's shape: all that its counts depend on but the offsets."""
    get = desc.get
    parts = get("from_arr")
    if parts:
        parts = tuple((tuple(part["from_sizes"]), tuple(part.get("to_sizes") or ())) for part in parts)
    return (
        get("op"),
        get("from"),
        get("to"),
        tuple(get("from_sizes") or ()),
        tuple(get("from_steps") or ()),
        tuple(get("to_sizes") or ()),
        tuple(get("to_steps") or ()),
        get("from_dtype"),
        get("to_dtype"),
        parts,
    )


def _runs(sizes: Sequence[int]) -> int:
    """Contiguous pieces as both estimates count them: the product of all sizes but the first."""
    if not sizes:
        raise ValueError
    found = 1
    for size in sizes:
        if type(size) is not int or not 0 < size <= _END:
            raise ValueError
        found *= size
    return found // sizes[0]


def _dims(desc: Mapping[str, Any], side: str) -> tuple[tuple[int, int], ...]:
    """The dimensions of a side without those of one count."""
    found = []
    for step, size in zip(desc.get(f"{side}_steps") or (1,), desc[f"{side}_sizes"], strict=True):
        if type(step) is not int or not -_END <= step <= _END:
            raise ValueError
        if size > 1:
            found.append((step, size))
    return tuple(found) or ((1, 1),)


def _nbytes(side: Side) -> int:
    return math.prod(count for _, count in side.dims)

"""Counting a dma list as it streams by: each movement's estimates and exact descriptors, by queue."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dgekit.advise.ring_count import Machine, Segment, Side, copy_segments
from dgekit.advise.ring_use import QueueRings, estimate_a, estimate_b
from dgekit.core.choices import Choices
from dgekit.core.errors import DgeError
from dgekit.core.generations import Generation
from dgekit.frontends.neff.definitions import ENTRY, Queue, Variable
from dgekit.frontends.neff.engine_file import EngineFile
from dgekit.frontends.neff.movements import queues_by_any_name

_REMEMBERED = 1 << 14  # shapes kept; files repeat a few, and what repeats none must not fill the memory
_END = 1 << 48


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

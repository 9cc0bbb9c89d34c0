"""How much memory descriptor rings take: two published estimates and the exact count (neff.md 3b, decision D86).

Estimate A counts, for each copy, 16 bytes for every contiguous run of either side and for 16 semaphore writes on each;
estimate B 32 bytes for every run of the side that has more, times the hardware queues where an entry names a queue
instance (it was calibrated on spill queues). `exact` is what static expansion gives: data descriptors of both legs and
a semaphore pair on every hardware queue of the entry.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from dgekit.advise.ring_counter import RingCounter
from dgekit.advise.ring_use import (
    QUEUE_LIMIT,
    SEMAPHORE_WRITES,
    QueueRings,
    estimate_a,
    estimate_b,
    queue_limit_issues,
)
from dgekit.core.choices import Choices
from dgekit.core.errors import Issue
from dgekit.core.generations import DEFAULT, Generation
from dgekit.frontends.neff.definitions import Variable
from dgekit.frontends.neff.opened import OpenNeff, OpenSubgraph

__all__ = [
    "QUEUE_LIMIT",
    "SEMAPHORE_WRITES",
    "CoreRings",
    "NeffRings",
    "QueueRings",
    "estimate_a",
    "estimate_b",
    "neff_rings",
    "queue_limit_issues",
]


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


def _scratchpad(variables: Iterable[Variable]) -> int:
    """Shared scratchpad: over all areas, the end of the last virtual variable of each."""
    areas: dict[str, int] = {}
    for variable in variables:
        if variable.type == "virtual":
            end = variable.backing_offset + variable.size
            areas[variable.backing_area] = max(areas.get(variable.backing_area, 0), end)
    return sum(areas.values())

"""Ring memory of a NEFF as data, as CSV, as a table, and as the runtime prints it (neff.md 3b)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from dgekit.advise.rings import QUEUE_LIMIT, CoreRings, NeffRings, QueueRings
from dgekit.core.generations import KIB, MIB
from dgekit.descriptors.bd import BD_BYTES

RINGS_SCHEMA = "dgekit.neff_rings/1"
SCRATCHPAD_PAGE = 64 * MIB  # each core's shared scratchpad is rounded up to it
_UNKNOWN = "-"
COLUMNS = (
    "core", "subgraph", "queue", "type", "kind", "num_queues", "entries", "movements",
    "estimate_a_bytes", "estimate_b_bytes", "exact_bytes", "exact_m2s", "exact_s2m",
    "largest_ring", "even_ring", "limit", "uncounted",
)  # fmt: skip


def rings_to_json(rings: NeffRings) -> dict[str, Any]:
    """The object that `dge neff rings --json` prints."""
    return {
        "schema": RINGS_SCHEMA,
        "file": rings.source,
        "generation": rings.generation.name,
        "limit": QUEUE_LIMIT,
        "ring_bytes": _ring_bytes(rings.queues),
        "largest": _largest(rings),
        "cores": [_core(number, core) for number, core in enumerate(rings.cores)],
        "issues": [issue.to_json() for issue in rings.issues],
    }


def _core(number: int, core: CoreRings) -> dict[str, Any]:
    return {
        "core": number,
        "subgraph": core.subgraph,
        "ring_bytes": _ring_bytes(core.queues),
        "code_bytes": core.code,
        "constant_bytes": core.constants,
        "scratchpad_bytes": core.scratchpad,
        "queues": [_queue(queue) for queue in core.queues],
    }


def _queue(queue: QueueRings) -> dict[str, Any]:
    return {
        "name": queue.name,
        "set": queue.queue.name if queue.queue is not None else None,
        "type": queue.queue.type if queue.queue is not None else None,
        "kind": queue.kind,
        "num_queues": queue.num_queues,
        "entries": queue.entries,
        "movements": queue.movements,
        "ring_bytes": _ring_bytes([queue]),
        "descriptors": {
            "estimate_a": queue.estimate_a,
            "estimate_b": queue.estimate_b,
            "exact": queue.exact,
            "m2s": sum(queue.m2s),
            "s2m": sum(queue.s2m),
        },
        "largest_ring": queue.fullest,
        "even_ring": queue.spread,
        "uncounted": dict(sorted(queue.uncounted.items())),
    }


def _ring_bytes(queues: Sequence[QueueRings]) -> dict[str, int]:
    return {
        "estimate_a": BD_BYTES * sum(queue.estimate_a for queue in queues),
        "estimate_b": BD_BYTES * sum(queue.estimate_b for queue in queues),
        "exact": BD_BYTES * sum(queue.exact for queue in queues),
    }


def _largest(rings: NeffRings) -> dict[str, Any] | None:
    found = [(queue.fullest, core, queue.name) for core in rings.cores for queue in core.queues if queue.entries]
    if not found:
        return None
    descriptors, core, name = max(found, key=lambda one: one[0])
    return {"subgraph": core.subgraph, "queue": name, "descriptors": descriptors}


def rings_rows(rings: NeffRings) -> Iterator[tuple[object, ...]]:
    """The table of `dge neff rings --csv`: its head, then one row a core and queue."""
    yield COLUMNS
    for number, core in enumerate(rings.cores):
        for queue in core.queues:
            size = _ring_bytes([queue])
            kind = queue.queue.type if queue.queue is not None else ""
            yield (
                number, core.subgraph, queue.name, kind, queue.kind, queue.num_queues,
                queue.entries, queue.movements, size["estimate_a"], size["estimate_b"], size["exact"], sum(queue.m2s),
                sum(queue.s2m), queue.fullest, queue.spread, QUEUE_LIMIT, queue.uncounted.total(),
            )  # fmt: skip


def rings_lines(rings: NeffRings) -> Iterator[str]:
    """The same for people, with totals by core and the largest ring against the limit."""
    yield f"{rings.source}: ring memory on {rings.generation.name}, in bytes of 16-byte descriptors"
    head = ("", "entries", "queues", "estimate A", "estimate B", "exact", "largest ring")
    for number, core in enumerate(rings.cores):
        rows = [head] + [
            (
                queue.name + ("*" if queue.uncounted else ""),
                f"{queue.entries}",
                f"{queue.num_queues}",
                *(f"{value}" for value in _ring_bytes([queue]).values()),
                f"{queue.fullest}",
            )
            for queue in core.queues
        ]
        rows.append(("total", "", "", *(f"{value}" for value in _ring_bytes(core.queues).values()), ""))
        yield f"core {number}, subgraph {core.subgraph}"
        yield from _table(rows)
    largest = _largest(rings)
    if largest is not None:
        yield (
            f"largest ring: {largest['descriptors']} descriptors of {QUEUE_LIMIT} "
            f"({largest['queue']} of {largest['subgraph']})"
        )
    if any(queue.uncounted for queue in rings.queues):
        yield "* exact leaves out movements that static expansion does not do here"


def runtime_lines(rings: NeffRings) -> Iterator[str]:
    """The items of the runtime's own print-out, a column a core; `-` is what a file does not tell."""

    def of_kind(kind: str) -> Callable[[CoreRings], int | None]:
        return lambda core: _ring_bytes([queue for queue in core.queues if queue.kind == kind])["exact"]

    def unknown(_: CoreRings) -> None:
        return None

    items: tuple[tuple[str, Callable[[CoreRings], int | None]], ...] = (
        ("model code", lambda core: core.code),
        ("model constants", lambda core: core.constants),
        ("scratchpad", lambda core: 0),
        ("runtime", unknown),
        ("dma rings io", of_kind("io")),
        ("dma rings spill", of_kind("spill")),
        ("dma rings collectives", unknown),
        ("dma rings runtime", unknown),
        ("collectives", unknown),
    )
    rows = [("item", *(f"core {number}" for number in range(len(rings.cores))))]
    for name, value in items:
        rows.append((name, *(_size(value(core)) for core in rings.cores)))
    known = [sum(value(core) or 0 for _, value in items) for core in rings.cores]
    rows.append(("total of these", *(_size(size) for size in known)))
    rows.append(
        ("shared scratchpad", *(_size(-(-c.scratchpad // SCRATCHPAD_PAGE) * SCRATCHPAD_PAGE) for c in rings.cores))
    )
    yield from _table(rows)


def _size(value: int | None) -> str:
    """A size as the runtime writes it: binary KB and MB, three decimals.

    >>> _size(2916090), _size(461832), _size(0), _size(None)
    ('2.781 MB', '451.008 KB', '0', '-')
    """
    if value is None:
        return _UNKNOWN
    if value == 0:
        return "0"
    return f"{value / MIB:.3f} MB" if value >= MIB else f"{value / KIB:.3f} KB"


def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        yield "  " + "  ".join(cells).rstrip()

"""A collective from request to result: every rank runs, results are compared, the reference is checked (D73, D74)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dgekit.collectives.actor import U8, Edge, Tally
from dgekit.collectives.inprocess import InProcess
from dgekit.collectives.programs import buffers
from dgekit.collectives.reference import expected, expected_row
from dgekit.collectives.request import KANGARING, MESH, REDUCESCATTER, Setup
from dgekit.core.dtypes import dtype_info
from dgekit.core.errors import Deadlock, Unsupported


@dataclass(frozen=True, slots=True, eq=False)
class CollectiveResult:
    """What came out. `rows` are the outputs of the ranks that this process ran (all of them in one process).

    `identical` is None for a reduce-scatter, `verified` without a check, both None after a deadlock, whose wait graph
    is `deadlock`. `semaphores` are the final values of each rank by channel and name.
    """

    setup: Setup
    transport: str
    tallies: tuple[Tally, ...]
    semaphores: tuple[Mapping[str, int], ...]
    rows: tuple[U8, ...] = ()
    sha256: str | None = None
    identical: bool | None = None
    verified: bool | None = None
    deadlock: tuple[Edge, ...] = field(default=())

    @property
    def ok(self) -> bool:
        """False after a deadlock, and where results differ."""
        return not self.deadlock and self.identical is not False and self.verified is not False

    def raise_deadlock(self) -> None:
        """Raise Deadlock if the ranks got stuck; `values["waits"]` is the wait graph."""
        if self.deadlock:
            raise Deadlock(
                f"{len(self.deadlock)} channels wait for each other; {self.deadlock[0]}",
                rule="collective.deadlock",
                values={"waits": [edge.to_json() for edge in self.deadlock]},
                source="cce 7.2",
                fix="credits for two pieces of each half (4), and every signal delivered",
            )

    def to_json(self) -> dict[str, Any]:
        """The result as `dge collective --json` prints it."""
        setup = self.setup
        request = setup.request
        found: dict[str, Any] = {
            "schema": "dgekit.collective/1",
            "collective": setup.kind,
            "ranks": setup.ranks,
            "algo": request.algo,
            "op": request.op.name.lower() if setup.reduces else None,
            "dtype": request.dtype.name,
            "accum": dtype_info(setup.accum).name if setup.reduces else None,
            "elements": request.elements,
            "identical": self.identical,
            "verified": self.verified,
            "sha256": self.sha256,
            "per_rank": [tally.to_json() for tally in self.tallies],
            "semaphores": [dict(values) for values in self.semaphores],
            "generation": setup.generation.name,
            "transport": self.transport,
            "leg": request.leg,
            "legs": [tally.legs for tally in self.tallies],
            "channels": request.channels,
            "passes": setup.geometry.passes,
            "chunk_elements": setup.geometry.chunk,
            "group": setup.group if request.algo in (KANGARING, MESH) else None,
            "mesh": setup.mesh or None,
            "credits": setup.credits,
            "choices": setup.choices.used(),
            "issues": [issue.to_json() for issue in setup.issues],
        }
        if self.deadlock:
            found["deadlock"] = [edge.to_json() for edge in self.deadlock]
        return found


def run_collective(setup: Setup, rows: Sequence[U8], *, verify: bool = False) -> CollectiveResult:
    """Run all ranks in this process on their inputs' bytes; a deadlock is a result, see `raise_deadlock`.

    >>> import numpy as np
    >>> from dgekit.collectives.prepare import prepare
    >>> from dgekit.collectives.request import Request
    >>> from dgekit.core.choices import Choices
    >>> from dgekit.core.dtypes import dtype_named
    >>> from dgekit.core.generations import CAYMAN
    >>> setup = prepare(Request("allreduce", "ring", 3, dtype_named("int32"), 96), CAYMAN, Choices())
    >>> rows = [np.full(96, rank, np.int32).view(np.uint8) for rank in range(3)]
    >>> result = run_collective(setup, rows, verify=True)
    >>> result.identical, result.verified, int(result.rows[2].view(np.int32)[95])
    (True, True, 3)
    """
    world = InProcess(setup, rows)
    stuck = world.run()
    tallies = tuple(actor.tally for actor in world.actors)
    semaphores = tuple(semaphores_json(actor.semaphores) for actor in world.actors)
    if stuck:
        return CollectiveResult(setup, "inprocess", tallies, semaphores, deadlock=tuple(stuck))
    outputs = tuple(actor.output for actor in world.actors)
    identical = None if setup.kind == REDUCESCATTER else all(np.array_equal(outputs[0], one) for one in outputs[1:])
    verified = None
    if verify:
        whole = expected(setup, rows)
        verified = all(np.array_equal(expected_row(setup, rank, whole), one) for rank, one in enumerate(outputs))
    return CollectiveResult(setup, "inprocess", tallies, semaphores, outputs, digest(outputs[0]), identical, verified)


def digest(row: U8) -> str:
    """The SHA-256 of a row's bytes."""
    return hashlib.sha256(row.data).hexdigest()


def semaphores_json(values: Mapping[tuple[int, str], int]) -> dict[str, int]:
    """Semaphores of a rank by channel and name."""
    return {f"{name}[{channel}]": value for (channel, name), value in values.items()}


def check_memory(setup: Setup, ranks_here: int, *, verify: bool) -> None:
    """Refuse what cannot fit the memory of this computer, before anything is allocated; raises Unsupported."""
    import os

    ranks = range(ranks_here)
    held = sum(sum(buffers(setup, rank).values()) for rank in ranks)
    inputs = setup.ranks if verify else ranks_here
    first, end = setup.held(0, output=False)
    needed = setup.size * (held + inputs * (end - first) + (setup.request.elements if verify else 0))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > memory:
        raise Unsupported(
            f"the buffers of {ranks_here} ranks take {needed} bytes, this computer has {memory}",
            rule="collective.memory",
            where="elements",
            values={"needed": needed, "memory": memory},
            fix="--transport mpi over several computers",
        )

"""All ranks in one process: they take turns until everybody is done, or nobody can go on."""

from __future__ import annotations

from collections.abc import Sequence

from dgekit.collectives.actor import U8, Actor, Edge
from dgekit.collectives.cost import Costs
from dgekit.collectives.legs import legs_of
from dgekit.collectives.request import Setup
from dgekit.collectives.steps import Region


class InProcess:
    """The ranks of a collective, in one memory; `rows` are the inputs of all of them."""

    __slots__ = ("actors",)

    def __init__(self, setup: Setup, rows: Sequence[U8]) -> None:
        costs = Costs(setup)
        legs = legs_of(setup)
        self.actors = [Actor(setup, rank, row, costs, legs) for rank, row in enumerate(rows)]

    def run(self) -> list[Edge]:
        """Run until all are done; the wait graph when they cannot be, else nothing."""
        moved = True
        while moved:
            moved = False
            for actor in self.actors:
                moved = actor.advance(self) or moved
        return [edge for actor in self.actors for edge in actor.edges()]

    def read(self, region: Region) -> U8:
        """The bytes of a region."""
        return self.actors[region.rank].view(region)

    def write(self, region: Region, data: U8) -> None:
        """Store bytes in a region."""
        self.actors[region.rank].view(region)[:] = data

    def signal(self, rank: int, channel: int, semaphore: str) -> None:
        """Add one to a semaphore of a rank."""
        self.actors[rank].raise_semaphore(channel, semaphore)

"""The program of a rank on a channel, its buffers and its semaphores, for every algorithm."""

from __future__ import annotations

from collections.abc import Iterator

from dgekit.collectives import kangaring, mesh, ring
from dgekit.collectives.request import KANGARING, MESH, RING, Setup
from dgekit.collectives.steps import Region, Step, copy


def program(setup: Setup, rank: int, channel: int) -> Iterator[Step]:
    """The ordered steps of one rank on one channel."""
    if setup.algo == RING:
        return ring.program(setup, rank, channel)
    if setup.algo == KANGARING:
        return kangaring.program(setup, rank, channel)
    if setup.algo == MESH:
        return mesh.program(setup, rank, channel)
    return _solo(setup, channel)


def buffers(setup: Setup, rank: int) -> dict[str, int]:
    """The buffers of a rank beside its input, in elements."""
    first, end = setup.held(rank, output=True)
    found = {"output": end - first}
    for channel in range(setup.request.channels):
        if setup.algo == MESH:
            found.update(mesh.buffers(setup, channel))
        elif setup.algo in (RING, KANGARING):
            found.update(ring.buffers(setup, channel))
    return found


def semaphores(setup: Setup) -> dict[str, int]:
    """The semaphores of a rank on one channel with their initial values."""
    if setup.algo == MESH:
        return mesh.semaphores(setup)
    return ring.semaphores(setup) if setup.algo in (RING, KANGARING) else {}


def _solo(setup: Setup, channel: int) -> Iterator[Step]:
    """One rank copies its input (cce 7.4)."""
    for number in range(setup.geometry.passes):
        span = setup.geometry.piece(number, channel, 0)
        source, dest = (Region(0, buffer, span.first, span.count) for buffer in ("input", "output"))
        yield Step("copy", number, dmas=copy(source, dest))

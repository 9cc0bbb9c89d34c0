"""The kangaring: a ring over positions, each of a primary and its peers, that changes the primary with the channel.

Functional model of CHOICE-55: the hop schedule of the firmware is not known. Secondaries only say that their input is
ready and wait until their output is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from dgekit.collectives.request import ALLGATHER, ALLREDUCE, Setup
from dgekit.collectives.ring import Place, RingPass, gathered, inputs, output, staged
from dgekit.collectives.steps import HALVES, PEER_SEMA, ReductionType, Signal, Step, Wait, copy, reduce


def program(setup: Setup, rank: int, channel: int) -> Iterator[Step]:
    """Every pass of a rank: that of a primary, or of one of its peers."""
    place = place_of(setup, rank, channel)
    for number in range(setup.geometry.passes):
        if place.rank != rank:
            yield from _secondary(place.rank, number)
        else:
            yield from _primary(setup, place, channel, number)


def place_of(setup: Setup, rank: int, channel: int) -> Place:
    """The place of the primary of a rank's position on a channel."""
    group, positions = setup.group, setup.positions
    position, primary = rank // group, channel % group
    members = range(position * group, (position + 1) * group)
    return Place(
        rank=position * group + primary,
        position=position,
        next=(position + 1) % positions * group + primary,
        prev=(position - 1) % positions * group + primary,
        peers=tuple(member for member in members if member % group != primary),
    )


def _primary(setup: Setup, place: Place, channel: int, number: int) -> Iterator[Step]:
    """A pass that starts when all inputs are ready, and ends by telling the peers."""
    steps = _alone(setup, place, channel, number) if setup.positions == 1 else RingPass(setup, place, channel, number)
    listed = iter(steps.steps() if isinstance(steps, RingPass) else steps)
    first = next(listed)
    ready = Wait(PEER_SEMA, len(place.peers), len(place.peers), place.peers)
    held = replace(first, waits=(ready, *first.waits))
    for step in listed:
        yield held
        held = step
    yield replace(held, signals=held.signals + tuple(Signal(peer, PEER_SEMA) for peer in place.peers))


def _secondary(primary: int, number: int) -> Iterator[Step]:
    yield Step("input_ready", number, signals=(Signal(primary, PEER_SEMA),))
    yield Step("output_written", number, waits=(Wait(PEER_SEMA, 1, 1, (primary,)),))


def _alone(setup: Setup, place: Place, channel: int, number: int) -> Iterator[Step]:
    """One position: a single packet of all its ranks, nothing to send (CHOICE-55)."""
    members = (place.rank, *place.peers)
    for half in range(len(HALVES)):
        span = setup.geometry.piece(number, channel, 0, half)
        own = output(setup, place.rank, span)
        others = tuple(output(setup, peer, span) for peer in place.peers)
        if setup.kind == ALLGATHER:
            dmas = gathered(setup, place.rank, members, span) + copy(own, *others)
            yield Step("direct_copy", number, half, dmas=dmas)
            continue
        if setup.kind == ALLREDUCE:
            dmas = reduce(inputs(members, span), own) + copy(own, *others)
        else:
            dmas = staged(setup, place.rank, members, channel, inputs(members, span), span, half)
        yield Step("direct_reduce_copy", number, half, dmas=dmas, reduction=ReductionType.KANGARING_NR1W)

"""One rank: its buffers and semaphores, and its channels, each of which carries out its steps in order (cce 7.2, 7.3).

A rank knows the others only through a `Transport`. Whatever the transport, a step is the same: wait, read every
source, compute, write every destination, then signal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from dgekit.cce.execute import compute_many
from dgekit.cce.faults import raise_first
from dgekit.cce.limits import ChannelCounters, check_counters
from dgekit.collectives.cost import Cost, Costs
from dgekit.collectives.legs import RdmaLegs, legs_of
from dgekit.collectives.programs import buffers, program, semaphores
from dgekit.collectives.request import Setup
from dgekit.collectives.steps import HALVES, Dma, Region, Signal, Step, Wait

U8 = npt.NDArray[np.uint8]


class Transport(Protocol):
    """How a rank reaches the memory and the semaphores of another."""

    def read(self, region: Region) -> U8:
        """The bytes of a region of another rank."""

    def write(self, region: Region, data: U8) -> None:
        """Store bytes there; what is written before a signal of this rank is there when the signal is seen."""

    def signal(self, rank: int, channel: int, semaphore: str) -> None:
        """Add one to a semaphore of another rank."""


@dataclass(frozen=True, slots=True)
class Edge:
    """One edge of the wait graph: a channel of a rank, the step and wait it stands at, the ranks it waits for."""

    rank: int
    channel: int
    number: int
    half: int | None
    step: str
    semaphore: str
    value: int
    at_least: int
    waits_for: tuple[int, ...]

    def to_json(self) -> dict[str, Any]:
        """The edge as `dge collective --json` prints it."""
        return {
            "rank": self.rank,
            "channel": self.channel,
            "pass": self.number,
            "half": None if self.half is None else HALVES[self.half],
            "step": self.step,
            "semaphore": self.semaphore,
            "value": self.value,
            "at_least": self.at_least,
            "waits_for": list(self.waits_for),
        }

    def __str__(self) -> str:
        half = "" if self.half is None else f" {HALVES[self.half]}"
        ranks = ", ".join(map(str, self.waits_for))
        return (
            f"rank {self.rank} channel {self.channel} pass {self.number}{half}: {self.step} needs "
            f"{self.semaphore} >= {self.at_least}, it is {self.value}; waits for rank {ranks}"
        )


@dataclass(slots=True)
class Tally:
    """What a rank has done: steps, BDs of both legs, bytes read, packets, RDMA legs between its own core and others."""

    steps: int = 0
    m2s: int = 0
    s2m: int = 0
    nbytes: int = 0
    packets: int = 0
    legs: int = 0

    def add(self, cost: Cost) -> None:
        """Count one transfer."""
        self.m2s += cost.m2s
        self.s2m += cost.s2m
        self.nbytes += cost.nbytes
        self.packets += cost.packets

    def to_json(self) -> dict[str, int]:
        """The counts as `dge collective --json` prints them."""
        return {
            "steps": self.steps,
            "m2s": self.m2s,
            "s2m": self.s2m,
            "bytes": self.nbytes,
            "packets": self.packets,
        }


class _Channel:
    """Where a channel stands: its current step (None at the end), the waits it has passed, its counters of the pass."""

    __slots__ = ("_steps", "counters", "number", "passed", "signals", "step")

    def __init__(self, setup: Setup, rank: int, number: int) -> None:
        self._steps = program(setup, rank, number)
        self.number = number
        self.passed = 0
        self.signals = 0
        self.counters = ChannelCounters()
        self.step: Step | None = next(self._steps, None)

    def advance(self) -> None:
        """Go to the next step; the counters start again with each pass."""
        before = self.step
        self.step = next(self._steps, None)
        self.passed = 0
        if before is not None and self.step is not None and before.number != self.step.number:
            self.counters = ChannelCounters()


class Actor:
    """One rank of a collective; `row` are the bytes of its input buffer."""

    __slots__ = ("_channels", "_costs", "_legs", "_setup", "buffers", "rank", "semaphores", "tally")

    def __init__(
        self, setup: Setup, rank: int, row: U8, costs: Costs | None = None, legs: RdmaLegs | None = None
    ) -> None:
        self.rank = rank
        self.tally = Tally()
        self.buffers = {name: np.zeros(count * setup.size, np.uint8) for name, count in buffers(setup, rank).items()}
        self.buffers["input"] = row
        channels = range(setup.request.channels)
        self.semaphores = {(one, name): value for one in channels for name, value in semaphores(setup).items()}
        self._setup = setup
        self._costs = costs or Costs(setup)
        self._legs = legs or legs_of(setup)
        self._channels = [_Channel(setup, rank, channel) for channel in channels]

    @property
    def done(self) -> bool:
        """True when every channel is at its end."""
        return all(channel.step is None for channel in self._channels)

    @property
    def output(self) -> U8:
        """The bytes of the output buffer."""
        return self.buffers["output"]

    def advance(self, transport: Transport) -> bool:
        """Run every channel until it has to wait; True when some step was taken."""
        before = self.tally.steps
        for channel in self._channels:
            while channel.step is not None and self._passes(channel, channel.step):
                self._take(channel, channel.step, transport)
        return self.tally.steps > before

    def edges(self) -> list[Edge]:
        """What each unfinished channel waits for."""
        found = []
        for channel in self._channels:
            if channel.step is not None:
                step, wait = channel.step, channel.step.waits[channel.passed]
                value = self.semaphores[channel.number, wait.semaphore]
                place = (self.rank, channel.number, step.number, step.half, step.primitive)
                found.append(Edge(*place, wait.semaphore, value, wait.at_least, wait.ranks))
        return found

    def view(self, region: Region) -> U8:
        """The bytes of a region of this rank, not copied."""
        size = self._setup.size
        return self.buffers[region.buffer][region.first * size : (region.first + region.count) * size]

    def raise_semaphore(self, channel: int, semaphore: str) -> None:
        """A signal has arrived."""
        self.semaphores[channel, semaphore] += 1

    def _passes(self, channel: _Channel, step: Step) -> bool:
        """Take the waits in order, each as soon as its semaphore allows (poll until value >= target, cce 7.3)."""
        while channel.passed < len(step.waits):
            wait: Wait = step.waits[channel.passed]
            if self.semaphores[channel.number, wait.semaphore] < wait.at_least:
                return False
            self.semaphores[channel.number, wait.semaphore] -= wait.take
            channel.passed += 1
        return True

    def _take(self, channel: _Channel, step: Step, transport: Transport) -> None:
        for dma in step.dmas:
            self._transfer(channel, dma, transport)
        for signal in step.signals:
            self._signal(channel, signal, transport)
        self.tally.steps += 1
        channel.advance()

    def _transfer(self, channel: _Channel, dma: Dma, transport: Transport) -> None:
        cost = self._costs.of(dma)
        counters = channel.counters
        raise_first(check_counters(counters, cost.m2s, cost.s2m))
        sources = [self.view(one) if one.rank == self.rank else self._read(one, transport) for one in dma.sources]
        data = sources[0]
        if cost.packet is not None:
            setup = self._setup
            data = compute_many(cost.packet, sources, cost.counts(), setup.choices, setup.generation).data
        for dest in dma.dests:
            if dest.rank == self.rank:
                self.view(dest)[:] = data
            else:
                transport.write(dest, self._sent(self.rank, dest.rank, data))
        channel.counters = ChannelCounters(counters.m2s + cost.m2s, counters.s2m + cost.s2m)
        self.tally.add(cost)

    def _read(self, region: Region, transport: Transport) -> U8:
        """Bytes of another rank, which that one sends where legs are RDMA words."""
        return self._sent(region.rank, self.rank, transport.read(region))

    def _sent(self, source: int, dest: int, data: U8) -> U8:
        """What arrives of bytes that go from one rank to another."""
        if self._legs is None:
            return data
        before = self._legs.count
        arrived = self._legs.carry(source, dest, data)
        self.tally.legs += self._legs.count - before
        return arrived

    def _signal(self, channel: _Channel, signal: Signal, transport: Transport) -> None:
        """Send a signal, unless it is the one that the request loses."""
        drop = self._setup.request.drop
        number, channel.signals = channel.signals, channel.signals + 1
        if drop is not None and (drop.rank, 0, drop.number) == (self.rank, channel.number, number):
            return
        if signal.rank == self.rank:
            self.raise_semaphore(channel.number, signal.semaphore)
        else:
            transport.signal(signal.rank, channel.number, signal.semaphore)

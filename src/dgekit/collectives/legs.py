"""Bytes between ranks by RDMA words: a generate and a start for every piece (`--leg rdma`; decision D77).

Each rank is a core, as many to a device as it has, devices in one fabric. A piece is laid over all partitions of the
sender's SBUF as 128 equal rows, the last ones filled up with zeros, sent to the same place at the receiver, and taken
out there.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dgekit.collectives.request import RDMA, Setup
from dgekit.core.choices import Choices
from dgekit.core.errors import Deadlock
from dgekit.core.events import EventLog
from dgekit.core.generations import Generation
from dgekit.core.state import StateView
from dgekit.firmware.remote import MASK_BITS, RESERVED_BYTES, check_generation, engines_of, read_generate
from dgekit.machine.fabric import Fabric
from dgekit.machine.machine import Machine
from dgekit.machine.remote import RemoteCopier
from dgekit.machine.scheduler import is_met
from dgekit.patterns.runs import I64
from dgekit.transfers.events import word_events
from dgekit.transfers.placement import place
from dgekit.transfers.transfer import Wait
from dgekit.words.structs import Events, ExtendedRdmaDescGen, ExtendedRdmaDescStart, WaitMode

U8 = npt.NDArray[np.uint8]

FREE, ARRIVED = 0, 1  # semaphores of a leg: the sender's rows are free again, the receiver's hold the data


def leg_words(
    core: int, routing_id: int, mask: int, row_bytes: int
) -> tuple[ExtendedRdmaDescGen, ExtendedRdmaDescStart]:
    """The words that send rows of `row_bytes` at byte 0 of all partitions to the same place of a core of a device.

    The start waits until an earlier leg has read its rows: the count of the masked engines on the local semaphore.
    """
    free = Events(wait_mode=WaitMode.WAIT_FOR_SEM_GE_IMM, wait_idx=FREE, semaphore_value=mask.bit_count())
    generate = ExtendedRdmaDescGen(
        local_sem=FREE,
        remote_sem=ARRIVED,
        remote_core_id=core,
        remote_routing_id=routing_id,
        dma_engine_mask=mask,
        free_dim_bytes=row_bytes,
    )
    return generate, ExtendedRdmaDescStart(events=free)


def legs_of(setup: Setup) -> RdmaLegs | None:
    """The legs of a collective, None where bytes are copied."""
    return RdmaLegs(setup.generation, setup.choices) if setup.request.leg == RDMA else None


class RdmaLegs:
    """The cores of all ranks and what their legs have moved; raises Unsupported for a generation without the words,
    LoweringError for a number of engines that a leg cannot have.

    >>> from dgekit.core.generations import CAYMAN
    >>> legs = RdmaLegs(CAYMAN, Choices())
    >>> bytes(legs.carry(0, 9, np.frombuffer(b"from rank 0 to rank 9", np.uint8)))
    b'from rank 0 to rank 9'
    """

    __slots__ = ("_choices", "_copiers", "_fabric", "_generation", "_machines", "_mask", "_placement", "count")

    def __init__(self, generation: Generation, choices: Choices) -> None:
        check_generation(generation)
        self.count = 0
        self._generation = generation
        self._choices = choices
        self._mask = (1 << min(choices.number("rdma_leg_engines"), MASK_BITS + 1)) - 1
        engines_of(self._mask, generation)
        self._fabric = Fabric()
        self._machines: dict[int, Machine] = {}
        self._copiers: dict[int, RemoteCopier] = {}
        self._placement = place((), generation)  # for the words that increments are read from

    def carry(self, source: int, dest: int, data: U8) -> U8:
        """Send bytes, (n,) uint8, from one rank to another; returns what has arrived."""
        rows = self._generation.partitions
        most = rows * (self._generation.active_bytes - RESERVED_BYTES)
        parts = [self._leg(source, dest, data[at : at + most]) for at in range(0, data.size, most)]
        return parts[0] if len(parts) == 1 else np.concatenate([np.zeros(0, np.uint8), *parts])

    def _leg(self, source: int, dest: int, data: U8) -> U8:
        rows = self._generation.partitions
        width = -(-data.size // rows)
        padded = np.zeros(rows * width, np.uint8)
        padded[: data.size] = data
        (chip, core), (peer_chip, peer_core) = (self._place(rank) for rank in (source, dest))
        own, peer = self._machine(chip).memory, self._machine(peer_chip).memory
        own.scatter(*self._rows(core, width), padded)
        self._execute(chip, core, leg_words(peer_core, peer_chip, self._mask, width))
        self._take(peer_chip, peer_core, ARRIVED)
        self.count += 1
        return peer.gather(*self._rows(peer_core, width))[: data.size]

    def _execute(self, chip: int, core: int, words: tuple[ExtendedRdmaDescGen, ExtendedRdmaDescStart]) -> None:
        generate, start = words
        events = EventLog()
        leg = read_generate(generate, StateView(core=core), self._generation, self._choices)
        copier = self._copiers[chip]
        copier.generate(leg, lambda dma: self._placement.semaphore_word_address(dma, 0, core), events)
        for wait in word_events(start.encode(), "start", core)[0]:
            self._require(chip, wait)
        self._take(chip, core, FREE)
        copier.start(core, events)

    def _take(self, chip: int, core: int, semaphore: int) -> None:
        """Take the increments of all engines of one leg off a semaphore."""
        engines = self._mask.bit_count()
        self._require(chip, Wait(semaphore, engines, core=core))
        self._machine(chip).memory.semaphores_of(core).add(semaphore, -engines)

    def _require(self, chip: int, wait: Wait) -> None:
        semaphores = self._machine(chip).memory.semaphores_of(wait.core)
        if not is_met(wait, semaphores):
            raise Deadlock(
                f"core {wait.core} of device {chip} waits for semaphore {wait.semaphore} of a leg",
                rule="collective.leg",
                values={"wants": wait.value, "has": semaphores.read(wait.semaphore)},
            )

    def _place(self, rank: int) -> tuple[int, int]:
        """The device and the core of a rank."""
        return divmod(rank, self._generation.cores)

    def _machine(self, chip: int) -> Machine:
        """A device; all rows of its cores are free at first."""
        if chip not in self._machines:
            machine = Machine(self._generation, self._choices)
            for core in range(self._generation.cores):
                machine.memory.semaphores_of(core).set(FREE, self._mask.bit_count())
            self._fabric.add(chip, machine)
            self._machines[chip] = machine
            self._copiers[chip] = RemoteCopier(machine, self._fabric, self._choices)
        return self._machines[chip]

    def _rows(self, core: int, width: int) -> tuple[I64, I64]:
        rows = np.arange(self._generation.partitions, dtype=np.int64)
        starts = self._generation.sbuf_base(core) + rows * self._generation.partition_stride
        return starts, np.full(len(rows), width, np.int64)

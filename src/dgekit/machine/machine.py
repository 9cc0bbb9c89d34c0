"""The machine: memory, semaphores and engines of one device, and the way of a batch through rings and doorbells.

A batch is validated as a whole (`validate` changes nothing), then pushed: BDs into the rings of each channel, S2M
doorbell, M2S doorbell, engines; a producer that finds its ring full waits until the engine has drained it (D34).
"""

from __future__ import annotations

from collections.abc import Mapping

from dgekit.core.choices import Choices
from dgekit.core.errors import Issue, RingError
from dgekit.core.events import EventLog
from dgekit.core.generations import Generation
from dgekit.descriptors.batch import DescriptorBatch
from dgekit.descriptors.bd import BD_BYTES
from dgekit.descriptors.doorbell import Leg
from dgekit.machine import address_map
from dgekit.machine.engine import Engine, QueuePair, State
from dgekit.machine.execution import ExecStats, Execution, Producer, emit_change, store_and_ring
from dgekit.machine.feed import Feed
from dgekit.machine.memory import Memory
from dgekit.machine.rdm import BLOCK_BDS
from dgekit.machine.rdm_producer import RdmProducer, partial_block
from dgekit.machine.ring import Ring, check_geometry
from dgekit.machine.semaphores import Semaphores
from dgekit.machine.validate import validate_channel, written_runs

_RING_ALIGN = 4096  # rings served by an RDM (rings 2.5), and a multiple of every other alignment


class Machine:
    """One device. Engines and queues appear when first used; they are brought up and armed as the driver does it."""

    def __init__(self, generation: Generation, choices: Choices | None = None) -> None:
        self.generation = generation
        self._choices = choices if choices is not None else Choices()
        self.memory = Memory(generation, self._choices)
        self._ring_size = self._choices.number("ring_size")
        check_geometry(0, self._ring_size)
        self._check_ring_id = {"always": True, "never": False}.get(
            self._choices.text("check_ring_id"), generation.check_ring_id
        )
        self._engines: dict[int, Engine] = {}
        self._ring_bytes: dict[int, int] = {}
        self._rdm = self._choices.flag("rdm")
        self._absolute_tail = self._rdm and self._choices.text("rdm_tail") == "absolute"
        self._producers: dict[int, RdmProducer] = {}

    @property
    def semaphores(self) -> Semaphores:
        """The semaphores of core 0."""
        return self.memory.semaphores

    @property
    def engines(self) -> Mapping[int, Engine]:
        """The engines used so far, by their number on the device."""
        return self._engines

    def engine(self, dma: int, core: int = 0) -> Engine:
        """Engine `dma` of a core; raises RingError for one that does not exist."""
        if not (0 <= dma < self.generation.engines and 0 <= core < self.generation.cores):
            raise RingError(
                f"engine {dma} of core {core} does not exist on {self.generation.name}",
                rule="rings.3.3",
                values={"dma": dma, "engines": self.generation.engines, "core": core, "cores": self.generation.cores},
            )
        number = core * self.generation.engines + dma
        if number not in self._engines:
            engine = Engine(
                number, self.generation, self.memory, check_ring_id=self._check_ring_id, choices=self._choices
            )
            engine.arm()
            self._engines[number] = engine
        return self._engines[number]

    def queue(self, dma: int, queue: int, core: int = 0) -> QueuePair:
        """A queue of an engine with its two rings; they lie in DGE_MEMORY of the core, or in host memory (MODEL)."""
        engine = self.engine(dma, core)
        if queue in engine.queues:
            return engine.queues[queue]
        return engine.add_queue(queue, self._new_ring("M2S", core), self._new_ring("S2M", core))

    def _new_ring(self, unit: Leg, core: int) -> Ring:
        region = address_map.ring_region(self.generation, core)
        size = self._ring_size * BD_BYTES
        used = self._ring_bytes.get(region.base, 0)
        base = region.base + used
        if base + size > region.end:
            raise RingError(
                f"no room for another ring of {size} bytes in {region.name}: {used} bytes are in use",
                rule="rings.3.4",
                values={"size": size, "used": used, "region": region.size},
                fix="set a smaller ring_size",
            )
        name = f"{unit} ring at {base:#x}"
        ring = Ring(unit, base, self._ring_size, self.memory.add_rings(base, size, name).view("<u4").reshape(-1, 4))
        self._ring_bytes[region.base] = used + -(-size // _RING_ALIGN) * _RING_ALIGN
        return ring

    def validate(self, batch: DescriptorBatch, *, by_processor: bool = False) -> list[Issue]:
        """Everything in a batch that the machine would refuse, at most one finding a leg of each channel.

        Covers engines and queues, packet rules, ring size, arithmetic, and every address of both legs. With
        uninitialised reads watched, bytes that the batch itself writes count as written.
        """
        limits = Engine(0, self.generation, self.memory).limits
        written = written_runs(batch.channels)
        issues = []
        for channel in batch.channels:
            issues += validate_channel(
                channel, self.generation, self.memory, limits, self._ring_size, written, self._choices
            )
            partial = partial_block(channel) if self._rdm and not by_processor else None
            if partial is not None:
                issues.append(partial.as_issue())
        return issues

    def execute(
        self, batch: DescriptorBatch, events: EventLog, core: int = 0, *, by_processor: bool = False
    ) -> ExecStats:
        """Carry a batch out; raises the error of the packet that fails, with its place, all earlier packets done.

        `by_processor`: a Q7 core writes the rings itself, whatever `rdm` says.
        """
        feeds = [Feed(channel, self.queue(channel.dma, channel.queue, core)) for channel in batch.channels]
        if by_processor or not self._rdm:
            return self._execution(events, core, store_and_ring, 1).carry_out(feeds)
        for channel in batch.channels:
            partial = partial_block(channel)
            if partial is not None:
                raise partial
        if core not in self._producers:
            self._producers[core] = RdmProducer(self.generation, self.memory, absolute_tail=self._absolute_tail)
        return self._execution(events, core, self._producers[core], BLOCK_BDS).carry_out(feeds)

    def _execution(self, events: EventLog, core: int, produce: Producer, multiple: int) -> Execution:
        return Execution(lambda dma: self.engine(dma, core), events, produce, multiple)

    def recover(self) -> None:
        """Re-initialise and arm every engine that is in abort or was left with unread descriptors."""
        self._producers.clear()
        for engine in self._engines.values():
            if engine.state is State.ABORT or any(not pair.m2s.empty for pair in engine.queues.values()):
                engine.initialise()
                engine.arm()

    def apply_increment(self, semaphore: int, amount: int, events: EventLog, core: int = 0) -> None:
        """Add to a semaphore, as the DGE does once a transfer is complete (D33)."""
        emit_change(events, core, self.memory.semaphores_of(core).add(semaphore, amount))

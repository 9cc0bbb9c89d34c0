"""Legs between cores on a machine: generate stores the rings, start rings the doorbells (pipeline 3.7, rings 7).

Semaphores of a leg count per core: each core has a window of its own, the local one is that of the executing core,
the remote one that of the peer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dgekit.core.choices import Choices
from dgekit.core.errors import LoweringError, Overlap, Unspecified
from dgekit.core.events import EventLog
from dgekit.descriptors.batch import DescriptorBatch
from dgekit.firmware import rdma
from dgekit.firmware.remote import Leg, batch_of
from dgekit.machine.fabric import Fabric
from dgekit.machine.machine import Machine

ONE = (1).to_bytes(4, "little")


@dataclass(frozen=True, slots=True, eq=False)
class _Built:
    """A leg whose rings are stored and wait for their start."""

    leg: Leg
    batch: DescriptorBatch
    streams: tuple[rdma.Stream, ...]


class RemoteCopier:
    """The processors of one device that copy between cores; one leg a core can be built and not yet started."""

    def __init__(self, machine: Machine, fabric: Fabric, choices: Choices) -> None:
        self._machine = machine
        self._fabric = fabric
        self._choices = choices
        self._built: dict[int, _Built] = {}

    def generate(self, leg: Leg, value_of: Callable[[int], int], events: EventLog) -> DescriptorBatch:
        """Build the rings of a leg; `value_of(dma)` is the address of the word that engine's increment is read from.

        Raises Unspecified while another leg of the core waits for its start, LoweringError for a routing id that no
        device has, Overlap for a leg that writes what it reads, RingError for a queue that does not exist.
        """
        machine, choices = self._machine, self._choices
        if leg.core in self._built:
            raise Unspecified(
                f"core {leg.core} has a leg that was generated and not started; no source says what a second one does",
                rule="pipeline.3.7.pending",
                values={"core": leg.core},
                fix="start the first leg before",
            )
        self._check_overlap(leg, self._fabric.reach(machine, leg.peer.routing_id, leg.peer.core))
        batch = batch_of(leg, value_of, machine.generation, choices)
        for channel in batch.channels:
            machine.memory.write(value_of(channel.dma), ONE)
        written = self._store(batch, leg)
        rdma.tell_generate(leg, batch, machine.generation, choices, events)
        streams = tuple(
            rdma.Stream(processor, role, written[role], rdma.counts(batch, leg, role)[0])
            for processor, role in rdma.processors(choices)
        )
        self._built[leg.core] = _Built(leg, batch, streams)
        return batch

    def start(self, core: int, events: EventLog) -> None:
        """Start what the core's last generate has built, and run its engines until all of it is done.

        Raises LoweringError where nothing was generated or the firmware's checks fail, the error of the first fault
        otherwise.
        """
        machine = self._machine
        built = self._built.pop(core, None)
        if built is None:
            raise LoweringError(
                f"core {core} starts a leg, and none was generated",
                rule="pipeline.3.7.start",
                values={"core": core},
                source="pipeline 3.7",
                fix="EXTENDED_RDMA_DESC_GEN before it, on the same core",
            )
        rdma.start(built.leg, built.streams, machine.generation, self._choices, events)
        faults = machine.validate(built.batch, by_processor=True)
        if faults:
            first = faults[0]
            raise LoweringError(
                first.message, rule=first.rule, where=first.where, values=first.values, source=first.source
            )
        # the BDs lie in their slots since generate; on a queue that others have used meanwhile they go behind
        machine.execute(built.batch, events, core, by_processor=True)

    def _store(self, batch: DescriptorBatch, leg: Leg) -> dict[rdma.Role, int]:
        """Write what fits of every ring; the fewest descriptors that one masked engine got, by role.

        Nothing is announced, so that the slots count as free until the start.
        """
        written: dict[rdma.Role, int] = {}
        for channel in batch.channels:
            pair = self._machine.queue(channel.dma, channel.queue, leg.core)
            for role, bds in ((rdma.Role.RX, channel.s2m), (rdma.Role.TX, channel.m2s)):
                ring = pair.ring(role.unit)
                count = min(len(bds), ring.free)
                ring.store(bds[:count])
                ring.withdraw()
                if channel.dma in leg.dmas:
                    written[role] = min(count, written.get(role, count))
        return written

    def _check_overlap(self, leg: Leg, peer: Machine) -> None:
        """A leg within one SBUF must not write what it reads: packets of different engines have no order."""
        same = peer is self._machine and leg.peer.core == leg.core
        (src, src_end), (dst, dst_end) = leg.spans
        if same and leg.nbytes and src < dst_end and dst < src_end:
            raise Overlap(
                f"the leg reads {src:#x} to {src_end:#x} and writes {dst:#x} to {dst_end:#x} of the same partitions",
                rule="pipeline.3.7.overlap",
                values={"src": hex(src), "src_end": hex(src_end), "dst": hex(dst), "dst_end": hex(dst_end)},
                fix="move the destination",
            )

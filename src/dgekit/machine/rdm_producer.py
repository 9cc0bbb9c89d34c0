"""A producer that sends descriptors through an RDM instead of writing the rings itself (choice `rdm`, decision D35)."""

from __future__ import annotations

from dgekit.core.errors import RingError, Unspecified
from dgekit.core.generations import Generation
from dgekit.descriptors.batch import U32, ChannelBatch
from dgekit.descriptors.doorbell import LEGS, Leg, doorbell_address, doorbell_at
from dgekit.machine.engine import Engine
from dgekit.machine.memory import Memory
from dgekit.machine.rdm import BLOCK_BDS, BLOCK_BYTES, QUEUES, Rdm
from dgekit.machine.ring import Packets, Ring


class RdmProducer:
    """Assigns one RDM queue to each queue pair in order of first use; tail words ring the doorbells they aim at.

    Raises RingError for a 25th queue pair and Unspecified where the published registers do not say what happens.
    """

    def __init__(self, generation: Generation, memory: Memory, *, absolute_tail: bool) -> None:
        if absolute_tail:
            raise Unspecified(
                "an absolute tail index does nothing useful at a tail-increment register",
                rule="rings.2.12",
                fix="rdm_tail = increment",
            )
        self._generation = generation
        self._queues: dict[tuple[int, int], int] = {}
        self._rings: dict[int, Ring] = {}
        self.rdm = Rdm(memory.write, self._tail)

    def __call__(self, engine: Engine, queue: int, leg: Leg, ring: Ring, bds: U32, side: Packets | None) -> None:
        """Push BDs, a whole number of blocks, into one leg of a queue pair."""
        number = self._queue(engine, queue)
        ring.note_side(len(bds), side)
        data = bds.astype("<u4").tobytes()
        for start in range(0, len(data), BLOCK_BYTES):
            write_id = self.rdm.push(number, leg, data[start : start + BLOCK_BYTES])
            if write_id is not None:
                self.rdm.respond(write_id)

    def _queue(self, engine: Engine, queue: int) -> int:
        key = (engine.number, queue)
        if key not in self._queues:
            self._queues[key] = self._assign(engine, queue)
        return self._queues[key]

    def _assign(self, engine: Engine, queue: int) -> int:
        number = len(self._queues)
        if number == QUEUES:
            raise RingError(f"an RDM serves {QUEUES} queue pairs", rule="rings.2.12", values={"queues": QUEUES})
        pair = engine.queues[queue]
        bases: dict[Leg, int] = {leg: pair.ring(leg).base for leg in LEGS}
        tails = {leg: doorbell_address(self._generation, engine.number, queue, leg) for leg in LEGS}
        self.rdm.set_queue(number, bases, tails, pair.m2s.length)
        for name in ("queue_enable", "ringid_enable"):
            self.rdm.put(name, self.rdm.get(name) | 1 << number)
        self._rings.update({tails[leg]: pair.ring(leg) for leg in LEGS})
        return number

    def _tail(self, address: int, word: int) -> None:
        if doorbell_at(self._generation, address) is not None:
            self._rings[address].doorbell(word)


def partial_block(channel: ChannelBatch) -> Unspecified | None:
    """Why the BDs of a channel cannot go through an RDM, or None."""
    m2s, s2m = len(channel.m2s), len(channel.s2m)
    if not (m2s % BLOCK_BDS or s2m % BLOCK_BDS):
        return None
    return Unspecified(
        f"{m2s} M2S and {s2m} S2M BDs are no whole blocks of {BLOCK_BDS}, and no source says how an RDM writes a part",
        rule="rings.2.12",
        where=f"dma {channel.dma} queue {channel.queue}",
        values={"m2s": m2s, "s2m": s2m, "block": BLOCK_BDS},
        fix="rdm = false, or shapes that give multiples of four descriptors a leg",
    )

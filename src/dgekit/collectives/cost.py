"""What a transfer costs in descriptors, counted from the BDs that are built for it (cce 5.1, 5.2, 7.2; D32, D61)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from dgekit.cce.limits import reduce_packet_want
from dgekit.cce.packet import CcePacket
from dgekit.cce.plan import PacketShape, Plan, plan
from dgekit.collectives.request import Setup
from dgekit.collectives.steps import Dma
from dgekit.descriptors.batch import ChannelWork
from dgekit.descriptors.expand import expand
from dgekit.patterns.runs import Runs


@dataclass(frozen=True, slots=True)
class Cost:
    """Packets, BDs of either leg and bytes read by one transfer; `packet` and `shapes` are those of a reduce."""

    packets: int
    m2s: int
    s2m: int
    nbytes: int
    packet: CcePacket | None = None
    shapes: tuple[PacketShape, ...] = ()

    def counts(self) -> list[int]:
        """The elements of each compute packet."""
        return [shape.elements for shape in self.shapes for _ in range(shape.packets)]


class Costs:
    """The cost of the transfers of one setup; equal shapes are built once.

    The counts lie at placeholder addresses: contiguous pieces of any address have the same BDs.
    """

    __slots__ = ("_known", "_setup")

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._known: dict[tuple[bool, int, int, int], Cost] = {}

    def of(self, dma: Dma) -> Cost:
        """The cost of a transfer that moves something."""
        key = (dma.reduce, dma.sources[0].count, len(dma.sources), len(dma.dests))
        if key not in self._known:
            self._known[key] = self._reduce(*key[1:]) if dma.reduce else self._copy(key[1])
        return self._known[key]

    def _copy(self, elements: int) -> Cost:
        setup = self._setup
        nbytes = elements * setup.size
        whole = Runs.of([0], nbytes)
        batch = expand(
            [ChannelWork(0, whole, whole)], setup.generation, setup.choices.number("packet_bytes"), barrier_last=False
        )
        return Cost(len(batch.channels[0].packets), batch.m2s_count, batch.s2m_count, nbytes)

    def _reduce(self, elements: int, sources: int, dests: int) -> Cost:
        setup = self._setup
        kind = setup.request.dtype
        made = _planned(setup, elements, sources, dests)
        packet = replace(made.template, in_fn=kind.fn, out_fn=kind.fn)
        return Cost(made.packet_count, made.tx, made.rx, elements * sources * setup.size, packet, made.shapes)


def _planned(setup: Setup, elements: int, sources: int, dests: int) -> Plan:
    """The packets of one reduce; each takes the runtime's packet size (cce 5.2, no priority cap)."""
    code = setup.request.dtype.code
    return plan(
        setup.request.op,
        elements,
        sources,
        code,
        setup.generation,
        setup.choices,
        accum_dtype=setup.accum,
        out_dtype=code,
        dests=dests,
        packet_bytes=min(setup.choices.number("packet_bytes"), reduce_packet_want(code, elements)),
    )

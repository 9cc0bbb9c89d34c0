"""How a reduction is cut into packets: whole packets first, one remainder last (cce 5.1, CHOICE-43, decision D61).

A plan holds one shape for each run of equal packets, so it is as small for 2**40 elements as for 2000.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from dgekit.cce.build import build
from dgekit.cce.classify import classify
from dgekit.cce.dtypes import default_accum, element_size
from dgekit.cce.enums import CceType, Dtype
from dgekit.cce.limits import packet_elements
from dgekit.cce.packet import CcePacket, Constant
from dgekit.core.choices import Choices
from dgekit.core.errors import ComputeError
from dgekit.core.generations import Generation
from dgekit.descriptors.bd import BD_BYTES, LENGTH, MAX_BD_BYTES

_PARAMETER_BYTES = 0


@dataclass(frozen=True, slots=True)
class PlannedBd:
    """One BD of a packet, without ring id and address: leg, kind, bytes it moves (0 for a parameter), word1."""

    leg: str
    kind: str
    nbytes: int
    word1: int

    def to_json(self) -> dict[str, Any]:
        """The BD as `dge cce plan --json` prints it."""
        return {"leg": self.leg, "kind": self.kind, "bytes": self.nbytes, "word1": f"{self.word1:#010x}"}


@dataclass(frozen=True, slots=True)
class PacketShape:
    """A run of `packets` equal packets from packet `first_packet` and element `first_element` on.

    `source_bytes` and `dest_bytes` are those of one source and one destination of one packet.
    """

    packets: int
    first_packet: int
    first_element: int
    elements: int
    source_bytes: int
    dest_bytes: int
    bds: tuple[PlannedBd, ...]

    @property
    def tx(self) -> int:
        """Tx BDs of one packet."""
        return sum(bd.leg == "m2s" for bd in self.bds)

    @property
    def rx(self) -> int:
        """Rx BDs of one packet."""
        return len(self.bds) - self.tx

    def to_json(self) -> dict[str, Any]:
        """The shape as `dge cce plan --json` prints it."""
        return {
            "packets": self.packets,
            "first_packet": self.first_packet,
            "first_element": self.first_element,
            "elements": self.elements,
            "source_bytes": self.source_bytes,
            "dest_bytes": self.dest_bytes,
            "tx": self.tx,
            "rx": self.rx,
            "bds": [bd.to_json() for bd in self.bds],
        }


@dataclass(frozen=True, slots=True)
class PlannedPacket:
    """One packet of a plan: its number, its first element, where that lies in each source and destination (bytes)."""

    index: int
    first_element: int
    elements: int
    source_offset: int
    dest_offset: int


@dataclass(frozen=True, slots=True)
class Plan:
    """The packets of one reduction. `template` is the packet asked for, at placeholder addresses, `shapes` its cuts."""

    template: CcePacket
    generation: Generation
    elements: int
    packet_elements: int
    shapes: tuple[PacketShape, ...]

    @property
    def packet_count(self) -> int:
        """Packets in all."""
        return sum(shape.packets for shape in self.shapes)

    @property
    def tx(self) -> int:
        """Tx BDs in all."""
        return sum(shape.packets * shape.tx for shape in self.shapes)

    @property
    def rx(self) -> int:
        """Rx BDs in all."""
        return sum(shape.packets * shape.rx for shape in self.shapes)

    def packets(self) -> Iterator[PlannedPacket]:
        """Every packet, in order."""
        source, dest = element_size(self.template.source_dtype), element_size(self.template.dest_dtype)
        for shape in self.shapes:
            for number in range(shape.packets):
                first = shape.first_element + number * shape.elements
                index = shape.first_packet + number
                yield PlannedPacket(index, first, shape.elements, first * source, first * dest)

    def to_json(self) -> dict[str, Any]:
        """The plan as `dge cce plan --json` prints it."""
        packet = self.template
        read, written = (
            count * self.elements * element_size(dtype)
            for count, dtype in ((len(packet.sources), packet.source_dtype), (len(packet.dests), packet.dest_dtype))
        )
        return {
            "schema": "dgekit.cce_plan/1",
            "generation": self.generation.name,
            "op": packet.op.name.lower(),
            "dtypes": {
                "in": Dtype(packet.in_dtype).name,
                "accum": Dtype(packet.accum_dtype).name,
                "out": Dtype(packet.out_dtype).name,
            },
            "elements": self.elements,
            "sources": len(packet.sources),
            "dests": len(packet.dests),
            "packet_elements": self.packet_elements,
            "shapes": [shape.to_json() for shape in self.shapes],
            "totals": {
                "packets": self.packet_count,
                "tx": self.tx,
                "rx": self.rx,
                "bytes_read": read,
                "bytes_written": written,
                "ring_bytes": BD_BYTES * (self.tx + self.rx),
            },
        }


def plan(
    op: CceType,
    elements: int,
    sources: int,
    in_dtype: int,
    generation: Generation,
    choices: Choices,
    *,
    accum_dtype: int | None = None,
    out_dtype: int | None = None,
    dests: int = 1,
    constant: Constant | None = None,
    seed: int | None = None,
    packet_bytes: int | None = None,
) -> Plan:
    """The packets that reduce `elements` elements of `sources` equal arrays.

    `packet_bytes` caps one source of a packet (switch `packet_bytes` unless given); the accumulator is CHOICE-27's
    unless given. Only the first packet carries a seed (decision D64). Raises ComputeError with the rule that says why
    it cannot be done.

    >>> from dgekit.core.generations import CAYMAN
    >>> made = plan(CceType.ADD, 5000, 3, Dtype.BFLOAT16, CAYMAN, Choices())
    >>> [(shape.packets, shape.elements, shape.tx, shape.rx) for shape in made.shapes]
    [(2, 2048, 3, 1), (1, 904, 3, 1)]
    """
    if elements < 1:
        raise ComputeError(f"{elements} elements, a plan needs at least one", rule="cce.CHOICE-43", where="elements")
    out = in_dtype if out_dtype is None else out_dtype
    template = CcePacket(
        op=op,
        sources=(0,) * sources,
        dests=(0,) * dests,
        elements=1,
        in_dtype=int(in_dtype),
        accum_dtype=int(default_accum(op, in_dtype, out) if accum_dtype is None else accum_dtype),
        out_dtype=int(out),
        scales=(1.0,) * sources if op == CceType.FMA else (),
        constant=constant,
        seed=seed,
    )
    cap = choices.number("packet_bytes") if packet_bytes is None else packet_bytes
    each = packet_elements(generation, template.in_dtype, template.accum_dtype, cap)
    shapes = tuple(_shapes(template, elements, each, generation, choices))
    return Plan(template, generation, elements, each, shapes)


def _shapes(
    template: CcePacket, elements: int, each: int, generation: Generation, choices: Choices
) -> Iterator[PacketShape]:
    """The runs of equal packets: one with the seed if there is one, the whole ones, the remainder."""
    whole, rest = divmod(elements, each)
    runs = [(whole, each), (1, rest)]
    if template.seed is not None and whole:
        runs = [(1, each), (whole - 1, each), (1, rest)]
    packet, number, first = template, 0, 0
    for count, size in runs:
        if not (count and size):
            continue
        yield _shape(replace(packet, elements=size), count, number, first, generation, choices)
        packet = replace(packet, seed=None)
        number, first = number + count, first + count * size


def _shape(
    packet: CcePacket, count: int, number: int, first: int, generation: Generation, choices: Choices
) -> PacketShape:
    built = build(packet, generation, choices, ring_id=0)
    data = set(built.source_rows)
    bds = []
    for row, words in enumerate(built.tx):
        kind = classify(words.astype("<u4").tobytes(), "m2s", choices)
        nbytes = (int(words[0]) & LENGTH or MAX_BD_BYTES) if row in data else _PARAMETER_BYTES
        bds.append(PlannedBd("m2s", kind, nbytes, int(words[1])))
    dest_bytes = packet.elements * element_size(packet.dest_dtype)
    bds += [PlannedBd("s2m", "buffer", dest_bytes, int(words[1])) for words in built.rx]
    source_bytes = packet.elements * element_size(packet.source_dtype)
    return PacketShape(count, number, first, packet.elements, source_bytes, dest_bytes, tuple(bds))

"""Compute packets as TOML: what `dge cce encode` reads beside JSON lines.

Errors are InputErrors that name file, place, rule and fix, as for transfer files; what the runtime would refuse is a
ComputeError at the packet's place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dgekit.cce.build import RING_IDS, BuiltPacket, build
from dgekit.cce.constants import constant_of
from dgekit.cce.dtypes import default_accum
from dgekit.cce.enums import CceType
from dgekit.cce.limits import MAX_DESTS, MAX_SOURCES
from dgekit.cce.packet import CcePacket, Constant, Gce
from dgekit.core.choices import Choices, Value
from dgekit.core.dtypes import DtypeInfo, dtype_named
from dgekit.core.errors import ComputeError
from dgekit.core.generations import DEFAULT, Generation, generation_named
from dgekit.frontends.kinds import Array, Boolean, Either, Integer, Key, Number, Parsed, Section, Text
from dgekit.frontends.kinds import Mapping as Table
from dgekit.frontends.place import Place
from dgekit.frontends.toml_file import parse_toml, read_choices

_OPS = ("add", "fma", "max", "min", "gce")
_FAR = MAX_SOURCES * 2  # a list that is a little too long gets the runtime's own refusal
_address = Integer(0, (1 << 64) - 1)
_word32 = Integer(0, (1 << 32) - 1)
_dtype = Parsed(Text(what="an element type"), dtype_named)

CONSTANT = Section(
    "constant",
    (
        Key("bits", _word32, "raw bits of the constant", required=True),
        Key("dtype", _dtype, "element type of the constant", "float32"),
    ),
    "A constant by its bits.",
)

GCE = Section(
    "compression",
    (
        Key("header", _address, "SoC address of the header", required=True),
        Key("compress", Boolean(), "compress, or decompress", True),
        Key("payload", _dtype, "element type of the payload; absent: the packet's own"),
    ),
    "A compression stage.",
)

PACKET = Section(
    "packet",
    (
        Key("op", Text(_OPS), "operation", required=True),
        Key("dtype", _dtype, "element type of the sources", required=True),
        Key("accum", _dtype, "accumulator element type; absent: by operation and types"),
        Key("out_dtype", _dtype, "element type written; absent: that of the sources"),
        Key("elements", Integer(1, 1 << 40), "elements of each source", required=True),
        Key("sources", Array(_address, 1, _FAR), "SoC addresses read, in order", required=True),
        Key("dests", Array(_address, 1, MAX_DESTS * 2), "SoC addresses written", required=True),
        Key("scales", Array(Number(), 1, _FAR), "one factor a source (fma)"),
        Key("selectors", Array(Array(Integer(0, 3), 3, 3), 1, _FAR), "operands a, b, c of each source (fma)"),
        Key(
            "constant",
            Either((Number(), CONSTANT)),
            "constant (min, max): an fp32 number, or a table of bits and dtype",
        ),
        Key("seed", _word32, "seed of stochastic rounding"),
        Key("gce", GCE, "compression"),
        Key("strong_order", Boolean(), "strongly ordered writes", False),
        Key("write_barrier", Boolean(), "write barrier on the first source", False),
    ),
    "One compute packet.",
)

PACKETS = Section(
    "packet file",
    (
        Key("generation", Parsed(Text(what="a name"), generation_named), "hardware generation", DEFAULT.aliases[0]),
        Key("ring_id", Integer(0, RING_IDS - 1), "generation of the ring slots", 1),
        Key(
            "choices",
            Table(Either((Boolean(), Integer(0, (1 << 63) - 1), Text(what="a value"))), what="choice"),
            "switches",
        ),
        Key("packets", Array(PACKET, 1, 1 << 16), "the packets, in ring order", required=True),
    ),
    "Compute packets to encode.",
)


@dataclass(frozen=True, slots=True)
class PacketFile:
    """What a packet file holds."""

    generation: Generation
    ring_id: int
    choices: Mapping[str, Value]
    packets: tuple[CcePacket, ...]
    name: str = "<text>"

    def build(
        self, generation: Generation | None = None, overrides: Mapping[str, object] | None = None
    ) -> list[BuiltPacket]:
        """The BDs of every packet; `generation` and `overrides` win over the file. ComputeError names the packet."""
        choices = Choices({**self.choices, **(overrides or {})})
        built = []
        for index, packet in enumerate(self.packets):
            try:
                built.append(build(packet, generation or self.generation, choices, ring_id=self.ring_id))
            except ComputeError as problem:
                place = Place(self.name).key("packets").item(index)
                raise _at(problem, place) from None
        return built


def loads_packets(text: str, name: str = "<text>") -> PacketFile:
    """The packets of a TOML text; `name` stands for the file in messages. Raises InputError."""
    place = Place(name)
    document = PACKETS.check(parse_toml(text, name), place)
    packets = tuple(_packet(table) for table in document["packets"])
    choices = read_choices(document["choices"] or {}, place.key("choices"))
    return PacketFile(document["generation"], document["ring_id"], choices, packets, name)


def _packet(table: dict[str, Any]) -> CcePacket:
    op = CceType[table["op"].upper()]
    read: DtypeInfo = table["dtype"]
    written: DtypeInfo = table["out_dtype"] or read
    accum: DtypeInfo | None = table["accum"]
    return CcePacket(
        op=op,
        sources=tuple(table["sources"]),
        dests=tuple(table["dests"]),
        elements=table["elements"],
        in_dtype=int(read.code),
        accum_dtype=int(accum.code if accum is not None else default_accum(op, read.code, written.code)),
        out_dtype=int(written.code),
        scales=tuple(table["scales"] or ()),
        selectors=tuple((a, b, c) for a, b, c in table["selectors"] or ()),
        constant=_constant(table["constant"]),
        seed=table["seed"],
        gce=_gce(table["gce"], read, written),
        strong_order=table["strong_order"],
        write_barrier=table["write_barrier"],
        in_fn=read.fn,
        out_fn=written.fn,
    )


def _constant(value: float | dict[str, Any] | None) -> Constant | None:
    if value is None:
        return None
    if isinstance(value, dict):
        return Constant(value["bits"], int(value["dtype"].code))
    return constant_of(value, dtype_named("float32").code)


def _gce(table: dict[str, Any] | None, read: DtypeInfo, written: DtypeInfo) -> Gce | None:
    if table is None:
        return None
    own = written if table["compress"] else read
    payload: DtypeInfo = table["payload"] or own
    return Gce(table["header"], table["compress"], int(payload.code))


def _at(problem: ComputeError, place: Place) -> ComputeError:
    where = f"{place}.{problem.where}" if problem.where else str(place)
    return ComputeError(
        problem.message, rule=problem.rule, where=where, values=problem.values, source=problem.source, fix=problem.fix
    )

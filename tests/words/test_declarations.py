"""The declarations against the specification's JSON, field by field."""

import json
from pathlib import Path

import pytest

from dgekit.layout.kinds import BytesKind, TextKind
from dgekit.layout.struct import Struct
from dgekit.words import enums, structs
from dgekit.words.structs import ADDR4, ADDR8, DMA_ADDR_UNION, PSEUDO_ADDR8, AddrMode, word_classes

GOLDEN = Path(__file__).parents[1] / "golden" / "spec" / "isa-words.json"
SPEC = json.loads(GOLDEN.read_text())

STRUCTS = {cls.layout.name: cls for cls in vars(structs).values() if isinstance(cls, type) and hasattr(cls, "layout")}
# What this package adds to the specification's list: arms for bytes that no source explains, and a name for the u64 arm.
OWN = {"ADDR_RAW", "ADDR4_RAW", "DMA_ADDR_IMM64", "OPAQUE"}


def test_every_structure_is_declared_and_no_other() -> None:
    assert set(STRUCTS) - OWN == set(SPEC["structs"]) | set(SPEC["substructs"])


def count_of(field) -> int:
    return field.size if isinstance(field.kind, TextKind) else field.count or 1


@pytest.mark.parametrize("name", list(SPEC["structs"]))
def test_word_fields(name) -> None:
    spec, cls = SPEC["structs"][name], STRUCTS[name]
    assert cls.kind == name
    assert cls.code == spec["opcode"]
    assert cls.sub_code == spec.get("extended_opcode")
    assert cls.layout.size == spec["size"] == 64
    found = [
        (f.name, f.offset, f.bit, f.size, f.kind.type_name, count_of(f), f.evidence.tag, f.role)
        for f in cls.layout.fields
    ]
    assert found == [
        (
            f["name"],
            f["offset"],
            0,
            f["size"],
            f["type"],
            f["count"],
            f["confidence"],
            "reserved" if f.get("reserved") else "unknown" if f.get("unknown") else "",
        )
        for f in spec["fields"]
    ]
    assert all(f.doc for f in cls.layout.fields)


@pytest.mark.parametrize("name", list(SPEC["substructs"]))
def test_substruct_fields(name) -> None:
    spec, cls = SPEC["substructs"][name], STRUCTS[name]
    level, way = spec["confidence"].split()[0].split("/")
    assert cls.layout.tag == f"{level}/{way[0]}"
    assert cls.layout.size == spec["size"]
    assert [(f.name, f.offset, f.bit, f.bits, type_of(f)) for f in cls.layout.fields] == [
        (f["name"], f["offset"], f["bit"], f["bits"], f["type"]) for f in spec["fields"]
    ]
    for field, expected in zip(cls.layout.fields, spec["fields"], strict=True):
        assert (field.role == "reserved") == (expected["type"] == "zero")


def type_of(field) -> str:
    return f"{field.kind.type_name}[{field.count}]" if field.count else field.kind.type_name


@pytest.mark.parametrize("name", [name for name in SPEC["enums"] if name != "ADDR8_MARKER_BIT"])
def test_enum_values(name) -> None:
    assert {member.name: int(member) for member in enums.ENUMS[name]} == SPEC["enums"][name]


def test_every_enum_is_declared_and_no_other() -> None:
    assert set(enums.ENUMS) == set(SPEC["enums"]) - {"ADDR8_MARKER_BIT"}
    flags = enums.Addr8MarkerBit.__members__
    assert {name: int(value) for name, value in flags.items()} == SPEC["enums"]["ADDR8_MARKER_BIT"]


def test_inferred_members_carry_their_evidence() -> None:
    inferred = SPEC["enum_generations"]["UPDATE_MODE"]["inferred values"]
    assert sorted(value for _, value in enums.INFERRED) == inferred
    assert {evidence.tag for evidence in enums.INFERRED.values()} == {"M/I"}


@pytest.mark.parametrize("name", list(SPEC["constants"]))
def test_constants(name) -> None:
    assert getattr(enums, name) == SPEC["constants"][name]


@pytest.mark.parametrize("union", [ADDR8, PSEUDO_ADDR8, ADDR4], ids=lambda union: union.name)
def test_tagged_unions(union) -> None:
    spec = SPEC["unions"][union.name]
    assert (union.size, union.tag_offset, union.mask) == (spec["size"], spec["tag"]["offset"], spec["tag"]["mask"])
    arms = dict(SPEC["unions"]["ADDR8"]["arms"]) if "as ADDR8" in spec["arms"] else {}
    arms |= {marker: arm for marker, arm in spec["arms"].items() if marker.startswith("0x")}
    assert {f"{marker:#04x}": arm.layout.name for marker, arm in union.arms.items()} == arms


def test_the_v5_union_has_a_struct_for_every_mode_but_one() -> None:
    assert set(DMA_ADDR_UNION.arms) == set(map(int, AddrMode)) and len(AddrMode) == 12
    assert DMA_ADDR_UNION.arm(0).layout.name == "DMA_ADDR_IMM64"
    assert {DMA_ADDR_UNION.arm(mode).layout.name for mode in range(1, 12)} == {"DMA_ADDR_STRUCT"}
    assert {DMA_ADDR_UNION.arm(mode).layout.name for mode in range(12, 16)} == {"ADDR_RAW"}


@pytest.mark.parametrize("name", list(STRUCTS))
def test_every_bit_is_claimed_once(name) -> None:
    claimed = [0] * (8 * STRUCTS[name].layout.size)
    for field in STRUCTS[name].layout.fields:
        for bit in range(field.start, field.start + field.bits):
            claimed[bit] += 1
    assert set(claimed) == {1}


@pytest.mark.parametrize("cls", word_classes(), ids=lambda cls: cls.kind)
def test_leaves_cover_all_512_bits_and_unknown_bytes_are_marked(cls) -> None:
    covered = 0
    for path, field, value, start in cls().placed_leaves():
        assert start == covered, path
        covered += field.bits
        last = path.rpartition(".")[2]
        assert (field.role == "reserved") == last.startswith("reserved")
        assert (field.role == "unknown") == last.startswith("unknown")
        if field.role:
            assert value == field.default
    assert covered == 512


def test_types_name_every_kind_of_the_specification() -> None:
    for cls in STRUCTS.values():
        assert issubclass(cls, Struct) and cls.__doc__ and cls.layout.source.startswith("isa-words ")
        for field in cls.layout.fields:
            if isinstance(field.kind, BytesKind):
                assert field.kind.zero == bytes(field.kind.size)

"""Structures declared here, not in the package: the layout rules on their own."""

import copy
import enum
import pickle

import pytest

from dgekit.core.errors import DecodeError, EncodeError, InternalError
from dgekit.layout import Struct, TaggedUnion, Union
from dgekit.layout.fields import (
    data,
    i16s,
    i32,
    reserved,
    sub,
    subs,
    text,
    u8,
    u8s,
    u16,
    u32,
    uint,
    union,
)
from dgekit.layout.fields import (
    enum as enum_field,
)


class Colour(enum.IntEnum):
    RED = 0
    BLUE = 2


class Flags(Struct, name="FLAGS", size=1, source="test 1"):
    """One byte of bits."""

    level = uint(3, 0, "level")
    colour = enum_field(0, Colour, "colour", bit=3, bits=2)
    rest = reserved(3, 0, bit=5)


class Near(Struct, name="NEAR", size=4, source="test 2"):
    """An arm with its value in 24 bits."""

    value = uint(24, 0, "value", base=16)
    marker = u8(3, "0x10", default=0x10)


class Far(Struct, name="FAR", size=4, source="test 2", tag="M/I"):
    """An arm with a signed value."""

    step = uint(16, 0, "step")
    hole = reserved(8, 2)
    marker = u8(3, "0x20", default=0x20)


class Blank(Struct, name="BLANK", size=4, source="test 2"):
    """The raw arm."""

    raw = data(4, 0, "bytes")


TAGGED = TaggedUnion("TAGGED", tag_offset=3, mask=0xF0, arms={0x10: Near, 0x20: Far}, raw=Blank, plain=Near, source="t")
CHOSEN = Union("CHOSEN", arms={0: Near, 1: Far}, raw=Blank, plain=Near, source="t")


class Signed(Struct, name="SIGNED", size=8, source="test 3"):
    """A signed number in an integer-sized structure."""

    low = i32(0, "low")
    high = u32(4, "high")


class Record(Struct, name="RECORD", size=40, source="test 4"):
    """A bit of everything."""

    flags = sub(0, Flags, "flags", "H/O")
    mode = u8(1, "selects `chosen`", "H/O")
    size = u16(2, "size", "H/O")
    tagged = union(4, TAGGED, "tagged", "H/O")
    chosen = union(8, CHOSEN, "chosen", "H/O", select="mode")
    steps = i16s(2, 12, "steps", "H/O")
    name = text(8, 16, "name", "H/O")
    many = subs(2, 24, Flags, "flags", "H/O")
    blob = u8s(6, 26, "blob", "H/O")
    signed = sub(32, Signed, "signed", "H/O")


BYTES = (
    bytes.fromhex("0b01ff00 785634 12 0300 00 20 feff0100")
    + b"disk\0\0\0\0"
    + bytes.fromhex("0112 010203040506")
    + (bytes.fromhex("ffffffff 02000000"))
)


def test_hand_packed_bytes_decode_field_by_field() -> None:
    record = Record.decode(BYTES)
    assert (record.flags.level, record.flags.colour, record.mode, record.size) == (3, 1, 1, 255)
    assert isinstance(record.flags.colour, int) and not isinstance(record.flags.colour, Colour)
    assert record.tagged == Near(value=0x345678, marker=0x12)
    assert record.chosen == Far(step=3)
    assert record.steps == (-2, 1)
    assert record.name == "disk"
    assert record.many == (Flags(level=1), Flags(level=2, colour=Colour.BLUE))
    assert record.blob == (1, 2, 3, 4, 5, 6)
    assert record.signed == Signed(low=-1, high=2)
    assert record.encode() == BYTES


def test_repr_evaluates_back_and_shows_only_what_differs() -> None:
    record = Record.decode(BYTES)
    assert eval(repr(record)) == record
    assert repr(Flags(colour=Colour.BLUE)) == "Flags(colour=Colour.BLUE)"
    assert repr(Record(size=4)).startswith("Record(size=4, chosen=")


def test_json_round_trip_uses_names_lists_and_arms() -> None:
    record = Record.decode(BYTES)
    obj = record.to_json()
    assert obj["tagged"] == {"arm": "NEAR", "value": "0x345678", "marker": 0x12}
    assert obj["steps"] == [-2, 1]
    assert obj["many"][1] == {"level": 2, "colour": "BLUE", "rest": 0}
    assert Record.from_json(obj) == record
    assert Record.from_json({"tagged": 5, "steps": "3,4", "many": {"1": {"colour": "blue"}}}) == Record(
        tagged=Near(value=5), steps=(3, 4), many=(Flags(), Flags(colour=Colour.BLUE))
    )
    assert Record.from_json({"mode": 1, "chosen": {"step": "0x10"}}).chosen == Far(step=16)
    assert Record.from_json({"size": Record(size=9).size, "flags": Flags(level=1)}).flags.level == 1
    assert Record.from_json({"tagged": Far(step=1)}).tagged == Far(step=1)


def test_values_are_immutable_hashable_and_copy() -> None:
    flags = Flags(level=1)
    with pytest.raises(AttributeError, match="immutable"):
        flags.level = 2  # type: ignore[misc]
    with pytest.raises(AttributeError, match="immutable"):
        del flags.level
    assert flags.replace(level=2) == Flags(level=2) != flags
    assert hash(Flags(level=1)) == hash(flags) and Flags(level=1) in {flags}
    assert Flags(level=1) != Near() and flags != 1
    record = Record.decode(BYTES)
    assert pickle.loads(pickle.dumps(record)) == copy.deepcopy(record) == record


def test_positional_values_follow_the_order_of_declaration() -> None:
    assert Flags(1, Colour.BLUE) == Flags(level=1, colour=2)
    with pytest.raises(EncodeError, match="3 fields, not 4"):
        Flags(1, 2, 3, 4)
    with pytest.raises(EncodeError, match="level is given twice"):
        Flags(1, level=1)


def test_a_union_arm_left_out_follows_its_selector() -> None:
    assert Record(mode=1).chosen == Far()
    assert Record(mode=7).chosen == Blank()
    assert Record.decode(Record(mode=9).encode()).chosen == Blank()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Record(size=70000), r"size: 70000 does not fit u16 \(0..65535\)"),
        (lambda: Record(size=-1), r"size: -1 does not fit u16 \(0..65535\)"),
        (lambda: Record(steps=(1, 40000)), r"steps\[1\]: 40000 does not fit i16 \(-32768..32767\)"),
        (lambda: Record(steps=(1,)), "steps: 1 values where 2 belong"),
        (lambda: Record(steps=5), "steps: 5 is no list of 2 values"),
        (lambda: Record(size="5"), "size: '5' is no integer"),
        (lambda: Record(size=1.5), "size: 1.5 is no integer"),
        (lambda: Record(size=1 << 20000), "size: a number of 20001 bits does not fit u16"),
        (lambda: Record(blob=b"12345"), "blob: 5 values where 6 belong"),
        (lambda: Record(name="a name too long"), r"name: 15 characters do not fit char\[8\]"),
        (lambda: Record(name="\u20ac"), "outside latin-1"),
        (lambda: Record(name=5), "name: 5 is no text"),
        (lambda: Record(flags=3), "flags: 3 is no Flags"),
        (lambda: Record(tagged=3), "tagged: 3 is no TAGGED"),
        (lambda: Record(tagged=Near(marker=0x20)), "marker 0x20 belongs to FAR, not NEAR"),
        (lambda: Record(tagged=Blank(b"\0\0\0\x10")), "marker 0x10 belongs to NEAR, not BLANK"),
        (lambda: Record(chosen=Far()), "the selector is 0x0, which means Near, not Far"),
        (lambda: Record(sise=3), "RECORD has no field 'sise'"),
        (lambda: Flags(colour=Sized.ONE), "colour: Sized.ONE is no COLOUR"),
        (lambda: Flags(colour=4), r"colour: 4 does not fit u2 \(0..3\)"),
        (lambda: Blank("00"), "raw: '00' is not 4 bytes"),
        (lambda: Blank(b"12345"), "raw: 5 bytes do not fit 4 bytes"),
        (lambda: Blank([1, 2, 3, 400]), "is not 4 bytes"),
    ],
)
def test_a_value_that_does_not_fit_names_field_width_and_value(make, message) -> None:
    with pytest.raises(EncodeError, match=message) as fault:
        make()
    assert fault.value.rule == rule_of(message)


RULES = {  # by the words of the message; what is left is a range
    "layout.type": ("is no ", "outside latin-1", "is not 4 bytes", "is an object"),
    "layout.arm": ("belongs to", "the selector is", "has no arm"),
    "layout.field": ("has no field", "there are elements", "steps\\[x"),
    "layout.enum": ("has no value",),
}


def rule_of(message: str) -> str:
    found = [rule for rule, words in RULES.items() if any(word in message for word in words)]
    return found[0] if found else "layout.range"


class Sized(enum.IntEnum):
    ONE = 1


@pytest.mark.parametrize(
    ("obj", "message"),
    [
        ({"flags": {"levle": 1}}, "flags: FLAGS has no field 'levle'"),
        ({"flags": {"level": 9}}, "flags.level: 9 does not fit u3"),
        ({"many": [{}, {"level": "x"}]}, r"many\[1\].level: 'x' is no integer"),
        ({"many": {"2": {}}}, r"many\[2\]: there are elements 0..1"),
        ({"flags": {"colour": "BLEU"}}, "flags.colour: COLOUR has no value 'BLEU'"),
        ({"flags": {"colour": "7"}}, "flags.colour: 7 does not fit u2"),
        ({"flags": 3}, "flags: FLAGS is an object of fields, not 3"),
        ({"tagged": {"arm": "FARR"}}, "tagged: TAGGED has no arm 'FARR'"),
        ({"tagged": {"arm": []}}, "has no arm"),
        ({"tagged": {"steep": 1}}, "tagged: NEAR has no field 'steep'"),
        ({"tagged": [1]}, "tagged: .* is no TAGGED"),
        ({"tagged": None}, "tagged: None is no TAGGED"),
        ({"tagged": {"arm": "BLANK", "raw": "zz"}}, "tagged.raw: 'zz' is no hex text"),
        ({"size": None}, "size: None is no integer"),
        ({"steps": {"x": 1}}, r"steps\[x\]"),
        ([], "RECORD is an object of fields"),
    ],
)
def test_wrong_json_names_the_path(obj, message) -> None:
    with pytest.raises(EncodeError, match=message) as fault:
        Record.from_json(obj)
    assert fault.value.rule == rule_of(message)


def test_the_nearest_field_and_value_are_offered() -> None:
    with pytest.raises(EncodeError) as fault:
        Record(sise=3)
    assert fault.value.fix == "write size"
    with pytest.raises(EncodeError) as fault:
        Record.from_json({"flags": {"colour": "BLEU"}})
    assert fault.value.fix == "write BLUE"


def test_decode_takes_exactly_the_size() -> None:
    for length in (0, 39, 41):
        with pytest.raises(DecodeError, match=f"RECORD takes 40 bytes, not {length}"):
            Record.decode(bytes(length))


def test_reserved_bits_survive_and_are_reported() -> None:
    record = Record.decode(BYTES).replace(flags=Flags(rest=5), mode=1, chosen=Far(hole=2))
    again = Record.decode(record.encode())
    assert again == record
    issues = again.reserved_issues()
    assert [(issue.where, issue.values, issue.severity) for issue in issues] == [
        ("RECORD.flags.rest", {"path": "flags.rest", "value": 5}, "error"),
        ("RECORD.chosen.hole", {"path": "chosen.hole", "value": 2}, "warning"),
    ]
    assert {issue.rule for issue in issues} == {"layout.reserved"}
    assert Record().reserved_issues() == []


def test_paths_reach_nested_values() -> None:
    record = Record.decode(BYTES)
    assert record.at("many.1.colour") is Colour.BLUE
    assert record.at("steps.0") == -2
    for wrong in ("many.2", "steps.x", "size.x", "flags.none", "nothing"):
        with pytest.raises(EncodeError, match="has no field") as fault:
            record.at(wrong)
        assert fault.value.rule == "layout.field"
    starts = {path: start for path, _, _, start in record.placed_leaves()}
    assert starts["flags.colour"] == 3
    assert starts["many.1.rest"] == 8 * 25 + 5
    assert starts["signed.high"] == 8 * 36


def test_fields_are_reachable_on_the_class() -> None:
    assert Record.size.offset == 2
    assert Record.size.evidence.describe() == "high, observed (test 4)"
    assert "byte 2 bit 0, 16 bits" in repr(Record.size)
    assert Far.hole.evidence.tag == "M/I"


def declare(size: int, **fields):
    return type("Bad", (Struct,), fields, name="BAD", size=size, source="test")


@pytest.mark.parametrize(
    ("size", "fields", "rule"),
    [
        (2, {"a": u8(0, ""), "b": u8(0, "")}, "layout.overlap"),
        (2, {"a": u16(0, ""), "b": uint(4, 1, "", bit=4)}, "layout.overlap"),
        (4, {"a": u8(0, ""), "b": u16(2, "")}, "layout.gap"),
        (2, {"a": u8(0, "")}, "layout.size"),
        (1, {"a": u16(0, "")}, "layout.size"),
        (3, {"a": uint(4, 0, ""), "b": uint(20, 0, "", bit=4)}, "layout.place"),
        (4, {"a": u8s(4, 0, "")}, "layout.place"),
    ],
)
def test_a_faulty_declaration_fails_when_the_class_is_made(size, fields, rule) -> None:
    with pytest.raises(InternalError) as fault:
        declare(size, **fields)
    assert fault.value.rule == rule


def test_a_union_refuses_arms_of_another_size() -> None:
    with pytest.raises(InternalError, match="arm FLAGS is not 4 bytes"):
        Union("BAD", arms={0: Flags}, raw=Blank, plain=Flags, source="t")


def test_an_arm_must_be_told_apart_by_something_before_it() -> None:
    with pytest.raises(InternalError, match="CHOSEN needs a sibling field") as fault:
        union(0, CHOSEN, "chosen")
    assert fault.value.rule == "layout.select"
    with pytest.raises(InternalError, match="its selector comes after it"):
        declare(5, chosen=union(0, CHOSEN, "chosen", select="mode"), mode=u8(4, "mode"))
    with pytest.raises(EncodeError, match="BAD has no field 'mood'"):
        declare(4, chosen=union(0, CHOSEN, "chosen", select="mood"))


def test_arrays_of_one_and_text_from_bytes() -> None:
    one = declare(3, many=u8s(3, 0, "three"))
    single = declare(3, only=i16s(1, 0, "one"), rest=u8(2, "rest"))
    assert repr(single(only=[-5])) == "Bad(only=(-5,))"
    assert one(many=b"abc").many == (97, 98, 99)
    assert Record(name=b"ab\xff\0").name == "ab\xff"


def test_faults_can_speak_of_huge_numbers() -> None:
    with pytest.raises(EncodeError, match="name: a huge int is no text"):
        Record(name=1 << 200_000)


def test_a_field_without_a_value_is_an_attribute_error() -> None:
    empty = object.__new__(Flags)
    with pytest.raises(AttributeError):
        _ = empty.level

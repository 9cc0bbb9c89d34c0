"""Tables and diagrams drawn from declarations."""

from dgekit.layout import Struct, TaggedUnion
from dgekit.layout.diagram import bit_diagram, layout_table, place, union_table
from dgekit.layout.fields import data, u8, u8s, u16, uint


class Small(Struct, name="SMALL", size=1, source="chapter 1"):
    """Bits."""

    low = uint(3, 0, "low part")
    high = uint(5, 0, "high part", bit=3)


class Long(Struct, name="LONG", size=12, source="chapter 2"):
    """Bytes."""

    first = u16(0, "first", "H/O")
    a_name_that_is_long = u8(2, "second", "M/I")
    rest = u8s(9, 3, "rest", "-")


class Any12(Struct, name="ANY", size=4, source="chapter 3"):
    """Raw."""

    raw = data(4, 0, "bytes")


class Arm(Struct, name="ARM", size=4, source="chapter 3"):
    """Arm."""

    value = uint(24, 0, "value")
    marker = u8(3, "marker")


def test_bits_are_drawn_from_high_to_low() -> None:
    assert bit_diagram(Small).splitlines() == [
        "+------+-----+",
        "| 7:3  | 2:0 |",
        "+------+-----+",
        "| high | low |",
        "+------+-----+",
    ]


def test_bytes_are_drawn_in_rows_of_eight() -> None:
    lines = bit_diagram(Long).splitlines()
    assert lines[0].split() == [str(index) for index in range(8)]
    assert [part.strip() for part in lines[2].split("|")] == ["0", "first", "a_name_tha~", "rest[9]", ""]
    assert [part.strip() for part in lines[4].split("|")] == ["8", "...", ""]
    assert lines[1].count("+") == 9 and all(line.rstrip() == line for line in lines)


def test_the_table_has_place_size_type_and_evidence() -> None:
    lines = layout_table(Long).splitlines()
    assert lines[0] == "LONG: 12 bytes (chapter 2)"
    assert lines[1].split() == ["off", "size", "field", "type", "meaning", "conf"]
    assert lines[2].split() == ["0", "2", "first", "u16", "first", "H/O"]
    assert lines[4].split() == ["3", "9", "rest[9]", "u8[9]", "rest", "-"]
    assert layout_table(Small).splitlines()[0] == "SMALL: 1 byte (chapter 1)"
    assert layout_table(Small).splitlines()[3].split()[:3] == ["0[7:3]", "5", "bit"]


def test_the_union_table_lists_selectors_by_arm() -> None:
    union = TaggedUnion("U", tag_offset=3, mask=0xF0, arms={0: Arm, 0x40: Arm}, raw=Any12, plain=Arm, source="ch")
    assert union_table(union).splitlines() == [
        "U: 4 bytes, told apart by byte 3 & 0xf0 (ch)",
        "arm  selector",
        "ARM  0x00 0x40",
        "ANY  every other",
    ]


def test_places() -> None:
    assert (place(0, 8), place(8, 3), place(15, 1), place(186, 6)) == ("0", "1[2:0]", "1[7]", "23[7:2]")

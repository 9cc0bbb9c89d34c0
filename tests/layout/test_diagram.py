"""Tables and diagrams drawn from declarations."""

from dgekit.layout import Struct
from dgekit.layout.diagram import bit_diagram, columns, place, table_rows
from dgekit.layout.fields import u8, u8s, u16, uint


class Small(Struct, name="SMALL", size=1, source="chapter 1"):
    """Bits."""

    low = uint(3, 0, "low part")
    high = uint(5, 0, "high part", bit=3)


class Long(Struct, name="LONG", size=12, source="chapter 2"):
    """Bytes."""

    first = u16(0, "first", "H/O")
    a_name_that_is_long = u8(2, "second", "M/I")
    rest = u8s(9, 3, "rest", "-")


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
    rows = table_rows(Long.layout)
    assert rows[0] == ("0", "2", "first", "u16", "first", "H/O")
    assert rows[2] == ("3", "9", "rest[9]", "u8[9]", "rest", "-")
    assert table_rows(Small.layout)[1][:3] == ("0[7:3]", "5 bit", "high")
    lines = columns([("off", "size"), *(row[:2] for row in rows)])
    assert lines == ["off  size", "0    2", "2    1", "3    9"]


def test_places() -> None:
    assert (place(0, 8), place(8, 3), place(15, 1), place(186, 6)) == ("0", "1[2:0]", "1[7]", "23[7:2]")

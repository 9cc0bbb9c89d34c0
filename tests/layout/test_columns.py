"""Columns of structures declared here, against the scalar path and against hand-made integers."""

import numpy as np
import pytest

from dgekit.core.errors import EncodeError, InternalError
from dgekit.layout import Struct, TaggedUnion
from dgekit.layout.columns import BLOCK, plan_of, read_column, read_columns, write_columns
from dgekit.layout.fields import data, i16s, i32, sub, subs, u8, uint, union


class Bits(Struct, name="BITS", size=4, source="t"):
    """Bit fields across bytes."""

    low = uint(3, 0, "")
    wide = uint(18, 0, "", bit=3)
    top = uint(11, 2, "", bit=5)


class Arm(Struct, name="ARM", size=4, source="t"):
    """The only arm."""

    value = uint(24, 0, "")
    marker = u8(3, "", default=0x80)


class Raw(Struct, name="RAW", size=4, source="t"):
    """Any bytes."""

    raw = data(4, 0, "")


ONE = TaggedUnion("ONE", tag_offset=3, mask=0xF0, arms={0x80: Arm}, raw=Raw, plain=Arm, source="t")


class Row(Struct, name="ROW", size=18, source="t"):
    """One row."""

    bits = sub(0, Bits, "")
    address = union(4, ONE, "")
    steps = i16s(2, 8, "")
    number = i32(12, "")
    many = subs(2, 16, type("Byte", (Struct,), {"b": u8(0, "")}, name="BYTE", size=1, source="t"), "")


def random_rows(count: int) -> np.ndarray:
    return np.random.default_rng(7).integers(0, 256, (count, 18), dtype=np.uint8)


def test_columns_equal_the_scalar_values() -> None:
    rows = random_rows(300)
    plan = plan_of(Row)
    values = [Row.decode(row.tobytes()) for row in rows]
    for path in ("bits.low", "bits.wide", "bits.top", "steps", "number", "many.1.b"):
        assert read_column(plan, rows, None, path).tolist() == [
            list(found) if isinstance(found := value.at(path), tuple) else found for value in values
        ]
    raw = read_column(plan, rows, None, "address")
    assert raw.tolist() == [int.from_bytes(row.tobytes()[4:8], "little") for row in rows]
    assert read_column(plan, rows, None, "address.marker").tolist() == [int(row[7]) & 0xF0 for row in rows]


def test_blocks_and_chosen_rows_give_the_same_columns() -> None:
    rows = random_rows(2 * BLOCK + 5)
    plan = plan_of(Row)
    chosen = np.flatnonzero(rows[:, 0] & 1)
    paths = list(plan.columns)
    for pick in (None, chosen):
        together = read_columns(plan, rows, pick, paths)
        for path in paths:
            assert np.array_equal(together[path], read_column(plan, rows, pick, path)), path
    written = np.zeros_like(rows)
    write_columns(plan, written, read_columns(plan, rows, None, paths))
    assert np.array_equal(written, rows)


@pytest.mark.parametrize(
    ("columns", "message", "rule"),
    [
        ({"bits.low": [0, 8, 0]}, "bits.low: 8 in row 1 is outside 0..7", "layout.range"),
        ({"number": [0, 0, -(1 << 31) - 1]}, "number: -2147483649 in row 2 is outside", "layout.range"),
        ({"steps": [[0, 0], [0, 32768], [0, 0]]}, "steps: 32768 in row 1 is outside", "layout.range"),
        ({"steps": [1, 2, 3]}, "steps: shape", "layout.shape"),
        ({"bits.low": [1, 2]}, "bits.low: shape", "layout.shape"),
        ({"bits.low": [1.0, 2.0, 3.0]}, "a column of float64 holds no integers", "layout.type"),
        ({"bits.lwo": [1, 2, 3]}, "no column 'bits.lwo'", "layout.field"),
        (
            {"address": 0x80000000, "address.marker": [0x80, 0x90, 0x80]},
            "address.marker: 0x90 in row 1 disagrees",
            "layout.arm",
        ),
    ],
)
def test_a_column_that_does_not_fit_is_refused(columns, message, rule) -> None:
    with pytest.raises(EncodeError, match=message) as fault:
        write_columns(plan_of(Row), np.zeros((3, 18), np.uint8), columns)
    assert fault.value.rule == rule


def test_structures_without_a_column_form_are_refused() -> None:
    class Pair(Struct, name="PAIR", size=8, source="t"):
        low = uint(4, 0, "")
        wide = uint(60, 0, "", bit=4)

    assert plan_of(Pair).find("wide").store == "<u8"

    class Split(Struct, name="SPLIT", size=16, source="t"):
        many = subs(2, 0, Pair, "")

    assert set(plan_of(Split).columns) == {"many.0.low", "many.0.wide", "many.1.low", "many.1.wide"}

    class Names(Struct, name="NAMES", size=9, source="t"):
        blobs = data(3, 0, "", count=3)

    with pytest.raises(InternalError, match="is no column"):
        plan_of(Names)

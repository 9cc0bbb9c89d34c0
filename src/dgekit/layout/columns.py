"""Many structures of one kind as numpy columns: one array for each leaf field, derived from the declaration.

Rows are a C-contiguous (n, size) array of uint8. A leaf is found by its dotted path, as in `Struct.at`; an array field
is one (n, count) column. A union is its raw integer, and for a tagged union `<path>.marker` holds the masked marker;
what the arms mean is left to the scalar path. Enums stay plain integers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgekit.core.errors import EncodeError, InternalError
from dgekit.layout.fields import Field
from dgekit.layout.kinds import IntKind
from dgekit.layout.say import brief, suggestion
from dgekit.layout.struct import INT_SIZES, Struct, StructKind
from dgekit.layout.union import TaggedUnion, UnionKind

BLOCK = 16384  # rows worked on at a time: one block of 64-byte rows stays in the second-level cache

Rows = NDArray[np.uint8]
Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class Column:
    """One leaf: the stored integer it lies in (`store`, at byte `offset`), and `shift` and `mask` if it is part of one.

    `dtype` is that of the column; `count` is 0 for a scalar; `is_derived` marks a marker, which encoding only compares.
    """

    path: str
    offset: int
    store: str
    count: int
    shift: int
    mask: int
    dtype: str
    low: int
    high: int
    is_derived: bool = False

    @property
    def is_whole(self) -> bool:
        """True when the column is the stored integer itself."""
        return not self.mask

    @property
    def store_key(self) -> str:
        """The name of the stored integer in the record type."""
        return f"{self.store}@{self.offset}*{self.count}"

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one row's value."""
        return (self.count,) if self.count else ()

    def cut(self, stored: Array, out: Array) -> None:
        """Write the column's values to `out`, given the stored integers."""
        if self.is_whole:
            out[...] = stored
        elif self.shift:
            np.right_shift(stored, self.shift, out=out, casting="unsafe")
            np.bitwise_and(out, out.dtype.type(self.mask), out=out)
        else:
            np.bitwise_and(stored, stored.dtype.type(self.mask), out=out, casting="unsafe")

    def paste(self, stored: Array, values: Array) -> None:
        """Put checked values into the stored integers."""
        if self.is_whole:
            stored[...] = values
            return
        kind = stored.dtype.type
        keep = kind(~(self.mask << self.shift) & ((1 << 8 * stored.dtype.itemsize) - 1))
        stored[...] = (stored & keep) | (values.astype(stored.dtype) << kind(self.shift))

    def checked(self, values: Any, rows: int) -> Array:
        """The values as an integer array of (rows, *shape); raises EncodeError for another shape, type or range."""
        array = np.asarray(values)
        if array.size and array.dtype.kind not in "iub":
            raise EncodeError(f"{self.path}: a column of {array.dtype} holds no integers", rule="layout.type")
        try:
            array = np.broadcast_to(array, (rows, *self.shape))
        except ValueError:
            raise EncodeError(
                f"{self.path}: shape {array.shape} does not fit {(rows, *self.shape)}", rule="layout.shape"
            ) from None
        if array.size and (int(array.min()) < self.low or int(array.max()) > self.high):
            self._refuse(array)
        return array

    def _refuse(self, array: Array) -> None:
        worst = int(array.argmin()) if int(array.min()) < self.low else int(array.argmax())
        number, row = int(array.flat[worst]), worst // max(self.count, 1)
        raise EncodeError(
            f"{self.path}: {number} in row {row} is outside {self.low}..{self.high}",
            values={"value": number, "row": row, "low": self.low, "high": self.high},
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """The columns of one structure by path, and the numpy record type that reaches every stored integer."""

    columns: Mapping[str, Column]
    record: np.dtype[Any]

    def find(self, path: str) -> Column:
        """The column of that path; raises EncodeError with the nearest right one."""
        found = self.columns.get(path)
        if found is None:
            fix = suggestion(path, self.columns)
            raise EncodeError(f"there is no column {brief(path)}", rule="layout.field", fix=fix)
        return found

    def view(self, rows: Rows) -> Array:
        """The rows as records; no copy."""
        records: Array = rows.view(self.record).reshape(len(rows))
        return records


_PLANS: dict[type[Struct], Plan] = {}


def plan_of(struct: type[Struct]) -> Plan:
    """The column plan of a structure, made once."""
    plan = _PLANS.get(struct)
    if plan is None:
        plan = _PLANS[struct] = _make_plan(struct)
    return plan


def _make_plan(struct: type[Struct]) -> Plan:
    columns = {column.path: column for column in _columns(struct, "", 0, struct.layout.size)}
    stores = {column.store_key: column for column in columns.values()}
    record = np.dtype(
        {
            "names": list(stores),
            "formats": [(column.store, column.shape) for column in stores.values()],
            "offsets": [column.offset for column in stores.values()],
            "itemsize": struct.layout.size,
        }
    )
    return Plan(columns, record)


def _columns(struct: type[Struct], prefix: str, base: int, size: int) -> Iterator[Column]:
    for field in struct.layout.fields:
        path, start = prefix + field.name, base + field.start
        if isinstance(field.kind, StructKind):
            for index in range(field.count or 1):
                inner = f"{path}." if field.count is None else f"{path}.{index}."
                yield from _columns(field.kind.struct, inner, start + index * field.kind.bits, size)
        elif isinstance(field.kind, UnionKind):
            yield _leaf(path, start, field.bits, size)
            if isinstance(field.kind.union, TaggedUnion):
                yield _marker(path, start, field.kind.union)
        elif field.kind.raw_is_bytes or field.count is not None:
            yield _run(path, start, field)
        else:
            yield _leaf(path, start, field.bits, size, getattr(field.kind, "signed", False))


def _leaf(path: str, start: int, bits: int, size: int, signed: bool = False) -> Column:
    """A scalar: a whole stored integer where it is one, else part of the smallest that covers it."""
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    if start % 8 == 0 and bits // 8 in INT_SIZES and bits % 8 == 0:
        store = f"<{'i' if signed else 'u'}{bits // 8}"
        return Column(path, start // 8, store, 0, 0, 0, store, low, high)
    for width in INT_SIZES:
        offset = min(start // 8, size - width)
        if start - 8 * offset + bits <= 8 * width and not signed:
            narrow = next(f"<u{n}" for n in INT_SIZES if bits <= 8 * n)
            return Column(path, offset, f"<u{width}", 0, start - 8 * offset, high, narrow, low, high)
    raise InternalError(f"{path}: {bits} bits at bit {start} fit no column", rule="layout.place")


def _run(path: str, start: int, field: Field[Any]) -> Column:
    """An array of integers, or a run of bytes."""
    if isinstance(field.kind, IntKind):
        kind = field.kind
        store = f"<{'i' if kind.signed else 'u'}{kind.bits // 8}"
        return Column(path, start // 8, store, field.count or 0, 0, 0, store, kind.low, kind.high)
    if field.count is None:
        return Column(path, start // 8, "<u1", field.size, 0, 0, "<u1", 0, 255)
    raise InternalError(f"{path}: an array of {field.kind.type_name} is no column", rule="layout.place")


def _marker(path: str, start: int, union: TaggedUnion[Any]) -> Column:
    offset = start // 8 + union.tag_offset
    return Column(f"{path}.marker", offset, "<u1", 0, 0, union.mask, "<u1", 0, 255, is_derived=True)


def read_column(plan: Plan, rows: Rows, chosen: Array | None, path: str) -> Array:
    """One column of all rows, or of the chosen ones, as a fresh contiguous array."""
    column = plan.find(path)
    stored = plan.view(rows)[column.store_key]
    stored = stored if chosen is None else stored[chosen]
    out = np.empty(stored.shape, column.dtype)
    column.cut(stored, out)
    return out


def read_columns(plan: Plan, rows: Rows, chosen: Array | None, paths: list[str]) -> dict[str, Array]:
    """Several columns at once, worked in blocks so that each row is fetched from memory once."""
    count = len(rows) if chosen is None else len(chosen)
    columns = [plan.find(path) for path in paths]
    out = {column.path: np.empty((count, *column.shape), column.dtype) for column in columns}
    gathered = np.empty((min(BLOCK, count), rows.shape[1]), np.uint8)
    for first in range(0, count, BLOCK):
        last = min(first + BLOCK, count)
        block = rows[first:last]
        if chosen is not None:
            block = gathered[: last - first]
            np.take(rows, chosen[first:last], axis=0, out=block, mode="clip")
        records = plan.view(block)
        stored: dict[str, Array] = {}
        for column in columns:
            key = column.store_key
            if key not in stored:
                stored[key] = records[key] if column.is_whole else np.ascontiguousarray(records[key])
            column.cut(stored[key], out[column.path][first:last])
    return out


def write_columns(plan: Plan, rows: Rows, values: Mapping[str, Any]) -> None:
    """Put columns into rows that already hold defaults; raises EncodeError naming column, row, value and range.

    A marker column is not written: it must agree with the address beside it.
    """
    records = plan.view(rows)
    given = {path: plan.find(path).checked(array, len(rows)) for path, array in values.items()}
    for path, array in given.items():
        column = plan.find(path)
        if not column.is_derived:
            column.paste(records[column.store_key], array)
    for path, array in given.items():
        if plan.find(path).is_derived:
            _compare(path, read_column(plan, rows, None, path), array)


def _compare(path: str, found: Array, given: Array) -> None:
    differs = np.flatnonzero(found != given)
    if len(differs):
        row = int(differs[0])
        wrong, right = int(given[row]), int(found[row])
        raise EncodeError(
            f"{path}: {wrong:#04x} in row {row} disagrees with the address, whose marker is {right:#04x}",
            rule="layout.arm",
            values={"value": wrong, "row": row, "marker": right},
        )

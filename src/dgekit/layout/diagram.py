"""Text drawn from declarations: the rows of a layout table and the bit diagram of a structure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from dgekit.layout.fields import Field
from dgekit.layout.struct import Layout, Struct

ROW_BYTES = 8
BYTE_WIDTH = 12
MORE = "..."


def place(start: int, bits: int) -> str:
    """Where `bits` bits from bit `start` on lie: the first byte, and the bits in it when they do not fill bytes.

    >>> place(96, 8), place(98, 3), place(103, 1)
    ('12', '12[4:2]', '12[7]')
    """
    offset, bit = divmod(start, 8)
    if bit == 0 and bits % 8 == 0:
        return str(offset)
    return f"{offset}[{bit + bits - 1}:{bit}]" if bits > 1 else f"{offset}[{bit}]"


def size(field: Field[Any]) -> str:
    """How large a field is: bytes, or bits when it does not fill bytes."""
    return str(field.bits // 8) if field.bit == 0 and field.bits % 8 == 0 else f"{field.bits} bit"


def field_name(field: Field[Any]) -> str:
    """The name with its count, as the specification prints it."""
    return field.name if field.count is None else f"{field.name}[{field.count}]"


def table_rows(layout: Layout) -> list[tuple[str, str, str, str, str, str]]:
    """The layout table as rows: offset, size, field, type, meaning, evidence tag."""
    return [_table_row(field) for field in layout.fields]


def _table_row(field: Field[Any]) -> tuple[str, str, str, str, str, str]:
    where = place(field.start, field.bits)
    return where, size(field), field_name(field), type_name(field), field.doc, field.evidence.tag


def type_name(field: Field[Any]) -> str:
    """The field's type with its count."""
    return field.kind.type_name if field.count is None else f"{field.kind.type_name}[{field.count}]"


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows as lines with aligned columns; the last column is not padded."""
    widths = [max(len(row[index]) for row in rows) for index in range(len(rows[0]) - 1)]
    return [
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]]).rstrip()
        for row in rows
    ]


def bit_diagram(struct: type[Struct]) -> str:
    """A picture of the structure: bytes in rows of eight, or bits from high to low where fields do not fill bytes."""
    layout = struct.layout
    if any(field.bit or field.kind.bits % 8 for field in layout.fields):
        return _bits(layout)
    return _bytes(layout)


def _bits(layout: Layout) -> str:
    cells = []
    for field in reversed(layout.fields):
        last = field.start + field.bits - 1
        bits = f"{last}:{field.start}" if field.bits > 1 else f"{last}"
        width = max(len(bits), len(field.name)) + 2
        cells.append((bits.center(width), field.name.center(width)))
    rule = "+" + "+".join("-" * len(bits) for bits, _ in cells) + "+"
    rows = ["|" + "|".join(cell[line] for cell in cells) + "|" for line in (0, 1)]
    return "\n".join([rule, rows[0], rule, rows[1], rule])


def _bytes(layout: Layout) -> str:
    width = min(ROW_BYTES, layout.size)
    lines = ["     " + "".join(str(index).center(BYTE_WIDTH) for index in range(width)).rstrip()]
    lines.append(_rule({0, *range(width + 1)}, width))
    for first in range(0, layout.size, ROW_BYTES):
        cells = list(_row_cells(layout, first))
        used = sum(length for _, length in cells)
        lines.append(f"{first:3}  |" + "".join(_cell(label, length) for label, length in cells))
        lines.append(_rule(_edges(layout, first), used))
    return "\n".join(lines)


def _row_cells(layout: Layout, first: int) -> Iterable[tuple[str, int]]:
    """The fields in one row of bytes, as (label, bytes in this row)."""
    for field in layout.fields:
        begin, end = max(first, field.offset), min(first + ROW_BYTES, field.offset + field.size)
        if begin < end:
            yield (field_name(field) if begin == field.offset else MORE), end - begin


def _edges(layout: Layout, first: int) -> set[int]:
    """Byte positions of a row where a cell border touches the line below it."""
    edges = {0}
    for start in (first, first + ROW_BYTES):
        position = 0
        for _, length in _row_cells(layout, start):
            position += length
            edges.add(position)
    return edges


def _cell(label: str, length: int) -> str:
    width = length * BYTE_WIDTH - 1
    return (label if len(label) <= width else label[: width - 1] + "~").center(width) + "|"


def _rule(edges: set[int], width: int) -> str:
    line = "".join(("+" if index in edges else "-") + "-" * (BYTE_WIDTH - 1) for index in range(width))
    return "     " + line + "+"

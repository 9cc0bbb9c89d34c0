"""Descriptions of words, nested structures, unions, fields and opcodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dgekit.core.evidence import Evidence
from dgekit.core.generations import GENERATIONS
from dgekit.layout import Field, Layout, Struct, Union
from dgekit.layout.diagram import bit_diagram, table_rows
from dgekit.layout.kinds import EnumKind, Kind
from dgekit.layout.struct import StructKind
from dgekit.layout.union import UnionKind
from dgekit.words.describe_facts import describe_enum, generations_text, rules_table
from dgekit.words.description import Description, Table
from dgekit.words.enums import Opcode
from dgekit.words.rules import RULES
from dgekit.words.word import Word

_COLUMNS = ("off", "size", "field", "type", "meaning", "conf")


def describe_struct(cls: type[Struct]) -> Description:
    """A nested structure: its fields and the structures inside it."""
    layout = cls.layout
    title = f"{layout.name}: {layout.size} byte{'s' if layout.size > 1 else ''}"
    return Description(
        "struct", layout.name, title, _sentences(layout), _struct_tables(cls), _diagram(cls), _evidence(layout)
    )


def describe_word(cls: type[Word]) -> Description:
    """A word: its fields, the structures inside it, the generations that have it, and the rules about it."""
    layout = cls.layout
    title = f"{layout.name}: opcode {cls.code:#04x}, {layout.size} bytes"
    text = (*_sentences(layout), f"generations: {_generations(cls.code)}")
    tables = (
        *_struct_tables(cls),
        rules_table("rules", (rule for rule in RULES.values() if layout.name in rule.words)),
        rules_table("rules of every word", (rule for rule in RULES.values() if not rule.words)),
    )
    return Description("word", layout.name, title, text, tables, _diagram(cls), _evidence(layout))


def _sentences(layout: Layout) -> tuple[str, ...]:
    return tuple(line.strip() for line in layout.doc.splitlines() if line.strip())


def _diagram(cls: type[Struct]) -> tuple[str, ...]:
    return tuple(bit_diagram(cls).splitlines())


def _evidence(layout: Layout) -> Evidence:
    return Evidence.parse(layout.tag, layout.source)


def _generations(opcode: int) -> str:
    return generations_text(generation for generation in GENERATIONS if opcode not in generation.opcodes_absent)


def _struct_tables(cls: type[Struct]) -> tuple[Table, ...]:
    return tuple(_fields_table(each.layout) for each in (cls, *_inner(cls)))


def _fields_table(layout: Layout) -> Table:
    title = f"{layout.name}, {layout.size} byte{'s' if layout.size > 1 else ''}"
    return Table(title, _COLUMNS, tuple(table_rows(layout)))


def _inner(cls: type[Struct]) -> tuple[type[Struct], ...]:
    """The structures and union arms inside a structure, each once, in order of first use."""
    seen: dict[type[Struct], None] = {}
    for field in cls.layout.fields:
        if isinstance(field.kind, StructKind):
            seen.setdefault(field.kind.struct)
            seen.update(dict.fromkeys(_inner(field.kind.struct)))
        elif isinstance(field.kind, UnionKind):
            seen.update(dict.fromkeys(field.kind.union.structs))
    return tuple(seen)


def describe_union(union: Union[Any]) -> Description:
    """The arms of a union, by selector."""
    rows = tuple((f"{selector:#04x}", arm.layout.name) for selector, arm in union.arms.items())
    arms = Table("arms", ("selector", "arm"), (*rows, ("other", union.raw.layout.name)))
    tables = (arms, *(_fields_table(arm.layout) for arm in union.structs))
    title = f"{union.name}: union of {union.size} bytes"
    return Description("union", union.name, title, (), tables, (), Evidence.parse("H/O", union.source))


def describe_fields(name: str, found: Sequence[tuple[type[Struct], Field[Any]]]) -> Description:
    """One field name in every structure that has it, with its enum, structure or union."""
    rows = tuple((cls.layout.name, *_row_of(cls.layout, field)) for cls, field in found)
    tables = [Table("places", ("in", *_COLUMNS), rows)]
    for kind in (field.kind for _, field in found):
        tables += [table for table in _type_tables(kind) if table not in tables]
    evidence = found[0][1].evidence if len(found) == 1 else None
    where = found[0][0].layout.name if len(found) == 1 else f"{len(found)} structures"
    return Description("field", name, f"field {name} of {where}", (), tuple(tables), (), evidence)


def _row_of(layout: Layout, field: Field[Any]) -> tuple[str, ...]:
    return table_rows(layout)[layout.fields.index(field)]


def _type_tables(kind: Kind) -> tuple[Table, ...]:
    if isinstance(kind, EnumKind):
        return describe_enum(kind.members).tables
    if isinstance(kind, StructKind):
        return (_fields_table(kind.struct.layout),)
    return describe_union(kind.union).tables if isinstance(kind, UnionKind) else ()


def describe_opcode(opcode: Opcode) -> Description:
    """An opcode for which no word is declared."""
    text = ("no layout is declared: the word decodes as opaque bytes", f"generations: {_generations(opcode)}")
    title = f"opcode {int(opcode):#04x} {opcode.name}"
    return Description("opcode", opcode.name, title, text, evidence=Evidence.parse("H/O", "isa-words 2.1"))

"""Pages of binary structures: the 64-byte words, and the 16-byte records of descriptors, completion, notification."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from dgekit.cce import bds, host, registers
from dgekit.cce import words as cce_words
from dgekit.core.evidence import LEVELS, WAYS
from dgekit.descriptors import bd, completion, notification
from dgekit.export.reference.markdown import anchor, cell, code, fence, link, page, sentences, table
from dgekit.layout import Struct, spelling
from dgekit.layout.kinds import EnumKind
from dgekit.layout.struct import StructKind
from dgekit.words.describe import describe, names_by_kind
from dgekit.words.describe_facts import describe_enum
from dgekit.words.describe_layout import describe_struct
from dgekit.words.description import Description
from dgekit.words.word import Word, word_classes

_FIELD_COLUMNS = ("offset", "size", "field", "type", "meaning", "evidence")
_RECORD_MODULES = (bd, completion, notification, bds, cce_words, host, registers)
_GENERATIONS = "generations: "
_TYPE_SUFFIX = re.compile(r"(\[\d+\]|>>\d+)$")

WORDS_INTRO = (
    "Every 64-byte word, field by field: bytes are little-endian, offsets count bytes, `12[4:2]` are bits 4 to 2 of "
    "byte 12. `dge spec NAME` prints the same."
)
RECORDS_INTRO = (
    "The 16-byte records that engines and software exchange in rings, and the host's structures of compute packets; "
    "all little-endian. `12[4:2]` are bits 4 to 2 of byte 12, evidence is as in [words](words.md). `BD_M2S_CCE` is the "
    "general view of a compute BD, `BD_CCE_...` are the same 16 bytes under the names of each operation."
)


def words_page() -> str:
    """The words, then the structures inside them, then the unions."""
    groups = names_by_kind()
    parts = [_legend(), table(("opcode", "word", "what it is", "generations"), map(_word_row, word_classes()))]
    for cls in word_classes():
        parts += _word_parts(cls)
    parts.append("## Structures inside words")
    for name in groups["struct"]:
        parts += _struct_parts(describe(name), _word_types(), "###")
    parts.append("## Unions")
    for name in groups["union"]:
        parts += _union_parts(describe(name))
    return page("Words", WORDS_INTRO, parts)


def _legend() -> str:
    """What the evidence tags mean."""
    levels = ", ".join(f"{code(tag)} {name}" for tag, name in LEVELS.items() if tag != "-")
    ways = ", ".join(f"{code(tag)} {name}" for tag, name in WAYS.items() if tag != "-")
    return f"Evidence is how sure a fact is and how it is known: {levels}; {ways}; {code('-')} no source at all."


def _word_row(cls: type[Word]) -> tuple[str, ...]:
    found = describe(cls.kind)
    opcode = f"0x{cls.code:02x}" + (f" sub 0x{cls.sub_code:02x}" if cls.sub_code is not None else "")
    return code(opcode), link(cls.kind, "#" + anchor(cls.kind)), cell(found.text[0]), cell(_generations(found))


def _word_parts(cls: type[Word]) -> Iterator[str]:
    found = describe(cls.kind)
    yield from _struct_parts(found, _word_types(), "##")
    own = next(part for part in found.tables if part.title == "rules").rows
    if own:
        yield "Rules: " + ", ".join(link(row[0], f"rules.md#{anchor(row[0])}") for row in own) + "."


def _word_types() -> dict[str, str]:
    """Where the type of a field is described, by its name."""
    groups = names_by_kind()
    here = {name: "#" + anchor(name) for kind in ("struct", "union") for name in groups[kind]}
    return here | {name: f"enums.md#{anchor(name)}" for name in groups["enum"]}


def _struct_parts(found: Description, types: dict[str, str], level: str) -> Iterator[str]:
    """A structure: its sentences, its picture and its fields."""
    there = _generations(found)
    size = found.title.partition(": ")[2] + (f"; generations: {there}" if there else "")
    yield f"{level} {found.name}"
    yield from sentences(line for line in found.text if not line.startswith(_GENERATIONS))
    yield f"{cell(size[:1].upper() + size[1:])}. Evidence: {_proof(found)}."
    yield fence(found.diagram)
    yield table(_FIELD_COLUMNS, (_field_row(row, types) for row in found.tables[0].rows))


def _generations(found: Description) -> str:
    """The generations a description names, empty when it names none."""
    return next((line.removeprefix(_GENERATIONS) for line in found.text if line.startswith(_GENERATIONS)), "")


def _proof(found: Description) -> str:
    return "none" if found.evidence is None else f"{found.evidence.tag} ({found.evidence.source})"


def _field_row(row: tuple[str, ...], types: dict[str, str]) -> tuple[str, ...]:
    offset, size, name, kind, meaning, tag = row
    target = types.get(_TYPE_SUFFIX.sub("", kind))
    return offset, size, code(name), link(kind, target) if target else code(kind), cell(meaning), tag


def _union_parts(found: Description) -> Iterator[str]:
    yield f"### {found.name}"
    yield f"{found.title.partition(': ')[2].capitalize()}. Evidence: {_proof(found)}."
    rows = ((code(selector), link(arm, "#" + anchor(arm))) for selector, arm in found.tables[0].rows)
    yield table(("selector", "arm"), rows)


def records_page() -> str:
    """BDs, completion entries, notification records and host structures, then the enums they use."""
    structs = list(_records())
    enums = list(dict.fromkeys(_enums_of(structs)))
    types = {cls.layout.name: "#" + anchor(cls.layout.name) for cls in structs}
    types |= {spelling(members): "#" + anchor(spelling(members)) for members in enums}
    rows = ((link(cls.layout.name, types[cls.layout.name]), str(cls.layout.size), cell(_first(cls))) for cls in structs)
    parts = [table(("record", "bytes", "what it is"), rows)]
    for cls in structs:
        parts += _struct_parts(describe_struct(cls), types, "##")
    for members in enums:
        found = describe_enum(members)
        parts += [f"## {found.name}", *sentences(found.text)]
        parts.append(table(("value", "name"), ((row[0], code(row[1])) for row in found.tables[0].rows)))
    return page("Records", RECORDS_INTRO, parts)


def _first(cls: type[Struct]) -> str:
    return cls.layout.doc.splitlines()[0]


def _records() -> Iterator[type[Struct]]:
    """The structures declared in the modules of records, whole records before their parts."""
    found = [
        item
        for module in _RECORD_MODULES
        for item in vars(module).values()
        if isinstance(item, type)
        and issubclass(item, Struct)
        and item.__module__ == module.__name__
        and "layout" in vars(item)
    ]
    return iter(sorted(found, key=lambda cls: -cls.layout.size))


def _enums_of(structs: Iterable[type[Struct]]) -> Iterator[Any]:
    for cls in structs:
        for field in cls.layout.fields:
            if isinstance(field.kind, EnumKind):
                yield field.kind.members
            elif isinstance(field.kind, StructKind):
                yield from _enums_of([field.kind.struct])

"""What `dge spec NAME` shows: words, fields, enums, rules, generations and dtypes, all read off the declarations."""

from __future__ import annotations

import contextlib
import difflib
import re
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

from dgekit.core.choices import CHOICES
from dgekit.core.dtypes import DTYPES, dtype_named
from dgekit.core.errors import UsageError
from dgekit.core.generations import GENERATIONS
from dgekit.layout import Field, Struct, Union
from dgekit.layout.say import LONGEST, brief
from dgekit.words import structs
from dgekit.words.checks import RULES
from dgekit.words.describe_facts import describe_dtype, describe_enum, describe_generation, describe_rule
from dgekit.words.describe_layout import (
    describe_fields,
    describe_opcode,
    describe_struct,
    describe_union,
    describe_word,
)
from dgekit.words.description import Description, Table
from dgekit.words.enums import ENUMS, Opcode
from dgekit.words.resolve import LOWERING_RULES
from dgekit.words.structs import Word, word_classes

__all__ = ["Description", "Table", "describe", "names", "names_by_kind"]

_Entry = Callable[[], Description]


def describe(name: str) -> Description:
    """Describe a word, field, enum, rule, generation or dtype; raises UsageError with the nearest names.

    A word goes by its structure name, class name, wire name or opcode; a field as `WORD.field` or alone (every
    structure that has it); a rule with or without its `isa.`. The exact spelling wins, then any case.

    >>> describe("0xb8").name, describe("DMA_DIRECT2D.compute_op").kind, describe("C7").name
    ('DMA_DIRECT2D', 'field', 'isa.C7')
    """
    wanted = name.strip()
    for index, key in ((_exact(), wanted), (_folded(), wanted.lower()), (_folded(), f"isa.{wanted}".lower())):
        if key in index:
            return index[key]()
    with contextlib.suppress(UsageError):
        return describe_dtype(dtype_named(wanted))  # short names: bf16, fp32
    number = _opcode_number(wanted)
    if number is not None:
        return _by_opcode(number)
    raise _unknown(wanted)


# Rules of the chapters and stages below the words (decisions, firmware, rings, input files and so on)
_OTHER_RULE = re.compile(r"(dec|pipeline|rings|cce|neff|toml|transfers|memory|run|input|layout)\.[A-Za-z0-9_.-]{1,40}")


def names_by_kind() -> Mapping[str, tuple[str, ...]]:
    """Every name that `describe` lists, by kind."""
    return {
        "word": tuple(cls.kind for cls in word_classes()),
        "struct": tuple(cls.layout.name for cls in _nested()),
        "union": tuple(union.name for union in _unions()),
        "enum": tuple(ENUMS),
        "rule": (*RULES, *LOWERING_RULES),
        "generation": tuple(generation.name for generation in GENERATIONS),
        "dtype": tuple(info.name for info in DTYPES),
        "field": tuple(_fields()),
    }


def names() -> tuple[str, ...]:
    """Every name that `describe` lists, each once."""
    return tuple(dict.fromkeys(name for group in names_by_kind().values() for name in group))


def _nested() -> tuple[type[Struct], ...]:
    found = [item for item in vars(structs).values() if isinstance(item, type) and issubclass(item, Struct)]
    return tuple(dict.fromkeys(cls for cls in found if not issubclass(cls, Word)))


def _unions() -> tuple[Union[Any], ...]:
    return tuple(item for item in vars(structs).values() if isinstance(item, Union))


def _fields() -> dict[str, list[tuple[type[Struct], Field[Any]]]]:
    table: dict[str, list[tuple[type[Struct], Field[Any]]]] = {}
    for cls in (*word_classes(), *_nested()):
        for field in cls.layout.fields:
            table.setdefault(field.name, []).append((cls, field))
    return table


@cache
def _exact() -> Mapping[str, _Entry]:
    """Every spelling of everything; earlier entries win."""
    index: dict[str, _Entry] = {}
    for rule_id in (*RULES, *LOWERING_RULES):
        index.setdefault(rule_id, partial(describe_rule, rule_id))
    for word in word_classes():
        for name in (word.layout.name, word.__name__):
            index.setdefault(name, partial(describe_word, word))
    for cls in _nested():
        for name in (cls.layout.name, cls.__name__):
            index.setdefault(name, partial(describe_struct, cls))
    for union in _unions():
        index.setdefault(union.name, partial(describe_union, union))
    for name, members in ENUMS.items():
        index.setdefault(name, partial(describe_enum, members))
        index.setdefault(members.__name__, partial(describe_enum, members))
    for generation in GENERATIONS:
        for name in (generation.name, *generation.aliases):
            index.setdefault(name, partial(describe_generation, generation))
    for info in DTYPES:
        for name in (info.name, info.code.name):
            index.setdefault(name, partial(describe_dtype, info))
    for opcode in Opcode:
        index.setdefault(opcode.name, partial(_by_opcode, int(opcode)))
    _add_fields(index)
    return index


def _add_fields(index: dict[str, _Entry]) -> None:
    for name, found in _fields().items():
        index.setdefault(name, partial(describe_fields, name, found))
        for cls, field in found:
            for owner in (cls.layout.name, cls.__name__):
                path = f"{owner}.{name}"
                index.setdefault(path, partial(describe_fields, path, [(cls, field)]))


@cache
def _folded() -> Mapping[str, _Entry]:
    index: dict[str, _Entry] = {}
    for name, entry in _exact().items():
        index.setdefault(name.lower(), entry)
    return index


def _opcode_number(text: str) -> int | None:
    try:
        number = int(text, 0)
    except ValueError:
        return None
    return number if 0 <= number <= 0xFF else None


def _by_opcode(number: int) -> Description:
    for cls in word_classes():
        if cls.code == number:
            return describe_word(cls)
    if number in Opcode._value2member_map_:
        return describe_opcode(Opcode(number))
    raise _unknown(f"{number:#x}")


def _elsewhere(name: str) -> str:
    """What to do about a rule that is not one of words: it is explained where it is reported."""
    if not _OTHER_RULE.fullmatch(name):
        return ""
    resting = [choice.name for choice in CHOICES.values() if name in choice.source.split(", ")]
    switches = f"; what rests on it: dge choices {', '.join(resting)}" if resting else ""
    return f"this rule is explained by the issue that names it, in its message, source and fix{switches}"


def _unknown(name: str) -> UsageError:
    if fix := _elsewhere(name):
        return UsageError(f"{brief(name)} is no rule of words", rule="spec.name", where=name[:LONGEST], fix=fix)
    near = difflib.get_close_matches(name[:LONGEST].lower(), list(_folded()), 3, 0.5)
    shown = [key for wanted in near for key in _exact() if key.lower() == wanted]
    fix = (
        f"did you mean {', '.join(dict.fromkeys(shown))}?"
        if shown
        else "a word, field, enum, rule, generation or dtype"
    )
    return UsageError(f"nothing is named {brief(name)}", rule="spec.name", where=name[:LONGEST], fix=fix)

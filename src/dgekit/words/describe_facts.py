"""Descriptions of enums, rules, generations and dtypes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from enum import IntEnum

from dgekit.core.dtypes import DtypeInfo
from dgekit.core.evidence import Evidence
from dgekit.core.generations import GENERATIONS, Generation
from dgekit.layout import spelling
from dgekit.words.description import Description, Table
from dgekit.words.enums import INFERRED, Addr4Marker, UpdateMode, WaitMode
from dgekit.words.resolve import LOWERING_RULES
from dgekit.words.rules import RULES, Rule, severity_of
from dgekit.words.rules_common import update_problem, wait_problem
from dgekit.words.word import word_classes

# The enums of isa-words 2.11: only the words that arrive with inline descriptors use them.
_V5_ENUMS = frozenset({"DMA_ENGINE_COUNT", "SEMA_SYNC", "DMA_DESC_MODE", "DMA_ADDR_MODE", "DMA_SEMA_UPDATE_MODE"})


def generations_text(generations: Iterable[Generation]) -> str:
    """The names, or `all` when every generation is among them."""
    chosen = [generation.name for generation in generations]
    return "all" if len(chosen) == len(GENERATIONS) else ", ".join(chosen) or "none"


def describe_enum(members: type[IntEnum]) -> Description:
    """Every member with value, generations and, where it differs from the enum's, evidence."""
    name = spelling(members)
    rows = tuple(
        (f"{member.value:#04x}", member.name, _member_generations(name, member), _member_tag(name, member))
        for member in members
    )
    table = Table("members", ("value", "name", "generations", "evidence"), rows)
    return Description("enum", name, f"{name}: {len(rows)} values", _sentences(members.__doc__), (table,))


def _member_tag(name: str, member: IntEnum) -> str:
    return INFERRED[name, member.value].tag if (name, member.value) in INFERRED else "H/O"


def _member_generations(name: str, member: IntEnum) -> str:
    return generations_text(generation for generation in GENERATIONS if _exists(name, member, generation))


def _exists(name: str, member: IntEnum, generation: Generation) -> bool:
    value = int(member)
    if name in _V5_ENUMS:
        return generation.has_inline_descriptors
    if name == "DTYPE":
        return value in generation.dtypes
    if name == "OPCODE":
        return value not in generation.opcodes_absent
    if name == "DGE_OPCODE":
        return value < generation.dge_kinds
    if name == "WAIT_MODE":
        return member is WaitMode.INVALID or wait_problem(value, generation) is None
    if name == "UPDATE_MODE":
        return member is UpdateMode.INVALID or update_problem(value, generation) is None
    return member is not Addr4Marker.MXTENSOR_V2 or generation.has_inline_descriptors


def _sentences(doc: str | None) -> tuple[str, ...]:
    return tuple(line.strip() for line in (doc or "").strip().splitlines() if line.strip())


def describe_rule(rule_id: str) -> Description:
    """Statement, severity, words, generations and evidence of one rule."""
    if rule_id in LOWERING_RULES:
        statement, evidence = LOWERING_RULES[rule_id]
        found = (statement, f"severity: {severity_of(evidence)}", "found when a pseudo word is resolved")
        return Description("rule", rule_id, f"rule {rule_id}", found, evidence=evidence)
    rule = RULES[rule_id]
    there = generations_text(generation for generation in GENERATIONS if generation.nc >= rule.since)
    text = (
        rule.statement,
        f"severity: {rule.severity}",
        f"words: {', '.join(rule.words) or 'every word'}",
        f"generations: {there}",
    )
    return Description("rule", rule.id, f"rule {rule.id}", text, evidence=rule.evidence)


def rules_table(title: str, rules: Iterable[Rule]) -> Table:
    """A table of rules: id, severity, statement, evidence."""
    rows = tuple((rule.id, rule.severity, rule.statement, rule.evidence.tag) for rule in rules)
    return Table(title, ("rule", "severity", "statement", "evidence"), rows)


def describe_generation(generation: Generation) -> Description:
    """Every fact of the generation's record, and the words it has."""
    facts: tuple[tuple[str, ...], ...] = tuple(
        (field.name, _fact_text(getattr(generation, field.name)))
        for field in fields(generation)
        if field.name not in ("name", "address_map")
    )
    addresses = tuple(
        (field.name, _fact_text(getattr(generation.address_map, field.name), base=16))
        for field in fields(generation.address_map)
    )
    words = ", ".join(cls.kind for cls in word_classes() if cls.code not in generation.opcodes_absent)
    text = (f"aliases: {', '.join(generation.aliases)}", f"modes: {', '.join(generation.modes)}", f"words: {words}")
    tables = (
        Table("facts", ("fact", "value"), facts),
        Table("address map", ("place", "bytes"), addresses),
    )
    evidence = Evidence.parse("H/O", "isa-words 7, rings 4")
    return Description(
        "generation", generation.name, f"{generation.name}, NeuronCore-v{generation.nc}", text, tables, (), evidence
    )


def _fact_text(value: object, base: int = 10) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:#x}" if base == 16 else str(value)
    if isinstance(value, frozenset):
        return ", ".join(f"{item:#x}" for item in sorted(value)) or "none"
    if isinstance(value, tuple):
        parts = (" ".join(_fact_text(part, 16) for part in item) if isinstance(item, tuple) else item for item in value)
        return ", ".join(part if isinstance(part, str) else f"{part:#x}" for part in parts) or "none"
    return str(value)


def describe_dtype(info: DtypeInfo) -> Description:
    """Code, width, generations and NEFF code of one element type."""
    there = generations_text(generation for generation in GENERATIONS if int(info.code) in generation.dtypes)
    neff = "none" if info.neff_code is None else f"{info.neff_code} ({info.neff_name})"
    text = (
        f"ISA code {int(info.code):#04x} ({info.code.name}), {info.bits} bits",
        f"generations: {there}",
        f"NEFF code: {neff}",
        f"kept in numpy as {info.storage}",
    )
    return Description("dtype", info.name, f"dtype {info.name}", text, evidence=Evidence.parse("H/O", "isa-words 2.5"))

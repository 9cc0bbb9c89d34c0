"""NKI rules as `dge spec` and the reference show them, read off their declarations."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from dgekit.advise.engine_patterns import EngineRule
from dgekit.advise.rulebook import ALL_RULES
from dgekit.advise.rules import EVIDENCE, Rule
from dgekit.advise.rules_memory import ProgramRule
from dgekit.words.description import Description

AnyRule = Rule | ProgramRule | EngineRule


def describe_rule(name: str) -> Description | None:
    """Statement, severity, what it is about, versions, generations, evidence and fix; None for a name that is none.

    >>> describe_rule("NKI.c5").text[0]
    'hwdge moves raw bytes: source and destination have the same type, since NKI 0.3.0.'
    """
    found = _folded().get(name.strip().lower())
    return None if found is None else Description("rule", found.id, f"rule {found.id}", tuple(rule_lines(found)))


def rule_lines(found: AnyRule) -> list[str]:
    """The facts of a rule, one a line."""
    lines = [found.statement, f"severity: {found.severity}"]
    if isinstance(found, Rule):
        lines += [
            f"calls: {', '.join(found.functions)}",
            f"modes: {', '.join(mode for mode in found.modes if mode) or 'any'}",
            f"generations: {'all' if found.since_nc <= 2 else f'NeuronCore-v{found.since_nc} and later'}",
            f"NKI versions: {found.versions}",
            *(f"since NKI {version}: {change}" for version, change in found.changes),
        ]
    else:
        whole = isinstance(found, ProgramRule)
        lines.append("about: the whole program" if whole else "about: compute engines' operands, never a DMA")
    lines += [f"source: {page} [{letter}: {EVIDENCE[letter]}]" for letter, page in found.sources]
    return [*lines, f"fix: {found.fix}"] if found.fix else lines


@cache
def _folded() -> Mapping[str, AnyRule]:
    return {rule_id.lower(): found for rule_id, found in ALL_RULES.items()}

"""The page of NKI rules."""

from __future__ import annotations

from collections.abc import Mapping

from dgekit.advise.describe import AnyRule, rule_lines
from dgekit.advise.engine_patterns import ENGINE_RULES
from dgekit.advise.rulebook import ALL_RULES, CALL_RULES
from dgekit.advise.rules_memory import PROGRAM_RULES
from dgekit.export.reference.markdown import anchor, bullets, cell, link, page, table

INTRO = (
    "The rules that `dge check` applies to DMA calls, by mode, generation and NKI version, and to whole programs. Each "
    "names the page that states it; where two pages disagree, the API page of the NKI version decides and a warning "
    "names the other. Severity follows the source: documentation and the open driver make errors; library code, "
    "reports and practitioners' notes warnings; third-party notes, and facts that forbid nothing, advice."
)


def nki_page() -> str:
    """An overview, then every rule in full."""
    overview = (
        (link(rule.id, "#" + anchor(rule.id)), rule.severity, cell(rule.statement)) for rule in ALL_RULES.values()
    )
    parts = [table(("rule", "severity", "statement"), overview)]
    tables: tuple[tuple[str, Mapping[str, AnyRule]], ...] = (
        ("Rules of calls", CALL_RULES),
        ("Rules of programs", PROGRAM_RULES),
        ("Rules of compute engines", ENGINE_RULES),
    )
    for title, rules in tables:
        parts.append(f"## {title}")
        for rule in rules.values():
            statement, *facts = rule_lines(rule)
            parts += [f"### {rule.id}", cell(statement), bullets([cell(fact) for fact in facts])]
    return page("NKI rules", INTRO, parts)

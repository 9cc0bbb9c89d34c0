"""The page of NKI rules."""

from __future__ import annotations

from dgekit.advise.describe import rule_lines
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
    for title, rules in (("Rules of calls", CALL_RULES), ("Rules of programs", PROGRAM_RULES)):
        parts.append(f"## {title}")
        for rule in rules.values():
            statement, *facts = rule_lines(rule)
            parts += [f"### {rule.id}", cell(statement), bullets([cell(fact) for fact in facts])]
    return page("NKI rules", INTRO, parts)

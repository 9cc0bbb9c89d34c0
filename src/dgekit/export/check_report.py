"""What `dge check` shows of a program: the table of modes, why a mode is out, and the same as data (D80)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dgekit.advise.rules import MODES
from dgekit.core.errors import Issue
from dgekit.core.generations import Generation
from dgekit.layout.diagram import columns

if TYPE_CHECKING:
    from dgekit.advise.verdict import Report, Verdict

SCHEMA = "dgekit.check/1"


def told(issues: Iterable[Issue], *, everything: bool) -> list[Issue]:
    """The issues that are shown: without predicates that no source gives, unless everything is asked for."""
    return [issue for issue in issues if everything or issue.severity != "unspecified"]


def collapsed(issues: Iterable[Issue]) -> list[Issue]:
    """Equal findings at one place once, saying how often: a call of a kernel may be many transfers."""
    groups: dict[str, list[Issue]] = {}
    for issue in issues:
        groups.setdefault(str(issue), []).append(issue)
    return [
        same[0] if len(same) == 1 else replace(same[0], message=f"{same[0].message} ({len(same)} times)")
        for same in groups.values()
    ]


def check_to_json(report: Report, *, everything: bool = False) -> dict[str, Any]:
    """The object that `dge check --json` prints for a program; `issues` repeats those of all transfers."""
    transfers = []
    for verdict in report.verdicts:
        shown = verdict.to_json()
        shown["issues"] = [issue.to_json() for issue in told(verdict.issues, everything=everything)]
        transfers.append(shown)
    return {
        "schema": SCHEMA,
        "generation": report.generation.name,
        "nki_version": report.nki_version,
        "transfers": transfers,
        "issues": [issue.to_json() for issue in told(report.all_issues, everything=everything)],
    }


def words_to_json(issues: Iterable[Issue], generation: Generation) -> dict[str, Any]:
    """The same for bare words, which have no modes."""
    return {
        "schema": SCHEMA,
        "generation": generation.name,
        "nki_version": "",
        "transfers": [],
        "issues": [issue.to_json() for issue in issues],
    }


def table_lines(report: Report) -> Iterator[str]:
    """One row a transfer: what each mode is, and what was asked for."""
    if not report.verdicts:
        return
    yield f"{report.generation.name}, rules of NKI {report.nki_version}"
    head = ("transfer", *MODES, "asked for", "verdict")
    yield from columns([head, *(_row(verdict) for verdict in report.verdicts)])


def _row(verdict: Verdict) -> tuple[str, ...]:
    cells = (_cell(verdict, mode) for mode in MODES)
    asked = verdict.requested or "-"
    if verdict.picked and verdict.picked != verdict.requested:
        asked += f" ({verdict.picked})"
    return (verdict.name, *cells, asked, "legal" if verdict.legal else "refused")


def _cell(verdict: Verdict, mode: str) -> str:
    found = verdict.modes.get(mode)
    if found is None:
        return "-"
    if found.legal:
        return "legal"
    if verdict.legal and mode == verdict.picked:
        return "if unnamed"  # the compiler may take what the author may not write
    return " ".join(dict.fromkeys(issue.rule for issue in found.issues if issue.severity == "error"))


def reason_lines(report: Report) -> Iterator[str]:
    """Why a mode that does not count here is out, equal reasons of several transfers as one line."""
    reasons: dict[tuple[str, str, str, str], list[str]] = {}
    for verdict in report.verdicts:
        for mode, found in verdict.modes.items():
            for issue in found.issues:
                if issue.severity == "error" and issue not in verdict.issues:
                    key = (mode, issue.message, issue.rule, issue.fix)
                    reasons.setdefault(key, []).append(verdict.name)
    for (mode, message, rule, fix), names in reasons.items():
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        yield f"not in {mode}: {names[0]}{more}: {message} [{rule}]" + (f" Fix: {fix}" if fix else "")

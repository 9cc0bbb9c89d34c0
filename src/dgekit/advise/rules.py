"""The table of NKI rules: what one rule is, what it looks at, and how its findings become issues (nki-dma 2 to 7).

A rule is declared once, beside its body, in the modules `rules_*`, which fill `RULES`: id, the functions and modes it
is about, the official page (or lesser source) that states it, NKI versions and generations, a fix, and a function
that yields findings with the numbers of both sides. `verdict` runs the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from dgekit.core.errors import Issue, Severity
from dgekit.core.generations import Generation
from dgekit.frontends.nki.versions import VERSIONS, is_before
from dgekit.transfers.call import Call, View

MODES = ("none", "swdge", "hwdge")
DYNAMIC_MODES = ("swdge", "hwdge")
FIRST_VERSION = VERSIONS[0]

EVIDENCE: Mapping[str, str] = {
    "D": "official documentation or release note",
    "S": "open-source driver",
    "L": "source of the AWS NKI Library",
    "I": "public report",
    "P": "practitioner's note or paper",
    "R": "third-party notes of proprietary binaries",
    "X": "derived here from the others",
}
_SEVERITY: Mapping[str, Severity] = {"D": "error", "S": "error", "L": "warning", "P": "warning", "I": "warning"}

# pages, by the titles that the issues name
COPY_PAGE = "nki.isa.dma_copy API page"
TRANSPOSE_PAGE = "nki.isa.dma_transpose API page"
COMPUTE_PAGE = "nki.isa.dma_compute API page"
DGE_PAGE = "Descriptor Generation Engine (DGE) Reference"
INTRO_PAGE = "Introduction to DMA with NKI"
ACCESS_PAGE = "NKI Access Patterns"
LIBRARY = "NKI Library"


@dataclass(frozen=True, slots=True)
class Finding:
    """One breach: what is wrong, the numbers on both sides, and what differs from the rule's own fix and severity.

    `source` names the page where it is not the rule's first. `only_named`: it counts where the author names the
    mode, not where the compiler picks it (`unknown`).
    """

    message: str
    values: Mapping[str, Any] = field(default_factory=dict)
    fix: str = ""
    severity: Severity | None = None
    source: str = ""
    only_named: bool = False


@dataclass(frozen=True, slots=True)
class Case:
    """What a rule looks at: a call, the mode under judgement (empty for rules that do not depend on it), the target.

    `requested` is the mode the author asked for. `indices` are the values of the call's row indices where they are
    known, `rows` how many rows the indexed side has. `authored` is False for a call derived from a transfer file or a
    NEFF, whose author wrote no NKI; `marked` says that such a transfer allows repeated indices itself.
    """

    call: Call
    mode: str
    generation: Generation
    version: str
    requested: str = "unknown"
    indices: tuple[int, ...] | None = None
    rows: int = 0
    authored: bool = True
    marked: bool = False

    def before(self, version: str) -> bool:
        """True when the rules are those of an NKI older than `version`."""
        return is_before(self.version, version)

    @property
    def views(self) -> tuple[View, ...]:
        """Destination and sources."""
        return (self.call.dst, *self.call.srcs)

    @property
    def scalar(self) -> bool:
        """True when some start address is computed at run time from one number."""
        return any(view.dynamic == "scalar" for view in self.views)

    @property
    def vector(self) -> bool:
        """True when rows are chosen by a vector of indices."""
        return any(view.dynamic == "vector" for view in self.views)

    def outside(self) -> tuple[int, ...]:
        """Lanes whose known index is past the last row, read as unsigned; none when nothing is known."""
        return tuple(lane for lane, index in enumerate(self.indices or ()) if index >= self.rows)


Find = Callable[[Case], Iterator[Finding]]


@dataclass(frozen=True, slots=True)
class Rule:
    """One declared rule.

    `functions` are the calls it is about, `modes` those it can forbid (empty: it does not depend on the mode).
    `sources` are (evidence letter, page) pairs, the deciding one first. It holds from NKI `since` until `before`
    (empty: still), on NeuronCore `since_nc` and later; `changes` tells what else changed with which version.
    """

    id: str
    statement: str
    functions: tuple[str, ...]
    modes: tuple[str, ...]
    sources: tuple[tuple[str, str], ...]
    severity: Severity
    fix: str
    find: Find
    since: str = FIRST_VERSION
    before: str = ""
    since_nc: int = 2
    changes: tuple[tuple[str, str], ...] = ()

    @property
    def source(self) -> str:
        """The pages as one line, each with its evidence letter."""
        return "; ".join(f"{page} [{letter}]" for letter, page in self.sources)

    @property
    def versions(self) -> str:
        """The NKI versions it holds for, in words."""
        if self.before:
            return (
                f"before {self.before}" if self.since == FIRST_VERSION else f"{self.since} until before {self.before}"
            )
        return "all" if self.since == FIRST_VERSION else f"{self.since} and later"

    def applies(self, case: Case) -> bool:
        """True when the rule is about this call, mode, generation and version."""
        return (
            case.call.function in self.functions
            and (case.mode in self.modes if self.modes else not case.mode)
            and case.generation.nc >= self.since_nc
            and not case.before(self.since)
            and (not self.before or case.before(self.before))
        )

    def issue(self, found: Finding, where: str) -> Issue:
        """A finding as an issue at a place."""
        return Issue(
            self.id,
            found.severity or self.severity,
            found.message,
            where,
            dict(found.values),
            found.source or self.source,
            found.fix or self.fix,
        )


RULES: dict[str, Rule] = {}


def severity_of(sources: tuple[tuple[str, str], ...]) -> Severity:
    """Decision D52: the best source decides; what only binaries' notes say is advice.

    >>> severity_of((("D", "page"),)), severity_of((("L", "library"), ("R", "notes"))), severity_of((("R", "notes"),))
    ('error', 'warning', 'advice')
    """
    ranks = [_SEVERITY.get(letter, "advice") for letter, _ in sources]
    return "error" if "error" in ranks else "warning" if "warning" in ranks else "advice"


def rule(
    rule_id: str,
    statement: str,
    *,
    functions: tuple[str, ...],
    sources: tuple[tuple[str, str], ...],
    fix: str = "",
    modes: tuple[str, ...] = (),
    severity: Severity | None = None,
    since: str = FIRST_VERSION,
    before: str = "",
    since_nc: int = 2,
    changes: tuple[tuple[str, str], ...] = (),
) -> Callable[[Find], Find]:
    """Declare the decorated function as a rule; `severity` only where D52 does not settle it by the sources."""

    def declare(find: Find) -> Find:
        if rule_id in RULES:
            raise ValueError(f"rule {rule_id} is declared twice")
        RULES[rule_id] = Rule(
            rule_id,
            statement,
            functions,
            modes,
            sources,
            severity or severity_of(sources),
            fix,
            find,
            since,
            before,
            since_nc,
            changes,
        )
        return find

    return declare

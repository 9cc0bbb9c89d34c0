"""What a compute engine's operand may be, which a DMA's need not (nki-dma 3): never used to judge a transfer.

Reports about steps beyond 16 bits or odd start partitions are about these. `engine_issues` answers them with the
numbers on both sides; a DMA may take the same pattern.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from dgekit.advise.rules import ACCESS_PAGE, Finding, severity_of
from dgekit.core.errors import Issue, Severity
from dgekit.transfers.call import View

MAX_COUNT = (1 << 16) - 1
MIN_STEP, MAX_STEP = -(1 << 15), (1 << 15) - 1
STARTS = ((32, (0, 32, 64, 96)), (64, (0, 64)), (128, (0,)))  # up to so many partitions: where they may start


@dataclass(frozen=True, slots=True)
class EngineRule:
    """One declared rule about an operand of a compute engine."""

    id: str
    statement: str
    sources: tuple[tuple[str, str], ...]
    severity: Severity
    fix: str
    find: Callable[[View], Iterator[Finding]]

    @property
    def source(self) -> str:
        """The pages as one line, each with its evidence letter."""
        return "; ".join(f"{page} [{letter}]" for letter, page in self.sources)


def engine_issues(view: View, where: str = "") -> list[Issue]:
    """Every finding about a view as the operand of a compute engine instruction; steps and counts in elements.

    >>> from dgekit.core.dtypes import dtype_named
    >>> view = View("t", "sbuf", (8, 64), dtype_named("float32"), (128, 64), start_partition=48, partitions=8)
    >>> [issue.rule for issue in engine_issues(view)]
    ['nki.3.start']
    """
    return [
        Issue(rule.id, rule.severity, found.message, where, dict(found.values), rule.source, rule.fix)
        for rule in ENGINE_RULES.values()
        for found in rule.find(view)
    ]


def _start(view: View) -> Iterator[Finding]:
    if view.space == "hbm":
        return
    legal = next((starts for most, starts in STARTS if view.partitions <= most), ())
    if view.start_partition not in legal:
        yield Finding(
            f"{view.partitions} partitions of {view.tensor} start at {view.start_partition}, not at "
            + (" or ".join(map(str, legal)) or "any partition"),
            {"partitions": view.partitions, "start": view.start_partition, "allowed": list(legal)},
        )


def _steps(view: View) -> Iterator[Finding]:
    for step, count in view.pattern or ():
        if count > 1 and not MIN_STEP <= step <= MAX_STEP:
            limit = MAX_STEP if step > 0 else MIN_STEP
            message = f"a step of {step} elements in {view.tensor} against the limit {limit}"
            yield Finding(message, {"step": step, "minimum": MIN_STEP, "maximum": MAX_STEP})


def _counts(view: View) -> Iterator[Finding]:
    for _, count in view.pattern or ():
        if count > MAX_COUNT:
            message = f"a count of {count} in {view.tensor} against the limit {MAX_COUNT}"
            yield Finding(message, {"count": count, "maximum": MAX_COUNT})


def _rule(
    rule_id: str, statement: str, report: str, fix: str, find: Callable[[View], Iterator[Finding]]
) -> tuple[str, EngineRule]:
    sources = (("D", ACCESS_PAGE), ("I", report))
    return rule_id, EngineRule(rule_id, statement, sources, severity_of(sources), fix, find)


ENGINE_RULES = dict(
    (
        _rule(
            "nki.3.start",
            "A compute engine's operand starts at partition 0 when it has over 64 partitions, at 0 or 64 for 33 to 64, "
            "at 0, 32, 64 or 96 for up to 32.",
            "aws-neuron-sdk reports 600 and 695",
            "start at such a partition, or move the rows there by a DMA",
            _start,
        ),
        _rule(
            "nki.3.step",
            "A step of a compute engine's pattern is a signed 16-bit number of elements.",
            "aws-neuron-sdk reports 280 and 284",
            "bring the rows closer together by a DMA",
            _steps,
        ),
        _rule(
            "nki.3.count",
            "A count of a compute engine's pattern is an unsigned 16-bit number.",
            "aws-neuron-sdk reports 280 and 284",
            "split the dimension",
            _counts,
        ),
    )
)

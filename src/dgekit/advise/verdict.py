"""Verdicts: for each transfer and each mode, legal or not, by which rule, with the numbers and the fix (D80, D81).

What an author asked for (`requested`) is one of none, swdge, hwdge, or unknown, which leaves it to the compiler: legal
if one of the three is, judged by the mode that D15 picks, or the first legal one where that is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, get_args

from dgekit.advise.calls import call_of_transfer
from dgekit.advise.contents import index_values
from dgekit.advise.hazards import find_hazards
from dgekit.advise.rulebook import CALL_RULES
from dgekit.advise.rules import MODES, Case
from dgekit.advise.rules_memory import Program, program_issues
from dgekit.core.errors import DgeError, Issue, Severity, has_errors
from dgekit.core.generations import Generation
from dgekit.frontends.nki.versions import DEFAULT_VERSION, version_named
from dgekit.machine.checking import item_issues
from dgekit.transfers.access import whole_pattern
from dgekit.transfers.call import Call
from dgekit.transfers.placement import Placement, place
from dgekit.transfers.transfer import Item, RawWords, SemaphoreStep, Transfer, Workload

FALLBACKS = ("swdge", "none", "hwdge")
NO_MODES = ("sendrecv", "core_barrier")
_RANKS = get_args(Severity)


@dataclass(frozen=True, slots=True)
class ModeVerdict:
    """One mode: is it legal, and everything its rules say (errors that do not depend on the mode included)."""

    legal: bool
    issues: tuple[Issue, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The object of D80."""
        return {"legal": self.legal, "issues": [issue.to_json() for issue in self.issues]}


@dataclass(frozen=True, slots=True)
class Verdict:
    """One transfer (or check-only call): the three modes, the one asked for, the one that counts, and all issues.

    `issues` are those of the mode that counts, of the call, of the words it becomes, and of its hazards. `modes` is
    empty where modes do not apply: raw words, sendrecv, core_barrier.
    """

    name: str
    where: str = ""
    requested: str = "unknown"
    picked: str = ""
    legal: bool = True
    modes: Mapping[str, ModeVerdict] = field(default_factory=dict)
    issues: tuple[Issue, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The object of D80, with what was picked and whether that is legal."""
        return {
            "name": self.name,
            "where": self.where,
            "requested": self.requested,
            "picked": self.picked,
            "legal": self.legal,
            "modes": {mode: verdict.to_json() for mode, verdict in self.modes.items()},
            "issues": [issue.to_json() for issue in self.issues],
        }


@dataclass(frozen=True, slots=True)
class Report:
    """A whole program: its verdicts in program order, and what is wrong with the program itself."""

    generation: Generation
    nki_version: str
    verdicts: tuple[Verdict, ...]
    issues: tuple[Issue, ...] = ()

    @property
    def all_issues(self) -> tuple[Issue, ...]:
        """The program's issues, then each transfer's."""
        return (*self.issues, *(issue for verdict in self.verdicts for issue in verdict.issues))

    @property
    def ok(self) -> bool:
        """True when every requested mode is legal and no issue is an error."""
        return all(verdict.legal for verdict in self.verdicts) and not has_errors(self.all_issues)


def verdicts(workload: Workload, generation: Generation | None = None, nki_version: str = "") -> list[Verdict]:
    """The verdicts of a workload's transfers and check-only calls; see `report` for its own issues as well."""
    return list(report(workload, generation, nki_version).verdicts)


def report(workload: Workload, generation: Generation | None = None, nki_version: str = "") -> Report:
    """Judge a whole workload, and find its hazards.

    `generation` defaults to the workload's, `nki_version` to that of its calls (0.6.0 for transfer files and NEFFs).
    Raises UsageError for a version without rules, a DgeError when tensors cannot be placed and no rule says why.
    """
    target = workload if generation is None else replace(workload, generation=generation)
    judge = _Judge(target, version_named(nki_version) if nki_version else "")
    return judge.report()


def judge_call(
    call: Call,
    generation: Generation,
    nki_version: str = "",
    *,
    requested: str = "",
    name: str = "",
    indices: Sequence[int] | None = None,
    rows: int = 0,
    authored: bool = True,
    marked: bool = False,
) -> Verdict:
    """The verdict of one call; `indices` and `rows` as a `Case` has them.

    >>> from dgekit.core.dtypes import dtype_named
    >>> from dgekit.core.generations import CAYMAN
    >>> from dgekit.transfers.call import View
    >>> half, full = dtype_named("bfloat16"), dtype_named("float32")
    >>> x = View("x", "hbm", (128, 512), half, (128, 512))
    >>> y = View("y", "sbuf", (128, 512), full, (128, 512), partitions=128)
    >>> verdict = judge_call(Call("dma_copy", y, (x,), dge_mode="hwdge"), CAYMAN)
    >>> verdict.legal, [issue.rule for issue in verdict.issues], verdict.modes["swdge"].legal
    (False, ['nki.C5'], True)
    """
    asked = requested or call.dge_mode
    known = None if indices is None else tuple(indices)
    version = nki_version or call.nki_version
    base = Case(call, "", generation, version, asked, known, rows, authored, marked)
    where = call.line or name or call.function
    common = _Found.of(base, where)
    if call.function in NO_MODES:
        return Verdict(name or call.function, call.line, "", "", not common.errors, {}, common.issues)
    found = {mode: _Found.of(replace(base, mode=mode), where) for mode in MODES}
    modes = {
        mode: ModeVerdict(not (common.errors or own.errors), (*common.errors, *own.issues))
        for mode, own in found.items()
    }
    picked, legal = _pick(asked, base, common, found)
    issues = (*common.issues, *found[picked].told(named=asked == picked))
    return Verdict(name or call.function, call.line, asked, picked, legal, modes, issues)


@dataclass(frozen=True, slots=True)
class _Found:
    """The findings of one mode (or of none), as issues; `for_named` says which count for an author's own mode only."""

    issues: tuple[Issue, ...]
    for_named: tuple[bool, ...]

    @classmethod
    def of(cls, case: Case, where: str) -> _Found:
        """Every finding of every rule that applies, the errors first."""
        found = [
            (rule.issue(finding, where), finding.only_named)
            for rule in CALL_RULES.values()
            if rule.applies(case)
            for finding in rule.find(case)
        ]
        found.sort(key=lambda pair: _RANKS.index(pair[0].severity))
        return cls(tuple(issue for issue, _ in found), tuple(only for _, only in found))

    @property
    def errors(self) -> tuple[Issue, ...]:
        """The issues that forbid the mode."""
        return tuple(issue for issue in self.issues if issue.severity == "error")

    def told(self, *, named: bool) -> tuple[Issue, ...]:
        """The issues that count: all where the author named the mode, else those that bind the compiler too."""
        return tuple(issue for issue, only in zip(self.issues, self.for_named, strict=True) if named or not only)


def _pick(asked: str, case: Case, common: _Found, found: Mapping[str, _Found]) -> tuple[str, bool]:
    """The mode that counts and whether it is legal: the one named, else D15's, else the first that is legal."""
    if asked in found:
        return asked, not (common.errors or found[asked].errors)
    first = _by_d15(case)
    for mode in (first, *FALLBACKS):
        if not has_errors(found[mode].told(named=False)):
            return mode, not common.errors
    return first, False


def _by_d15(case: Case) -> str:
    """Indices go to the software backend, sums and generations without a DGE to the host, the rest to the hardware."""
    if not case.generation.has_push_model:
        return "none"
    if case.vector:
        return "swdge"
    return "none" if case.call.function == "dma_compute" else "hwdge"


class _Judge:
    """One report in the making."""

    def __init__(self, workload: Workload, version: str) -> None:
        self.workload, self.version = workload, version
        self._tensors = {tensor.name: tensor for tensor in workload.tensors}
        self._indices = index_values(workload)
        self._seen: dict[tuple[Call, str], Verdict] = {}

    def report(self) -> Report:
        """Verdicts, then what lowering, words and hazards add to each."""
        listed = [(n, item) for n, item in enumerate(self.workload.items) if not isinstance(item, SemaphoreStep)]
        judged = {number: self._verdict(number, item) for number, item in listed}
        program = [*self.workload.issues, *self._program_issues(judged.values())]
        added: dict[int, list[Issue]] = {number: [] for number, _ in enumerate(self.workload.items)}
        placement = self._placement(program)
        if placement is not None:
            self._add_hazards(placement, added, program)
            for number, issues in enumerate(item_issues(self.workload, placement)):
                added[number] += issues
        full = [
            replace(verdict, issues=(*verdict.issues, *_new(added[number], verdict.issues)))
            for number, verdict in judged.items()
        ]
        steps = [issue for number, issues in added.items() if number not in judged for issue in issues]
        calls = [self._of_call(call) for call in self.workload.calls]
        return Report(
            self.workload.generation,
            self.version or _version_of(self.workload),
            (*full, *calls),
            (*program, *steps),
        )

    def _placement(self, program: list[Issue]) -> Placement | None:
        """Where tensors lie; None when a rule has said already why they find no place."""
        try:
            return place(self.workload.tensors, self.workload.generation)
        except DgeError as problem:
            if not has_errors(program):
                raise
            program.append(problem.as_issue())
            return None

    def _add_hazards(self, placement: Placement, added: dict[int, list[Issue]], program: list[Issue]) -> None:
        hazards = find_hazards(self.workload, placement)
        for hazard in hazards.found:
            added[hazard.second].append(hazard.issue(self.workload.items))
        program += hazards.notes(self.workload.source)

    def _program_issues(self, judged: Iterable[Verdict]) -> list[Issue]:
        own = [item.call for item in self.workload.items if isinstance(item, Transfer) and item.call is not None]
        calls = [*own, *self.workload.calls]
        views = [view for call in calls for view in (call.dst, *call.srcs)]
        dynamic = any(verdict.picked == "swdge" for verdict in judged) or any(view.dynamic for view in views)
        return program_issues(Program(self.workload, calls, dynamic))

    def _verdict(self, number: int, item: Item) -> Verdict:
        if not isinstance(item, Transfer):
            mode = item.mode if isinstance(item, RawWords) else ""
            return Verdict(item.name, item.where, mode, mode)
        call = call_of_transfer(item, self._tensors, self.workload.generation, self.version or DEFAULT_VERSION)
        if call is None:
            return Verdict(item.name, item.where, item.mode, item.mode)
        indices = self._indices.get(number)
        if indices is not None:
            return self._judge(item, call, indices)
        seen = self._seen.get((call, item.mode))
        if seen is None:
            seen = self._seen[call, item.mode] = self._judge(item, call, None)
        return replace(seen, name=item.name, where=item.where)

    def _judge(self, item: Transfer, call: Call, indices: Sequence[int] | None) -> Verdict:
        authored = item.call is not None
        verdict = judge_call(
            call,
            self.workload.generation,
            self.version,
            requested=call.dge_mode if authored else item.mode,
            name=item.name,
            indices=indices,
            rows=self._rows(item),
            authored=authored,
            marked=item.non_unique and not authored,
        )
        return replace(verdict, where=item.where)

    def _rows(self, item: Transfer) -> int:
        """Rows of the indexed side."""
        if item.indices is None:
            return 0
        access = item.dst if item.op == "scatter" else item.src
        tensor = self._tensors[access.tensor]
        pattern = access.pattern if access.pattern is not None else whole_pattern(tensor)
        return pattern[0][1] if len(pattern) > 1 or access.pattern is not None else tensor.shape[0]

    def _of_call(self, call: Call) -> Verdict:
        return judge_call(call, self.workload.generation, self.version, name=call.function)


def _version_of(workload: Workload) -> str:
    """The version of the workload's calls."""
    own = [item.call for item in workload.items if isinstance(item, Transfer) and item.call is not None]
    calls = [*own, *workload.calls]
    return calls[0].nki_version if calls else DEFAULT_VERSION


def _new(issues: Iterable[Issue], told: Iterable[Issue]) -> list[Issue]:
    """The issues whose rule and message have not been told yet."""
    known = {(issue.rule, issue.message) for issue in told}
    return [issue for issue in issues if (issue.rule, issue.message) not in known]

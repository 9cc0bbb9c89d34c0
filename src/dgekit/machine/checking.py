"""Check a whole program without moving anything: what lowering refuses, and what the rules say of each word."""

from __future__ import annotations

from collections.abc import Iterator

from dgekit.core.choices import Choices
from dgekit.core.errors import Issue
from dgekit.core.generations import Generation
from dgekit.machine.prepare import Lowering, Prepared, prepare
from dgekit.transfers.placement import Placement, place
from dgekit.transfers.static import increment_ordinals
from dgekit.transfers.transfer import Workload
from dgekit.words.checks import check_stream
from dgekit.words.stream import split_stream


def check_workload(workload: Workload) -> list[Issue]:
    """Every issue of a workload's front end, lowering and words; raises a DgeError when tensors cannot be placed."""
    placement = place(workload.tensors, workload.generation)
    return [*workload.issues, *(issue for issues in item_issues(workload, placement) for issue in issues)]


def item_issues(workload: Workload, placement: Placement) -> Iterator[list[Issue]]:
    """What lowering refuses and what the rules say of the words, item by item in program order."""
    choices = Choices(workload.choices)
    lowering = Lowering(
        placement,
        workload.generation,
        choices,
        increment_ordinals(workload.items),
        frozenset(workload.state.registers),
    )
    for item in workload.items:
        entry = prepare(item, lowering)
        issues = [_placed(issue, item.where or item.name) for issue in entry.result.issues]
        yield [*issues, *_word_issues(entry, workload.generation, choices)]


def _word_issues(entry: Prepared, generation: Generation, choices: Choices) -> Iterator[Issue]:
    """The rules' findings on the pseudo words, and on the resolved ones where they say something else."""
    told: set[tuple[str, str]] = set()
    place = entry.item.where or entry.item.name
    for stage, words in (("pseudo", entry.result.pseudo), ("word", entry.result.resolved)):
        for issue in check_stream(split_stream(b"".join(words)), generation, choices):
            key = (issue.rule, issue.message)
            if key not in told:
                told.add(key)
                yield issue.at(f"{place} . {stage}")


def _placed(issue: Issue, place: str) -> Issue:
    return issue if issue.where else issue.at(place)

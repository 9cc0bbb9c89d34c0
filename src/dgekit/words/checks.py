"""Check words and streams: every rule that applies, as issues; never an exception (isa-words 4).

The rules themselves stand in the `rules_*` modules; `RULES` is the whole table, by id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dgekit.core.choices import Choices
from dgekit.core.errors import Issue
from dgekit.core.generations import Generation, generation_named
from dgekit.words import rules_address, rules_common, rules_copy, rules_open, rules_other, rules_pseudo, rules_transpose
from dgekit.words.enums import Opcode
from dgekit.words.rules import RULES, Rule, Subject
from dgekit.words.rules_common import opcode_of

if TYPE_CHECKING:
    from dgekit.words.stream import Stream

__all__ = ["RULES", "RULE_MODULES", "Rule", "check_stream", "check_word"]

RULE_MODULES = (
    rules_common,
    rules_address,
    rules_copy,
    rules_transpose,
    rules_pseudo,
    rules_other,
    rules_open,
)


def check_word(
    word: Any,
    generation: Generation | str,
    choices: Choices,
    extension: Any = None,
    extension_missing: bool = False,
) -> list[Issue]:
    """Every issue of one word on one generation, rules in the order of the table.

    `extension` is the PSEUDO_DMA_EXT after a pseudo word: it is checked too, under `extension`. A pseudo word is
    also looked at as the word it would become; what is found there is at most a warning. `extension_missing` says
    that the word is known to stand alone. Predicates that nobody knows appear with severity `unspecified` (D7).
    """
    subject = Subject(word, generation_named(generation), choices, extension, extension_missing)
    issues = _run(subject)
    if extension is not None:
        alone = Subject(extension, subject.generation, choices)
        issues += [issue.at("extension") for issue in _run(alone)]
    return issues + _resolved_issues(subject, {issue.rule for issue in issues})


def check_stream(stream: Stream, generation: Generation | str, choices: Choices) -> list[Issue]:
    """The issues of every word of a split stream, each with the word's offset in `where`, after the stream's own.

    A predicate that nobody knows is reported once for each kind of word, not once for each word.
    """
    found = list(stream.issues)
    told: set[tuple[str, str]] = set()
    before = -1
    for offset, word, extension in stream.items:
        opcode, before = before, opcode_of(word)
        if word.kind == "PSEUDO_DMA_EXT" and opcode == Opcode.PSEUDO_TRIGGER_COLLECTIVE2:
            continue  # the shared opcode means another layout there (isa-words 3.6)
        place = f"{offset:#x} {word.kind}"
        for issue in check_word(word, generation, choices, extension, extension is None):
            if issue.severity == "unspecified":
                key = (word.kind, f"{issue.rule} {issue.message}")
                if key in told:
                    continue
                told.add(key)
            found.append(issue.at(place))
    return found


def _run(subject: Subject) -> list[Issue]:
    return [issue for rule in RULES.values() if rule.applies(subject) for issue in rule.issues(subject)]


def _resolved_issues(subject: Subject, already: set[str]) -> list[Issue]:
    """What the word a pseudo becomes would break, beyond what the pseudo and its extension already show."""
    ahead = rules_pseudo.look_ahead(subject)
    if ahead is None:
        return []
    issues = [rules_pseudo.inferred(issue) for issue in _run(ahead) if issue.rule not in already]
    return [issue.at("resolved") for issue in issues if issue.severity != "unspecified"]

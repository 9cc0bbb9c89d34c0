"""The rule table of the words: what one rule is, and what a rule looks at.

A rule is declared once, beside its body: id, the words it is about, where it is written down, how sure it is, one
sentence, and a function that yields findings. Modules `rules_*` fill `RULES`; `checks` runs it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from dgekit.core.choices import Choices
from dgekit.core.errors import Issue, Severity
from dgekit.core.evidence import Evidence
from dgekit.core.generations import Generation


@dataclass(frozen=True, slots=True)
class Finding:
    """One breach: what is wrong, at which field, the numbers on both sides and the way out."""

    message: str
    where: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)
    fix: str = ""
    severity: Severity | None = None


@dataclass(frozen=True, slots=True)
class Subject:
    """One word under check, with everything a rule may ask.

    `word` is any word of `words.structs` (its fields differ by kind, so it is typed loosely); `extension` is the
    PSEUDO_DMA_EXT that follows a pseudo word, `extension_missing` says that the stream is known to hold none.
    """

    word: Any
    generation: Generation
    choices: Choices
    extension: Any = None
    extension_missing: bool = False

    @property
    def kind(self) -> str:
        """The spec's struct name of the word."""
        return str(self.word.kind)


Find = Callable[[Subject], Iterator[Finding]]


@dataclass(frozen=True, slots=True)
class Rule:
    """One declared rule; `words` are spec struct names, empty for a rule about every word.

    `since` is the first NeuronCore version the rule exists on. `severity` follows decision D52: what a header or
    a shipped structure says is an error, what a chapter inferred a warning, what nobody knows `unspecified`.
    """

    id: str
    words: tuple[str, ...]
    evidence: Evidence
    severity: Severity
    statement: str
    find: Find
    since: int = 2

    def applies(self, subject: Subject) -> bool:
        """True when the rule is about this kind of word on this generation."""
        return subject.generation.nc >= self.since and (not self.words or subject.kind in self.words)

    def issues(self, subject: Subject) -> Iterator[Issue]:
        """The findings of this rule as issues."""
        for found in self.find(subject):
            severity = found.severity or self.severity
            source = self.evidence.source
            yield Issue(self.id, severity, found.message, found.where, dict(found.values), source, found.fix)


RULES: dict[str, Rule] = {}


def severity_of(evidence: Evidence) -> Severity:
    """Decision D52: observed is an error, inferred or carried a warning, without source `unspecified`."""
    if evidence.way == "-":
        return "unspecified"
    return "error" if evidence.way == "O" else "warning"


def rule(
    rule_id: str,
    says: str,
    *,
    source: str,
    evidence: str = "H/O",
    words: tuple[str, ...] = (),
    severity: Severity | None = None,
    since: int = 2,
) -> Callable[[Find], Find]:
    """Declare the decorated function as a rule; `source` is the chapter section without its file name."""

    def declare(find: Find) -> Find:
        if rule_id in RULES:
            raise ValueError(f"rule {rule_id} is declared twice")
        proof = Evidence.parse(evidence, f"isa-words {source}")
        RULES[rule_id] = Rule(rule_id, words, proof, severity or severity_of(proof), says, find, since)
        return find

    return declare

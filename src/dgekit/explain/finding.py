"""How a check says what it found in a log: with the line, the numbers on both sides, and where to look next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dgekit.core.choices import Choices
from dgekit.core.errors import Issue, Severity
from dgekit.core.generations import Generation
from dgekit.explain.cards import Card, Entry


@dataclass(frozen=True, slots=True)
class Setting:
    """What the log itself does not say: the generation (None: not known) and how values are to be read."""

    generation: Generation | None
    choices: Choices

    @property
    def partition_stride(self) -> int:
        """Bytes from one SBUF partition to the next."""
        return self.generation.partition_stride if self.generation is not None else 1 << 18


def finding(
    rule: str,
    severity: Severity,
    message: str,
    where: Card | Entry | None = None,
    *,
    source: str = "",
    fix: str = "",
    **values: Any,
) -> Issue:
    """An issue at a line, or at the first line of a card."""
    entry = where.lines[0] if isinstance(where, Card) and where.lines else where
    place = f"line {entry.line}" if isinstance(entry, Entry) else ""
    return Issue(rule, severity, message, place, values, source or rule.replace(".", " ", 1), fix)

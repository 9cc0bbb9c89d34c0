"""The value that `describe` returns: a title, sentences, tables and a bit diagram, to print or to give as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dgekit.core.evidence import Evidence
from dgekit.layout.diagram import columns


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of text under column names."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def lines(self) -> Iterator[str]:
        """The title, then the table with padded columns."""
        yield self.title
        yield from columns([self.columns, *self.rows])


@dataclass(frozen=True, slots=True)
class Description:
    """One described thing; `kind` is word, struct, union, field, enum, opcode, rule, generation or dtype."""

    kind: str
    name: str
    title: str
    text: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    diagram: tuple[str, ...] = ()
    evidence: Evidence | None = None

    def lines(self) -> Iterator[str]:
        """The whole description as plain text."""
        yield self.title
        yield from self.text
        if self.evidence is not None:
            yield f"evidence: {self.evidence.tag}, {self.evidence.describe()}"
        if self.diagram:
            yield ""
            yield from self.diagram
        for table in self.tables:
            yield ""
            yield from table.lines()

    def to_json(self) -> dict[str, Any]:
        """The description as data; a table's rows are objects by column."""
        return {
            "kind": self.kind,
            "name": self.name,
            "title": self.title,
            "text": list(self.text),
            "evidence": None if self.evidence is None else {"tag": self.evidence.tag, "source": self.evidence.source},
            "diagram": list(self.diagram),
            "tables": [
                {"title": table.title, "rows": [dict(zip(table.columns, row, strict=True)) for row in table.rows]}
                for table in self.tables
            ],
        }

"""A program laid beside a log: the model runs it, and the first difference between both logs is shown (D96)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from dgekit.explain.cards import Card, Entry
from dgekit.explain.rebuild import rebuild
from dgekit.logs.formats import FORMATS
from dgekit.logs.parse import parse_line
from dgekit.logs.render import SELECT_STAGES


@dataclass(frozen=True, slots=True)
class Difference:
    """The first place where a log leaves the model's: the word, and the line on each side (None: it is missing)."""

    word: int
    program: Entry | None
    log: Entry | None
    names: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The object `first_difference` of `dge log explain --program --json`."""
        return {
            "word": self.word,
            "program": _entry_to_json(self.program),
            "log": _entry_to_json(self.log),
            "fields": list(self.names),
        }

    def lines(self) -> list[str]:
        """The difference for people."""
        where = f"line {self.log.line}" if self.log is not None else "the end of the word"
        names = f", in {', '.join(self.names)}" if self.names else ""
        return [
            f"first difference: word {self.word}, {where}{names}",
            f"  program  {_entry_text(self.program)}",
            f"  log      {_entry_text(self.log)}",
        ]


def first_difference(model_log: Iterable[str], cards: list[Card]) -> Difference | None:
    """Compare the words of a model's log with those of another, line by line; None where all agree.

    A log from the selection on (`log_stages = select`) is compared by the lines that such a log has, and one without
    any Q7 line by those of the sequencer.
    """
    model = rebuild(parse_line(text, number) for number, text in enumerate(model_log, 1)).cards
    all_stages = all(any(entry.stage == "reshape" for card in side for entry in card.lines) for side in (model, cards))
    with_jobs = all_stages and all(any(card.jobs for card in side) for side in (model, cards))
    for number in range(1, max(len(model), len(cards)) + 1):
        wanted = _lines(model, number, all_stages, with_jobs)
        found = _lines(cards, number, all_stages, with_jobs)
        for place in range(max(len(wanted), len(found))):
            program = wanted[place] if place < len(wanted) else None
            log = found[place] if place < len(found) else None
            if program is None or log is None or (program.key, program.args) != (log.key, log.args):
                return Difference(number, program, log, _changed(program, log))
    return None


def _lines(cards: list[Card], number: int, all_stages: bool, with_jobs: bool) -> list[Entry]:
    """The lines of a word that are compared."""
    if number > len(cards):
        return []
    card = cards[number - 1]
    found = [entry for entry in card.lines if all_stages or entry.stage in SELECT_STAGES]
    return found + [entry for job in card.jobs for entry in job.lines] if with_jobs else found


def _changed(program: Entry | None, log: Entry | None) -> tuple[str, ...]:
    """The fields whose values differ, where both lines are of one format."""
    if program is None or log is None or program.key != log.key:
        return ()
    ours, theirs = program.fields, log.fields
    return tuple(name for name in ours if ours[name] != theirs.get(name))


def _entry_to_json(entry: Entry | None) -> dict[str, Any] | None:
    if entry is None:
        return None
    return {"line": entry.line, "format": FORMATS[entry.key].text, "fields": entry.fields}


def _entry_text(entry: Entry | None) -> str:
    if entry is None:
        return "(no such line)"
    shown = ", ".join(f"{name}={value}" for name, value in entry.fields.items())
    return f"{entry.key}: {shown}" if shown else entry.key

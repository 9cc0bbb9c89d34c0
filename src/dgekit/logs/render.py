"""Events to the firmware's own lines (pipeline 7, D48)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dgekit.core.choices import Choices
from dgekit.core.events import Event
from dgekit.core.generations import Generation
from dgekit.logs.formats import format_named
from dgekit.logs.printf import printf

# What `log_stages = select` keeps: from the selection on, the lines worked in the specification (D48).
SELECT_STAGES = frozenset({"select", "dump", "push", "bounds"})


@dataclass(frozen=True, slots=True)
class RenderedLine:
    """One log line without its line feed; `uncertain`: one byte of the real line is unexplained and left out."""

    text: str
    key: str
    uncertain: bool = False

    def __str__(self) -> str:
        return self.text


def render(event: Event, generation: Generation, choices: Choices) -> RenderedLine | None:
    """The line of an event, or None: it has none, not on this generation, not a shown stage, or its text is elided.

    A `P%i:` line gets the event's processor id before its arguments. Raises InternalError when the arguments do not
    fit the format.

    >>> from dgekit.core.generations import CAYMAN
    >>> render(Event("push", "regwrite", "push.regwrite", (3,)), CAYMAN, Choices())
    RenderedLine(text='S: push REGWRITE to DMA[3]', key='push.regwrite', uncertain=True)
    """
    if not event.line:
        return None
    row = format_named(event.line)
    if generation.name not in row.generations or row.is_elided or not row.is_line:
        return None
    if choices.text("log_stages") == "select" and row.stage not in SELECT_STAGES:
        return None
    args = (event.processor, *event.args) if row.prefix == "P%i:" else event.args
    return RenderedLine(printf(row.text, args), row.key, row.is_uncertain)


def render_lines(events: Iterable[Event], generation: Generation, choices: Choices) -> list[RenderedLine]:
    """The lines of all events, in order."""
    return [line for event in events if (line := render(event, generation, choices)) is not None]


def render_log(events: Iterable[Event], generation: Generation, choices: Choices) -> list[str]:
    """The log as texts, in order."""
    return [line.text for line in render_lines(events, generation, choices)]

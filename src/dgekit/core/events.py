"""The one event stream: every stage says what it did here, and log, report, trace and tests read it.

An event that has a line in the firmware's log names the log format by its key (`logs.formats`) and carries the
printf arguments in `args`; an event without a line leaves `line` empty.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

STAGES = (
    "setup", "lower", "resolve", "decode", "reshape", "select", "bounds", "dump", "push",
    "spray", "indirection", "swdge", "remote", "expand", "ring", "doorbell", "engine", "completion", "memory",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened: its `stage` (of STAGES), its `name`, the log format `line` with its `args`, and `data`.

    `transfer` and `word` say what it belongs to (-1: nothing in particular); `processor` is the Q7 id of a P%i line.
    """

    stage: str
    name: str
    line: str = ""
    args: tuple[Any, ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict)
    transfer: int = -1
    word: int = -1
    processor: int = 0


class EventLog:
    """An append-only list of events that stamps each with the current transfer and word."""

    __slots__ = ("_events", "transfer", "word")

    def __init__(self) -> None:
        self._events: list[Event] = []
        self.transfer = -1
        self.word = -1

    def emit(
        self, stage: str, name: str, line: str = "", args: tuple[Any, ...] = (), *, processor: int = 0, **data: Any
    ) -> None:
        """Append one event; `processor` is the Q7 id of a P%i line."""
        self._events.append(Event(stage, name, line, args, data, self.transfer, self.word, processor))

    def __iter__(self) -> Iterator[Event]:
        return iter(self._events)

    def __len__(self) -> int:
        return len(self._events)

    def since(self, number: int) -> tuple[Event, ...]:
        """The events from number `number` on; those before are not touched."""
        return tuple(self._events[number:])

    def named(self, name: str) -> list[Event]:
        """All events of that name, in order."""
        return [event for event in self._events if event.name == name]

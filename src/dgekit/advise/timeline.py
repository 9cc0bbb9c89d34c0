"""When the transfers of a program end: engines, queues and issuing processors side by side, waits between them.

A list schedule over the same numbers as one transfer's cost. Processors run their instructions in order; a DGE block
(Scalar's, Sync's, one for the others) or GpSimd builds one transfer's descriptors at a time; the DMAs of a queue start
a fixed time apart; an engine moves one transfer's bytes after the other's; a transfer that waits starts a semaphore's
latency after what it waits for.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from dgekit.advise.cost import Speeds, Word
from dgekit.advise.facts import Path
from dgekit.transfers.transfer import Compare, Wait

GPSIMD = "gpsimd"
_OWN_BLOCK = ("act", "sp")  # the processors that command a DGE block each (nki-dma 1)
_COMPARE: Mapping[Compare, Callable[[int, int], bool]] = {
    "ge": operator.ge,
    "gt": operator.gt,
    "eq": operator.eq,
    "le": operator.le,
    "lt": operator.lt,
}


@dataclass(frozen=True, slots=True)
class Step:
    """One item of a program: what it moves, who issues it, what it waits for and signals.

    `words` is empty for an instruction that moves nothing; `signals` are (semaphore, amount) on completion, `after`
    the numbers of earlier steps whose bytes it needs.
    """

    processor: str
    path: Path
    queue: str
    words: tuple[Word, ...] = ()
    waits: tuple[Wait, ...] = ()
    signals: tuple[tuple[int, int], ...] = ()
    after: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Span:
    """When a step is issued and when it is complete, in ns from the program's start."""

    start: float
    end: float


@dataclass(slots=True)
class _Clock:
    """What is busy until when, and what semaphores hold from when on."""

    speeds: Speeds
    initial: Mapping[int, int]
    spans: dict[int, Span] = field(default_factory=dict)
    busy: dict[str, float] = field(default_factory=dict)  # processors, blocks
    queues: dict[str, float] = field(default_factory=dict)  # earliest next start of a DMA
    engines: dict[int, float] = field(default_factory=dict)
    changes: dict[int, list[tuple[float, int]]] = field(default_factory=dict)  # semaphore: (time, amount)

    def ready(self, step: Step) -> tuple[float, float] | None:
        """(earliest issue, earliest first byte) of a step by its waits; None while something is not scheduled."""
        issue = data = 0.0
        for number in step.after:
            span = self.spans.get(number)
            if span is None:
                return None
            issue, data = max(issue, span.end), max(data, span.end + self.speeds.semaphore)
        for wait in step.waits:
            reached = self._reached(wait)
            if reached is None:
                return None
            issue = max(issue, reached)
            data = max(data, reached + self.speeds.semaphore) if reached else data
        return issue, data

    def _reached(self, wait: Wait) -> float | None:
        """When a wait is met by what is scheduled so far."""
        holds, value = _COMPARE[wait.compare], self.initial.get(wait.semaphore, 0)
        if holds(value, wait.value):
            return 0.0
        for time, amount in sorted(self.changes.get(wait.semaphore, ())):
            value += amount
            if holds(value, wait.value):
                return time
        return None

    def run(self, number: int, step: Step, ready: tuple[float, float]) -> None:
        """Schedule a step whose waits are met."""
        issued = max(ready[0], self.busy.get(step.processor, 0.0))
        for wait in step.waits:
            if wait.decrement:
                self._change(issued, wait.semaphore, -wait.value)
        start = end = issued
        for word in step.words:
            issued, end = self._word(step, word, issued, ready[1])
        self.busy[step.processor] = issued
        self.spans[number] = Span(start, end)
        for semaphore, amount in step.signals:
            self._change(end, semaphore, amount)

    def _change(self, time: float, semaphore: int, amount: int) -> None:
        self.changes.setdefault(semaphore, []).append((time, amount))

    def _word(self, step: Step, word: Word, ready: float, data: float) -> tuple[float, float]:
        """(end of its issue, completion) of one word."""
        speeds, builder = self.speeds, _builder(step)
        issued = max(ready, self.busy.get(builder, 0.0)) + speeds.issue[step.path]
        self.busy[builder] = issued
        start = max(issued + speeds.start, data, self.queues.get(step.queue, 0.0))
        self.queues[step.queue] = start + speeds.fixed
        end = start
        for load in word:
            done = max(start, self.engines.get(load.engine, 0.0)) + load.time(speeds)
            self.engines[load.engine] = done
            end = max(end, done)
        return issued, end


def _builder(step: Step) -> str:
    """Who is busy while the step's descriptors are built."""
    match step.path:
        case "software":
            return GPSIMD
        case "hardware":
            return f"dge {step.processor}" if step.processor in _OWN_BLOCK else "dge"
    return step.processor


def schedule(steps: Sequence[Step], speeds: Speeds, initial: Mapping[int, int] | None = None) -> list[Span]:
    """When each step starts and ends; a step whose wait nothing meets starts behind everything else.

    `initial` are the semaphores' values before the program.
    """
    clock = _Clock(speeds, initial or {})
    streams: dict[str, list[int]] = {}
    for number, step in enumerate(steps):
        streams.setdefault(step.processor, []).append(number)
    for stream in streams.values():
        stream.reverse()
    while any(streams.values()):
        heads = [stream[-1] for stream in streams.values() if stream]
        found = [(at, number) for number in heads if (at := clock.ready(steps[number])) is not None]
        if found:
            at, number = min(
                found, key=lambda one: (max(one[0][0], clock.busy.get(steps[one[1]].processor, 0.0)), one[1])
            )
        else:
            number, last = heads[0], max((span.end for span in clock.spans.values()), default=0.0)
            at = (last, last)
        clock.run(number, steps[number], at)
        streams[steps[number].processor].pop()
    return [clock.spans[number] for number in range(len(steps))]

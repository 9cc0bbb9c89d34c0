"""A run as a trace that Perfetto and Chrome open: one track a stage and one an engine.

The model has no clock: `ts` counts events, in microseconds by the format's rule, so that order is what the trace shows.
"""

from __future__ import annotations

from typing import Any

from dgekit.core.events import STAGES, Event
from dgekit.machine.results import RunResult

FIRMWARE, ENGINES = 1, 2  # the two processes of the trace


def run_to_trace(run: RunResult) -> dict[str, Any]:
    """The Chrome JSON trace of a run: an event of length 1 for each event, names of transfers in `args`."""
    names = {result.index: result.name for result in run.transfers}
    events = [_entry(number, event, names) for number, event in enumerate(run.events)]
    tracks = sorted({(entry["pid"], entry["tid"]) for entry in events})
    return {
        "traceEvents": [*_process_names(), *(_thread_name(*track) for track in tracks), *events],
        "displayTimeUnit": "ms",
        "otherData": {"generation": run.generation.name, "clock": "order of events, no time"},
    }


def _entry(number: int, event: Event, names: dict[int, str]) -> dict[str, Any]:
    engine = event.data.get("dma")
    on_engine = engine is not None and event.stage in ("doorbell", "engine", "ring")
    args = {key: _plain(value) for key, value in event.data.items()}
    if event.transfer in names:
        args |= {"transfer": names[event.transfer], "word": event.word}
    return {
        "name": event.name,
        "cat": event.stage,
        "ph": "X",
        "ts": number,
        "dur": 1,
        "pid": ENGINES if on_engine else FIRMWARE,
        "tid": int(engine) if on_engine and engine is not None else STAGES.index(event.stage),
        "args": args,
    }


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _process_names() -> list[dict[str, Any]]:
    return [
        {"name": "process_name", "ph": "M", "pid": pid, "args": {"name": name}}
        for pid, name in ((FIRMWARE, "stages"), (ENGINES, "DMA engines"))
    ]


def _thread_name(pid: int, tid: int) -> dict[str, Any]:
    name = f"engine {tid}" if pid == ENGINES else STAGES[tid]
    return {"name": "thread_name", "ph": "M", "pid": pid, "tid": tid, "args": {"name": name}}

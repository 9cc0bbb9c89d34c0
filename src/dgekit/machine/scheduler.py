"""Order between the items of a workload: one in-order stream an engine, held up by waits (D43, D53)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from dgekit.core.errors import Deadlock
from dgekit.core.evt_sem import PROGRAM_CORE
from dgekit.machine.semaphores import Semaphores
from dgekit.transfers.transfer import Item, Wait

Entry = tuple[int, Item]


def is_met(wait: Wait, semaphores: Semaphores) -> bool:
    """True when the semaphore's value satisfies the wait."""
    have = semaphores.read(wait.semaphore)
    match wait.compare:
        case "ge":
            return have >= wait.value
        case "gt":
            return have > wait.value
        case "eq":
            return have == wait.value
        case "le":
            return have <= wait.value
        case "lt":
            return have < wait.value


def run_in_order(
    items: Iterable[Item], semaphores_of: Callable[[int], Semaphores], run: Callable[[int, Item], bool]
) -> None:
    """Run every item once; the head of each engine's stream goes as soon as its waits hold.

    Among ready heads the one that stands first in the program goes first, so that a run is reproducible. A `run` that
    returns False stops its engine: the rest of that stream never runs. `semaphores_of` gives those of a core.
    Raises Deadlock with the wait graph when every stream is held up.
    """
    streams: dict[str, deque[Entry]] = {}
    for index, item in enumerate(items):
        streams.setdefault(item.engine, deque()).append((index, item))
    while streams:
        ready = [stream for stream in streams.values() if _may_go(stream[0][1], semaphores_of)]
        if not ready:
            raise _deadlock(streams, semaphores_of)
        index, item = min(ready, key=lambda stream: stream[0][0]).popleft()
        for wait in item.wait:
            if wait.decrement:
                semaphores_of(wait.core).add(wait.semaphore, -wait.value)
        if not run(index, item):
            streams[item.engine].clear()
        streams = {engine: stream for engine, stream in streams.items() if stream}


def _may_go(item: Item, semaphores_of: Callable[[int], Semaphores]) -> bool:
    return all(is_met(wait, semaphores_of(wait.core)) for wait in item.wait)


def _deadlock(streams: dict[str, deque[Entry]], semaphores_of: Callable[[int], Semaphores]) -> Deadlock:
    graph = [
        {
            "engine": engine,
            "item": stream[0][1].name,
            "semaphore": wait.semaphore,
            "compare": wait.compare,
            "wants": wait.value,
            "has": semaphores_of(wait.core).read(wait.semaphore),
            **({"core": wait.core} if wait.core != PROGRAM_CORE else {}),
        }
        for engine, stream in streams.items()
        for wait in stream[0][1].wait
        if not is_met(wait, semaphores_of(wait.core))
    ]
    lines = ", ".join(
        f"{edge['item']} on {edge['engine']} waits for semaphore {edge['semaphore']}"
        f"{' of core ' + str(edge['core']) if 'core' in edge else ''} {edge['compare']} {edge['wants']} "
        f"(it is {edge['has']})"
        for edge in graph
    )
    return Deadlock(
        f"no stream can go on: {lines}",
        where=str(graph[0]["item"]) if graph else "",
        values={"waits": graph},
        source="dec.D53",
        fix="let an earlier transfer increment the semaphore, or move the waiting one to another engine",
    )

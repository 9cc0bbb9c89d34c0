"""What is wrong inside a NEFF, all of it at once: references, variables, patterns, amounts, triggers (neff.md 2 to 4).

Entries are read as a stream. Of one rule in one engine only the first few places are listed, then how many more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from dgekit.core.errors import DgeError, Issue, Severity
from dgekit.frontends.neff.definitions import ENTRY, Entry, Leg, Movement, Queue, Variable, entry_of
from dgekit.frontends.neff.engine_file import EngineFile, join
from dgekit.frontends.neff.movements import (
    COPY_OPS,
    check_amount,
    check_bounds,
    element_types,
    leg_pattern,
    queues_by_any_name,
    variable_named,
)
from dgekit.frontends.neff.opened import OpenNeff, OpenSubgraph
from dgekit.frontends.place import nearest
from dgekit.words.enums import WORD_SIZE
from dgekit.words.stream import split_stream
from dgekit.words.structs import PseudoDmaTrigger

QUEUE_TYPES = ("in", "out", "data", "embedding_update", "dynamic")
FORMAT_SOURCES = 16  # D36: of a compute op; a packet takes 32
LISTED = 20  # places of one rule in one engine


def check_neff(neff: OpenNeff) -> list[Issue]:
    """Every issue of an opened NEFF, beside those that opening it found; raises nothing for what is inside."""
    issues = list(neff.issues)
    for graph in neff.subgraphs:
        where = f"{neff.source}: {graph.definition}"
        issues += check_queues(graph.queues.values(), where)
        issues += check_references(graph, neff, where)
        for engine in graph.engines.values():
            issues += listed(check_engine(engine, graph))
    return issues


def listed(issues: Iterable[Issue], most: int = LISTED) -> Iterator[Issue]:
    """The first `most` issues of each rule, and then one that counts the rest of it."""
    counts: Counter[str] = Counter()
    last: dict[str, Issue] = {}
    for issue in issues:
        counts[issue.rule] += 1
        last[issue.rule] = issue
        if counts[issue.rule] <= most:
            yield issue
    for rule, count in counts.items():
        if count > most:
            message = f"and {count - most} more like this, the last: {last[rule].message}"
            yield replace(last[rule], message=message, values={"more": count - most})


def check_queues(queues: Iterable[Queue], where: str) -> Iterator[Issue]:
    """Types that no page lists, and instances that two queue sets claim."""
    owners: dict[str, str] = {}
    for queue in queues:
        place = f"{where}: dma_queue.{queue.name}"
        if queue.type not in QUEUE_TYPES:
            message = f"queue type {queue.type!r} is none of {', '.join(QUEUE_TYPES)}"
            yield Issue("neff.queue_type", "warning", message, place, {"type": queue.type}, "neff 2")
        for instance in queue.instances:
            other = owners.setdefault(instance, queue.name)
            if other != queue.name:
                message = f"instance {instance} belongs to {other} already"
                yield Issue("neff.instance", "error", message, place, {"instance": instance}, "neff 2")


def check_references(graph: OpenSubgraph, neff: OpenNeff, where: str) -> Iterator[Issue]:
    """Variables whose contents or targets are not there; ids with holes, no output."""
    ids = {variable.var_id for variable in graph.variables.values()}
    for variable in graph.variables.values():
        place = f"{where}: var.{variable.name}"
        yield from _contents(variable, graph, neff, place)
        aims = (*variable.table, *([] if variable.referenced is None else [variable.referenced]))
        for aim in aims:
            if aim not in ids:
                message = f"{variable.type} {variable.name} names variable id {aim}, and no variable has it"
                yield Issue("neff.variable", "error", message, place, {"var_id": aim}, "neff 2")
    if ids and ids != set(range(len(ids))):
        message = f"the ids of {len(ids)} variables are not 0 to {len(ids) - 1}: a loader is said to want that"
        yield Issue("neff.dense_ids", "advice", message, where, {"highest": max(ids)}, "neff 2, loader")
    if graph.variables and all(variable.type != "output" for variable in graph.variables.values()):
        message = "there is no output variable: a loader is said to want one"
        yield Issue("neff.output", "advice", message, where, {}, "neff 2, loader")


def _contents(variable: Variable, graph: OpenSubgraph, neff: OpenNeff, place: str) -> Iterator[Issue]:
    if variable.type != "file":
        return
    member = join(graph.folder, variable.file_name)
    if not variable.file_name:
        yield Issue("neff.missing", "error", "a variable of type file names no file", place, {}, "neff 2")
    elif member not in neff.members:
        message = f"the archive has no member {member!r}"
        yield Issue("neff.reference", "error", message, place, {"member": member}, "neff 2")


def check_engine(engine: EngineFile, graph: OpenSubgraph) -> Iterator[Issue]:
    """The issues of an engine's dma list, its stream and its triggers."""
    known = queues_by_any_name(graph.queues)
    idle: dict[tuple[str, int], list[str]] = {}
    try:
        for index, table in enumerate(engine.tables()):
            entry, issues = _checked(table, engine, index)
            yield from issues
            if entry is not None:
                yield from check_entry(entry, known, graph.variables)
                if entry.queue in known:
                    idle.setdefault((known[entry.queue].name, entry.id), []).append(entry.where)
        yield from engine.absent()
        yield from _check_stream(engine, known, idle)
    except DgeError as problem:
        yield problem.as_issue()


def _checked(table: Any, engine: EngineFile, index: int) -> tuple[Entry | None, list[Issue]]:
    place = engine.place_of(index)
    try:
        return entry_of(ENTRY.check(table, place), place), []
    except DgeError as problem:
        return None, [problem.as_issue()]


def check_entry(entry: Entry, queues: Mapping[str, Queue], variables: Mapping[str, Variable]) -> Iterator[Issue]:
    """The issues of one entry: its queue, and each movement's variables, patterns, bounds and amounts."""
    if entry.queue not in queues:
        near = nearest(entry.queue, queues)
        message = f"there is no queue {entry.queue!r}" if entry.queue else "the entry names no queue"
        yield Issue("neff.queue", "error", message, entry.where, {}, "neff 3", f"write {near}" if near else "")
    if not entry.movements:
        yield Issue("neff.missing", "error", "the entry has no desc", entry.where, {}, "neff 3")
    for movement in entry.movements:
        yield from _movement(movement, variables)


def _movement(movement: Movement, variables: Mapping[str, Variable]) -> Iterator[Issue]:
    wanted = "one from and one to" if movement.op in COPY_OPS else "a from_arr or a from, and a to"
    if not movement.sources or movement.target is None or (movement.op in COPY_OPS and len(movement.sources) > 1):
        message = f"op {movement.op} has {len(movement.sources)} sources and {int(movement.target is not None)} targets"
        yield Issue("neff.missing", "error", message, movement.where, {}, "neff 3", wanted)
    if len(movement.sources) > FORMAT_SOURCES:
        message = (
            f"{len(movement.sources)} sources; descriptors take them, the format is described with {FORMAT_SOURCES}"
        )
        numbers = {"sources": len(movement.sources), "limit": FORMAT_SOURCES}
        yield Issue("dec.D36", "advice", message, movement.where, numbers, "neff 3", "reduce in two steps")
    legs = [(leg, f"{movement.where}.from") for leg in movement.sources]
    legs += [(movement.target, f"{movement.where}.to")] if movement.target is not None else []
    problems = [found for leg, where in legs for found in _raised(_check_leg, leg, variables, where)]
    yield from problems
    if not problems and movement.target is not None and movement.op != "transpose":
        for source in movement.sources:
            yield from _raised(_check_pair, movement, source, movement.target)


def _check_leg(leg: Leg, variables: Mapping[str, Variable], where: str) -> None:
    variable = variable_named(leg.variable, variables, where)
    sizes, steps = leg_pattern(leg, where)
    check_bounds(leg, sizes, steps, variable, where)


def _check_pair(movement: Movement, source: Leg, target: Leg) -> None:
    if movement.op in COPY_OPS:
        types = element_types(movement, source, target)
    else:
        types = (source.dtype, target.dtype) if source.dtype and target.dtype else (None, None)
    check_amount(source, target, *types, movement.where)


def _raised(check: Callable[..., None], *arguments: Any) -> list[Issue]:
    """What a check that raises would say."""
    try:
        check(*arguments)
    except DgeError as problem:
        issue = problem.as_issue()
        return [replace(issue, severity="unspecified") if problem.default_rule == "dge.unspecified" else issue]
    return []


def _check_stream(
    engine: EngineFile, queues: Mapping[str, Queue], idle: dict[tuple[str, int], list[str]]
) -> Iterator[Issue]:
    """Slots that are whole, triggers that start something, entries that something starts."""
    if not engine.stream_bytes:
        return
    where = f"{engine.where}: {engine.stream_members[0]}"
    if engine.stream_bytes % WORD_SIZE:
        message = f"the stream of {engine.stream_bytes} bytes is no whole number of {WORD_SIZE}-byte slots"
        severity: Severity = "warning" if engine.name == "sp" else "error"
        values = {"bytes": engine.stream_bytes}
        yield Issue("neff.stream", severity, message, where, values, "neff 4, dec.D89")
        return
    started = set()
    for offset, word, _ in split_stream(engine.stream()).items:
        if not isinstance(word, PseudoDmaTrigger):
            continue
        place, name, block = f"{where}: slot {offset // WORD_SIZE}", str(word.queue_name), word.dma_block_id
        if name not in queues:
            near = nearest(name, queues)
            fix = f"write {near}" if near else ""
            yield Issue("neff.queue", "error", f"there is no queue {name!r}", place, {}, "neff 4", fix)
        elif (queues[name].name, block) not in idle:
            message = f"the trigger starts block {block} of queue {name}, and no dma entry has that id"
            yield Issue("neff.trigger", "error", message, place, {"block": block}, "neff 3")
        else:
            started.add((queues[name].name, block))
    for key, places in idle.items() if started else ():
        if key not in started:
            message = f"dma id {key[1]} is never triggered"
            yield Issue("neff.trigger", "warning", message, places[0], {"id": key[1]}, "neff 3")

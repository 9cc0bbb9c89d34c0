"""What is in a NEFF, as data and as text: header, feature bits, members, queues, variables, dma lists."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from dgekit.frontends.neff.definitions import Queue, Variable
from dgekit.frontends.neff.header import FIELDS, NEWER_REFUSED_FEATURES, SUPPORTED_FEATURES, Header
from dgekit.frontends.neff.read import Engine, Neff, Subgraph
from dgekit.words.enums import WORD_SIZE

NEFF_SCHEMA = "dgekit.neff/1"
_U64 = (1 << 64) - 1


def neff_to_json(neff: Neff) -> dict[str, Any]:
    """The object that `dge neff info --json` prints (schema dgekit.neff/1)."""
    return {
        "schema": NEFF_SCHEMA,
        "file": neff.source,
        "header": {name: value.hex() if isinstance(value, bytes) else value for name, value in _shown(neff.header)},
        "features": {"bits": hex(neff.header.number("feature_bits")), "verdicts": _verdicts(neff.header)},
        "target": None if neff.target is None else neff.target.name,
        "compressed": neff.members.compressed,
        "members": [{"name": name, "bytes": neff.members.size(name)} for name in neff.members],
        "subgraphs": [_subgraph(graph) for graph in neff.subgraphs],
        "issues": [issue.to_json() for issue in neff.issues],
    }


def neff_lines(neff: Neff) -> Iterator[str]:
    """The same for people."""
    info = neff_to_json(neff)
    for name, value in info["header"].items():
        yield f"{name:20} {_brief(value)}"
    for verdict in info["features"]["verdicts"]:
        answer = "loads" if verdict["loads"] else f"refused for bits {verdict['beyond']}"
        yield f"features {info['features']['bits']} by mask {verdict['supported']} ({verdict['source']}): {answer}"
    yield f"target {info['target'] or 'any'}"
    yield f"{len(info['members'])} members, {'gzip' if info['compressed'] else 'plain tar'}"
    yield from (f"  {member['bytes']:>10}  {member['name']}" for member in info["members"])
    for graph in info["subgraphs"]:
        yield from _subgraph_lines(graph)


def _brief(value: int | str) -> int | str:
    """Long runs of zeros in words."""
    return "all 0" if isinstance(value, str) and len(value) > 16 and not value.strip("0") else value


def _shown(header: Header) -> Iterator[tuple[str, int | str | bytes]]:
    return ((field.name, header.values[field.name]) for field in FIELDS if field.name != "padding")


def _verdicts(header: Header) -> list[dict[str, Any]]:
    """What each of the two published masks says (neff 1, D88)."""
    bits = header.number("feature_bits")
    masks = (
        (SUPPORTED_FEATURES, "the runtime of a published refusal"),
        (_U64 & ~NEWER_REFUSED_FEATURES, "a newer runtime, by reverse engineering"),
    )
    return [
        {"supported": hex(mask), "source": source, "beyond": hex(bits & ~mask), "loads": not bits & ~mask}
        for mask, source in masks
    ]


def _subgraph(graph: Subgraph) -> dict[str, Any]:
    return {
        "name": graph.name,
        "definition": graph.definition,
        "queues": [_queue(queue, graph.engines) for queue in graph.queues.values()],
        "variables": [_variable(variable) for variable in graph.variables.values()],
        "engines": [_engine(engine) for engine in graph.engines.values()],
    }


def _queue(queue: Queue, engines: Mapping[str, Engine]) -> dict[str, Any]:
    names = {queue.name, *queue.instances}
    return {
        "name": queue.name,
        "type": queue.type,
        "num_queues": queue.num_queues,
        "owner": queue.owner,
        "semaphore": queue.semaphore,
        "instances": list(queue.instances),
        "entries": sum(entry.queue in names for engine in engines.values() for entry in engine.entries),
    }


def _variable(variable: Variable) -> dict[str, Any]:
    return {"name": variable.name, "type": variable.type, "var_id": variable.var_id, "bytes": variable.size}


def _engine(engine: Engine) -> dict[str, Any]:
    ops = Counter(movement.op for entry in engine.entries for movement in entry.movements)
    return {
        "name": engine.name,
        "entries": len(engine.entries),
        "movements": dict(sorted(ops.items())),
        "stream": engine.stream_member,
        "stream_bytes": len(engine.stream),
        "slots": len(engine.stream) // WORD_SIZE,
    }


def _subgraph_lines(graph: Mapping[str, Any]) -> Iterator[str]:
    yield f"subgraph {graph['name']} ({graph['definition']})"
    for queue in graph["queues"]:
        semaphore = "none" if queue["semaphore"] is None else queue["semaphore"]
        yield (
            f"  queue {queue['name']}: {queue['type']}, {queue['num_queues']} hardware queues, "
            f"owner {queue['owner'] or 'none'}, semaphore {semaphore}, {queue['entries']} dma entries"
        )
    for variable in graph["variables"]:
        yield f"  variable {variable['name']}: {variable['type']}, id {variable['var_id']}, {variable['bytes']} bytes"
    for engine in graph["engines"]:
        ops = ", ".join(f"{count} {op}" for op, count in engine["movements"].items()) or "none"
        yield (
            f"  engine {engine['name']}: {engine['entries']} dma entries (movements: {ops}), "
            f"{engine['slots']} instruction slots"
        )

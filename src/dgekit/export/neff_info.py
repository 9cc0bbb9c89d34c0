"""What is in a NEFF, as data and as text: header, feature bits, members, queues, variables, dma lists."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dgekit.frontends.neff.definitions import Queue, Variable
from dgekit.frontends.neff.engine_file import EngineFile
from dgekit.frontends.neff.header import FIELDS, LOADER_MAJOR, NEWER_REFUSED_FEATURES, SUPPORTED_FEATURES, Header
from dgekit.frontends.neff.opened import OpenNeff, OpenSubgraph
from dgekit.frontends.neff.tally import Tally, tally
from dgekit.words.enums import WORD_SIZE

NEFF_SCHEMA = "dgekit.neff/1"
_U64 = (1 << 64) - 1


def neff_to_json(neff: OpenNeff) -> dict[str, Any]:
    """The object that `dge neff info --json` prints (schema dgekit.neff/1); dma lists are read as streams."""
    subgraphs = [_subgraph(graph) for graph in neff.subgraphs]
    return {
        "schema": NEFF_SCHEMA,
        "file": neff.source,
        "header": {name: value.hex() if isinstance(value, bytes) else value for name, value in _shown(neff.header)},
        "features": {"bits": hex(neff.header.number("feature_bits")), "verdicts": _verdicts(neff.header)},
        "version": _version(neff.header),
        "hash": neff.hash,
        "target": None if neff.target is None else neff.target.name,
        "compressed": neff.members.compressed,
        "members": [{"name": name, "bytes": neff.members.size(name)} for name in neff.members],
        "subgraphs": subgraphs,
        "issues": [issue.to_json() for issue in neff.all_issues()],
    }


def neff_lines(info: Mapping[str, Any]) -> Iterator[str]:
    """The same for people, from that object; the issues are left to the caller."""
    for name, value in info["header"].items():
        yield f"{name:20} {_brief(value)}"
    for verdict in info["features"]["verdicts"]:
        answer = "loads" if verdict["loads"] else f"refused for bits {verdict['beyond']}"
        yield f"features {info['features']['bits']} by mask {verdict['supported']} ({verdict['source']}): {answer}"
    version = info["version"]
    answer = "loads" if version["loads"] else "refused"
    yield f"version {version['major']}.{version['minor']} by a loader of version {version['loader']}: {answer}"
    yield f"hash {info['hash']}"
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


def _version(header: Header) -> dict[str, Any]:
    """What a loader of the highest published version says (neff 1)."""
    major, minor = header.number("neff_version_major"), header.number("neff_version_minor")
    return {"major": major, "minor": minor, "loader": LOADER_MAJOR, "loads": major <= LOADER_MAJOR}


def _subgraph(graph: OpenSubgraph) -> dict[str, Any]:
    tallies = {name: tally(engine) for name, engine in graph.engines.items()}
    return {
        "name": graph.name,
        "definition": graph.definition,
        "queues": [_queue(queue, tallies) for queue in graph.queues.values()],
        "variables": [_variable(variable) for variable in graph.variables.values()],
        "engines": [_engine(engine, tallies[name]) for name, engine in graph.engines.items()],
    }


def _queue(queue: Queue, tallies: Mapping[str, Tally]) -> dict[str, Any]:
    names = {queue.name, *queue.instances}
    return {
        "name": queue.name,
        "type": queue.type,
        "num_queues": queue.num_queues,
        "owner": queue.owner,
        "semaphore": queue.semaphore,
        "instances": list(queue.instances),
        "entries": sum(one.by_queue[name] for one in tallies.values() for name in names),
    }


def _variable(variable: Variable) -> dict[str, Any]:
    return {"name": variable.name, "type": variable.type, "var_id": variable.var_id, "bytes": variable.size}


def _engine(engine: EngineFile, counted: Tally) -> dict[str, Any]:
    streams = engine.stream_members
    return {
        "name": engine.name,
        "entries": counted.entries,
        "movements": dict(sorted(counted.movements.items())),
        "stream": streams[0] if streams else "",
        "stream_bytes": engine.stream_bytes,
        "slots": engine.stream_bytes // WORD_SIZE,
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

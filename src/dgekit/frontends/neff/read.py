"""A NEFF file as one value: every dma list and every stream read, as running it needs.

Members that no reference needs may be absent (an issue); a kelf file or a def.json that is named must be there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dgekit.core.errors import Issue
from dgekit.core.generations import Generation
from dgekit.frontends.neff.archive import DEFAULT_LIMITS, Archive, Limits
from dgekit.frontends.neff.definitions import Collective, Entry, Queue, Variable
from dgekit.frontends.neff.engine_file import EngineFile
from dgekit.frontends.neff.header import SUPPORTED_FEATURES, Header
from dgekit.frontends.neff.json_member import MAX_JSON
from dgekit.frontends.neff.opened import OpenSubgraph, open_neff


@dataclass(frozen=True, slots=True)
class Engine:
    """One engine of a subgraph: its dma list and its instruction stream (empty when the member is absent)."""

    name: str
    entries: tuple[Entry, ...] = ()
    stream: bytes = b""
    stream_member: str = ""
    collectives: tuple[Collective, ...] = ()


@dataclass(frozen=True, slots=True)
class Subgraph:
    """One subgraph: the program of one physical core."""

    name: str
    definition: str
    queues: Mapping[str, Queue]
    variables: Mapping[str, Variable]
    engines: Mapping[str, Engine]


@dataclass(frozen=True, slots=True)
class Neff:
    """A whole file: header, members, subgraphs, the generation the kelf names (None: any), what the reader noticed."""

    source: str
    header: Header
    members: Archive
    subgraphs: tuple[Subgraph, ...]
    target: Generation | None = None
    issues: tuple[Issue, ...] = ()


def read_neff(
    source: str | Path | bytes,
    *,
    limits: Limits = DEFAULT_LIMITS,
    supported: int = SUPPORTED_FEATURES,
    name: str = "",
) -> Neff:
    """Read a NEFF from a path or from bytes; nothing is written anywhere.

    `limits` caps what the archive may unpack to; `supported` is the mask of feature bits. Raises InputError with
    the member and the rule for anything that cannot be read, also for a dma list too large to be held.
    """
    opened = open_neff(source, limits=limits, supported=supported, name=name)
    subgraphs = tuple(_subgraph(graph) for graph in opened.subgraphs)
    return Neff(opened.source, opened.header, opened.members, subgraphs, opened.target, opened.all_issues())


def _subgraph(graph: OpenSubgraph) -> Subgraph:
    engines = {name: _engine(engine) for name, engine in graph.engines.items()}
    return Subgraph(graph.name, graph.definition, graph.queues, graph.variables, engines)


def _engine(file: EngineFile) -> Engine:
    size = file.members.size(file.member) if file.present else 0
    if size > MAX_JSON:
        raise file.place.error(
            "limit",
            f"{size} bytes of JSON are too many to be run, the limit is {MAX_JSON}",
            values={"size": size, "limit": MAX_JSON},
            fix="dge neff info and dge neff rings count them",
        )
    entries = tuple(file.entries())
    streams = file.stream_members
    return Engine(file.name, entries, file.stream(), streams[0] if streams else "", file.collectives)

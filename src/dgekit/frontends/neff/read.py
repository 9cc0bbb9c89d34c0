"""A NEFF file as a value: references are followed from neff.json to each engine's stream, never fixed names.

Members that no reference needs may be absent (an issue); a kelf file or a def.json that is named must be there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dgekit.core.errors import InputError, Issue, UsageError
from dgekit.core.generations import Generation, generation_named
from dgekit.frontends.neff.archive import DEFAULT_LIMITS, Archive, Limits, read_archive
from dgekit.frontends.neff.definitions import (
    DEFINITION,
    ENGINE,
    Collective,
    Entry,
    Queue,
    Variable,
    check_variables,
    collectives_of,
    entries_of,
    queues_of,
    variables_of,
)
from dgekit.frontends.neff.header import HEADER_SIZE, SUPPORTED_FEATURES, Header, check_header, decode_header
from dgekit.frontends.neff.json_member import member_place, read_json
from dgekit.frontends.place import Place
from dgekit.transfers.transfer import ENGINES

GRAPH = "neff.json"
KELF_FUNCTION = "__kelf"
ANY_TARGET = "*"


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
    the member and the rule for anything that cannot be read.
    """
    data, where = _load(source, name, limits)
    header = decode_header(data, where)
    payload = data[HEADER_SIZE:]
    issues = check_header(header, payload, where, supported)
    members = read_archive(payload, where, limits)
    reader = _Reader(members, where, issues)
    subgraphs = tuple(reader.subgraphs())
    return Neff(where, header, members, subgraphs, reader.target, tuple(issues))


def _load(source: str | Path | bytes, name: str, limits: Limits) -> tuple[bytes, str]:
    if isinstance(source, bytes):
        return source, name or "<bytes>"
    path = Path(source)
    where = name or path.name
    try:
        size = path.stat().st_size
        if size > limits.unpacked:
            raise InputError(
                f"{size} bytes are more than the limit of {limits.unpacked}",
                rule="neff.limit",
                where=where,
                values={"size": size, "limit": limits.unpacked},
            )
        return path.read_bytes(), where
    except OSError as problem:
        raise InputError(f"cannot read {path}: {problem.strerror}", rule="input.file", where=where) from None


@dataclass(slots=True)
class _Reader:
    """Follows the references of one archive and collects issues on the way."""

    members: Archive
    where: str
    issues: list[Issue] = field(default_factory=list)
    target: Generation | None = None

    def subgraphs(self) -> Iterator[Subgraph]:
        """Every subgraph that the kelf files name."""
        definitions = list(self._definitions())
        if not definitions:
            raise InputError("no kelf file names a subgraph", rule="neff.reference", where=self.where)
        for name, definition in definitions:
            yield self._subgraph(name, definition)

    def _kelf_files(self) -> list[str]:
        if GRAPH not in self.members:
            self._absent(GRAPH, "the kelf files are taken by name")
            return sorted(name for name in self.members if _is_kelf_name(name))
        graph = read_json(self.members, GRAPH, self.where)
        nodes = graph.get("nodes") if isinstance(graph, dict) else None
        if not isinstance(nodes, list):
            raise member_place(GRAPH, self.where).key("nodes").error("type", "the graph has no list of nodes")
        found: list[str] = []
        for node in nodes:
            words = list(_strings(node))
            if KELF_FUNCTION in words:
                found += [word for word in words if _is_kelf_name(word) and word not in found]
        return found

    def _definitions(self) -> Iterator[tuple[str, str]]:
        for kelf in self._kelf_files():
            place = member_place(kelf, self.where)
            if kelf not in self.members:
                raise place.error("reference", f"{GRAPH} names {kelf}, and the archive has no such member")
            content = read_json(self.members, kelf, self.where)
            graphs = content.get("graphs") if isinstance(content, dict) else None
            if not isinstance(graphs, list):
                raise place.key("graphs").error("type", "the kelf file has no list of graphs")
            self._note_target(content.get("target"), place)
            for index, graph in enumerate(graphs):
                yield self._graph(graph, kelf, index)

    def _note_target(self, target: object, place: Place) -> None:
        """Remember the generation a kelf is for; `*` is any (neff.md 1)."""
        if not isinstance(target, str) or target == ANY_TARGET:
            return
        try:
            self.target = generation_named(target)
        except UsageError as problem:
            self.issues.append(
                Issue("neff.target", "warning", problem.message, str(place.key("target")), {}, "neff 1", problem.fix)
            )

    def _graph(self, graph: Any, kelf: str, index: int) -> tuple[str, str]:
        place = member_place(kelf, self.where).key("graphs").item(index)
        name = graph.get("name") if isinstance(graph, dict) else None
        definition = graph.get("definition") if isinstance(graph, dict) else None
        if not isinstance(name, str) or not isinstance(definition, str):
            raise place.error("type", "a graph has a name and a definition, both strings")
        if definition not in self.members:
            raise place.key("definition").error("reference", f"the archive has no member {definition[:80]!r}")
        return name, definition

    def _subgraph(self, name: str, definition: str) -> Subgraph:
        place = member_place(definition, self.where)
        content = DEFINITION.check(read_json(self.members, definition, self.where), place)
        folder = definition.rpartition("/")[0]
        variables = variables_of(content)
        self.issues += check_variables(variables.values(), str(place))
        engines = {engine: self._engine(engine, content, folder) for engine in ENGINES if content[engine] is not None}
        return Subgraph(name, definition, queues_of(content), variables, engines)

    def _engine(self, engine: str, definition: dict[str, Any], folder: str) -> Engine:
        member = _join(folder, definition[engine])
        if member not in self.members:
            self._absent(member, f"engine {engine} has no dma list")
            content = ENGINE.check({}, member_place(member, self.where))
        else:
            content = ENGINE.check(read_json(self.members, member, self.where), member_place(member, self.where))
        stream, stream_member = self._stream(definition[f"{engine}_instr"] or content["instr"], folder)
        return Engine(
            engine,
            entries_of(content, member_place(member, self.where)),
            stream,
            stream_member,
            collectives_of(content),
        )

    def _stream(self, names: str | tuple[str, ...] | None, folder: str) -> tuple[bytes, str]:
        parts = (names,) if isinstance(names, str) else names or ()
        stream = b""
        for part in parts:
            member = _join(folder, part)
            if member in self.members:
                stream += self.members[member]
            else:
                self._absent(member, "the engine has no instruction stream")
        return stream, _join(folder, parts[0]) if parts else ""

    def _absent(self, member: str, consequence: str) -> None:
        self.issues.append(
            Issue("neff.absent", "warning", f"member {member} is absent: {consequence}", self.where, {}, "neff 3")
        )


def _is_kelf_name(name: str) -> bool:
    base = name.rpartition("/")[2]
    return base.startswith("kelf") and base.endswith(".json")


def _strings(value: Any) -> Iterator[str]:
    """All strings inside a JSON value, depth first; JSON that could be parsed is no deeper than the parser allows."""
    pending = [value]
    while pending:
        one = pending.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            pending += reversed(one.values())
        elif isinstance(one, list):
            pending += reversed(one)


def _join(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name

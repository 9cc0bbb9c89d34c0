"""A NEFF opened but not read whole: header, references, queues and variables; dma lists are streams, read on demand.

References are followed from neff.json to each engine's stream, never fixed names. What is not there or not right is
an error; with `found` given, it is collected there instead and the rest is read on (`dge neff check`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dgekit.core.errors import DgeError, InputError, Issue, UsageError
from dgekit.core.generations import Generation, generation_named
from dgekit.frontends.neff.archive import DEFAULT_LIMITS, Archive, Limits, read_archive
from dgekit.frontends.neff.definitions import (
    DEFINITION,
    Queue,
    Variable,
    check_variables,
    lenient_definition,
    queues_of,
    variables_of,
)
from dgekit.frontends.neff.engine_file import EngineFile, join
from dgekit.frontends.neff.header import (
    HEADER_SIZE,
    SUPPORTED_FEATURES,
    HashStatus,
    Header,
    check_header,
    decode_header,
    hash_status,
)
from dgekit.frontends.neff.json_member import member_place, read_json
from dgekit.frontends.neff.source import BytesSource, Progress, Source, open_source
from dgekit.frontends.place import Place
from dgekit.transfers.transfer import ENGINES

GRAPH = "neff.json"
KELF_FUNCTION = "__kelf"
ANY_TARGET = "*"


@dataclass(frozen=True, slots=True)
class OpenSubgraph:
    """One subgraph, the program of one physical core; its engines' dma lists are not read yet."""

    name: str
    definition: str
    queues: Mapping[str, Queue]
    variables: Mapping[str, Variable]
    engines: Mapping[str, EngineFile]

    @property
    def folder(self) -> str:
        """The folder of its members, empty at the top."""
        return self.definition.rpartition("/")[0]


@dataclass(frozen=True, slots=True)
class OpenNeff:
    """A file: header, whether its hash is right, members, subgraphs, the generation the kelf names (None: any)."""

    source: str
    header: Header
    hash: HashStatus
    members: Archive
    subgraphs: tuple[OpenSubgraph, ...]
    target: Generation | None = None
    issues: tuple[Issue, ...] = ()

    def all_issues(self) -> tuple[Issue, ...]:
        """What the reader noticed, with the members that are absent (reads the dma lists where it must)."""
        absent = [issue for graph in self.subgraphs for one in graph.engines.values() for issue in one.absent()]
        return (*self.issues, *absent)


def open_neff(
    source: str | Path | bytes,
    *,
    limits: Limits = DEFAULT_LIMITS,
    supported: int = SUPPORTED_FEATURES,
    name: str = "",
    progress: Progress | None = None,
    found: list[Issue] | None = None,
) -> OpenNeff:
    """Open a NEFF from a path or from bytes; nothing is written anywhere.

    `limits` caps what the archive may unpack to; `supported` is the mask of feature bits; `progress` is called now
    and then. Raises InputError with the member and the rule for anything that cannot be read; `found`, where given,
    collects what is wrong inside the archive instead.
    """
    head, payload, where = _load(source, name, limits)
    header = decode_header(head, where)
    issues = check_header(header, payload, where, supported)
    members = read_archive(payload, where, limits, progress)
    reader = _Reader(members, where, progress, issues, found)
    subgraphs = tuple(reader.subgraphs())
    return OpenNeff(where, header, hash_status(header, payload), members, subgraphs, reader.target, tuple(issues))


def _load(source: str | Path | bytes, name: str, limits: Limits) -> tuple[bytes, Source, str]:
    """The header's bytes, what follows them, and what to call the file."""
    if isinstance(source, bytes):
        return source[:HEADER_SIZE], BytesSource(memoryview(source)[HEADER_SIZE:]), name or "<bytes>"
    where = name or Path(source).name
    file = open_source(Path(source), where, limits.unpacked)
    return file.read(0, HEADER_SIZE), file.after(HEADER_SIZE), where


@dataclass(slots=True)
class _Reader:
    """Follows the references of one archive and collects issues on the way."""

    members: Archive
    where: str
    progress: Progress | None
    issues: list[Issue]
    found: list[Issue] | None
    target: Generation | None = None

    def subgraphs(self) -> Iterator[OpenSubgraph]:
        """Every subgraph that the kelf files name."""
        definitions = list(self._definitions())
        if not definitions:
            self._wrong(InputError("no kelf file names a subgraph", rule="neff.reference", where=self.where))
        for name, definition in definitions:
            try:
                yield self._subgraph(name, definition)
            except InputError as problem:
                self._wrong(problem)

    def _wrong(self, problem: DgeError) -> None:
        """Raise the problem, or keep it where problems are collected."""
        if self.found is None:
            raise problem
        self.found.append(problem.as_issue())

    def _kelf_files(self) -> list[str]:
        if GRAPH not in self.members:
            message = f"member {GRAPH} is absent: the kelf files are taken by name"
            self.issues.append(Issue("neff.absent", "warning", message, self.where, {}, "neff 3"))
            return sorted(name for name in self.members if is_kelf_name(name))
        graph = read_json(self.members, GRAPH, self.where)
        nodes = graph.get("nodes") if isinstance(graph, dict) else None
        if not isinstance(nodes, list):
            raise member_place(GRAPH, self.where).key("nodes").error("type", "the graph has no list of nodes")
        found: list[str] = []
        for node in nodes:
            words = list(_strings(node))
            if KELF_FUNCTION in words:
                found += [word for word in words if is_kelf_name(word) and word not in found]
        return found

    def _definitions(self) -> Iterator[tuple[str, str]]:
        try:
            kelfs = self._kelf_files()
        except InputError as problem:
            self._wrong(problem)
            kelfs = sorted(name for name in self.members if is_kelf_name(name))
        for kelf in kelfs:
            try:
                yield from self._graphs(kelf)
            except InputError as problem:
                self._wrong(problem)

    def _graphs(self, kelf: str) -> Iterator[tuple[str, str]]:
        place = member_place(kelf, self.where)
        if kelf not in self.members:
            raise place.error("reference", f"{GRAPH} names {kelf}, and the archive has no such member")
        content = read_json(self.members, kelf, self.where)
        graphs = content.get("graphs") if isinstance(content, dict) else None
        if not isinstance(graphs, list):
            raise place.key("graphs").error("type", "the kelf file has no list of graphs")
        self._note_target(content.get("target"), place)
        for index, graph in enumerate(graphs):
            try:
                yield self._graph(graph, kelf, index)
            except InputError as problem:
                self._wrong(problem)

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

    def _subgraph(self, name: str, definition: str) -> OpenSubgraph:
        place = member_place(definition, self.where)
        raw = read_json(self.members, definition, self.where)
        content = DEFINITION.check(raw if self.found is None else lenient_definition(raw, place, self.found), place)
        variables = variables_of(content)
        self.issues += check_variables(variables.values(), str(place))
        graph = OpenSubgraph(name, definition, queues_of(content), variables, {})
        engines = {
            engine: self._engine(engine, content, graph.folder) for engine in ENGINES if content[engine] is not None
        }
        return replace(graph, engines=engines)

    def _engine(self, engine: str, definition: dict[str, Any], folder: str) -> EngineFile:
        instr = definition[f"{engine}_instr"]
        member = join(folder, definition[engine])
        return EngineFile(engine, member, folder, self.members, self.where, instr, self.progress)


def is_kelf_name(name: str) -> bool:
    """True for the names that kelf files have: kelf-a.json, kelf-0.json."""
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

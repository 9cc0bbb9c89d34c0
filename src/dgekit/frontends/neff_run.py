"""A NEFF as a `Workload`: variables become tensors, engine streams become items in their order (D17, D43, D46)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dgekit.core.choices import Choices
from dgekit.core.errors import InputError, Unsupported
from dgekit.core.generations import DEFAULT, Generation
from dgekit.frontends.neff.instructions import StreamReader
from dgekit.frontends.neff.movements import Context, queues_by_any_name, touched_variables
from dgekit.frontends.neff.read import Neff, Subgraph
from dgekit.frontends.neff.variables import member_contents, place_variables
from dgekit.transfers.placement import MEMORY_LIMIT
from dgekit.transfers.transfer import Item, Mode, Workload
from dgekit.words.enums import WORD_SIZE, Opcode

_NAMES_VARIABLES = Opcode.PSEUDO_DMA_DIRECT2D


def workload(
    neff: Neff,
    inputs: Mapping[str, Any] | None = None,
    choices: Choices | Mapping[str, object] | None = None,
    *,
    generation: Generation | None = None,
    subgraph: str = "",
    memory_limit: int = MEMORY_LIMIT,
) -> Workload:
    """The program of one subgraph.

    `inputs` are arrays or bytes by variable name (inputs left out hold arange bytes); `generation` defaults to the
    kelf's target, else CAYMAN; `subgraph` is needed when there are several. Raises InputError for what does not fit
    together, Unsupported and Unspecified for what is not run, each naming the entry or slot.
    """
    settings = choices if isinstance(choices, Choices) else Choices(choices)
    graph = _pick(neff, subgraph)
    where = f"{neff.source}: {graph.definition}"
    chip = generation or neff.target or DEFAULT
    touched = _touched(graph)
    contents = _contents(neff, graph, touched, where) | {name: _bytes(value) for name, value in (inputs or {}).items()}
    memory = place_variables(graph.variables, touched, contents, where, memory_limit)
    context = Context(
        queues_by_any_name(graph.queues), graph.variables, memory.homes, _mode(settings, chip), neff.source
    )
    issues = list(neff.issues)
    streams: list[list[Item]] = []
    by_id = {variable.var_id: name for name, variable in graph.variables.items()}
    name_of = _unique_names()
    for engine in graph.engines.values():
        reader = StreamReader(engine, context, settings, by_id, name_of)
        streams.append(list(reader.items()))
        issues += reader.issues
    streams.sort(key=_starts_late)
    return Workload(
        generation=chip,
        tensors=memory.tensors,
        items=tuple(item for stream in streams for item in stream),
        choices=settings.overrides(),
        arrays=memory.arrays,
        source=neff.source,
        issues=tuple(issues),
    )


def _pick(neff: Neff, name: str) -> Subgraph:
    found = [graph for graph in neff.subgraphs if not name or graph.name == name]
    names = ", ".join(graph.name for graph in neff.subgraphs)
    if not found:
        raise InputError(
            f"there is no subgraph {name!r}", rule="neff.reference", where=neff.source, fix=f"one of {names}"
        )
    if len(found) > 1:
        raise Unsupported(
            f"the subgraphs {names} run on several cores at once; one core is run",
            rule="neff.subgraph",
            where=neff.source,
            fix=f"name one: --subgraph {found[0].name}",
        )
    return found[0]


def _starts_late(stream: list[Item]) -> bool:
    """Streams that wait before anything else are listed last: they read better behind what they wait for."""
    return bool(stream and stream[0].wait)


def _mode(choices: Choices, generation: Generation) -> Mode:
    """Static expansion where asked for, and where no other mode exists (D47)."""
    if choices.text("neff_path") == "static" or not generation.has_push_model:
        return "none"
    return "unknown"


def _touched(graph: Subgraph) -> set[str]:
    """Variables that entries, collectives or raw words use; words name ids, so one word keeps them all."""
    found: set[str] = set()
    by_id = {variable.var_id: name for name, variable in graph.variables.items()}
    for engine in graph.engines.values():
        for entry in engine.entries:
            found |= touched_variables(entry)
        for collective in engine.collectives:
            found |= {by_id[v] for v in (collective.input, collective.output) if v in by_id}
        if any(engine.stream[at] == _NAMES_VARIABLES for at in range(0, len(engine.stream), WORD_SIZE)):
            found |= {name for name, v in graph.variables.items() if v.type not in ("pointer", "dge-table")}
    return found


def _contents(neff: Neff, graph: Subgraph, touched: set[str], where: str) -> dict[str, bytes]:
    """Bytes of the `file` variables in use."""
    folder = graph.definition.rpartition("/")[0]
    found = {}
    for variable in graph.variables.values():
        if variable.type != "file" or variable.name not in touched:
            continue
        member = f"{folder}/{variable.file_name}" if folder else variable.file_name
        place = f"{where}: var.{variable.name}.file_name"
        if member not in neff.members:
            raise InputError(f"the archive has no member {member!r}", rule="neff.reference", where=place)
        found[variable.name] = member_contents(neff.members[member], member, place)
    return found


def _bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else bytes(value.tobytes())


def _unique_names() -> Callable[[str], str]:
    """A function that gives each name once, and `name#2`, `name#3` when it comes again (a block triggered twice)."""
    counts: dict[str, int] = {}

    def name_of(base: str) -> str:
        counts[base] = counts.get(base, 0) + 1
        return base if counts[base] == 1 else f"{base}#{counts[base]}"

    return name_of

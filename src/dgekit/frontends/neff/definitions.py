"""The JSON of a NEFF's subgraph: queues and variables of def.json, the `dma` list of each engine (neff.md 2, 3).

The key tables below are open: real files hold keys that no source describes, and they pass.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from dgekit.core.dtypes import DtypeInfo, dtype_from_neff
from dgekit.core.errors import InputError, Issue
from dgekit.frontends.kinds import Array, Boolean, Either, Integer, Key, Kind, Mapping, Number, Parsed, Section, Text
from dgekit.frontends.place import Place
from dgekit.transfers.transfer import ENGINES

MAX_QUEUES = 16
MAX_PATTERN = 4
MAX_SOURCES = 32
_STEP = 1 << 48

_count = Integer(0, 1 << 48)
_size = Integer(1, 1 << 48)
_semaphore = Integer(0, 255)
_name = Text(what="a name")
_var_type = Text(("state-buffer", "input", "output", "file", "tmp-buf", "virtual", "pointer", "dge-table"))
_op = Text(("copy", "cast", "add", "fma", "min", "max", "transpose"))
_dtype = Parsed(Either((_name, Integer(0, 255))), dtype_from_neff)

QUEUE = Section(
    "queue",
    (
        Key("type", _name, "in, out, data, embedding_update, dynamic", required=True),
        Key("num_queues", Integer(1, MAX_QUEUES), "hardware queues", 1),
        Key("owner", _name, "engine that triggers it"),
        Key("queue_instances", Array(_name), "rings that can be swapped in and out"),
        Key("semaphore", _semaphore, "completion semaphore"),
        Key("semaphore_set", Array(_semaphore), "completion semaphores"),
    ),
    "One entry of dma_queue.",
    open=True,
)

VARIABLE = Section(
    "variable",
    (
        Key("type", _var_type, "kind of memory", required=True),
        Key("var_id", Integer(0, (1 << 24) - 1), "unique id", required=True),
        Key("size", _count, "bytes", required=True),
        Key("alignment", _count, "power of two, 0 = none", 0),
        Key("fabric_path", _name, "main or alt"),
        Key("file_name", _name, "contents of a variable of type file"),
        Key("backing_variable_off", _count, "offset of a virtual variable in its shared area"),
        Key("backing_buf", Either((_name, _count)), "shared area of a virtual variable"),
        Key("referenced_var_id", _count, "variable whose address a pointer holds"),
        Key("list", Array(_count), "variables that fill the DGE address table"),
    ),
    "One entry of var.",
    open=True,
)


def _side(name: str) -> tuple[Key, ...]:
    return (
        Key(name, _name, "variable"),
        Key(f"{name}_off", _count, "byte offset", 0),
        Key(f"{name}_steps", Array(Integer(-_STEP, _STEP), 1, MAX_PATTERN), "bytes, innermost first"),
        Key(f"{name}_sizes", Array(_size, 1, MAX_PATTERN), "innermost in bytes, the others are counts"),
        Key(f"{name}_dtype", _dtype, "element type, uint8 when absent"),
    )


_scale = (Key("scale", Number(), "fma only, 1.0 when absent"), Key("scale_dtype", _dtype, "float32"))
SOURCE = Section(
    "source",
    (*_side("from"), *_scale),
    "One source of a compute op; sizes or a scale that it lacks are the desc's.",
    open=True,
)

DESC = Section(
    "desc",
    (
        Key("op", _op, "operation", "copy"),
        *_side("from"),
        *_side("to"),
        Key("from_arr", Array(SOURCE, 1, MAX_SOURCES), "sources of a compute op"),
        *_scale,
        Key("constant", Number(), "min and max only"),
        Key("constant_dtype", _dtype, "its element type: float32 (when absent), int32 or uint32"),
        Key("transpose_shape", Array(_count, 4, 4), "transpose only"),
        Key("transpose_element_size", _count, "bytes, transpose only"),
    ),
    "One movement.",
    open=True,
)

ENTRY = Section(
    "dma",
    (
        Key("id", Integer(0, 0xFFFFFFFF), "ties the entry to a trigger", required=True),
        Key("queue", _name, "queue set"),
        Key("instance_name", _name, "queue instance; wins over queue"),
        Key("function_start", _name, "opens a function's run of entries"),
        Key("section_start_desc", Boolean(), "place on the set's first queue", False),
        Key("event", _count, "event set afterwards"),
        Key("semaphore", _semaphore, "incremented by num_queues when all are done"),
        Key("remote_semaphores", Array(_semaphore), "semaphores of the other core"),
        Key("desc", Either((Array(DESC), DESC)), "movements: a list in real files, one object on the official page"),
    ),
    "One entry of an engine's dma list.",
    open=True,
)

_instr: Kind = Either((_name, Array(_name)))
COLLECTIVE = Section(
    "collective",
    (
        Key("slot", _count, "64-byte slot of the trigger in the stream", required=True),
        Key("op", _name, "all-reduce, ...", required=True),
        Key("reduce", _name, "add, ..."),
        Key("dtype", _dtype, "element type", required=True),
        Key("input", _count, "variable id", required=True),
        Key("output", _count, "variable id", required=True),
        Key("elements", _size, "elements moved", required=True),
    ),
    "What a collective trigger does; the payload of the trigger word itself is not published.",
)
COLLECTIVES_KEY = "x_dgekit_collectives"

ENGINE = Section(
    "engine",
    (
        Key("dma", Array(ENTRY), "movements triggered by this engine", []),
        Key("instr", _instr, "instruction member, or a list of them"),
        Key(COLLECTIVES_KEY, Array(COLLECTIVE), "our own companion of collective triggers", []),
    ),
    "An engine's JSON.",
    open=True,
)

DEFINITION = Section(
    "definition",
    (
        Key("name", _name, "subgraph"),
        Key("dma_queue", Mapping(QUEUE, what="queue"), "queue sets by name", {}),
        Key("var", Mapping(VARIABLE, what="variable"), "variables by name", {}),
        *(Key(engine, _name, "engine JSON, relative to the subgraph folder") for engine in ENGINES),
        *(Key(f"{engine}_instr", _instr, "instruction member") for engine in ENGINES),
    ),
    "A subgraph's def.json.",
    open=True,
)


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue set: `num_queues` hardware queues that share one completion semaphore."""

    name: str
    type: str
    num_queues: int = 1
    owner: str = ""
    instances: tuple[str, ...] = ()
    semaphore: int | None = None
    semaphore_set: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of a subgraph; `size` in bytes, `backing_offset` in the shared area `backing_area` (virtual only)."""

    name: str
    type: str
    var_id: int
    size: int
    alignment: int = 0
    file_name: str = ""
    backing_area: str = ""
    backing_offset: int = 0
    table: tuple[int, ...] = ()
    referenced: int | None = None


@dataclass(frozen=True, slots=True)
class Leg:
    """One side of a movement, all in bytes, innermost first; sizes[0] is a byte count, the others are counts."""

    variable: str
    offset: int
    steps: tuple[int, ...] | None
    sizes: tuple[int, ...] | None
    dtype: DtypeInfo | None = None


@dataclass(frozen=True, slots=True)
class Movement:
    """One desc: its op and its two sides; compute ops have several sources, fma a scale for each."""

    op: str
    sources: tuple[Leg, ...]
    target: Leg | None
    where: str = ""
    scales: tuple[float | None, ...] = ()
    scale_dtypes: tuple[DtypeInfo | None, ...] = ()
    constant: float | None = None
    constant_dtype: DtypeInfo | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a dma list."""

    id: int
    queue: str
    semaphore: int | None
    event: int | None
    remote_semaphores: tuple[int, ...]
    movements: tuple[Movement, ...]
    where: str = ""


@dataclass(frozen=True, slots=True)
class Collective:
    """What one collective trigger does, as our companion key states it."""

    slot: int
    op: str
    dtype: DtypeInfo
    input: int
    output: int
    elements: int


def queues_of(definition: dict[str, Any]) -> dict[str, Queue]:
    """Queue sets by name."""
    return {
        name: Queue(
            name,
            table["type"],
            table["num_queues"],
            table["owner"] or "",
            table["queue_instances"] or (),
            table["semaphore"],
            table["semaphore_set"] or (),
        )
        for name, table in definition["dma_queue"].items()
    }


def variables_of(definition: dict[str, Any]) -> dict[str, Variable]:
    """Variables by name."""
    return {
        name: Variable(
            name,
            table["type"],
            table["var_id"],
            table["size"],
            table["alignment"],
            table["file_name"] or "",
            str(table["backing_buf"] or table["fabric_path"] or "main"),
            table["backing_variable_off"] or 0,
            table["list"] or (),
            table["referenced_var_id"],
        )
        for name, table in definition["var"].items()
    }


def lenient_definition(raw: Any, place: Place, found: list[Issue]) -> Any:
    """def.json without the queues and variables that are wrong; what is wrong with each is put into `found`."""
    if not isinstance(raw, dict):
        return raw
    kept = dict(raw)
    for key, section in (("dma_queue", QUEUE), ("var", VARIABLE)):
        if isinstance(raw.get(key), dict):
            kept[key] = {
                name: table
                for name, table in raw[key].items()
                if _passes(section, table, place.key(key).key(name), found)
            }
    return kept


def _passes(section: Section, table: Any, place: Place, found: list[Issue]) -> bool:
    try:
        section.check(table, place)
    except InputError as problem:
        found.append(problem.as_issue())
        return False
    return True


def collectives_of(engine: dict[str, Any]) -> tuple[Collective, ...]:
    """The companions of collective triggers."""
    return tuple(
        Collective(t["slot"], t["op"], t["dtype"], t["input"], t["output"], t["elements"])
        for t in engine[COLLECTIVES_KEY]
    )


def entry_of(table: dict[str, Any], place: Place) -> Entry:
    """One checked entry of a dma list."""
    desc = table["desc"]
    descs = (desc,) if isinstance(desc, dict) else desc or ()
    return Entry(
        table["id"],
        table["instance_name"] or table["queue"] or "",
        table["semaphore"],
        table["event"],
        table["remote_semaphores"] or (),
        tuple(_movement(one, place.key("desc").item(index)) for index, one in enumerate(descs)),
        str(place),
    )


def _movement(desc: dict[str, Any], place: Place) -> Movement:
    sources = [desc] if desc["from"] is not None else list(desc["from_arr"] or ())
    target = _leg(desc, "to") if desc["to"] is not None else None
    scales, scale_dtypes = (
        tuple(desc[key] if source[key] is None else source[key] for source in sources)
        for key in ("scale", "scale_dtype")
    )
    return Movement(
        desc["op"],
        tuple(_source(source, desc) for source in sources),
        target,
        str(place),
        scales,
        scale_dtypes,
        desc["constant"],
        desc["constant_dtype"],
    )


def _source(table: dict[str, Any], desc: dict[str, Any]) -> Leg:
    """A source; one without sizes has those of its desc, the source's side first (neff.md 3)."""
    leg = _leg(table, "from")
    if leg.sizes is not None or table is desc:
        return leg
    side = "from" if desc["from_sizes"] is not None else "to"
    steps = leg.steps if leg.steps is not None else desc[f"{side}_steps"]
    return replace(leg, sizes=desc[f"{side}_sizes"], steps=steps)


def _leg(table: dict[str, Any], side: str) -> Leg:
    return Leg(
        table[side], table[f"{side}_off"], table[f"{side}_steps"], table[f"{side}_sizes"], table[f"{side}_dtype"]
    )


def check_variables(variables: Iterable[Variable], where: str) -> list[Issue]:
    """The sanity rules on variables (neff.md 2): unique ids, alignments that are powers of two."""
    issues = []
    owners: dict[int, str] = {}
    for variable in variables:
        place = f"{where}: var.{variable.name}"
        other = owners.setdefault(variable.var_id, variable.name)
        if other != variable.name:
            message = f"var_id {variable.var_id} belongs to {other} already"
            issues.append(Issue("neff.var_id", "error", message, place, {"var_id": variable.var_id}, "neff 2"))
        if variable.alignment & (variable.alignment - 1):
            message = f"alignment {variable.alignment} is no power of two"
            issues.append(Issue("neff.alignment", "error", message, place, {"alignment": variable.alignment}, "neff 2"))
    return issues

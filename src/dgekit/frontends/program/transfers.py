"""`[[transfers]]` to `Transfer` and `RawWords`: which keys belong to which op, and what they refer to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dgekit.core.dtypes import dtype_named
from dgekit.core.errors import UsageError
from dgekit.core.evt_sem import PROGRAM_CORE
from dgekit.frontends.place import Place, nearest
from dgekit.transfers.events import word_events
from dgekit.transfers.transfer import Access, Bound, Item, RawWords, Transfer, Wait
from dgekit.words.enums import WORD_SIZE, Opcode

INDIRECT_OPS = ("gather", "scatter", "gather_transpose")
REDUCE_KEYS = ("srcs", "dsts", "compute", "scales", "constant", "constant_dtype", "accum", "seed")
OPS_OF_KEY: Mapping[str, tuple[str, ...]] = {
    "src": ("copy", "transpose", *INDIRECT_OPS),
    "indices": INDIRECT_OPS,
    "oob": INDIRECT_OPS,
    "accumulate": ("copy", "gather", "scatter"),
    "non_unique_dst_idx": ("scatter",),
    **dict.fromkeys(REDUCE_KEYS, ("reduce",)),
}
WORD_KEYS = ("name", "word", "mode", "semaphore", "increment", "wait", "engine", "core")


def read_transfers(
    tables: Iterable[dict[str, Any]], raw: list[dict[str, Any]], place: Place, tensors: Iterable[str]
) -> tuple[Item, ...]:
    """All transfers in program order; `raw` are the tables as written, to tell a default from a value given.

    Raises InputError for keys that do not belong together, unknown tensors and names given twice.
    """
    known = frozenset(tensors)
    items = []
    taken: dict[str, int] = {}
    for index, (table, written) in enumerate(zip(tables, raw, strict=True)):
        here = place.item(index)
        name = table["name"] or f"t{index}"
        if name in taken:
            raise here.key("name").error(
                "duplicate", f"transfers[{taken[name]}] is named {name!r} already", fix="give one of them another name"
            )
        taken[name] = index
        reader = _raw_words if table["word"] is not None else _transfer
        items.append(reader(name, table, written, here, known))
    return tuple(items)


def _raw_words(name: str, table: dict[str, Any], written: dict[str, Any], place: Place, known: frozenset[str]) -> Item:
    for key in written:
        if key not in WORD_KEYS:
            raise place.key(key).error(
                "conflict", f"a transfer given as a word has no `{key}`", fix="one of " + ", ".join(WORD_KEYS)
            )
    words: bytes = table["word"]
    pair = Opcode.PSEUDO_DMA_DIRECT2D, Opcode.PSEUDO_EXTENSION
    if len(words) > WORD_SIZE and (words[0], words[WORD_SIZE]) != pair:
        raise place.key("word").error(
            "value",
            f"two words are a pseudo word {pair[0]:#x} and its extension {pair[1]:#x}, "
            f"these are {words[0]:#x} and {words[WORD_SIZE]:#x}",
            values={"first": words[0], "second": words[WORD_SIZE]},
            source="isa-words 3.6",
        )
    core: int | None = table["core"]
    waits, updates = word_events(words[:WORD_SIZE], str(place.key("word")), core or PROGRAM_CORE)
    return RawWords(
        name=name,
        words=words,
        mode=table["mode"],
        semaphore=table["semaphore"],
        increment=table["increment"],
        wait=waits_of(table["wait"], core or PROGRAM_CORE) + waits,
        updates=updates,
        engine=table["engine"],
        where=str(place),
        core=core,
    )


def _transfer(name: str, table: dict[str, Any], written: dict[str, Any], place: Place, known: frozenset[str]) -> Item:
    op: str = table["op"]
    _refuse_foreign_keys(op, written, place)
    _refuse_missing_keys(op, table, place)
    srcs, dsts = (
        tuple(_access(value, place.key(key).item(k), known) for k, value in enumerate(table[key] or ()))
        for key in ("srcs", "dsts")
    )
    return Transfer(
        name=name,
        op=table["op"],
        src=srcs[0] if srcs else _access(table["src"], place.key("src"), known),
        dst=dsts[0] if dsts else _access(table["dst"], place.key("dst"), known),
        mode=table["mode"],
        semaphore=table["semaphore"],
        increment=1 if table["increment"] is None else table["increment"],
        wait=waits_of(table["wait"]),
        indices=_access(table["indices"], place.key("indices"), known) if table["indices"] else None,
        oob=table["oob"] or "error",
        accumulate=table["accumulate"] or "",
        non_unique=bool(table["non_unique_dst_idx"]),
        src_bound=bound_of(table["src_bound"]),
        dst_bound=bound_of(table["dst_bound"]),
        priority=table["priority"],
        queue=table["queue"] or "",
        engine=table["engine"],
        srcs=srcs,
        dsts=dsts,
        compute=table["compute"] or "",
        scales=table["scales"] or (),
        constant=table["constant"],
        constant_dtype=_type_name(table["constant_dtype"], place.key("constant_dtype")),
        accum=_type_name(table["accum"], place.key("accum")),
        seed=table["seed"],
        where=str(place),
    )


def _refuse_foreign_keys(op: str, written: dict[str, Any], place: Place) -> None:
    for key in written:
        ops = OPS_OF_KEY.get(key)
        if ops and op not in ops:
            raise place.key(key).error("conflict", f"op = {op} has no `{key}`", fix="it belongs to " + ", ".join(ops))
    if "core" in written:
        raise place.key("core").error(
            "conflict", "only a transfer given as a word has a `core`", fix="give the core to its tensors"
        )
    if "increment" in written and "semaphore" not in written:
        raise place.key("increment").error("conflict", "an increment without a semaphore", fix="add semaphore = N")


def _refuse_missing_keys(op: str, table: dict[str, Any], place: Place) -> None:
    needed = ["srcs", "compute"] if op == "reduce" else ["src", "dst"]
    if op == "reduce":
        if table["dst"] is not None and table["dsts"] is not None:
            raise place.key("dsts").error("conflict", "`dst` and `dsts` both say where it writes", fix="give one")
        needed.append("dsts" if table["dsts"] is not None else "dst")
    if op in INDIRECT_OPS:
        needed.append("indices")
    for key in needed:
        if table[key] is None:
            raise place.error("missing", f"op = {op} needs `{key}`", fix=f"add {key}")


def _access(value: Any, place: Place, known: frozenset[str]) -> Access:
    if isinstance(value, str):
        return Access(_tensor_name(value, place, known))
    pattern = value["pattern"]
    for index, (_, count) in enumerate(pattern or ()):
        if count < 1:
            raise (
                place.key("pattern")
                .item(index)
                .error(
                    "value", f"count {count} is below 1", values={"count": count}, fix="[step, count], count at least 1"
                )
            )
    return Access(_tensor_name(value["tensor"], place.key("tensor"), known), value["offset"], pattern)


def _tensor_name(name: str, place: Place, known: frozenset[str]) -> str:
    if name not in known:
        near = nearest(name, known)
        raise place.error(
            "tensor", f"there is no tensor {name!r}", fix=f"write {near}" if near else f"add [tensors.{name}]"
        )
    return name


def waits_of(tables: tuple[dict[str, Any], ...] | None, core: int = PROGRAM_CORE) -> tuple[Wait, ...]:
    """Waits on the semaphores of the cores they name, else of `core`."""
    return tuple(
        Wait(t["semaphore"], t["at_least"], "ge", t["decrement"], core if t["core"] is None else t["core"])
        for t in tables or ()
    )


def bound_of(table: dict[str, Any] | None) -> Bound | None:
    """A checked bound table as a value."""
    return Bound(table["register"], table["limit"], table["notify"]) if table else None


def _type_name(name: str | None, place: Place) -> str:
    if name is None:
        return ""
    try:
        return dtype_named(name).name
    except UsageError as problem:
        raise place.error("value", problem.message, fix=problem.fix) from None

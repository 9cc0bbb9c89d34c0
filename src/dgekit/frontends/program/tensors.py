"""`[tensors.NAME]` to `Tensor`: which pins belong to which memory, and how much memory a program may ask for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from dgekit.core.dtypes import E4M3FN
from dgekit.core.errors import Issue
from dgekit.core.generations import Generation
from dgekit.frontends.place import Place
from dgekit.transfers.placement import MEMORY_LIMIT
from dgekit.transfers.transfer import Tensor

_FN_SINCE = 4
_PINS_OF = {"hbm": ("address",), "sbuf": ("partition", "offset")}


def read_tensors(
    tables: Mapping[str, dict[str, Any]],
    place: Place,
    generation: Generation,
    base_dir: Path | None,
    memory_limit: int = MEMORY_LIMIT,
) -> tuple[Tensor, ...]:
    """All tensors, in order of declaration; raises InputError for a wrong pin, a missing file or too many bytes."""
    tensors = tuple(_tensor(name, table, place.key(name), generation, base_dir) for name, table in tables.items())
    _refuse_shared_ids(tensors, place)
    _refuse_too_much(tensors, place, memory_limit)
    return tensors


def tensor_issues(tensors: Iterable[Tensor], generation: Generation) -> list[Issue]:
    """The FN form of E4M3 before v4 is a warning: that hardware computes the IEEE-like form (D54)."""
    if generation.nc >= _FN_SINCE:
        return []
    message = f"{E4M3FN.name} is a form of v4 and later: this run computes it, {generation.name} does not"
    fix = "declare float8_e4m3"
    return [
        Issue("dec.D54", "warning", message, tensor.where, {"nc": generation.nc}, "dec.D54", fix)
        for tensor in tensors
        if tensor.fn_form
    ]


def _tensor(name: str, table: dict[str, Any], place: Place, generation: Generation, base_dir: Path | None) -> Tensor:
    if not name or "=" in name or any(ord(letter) < 32 for letter in name):
        raise place.error("value", "a tensor's name is not empty and holds no `=` and no control character")
    _refuse_foreign_pins(table, place)
    _refuse_absent_hardware(table, place, generation)
    if table["seed"] is not None and table["init"] != "random":
        raise place.key("seed").error("conflict", "a seed without init = random has no effect", fix="remove it")
    _refuse_missing_file(table["init"], place.key("init"), base_dir)
    return Tensor(
        name=name,
        space=table["space"],
        shape=table["shape"],
        dtype=table["dtype"],
        init=table["init"] or "",
        seed=table["seed"] or 0,
        address=table["address"],
        partition=table["partition"],
        offset=table["offset"],
        core=table["core"] or 0,
        var_id=table["var_id"],
        where=str(place),
    )


def _refuse_foreign_pins(table: dict[str, Any], place: Place) -> None:
    space = table["space"]
    for owner, pins in _PINS_OF.items():
        for pin in pins:
            if owner != space and table[pin] is not None:
                legal = ", ".join(_PINS_OF[space])
                raise place.key(pin).error(
                    "conflict", f"`{pin}` pins {owner} tensors, this one is in {space}", fix=f"use {legal}"
                )


def _refuse_absent_hardware(table: dict[str, Any], place: Place, generation: Generation) -> None:
    if table["core"] is not None and table["core"] >= generation.cores:
        raise place.key("core").error(
            "value",
            f"{generation.name} has {generation.cores} cores, there is no core {table['core']}",
            values={"core": table["core"], "cores": generation.cores},
        )
    rows = table["shape"][0] if table["space"] == "sbuf" else 0
    last = (table["partition"] or 0) + rows
    if last > generation.partitions:
        raise place.key("shape").error(
            "value",
            f"{rows} partitions from partition {table['partition'] or 0} on end at {last}, "
            f"SBUF has {generation.partitions}",
            values={"end": last, "partitions": generation.partitions},
            source="dec.D40",
            fix="the first dimension of an sbuf tensor is the partition",
        )


def _refuse_missing_file(init: str | None, place: Place, base_dir: Path | None) -> None:
    if not init or not init.endswith(".npy"):
        return
    path = (base_dir or Path()) / init
    if "\0" in init or not path.is_file():
        raise place.error("file", f"there is no file {init}", values={"path": init})


def _refuse_shared_ids(tensors: tuple[Tensor, ...], place: Place) -> None:
    owners: dict[int, str] = {}
    for tensor in tensors:
        if tensor.var_id is None:
            continue
        if tensor.var_id in owners:
            raise (
                place.key(tensor.name)
                .key("var_id")
                .error(
                    "duplicate",
                    f"variable id {tensor.var_id} belongs to {owners[tensor.var_id]} already",
                    values={"var_id": tensor.var_id},
                )
            )
        owners[tensor.var_id] = tensor.name


def _refuse_too_much(tensors: tuple[Tensor, ...], place: Place, limit: int) -> None:
    total = 0
    for tensor in tensors:
        total += tensor.nbytes
        if total > limit:
            raise (
                place.key(tensor.name)
                .key("shape")
                .error(
                    "memory",
                    f"the tensors up to here ask for {total} bytes, the limit is {limit}",
                    values={"bytes": total, "limit": limit},
                    fix="smaller shapes, or raise memory_limit where the file is loaded",
                )
            )

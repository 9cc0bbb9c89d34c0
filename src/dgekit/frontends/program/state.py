"""Machine state in a transfer file to `MachineInit` (D41)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dgekit.core.state import Mailbox, ShapeRegister
from dgekit.frontends.place import Place, nearest
from dgekit.transfers.transfer import MachineInit

_DIMS = 4


def read_state(program: dict[str, Any], place: Place, tensors: Iterable[str]) -> MachineInit:
    """Registers, tables, mailboxes and semaphores; raises InputError for duplicates and unknown tensors."""
    return MachineInit(
        registers=program["registers"] or {},
        local_registers=program["local_registers"] or {},
        shape_registers=_shape_registers(program["shape_registers"] or (), place.key("shape_registers")),
        address_table=_address_table(program["address_table"] or (), place.key("address_table"), frozenset(tensors)),
        mailboxes=tuple(Mailbox(table["priority"], table["mask"]) for table in program["mailboxes"] or ()),
        priority_bytes=program["priority_bytes"] or (),
        semaphores=program["semaphores"] or {},
        chip_id=program["chip_id"],
    )


def _shape_registers(tables: tuple[dict[str, Any], ...], place: Place) -> dict[int, ShapeRegister]:
    found: dict[int, ShapeRegister] = {}
    for position, table in enumerate(tables):
        index = table["index"]
        if index in found:
            raise place.item(position).key("index").error("duplicate", f"shape register {index} is given twice")
        num, step = _padded(table["num"]), _padded(table["step"])
        found[index] = ShapeRegister(num, step)
    return found


def _padded(values: tuple[int, ...]) -> tuple[int, int, int, int]:
    first, second, third, fourth = values + (1,) * (_DIMS - len(values))
    return first, second, third, fourth


def _address_table(tables: tuple[dict[str, Any], ...], place: Place, known: frozenset[str]) -> dict[int, int | str]:
    found: dict[int, int | str] = {}
    for position, table in enumerate(tables):
        here = place.item(position)
        if table["entry"] in found:
            raise here.key("entry").error("duplicate", f"entry {table['entry']} is given twice")
        if (table["address"] is None) == (table["tensor"] is None):
            raise here.error("conflict", "an entry holds an address or a tensor, one of the two")
        if table["tensor"] is not None and table["tensor"] not in known:
            near = nearest(table["tensor"], known)
            raise here.key("tensor").error(
                "tensor", f"there is no tensor {table['tensor']!r}", fix=f"write {near}" if near else ""
            )
        found[table["entry"]] = table["tensor"] if table["address"] is None else table["address"]
    return found

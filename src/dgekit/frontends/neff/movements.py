"""Entries of a dma list as transfers: byte patterns become accesses, the entry's semaphore its increment.

One transfer a desc (D17); sizes and steps are bytes, innermost first (D46). The last desc of an entry carries the
increment of `num_queues`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from dgekit.core.dtypes import DtypeInfo, dtype_named
from dgekit.core.errors import InputError, Unspecified, Unsupported
from dgekit.frontends.neff.computing import COMPUTE_OPS, operands
from dgekit.frontends.neff.definitions import Entry, Leg, Movement, Queue, Variable
from dgekit.frontends.neff.variables import Home
from dgekit.frontends.place import nearest
from dgekit.transfers.transfer import Access, Mode, Transfer

COPY_OPS = ("copy", "cast")


@dataclass(frozen=True, slots=True)
class Context:
    """What an entry is read against: queues, variables and their homes, the mode its transfers run in.

    `queues` finds a queue set by its own name and by the names of its instances (`queues_by_any_name`).
    """

    queues: Mapping[str, Queue]
    variables: Mapping[str, Variable]
    homes: Mapping[str, Home]
    mode: Mode
    where: str

    def queue_named(self, name: str, where: str) -> Queue:
        """The queue set of that name or with that instance; raises InputError with the nearest name."""
        if name in self.queues:
            return self.queues[name]
        near = nearest(name, self.queues)
        raise InputError(
            f"there is no queue {name!r}" if name else "the entry names no queue",
            rule="neff.queue",
            where=where,
            fix=f"write {near}" if near else "",
        )


def queues_by_any_name(queues: Mapping[str, Queue]) -> dict[str, Queue]:
    """Queue sets by instance name and by their own, which wins."""
    instances = {name: queue for queue in queues.values() for name in queue.instances}
    return {**instances, **queues}


def entry_transfers(entry: Entry, engine: str, context: Context) -> tuple[Transfer, ...]:
    """The transfers of one entry, without waits. Raises InputError, Unsupported or Unspecified naming the entry."""
    queue = context.queue_named(entry.queue, entry.where)
    if not entry.movements:
        raise InputError("the entry has no desc", rule="neff.missing", where=entry.where)
    semaphore = _semaphore(entry, queue)
    last = len(entry.movements) - 1
    return tuple(
        replace(
            _transfer(movement, f"{entry.queue}.{entry.id}" + (f".{index}" if last else ""), context),
            semaphore=semaphore if index == last else None,
            increment=queue.num_queues,
            num_queues=queue.num_queues,
            queue=queue.name,
            queue_type=queue.type,
            engine=engine,
        )
        for index, movement in enumerate(entry.movements)
    )


def touched_variables(entry: Entry) -> set[str]:
    """Names of the variables an entry reads or writes."""
    legs = [leg for movement in entry.movements for leg in (*movement.sources, movement.target) if leg]
    return {leg.variable for leg in legs}


def _semaphore(entry: Entry, queue: Queue) -> int | None:
    if entry.event is not None:
        raise Unsupported(
            f"event {entry.event} is set afterwards; events are not modelled", rule="neff.event", where=entry.where
        )
    if entry.remote_semaphores:
        raise Unsupported(
            "the entry increments semaphores of another core", rule="neff.remote_semaphores", where=entry.where
        )
    if entry.semaphore is not None:
        return entry.semaphore
    if queue.semaphore is None and queue.semaphore_set:
        raise Unspecified(
            f"queue {queue.name} has a set of semaphores and the entry names none: which one counts is not published",
            rule="neff.semaphore",
            where=entry.where,
            source="neff 2, 3",
        )
    return queue.semaphore


def _transfer(movement: Movement, name: str, context: Context) -> Transfer:
    if movement.op == "transpose":
        raise Unspecified(
            "the order of transpose_shape is not published",
            rule="neff.transpose",
            where=movement.where,
            source="neff 3",
        )
    if movement.op in COMPUTE_OPS:
        return _reduction(movement, name, context)
    if len(movement.sources) != 1 or movement.target is None:
        raise InputError(
            f"op {movement.op} has {len(movement.sources)} sources and {int(movement.target is not None)} targets",
            rule="neff.missing",
            where=movement.where,
            fix="one from and one to",
        )
    source, target = movement.sources[0], movement.target
    in_type, out_type = element_types(movement, source, target)
    src = _access(source, in_type, context, f"{movement.where}.from")
    dst = _access(target, out_type, context, f"{movement.where}.to")
    check_amount(source, target, in_type, out_type, movement.where)
    return Transfer(name, "copy", src, dst, mode=context.mode, where=movement.where)


def _reduction(movement: Movement, name: str, context: Context) -> Transfer:
    """A compute op as a reduction: every side in its own type, uint8 where none is named."""
    if not movement.sources or movement.target is None:
        raise InputError(
            f"op {movement.op} has {len(movement.sources)} sources and {int(movement.target is not None)} targets",
            rule="neff.missing",
            where=movement.where,
            fix="from_arr and one to",
        )
    byte = dtype_named("uint8")
    srcs = tuple(
        _access(leg, leg.dtype or byte, context, f"{movement.where}.from_arr[{number}]")
        for number, leg in enumerate(movement.sources)
    )
    target = movement.target
    dst = _access(target, target.dtype or byte, context, f"{movement.where}.to")
    where = movement.where
    return Transfer(name, "reduce", srcs[0], dst, mode=context.mode, srcs=srcs, where=where, **operands(movement))


def element_types(movement: Movement, source: Leg, target: Leg) -> tuple[DtypeInfo | None, DtypeInfo | None]:
    """Element types of both sides; None where bytes stay bytes."""
    byte = dtype_named("uint8")
    in_type, out_type = source.dtype or byte, target.dtype or byte
    if in_type == out_type:
        return None, None
    if movement.op == "copy":
        raise Unspecified(
            "a copy between two different dtypes: whether it casts is not published",
            rule="neff.dtype",
            where=movement.where,
            source="neff 3",
            fix='op = "cast"',
        )
    return in_type, out_type


def _access(leg: Leg, dtype: DtypeInfo | None, context: Context, where: str) -> Access:
    sizes, steps = leg_pattern(leg, where)
    variable = variable_named(leg.variable, context.variables, where)
    check_bounds(leg, sizes, steps, variable, where)
    home = context.homes[variable.name]
    pattern = tuple(zip(reversed(steps), reversed(sizes), strict=True))
    byte_access = Access(home.tensor, home.offset + leg.offset, pattern)
    return byte_access if dtype is None else _in_elements(byte_access, dtype, where)


def leg_pattern(leg: Leg, where: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Sizes and steps of a side, one step a size; raises InputError where they do not go together."""
    if leg.sizes is None:
        raise InputError("no sizes are given", rule="neff.missing", where=where)
    steps = leg.steps
    if steps is None and len(leg.sizes) == 1:
        steps = (1,)
    if steps is None or len(steps) != len(leg.sizes):
        raise InputError(
            f"{len(leg.sizes)} sizes and {len(steps or ())} steps",
            rule="neff.pattern",
            where=where,
            values={"sizes": len(leg.sizes), "steps": len(steps or ())},
            fix="one step a size",
        )
    return leg.sizes, steps


def variable_named(name: str, variables: Mapping[str, Variable], where: str) -> Variable:
    """The variable of that name; raises InputError with the nearest name."""
    if name in variables:
        return variables[name]
    near = nearest(name, variables)
    raise InputError(
        f"there is no variable {name!r}", rule="neff.variable", where=where, fix=f"write {near}" if near else ""
    )


def check_bounds(leg: Leg, sizes: tuple[int, ...], steps: tuple[int, ...], variable: Variable, where: str) -> None:
    """Raises InputError unless every byte of the pattern lies in its variable."""
    low = leg.offset + sum(min(0, step * (size - 1)) for step, size in zip(steps, sizes, strict=True))
    high = leg.offset + sum(max(0, step * (size - 1)) for step, size in zip(steps, sizes, strict=True))
    if low < 0 or high >= variable.size:
        raise InputError(
            f"the pattern touches bytes {low}..{high} of {variable.name}, which has {variable.size}",
            rule="neff.bounds",
            where=where,
            values={"low": low, "high": high, "size": variable.size},
            source="neff 2",
        )


def _in_elements(access: Access, dtype: DtypeInfo, where: str) -> Access:
    """A byte pattern counted in elements of a type; its innermost run must be contiguous whole elements."""
    size = dtype.size
    *outer, (step, count) = access.pattern or ()
    numbers = [access.offset, count, *(outer_step for outer_step, _ in outer)]
    if step != 1 or any(number % size for number in numbers):
        raise InputError(
            f"the byte pattern does not consist of whole elements of {dtype.name} ({size} bytes)",
            rule="neff.dtype",
            where=where,
            values={"size": size, "offset": access.offset, "innermost": count, "step": step},
        )
    pattern = (*((outer_step // size, outer_count) for outer_step, outer_count in outer), (1, count // size))
    return Access(access.tensor, access.offset // size, pattern, dtype)


def check_amount(source: Leg, target: Leg, in_type: DtypeInfo | None, out_type: DtypeInfo | None, where: str) -> None:
    """Raises InputError unless both sides hold the same amount: bytes, or elements where both types are given."""
    read = math.prod(source.sizes or ()) // (in_type.size if in_type else 1)
    written = math.prod(target.sizes or ()) // (out_type.size if out_type else 1)
    if read != written:
        unit = "elements" if in_type else "bytes"
        raise InputError(
            f"the source has {read} {unit}, the destination {written}",
            rule="neff.amount",
            where=where,
            values={"from": read, "to": written},
            source="neff 3",
        )


def collective_copy(name: str, src: str, dst: str, nbytes: int, context: Context, where: str) -> Transfer:
    """A collective at one rank: its input is its output, by a plain host copy of `nbytes` bytes (D43)."""
    for variable in (src, dst):
        if nbytes > context.variables[variable].size:
            raise InputError(
                f"a collective of {nbytes} bytes on {variable} of {context.variables[variable].size} bytes",
                rule="neff.bounds",
                where=where,
                values={"bytes": nbytes, "size": context.variables[variable].size},
            )
    legs = [Access(context.homes[v].tensor, context.homes[v].offset, ((1, nbytes),)) for v in (src, dst)]
    return Transfer(name, "copy", legs[0], legs[1], mode="none", where=where)

"""Variables of a subgraph as tensors: who gets memory, where shared areas lie, what everything holds at the start.

Only inputs, outputs and variables that something touches get memory. Virtual variables lie in a shared scratchpad,
one area a backing buffer or fabric path, at their own offsets (neff.md 2); contents follow decision D43.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dgekit.core.dtypes import DtypeInfo, dtype_named
from dgekit.core.errors import InputError, Unsupported
from dgekit.frontends.neff.definitions import Variable
from dgekit.frontends.place import nearest
from dgekit.transfers.placement import MEMORY_LIMIT
from dgekit.transfers.transfer import Tensor

ADDRESS_TYPES = ("pointer", "dge-table")
_AREA = "scratchpad"
_ALWAYS = ("input", "output")


@dataclass(frozen=True, slots=True)
class Home:
    """Where a variable's bytes are: a tensor, and the byte offset of the variable in it."""

    tensor: str
    offset: int = 0


@dataclass(frozen=True, slots=True)
class VariableMemory:
    """The tensors of a subgraph, the home of each variable, and contents given as bytes."""

    tensors: tuple[Tensor, ...]
    homes: Mapping[str, Home]
    arrays: Mapping[str, bytes]


def place_variables(
    variables: Mapping[str, Variable],
    touched: Iterable[str],
    contents: Mapping[str, bytes],
    where: str,
    memory_limit: int = MEMORY_LIMIT,
) -> VariableMemory:
    """Tensors for inputs, outputs and what is touched; `contents` are bytes by variable name.

    Raises InputError when all of it together is above `memory_limit` bytes, Unsupported for a touched variable that
    holds addresses.
    """
    wanted = set(touched)
    kept = [v for v in variables.values() if v.size and (v.name in wanted or v.type in _ALWAYS)]
    for variable in kept:
        if variable.type in ADDRESS_TYPES:
            raise Unsupported(
                f"variable {variable.name} of type {variable.type} holds device addresses; nothing fills it here",
                rule="neff.variable",
                where=where,
                source="neff 2",
            )
    byte = dtype_named("uint8")
    own = [_tensor(v, byte, where) for v in kept if v.type != "virtual"]
    shared = _areas([v for v in kept if v.type == "virtual"], variables, byte, where)
    tensors = (*own, *shared)
    total = sum(tensor.nbytes for tensor in tensors)
    if total > memory_limit:
        raise InputError(
            f"the variables in use ask for {total} bytes, the limit is {memory_limit}",
            rule="neff.memory",
            where=where,
            values={"bytes": total, "limit": memory_limit},
        )
    homes = {v.name: _home(v) for v in kept}
    return VariableMemory(tensors, homes, _arrays(kept, homes, tensors, contents, where))


def _tensor(variable: Variable, byte: DtypeInfo, where: str) -> Tensor:
    on_chip = variable.type == "state-buffer"
    return Tensor(
        name=variable.name,
        space="sbuf" if on_chip else "hbm",
        shape=(variable.size,),
        dtype=byte,
        init="arange" if variable.type == "input" else "zeros",
        partition=0 if on_chip else None,
        offset=0 if on_chip else None,
        var_id=variable.var_id,
        linear=on_chip,
        where=f"{where}: var.{variable.name}",
    )


def _areas(virtual: list[Variable], variables: Mapping[str, Variable], byte: DtypeInfo, where: str) -> Iterable[Tensor]:
    """One tensor a shared area; its id is above all ids of the file, so that no word can name it by accident."""
    following = max((v.var_id for v in variables.values()), default=-1) + 1
    sizes: dict[str, int] = {}
    for one in virtual:
        sizes[one.backing_area] = max(sizes.get(one.backing_area, 0), one.backing_offset + one.size)
    for index, (area, size) in enumerate(sorted(sizes.items())):
        yield Tensor(
            f"{_AREA}.{area}", "hbm", (size,), byte, "zeros", var_id=following + index, where=f"{where}: {area}"
        )


def _home(variable: Variable) -> Home:
    if variable.type == "virtual":
        return Home(f"{_AREA}.{variable.backing_area}", variable.backing_offset)
    return Home(variable.name)


def _arrays(
    kept: list[Variable],
    homes: Mapping[str, Home],
    tensors: Iterable[Tensor],
    contents: Mapping[str, bytes],
    where: str,
) -> dict[str, bytes]:
    sizes = {variable.name: variable.size for variable in kept}
    found: dict[str, bytes] = {}
    for name, data in contents.items():
        if name not in sizes:
            near = nearest(name, sizes)
            raise InputError(
                f"{name!r} is no variable of this program",
                rule="neff.variable",
                where=where,
                fix=f"write {near}" if near else "one of " + ", ".join(sizes),
            )
        if len(data) > sizes[name]:
            raise InputError(
                f"{len(data)} bytes given for {name} of {sizes[name]} bytes",
                rule="neff.size",
                where=where,
                values={"given": len(data), "size": sizes[name]},
            )
        if homes[name].tensor != name:
            raise Unsupported(f"{name} lies in shared memory; its contents cannot be given", where=where)
        found[name] = data
    return found


def member_contents(member: bytes, name: str, where: str) -> bytes:
    """The bytes of a `file` variable: the data of a .npy member, any other member as it is."""
    if not name.endswith(".npy"):
        return member
    import io

    import numpy as np

    try:
        loaded: Any = np.load(io.BytesIO(member), allow_pickle=False)
    except Exception as problem:  # numpy's header parser lets syntax, token, overflow and memory errors through
        reason = str(problem)[:200]
        raise InputError(f"member {name} is no .npy array: {reason}", rule="input.npy", where=where) from None
    if not isinstance(loaded, np.ndarray):
        raise InputError(f"member {name} is an archive, not one .npy array", rule="input.npy", where=where)
    return loaded.tobytes()

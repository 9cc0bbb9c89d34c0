"""NEFFs for tests: one or two subgraphs, in either naming, of given queues, variables and entries."""

from __future__ import annotations

import json
from typing import Any

from dgekit.frontends.neff.write import build_neff

Json = dict[str, Any]
QUEUES: Json = {"q": {"type": "data", "num_queues": 16, "owner": "pool", "semaphore": 3}}
VARIABLES: Json = {
    "x": {"type": "input", "var_id": 0, "size": 1 << 20},
    "y": {"type": "output", "var_id": 1, "size": 1 << 20},
    "sb": {"type": "state-buffer", "var_id": 2, "size": 1 << 25},
}


def copy(source: str = "x", target: str = "y", sizes: list[int] | None = None, **more: Any) -> Json:
    """A desc with the same contiguous pattern on both sides."""
    sizes = sizes or [256]
    steps, step = [1], 1
    for size in sizes[:-1]:
        step *= size
        steps.append(step)
    sides = {f"{side}_{key}": value for side in ("from", "to") for key, value in (("sizes", sizes), ("steps", steps))}
    return {"op": "copy", "from": source, "to": target, **sides, **more}


def entry(*descs: Json, id: int = 0, queue: str = "q", **more: Any) -> Json:
    return {"id": id, "queue": queue, "desc": list(descs), **more}


def members(
    entries: list[Json],
    queues: Json | None = None,
    variables: Json | None = None,
    *,
    cores: int = 1,
    new_names: bool = False,
    stream: bytes = b"",
    **more: bytes,
) -> dict[str, Any]:
    """Members as JSON values and bytes; every core has the same program."""
    pool, kelf = ("Pool0", "kelf-0.json") if new_names else ("pool", "kelf-a.json")
    names = [f"sg{core:02}" for core in range(cores)]
    found: dict[str, Any] = {
        "neff.json": {"nodes": [{"op": "null"}, {"attrs": {"func_name": "__kelf", "kelf": kelf}}]},
        kelf: {"target": "*", "graphs": [{"name": name, "definition": f"{name}/def.json"} for name in names]},
    }
    for name in names:
        found[f"{name}/def.json"] = {
            "name": name,
            "pool": f"{pool}.json",
            "pool_instr": f"{pool}.bin",
            "dma_queue": QUEUES if queues is None else queues,
            "var": VARIABLES if variables is None else variables,
        }
        found[f"{name}/{pool}.json"] = {"dma": entries}
        found[f"{name}/{pool}.bin"] = stream
    return {**found, **more}


def pack(found: dict[str, Any], header: dict[str, Any] | None = None, *, compress: bool = True) -> bytes:
    """The NEFF of such members."""
    raw = {name: value if isinstance(value, bytes) else json.dumps(value).encode() for name, value in found.items()}
    return build_neff(raw, header, compress=compress)


def neff(entries: list[Json], *args: Any, **more: Any) -> bytes:
    """The NEFF of `members(...)`."""
    return pack(members(entries, *args, **more))

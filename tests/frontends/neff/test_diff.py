"""Two NEFFs by meaning: what does not count changes nothing, everything else is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from neffs import VARIABLES, copy, entry, members, pack

from dgekit.frontends.neff.diff import LISTED, Difference, diff_neffs
from dgekit.frontends.neff.opened import open_neff
from dgekit.words.structs import PseudoDmaTrigger

EXAMPLE = Path(__file__).parents[3] / "examples" / "gradient.neff"
ENTRIES = [entry(copy(), id=number, semaphore=number) for number in range(3)]
STREAM = PseudoDmaTrigger(queue_name="q").encode() + PseudoDmaTrigger(queue_name="q", dma_block_id=1).encode()
VARIABLES_WITH_FILE = {**VARIABLES, "w": {"type": "file", "var_id": 3, "size": 4, "file_name": "w.npy"}}


def base(entries: list[dict[str, Any]] = ENTRIES, **more: Any) -> dict[str, Any]:
    found = members(entries, None, VARIABLES_WITH_FILE, stream=STREAM, **more)
    return {
        **found,
        "sg00/w.npy": b"1234",
        "info.json": {"from": "/usr/me/model.py", "b": 1},
        "log.txt": b"at /a/b.py\n",
    }


def differences(left: Any, right: Any) -> list[Difference]:
    return list(diff_neffs(*(open_neff(side if isinstance(side, bytes) else pack(side)) for side in (left, right))))


def reversed_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: reversed_keys(one) for key, one in reversed(value.items())}
    return [reversed_keys(one) for one in value] if isinstance(value, list) else value


def test_what_does_not_count() -> None:
    """Order of members, keys and entries; form; defaults written out; hash, sizes, uuid; paths; names of members."""
    other = {name: reversed_keys(value) for name, value in reversed(base(ENTRIES[::-1]).items())}
    explicit = [
        {**one, "queue": None, "instance_name": "q", "section_start_desc": False,
         "desc": {**one["desc"][0], "from_off": 0, "to_dtype": "uint8"}}
        for one in ENTRIES
    ]  # fmt: skip
    del other["info.json"], other["log.txt"]
    other |= {"extra/info.json": {"b": 1, "from": "/srv/you/model.py"}, "log.txt": b"at /c/d/b.py\n"}
    other["sg00/pool.json"] = {"dma": explicit}
    for right in (
        pack(other, {"uuid": b"other", "hash": bytes(32), "data_size": 3}, compress=False),
        {**base(new_names=True)},
    ):
        assert differences(base(), right) == []
    renamed = base()
    renamed["sg00/def.json"] = json.loads(json.dumps(renamed["sg00/def.json"]).replace("w.npy", "x/v.npy"))
    renamed["sg00/x/v.npy"] = renamed.pop("sg00/w.npy")
    assert differences(base(), renamed) == []
    assert differences(EXAMPLE.read_bytes(), EXAMPLE.read_bytes()) == []


def changed(member: str, *path: Any) -> dict[str, Any]:
    found = json.loads(json.dumps({k: v for k, v in base().items() if not isinstance(v, bytes)}))
    holder = found[member]
    for key in path[:-2]:
        holder = holder[key]
    holder[path[-2]] = path[-1]
    return {**base(), **found}


WORD = STREAM[:64] + PseudoDmaTrigger(queue_name="q", dma_block_id=2).encode()
CHANGED = [
    (pack(base(), {"lnc_size": 2}), "header.lnc_size", 1, 2),
    (changed("kelf-a.json", "target", "cayman"), "target", "*", "CAYMAN"),
    (changed("sg00/def.json", "dma_queue", "q", "num_queues", 8), "sg00.queue q.num_queues", 16, 8),
    (changed("sg00/def.json", "dma_queue", "r", {"type": "in"}), "sg00.queue r", None, "in"),
    (changed("sg00/def.json", "var", "x", "size", 1 << 21), "sg00.variable x.size", 1 << 20, 1 << 21),
    ({**base(), "sg00/w.npy": b"1235"}, "sg00.variable w.file_name", ..., ...),
    ({**base(), "sg00/pool.bin": WORD}, "sg00.pool.stream slot 1.dma_block_id", 1, 2),
    ({**base(), "sg00/pool.bin": STREAM[:64]}, "sg00.pool.stream", "128 bytes", "64 bytes"),
    ({**base(), "info.json": {"from": "/usr/me/other.py", "b": 1}}, "member info.json", ..., ...),
    ({**base(), "log.txt": b"other"}, "member log.txt", ..., ...),
    ({**base(), "raw.bin": b"\xff"}, "member raw.bin", None, ...),
    (base(ENTRIES[:2]), "sg00.pool.dma", ..., None),
    (base([*ENTRIES, ENTRIES[0]]), "sg00.pool.dma", None, ...),
]


@pytest.mark.parametrize(("right", "where", "left_has", "right_has"), CHANGED, ids=[case[1] for case in CHANGED])
def test_what_counts(right: Any, where: str, left_has: Any, right_has: Any) -> None:
    (found,) = differences(base(), right)
    assert found.where == where
    for has, value in ((left_has, found.left), (right_has, found.right)):
        assert value is not None if has is ... else value == has
    (back,) = differences(right, base())
    assert (back.where, back.left, back.right) == (where, found.right, found.left)


def test_subgraphs_and_engines_of_one_side() -> None:
    assert differences(base(), base(cores=2))[0].where == "subgraph sg01"
    without = base()
    without["sg00/def.json"] = {k: v for k, v in without["sg00/def.json"].items() if not k.startswith("pool")}
    assert "sg00.pool" in [one.where for one in differences(base(), without)]


def test_many_entries_are_counted() -> None:
    more = [entry(copy(from_off=number), id=9) for number in range(LISTED + 30)]
    found = differences(base(), base([*ENTRIES, *more]))
    assert len(found) == LISTED + 1 and found[-1].right == "and 30 more"
    assert json.loads(found[0].right)["id"] == 9


def test_a_stream_of_odd_size() -> None:
    left, right = ({**base(), "sg00/pool.bin": bytes(65) + end} for end in (b"a", b"b"))
    (found,) = differences(left, right)
    assert found.where == "sg00.pool.stream" and found.left.startswith("sha256 ")

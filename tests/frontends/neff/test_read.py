"""Following references through a NEFF, with either naming, and what is missing or of the wrong type on the way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgekit.core.dtypes import Dtype
from dgekit.core.errors import DgeError, InputError
from dgekit.frontends.neff.archive import Limits
from dgekit.frontends.neff.json_member import MAX_JSON
from dgekit.frontends.neff.read import Neff, read_neff
from dgekit.frontends.neff.write import build_neff

EXAMPLE = Path(__file__).parents[3] / "examples" / "gradient.neff"


def parts() -> dict[str, Any]:
    """A NEFF in the newer naming, as JSON values and bytes by member name."""
    return {
        "neff.json": {"nodes": [{"op": "null"}, {"attrs": {"func_name": "__kelf", "kelf": "kelf-0.json"}}]},
        "kelf-0.json": {
            "version": "0.5",
            "target": "mariana",
            "graphs": [{"name": "sg00", "definition": "sg00/def.json"}],
        },
        "sg00/def.json": {
            "name": "sg00",
            "pool": "Pool0.json",
            "pool_instr": "Pool0.bin",
            "act": "Activation0.json",
            "dma_queue": {"q": {"type": "in", "num_queues": 16, "semaphore": 3, "queue_instances": ["q_0"]}},
            "var": {
                "x": {"type": "input", "var_id": 0, "size": 64, "element_size": 4},
                "y": {"type": "output", "var_id": 1, "size": 64, "alignment": 64},
            },
        },
        "sg00/Pool0.json": {"dma": [{"id": 5, "instance_name": "q_0", "queue": "z", "desc": DESC}]},
        "sg00/Activation0.json": {"instr": ["a.bin", "b.bin"], "activation_function_sets": []},
        "sg00/Pool0.bin": bytes(64),
        "sg00/a.bin": b"a" * 64,
        "sg00/b.bin": b"b" * 64,
    }


DESC = {"from": "x", "from_sizes": [64], "from_steps": [1], "to": "y", "to_sizes": [64], "to_steps": [1]}


def pack(members: dict[str, Any]) -> bytes:
    return build_neff({k: v if isinstance(v, bytes) else json.dumps(v).encode() for k, v in members.items()})


def read(members: dict[str, Any]) -> Neff:
    return read_neff(pack(members), name="f.neff")


def test_the_newer_naming() -> None:
    neff = read(parts())
    assert neff.issues == () and neff.target is not None and neff.target.name == "MARIANA"
    (graph,) = neff.subgraphs
    assert graph.queues["q"].num_queues == 16 and graph.queues["q"].instances == ("q_0",)
    assert graph.variables["y"].alignment == 64 and graph.variables["x"].var_id == 0
    pool = graph.engines["pool"]
    assert (pool.stream_member, pool.stream) == ("sg00/Pool0.bin", bytes(64))
    (entry,) = pool.entries
    assert (entry.id, entry.queue) == (5, "q_0")
    (movement,) = entry.movements
    assert movement.op == "copy" and movement.sources[0].sizes == (64,) and movement.target is not None
    assert graph.engines["act"].stream == b"a" * 64 + b"b" * 64
    assert set(graph.engines) == {"pool", "act"}


def test_the_sample_is_the_published_one() -> None:
    neff = read_neff(EXAMPLE)
    assert neff.issues == () and neff.target is None
    assert neff.header.number("pkg_version") == 2 and neff.header.number("neff_version_major") == 2
    assert neff.header.text("neff_build_version").startswith("2.0.21884.0")
    names = {"neff.json", "kelf-a.json", "sg00/def.json"}
    names |= {f"sg00/{engine}.{end}" for engine in ("pe", "act", "pool", "dve", "sp") for end in ("json", "bin", "asm")}
    assert set(neff.members) == names  # and the folder entry: 19 in all
    (graph,) = neff.subgraphs
    assert {q.name: (q.type, q.owner, q.semaphore, q.num_queues) for q in graph.queues.values()} == {
        "q_gradient_in": ("in", "pool", 10, 1),
        "q_gradient_out": ("out", "pool", 11, 1),
    }
    ids = {name: variable.var_id for name, variable in graph.variables.items()}
    assert ids == {"input": 0, "state-buffer": 1, "output": 2, "gradient_in": 3, "gradient_out": 4}
    pool, pe = graph.engines["pool"].stream, graph.engines["pe"].stream
    assert len(pool) == 192 and len(pe) == 64
    assert pool[:12] == bytes.fromhex("c1100000") + bytes(8) and pool[12:26] == b"q_gradient_in\0"
    assert pool[64:70] == bytes.fromhex("c11000000416") and pool[128:134] == bytes.fromhex("a0100000040b")
    assert pe[:12] == bytes.fromhex("c8100000040a131600000000")
    assert [e.name for e in graph.engines.values() if not e.stream] == ["act", "dve", "sp"]


def test_desc_may_be_one_object_or_a_list() -> None:
    members = parts()
    members["sg00/Pool0.json"] = {
        "dma": [
            {"id": 0, "queue": "q", "desc": [DESC, {**DESC, "op": "cast", "from_dtype": 5, "to_dtype": "bfloat16"}]}
        ]
    }
    _, cast = read(members).subgraphs[0].engines["pool"].entries[0].movements
    assert cast.sources[0].dtype is not None and cast.sources[0].dtype.code == Dtype.FP32
    assert cast.target is not None and cast.target.dtype is not None and cast.target.dtype.code == Dtype.BFLOAT16


def test_compute_sources() -> None:
    members = parts()
    source = {"from": "x", "from_sizes": [64], "from_steps": [1]}
    members["sg00/Pool0.json"]["dma"][0]["desc"] = {
        "op": "add",
        "from_arr": [source, source],
        "to": "y",
        "to_sizes": [64],
        "to_steps": [1],
    }
    (movement,) = read(members).subgraphs[0].engines["pool"].entries[0].movements
    assert len(movement.sources) == 2


@pytest.mark.parametrize("absent", ["neff.json", "sg00/Pool0.bin", "sg00/Activation0.json", "sg00/a.bin"])
def test_absent_members_are_an_issue(absent: str) -> None:
    members = parts()
    del members[absent]
    neff = read(members)
    assert {issue.rule for issue in neff.issues} == {"neff.absent"}
    assert absent in neff.issues[0].message and neff.issues[0].severity == "warning"
    assert neff.subgraphs[0].name == "sg00"


def test_an_unknown_target_is_an_issue() -> None:
    members = parts()
    members["kelf-0.json"]["target"] = "granite"
    neff = read(members)
    assert [issue.rule for issue in neff.issues] == ["neff.target"] and neff.target is None


def change(member: str, *path: Any) -> dict[str, Any]:
    """The parts with one value set: the last of `path`, under the keys before it."""
    members = parts()
    if len(path) == 1:
        members[member] = path[0]
        return members
    holder = members[member]
    for key in path[:-2]:
        holder = holder[key]
    holder[path[-2]] = path[-1]
    return members


def without(member: str) -> dict[str, Any]:
    members = parts()
    del members[member]
    return members


POOL = "sg00/Pool0.json"
DEF = "sg00/def.json"
WRONG = [
    (without("kelf-0.json"), "neff.reference", "kelf-0.json"),
    (without(DEF), "neff.reference", "kelf-0.json: graphs[0].definition"),
    (change("neff.json", {"nodes": []}), "neff.reference", "f.neff"),
    (change("neff.json", []), "neff.type", "neff.json: nodes"),
    (change("neff.json", {"nodes": 3}), "neff.type", "neff.json: nodes"),
    (change("kelf-0.json", []), "neff.type", "kelf-0.json: graphs"),
    (change("kelf-0.json", {"graphs": [{"name": 3, "definition": "d"}]}), "neff.type", "kelf-0.json: graphs[0]"),
    (change("kelf-0.json", {"graphs": [7]}), "neff.type", "kelf-0.json: graphs[0]"),
    (change(DEF, b"{"), "neff.json", DEF),
    (change(DEF, b"\xff"), "neff.json", DEF),
    (change(DEF, b'{"a": NaN}'), "neff.json", DEF),
    (change(DEF, b'{"a": 1, "a": 2}'), "neff.json", DEF),
    (change(DEF, b"[" * 100_000), "neff.json", DEF),
    (change(DEF, b'{"a": ' + b"9" * 5000 + b"}"), "neff.json", DEF),
    (change(DEF, []), "neff.type", DEF),
    (change(DEF, "pool", 3), "neff.type", "pool"),
    (change(DEF, "var", []), "neff.type", "var"),
    (change(DEF, "var", "x", "size", "64"), "neff.type", "var.x.size"),
    (change(DEF, "var", "x", "size", -1), "neff.value", "var.x.size"),
    (change(DEF, "var", "x", "type", "inputs"), "neff.value", "var.x.type"),
    (change(DEF, "var", "x", {"type": "input", "size": 1}), "neff.missing", "var.x"),
    (change(DEF, "dma_queue", "q", "num_queues", 17), "neff.value", "dma_queue.q.num_queues"),
    (change(DEF, "dma_queue", "q", "semaphore", 256), "neff.value", "dma_queue.q.semaphore"),
    (change(DEF, "dma_queue", "q", {}), "neff.missing", "dma_queue.q"),
    (change(POOL, "dma", {}), "neff.type", "dma"),
    (change(POOL, "dma", 0, "id", None), "neff.type", "dma[0].id"),
    (change(POOL, "dma", 0, "desc", {**DESC, "op": "move"}), "neff.value", "dma[0].desc.op"),
    (change(POOL, "dma", 0, "desc", [{**DESC, "from_sizes": [1] * 5}]), "neff.value", "dma[0].desc[0].from_sizes"),
    (change(POOL, "dma", 0, "desc", {**DESC, "from_sizes": [0]}), "neff.value", "dma[0].desc.from_sizes[0]"),
    (change(POOL, "dma", 0, "desc", {**DESC, "from_dtype": 99}), "neff.value", "dma[0].desc.from_dtype"),
    (change(POOL, "dma", 0, "desc", {**DESC, "from_off": -1}), "neff.value", "dma[0].desc.from_off"),
    (change(POOL, "dma", 0, "desc", {**DESC, "op": "fma", "scale": "2"}), "neff.type", "dma[0].desc.scale"),
]


@pytest.mark.parametrize(("members", "rule", "where"), WRONG, ids=[f"{n}-{case[1]}" for n, case in enumerate(WRONG)])
def test_wrong_content_names_member_and_rule(members: dict[str, Any], rule: str, where: str) -> None:
    with pytest.raises(InputError) as caught:
        read(members)
    assert caught.value.rule == rule
    assert caught.value.where.startswith("f.neff") and where in caught.value.where


def test_a_missing_kelf_needs_no_graph_if_others_are_there() -> None:
    members = parts()
    del members["neff.json"], members["kelf-0.json"]
    with pytest.raises(InputError, match="no kelf file"):
        read(members)


def test_variables_are_checked() -> None:
    members = change(DEF, "var", "y", "var_id", 0)
    assert {issue.rule: issue.severity for issue in read(members).issues} == {"neff.var_id": "error"}
    members = change(DEF, "var", "y", "alignment", 48)
    assert {issue.rule: issue.severity for issue in read(members).issues} == {"neff.alignment": "error"}


def test_json_has_a_limit() -> None:
    members = change(DEF, b" " * (MAX_JSON + 1))
    with pytest.raises(InputError) as caught:
        read_neff(pack(members), limits=Limits(ratio=10_000))
    assert caught.value.rule == "neff.limit" and caught.value.values["limit"] == MAX_JSON


def test_files(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read_neff(tmp_path / "none.neff")
    assert caught.value.rule == "input.file"
    with pytest.raises(InputError):
        read_neff(tmp_path)
    path = tmp_path / "f.neff"
    path.write_bytes(pack(parts()))
    assert read_neff(path).source == "f.neff"
    with pytest.raises(InputError) as caught:
        read_neff(path, limits=Limits(unpacked=100))
    assert caught.value.rule == "neff.limit"


def test_header_issues_are_passed_on() -> None:
    data = build_neff(
        {k: v if isinstance(v, bytes) else json.dumps(v).encode() for k, v in parts().items()}, {"feature_bits": 0x100}
    )
    assert [issue.rule for issue in read_neff(data).issues] == ["neff.features"]
    assert read_neff(data, supported=0x100).issues == ()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 1 << 20), st.binary(max_size=30))
def test_damaged_files_raise_nothing_else(at: int, put: bytes) -> None:
    data = bytearray(EXAMPLE.read_bytes())
    at %= len(data)
    data[at : at + len(put)] = put
    try:
        read_neff(bytes(data))
    except DgeError as refused:
        assert refused.rule and refused.where


VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-3, 1 << 40), st.text(max_size=4)),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(st.text(max_size=4), inner, max_size=2)),
    max_leaves=4,
)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_json_value_anywhere_is_taken_or_refused(data: st.DataObject) -> None:
    members = parts()
    holder: Any = members[data.draw(st.sampled_from(["neff.json", "kelf-0.json", DEF, POOL]))]
    while True:
        key = data.draw(st.sampled_from(list(holder) if isinstance(holder, dict) else list(range(len(holder)))))
        if not isinstance(holder[key], dict | list) or not holder[key] or data.draw(st.booleans()):
            break
        holder = holder[key]
    holder[key] = data.draw(VALUES)
    try:
        read(members)
    except DgeError as refused:
        assert refused.rule.startswith("neff.")

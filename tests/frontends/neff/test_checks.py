"""What `check_neff` finds: each rule by a file that breaks it, and nothing in files that are right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from neffs import QUEUES, VARIABLES, copy, entry, members, neff, pack

from dgekit.core.errors import Issue
from dgekit.frontends.neff.checks import LISTED, check_neff
from dgekit.frontends.neff.opened import open_neff
from dgekit.words.structs import PseudoDmaTrigger

EXAMPLE = Path(__file__).parents[3] / "examples" / "gradient.neff"


def issues(data: bytes) -> list[Issue]:
    found: list[Issue] = []
    opened = open_neff(data, found=found)
    return [*found, *check_neff(opened)]


def test_files_that_are_right() -> None:
    assert issues(EXAMPLE.read_bytes()) == []
    rows = copy(sizes=[2048, 128], target="sb", to_steps=[1, 0x40000])
    assert issues(neff([entry(copy(), rows), entry({**copy(), "op": "add"}, id=1)])) == []


def variables(**more: dict[str, Any]) -> dict[str, Any]:
    return {**VARIABLES, **more}


def trigger(queue: str, block: int) -> bytes:
    return PseudoDmaTrigger(queue_name=queue, dma_block_id=block).encode()


Q2 = {**QUEUES, "r": {"type": "data", "queue_instances": ["i"]}}
WRONG = [
    (neff([entry(copy(source="nope"))]), "neff.variable", "error", "dma[0].desc[0].from"),
    (neff([entry(copy(from_off=(1 << 20) - 255))]), "neff.bounds", "error", "dma[0].desc[0].from"),
    (neff([entry(copy(to_steps=[-1]))]), "neff.bounds", "error", "dma[0].desc[0].to"),
    (neff([entry(copy(to_sizes=[255]))]), "neff.amount", "error", "dma[0].desc[0]"),
    (neff([entry(copy(to_sizes=[16, 16]))]), "neff.pattern", "error", "dma[0].desc[0].to"),
    (neff([entry({"from": "x", "from_sizes": [1]})]), "neff.missing", "error", "dma[0].desc[0]"),
    (neff([entry()]), "neff.missing", "error", "dma[0]"),
    (
        neff([entry({"op": "add", "from_arr": [{"from": "x", "from_sizes": [4]}] * 17, "to": "y", "to_sizes": [4]})]),
        "dec.D36", "advice", "dma[0].desc[0]",
    ),
    (neff([entry(copy(), queue="p")]), "neff.queue", "error", "dma[0]"),
    (neff([{**entry(copy()), "id": "0"}]), "neff.type", "error", "dma[0].id"),
    (neff([entry(copy(from_dtype="float32"))]), "neff.dtype", "unspecified", "dma[0].desc[0]"),
    (neff([], {**Q2, "s": {"type": "in", "queue_instances": ["i"]}}), "neff.instance", "error", "dma_queue.s"),
    (neff([], {"q": {"type": "fast"}}), "neff.queue_type", "warning", "dma_queue.q"),
    (neff([], {"q": {"type": "data", "num_queues": 17}}), "neff.value", "error", "dma_queue.q.num_queues"),
    (neff([], None, variables(z={"type": "tmp-buf", "var_id": 1, "size": 1})), "neff.var_id", "error", "var.z"),
    (
        neff([], None, variables(z={"type": "tmp-buf", "var_id": 3, "size": 1, "alignment": 48})),
        "neff.alignment", "error", "var.z",
    ),
    (neff([], None, variables(z={"type": "tmp-buf", "var_id": 9, "size": 1})), "neff.dense_ids", "advice", "def.json"),
    (neff([], None, {"x": VARIABLES["x"]}), "neff.output", "advice", "def.json"),
    (
        neff([], None, variables(z={"type": "pointer", "var_id": 3, "size": 8, "referenced_var_id": 7})),
        "neff.variable", "error", "var.z",
    ),
    (
        neff([], None, variables(z={"type": "dge-table", "var_id": 3, "size": 8, "list": [0, 9]})),
        "neff.variable", "error", "var.z",
    ),
    (
        neff([], None, variables(z={"type": "file", "var_id": 3, "size": 8, "file_name": "w.npy"})),
        "neff.reference", "error", "var.z",
    ),
    (neff([], None, variables(z={"type": "file", "var_id": 3, "size": 8})), "neff.missing", "error", "var.z"),
    (neff([], stream=bytes(65)), "neff.stream", "error", "pool.bin"),
    (neff([], stream=trigger("nope", 0)), "neff.queue", "error", "slot 0"),
    (neff([entry(copy())], stream=trigger("q", 1)), "neff.trigger", "error", "slot 0"),
    (neff([entry(copy()), entry(copy(), id=1)], stream=trigger("q", 1)), "neff.trigger", "warning", "dma[0]"),
    (pack({k: v for k, v in members([]).items() if "bin" not in k}), "neff.absent", "warning", ""),
    (pack(members([]), {"feature_bits": 0x100}), "neff.features", "error", ""),
    (pack(members([]), {"neff_version_major": 3}), "neff.version", "advice", ""),
    (pack(members([]), {"hash": bytes(32)}), "neff.hash", "warning", ""),
    (pack(members([]), {"data_size": 1 << 30}), "neff.data_size", "error", ""),
]  # fmt: skip


@pytest.mark.parametrize(("data", "rule", "severity", "where"), WRONG, ids=[f"{n}-{w[1]}" for n, w in enumerate(WRONG)])
def test_each_rule(data: bytes, rule: str, severity: str, where: str) -> None:
    (issue,) = [one for one in issues(data) if not (one.rule == "neff.absent" and rule != "neff.absent")]
    assert (issue.rule, issue.severity) == (rule, severity) and issue.where.endswith(where)


def test_everything_is_told_at_once() -> None:
    found = members([entry(copy(source="a")), {"id": 1}, entry(copy(to_sizes=[2]), queue="b", id=2)], cores=2)
    assert [issue.rule for issue in issues(pack(found))] == [
        "neff.variable", "neff.queue", "neff.missing", "neff.queue", "neff.amount",
    ] * 2  # fmt: skip


def test_many_of_one_kind_are_counted() -> None:
    found = issues(neff([entry(copy(source="a"), id=number) for number in range(LISTED + 5)]))
    assert len(found) == LISTED + 1 and found[-1].values == {"more": 5} and "5 more" in found[-1].message


def test_feature_bits_name_what_is_missing() -> None:
    """A published failure: bits 0x100 against the mask 0x80000000000000ff."""
    (issue,) = issues(pack(members([]), {"feature_bits": 0x100}))
    assert "0x100" in issue.message and "0x80000000000000ff" in issue.message


def test_a_broken_engine_does_not_hide_the_rest() -> None:
    found = members([entry(copy())], cores=2)
    found["sg00/pool.json"] = b'{"dma": [1, '
    found["sg01/pool.json"] = {"dma": [entry(copy(source="a"))]}
    assert [issue.rule for issue in issues(pack(found))] == ["neff.type", "neff.json", "neff.variable"]

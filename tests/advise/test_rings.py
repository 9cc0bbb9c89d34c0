"""Ring memory: the published worked case, both estimates, what is left out, the queue limit, and a file of a million."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from neffs import QUEUES, VARIABLES, copy, entry, members, neff, pack

from dgekit.advise.rings import QUEUE_LIMIT, NeffRings, estimate_a, estimate_b, neff_rings, queue_limit_issues
from dgekit.core.errors import InputError, Issue
from dgekit.frontends.neff.opened import open_neff

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "gradient.neff"


def rings(data: bytes) -> NeffRings:
    return neff_rings(open_neff(data, name="f.neff"))


def test_the_published_worked_case() -> None:
    """Copies of sizes [256] and [64, 8]: (1+16+1+16) + (8+16+8+16) = 82 descriptors, 1312 bytes (neff.md 3b)."""
    (queue,) = rings(neff([entry(copy(sizes=[256]), copy(sizes=[64, 8]))])).queues
    assert queue.estimate_a == 82 and 16 * queue.estimate_a == 1312
    assert queue.movements == 2 and queue.entries == 1
    assert queue.exact == (1 + 1) + (1 + 1) + 2 * 16  # both are one run each side; a pair on each of 16 queues


def test_the_load_of_the_chapter() -> None:
    """128 rows of 2048 bytes over 16 queues: 8 descriptors an engine on the SBUF side (neff.md 3)."""
    load = copy(target="sb", sizes=[2048, 128], to_steps=[1, 0x40000])
    (queue,) = rings(neff([entry(load)])).queues
    assert queue.s2m == (8 + 1,) * 16 and queue.m2s == (1 + 1,) * 16
    assert (queue.fullest, queue.spread) == (9, 9)


def test_both_estimates() -> None:
    assert estimate_a(0, 0) == 32 and estimate_b(3, 8) == 16 and estimate_b(3, 8, 16) == 256
    queues = {"qSPSpillReload0": {"type": "data", "num_queues": 16, "queue_instances": ["qSPSpillReload0_defId_1"]}}
    row = copy(sizes=[64, 8], from_steps=[1, 100])
    by_set, by_instance = (
        entry(row, queue="qSPSpillReload0"),
        entry(row, queue="other", instance_name="qSPSpillReload0_defId_1"),
    )
    found = {queue.name: queue for queue in rings(neff([by_set, by_instance], queues)).queues}
    own, instance = found["qSPSpillReload0"], found["qSPSpillReload0_defId_1"]
    assert (own.estimate_b, instance.estimate_b) == (2 * 8, 2 * 8 * 16)
    assert own.estimate_a == instance.estimate_a == 8 + 16 + 8 + 16
    assert own.exact == instance.exact and own.kind == instance.kind == "spill"
    assert instance.queue is own.queue


def test_several_sources_are_a_copy_each() -> None:
    """A part without `to_sizes` takes those of the desc that holds it."""
    parts = [{"from": "x", "from_sizes": [8, 4]}, {"from": "x", "from_sizes": [32], "to_sizes": [16, 2]}]
    desc = {"op": "add", "from_arr": parts, "to": "y", "to_sizes": [4, 8], "to_steps": [1, 4]}
    (queue,) = rings(neff([entry(desc)])).queues
    assert queue.estimate_a == (4 + 16 + 8 + 16) + (1 + 16 + 2 + 16)
    assert queue.estimate_b == 2 * 8 + 2 * 2
    assert queue.uncounted.total() == 1 and queue.exact == 2 * 16


TOUCHING = [1, 8, 8 * (1 << 21) - 6]  # the last run of one round meets the first of the next
UNCOUNTED = [
    ({"op": "add"}, "op add"),
    ({"op": "transpose"}, "op transpose"),
    ({"to": "nowhere"}, "no variable"),
    ({"from_steps": None}, "sizes or steps"),
    ({"from_sizes": [16, 16], "from_steps": [1]}, "sizes or steps"),
    ({"from_dtype": "float32"}, "different dtypes"),
    ({"to_sizes": [255]}, "the same bytes"),
    ({"sizes": [2, 1 << 21, 2], "from_steps": TOUCHING, "to_steps": TOUCHING}, "cannot be expanded (rings.count)"),
    ({"from_sizes": [16, 4, 4], "from_steps": [1, 64, 16], "to_sizes": [4, 64], "to_steps": [1, -4]}, ""),
]


@pytest.mark.parametrize(("change", "reason"), UNCOUNTED, ids=range(len(UNCOUNTED)))
def test_what_is_left_out_is_told(change: dict[str, Any], reason: str) -> None:
    found = rings(
        neff(
            [
                entry(copy(sizes=[256]), copy(**{"sizes": [256], **change})),
                entry(copy(**{"sizes": [16, 4, 4], **change})),
            ]
        )
    )
    (queue,) = found.queues
    told = [issue for issue in found.issues if issue.rule == "rings.uncounted"]
    assert bool(told) == bool(queue.uncounted) == bool(reason)
    assert not reason or any(reason in name for name in queue.uncounted)
    assert queue.exact >= 2 + 2 * 2 * 16


def test_a_reduced_file_has_its_estimates() -> None:
    """Files that keep only queue, from and sizes (neff.md 5): no ids, steps, targets or queue sets."""
    found = members([{"queue": "qX", "desc": [{"from": "a", "from_sizes": [64, 8], "to_sizes": [512]}]}] * 3)
    found["sg00/def.json"] = {"pool": "pool.json", "var": {"a": {"type": "input", "size": 512}}}
    issues: list[Issue] = []
    (queue,) = neff_rings(open_neff(pack(found), found=issues)).queues
    assert queue.estimate_a == 3 * (8 + 16 + 1 + 16) and queue.estimate_b == 3 * 16
    assert queue.uncounted.total() == 3 and [issue.rule for issue in issues] == ["neff.missing"]


WRONG = [
    ({"id": 0, "desc": copy()}, "neff.missing", "dma[1]"),
    ({**entry(copy()), "queue": 3}, "neff.type", "dma[1].queue"),
    (entry(copy(from_sizes=[True])), "neff.type", "dma[1].desc[0].from_sizes[0]"),
    (entry(copy(from_sizes=[0])), "neff.value", "dma[1].desc[0].from_sizes[0]"),
    (entry(copy(from_sizes=[])), "neff.value", "dma[1].desc[0].from_sizes"),
    (entry(copy(from_sizes=[[1]])), "neff.type", "dma[1].desc[0].from_sizes[0]"),
    (entry(copy(to_steps=["1"])), "neff.type", "dma[1].desc[0].to_steps[0]"),
    (entry(copy(target="sb", to_off="a", sizes=[8, 4], to_steps=[1, 0x40000])), "neff.type", "dma[1].desc[0].to_off"),
    (entry({"op": "copy", "from": "x", "to": "y"}), "neff.missing", "dma[1]"),
    (entry([1]), "neff.type", "dma[1].desc[0]"),
    ([entry(copy())], "neff.type", "dma[1]"),
]  # fmt: skip


@pytest.mark.parametrize(("table", "rule", "where"), WRONG, ids=range(len(WRONG)))
def test_entries_of_the_wrong_form(table: Any, rule: str, where: str) -> None:
    with pytest.raises(InputError) as caught:
        rings(neff([entry(copy()), table]))
    assert caught.value.rule == rule and caught.value.where == f"f.neff: sg00/pool.json: {where}"


def test_the_queue_limit() -> None:
    """A published failure: a queue of 16777216 descriptors where 16777200 are allowed."""
    assert queue_limit_issues("q", QUEUE_LIMIT, QUEUE_LIMIT, "f") == [] and QUEUE_LIMIT == 16_777_200
    (certain,) = queue_limit_issues("q", 16_777_216, 16_777_216, "f")
    assert (certain.rule, certain.severity) == ("rings.queue_limit", "error") and "16777216" in certain.message
    (avoidable,) = queue_limit_issues("q", 16_777_216, 1_048_576, "f")
    assert avoidable.severity == "warning" and "spread" in avoidable.fix


@pytest.mark.parametrize(("num_queues", "severity"), [(1, "error"), (16, "warning")])
def test_a_queue_over_the_limit(num_queues: int, severity: str) -> None:
    rows = copy(sizes=[1, 1 << 24], from_steps=[1, 2], to_steps=[1, 2])
    variables = {
        "x": {"type": "input", "var_id": 0, "size": 1 << 26},
        "y": {"type": "output", "var_id": 1, "size": 1 << 26},
    }
    found = rings(neff([entry(rows)], {"q": {"type": "in", "num_queues": num_queues}}, variables))
    assert [(issue.rule, issue.severity) for issue in found.issues] == [("rings.queue_limit", severity)]
    assert found.queues[0].fullest == (1 << 24) + 1


def test_the_example_and_the_rest_of_its_memory() -> None:
    (core,) = neff_rings(open_neff(EXAMPLE)).cores
    assert {queue.name: queue.exact for queue in core.queues} == {"q_gradient_in": 4, "q_gradient_out": 4}
    assert (core.code, core.constants, core.scratchpad) == (256, 0, 0)
    variables = {
        **VARIABLES,
        "w": {"type": "file", "var_id": 3, "size": 1000, "file_name": "w"},
        "v": {"type": "virtual", "var_id": 2349, "size": 131072, "backing_variable_off": 17108992},
        "u": {"type": "virtual", "var_id": 4, "size": 64, "backing_variable_off": 0, "fabric_path": "alt"},
    }
    cores = rings(neff([], QUEUES, variables, cores=2, stream=bytes(640))).cores
    assert [(core.code, core.constants, core.scratchpad) for core in cores] == [(640, 1000, 17108992 + 131072 + 64)] * 2


def test_places_in_a_partition_that_crosses_count_by_themselves() -> None:
    """The same shape where it fits its partition and where it does not."""
    row = copy(target="sb", sizes=[4096, 16], to_steps=[1, 0x40000])
    plain, crossing = (
        rings(neff([entry(row, {**row, "to_off": offset})])).queues[0].exact for offset in (64, 0x40000 - 64)
    )
    assert plain == 2 * (16 + 2) + 32 and crossing >= plain - 2


LARGE = 1_000_000
GENERATOR = """
import json, sys
sys.path.insert(0, {helpers!r})
from neffs import VARIABLES, members, pack
queues = {{"qSPSpillReload0": {{"type": "data", "num_queues": 16, "owner": "pool", "semaphore": 10}}}}
found = members([], queues)
entry = {{"id": 0, "queue": "qSPSpillReload0", "semaphore": 10, "desc": [
    {{"op": "copy", "from": "x", "from_off": 0, "from_steps": [1, 2048], "from_sizes": [2048, 8],
      "to": "sb", "to_off": 0, "to_steps": [1, 262144], "to_sizes": [2048, 8]}}]}}
def text(number):
    desc = {{**entry["desc"][0], "from_off": number % 500 * 256, "to_off": number % 64 * 256}}
    desc["from_sizes"] = desc["to_sizes"] = [2048, 1 + number % 128]
    return json.dumps({{**entry, "id": number, "desc": [desc]}}).encode()
found["sg00/pool.json"] = b'{{"dma": [' + b", ".join(map(text, range({count}))) + b']}}'
print(len(found["sg00/pool.json"]))
open({path!r}, "wb").write(pack(found))
"""
COUNTER = """
import re, sys, time
from dgekit.cli.main import run_cli
start = time.process_time()
code = run_cli(sys.argv[1:])
spent = time.process_time() - start
# the peak of this program alone: ru_maxrss would remember the size of the process that started it
peak = re.search(r"VmHWM:\\s*(\\d+) kB", open("/proc/self/status").read())[1]
print(code, spent, peak, file=sys.stderr)
"""


@pytest.mark.slow
def test_a_million_entries_in_20_seconds_and_500_megabytes(tmp_path: Path) -> None:
    """Processor seconds: other work on the machine does not count. Info and rings each in a process of its own."""
    path = tmp_path / "large.neff"
    made = subprocess.run(
        [sys.executable, "-c", GENERATOR.format(helpers=str(ROOT / "tests" / "helpers"), count=LARGE, path=str(path))],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert int(made.stdout) > 240_000_000
    answers = {}
    for verb in ("rings", "info"):
        command = [sys.executable, "-c", COUNTER, "neff", verb, str(path), "--json"]
        done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
        code, seconds, kilobytes = (float(word) for word in done.stderr.split()[-3:])
        assert code == 0 and seconds < 20 and kilobytes < 500 * 1024, (verb, seconds, kilobytes)
        answers[verb] = json.loads(done.stdout)
    (queue,) = answers["rings"]["cores"][0]["queues"]
    assert queue["entries"] == queue["movements"] == LARGE
    rows = sum(1 + number % 128 for number in range(LARGE))
    assert queue["descriptors"]["estimate_a"] == 2 * rows + 32 * LARGE  # rows of both sides, as sizes have them
    assert queue["descriptors"]["estimate_b"] == 2 * rows
    assert queue["descriptors"]["s2m"] == rows + 16 * LARGE  # a row each, and a semaphore a queue
    assert answers["info"]["subgraphs"][0]["queues"][0]["entries"] == LARGE

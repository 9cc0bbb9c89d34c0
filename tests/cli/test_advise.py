"""`dge advise`: totals, tables, what-if, JSON by schema, refusals."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dgekit.advise.whatif import COLUMNS
from dgekit.frontends.neff.write import build_neff

Dge = Callable[..., Any]
RING_COPIES = """generation = "trn2"
[tensors.a]
space = "hbm"
shape = [4096]
dtype = "uint8"
[tensors.b]
space = "hbm"
shape = [4096]
dtype = "uint8"
[[transfers]]
name = "one"
src = { tensor = "a", pattern = [[1, 256]] }
dst = { tensor = "b", pattern = [[1, 256]] }
[[transfers]]
name = "rows"
src = { tensor = "a", offset = 1024, pattern = [[128, 8], [1, 64]] }
dst = { tensor = "b", offset = 1024, pattern = [[256, 8], [1, 64]] }
"""
KERNEL = """
import nki
import nki.isa as nisa
import nki.language as nl

@nki.jit
def load(a):
    t = nl.ndarray((128, 64), dtype=a.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=t, src=a)
    out = nl.ndarray((128, 64), dtype=a.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=t)
    return out
"""


def neff_of(movements: int, subgraphs: int = 1) -> bytes:
    """A NEFF whose Pool engine moves 64 rows of 256 bytes again and again."""
    definition = {
        "pool": "pool.json",
        "dma_queue": {"q_in": {"type": "in", "num_queues": 16, "semaphore": 3}},
        "var": {
            "x": {"type": "input", "var_id": 0, "size": 1 << 20},
            "sb": {"type": "state-buffer", "var_id": 1, "size": 33554432},
        },
    }
    entry = {
        "id": 0,
        "queue": "q_in",
        "desc": [
            {
                "op": "copy",
                "from": "x",
                "from_steps": [1, 256],
                "from_sizes": [256, 64],
                "to": "sb",
                "to_steps": [1, 262144],
                "to_sizes": [256, 64],
            }
        ],
    }
    names = [f"sg{n:02}" for n in range(subgraphs)]
    graph = {"nodes": [{"name": "k", "attrs": {"func_name": "__kelf", "kelf": "kelf-a.json"}}]}
    members: dict[str, bytes] = {
        "neff.json": json.dumps(graph).encode(),
        "kelf-a.json": json.dumps({"graphs": [{"name": n, "definition": f"{n}/def.json"} for n in names]}).encode(),
    }
    for name in names:
        members[f"{name}/def.json"] = json.dumps(definition).encode()
        members[f"{name}/pool.json"] = json.dumps({"dma": [entry] * movements}).encode()
    return build_neff(members)


def test_json_has_the_totals(dge: Dge, tmp_path: Path) -> None:
    path = tmp_path / "copies.toml"
    path.write_text(RING_COPIES)
    answer = dge("advise", path, "--json")
    told = answer.json("advise")
    assert (answer.code, answer.err) == (0, "")
    assert told["totals"]["ring_bytes"]["estimate_a"] == 1312
    assert told["totals"]["descriptors"] == 2 + 16 and told["totals"]["bytes"] == 768
    assert told["totals"]["small_descriptors"] == 18 and told["totals"]["small_bytes"] == 512
    time = told["totals"]["time_ns"]
    assert 0 < time["low"] < time["estimate"] < time["high"]
    assert [row["name"] for row in told["transfers"]] == ["one", "rows"]
    assert told["queues"][0]["limit"] == 16_777_200
    gains = [advice["gain_ns"] for advice in told["advice"]]
    assert gains and gains == sorted(gains, reverse=True) and min(gains) > 0
    assert any("estimate" in note for note in told["notes"])
    assert {"rate", "semaphore"} < {fact["name"] for fact in told["facts"]}
    assert dge("advise", path, "--json", "--set", "small_bytes=100").json("advise")["totals"]["small_descriptors"] == 16


def test_text_names_times_as_estimates(dge: Dge) -> None:
    answer = dge("advise", "examples/wait_chain.toml")
    assert answer.code == 0
    assert "time (estimate): 2643 ns, between 2118 ns and 3538 ns" in answer.text
    assert "what to change, by the time it saves the program" in answer.text
    assert "note: Times are estimates" in answer.text
    assert "bound by" in answer.text and "fullest ring" in answer.text


@pytest.mark.parametrize("example", ["gradient.neff", "raw_word.toml", "reduce.toml", "gather_oob.toml", "cast.toml"])
def test_every_kind_of_program(example: str, dge: Dge) -> None:
    told = dge("advise", f"examples/{example}", "--json").json("advise")
    assert told["totals"]["transfers"] == len(told["transfers"]) > 0


def test_words_from_standard_input(dge: Dge) -> None:
    word = dge("encode", "DMA_DIRECT2D", "semaphore=10", "src_elem_size=64", "dst_elem_size=64").out
    answer = dge("advise", "-", "--json", stdin=word)
    assert answer.json("advise")["totals"]["transfers"] == 1


def test_a_kernel(dge: Dge, tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text(KERNEL)
    np.save(tmp_path / "a.npy", np.zeros((128, 64), np.float32))
    told = dge("advise", f"{tmp_path}/k.py:load", "--arg", f"a={tmp_path}/a.npy", "--json").json("advise")
    assert [row["where"] for row in told["transfers"]] == ["k.py:9", "k.py:11"]
    assert told["totals"]["bytes"] == 2 * 128 * 64 * 4


def test_what_if_as_a_table_as_csv_and_as_json(dge: Dge) -> None:
    told = dge("advise", "examples/cast.toml", "--what-if", "--json").json("what_if")
    modes = told["transfers"][0]["modes"]
    assert list(modes) == ["none", "swdge", "hwdge"] and not modes["hwdge"]["legal"]
    assert any(issue["rule"] == "nki.C5" for issue in modes["hwdge"]["issues"])
    answer = dge("advise", "examples/cast.toml", "--what-if", "--csv")
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert tuple(rows[0]) == COLUMNS and [row["mode"] for row in rows] == list(modes)
    assert rows[2]["legal"] == "no" and "nki.C5" in rows[2]["rules"] and rows[2]["time_ns"] == ""
    assert float(rows[0]["time_ns"]) == modes["none"]["time_ns"]["estimate"]
    text = dge("advise", "examples/cast.toml", "--what-if").text
    assert "nki.C5" in text and "times are estimates" in text


def test_a_large_neff_is_counted_not_built(dge: Dge, tmp_path: Path) -> None:
    path = tmp_path / "large.neff"
    path.write_bytes(neff_of(2001))
    told = dge("advise", path, "--json").json("advise")
    assert told["transfers"] == [] and "2001 movements are more than 2000" in told["notes"][0]
    totals = told["totals"]
    assert totals["bytes"] == 2001 * 64 * 256
    # eight channels read 2 KiB in one piece each and write eight rows; 16 semaphore pairs
    assert totals["ring_bytes"]["exact"] == 16 * 2001 * (8 + 64 + 2 * 16)
    assert totals["ring_bytes"]["estimate_a"] == 16 * 2001 * (64 + 16 + 64 + 16)
    assert totals["largest_queue"]["largest_ring"] == 2001 * (8 + 1)
    # 16384 bytes an entry over 16 engines are less than the fixed time between two DMAs of a queue
    assert totals["time_ns"]["estimate"] == 2001 * 850
    assert dge("advise", path, "--what-if").code == 2


def test_several_subgraphs(dge: Dge, tmp_path: Path) -> None:
    path = tmp_path / "two.neff"
    path.write_bytes(neff_of(1, subgraphs=2))
    told = dge("advise", path, "--json").json("advise")
    assert told["transfers"] == [] and "--subgraph names one" in told["notes"][0]
    assert told["totals"]["bytes"] == 2 * 64 * 256


def test_no_times_without_public_numbers(dge: Dge) -> None:
    answer = dge("advise", "examples/load_e18.toml", "--gen", "trn4", "--json")
    told = answer.json("advise")
    assert told["totals"]["time_ns"] is None and "no public speeds" in " ".join(told["notes"])
    text = dge("advise", "examples/load_e18.toml", "--gen", "trn4").text
    assert "time (estimate)" not in text and "nothing to change" not in text
    assert dge("advise", "examples/load_e18.toml", "--gen", "trn4", "--what-if", "--csv").code in (0, 1)


def test_refusals(dge: Dge, tmp_path: Path) -> None:
    assert dge("advise", "nowhere.toml").code == 3
    assert dge("advise", "examples/cast.toml", "--csv").code == 2
    assert dge("advise", "examples/cast.toml", "--what-if", "--csv", "--json").code == 2
    answer = dge("advise", "examples/cast.toml", "--csv")
    assert "cli.advise" in answer.err
    broken = tmp_path / "broken.toml"
    broken.write_text(RING_COPIES.replace("[[128, 8], [1, 64]]", "[[128, 8], [1, 63]]"))
    answer = dge("advise", broken)
    assert answer.code == 1 and "refused" in answer.text
    huge = tmp_path / "huge.toml"
    huge.write_text(RING_COPIES.replace("shape = [4096]", "shape = [1099511627776]"))
    assert dge("advise", huge).code in (1, 3)

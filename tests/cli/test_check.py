"""dge check on programs and kernels: the table, the data, the exit code; dge spec on NKI rules."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dgekit
from dgekit.advise.rulebook import ALL_RULES

Dge = Callable[..., Any]

PROGRAM = """
generation = "trn2"
[tensors.x]
space = "hbm"
shape = [128, 512]
dtype = "float32"
[tensors.narrow]
space = "sbuf"
shape = [128, 512]
dtype = "bfloat16"
[[transfers]]
name = "cast"
src = "x"
dst = "narrow"
mode = "{}"
engine = "sp"
[[transfers]]
name = "again"
src = "x"
dst = "narrow"
engine = "act"
"""

KERNELS = """
import nki
import nki.isa as nisa
import nki.language as nl

@nki.jit
def ragged(a, row, lanes):
    number = nl.load(row)
    tile = nl.ndarray((lanes, 1536), dtype=a.dtype, buffer=nl.sbuf)
    rows = a.ap([[1536, lanes], [1, 1536]], scalar_offset=number)
    nisa.dma_copy(dst=tile, src=rows, dge_mode=nisa.dge_mode.hwdge)
    return tile

@nki.jit
def turned(a, named):
    tile = nl.ndarray((a.shape[1], a.shape[0]), dtype=a.dtype, buffer=nl.sbuf)
    if named:
        nisa.dma_transpose(dst=tile, src=a, dge_mode=nisa.dge_mode.hwdge)
    else:
        nisa.dma_transpose(dst=tile, src=a)
    return tile

@nki.jit
def gather(a, idx, skip):
    rows = nl.load(idx)
    tile = nl.full((idx.shape[0], a.shape[1]), -1, a.dtype)
    view = a.ap([[a.shape[1], idx.shape[0]], [1, a.shape[1]]], vector_offset=rows)
    nisa.dma_copy(dst=tile, src=view, oob_mode=nisa.oob_mode.skip if skip else nisa.oob_mode.error)
    return tile

@nki.jit
def add(acc, values, idx):
    rows, tile = nl.load(idx), nl.load(values)
    view = acc.ap([[acc.shape[1], idx.shape[0]], [1, acc.shape[1]]], vector_offset=rows)
    nisa.dma_compute(dst=view, srcs=[view, tile], reduce_op=nl.add)
    return acc

@nki.jit
def meet(a):
    nisa.core_barrier(a, (0, 2))
    nisa.sendrecv(a, a, 1, 1, dma_engine=nisa.dma_engine.gpsimd_dma)
    return a
"""


@pytest.fixture
def kernel(tmp_path: Path, dge: Dge) -> Dge:
    """Check one kernel: arrays are saved, numbers given as they are."""
    path = tmp_path / "k.py"
    path.write_text(KERNELS)

    def call(name: str, *options: str, **arguments: Any) -> Any:
        given = []
        for argument, value in arguments.items():
            if isinstance(value, np.ndarray):
                file = tmp_path / f"{argument}.npy"
                np.save(file, value)
                value = file
            given += ["--arg", f"{argument}={value}"]
        return dge("check", f"{path}:{name}", *given, *options)

    return call


def rules(transfer: dict[str, Any], mode: str = "") -> set[str]:
    shown = transfer["modes"][mode]["issues"] if mode else transfer["issues"]
    return {issue["rule"] for issue in shown}


# transfer files


def test_the_table_and_the_exit_code(tmp_path: Path, dge: Dge) -> None:
    path = tmp_path / "p.toml"
    path.write_text(PROGRAM.format("hwdge"))
    answer = dge("check", path)
    assert answer.code == 1
    head, names, cast, again, *rest = answer.lines
    assert head == "CAYMAN, rules of NKI 0.6.0"
    assert names.split() == ["transfer", "none", "swdge", "hwdge", "asked", "for", "verdict"]
    assert cast.split() == ["cast", "legal", "legal", "nki.C5", "hwdge", "refused"]
    assert again.split() == ["again", "legal", "legal", "nki.C5", "unknown", "(swdge)", "legal"]
    assert any(line.startswith("not in hwdge: again: a cast from float32 to bfloat16") for line in rest)
    assert any(line.startswith("warning: p.toml: transfers[1]: write after write: again") for line in rest)
    path.write_text(PROGRAM.format("none"))
    assert dge("check", path).code == 0


def test_as_data(tmp_path: Path, dge: Dge) -> None:
    path = tmp_path / "p.toml"
    path.write_text(PROGRAM.format("hwdge"))
    found = dge("check", path, "--json").json("check")
    assert (found["generation"], found["nki_version"]) == ("CAYMAN", "0.6.0")
    cast, again = found["transfers"]
    assert (cast["name"], cast["requested"], cast["picked"], cast["legal"]) == ("cast", "hwdge", "hwdge", False)
    assert {mode: one["legal"] for mode, one in cast["modes"].items()} == {"none": True, "swdge": True, "hwdge": False}
    assert rules(cast, "hwdge") == {"nki.C5"} and "nki.C5" in rules(cast)
    assert "dec.D53" in rules(again)
    assert {issue["rule"] for issue in found["issues"]} == rules(cast) | rules(again)
    every = dge("check", path, "--json", "--all").json("check")
    assert "unspecified" in {issue["severity"] for issue in every["transfers"][0]["issues"]}
    words = dge("check", "b8100000" + "00" * 60, "--json").json("check")
    assert (words["transfers"], words["nki_version"]) == ([], "")


def test_versions_and_generations(tmp_path: Path, dge: Dge) -> None:
    path = tmp_path / "p.toml"
    path.write_text(PROGRAM.format("hwdge"))
    assert dge("check", path, "--nki-version", "0.2.0").code == 0
    unknown = dge("check", path, "--nki-version", "7")
    assert unknown.code == 2 and "nki.version" in unknown.err
    old = dge("check", path, "--gen", "trn1", "--json")
    assert old.code == 1 and {"nki.C6", "dec.D47"} <= rules(old.json("check")["transfers"][0])


def test_neff_and_standard_input(dge: Dge) -> None:
    found = dge("check", "examples/gradient.neff", "--json").json("check")
    assert [transfer["legal"] for transfer in found["transfers"]] == [True, True, True]
    assert dge("check", "-", stdin=PROGRAM.format("hwdge").encode()).code == 1


def test_run_never_asks_for_mode_rules(tmp_path: Path, dge: Dge) -> None:
    """D81: the same scatter is illegal in mode none by nki.C10, and runs."""
    path = tmp_path / "g.toml"
    text = Path("examples/gather_oob.toml").read_text().split('[[transfers]]\nname = "gather_error"')[0]
    np.save(tmp_path / "gather_rows.npy", np.load("examples/gather_rows.npy"))
    path.write_text(text + 'mode = "none"\n')
    assert dge("run", path, "-q").code == 0
    assert "nki.C10" in dge("check", path).text and dge("check", path).code == 1


# kernels


@pytest.mark.parametrize(("lanes", "code"), [(1, 0), (16, 0), (24, 1), (32, 0)])
def test_report_1253(kernel: Dge, lanes: int, code: int) -> None:
    table, row = np.zeros((64, 1536), np.float32), np.array([[3]], np.int32)
    answer = kernel("ragged", "--json", a=table, row=row, lanes=lanes)
    assert answer.code == code
    _, copy = answer.json("check")["transfers"]
    assert ("nki.C20" in rules(copy, "hwdge")) is bool(code)
    assert copy["where"] == "k.py:11" and rules(copy, "none") == {"nki.C9"}
    if code:
        (told,) = [issue for issue in copy["issues"] if issue["rule"] == "nki.C20"]
        assert told["values"]["partitions"] == 24 and "pad to 32" in told["fix"] and told["where"] == "k.py:11"


def test_report_1301(kernel: Dge) -> None:
    square = np.zeros((128, 128), np.int16)
    assert kernel("turned", a=square, named=False).code == 0
    named = kernel("turned", a=square, named=True)
    assert named.code == 1 and "shape[0] = 16" in named.text
    wide = kernel("turned", a=np.zeros((16, 128), np.float32), named=True)
    assert wide.code == 1 and "2-byte types" in wide.text
    assert kernel("turned", a=np.zeros((16, 128), np.int16), named=True).code == 0


def test_known_indices_of_a_kernel(kernel: Dge) -> None:
    table = np.zeros((128, 512), np.float32)
    every = np.arange(64, dtype=np.uint32)[:, None]
    skipped = kernel("gather", "--json", a=table, idx=3 * every, skip=True)
    told = [issue for issue in skipped.json("check")["issues"] if issue["rule"] == "nki.C11"]
    assert skipped.code == 0 and told[0]["values"]["lane"] == 43 and told[0]["values"]["element"] == 66048
    stopped = kernel("gather", "--json", a=table, idx=3 * every, skip=False)
    assert stopped.code == 1
    assert {"nki.C11", "nki.stopped"} <= {issue["rule"] for issue in stopped.json("check")["issues"]}
    inside = kernel("gather", a=table, idx=2 * every, skip=False)
    assert inside.code == 0 and "nki.C11" not in inside.text


def test_repeated_rows_of_a_kernel(kernel: Dge) -> None:
    values = np.ones((16, 512), np.float32)
    rows = np.arange(16, dtype=np.uint32)[:, None]
    acc = np.zeros((128, 512), np.float32)
    for changed, fires in ((rows, False), (np.where(rows == 9, 4, rows).astype(np.uint32), True)):
        found = kernel("add", "--json", acc=acc, values=values, idx=changed).json("check")
        told = [issue for issue in found["issues"] if issue["rule"] == "nki.M3"]
        assert bool(told) is fires
        if fires:
            assert told[0]["values"]["lanes"] == [4, 9] and told[0]["severity"] == "warning"


def test_calls_that_are_only_checked(kernel: Dge) -> None:
    answer = kernel("meet", "--json", a=np.zeros((128, 300), np.float32))
    barrier, send = answer.json("check")["transfers"]
    assert answer.code == 1
    assert (barrier["name"], barrier["modes"], rules(barrier)) == ("core_barrier", {}, {"nki.M8"})
    assert (send["name"], rules(send)) == ("sendrecv", {"nki.M7"})
    assert barrier["where"].startswith("k.py:")


def test_equal_findings_of_one_call_are_one_line(tmp_path: Path, dge: Dge) -> None:
    np.save(tmp_path / "cache.npy", np.zeros((256, 512), np.uint16))
    np.save(tmp_path / "pages.npy", np.arange(128, dtype=np.uint32)[:, None])
    given = ["--arg", f"cache={tmp_path / 'cache.npy'}:bfloat16", "--arg", f"pages={tmp_path / 'pages.npy'}"]
    answer = dge("check", "examples/nki_paged.py", *given)
    (told,) = [line for line in answer.lines if "restaged" in line]
    assert answer.code == 0 and "(4 times)" in told and "4 other findings" in answer.lines[-1]


# from Python, and dge spec


def test_verdicts_from_python(tmp_path: Path) -> None:
    path = tmp_path / "p.toml"
    path.write_text(PROGRAM.format("hwdge"))
    cast, again = dgekit.verdicts(path)
    assert (cast.legal, again.legal, again.picked) == (False, True, "swdge")
    assert dgekit.verdicts(path, nki_version="0.2.0")[0].legal
    assert not dgekit.verdicts(dgekit.load(path), generation="trn1")[1].modes["hwdge"].legal


@pytest.mark.parametrize("rule", ALL_RULES)
def test_spec_explains_every_nki_rule(rule: str, dge: Dge) -> None:
    answer = dge("spec", rule)
    assert answer.code == 0 and answer.lines[:2] == [f"rule {rule}", ALL_RULES[rule].statement]
    assert any(line.startswith("source: ") for line in answer.lines)
    described = json.loads(dge("spec", rule, "--json").text)
    assert (described["kind"], described["name"]) == ("rule", rule)


def test_spec_lists_nki_rules_and_corrects_names(dge: Dge) -> None:
    listed = json.loads(dge("spec", "--json").text)["rule"]
    assert set(ALL_RULES) <= set(listed) and "isa.C7" in listed and len(listed) == len(set(listed))
    assert "nki.C20" in dge("spec").text
    assert dge("spec", "NKI.c20").lines[0] == "rule nki.C20"
    assert dge("spec", "C7").lines[0] == "rule isa.C7"
    wrong = dge("spec", "nki.C200")
    assert wrong.code == 2 and "spec.name" in wrong.err and "nki.C20" in wrong.err

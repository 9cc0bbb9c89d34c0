"""Scripts: unmodified imports, arguments, outputs, what the user's own mistakes look like, and no trace left behind."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dgekit
from dgekit.cli.main import run_cli
from dgekit.core.errors import InputError, UsageError
from dgekit.frontends.nki import run_script, split_source, trace

HELPER = "import nki.language as nl\nWIDTH = 8\n\ndef fetch(view):\n    return nl.load(view)\n"
SCRIPT = """
import numpy as np
import nki
import nki.isa as nisa
import neuronxcc.nki.language as nl
from neuronxcc import nki as older
from neuronxcc.nki.typing import tensor
from nki.isa import dma_copy, oob_mode
from kernel_parts import WIDTH, fetch


@nki.jit
def picked(a: tensor[16, 8], rows, skip=False, scale: float = 1.0):
    print("running")
    assert older.isa.oob_mode is oob_mode
    indices = fetch(rows)
    tile = nl.full((4, WIDTH), -1, a.dtype)
    mode = oob_mode.skip if skip else oob_mode.error
    nisa.dma_copy(dst=tile, src=a.ap([[WIDTH, 4], [1, WIDTH]], vector_offset=indices), oob_mode=mode)
    out = nl.ndarray((4, WIDTH), a.dtype, buffer=nl.shared_hbm)
    dma_copy(out, tile)
    return out, a[0:2]


def broken(a):
    return a.shape[0] // 0


def endless(a):
    return endless(a)


def leaving(a):
    raise SystemExit(7)


def missing(a):
    import no_such_module


def computing(a):
    nl.exp(a)


def unequal(a):
    dma_copy(nl.ndarray((4, 4), a.dtype), a)


def caught(a):
    try:
        dma_copy(nl.ndarray((4, 4), a.dtype), a)
    except Exception:
        pass
    return {"first": a[0:1], "number": 3}


if __name__ == "__main__":
    import torch
"""
A = np.arange(16 * 8, dtype=np.float32).reshape(16, 8)
GOOD, BAD = (np.array(rows, np.uint32)[:, None] for rows in ([3, 1, 0, 15], [3, 16, 0, 15]))
LINE = {name: number for number, text in enumerate(SCRIPT.splitlines(), 1) for name in [text.strip()]}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "kernel_parts.py").write_text(HELPER)
    (tmp_path / "k.py").write_text(SCRIPT)
    (tmp_path / "one.py").write_text("import nki\n@nki.jit\ndef only(a):\n    return a\n")
    np.save(tmp_path / "a.npy", A)
    np.save(tmp_path / "good.npy", GOOD)
    np.save(tmp_path / "bad.npy", BAD)
    monkeypatch.chdir(tmp_path)
    return tmp_path


Dge = Callable[..., tuple[int, str, str]]


@pytest.fixture
def dge(folder: Path, capsys: pytest.CaptureFixture[str]) -> Dge:
    def call(*argv: str) -> tuple[int, str, str]:
        code = run_cli(list(argv))
        told = capsys.readouterr()
        assert "Traceback" not in told.err + told.out
        return code, told.out, told.err

    return call


def test_a_script_runs_unmodified(dge: Dge, folder: Path) -> None:
    code, out, err = dge(
        "run", "k.py:picked", "--arg", "a=a.npy", "--arg", "rows=good.npy", "--out", "out=o.npy", "--out", "out1=p.npy"
    )
    assert code == 0 and "running" in err and "running" not in out
    assert np.array_equal(np.load("o.npy"), A[[3, 1, 0, 15]]) and np.array_equal(np.load("p.npy"), A[:2])
    line = f"k.py:{next(number for text, number in LINE.items() if text.startswith('nisa.dma_copy'))}"
    assert f"(gather, software) at {line}" in out and "NKI 0.6.0 on CAYMAN" in out and "out1: 2 x 8 float32" in out
    assert "(copy, pool) at kernel_parts.py:5" in out


def test_json_has_lines_and_outputs(dge: Dge) -> None:
    code, out, _ = dge(
        "run", "k.py", "--arg", "a=a.npy", "--in", "rows=bad.npy", "--arg", "skip=1", "--json", "--nki-version", "0.5"
    )
    data = json.loads(out)
    assert code == 0 and data["nki_version"] == "0.5.0" and data["outputs"]["out"]["shape"] == [4, 8]
    where = [one["where"] for one in data["transfers"]]
    assert where[0] == "kernel_parts.py:5" and all(place.startswith("k.py:") for place in where[1:])
    for one in data["transfers"]:
        assert all(issue["where"].startswith(one["where"]) for issue in one["issues"])


def test_a_failed_transfer_ends_with_1(dge: Dge) -> None:
    code, out, _ = dge("run", "k.py:picked", "--arg", "a=a.npy", "--arg", "rows=bad.npy", "-q")
    assert code == 1 and "skipped: dma_copy (gather, software) at k.py:" in out
    assert out.count("lane 1: src index 16 is above the limit 15 (element 128 of 128)") == 1


@pytest.mark.parametrize(
    ("function", "place", "told"),
    [
        ("broken", "return a.shape[0] // 0", "ZeroDivisionError: integer division or modulo by zero [nki.script]"),
        ("endless", "return endless(a)", "RecursionError: maximum recursion depth exceeded"),
        ("leaving", "raise SystemExit(7)", "SystemExit(7) [nki.script]"),
        ("missing", "import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("computing", "nl.exp(a)", "nki.language.exp is not part of this tool"),
        ("unequal", "dma_copy(nl.ndarray((4, 4), a.dtype), a)", "dst (4, 4) has 16 elements, src (16, 8) has 128"),
    ],
)
def test_what_stops_a_script_is_one_line_at_its_place(dge: Dge, function, place, told) -> None:
    code, out, _ = dge("run", f"k.py:{function}", "--arg", "a=a.npy", "-q")
    wanted = [number for number, text in enumerate(SCRIPT.splitlines(), 1) if text.strip() == place]
    (line,) = [text for text in out.splitlines() if text.startswith("error: ")]
    assert code == 1 and told in line and any(line.startswith(f"error: k.py:{number}: ") for number in wanted)


def test_a_script_may_catch_errors(dge: Dge) -> None:
    code, out, _ = dge("run", "k.py:caught", "--arg", "a=a.npy", "-q")
    assert code == 0 and "first: 1 x 8 float32" in out


@pytest.mark.parametrize(
    ("argv", "code", "rule"),
    [
        (["k.py:nothing"], 2, "nki.function"),
        (["k.py:picked"], 2, "nki.arguments"),
        (["k.py:picked", "--arg", "a=a.npy", "--arg", "rows=good.npy", "--arg", "b=1"], 2, "nki.arguments"),
        (["k.py:picked", "--arg", "a=word"], 2, "nki.arguments"),
        (["k.py:picked", "--arg", "a"], 2, "cli.pair"),
        (["k.py:picked", "--arg", "a=a.npy:bfloat16"], 2, "dec.D54"),
        (["k.py:picked", "--nki-version", "9"], 2, "nki.version"),
        (["one.py", "--arg", "a=a.npy", "--out", "o=o.npy"], 2, "cli.tensor"),
        (["no.py:picked"], 3, "input.file"),
    ],
)
def test_wrong_calls_of_the_command(dge: Dge, argv, code, rule) -> None:
    got, _, err = dge("run", *argv)
    assert got == code and f"[{rule}]" in err


def test_arguments_are_for_scripts(dge: Dge, folder: Path) -> None:
    (folder / "p.toml").write_text('generation = "trn2"\n')
    code, _, err = dge("run", "p.toml", "--arg", "a=1")
    assert code == 2 and "[input.arguments]" in err


def test_check_and_lower_take_scripts(dge: Dge) -> None:
    given = ["k.py:picked", "--arg", "a=a.npy", "--arg", "rows=good.npy"]
    code, out, err = dge("check", *given)
    assert code == 0 and "running" in err and "running" not in out
    code, out, _ = dge("lower", *given, "--stage", "program", "--json")
    assert code == 0 and [one["kind"] for one in json.loads(out)["transfers"]] == ["copy", "gather", "copy"]


def test_from_python(folder: Path) -> None:
    run = dgekit.run("k.py:picked", inputs={"a": A, "rows": GOOD}, generation="trn3")
    assert run.ok and np.array_equal(run.tensor("out"), A[[3, 1, 0, 15]]) and run.generation.name == "MARIANA"
    bits = np.arange(8, dtype=np.uint16).reshape(2, 4).view(dgekit.frontends.nki.names.ELEMENTS["bfloat16"].dtype)
    assert dgekit.run("one.py", inputs={"a": bits}).file_array("out").dtype == np.uint16
    workload = dgekit.load("k.py:picked", inputs={"a": A, "rows": GOOD})
    assert [item.where.split(":")[0] for item in workload.items] == ["kernel_parts.py", "k.py", "k.py", "k.py"]


def test_nothing_stays_installed(folder: Path) -> None:
    sentinel: Any = type(sys)("nki")
    before, path = dict(sys.modules), list(sys.path)
    sys.modules["nki"] = sentinel
    try:
        run_script(SCRIPT.encode(), "k.py", "picked", {"a": A, "rows": GOOD}, folder=folder)
        run_script(b"raise ValueError", "k.py", "f")
        assert sys.modules["nki"] is sentinel and sys.path == path
        assert "kernel_parts" not in sys.modules and "neuronxcc" not in sys.modules and "nki.isa" not in sys.modules
    finally:
        del sys.modules["nki"]
    assert {name for name in sys.modules if name.startswith("nki")} == {n for n in before if n.startswith("nki")}


@pytest.mark.parametrize("text", [b"def f(:\n", b"x = '\0'\n", b"# coding: none\n", b"\xff\xfe", b"(" * 5000])
def test_a_script_that_is_no_python(text) -> None:
    with pytest.raises(InputError) as caught:
        trace(text, "k.py", "f")
    assert caught.value.rule == "nki.syntax" and caught.value.where.startswith("k.py")


def test_an_array_for_raw_bits(folder: Path) -> None:
    np.save("bits.npy", np.arange(8, dtype=np.uint16).reshape(2, 4))
    assert run_cli(["run", "one.py", "--arg", "a=bits.npy:bfloat16", "--out", "out=o.npy", "-q"]) == 0
    assert np.array_equal(np.load("o.npy"), np.load("bits.npy"))


def test_sources_are_split() -> None:
    assert split_source("a.py:f") == ("a.py", "f") and split_source("a.toml") is None
    with pytest.raises(UsageError, match="2 kernels"):
        trace(b"import nki\nf = nki.jit(lambda a: a)\ng = nki.jit()(f)\n", "k.py")

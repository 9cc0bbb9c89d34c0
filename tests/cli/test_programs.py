"""run, lower and check on programs: what they print, save and answer, and the two seed programs line by line."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

Dge = Callable[..., Any]
EXAMPLES = Path(__file__).parents[2] / "examples"
STAGES = ("pseudo", "word", "shape", "plan", "program", "descriptors")
SELECTED = ("--set", "log_stages=select", "--log", "-")
COPY_LOG = """\
S: DGE: Select backend Pool
S: DGE $S[10]+=1@dmacomplete src=[0x0]@0x100000000[0x1,0x80][128,1] dst=[0x0]@0x2000000000[0x1,0x80][128,1] cast:0xa->0xa bounds:(0 0x100000000<=0x0, 0 0x2000000000<=0x0) compute_op: 0x0
S: push GENERATE to DMA[0]: RD : addr=0x100000000, elem_size=4, sem_num=10
S: push DIMPUSH to DMA[0]: [128,128][1,1]
S: push DIMPUSH to DMA[0]: [1,1][128,128]
"""
COPY_BDS = ["0002000d030008010000000001000000", "00020001000000000000000020000000"]


def test_the_seed_copy_prints_exactly_its_lines(dge: Dge) -> None:
    answer = dge("run", "examples/seed_copy.toml", *SELECTED)
    assert (answer.code, answer.text, answer.err) == (0, COPY_LOG, "")
    lowered = dge("lower", "examples/seed_copy.toml", "--stage", "descriptors", "--json").json("lower")
    assert [bd["hex"] for bd in lowered["transfers"][0]["descriptors"]] == COPY_BDS
    run = dge("run", "examples/seed_copy.toml", "--json").json("run")
    assert run["semaphores"] == {"10": 1}
    assert run["transfers"][0]["descriptors"] == {
        "m2s": 1, "s2m": 1, "bytes": 512, "per_engine": [{"engine": 0, "m2s": 1, "s2m": 1, "bytes": 512}],
    }  # fmt: skip


def test_the_seed_transpose_prints_its_lines_and_moves_its_bytes(tmp_path: Path, dge: Dge) -> None:
    answer = dge("run", "examples/seed_transpose.toml", *SELECTED)
    assert answer.code == 0
    select, dump, *pushes = answer.lines
    assert select == "S: DGE: Select backend Pool"
    for part in ("[0x1,0x80][128,64]", "[0x1,0x40][64,128]", "cast:0x6->0x6"):
        assert part in dump
    assert [line.split(": ", 2)[2] for line in pushes if "DIMPUSH" in line] == ["[128,64][1,1]", "[64,128][128,64]"]
    assert "elem_size=2" in next(line for line in pushes if "GENERATE" in line)
    run = dge("run", "examples/seed_transpose.toml", "--json").json("run")
    names = list(run["tensors"])
    saved = [tmp_path / f"{name}.npy" for name in names]
    outs = [f"--out={name}={path}" for name, path in zip(names, saved, strict=True)]
    assert dge("run", "examples/seed_transpose.toml", "-q", *outs).code == 0
    src, dst = (np.load(path) for path in saved)
    assert (dst.reshape(128, 64) == src.reshape(64, 128).T).all()
    assert run["semaphores"] == {"20": 1}
    assert any("32" in issue["message"] and issue["severity"] == "warning" for issue in run["transfers"][0]["issues"])


@pytest.mark.parametrize("name", sorted(path.name for path in [*EXAMPLES.glob("*.toml"), *EXAMPLES.glob("*.neff")]))
def test_every_example_in_every_form(name: str, dge: Dge) -> None:
    run = dge("run", f"examples/{name}", "--json")
    result = run.json("run")
    clean = all(transfer["status"] == "done" for transfer in result["transfers"])
    assert run.code == (0 if clean else 1)
    walk, quiet = dge("run", f"examples/{name}"), dge("run", f"examples/{name}", "--quiet")
    assert (walk.code, quiet.code) == (run.code, run.code)
    assert walk.lines[0] == f"generation {result['generation']}"
    for transfer in result["transfers"]:
        assert any(line.startswith(f"{transfer['status']}: {transfer['name']} ") for line in quiet.lines)
    lowered = {stage: dge("lower", f"examples/{name}", "--stage", stage, "--json") for stage in STAGES}
    for stage, answer in lowered.items():
        value = answer.json("lower")
        assert (answer.code, value["stage"], value["generation"]) == (run.code, stage, result["generation"])
        assert [transfer["name"] for transfer in value["transfers"]] == [t["name"] for t in result["transfers"]]
        assert dge("lower", f"examples/{name}", "--stage", stage).code == run.code
    resolved = [[word["hex"] for word in t["word"]] for t in lowered["word"].json("lower")["transfers"]]
    assert resolved == [transfer["words"]["resolved"] for transfer in result["transfers"]]
    assert dge("check", f"examples/{name}", "--json").json("check")["schema"] == "dgekit.check/1"


def test_programs_from_standard_input(dge: Dge) -> None:
    text = (EXAMPLES / "seed_copy.toml").read_bytes()
    assert dge("run", "-", "-q", stdin=text).text == dge("run", "examples/seed_copy.toml", "-q").text
    neff = (EXAMPLES / "gradient.neff").read_bytes()
    assert dge("run", "-", "-q", stdin=neff).text == dge("run", "examples/gradient.neff", "-q").text
    assert dge("lower", "-", "--format", "toml", stdin=text).code == 0
    assert dge("check", "-", stdin=text).code == 0


def test_a_forced_format_is_believed(dge: Dge) -> None:
    text = (EXAMPLES / "seed_copy.toml").read_bytes()
    for form, rule in (("neff", "neff."), ("hex", "input.line"), ("jsonl", "input.line")):
        answer = dge("run", "-", "--format", form, stdin=text)
        assert answer.code == 3
        assert rule in answer.err
    unknown = dge("run", "-", "--format", "yaml", stdin=text)
    assert unknown.code == 2
    assert "input.format" in unknown.err and "toml" in unknown.err


def test_bare_words_run(dge: Dge) -> None:
    resolved = dge("run", "examples/seed_copy.toml", "--json").json("run")["transfers"][0]["words"]["resolved"][0]
    answer = dge("run", "-", "--json", stdin=resolved.encode())
    assert answer.code == 1  # nothing is at its addresses
    (transfer,) = answer.json("run")["transfers"]
    assert transfer["status"] == "refused"
    assert transfer["issues"][-1]["rule"] == "memory.unmapped"


def test_generation_and_switches_before_and_after_the_verb(dge: Dge) -> None:
    after = dge("run", "examples/seed_copy.toml", "--json", "--gen", "trn3", "--set", "generate_pairing=pair")
    before = dge("--gen", "trn3", "--set", "generate_pairing=pair", "run", "examples/seed_copy.toml", "--json")
    assert after.text == before.text
    result = after.json("run")
    assert (result["generation"], result["choices"]["generate_pairing"]) == ("MARIANA", "pair")
    later = dge("--gen", "trn2", "run", "examples/seed_copy.toml", "--json", "--gen", "trn3")
    assert later.json("run")["generation"] == "MARIANA"


def test_log_to_a_file(tmp_path: Path, dge: Dge) -> None:
    log = tmp_path / "fw.log"
    assert dge("run", "examples/seed_copy.toml", "-q", "--set", "log_stages=select", "--log", log).code == 0
    assert log.read_text() == COPY_LOG
    both = dge("run", "examples/seed_copy.toml", "--json", "--log", "-")
    assert (both.code, both.out) == (2, b"")
    assert "cli.stdout" in both.err


COPY = """
[tensors.x]
space = "hbm"
shape = [4, 8]
dtype = "bfloat16"
[tensors.y]
space = "sbuf"
shape = [4, 8]
dtype = "bfloat16"
[[transfers]]
op = "copy"
src = "x"
dst = "y"
"""


def test_tensors_in_and_out(tmp_path: Path, dge: Dge) -> None:
    program, given, saved = tmp_path / "p.toml", tmp_path / "x.npy", tmp_path / "y.npy"
    program.write_text(COPY)
    np.save(given, np.arange(32, dtype=np.uint16).reshape(4, 8))
    answer = dge("run", program, "-q", "--in", f"x={given}", "--out", f"y={saved}", "--out", f"x={tmp_path}/again.npy")
    assert answer.code == 0
    assert np.load(saved).dtype == np.uint16  # the bits of a type that numpy lacks (D54)
    assert (np.load(saved) == np.load(given)).all()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again.npy", "p.toml", "x.npy", "y.npy"]


def test_arrays_that_do_not_fit(tmp_path: Path, dge: Dge) -> None:
    program, given, saved = tmp_path / "p.toml", tmp_path / "x.npy", tmp_path / "y.npy"
    program.write_text(COPY)
    cases = [
        (np.zeros((4, 8), np.float32), "dec.D54"),
        (np.zeros((8, 4), np.uint16), "tensor.shape"),
        (b"no array", "input.npy"),
        (None, "input.file"),
    ]
    for array, rule in cases:
        given.unlink(missing_ok=True)
        if isinstance(array, bytes):
            given.write_bytes(array)
        elif array is not None:
            np.save(given, array)
        answer = dge("run", program, "--in", f"x={given}", "--out", f"y={saved}")
        assert (answer.code, answer.out) == (3, b"")
        assert rule in answer.err
        assert not saved.exists()


@pytest.mark.parametrize(
    ("options", "code", "rule"),
    [
        (["--out", "z=z.npy"], 2, "cli.tensor"),
        (["--out", "y"], 2, "cli.pair"),
        (["--in", "=f.npy"], 2, "cli.pair"),
        (["--out", "y=/no/such/folder/y.npy"], 3, "output.file"),
        (["--out", "y=."], 3, "output.file"),
        (["--in", "z=examples/gather_rows.npy"], 3, "input.tensor"),
        (["--subgraph", "sg00"], 2, "input.subgraph"),
        (["--gen", "trn9"], 2, "dge.generation"),
        (["--set", "step_unit"], 2, "cli.set"),
        (["--set", "step_unit=pounds"], 2, "choices.value"),
        (["--set", "step_units=bytes"], 2, "choices.name"),
        (["--set", "ring_size=many"], 2, "choices.value"),
    ],
)
def test_options_that_are_wrong(options: list[str], code: int, rule: str, tmp_path: Path, dge: Dge) -> None:
    program = tmp_path / "p.toml"
    program.write_text(COPY)
    answer = dge("run", program, *options)
    assert (answer.code, answer.out) == (code, b""), answer.err
    assert answer.err.startswith("dge: ") and rule in answer.err
    assert [path.name for path in tmp_path.iterdir()] == ["p.toml"]


def test_outputs_are_whole_or_not_there(tmp_path: Path, dge: Dge, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failing write leaves neither a part nor the temporary file; what was there stays."""
    program, saved = tmp_path / "p.toml", tmp_path / "y.npy"
    program.write_text(COPY)
    saved.write_bytes(b"before")

    def full(self: Path, data: bytes) -> int:
        with self.open("wb") as file:
            file.write(data[:10])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    answer = dge("run", program, "-q", "--out", f"y={saved}")
    assert answer.code == 3
    assert "output.file" in answer.err and "No space left" in answer.err
    assert saved.read_bytes() == b"before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["p.toml", "y.npy"]


def test_pipes_and_links_are_written_never_replaced(tmp_path: Path, dge: Dge) -> None:
    """What /dev/null and a named pipe have in common: the name must still be the same thing afterwards."""
    pipe, link, target = tmp_path / "pipe", tmp_path / "link", tmp_path / "target"
    os.mkfifo(pipe)
    link.symlink_to(target)
    found: list[str] = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_text()), daemon=True)
    reader.start()
    command = ["run", "examples/seed_copy.toml", "-q", "--set", "log_stages=select", "--log"]
    assert dge(*command, pipe).code == 0
    reader.join(30)
    assert (found, pipe.is_fifo()) == ([COPY_LOG], True)
    assert dge(*command, link).code == 0
    assert link.is_symlink() and target.read_text() == COPY_LOG


def test_a_refused_program_exits_1_and_says_why(tmp_path: Path, dge: Dge) -> None:
    program = tmp_path / "p.toml"
    program.write_text(COPY.replace('op = "copy"', 'op = "copy"\nmode = "hwdge"'))
    answer = dge("run", program, "--json", "--gen", "trn1")
    assert answer.code == 1
    (transfer,) = answer.json("run")["transfers"]
    assert (transfer["status"], transfer["issues"][-1]["rule"]) == ("refused", "dec.D47")
    assert "dec.D47" in dge("run", program, "-q", "--gen", "trn1").text
    checked = dge("check", program, "--gen", "trn1", "--json")
    assert checked.code == 1
    assert "dec.D47" in {issue["rule"] for issue in checked.json("check")["issues"]}


def test_an_unsupported_transfer_is_told_as_such(tmp_path: Path, dge: Dge) -> None:
    """Unsupported inside a transfer is a failed transfer; a stage that is none is a usage error."""
    assert dge("lower", "examples/seed_copy.toml", "--stage", "wort").code == 2
    assert "lower.stage" in dge("lower", "examples/seed_copy.toml", "--stage", "wort").err


def test_lower_for_people(dge: Dge) -> None:
    answer = dge("lower", "examples/seed_copy.toml", "--stage", "program")
    assert answer.lines[0] == "q_gradient_in (copy, pool): done"
    ops = [json.loads(line)["op"] for line in answer.lines[1:]]
    assert ops == ["GENERATE", "GENERATE", "DIMPUSH", "DIMPUSH"]

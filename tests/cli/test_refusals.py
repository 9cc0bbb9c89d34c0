"""What the command line refuses: one line on stderr with the rule, nothing on stdout, the designed exit code."""

import numpy as np
import pytest

from dgekit.cli import inputs
from dgekit.cli.main import run_cli

PROGRAM = """
[tensors.x]
space = "hbm"
shape = [4]
dtype = "uint8"
init = "zeros"
"""
WORD = "b810" + "00" * 62


@pytest.fixture
def program(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.toml").write_text(PROGRAM)
    (tmp_path / "folder").mkdir()
    np.save(tmp_path / "y.npy", np.zeros(4, np.uint8))
    return "p.toml"


@pytest.mark.parametrize(
    ("arguments", "code", "rule"),
    [
        (["run", "none.toml"], 3, "input.file"),
        (["run", "p.toml", "--set", "step_unit"], 2, "cli.set"),
        (["--set", "step_unit", "run", "p.toml"], 2, "cli.set"),
        (["run", "p.toml", "--set", "step_units=bytes"], 2, "choices.name"),
        (["run", "p.toml", "--set", "step_unit=words"], 2, "choices.value"),
        (["run", "p.toml", "--gen", "trn9"], 2, "dge.generation"),
        (["run", "p.toml", "--out", "x"], 2, "cli.pair"),
        (["run", "p.toml", "--out", "=x.npy"], 2, "cli.pair"),
        (["run", "p.toml", "--in", "x="], 2, "cli.pair"),
        (["run", "p.toml", "--out", "z=z.npy"], 2, "cli.tensor"),
        (["run", "p.toml", "--in", "y=y.npy"], 3, "input.tensor"),
        (["run", "p.toml", "--out", "x=nowhere/x.npy"], 3, "output.file"),
        (["run", "p.toml", "--out", "x=folder"], 3, "output.file"),
        (["run", "p.toml", "--json", "--log", "-"], 2, "cli.stdout"),
        (["run", "p.toml", "--subgraph", "sg0"], 2, "input.subgraph"),
        (["run", "p.toml", "--format", "xml"], 2, "input.format"),
        (["lower", "p.toml", "--stage", "shapes"], 2, ""),
        (["schema", "runs"], 2, "cli.schema"),
        (["diff", WORD, WORD + WORD], 3, "diff.size"),
        (["spec", "DMA_DIRECT2"], 2, "spec.name"),
        (["encode", "DMA_DIRECT2D", "semaphore"], 2, "words.assignment"),
        (["encode", "DMA_DIRECT2D", "src_start_addr=reg:1"], 1, "words.shorthand"),
        (["encode", "DMA_DIRECT2D", "semaphore=300"], 1, "layout.range"),
        (["diff", WORD * 4, WORD], 3, "diff.size"),  # hex longer than any file name
        (["encode", "DMA_" * 100], 3, "input.file"),
        (["runn", "p.toml"], 2, ""),
        (["neff", "info", "p.toml", "--supported", "many"], 2, "cli.number"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else "",
)
def test_refusals(program, capsys, arguments, code, rule):
    assert run_cli(arguments) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert "Traceback" not in err and err.strip()
    if rule:
        assert f"[{rule}]" in err and len(err.strip().splitlines()) == 1


def test_an_input_may_not_be_endless(program, capsys, monkeypatch):
    monkeypatch.setattr(inputs, "MAX_INPUT", 16)
    assert run_cli(["run", program]) == 3
    assert "input.limit" in capsys.readouterr().err

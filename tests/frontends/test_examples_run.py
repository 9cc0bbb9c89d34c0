"""Every example, run through the whole stack, moves the bytes that numpy computes from its pattern."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from dgekit.core.choices import Choices
from dgekit.frontends.neff.read import read_neff
from dgekit.frontends.neff_run import workload
from dgekit.frontends.toml_file import load
from dgekit.machine.results import RunResult
from dgekit.machine.session import Session, run_workload

EXAMPLES = Path(__file__).parents[2] / "examples"

# the log lines of the two worked programs
SEED_COPY = """\
S: DGE: Select backend Pool
S: DGE $S[10]+=1@dmacomplete src=[0x0]@0x100000000[0x1,0x80][128,1] dst=[0x0]@0x2000000000[0x1,0x80][128,1] cast:0xa->0xa bounds:(0 0x100000000<=0x0, 0 0x2000000000<=0x0) compute_op: 0x0
S: push GENERATE to DMA[0]: RD : addr=0x100000000, elem_size=4, sem_num=10
S: push DIMPUSH to DMA[0]: [128,128][1,1]
S: push DIMPUSH to DMA[0]: [1,1][128,128]"""
SEED_TRANSPOSE = [
    ("[0x1,0x80][128,64]", "[0x1,0x40][64,128]", "cast:0x6->0x6"),
    ("elem_size=2, sem_num=20",),
    ("[128,64][1,1]",),
    ("[64,128][128,64]",),
]


def run(name: str, **choices: Any) -> tuple[RunResult, Session]:
    path = EXAMPLES / name
    program = load(path) if path.suffix == ".toml" else workload(read_neff(path), choices=choices)
    return run_workload(program, Choices(choices))


def statuses(result: RunResult) -> list[str]:
    return [transfer.status for transfer in result.transfers]


def test_seed_copy() -> None:
    result, session = run("seed_copy.toml")
    assert statuses(result) == ["done"] and result.semaphores == {10: 1}
    assert list(result.log) == SEED_COPY.splitlines()
    assert np.array_equal(session.tensor_array("gradient_in")[0], np.arange(128, dtype=np.float32))


def test_seed_transpose() -> None:
    result, session = run("seed_transpose.toml")
    assert statuses(result) == ["done"] and result.semaphores == {20: 1}
    assert result.log[0] == "S: DGE: Select backend Pool" and len(result.log) == 5
    for line, pieces in zip(result.log[1:], SEED_TRANSPOSE, strict=True):
        assert all(piece in line for piece in pieces)
    source = np.arange(8192, dtype=np.float32).astype(ml_dtypes.bfloat16).reshape(64, 128)
    assert np.array_equal(session.tensor_array("dst").reshape(128, 64), source.T)
    assert {issue.severity for issue in result.transfers[0].issues} == {"warning"}


def test_load_e18() -> None:
    result, session = run("load_e18.toml")
    assert statuses(result) == ["done"] and result.semaphores == {10: 16}
    assert np.array_equal(session.tensor_array("tile"), session.tensor_array("x"))
    batch = result.transfers[0].descriptors
    assert (batch.m2s_count, batch.s2m_count) == (32, 144)
    assert result.log == ()


def test_gather_oob() -> None:
    result, session = run("gather_oob.toml")
    assert statuses(result) == ["done", "skipped"] and result.semaphores == {12: 1}
    table = np.arange(128 * 512, dtype=np.float32).reshape(128, 512)
    expected = np.ones((64, 512), np.float32)
    expected[:43] = table[3 * np.arange(43)]
    assert np.array_equal(session.tensor_array("skipped"), expected)
    assert np.all(session.tensor_array("refused") == 1)
    message = result.transfers[1].issues[0].message
    assert "66048" in message and "65536" in message


def test_scatter_add() -> None:
    result, session = run("scatter_add.toml")
    expected = np.zeros((256, 1), np.int32)
    expected[5], expected[200] = 3, 1
    assert statuses(result) == ["done"] and result.semaphores == {12: 1}
    assert np.array_equal(session.tensor_array("histogram"), expected)


def test_pattern4d() -> None:
    result, session = run("pattern4d.toml")
    x = np.arange(4 * 6 * 8 * 16, dtype=np.int16).reshape(4, 6, 8, 16)
    assert statuses(result) == ["done"] and result.semaphores == {14: 1}
    assert np.array_equal(session.tensor_array("packed"), x[:, ::2, :, ::2])


def test_cast() -> None:
    result, session = run("cast.toml")
    weights = session.tensor_array("weights")
    assert statuses(result) == ["done"]
    assert np.array_equal(session.tensor_array("tile"), weights.astype(ml_dtypes.bfloat16))


def test_raw_word() -> None:
    result, session = run("raw_word.toml")
    assert statuses(result) == ["done"] and result.semaphores == {10: 1}
    assert np.array_equal(session.tensor_array("gradient_in")[0], np.arange(128, dtype=np.float32))


def test_wait_chain() -> None:
    result, session = run("wait_chain.toml")
    assert statuses(result) == ["done", "done"] and result.semaphores == {4: 1, 5: 1}
    assert session.tensor_array("y").tobytes() == session.tensor_array("x").tobytes()


@pytest.mark.parametrize("path", ["dge", "static"])
def test_gradient_neff(path: str) -> None:
    result, session = run("gradient.neff", neff_path=path)
    assert statuses(result) == ["done"] * 3 and result.ok
    assert set(result.semaphores) == {10, 11, 22}
    assert np.array_equal(session.tensor_array("output"), np.arange(128, dtype=np.uint8))
    assert [transfer.name for transfer in result.transfers] == ["q_gradient_in.0", "q_gradient_out.0", "all-reduce[0]"]
    if path == "dge":
        assert result.semaphores == {10: 1, 11: 1, 22: 1}
        legs = [line for line in result.log if "GENERATE" in line]
        assert "RD" in legs[0] and "WR" in legs[1]  # the out queue shows its WR leg
    else:
        assert result.log == ()

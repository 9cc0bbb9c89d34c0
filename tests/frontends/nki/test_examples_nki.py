"""The committed kernels do what their docstrings say."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import dgekit

EXAMPLES = Path(__file__).parents[3] / "examples"


def test_gather_and_added_rows() -> None:
    table = np.arange(32 * 8, dtype=np.float32).reshape(32, 8)
    rows = np.array([[5], [0], [40], [31]], np.int32)
    script = EXAMPLES / "nki_gather.py"
    run = dgekit.run(f"{script}:gather", inputs={"table": table, "rows": rows})
    assert (
        run.ok
        and np.array_equal(run.tensor("out")[[0, 1, 3]], table[[5, 0, 31]])
        and (run.tensor("out")[2] == -1).all()
    )
    added = dgekit.run(f"{script}:add_rows", inputs={"table": table, "rows": rows[:2], "values": table[:2] * 2})
    expected = table.copy()
    expected[[5, 0]] += table[:2] * 2
    assert added.ok and np.array_equal(added.tensor("out"), expected)


@pytest.mark.parametrize("generation", ["trn1", "trn2", "trn3"])
def test_tiles(generation) -> None:
    a = np.random.default_rng(0).integers(-99, 99, (200, 700)).astype(np.int16)
    run = dgekit.run(EXAMPLES / "nki_tiles.py", inputs={"a": a}, generation=generation)
    assert run.ok and np.array_equal(run.tensor("out"), a)


def test_pages() -> None:
    rng = np.random.default_rng(1)
    cache = rng.integers(-99, 99, (300, 2 * 128)).astype(ml_dtypes.bfloat16)
    pages = rng.permutation(300)[:128].astype(np.uint32)[:, None]
    run = dgekit.run(EXAMPLES / "nki_paged.py", inputs={"cache": cache, "pages": pages})
    expected = cache.reshape(300, 2, 128)[pages[:, 0]].transpose(2, 1, 0)[:, None]
    assert run.ok and np.array_equal(run.tensor("out"), expected)

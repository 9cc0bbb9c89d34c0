"""Every generation, mode and pair of memories once, for every kind of transfer: the bytes or the reason."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from oracle import added, cast, copied, positions, same
from world import INCREMENT, PAIRS, PUSH_MODES, SEMAPHORE, SPACES, World

from dgekit.core.generations import GENERATIONS

SIGNAL: dict[str, Any] = {"semaphore": SEMAPHORE, "increment": INCREMENT}
GRID = [pytest.param(*pair, *spaces, id="-".join((*pair, *spaces))) for pair in PAIRS for spaces in SPACES]


def test_these_are_all_pairs() -> None:
    assert sorted(PAIRS) == sorted((generation.name, mode) for generation in GENERATIONS for mode in generation.modes)


@pytest.mark.parametrize("generation", ["SUNDA", "MAVERICK"])
@pytest.mark.parametrize("mode", [mode for mode in PUSH_MODES if mode != "none"])
def test_no_other_pair_runs(generation: str, mode: str) -> None:
    world = World(generation)
    src, dst = world.tensor("src", "hbm", (4, 4), "uint8"), world.tensor("dst", "hbm", (4, 4), "uint8")
    done = world.device.copy(dst, src, mode=mode, **SIGNAL)
    world.expect_untouched(done)
    assert [issue.rule for issue in done.issues] == ["dec.D47"]


@pytest.mark.parametrize(("generation", "mode", "src_space", "dst_space"), GRID)
def test_copy(generation: str, mode: str, src_space: str, dst_space: str) -> None:
    world = World(generation)
    src = world.tensor("src", src_space, (24, 20), "bfloat16")
    dst = world.tensor("dst", dst_space, (24, 24), "bfloat16")
    taken, filled = [[20, 24], [-1, 17]], [[24, 24], [1, 17]]  # rows, each backwards
    done = world.device.copy(dst.at(filled, 3), src.at(taken, 18), mode=mode, **SIGNAL)
    assert done.ok, done.issues
    values = world.before["src"][positions(taken, 18)]
    assert world.flat("dst").tobytes() == copied(world.before["dst"], positions(filled, 3), values).tobytes()
    assert world.changed() == ["dst"]
    world.expect_signal(done)


@pytest.mark.parametrize(("generation", "mode", "src_space", "dst_space"), GRID)
def test_cast(generation: str, mode: str, src_space: str, dst_space: str) -> None:
    world = World(generation)
    src = world.tensor("src", src_space, (16, 12), "float32")
    dst = world.tensor("dst", dst_space, (16, 12), "bfloat16")
    done = world.device.copy(dst, src, mode=mode, **SIGNAL)
    if mode == "hwdge":  # RTL takes no cast (D16)
        world.expect_untouched(done)
        assert "dec.D16" in [issue.rule for issue in done.issues]
        return
    assert done.ok, done.issues
    assert same(world.flat("dst"), cast(world.before["src"], "bfloat16")) and world.changed() == ["dst"]
    world.expect_signal(done)


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
@pytest.mark.parametrize("walk", ["tiles", "elements"])
@pytest.mark.parametrize("src_space", ["hbm", "sbuf"])
@pytest.mark.parametrize(("generation", "mode"), PAIRS)
def test_transpose(generation: str, mode: str, src_space: str, walk: str, dtype: str) -> None:
    world = World(generation, {"xpose_walk": walk})
    src, dst = world.tensor("src", src_space, (32, 24), dtype), world.tensor("dst", "sbuf", (24, 32), dtype)
    done = world.device.transpose(dst, src, mode=mode, **SIGNAL)
    assert done.ok, done.issues
    assert world.flat("dst").tobytes() == world.before["src"].reshape(32, 24).T.tobytes()
    assert world.changed() == ["dst"]
    world.expect_signal(done)


ROWS, COLS = 12, 8
INSIDE = np.array([[3, 0, 11, 7, 5]], np.uint32)
OUTSIDE = np.array([[3, 12, 11, 4000000000, 5]], np.uint32)


@pytest.mark.parametrize(
    ("op", "lanes"), [("gather", "inside"), ("scatter", "skip"), ("gather", "error"), ("scatter", "error")]
)
@pytest.mark.parametrize(("generation", "mode", "src_space", "dst_space"), GRID)
def test_indexed(generation: str, mode: str, src_space: str, dst_space: str, lanes: str, op: str) -> None:
    indices = INSIDE if lanes == "inside" else OUTSIDE
    world = World(generation)
    table_space, data_space = (src_space, dst_space) if op == "gather" else (dst_space, src_space)
    table = world.tensor("table", table_space, (ROWS, COLS), "float16")
    data = world.tensor("data", data_space, (5, COLS), "float16")
    picks = world.tensor("picks", "sbuf", (1, 5), "uint32", indices)
    oob = "skip" if lanes == "skip" else "error"
    ends = (data, table) if op == "gather" else (table, data)
    done = getattr(world.device, op)(*ends, picks, mode=mode, oob=oob, **SIGNAL)
    if mode == "hwdge" or lanes == "error":
        world.expect_untouched(done)
        assert done.status == ("refused" if mode == "hwdge" else "skipped")
        assert {"dec.D16", "dec.D25"} & {issue.rule for issue in done.issues}
        return
    assert done.ok, done.issues
    wanted = {name: world.before[name].reshape(-1, COLS).copy() for name in ("table", "data")}
    for lane, index in enumerate(indices[0].tolist()):
        if index < ROWS and op == "gather":
            wanted["data"][lane] = wanted["table"][index]
        elif index < ROWS:
            wanted["table"][index] = wanted["data"][lane]
    for name, rows in wanted.items():
        assert world.flat(name).tobytes() == rows.tobytes()
    assert world.changed() == ["data" if op == "gather" else "table"]
    world.expect_signal(done)


@pytest.mark.parametrize("dtype", ["float32", "int32"])
@pytest.mark.parametrize(("generation", "mode", "src_space", "dst_space"), GRID)
def test_scatter_add(generation: str, mode: str, src_space: str, dst_space: str, dtype: str) -> None:
    world = World(generation)
    values = np.random.default_rng(1).integers(-(2**31), 2**31, (ROWS + 6, COLS)).astype(dtype)
    table = world.tensor("table", dst_space, (ROWS, COLS), dtype, values[:ROWS])
    data = world.tensor("data", src_space, (6, COLS), dtype, values[ROWS:])
    indices = np.array([[2, 7, 2, 2, 0, 7]], np.uint32)
    picks = world.tensor("picks", "sbuf", (1, 6), "uint32", indices)
    done = world.device.scatter(table, data, picks, mode=mode, accumulate="add", non_unique=True, **SIGNAL)
    if mode == "hwdge":
        world.expect_untouched(done)
        return
    if generation == "MAVERICK":  # nothing is known of its compute path (cce 8)
        world.expect_untouched(done)
        assert [issue.rule for issue in done.issues if issue.severity == "error"] == ["cce.5.1"]
        return
    assert done.ok, done.issues
    to = (indices[0].astype(np.int64)[:, None] * COLS + np.arange(COLS)).ravel()
    assert world.flat("table").tobytes() == added(world.before["table"], to, world.before["data"]).tobytes()
    assert world.changed() == ["table"]
    world.expect_signal(done)


@pytest.mark.parametrize("lanes", ["inside", "skip", "error"])
@pytest.mark.parametrize(("generation", "mode"), PAIRS)
def test_gather_transpose(generation: str, mode: str, lanes: str) -> None:
    world = World(generation)
    table = world.tensor("table", "hbm", (40, 24), "bfloat16")
    dst = world.tensor("dst", "sbuf", (24, 32), "bfloat16")
    indices = np.random.default_rng(2).integers(0, 40, (1, 32)).astype(np.uint32)
    if lanes != "inside":
        indices[0, [4, 31]] = 40, 2**32 - 1
    picks = world.tensor("picks", "sbuf", (1, 32), "uint32", indices)
    oob = "skip" if lanes == "skip" else "error"
    done = world.device.gather_transpose(dst, table, picks, mode=mode, oob=oob, **SIGNAL)
    if mode == "hwdge" or lanes == "error":
        world.expect_untouched(done)
        return
    assert done.ok, done.issues
    rows, wanted = world.before["table"].reshape(40, 24), world.before["dst"].reshape(24, 32).copy()
    for lane, index in enumerate(indices[0].tolist()):
        if index < 40:
            wanted[:, lane] = rows[index]
    assert world.flat("dst").tobytes() == wanted.tobytes() and world.changed() == ["dst"]
    world.expect_signal(done)

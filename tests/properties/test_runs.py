"""Whatever is asked, memory holds afterwards what numpy computes from the pattern, or nothing has changed."""

from __future__ import annotations

from typing import Any

import numpy as np
from cases import Leg, counts, dtypes, leg, pairs, regrouped, seeds, spaces, switches
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from oracle import added, cast, copied, positions, same
from world import INCREMENT, SEMAPHORE, World

# D1: in elements, a step that holds no whole number of them is refused; the rows of indexed words need not divide
STEPS = "step_unit"
SIGNAL: dict[str, Any] = {"semaphore": SEMAPHORE, "increment": INCREMENT}
EXAMPLES = settings(max_examples=40, deadline=None)


def placed(world: World, name: str, side: Leg, dtype: str, values: Any = None) -> Any:
    """A tensor of the leg's shape; its access."""
    ref = world.tensor(name, side.space, side.shape, dtype, values)
    return ref.at(side.pattern, side.offset)


@EXAMPLES
@given(st.data(), pairs, spaces, counts(), dtypes, seeds, switches())
def test_copy(
    data: st.DataObject, pair: tuple[str, str], ends: tuple[str, str], base: list[int], dtype: str, seed: int, how: Any
) -> None:
    src = data.draw(leg(ends[0], data.draw(regrouped(base)), distinct=False))
    dst = data.draw(leg(ends[1], data.draw(regrouped(base)), distinct=True))
    world = World(pair[0], how, seed, partitions=8)
    done = world.device.copy(placed(world, "dst", dst, dtype), placed(world, "src", src, dtype), mode=pair[1], **SIGNAL)
    assert done.ok, done.issues
    values = world.before["src"][positions(src.pattern, src.offset)]
    wanted = copied(world.before["dst"], positions(dst.pattern, dst.offset), values)
    assert world.flat("dst").tobytes() == wanted.tobytes()
    assert set(world.changed()) <= {"dst"}
    world.expect_signal(done)


WIDE = {"int64", "uint64"}
E4M3 = {"float8_e4m3", "float8_e4m3fn"}


def refusal_of_cast(mode: str, dtypes: set[str]) -> str:
    """The rule that stops a cast between two types, or nothing."""
    if dtypes == E4M3:
        return "dec.D54"  # one code for both forms
    if dtypes & WIDE:
        return "isa.4.2.dtype"
    return "dec.D16" if mode == "hwdge" else ""


@EXAMPLES
@given(st.data(), pairs, spaces, counts(120), dtypes, dtypes, seeds, switches())
def test_cast(
    data: st.DataObject, pair: tuple[str, str], ends: tuple[str, str], base: list[int],
    from_type: str, to_type: str, seed: int, how: Any,
) -> None:  # fmt: skip
    assume(from_type != to_type)
    src = data.draw(leg(ends[0], data.draw(regrouped(base)), distinct=False))
    dst = data.draw(leg(ends[1], data.draw(regrouped(base)), distinct=True))
    world = World(pair[0], how, seed, partitions=8)
    done = world.device.copy(
        placed(world, "dst", dst, to_type), placed(world, "src", src, from_type), mode=pair[1], **SIGNAL
    )
    refusal = refusal_of_cast(pair[1], {from_type, to_type})
    if refusal:
        world.expect_untouched(done)
        assert refusal in [issue.rule for issue in done.issues]
        return
    assert done.ok, done.issues
    values = cast(world.before["src"][positions(src.pattern, src.offset)], to_type)
    to = positions(dst.pattern, dst.offset)
    assert same(world.flat("dst")[to], values)
    rest = np.ones(len(world.before["dst"]), bool)
    rest[to] = False
    assert world.flat("dst")[rest].tobytes() == world.before["dst"][rest].tobytes()
    assert set(world.changed()) <= {"dst"}
    world.expect_signal(done)


@EXAMPLES
@given(st.data(), pairs, st.sampled_from(["hbm", "sbuf"]), st.booleans(), seeds, switches())
def test_transpose_in_tiles(
    data: st.DataObject, pair: tuple[str, str], space: str, wide: bool, seed: int, how: Any
) -> None:
    """A slice of a matrix into a slice of another, at offsets, over tiles (D10)."""
    dtype, size = ("float32", 4) if wide else ("uint16", 2)
    rows, cols = 16 * data.draw(st.integers(1, 4)), data.draw(st.integers(1, 96))
    left, right, above = (data.draw(st.integers(0, 5)) for _ in range(3))
    ahead = 32 // size * data.draw(st.integers(0, 2))
    world = World(pair[0], how, seed, partitions=8)
    width, height = left + cols + right, ahead + rows + right
    src = world.tensor("src", space, (rows + above, width), dtype)
    dst = world.tensor("dst", "sbuf", (cols + above, height), dtype)
    taken, filled = [[width, rows], [1, cols]], [[height, cols], [1, rows]]
    starts = above * width + left, above * height + ahead
    done = world.device.transpose(dst.at(filled, starts[1]), src.at(taken, starts[0]), mode=pair[1], **SIGNAL)
    assert done.ok, done.issues
    picked = world.before["src"][positions(taken, starts[0])].reshape(rows, cols).T.ravel()
    wanted = copied(world.before["dst"], positions(filled, starts[1]), picked)
    assert world.flat("dst").tobytes() == wanted.tobytes() and set(world.changed()) <= {"dst"}
    world.expect_signal(done)


def start_byte(side: Leg, size: int) -> int:
    """Where a leg starts, counted from the start of its tensor's row."""
    return side.offset % (side.shape[1] if side.space == "sbuf" else side.offset + 1) * size


def aligned(side: Leg, multiple: int) -> Leg:
    """The leg moved along its row so that it starts at a multiple of so many elements."""
    more = -(side.offset % side.shape[1]) % multiple
    rows, free = side.shape
    if side.space == "hbm":
        more = -side.offset % multiple
        return Leg(side.space, (1, rows * free + more), side.pattern, side.offset + more)
    row, column = divmod(side.offset, free)
    pattern = [[step // free * (free + more) if step % free == 0 else step, n] for step, n in side.pattern]
    return Leg(side.space, (rows, free + more), pattern, row * (free + more) + column + more)


@EXAMPLES
@given(st.data(), pairs, spaces, st.sampled_from([2, 4]), seeds, switches())
def test_transpose_by_elements(
    data: st.DataObject, pair: tuple[str, str], ends: tuple[str, str], size: int, seed: int, how: Any
) -> None:
    """Any two dimensions against the same two the other way round (D11); a word's destination is 32-byte aligned."""
    rows, cols = data.draw(st.integers(1, 40)), data.draw(st.integers(1, 24))
    src = data.draw(leg(ends[0], [rows, cols], distinct=False))
    dst = data.draw(leg(ends[1], [cols, rows], distinct=True))
    if data.draw(st.booleans()):
        dst = aligned(dst, 32 // size)
    world = World(pair[0], {**how, "xpose_walk": "elements"}, seed, partitions=8)
    dtype = f"uint{8 * size}"
    done = world.device.transpose(
        placed(world, "dst", dst, dtype), placed(world, "src", src, dtype), mode=pair[1], **SIGNAL
    )
    if pair[1] != "none" and start_byte(dst, size) % 32:
        world.expect_untouched(done)
        assert [issue.rule for issue in done.issues if issue.severity == "error"] == ["isa.4.4.dst_align"]
        return
    assert done.ok, done.issues
    picked = world.before["src"][positions(src.pattern, src.offset)].reshape(rows, cols).T.ravel()
    wanted = copied(world.before["dst"], positions(dst.pattern, dst.offset), picked)
    assert world.flat("dst").tobytes() == wanted.tobytes() and set(world.changed()) <= {"dst"}
    world.expect_signal(done)


@EXAMPLES
@given(st.data(), pairs, spaces, dtypes, st.sampled_from(["gather", "scatter"]), seeds, switches(STEPS))
def test_indexed(
    data: st.DataObject, pair: tuple[str, str], ends: tuple[str, str], dtype: str, op: str, seed: int, how: Any
) -> None:
    """Rows by index, repeated and out-of-range ones too; the last lane that writes a row wins (D65)."""
    rows, lanes = data.draw(st.integers(1, 30)), data.draw(st.integers(1, 40))
    inner = data.draw(counts(24))
    row = int(np.prod(inner))
    table_space, data_space = ends if op == "gather" else ends[::-1]
    # a row of the table is its inner dimensions; the direct leg has one such row for each lane
    table = data.draw(leg(table_space, [rows, *inner], distinct=True))
    direct = data.draw(leg(data_space, [lanes, *inner], distinct=op == "gather"))
    numbers = st.integers(0, rows - 1) | st.integers(rows, 2**32 - 1)
    indices = data.draw(st.lists(st.integers(0, rows - 1) if data.draw(st.booleans()) else numbers,
                                 min_size=lanes, max_size=lanes))  # fmt: skip
    oob = data.draw(st.sampled_from(["error", "skip"]))
    across = data.draw(st.booleans())
    world = World(pair[0], how, seed, partitions=8)
    table_at, direct_at = placed(world, "table", table, dtype), placed(world, "data", direct, dtype)
    shape = (lanes, 1) if across else (1, lanes)
    picks = world.tensor("picks", "sbuf", shape, "uint32", np.array(indices, np.uint32).reshape(shape))
    to, frm = (direct_at, table_at) if op == "gather" else (table_at, direct_at)
    done = world.device.transfer(op, to, frm, indices=picks.access, mode=pair[1], oob=oob, non_unique=True, **SIGNAL)
    if pair[1] == "hwdge" or (oob == "error" and max(indices) >= rows):
        world.expect_untouched(done)
        assert {"dec.D16", "dec.D25"} & {issue.rule for issue in done.issues}
        return
    assert done.ok, done.issues
    cells = positions(table.pattern, table.offset).reshape(rows, row)
    ends_at = positions(direct.pattern, direct.offset).reshape(lanes, row)
    wanted = {name: world.before[name].copy() for name in ("table", "data")}
    for lane, index in enumerate(indices):
        if index < rows and op == "gather":
            wanted["data"][ends_at[lane]] = world.before["table"][cells[index]]
        elif index < rows:
            wanted["table"][cells[index]] = world.before["data"][ends_at[lane]]
    for name, flat in wanted.items():
        assert world.flat(name).tobytes() == flat.tobytes()
    assert set(world.changed()) <= {"data" if op == "gather" else "table"}
    world.expect_signal(done)


@EXAMPLES
@given(st.data(), pairs, spaces, st.sampled_from(["float32", "int32"]), seeds, switches(STEPS))
def test_scatter_add(
    data: st.DataObject, pair: tuple[str, str], ends: tuple[str, str], dtype: str, seed: int, how: Any
) -> None:
    """Every index adds its row in lane order, repeated ones again and again (D65)."""
    rows, cols, lanes = (data.draw(st.integers(1, n)) for n in (8, 12, 30))
    indices = data.draw(st.lists(st.integers(0, rows - 1), min_size=lanes, max_size=lanes))
    random = np.random.default_rng(seed)
    values = [random.integers(-(2**31), 2**31, (n, cols)).astype(dtype) for n in (rows, lanes)]
    world = World(pair[0], how, seed, partitions=8)
    table = world.tensor("table", ends[1], (rows, cols), dtype, values[0])
    source = world.tensor("data", ends[0], (lanes, cols), dtype, values[1])
    picks = world.tensor("picks", "sbuf", (1, lanes), "uint32", np.array([indices], np.uint32))
    done = world.device.scatter(table, source, picks, mode=pair[1], accumulate="add", non_unique=True, **SIGNAL)
    if pair[1] == "hwdge" or pair[0] == "MAVERICK":  # nothing is known of its compute path (cce 8)
        world.expect_untouched(done)
        return
    assert done.ok, done.issues
    to = positions([[cols, rows], [1, cols]]).reshape(rows, cols)[indices].ravel()
    assert world.flat("table").tobytes() == added(world.before["table"], to, world.before["data"]).tobytes()
    assert set(world.changed()) <= {"table"}
    world.expect_signal(done)


@EXAMPLES
@given(st.data(), pairs, st.sampled_from(["float16", "bfloat16", "int16"]), seeds, switches())
def test_gather_transpose(data: st.DataObject, pair: tuple[str, str], dtype: str, seed: int, how: Any) -> None:
    rows, cols, lanes = (data.draw(st.integers(1, n)) for n in (40, 60, 4))
    lanes *= 16
    indices = data.draw(st.lists(st.integers(0, rows - 1) | st.integers(0, rows + 3), min_size=lanes, max_size=lanes))
    oob = data.draw(st.sampled_from(["error", "skip"]))
    world = World(pair[0], how, seed, partitions=8)
    table = world.tensor("table", "hbm", (rows, cols), dtype)
    dst = world.tensor("dst", "sbuf", (cols, lanes), dtype)
    picks = world.tensor("picks", "sbuf", (1, lanes), "uint32", np.array([indices], np.uint32))
    done = world.device.gather_transpose(dst, table, picks, mode=pair[1], oob=oob, **SIGNAL)
    if pair[1] == "hwdge" or (oob == "error" and max(indices) >= rows):
        world.expect_untouched(done)
        return
    assert done.ok, done.issues
    cells, wanted = world.before["table"].reshape(rows, cols), world.before["dst"].reshape(cols, lanes).copy()
    for lane, index in enumerate(indices):
        if index < rows:
            wanted[:, lane] = cells[index]
    assert world.flat("dst").tobytes() == wanted.tobytes() and set(world.changed()) <= {"dst"}
    world.expect_signal(done)


TIGHT = {"ring_size": 32}


@EXAMPLES
@given(st.data(), pairs, spaces, counts(), seeds, st.sampled_from([TIGHT, {"rdm": True}, {"rdm": True, **TIGHT}]))
def test_copy_through_small_rings_or_the_rdm(
    data: st.DataObject, pair: tuple[str, str], ends: tuple[str, str], base: list[int], seed: int, how: Any
) -> None:
    """A packet that no ring holds, or that leaves a block of the RDM unfinished, is refused whole (rings 2.6, 2.12)."""
    src = data.draw(leg(ends[0], base, distinct=False))
    dst = data.draw(leg(ends[1], base, distinct=True))
    world = World(pair[0], how, seed, partitions=8)
    done = world.device.copy(
        placed(world, "dst", dst, "int16"), placed(world, "src", src, "int16"), mode=pair[1], **SIGNAL
    )
    if done.status != "done":
        world.expect_untouched(done)
        assert {issue.rule for issue in done.issues if issue.severity == "error"} <= {"rings.2.6", "rings.2.12"}
        return
    values = world.before["src"][positions(src.pattern, src.offset)]
    wanted = copied(world.before["dst"], positions(dst.pattern, dst.offset), values)
    assert world.flat("dst").tobytes() == wanted.tobytes() and set(world.changed()) <= {"dst"}
    world.expect_signal(done)


@settings(max_examples=20, deadline=None)
@given(st.data(), st.sampled_from(["CAYMAN", "MARIANA", "MARIANA_PLUS"]), spaces, counts(), dtypes, seeds)
def test_splitting_never_changes_memory(
    data: st.DataObject, generation: str, ends: tuple[str, str], base: list[int], dtype: str, seed: int
) -> None:
    """One request over every path and with every cut leaves the same bytes."""
    src = data.draw(leg(ends[0], base, distinct=False))
    dst = data.draw(leg(ends[1], base, distinct=True))
    left = set()
    for mode, how in (
        ("none", {}), ("unknown", {}), ("hwdge", {"fold_element": False}), ("swdge", {"packet_bytes": 64}),
        ("unknown", {"hbm_split": "equal", "step_unit": "elements", "ring_size": 64}),
        ("unknown", {"fold_element": False, "packet_bytes": 3}),
    ):  # fmt: skip
        world = World(generation, how, seed, partitions=4)
        done = world.device.copy(placed(world, "dst", dst, dtype), placed(world, "src", src, dtype), mode=mode)
        assert done.ok, done.issues
        left.add(world.flat("dst").tobytes())
    assert len(left) == 1

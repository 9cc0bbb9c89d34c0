"""The host's own expansion: E18, channel shares, and the bytes of every kind of work against an itertools oracle."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgekit.core.choices import Choices
from dgekit.core.dtypes import dtype_named
from dgekit.core.errors import ComputeError, LoweringError, Unsupported
from dgekit.core.generations import CAYMAN, MARIANA, MAVERICK, SUNDA
from dgekit.descriptors.batch import PacketKind
from dgekit.transfers.placement import place
from dgekit.transfers.static import increment_ordinals, read_indices, static_work
from dgekit.transfers.transfer import Access, SemaphoreStep, Tensor, Transfer

FP32, BF16, U8, U32, I64 = (dtype_named(n) for n in ("float32", "bfloat16", "uint8", "uint32", "int64"))
BASE, STRIDE = 0x2000000000, 0x40000


def plan(op, tensors, src, dst, choices=None, generation=CAYMAN, values=None, ordinals=None, **more):
    placement = place(tensors, generation)
    transfer = Transfer("t", op, src, dst, "none", **more)
    made = static_work(transfer, placement, generation, Choices(choices), indices=values, ordinals=ordinals)
    return made, placement


def expanded(runs, size):
    """The address of every element of the runs, in order."""
    for start, length in zip(runs.starts.tolist(), runs.lengths.tolist(), strict=True):
        assert length % size == 0
        yield from range(start, start + length, size)


def pairs(work, src_size, dst_size):
    """(destination element, source element) of one channel's work."""
    if work.kind is PacketKind.TRANSPOSE:
        yield from tile_pairs(work, src_size)
        return
    if work.kind is PacketKind.COMPUTE:
        (old, new), (dst,) = work.sources, work.dests  # B = B op A (cce CHOICE-01)
        assert old is dst and new.lengths.tolist() == dst.lengths.tolist()
        yield from zip(expanded(dst, dst_size), expanded(new, src_size), strict=True)
        return
    yield from zip(expanded(work.dst, dst_size), expanded(work.src, src_size), strict=True)


def tile_pairs(work, size):
    """D12: run r of a tile's source is row r, run c of its destination is column c."""
    rows, cols = work.tile_rows, work.tile_cols
    tiles = len(work.src) // rows
    assert len(work.src) == tiles * rows and len(work.dst) == tiles * cols
    assert set(work.src.lengths.tolist()) == {cols * size} and set(work.dst.lengths.tolist()) == {rows * size}
    for tile, r, c in itertools.product(range(tiles), range(rows), range(cols)):
        yield int(work.dst.starts[tile * cols + c]) + r * size, int(work.src.starts[tile * rows + r]) + c * size


def e18(**more):
    tensors = [
        Tensor("x", "hbm", (128, 1024), FP32, address=0x10000000),
        Tensor("y", "sbuf", (128, 1024), FP32, partition=0, offset=0),
    ]
    return plan("copy", tensors, Access("x"), Access("y"), semaphore=10, **more)[0]


def test_e18():
    made = e18()
    assert [work.dma for work in made.work] == list(range(16))
    five = made.work[5]
    assert (five.src.starts.tolist(), five.src.lengths.tolist()) == ([0x10028000], [0x8000])
    assert five.dst.starts.tolist() == [0x2000A00000 + STRIDE * row for row in range(8)]
    assert five.dst.lengths.tolist() == [0x1000] * 8
    assert sum(len(work.dst) for work in made.work) == 128
    pair = made.increments[5]
    assert (pair.dma, pair.value_address, pair.inc_address, pair.value) == (5, 0x2000A37FFC, 0x2802701828, 1)
    assert sum(pair.value for pair in made.increments) == 16


def test_every_engine_increments_even_without_data():
    tensors = [Tensor("x", "hbm", (4, 4), U8), Tensor("y", "sbuf", (4, 4), U8, core=1)]
    made, _ = plan("copy", tensors, Access("x"), Access("y"), semaphore=3, increment=2)
    assert [work.dma for work in made.work] == [0]
    assert [pair.dma for pair in made.increments] == list(range(16))
    # value words lie in the executing core's SBUF; the semaphores of a program are one set, that of core 0
    assert {pair.inc_address for pair in made.increments} == {0x2000000000 + 0x802700000 + 0x1800 + 12}
    assert made.increments[1].value_address == 0x3000000000 + 8 * STRIDE + 0x37FFC
    assert plan("copy", tensors, Access("x"), Access("y"))[0].increments == ()


def test_each_distinct_increment_has_its_own_word():
    items = [
        Transfer("a", "copy", Access("x"), Access("y"), "none", 1, 5),
        Transfer("b", "copy", Access("x"), Access("y"), "none", 1, 7),
        Transfer("c", "copy", Access("x"), Access("y"), "none", 2, 5),
        Transfer("d", "copy", Access("x"), Access("y"), "hwdge", 2, 9),
        Transfer("e", "copy", Access("x"), Access("y"), "none", None, 11),
        Transfer("f", "copy", Access("x"), Access("y"), "none", 2, 40, num_queues=40),
        SemaphoreStep("g"),
    ]
    assert increment_ordinals(items) == {5: 0, 7: 1, 1: 2}
    made = e18(increment=7, ordinals={5: 0, 7: 1})
    assert made.increments[0].value_address == BASE + 0x37FF8
    with pytest.raises(LoweringError, match=r"increment 4 has no word among \[5\]"):
        e18(increment=4, ordinals={5: 0})


def test_a_neff_queue_set_adds_one_a_queue():
    made = e18(increment=18, num_queues=18)
    assert [pair.dma for pair in made.increments] == [*range(16), 0, 1]
    assert {pair.value for pair in made.increments} == {1}


@pytest.mark.parametrize(("split", "channels"), [("none", 1), ("equal", 16)])
def test_hbm_to_hbm(split, channels):
    tensors = [Tensor("x", "hbm", (32, 64), U8), Tensor("y", "hbm", (32, 128), U8)]
    made, _ = plan("copy", tensors, Access("x"), Access("y", 0, ((128, 32), (1, 64))), {"hbm_split": split})
    assert len(made.work) == channels


def test_v5_has_8_engines():
    tensors = [Tensor("x", "hbm", (128, 4), U8), Tensor("y", "sbuf", (128, 4), U8)]
    made, _ = plan("copy", tensors, Access("x"), Access("y"), generation=MAVERICK, semaphore=0)
    assert [len(work.dst) for work in made.work] == [16] * 8
    assert len(made.increments) == 8


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_copies_casts_and_additions(data):
    kind = data.draw(st.sampled_from([PacketKind.COPY, PacketKind.CAST, PacketKind.COMPUTE]))
    types = {PacketKind.COPY: (I64, I64), PacketKind.CAST: (FP32, BF16), PacketKind.COMPUTE: (FP32, FP32)}[kind]
    generation = data.draw(st.sampled_from([SUNDA, CAYMAN, MARIANA]))
    rows, inner, width = (data.draw(st.integers(1, high)) for high in (40, 3, 5))
    tensors, accesses = [], []
    for name, dtype in zip(("x", "y"), types, strict=True):
        pad = data.draw(st.integers(0, 2))
        order = data.draw(st.permutations([0, 1]))
        steps = {order[0]: 1, order[1]: (inner, width)[order[0]] + pad}
        space = data.draw(st.sampled_from(["hbm", "sbuf"]))
        row = (max(inner, width) + 2) * (max(inner, width) + 2)
        tensors.append(Tensor(name, space, (rows, row), dtype))
        accesses.append(Access(name, 0, ((row, rows), (steps[0], inner), (steps[1], width))))
    more = {"accumulate": "add"} if kind is PacketKind.COMPUTE else {}
    made, placement = plan("copy", tensors, *accesses, generation=generation, **more)
    found = [pair for work in made.work for pair in pairs(work, types[0].size, types[1].size)]
    assert {work.kind for work in made.work} == {kind}
    if kind is PacketKind.CAST:
        assert {(w.in_dtype, w.accum_dtype, w.out_dtype) for w in made.work} == {(0xA, 0xA, 0x6)}
    sides = []
    for tensor, access in zip(tensors, accesses, strict=True):
        placed = placement[tensor.name]
        pitch = STRIDE if placed.in_sbuf else tensor.row_elements * tensor.dtype.size
        (_, _), (i_step, _), (k_step, _) = access.pattern
        sides.append(
            [
                placed.address + r * pitch + (i * i_step + k * k_step) * tensor.dtype.size
                for r, i, k in itertools.product(range(rows), range(inner), range(width))
            ]
        )
    assert sorted(found) == sorted(zip(sides[1], sides[0], strict=True))
    on_chip = any(tensor.space == "sbuf" for tensor in tensors)
    assert len(made.work) == (min(16, -(-rows // 8)) if on_chip else 1)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_transposes(data):
    legal = data.draw(st.booleans())
    rows = data.draw(st.integers(1, 3)) * 16 if legal else data.draw(st.integers(1, 40))
    cols = data.draw(st.integers(1, 128))
    dtype = data.draw(st.sampled_from([BF16, FP32] if legal else [U8, BF16, FP32]))
    space = data.draw(st.sampled_from(["hbm", "sbuf"]))
    tensors = [Tensor("x", space, (rows, cols), dtype), Tensor("y", "sbuf", (cols, rows), dtype)]
    made, placement = plan("transpose", tensors, Access("x"), Access("y"))
    if legal:
        assert {work.kind for work in made.work} == {PacketKind.TRANSPOSE}
    found = [pair for work in made.work for pair in pairs(work, dtype.size, dtype.size)]
    x, y, size = placement["x"].address, placement["y"].address, dtype.size
    pitch = STRIDE if space == "sbuf" else cols * size
    assert sorted(found) == sorted(
        (y + c * STRIDE + r * size, x + r * pitch + c * size) for r, c in itertools.product(range(rows), range(cols))
    )


def test_a_tile_is_shared_by_columns():
    """D10: each channel takes ceil(columns / #DMA) columns of every tile."""
    tensors = [Tensor("x", "hbm", (64, 128), BF16), Tensor("y", "sbuf", (128, 64), BF16)]
    made, _ = plan("transpose", tensors, Access("x"), Access("y"))
    assert [(w.dma, w.tile_rows, w.tile_cols, len(w.src), len(w.dst)) for w in made.work] == [
        (dma, 16, 8, 64, 32) for dma in range(16)
    ]
    assert made.work[3].src.starts[:2].tolist() == [0x10000000 + 48, 0x10000000 + 48 + 256]
    assert made.work[3].dst.starts[:2].tolist() == [BASE + 24 * STRIDE, BASE + 25 * STRIDE]


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_gathers_and_scatters(data):
    scatter, add = data.draw(st.booleans()), data.draw(st.booleans())
    lanes, rows, width = data.draw(st.integers(1, 40)), data.draw(st.integers(1, 20)), data.draw(st.integers(1, 5))
    spaces = [data.draw(st.sampled_from(["hbm", "sbuf"])) for _ in range(2)]
    tensors = [
        Tensor("table", spaces[0], (rows, width), FP32),
        Tensor("data", spaces[1], (lanes, width + 1), FP32),
        Tensor("idx", "sbuf", (1, lanes), U32),
    ]
    values = data.draw(st.lists(st.integers(0, rows + 2), min_size=lanes, max_size=lanes))
    sides = [Access("table"), Access("data", 0, ((width + 1, lanes), (1, width)))]
    src, dst = sides[::-1] if scatter else sides
    more = {"oob": "skip", "indices": Access("idx"), "accumulate": "add" if add else ""}
    made, placement = plan("scatter" if scatter else "gather", tensors, src, dst, values=values, **more)
    found = [pair for work in made.work for pair in pairs(work, 4, 4)]
    wanted = []
    for lane, value in enumerate(values):
        for k in range(width * (value < rows)):
            at = []
            for name, row in (("table", value), ("data", lane)):
                placed = placement[name]
                pitch = STRIDE if placed.in_sbuf else placed.tensor.row_elements * 4
                at.append(placed.address + row * pitch + 4 * k)
            wanted.append((at[0], at[1]) if scatter else (at[1], at[0]))
    assert sorted(found) == sorted(wanted)
    assert made.out_of_bounds == tuple(lane for lane, value in enumerate(values) if value >= rows)
    assert not made.stopped


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 20), st.integers(1, 9), st.integers(1, 6), st.data())
def test_gather_transposes(lanes, cols, rows, data):
    tensors = [
        Tensor("table", "hbm", (rows, cols), BF16),
        Tensor("idx", "sbuf", (1, lanes), U32),
        Tensor("out", "sbuf", (cols, lanes), BF16),
    ]
    values = data.draw(st.lists(st.integers(0, rows), min_size=lanes, max_size=lanes))
    made, placement = plan(
        "gather_transpose", tensors, Access("table"), Access("out"), values=values, oob="skip", accumulate=""
    )
    out = placement["out"].address
    found = [pair for work in made.work for pair in pairs(work, 2, 2)]
    assert sorted(found) == sorted(
        (out + c * STRIDE + 2 * i, 0x10000000 + 2 * (values[i] * cols + c))
        for i, c in itertools.product(range(lanes), range(cols))
        if values[i] < rows
    )


def test_one_bad_index_stops_everything_with_error():
    tensors = [Tensor("table", "hbm", (9, 4), U8), Tensor("out", "hbm", (3, 4), U8)]
    made, _ = plan("gather", tensors, Access("table"), Access("out"), values=[1, 9, 77], semaphore=1)
    assert (made.work, made.increments, made.out_of_bounds, made.stopped) == ((), (), (1, 2), True)
    assert made.issues[0].rule == "dec.D25" and made.issues[0].values["index"] == 9


class Bytes:
    def __init__(self, base, data):
        self.base, self.data = base, data

    def read(self, address, size):
        return self.data[address - self.base : address - self.base + size]


def test_indices_are_read_as_u32():
    tensors = [Tensor("table", "hbm", (9, 4), U8), Tensor("idx", "sbuf", (1, 3), U32), Tensor("out", "hbm", (3, 4), U8)]
    placement = place(tensors, CAYMAN)
    transfer = Transfer("t", "gather", Access("table"), Access("out"), "none", indices=Access("idx"))
    memory = Bytes(placement["idx"].address, np.array([7, 0, 0xFFFFFFFF], "<u4").tobytes())
    assert read_indices(transfer, placement, CAYMAN, Choices(), memory) == (7, 0, 0xFFFFFFFF)


X, Y = Tensor("x", "hbm", (4, 6), FP32), Tensor("y", "hbm", (4, 6), FP32)
REFUSED = [
    ("reduce", [X, Y], {}, ComputeError, "cce.1.1"),
    ("gather", [X, Y], {}, LoweringError, "transfers.indices"),
    ("copy", [X, Tensor("y", "hbm", (4, 5), FP32)], {}, LoweringError, "transfers.shape"),
    ("copy", [X, Tensor("y", "hbm", (4, 6), I64)], {}, LoweringError, "isa.4.2.dtype"),
    ("copy", [X, Tensor("y", "hbm", (4, 6), BF16)], {"accumulate": "add"}, Unsupported, "pipeline.compute"),
    ("gather_transpose", [X, Y], {"accumulate": "add", "values": [1] * 4}, LoweringError, "transfers.shape"),
    (
        "gather_transpose",
        [X, Tensor("y", "hbm", (6, 4), FP32)],
        {"accumulate": "add", "values": [1] * 4},
        Unsupported,
        "isa.4.5.no_cast",
    ),
]


@pytest.mark.parametrize(("op", "tensors", "more", "error", "rule"), REFUSED, ids=lambda v: str(v)[:20])
def test_refusals(op, tensors, more, error, rule):
    with pytest.raises(error) as caught:
        plan(op, tensors, Access("x"), Access("y"), **more)
    assert caught.value.rule == rule


def test_shapes_that_do_not_nest():
    tensors = [Tensor("x", "hbm", (2, 100), FP32), Tensor("y", "hbm", (3, 100), FP32)]
    sides = Access("x", 0, ((100, 2), (2, 6))), Access("y", 0, ((100, 3), (2, 4)))
    made, _ = plan("copy", tensors, *sides)
    assert len(made.work) == 1 and len(made.work[0].src) == 12
    with pytest.raises(LoweringError, match="must nest"):
        plan("copy", tensors, *sides, accumulate="add")


def test_too_many_runs_are_unsupported():
    count = 1 << 13
    tensors = [Tensor("x", "hbm", (4, 2 * count), U8), Tensor("y", "hbm", (count, count), U8)]
    with pytest.raises(Unsupported, match="separate runs"):
        plan(
            "gather",
            tensors,
            Access("x", 0, ((2 * count, 4), (2, count))),
            Access("y"),
            values=[0] * count,
        )

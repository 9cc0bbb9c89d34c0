import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dgekit.machine.moves import cut_pairs, move, progression


def slow_move(dst, dst_offsets, src, src_offsets, lengths):
    for to, frm, size in zip(dst_offsets, src_offsets, lengths, strict=True):
        dst[to : to + size] = src[frm : frm + size]


@st.composite
def grids(draw, element):
    """Offsets of a grid whose elements of that size do not meet: (offsets, bytes covered)."""
    offsets, extent = [0], element
    for count in draw(st.lists(st.integers(1, 4), max_size=3)):
        step = extent + draw(st.integers(0, 5))
        offsets = [i * step + o for i in range(count) for o in offsets]
        extent = step * (count - 1) + extent
    if draw(st.booleans()):
        offsets = [extent - element - o for o in offsets]
    return offsets, extent


@settings(max_examples=60, deadline=None)
@given(st.data(), st.integers(1, 17))
def test_grids_of_any_shape_move_as_a_loop_does(data, size):
    to, to_extent = data.draw(grids(size))
    frm, frm_extent = data.draw(grids(size))
    n = min(len(to), len(frm))
    src = np.random.default_rng(n).integers(0, 256, frm_extent, np.uint8)
    expected, found = np.zeros(to_extent, np.uint8), np.zeros(to_extent, np.uint8)
    slow_move(expected, to[:n], src, frm[:n], [size] * n)
    move(found, np.array(to[:n]), src, np.array(frm[:n]), np.full(n, size))
    assert (found == expected).all()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 40), min_size=0, max_size=40), st.randoms(use_true_random=False))
def test_runs_of_any_length_and_order_move_as_a_loop_does(sizes, random):
    lengths = np.array(sizes, np.int64)
    offsets = np.cumsum(lengths) - lengths
    to = list(zip(offsets.tolist(), sizes, strict=True))
    frm = [random.randrange(0, 100) for _ in sizes]
    order = list(range(len(sizes)))
    random.shuffle(order)
    dst_offsets = np.array([to[i][0] for i in order], np.int64)
    src_offsets = np.array([frm[i] for i in order], np.int64)
    chosen = np.array([sizes[i] for i in order], np.int64)
    src = np.random.default_rng(1).integers(0, 256, 200, np.uint8)
    expected, found = np.zeros(sum(sizes), np.uint8), np.zeros(sum(sizes), np.uint8)
    slow_move(expected, dst_offsets, src, src_offsets, chosen)
    move(found, dst_offsets, src, src_offsets, chosen)
    assert (found == expected).all()


def test_long_irregular_runs_and_more_bytes_than_one_block():
    rng = np.random.default_rng(2)
    src = rng.integers(0, 256, 8 << 20, np.uint8)
    for size in (512, 8192):
        to = rng.permutation(len(src) // size) * size
        frm = rng.permutation(len(src) // size) * size
        expected, found = np.zeros_like(src), np.zeros_like(src)
        slow_move(expected, to, src, frm, [size] * len(to))
        move(found, to, src, frm, np.full(len(to), size))
        assert (found == expected).all()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(-50, 50), st.integers(1, 4)), min_size=1, max_size=3), st.integers(0, 1000))
def test_a_progression_generates_its_offsets(dims, start):
    grid = [start + sum(i * s for i, (s, _) in zip(reversed(index), dims, strict=True))
            for index in itertools.product(*(range(n) for _, n in reversed(dims)))]  # fmt: skip
    found = progression(np.array(grid))
    assert found is not None
    again = [grid[0] + sum(i * s for i, (s, _) in zip(reversed(index), found, strict=True))
             for index in itertools.product(*(range(n) for _, n in reversed(found)))]  # fmt: skip
    assert again == grid


def test_no_progression():
    assert progression(np.array([0, 1, 2, 10, 11, 13])) is None
    assert progression(np.array([0, 1, 3, 6, 10])) is None


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=12), st.data())
def test_pieces_walk_both_streams_byte_by_byte(src, data):
    total = sum(src)
    cuts = sorted(data.draw(st.sets(st.integers(1, total))) | {total})
    dst = [b - a for a, b in zip([0, *cuts], cuts, strict=False)]
    columns = cut_pairs(np.array(src), np.array(dst))
    walked = [
        ((run, byte + i), (to, at + i))
        for run, byte, to, at, size in zip(*(c.tolist() for c in columns), strict=True)
        for i in range(size)
    ]
    assert [s for s, _ in walked] == [(r, b) for r, n in enumerate(src) for b in range(n)]
    assert [d for _, d in walked] == [(r, b) for r, n in enumerate(dst) for b in range(n)]

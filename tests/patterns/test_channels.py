"""Fan-out over DMA channels (D23)."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgekit.core.errors import LoweringError
from dgekit.patterns.channels import (
    dma_count,
    partition_dim,
    partitions_touched,
    row_blocks,
    split_channels,
    split_legs,
)
from dgekit.patterns.walk import Walk

SBUF, STRIDE = 0x2000000000, 0x40000
ALL = tuple(range(16))


def load(rows, row_bytes=4096):
    return Walk(0x10000000, ((row_bytes, rows),), row_bytes), Walk(SBUF, ((STRIDE, rows),), row_bytes)


def test_e18_sixteen_channels_of_eight_rows():
    parts = split_channels(*load(128), False, True, STRIDE, ALL)
    assert [dma for dma, _, _ in parts] == list(ALL)
    for k, (_, src, dst) in enumerate(parts):
        assert (src.start, src.folded().elem) == (0x10000000 + 32768 * k, 32768)
        assert dst == Walk(SBUF + 8 * k * STRIDE, ((STRIDE, 8),), 4096)


@pytest.mark.parametrize(
    ("rows", "available", "sizes"),
    [
        (1, 16, [1]), (8, 16, [8]), (9, 16, [5, 4]), (20, 3, [7, 7, 6]), (100, 16, [8] * 12 + [4]), (128, 1, [128]),
        (128, 5, [26, 26, 26, 26, 24]),
    ],
)  # fmt: skip
def test_channel_k_takes_blocks_of_ceil(rows, available, sizes):
    parts = split_channels(*load(rows), False, True, STRIDE, ALL[:available])
    assert [dst.count for _, _, dst in parts] == sizes
    assert [a for _, _, dst in parts for a in dst.addresses()] == list(load(rows)[1].addresses())


def test_available_channels_are_taken_in_order():
    parts = split_channels(*load(16), False, True, STRIDE, (3, 5, 11))
    assert [dma for dma, _, _ in parts] == [3, 5]


def test_the_larger_of_two_partition_dimensions_is_split():
    dst = Walk(SBUF, ((2, 8), (STRIDE, 4), (4 * STRIDE, 32)), 2)
    src = Walk(0, ((2, 8), (16, 4), (64, 32)), 2)
    parts = split_channels(src, dst, False, True, STRIDE, ALL)
    assert len(parts) == 16
    assert {d.counts for _, _, d in parts} == {(8, 4, 2)}
    swapped = split_channels(src.permute((0, 2, 1)), dst.permute((0, 2, 1)), False, True, STRIDE, ALL)
    assert {d.counts for _, _, d in swapped} == {(8, 2, 4)}


def test_sbuf_to_sbuf_counts_the_leg_with_more_partitions():
    src = Walk(SBUF, ((STRIDE, 64),), 16)
    dst = Walk(SBUF + 0x1000, ((16, 64),), 16)
    for a, b in ((src, dst), (dst, src)):
        parts = split_channels(a, b, True, True, STRIDE, ALL)
        assert [s.count for _, s, _ in parts] == [8] * 8


def test_hbm_to_hbm_uses_one_channel_unless_split():
    src, dst = Walk(0, ((512, 64),), 256), Walk(1 << 30, ((1024, 64),), 256)
    assert split_channels(src, dst, False, False, STRIDE, ALL) == [(0, src, dst)]
    parts = split_channels(src, dst, False, False, STRIDE, ALL, hbm_split=True)
    assert [s.count for _, s, _ in parts] == [4] * 16
    single = Walk(0, (), 65536)
    assert len(split_channels(single, single, False, False, STRIDE, ALL, hbm_split=True)) == 1


def test_differing_counts_and_walks_inside_one_partition_use_one_channel():
    src, dst = Walk(0, ((4, 1024),), 4), Walk(SBUF, ((4, 8), (STRIDE, 128)), 4)
    assert split_channels(src, dst, False, True, STRIDE, ALL) == [(0, src, dst)]
    row = Walk(SBUF, ((4, 1024),), 4)
    assert split_channels(src, row, False, True, STRIDE, ALL) == [(0, src, row)]
    empty = Walk(0, ((4, 0),), 4)
    assert split_channels(empty, empty, False, True, STRIDE, ALL) == [(0, empty, empty)]


def test_no_channel_is_an_error():
    with pytest.raises(LoweringError) as caught:
        split_channels(*load(8), False, True, STRIDE, ())
    assert caught.value.rule == "dec.D23"


@given(
    st.lists(
        st.tuples(st.sampled_from([0, 4, -4, STRIDE, 2 * STRIDE, -STRIDE, 4 * STRIDE]), st.integers(0, 6)), max_size=3
    )
)
@settings(max_examples=60, deadline=None)
def test_partitions_touched_against_every_address(dims):
    walk = Walk(SBUF + 64 * STRIDE + 4096, tuple(dims), 4)
    assert partitions_touched(walk, SBUF, STRIDE) == len({(a - SBUF) // STRIDE for a in walk.addresses()})


def test_partitions_of_a_linear_walk_over_rows():
    assert partitions_touched(Walk(SBUF + STRIDE - 8, ((16, 1),), 16), SBUF, STRIDE) == 2
    assert partitions_touched(Walk(SBUF, ((STRIDE // 2, 8),), 4), SBUF, STRIDE) == 4


def test_hostile_shapes_are_not_enumerated():
    walk = Walk(SBUF, ((STRIDE, 65535), (STRIDE * 65535, 65535), (1 << 45, 65535)), 4)
    assert partitions_touched(walk, SBUF, STRIDE) > 65535
    assert partitions_touched(Walk(SBUF, (((1 << 45) + 1, 65535),), 4), SBUF, STRIDE) > 65535


def test_helpers():
    assert partition_dim(Walk(0, ((4, 8), (STRIDE, 1)), 4), STRIDE) is None
    assert dma_count(0, 16) == 1
    assert row_blocks(0, 4) == []


def test_of_many_legs_the_one_with_most_partitions_is_split():
    hbm, few = Walk(0, ((256, 4), (1024, 32)), 256), Walk(SBUF, ((256, 4), (STRIDE, 32)), 256)
    many = Walk(SBUF, ((STRIDE, 4), (4 * STRIDE, 32)), 256)
    parts = split_legs((hbm, few, many), (False, True, True), (0, SBUF, SBUF), STRIDE, ALL)
    assert [dma for dma, _ in parts] == list(range(16))
    for number, legs in parts:
        assert legs == tuple(walk.slice(1, 2 * number, 2 * number + 2) for walk in (hbm, few, many))
    assert split_legs((hbm,) * 3, (False,) * 3, (0,) * 3, STRIDE, ALL) == [(0, (hbm,) * 3)]
    apart = split_legs((hbm,) * 3, (False,) * 3, (0,) * 3, STRIDE, (3, 5), hbm_split=True)
    assert [(dma, {leg.counts for leg in legs}) for dma, legs in apart] == [(3, {(4, 16)}), (5, {(4, 16)})]
    with pytest.raises(LoweringError):
        split_legs((hbm,), (False,), (0,), STRIDE, ())

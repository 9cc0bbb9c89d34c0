"""Common shapes and pair folding against the byte sequence of each leg."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgekit.patterns.algebra import common_shape, common_shapes, fold_pair
from dgekit.patterns.walk import Walk


def walk_bytes(walk):
    return [address + byte for address in walk.addresses() for byte in range(walk.elem)]


@st.composite
def shaped(draw, counts, elem):
    dims, run = [], elem
    for count in counts:
        step = draw(st.sampled_from([run, run, run + 7, -run, 0]))
        dims.append((step, count))
        run = abs(step) * count or 1
    return Walk(draw(st.integers(0, 99)), tuple(dims), elem)


FACTORINGS = [(24,), (2, 12), (12, 2), (4, 6), (2, 2, 6), (6, 4), (2, 3, 4), (1, 24, 1), (3, 8), (8, 3), (2, 3, 2, 2)]
PAIRS = st.tuples(st.sampled_from(FACTORINGS), st.sampled_from(FACTORINGS), st.sampled_from([(2, 2), (4, 2), (1, 4)]))


@given(PAIRS, st.data())
@settings(max_examples=60, deadline=None)
def test_common_shape_keeps_both_byte_sequences(pair, data):
    counts_a, counts_b, (size_a, size_b) = pair
    a = data.draw(shaped(counts_a, size_a))
    b = data.draw(shaped(counts_b, size_b))
    found = common_shape(a, b)
    if found is None:
        # they do not nest even in merged form: some boundary of one falls inside a dimension of the other
        ends = set()
        for walk in (a.merged(), b.merged()):
            inside = 1
            for count in walk.counts:
                inside *= count
                ends.add(inside)
        ordered = sorted(ends)
        assert any(high % low for low, high in itertools.pairwise(ordered))
        return
    x, y = found
    assert x.counts == y.counts
    assert (x.elem, y.elem) == (size_a, size_b)
    assert walk_bytes(x) == walk_bytes(a)
    assert walk_bytes(y) == walk_bytes(b)


@given(st.sampled_from(FACTORINGS), st.sampled_from([(2, 2), (4, 2), (1, 4)]), st.data())
@settings(max_examples=60, deadline=None)
def test_fold_pair_keeps_bytes_and_the_element_ratio(counts, sizes, data):
    a, b = data.draw(shaped(counts, sizes[0])), data.draw(shaped(counts, sizes[1]))
    x, y = fold_pair(a, b)
    assert walk_bytes(x) == walk_bytes(a)
    assert walk_bytes(y) == walk_bytes(b)
    assert x.counts == y.counts
    assert x.elem * sizes[1] == y.elem * sizes[0]
    assert not (x.can_fold() and y.can_fold())
    assert not any(x.can_merge(i) and y.can_merge(i) for i in range(len(x.dims) - 1))


def test_published_load_of_128_rows():
    hbm = Walk(0x10000000, ((2, 128 * 128),), 2)
    sbuf = Walk(0x2000000000, ((2, 128), (0x40000, 128)), 2)
    x, y = fold_pair(*common_shape(hbm, sbuf))
    assert (x.elem, x.dims) == (256, ((256, 128),))
    assert (y.elem, y.dims) == (256, ((262144, 128),))


def test_cast_folds_with_the_ratio_of_the_sizes():
    x, y = fold_pair(Walk(0, ((4, 128), (512, 8)), 4), Walk(0, ((2, 128), (0x40000, 8)), 2))
    assert (x.elem, y.elem) == (512, 256)


def test_equal_counts_are_left_verbatim():
    a, b = Walk(0, ((4, 1), (8, 3)), 4), Walk(9, ((1, 1), (4, 3)), 4)
    assert common_shape(a, b) == (a, b)


def test_unit_dims_and_single_elements():
    assert common_shape(Walk(0, ((4, 1), (8, 1)), 4), Walk(9, (), 4)) == (Walk(0, (), 4), Walk(9, (), 4))


def test_empty_walks_pair():
    a, b = common_shape(Walk(0, ((4, 0), (8, 3)), 4), Walk(9, ((4, 5), (1, 0)), 4))
    assert a.counts == b.counts == (0,)
    assert fold_pair(a, b)[0].count == 0


def test_differing_counts_are_refused():
    with pytest.raises(ValueError, match="3 elements cannot pair with 4"):
        common_shape(Walk(0, ((4, 3),), 4), Walk(0, ((4, 4),), 4))
    with pytest.raises(ValueError, match="no common shape"):
        fold_pair(Walk(0, ((4, 12),), 4), Walk(0, ((4, 3), (12, 4)), 4))


@given(st.lists(st.sampled_from(FACTORINGS), min_size=1, max_size=4), st.data())
@settings(max_examples=40, deadline=None)
def test_any_number_of_walks_get_one_shape(factorings, data):
    walks = [data.draw(shaped(counts, 2)) for counts in factorings]
    found = common_shapes(walks)
    if found is None:  # then some two of them, in merged form, do not nest in each other's company
        assert len(walks) > 1
        return
    assert len({walk.counts for walk in found}) == 1
    assert [walk_bytes(walk) for walk in found] == [walk_bytes(walk) for walk in walks]


def test_three_walks_are_cut_at_the_boundaries_of_all():
    flat, rows, halves = Walk(0, ((2, 24),), 2), Walk(0, ((2, 4), (100, 6)), 2), Walk(0, ((2, 12), (100, 2)), 2)
    assert [walk.counts for walk in common_shapes((flat, rows, halves))] == [(4, 3, 2)] * 3
    assert common_shapes((flat, rows, Walk(0, ((2, 6), (100, 4)), 2))) is None

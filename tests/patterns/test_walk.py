"""Walk transformations keep the concatenated byte sequence; the oracle expands every address to bytes."""

import itertools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgekit.patterns.walk import Walk


def walk_bytes(walk):
    return [address + byte for address in walk.addresses() for byte in range(walk.elem)]


@st.composite
def walks(draw, min_count=0, max_dims=4):
    elem = draw(st.sampled_from([1, 2, 3, 4, 8]))
    # steps near the products of sizes, so that merging and folding really happen
    dims, run = [], elem
    for _ in range(draw(st.integers(0, max_dims))):
        count = draw(st.integers(min_count, 4))
        step = draw(st.sampled_from([run, run, elem, 0, -run, -elem, run + 5, 64]))
        dims.append((step, count))
        run = max(1, abs(step)) * max(1, count)
    return Walk(draw(st.integers(1000, 2000)), tuple(dims), elem)


@given(walks())
@settings(max_examples=60, deadline=None)
def test_normal_forms_keep_the_bytes(walk):
    expected = walk_bytes(walk)
    for other in (walk.without_unit_dims(), walk.merged(), walk.folded(), walk.unfolded(1)):
        assert walk_bytes(other) == expected
    assert walk.folded().folded() == walk.folded()
    assert walk.nbytes == len(expected)


@given(walks())
@settings(max_examples=60, deadline=None)
def test_folded_is_the_shortest_form(walk):
    folded = walk.folded()
    assert all(count != 1 for _, count in folded.dims)
    assert not any(folded.can_merge(dim) for dim in range(len(folded.dims) - 1))
    assert not folded.can_fold()


@given(walks(), st.data())
@settings(max_examples=60, deadline=None)
def test_split_then_merge_is_the_identity(walk, data):
    if not walk.dims:
        return
    dim = data.draw(st.integers(0, len(walk.dims) - 1))
    count = walk.dims[dim][1]
    inner = data.draw(st.sampled_from([n for n in range(1, max(count, 1) + 1) if count % n == 0]))
    parted = walk.split(dim, inner)
    assert walk_bytes(parted) == walk_bytes(walk)
    assert parted.merge(dim) == walk


@given(walks(), st.data())
@settings(max_examples=60, deadline=None)
def test_permute_reverse_and_slice_against_indices(walk, data):
    rank = len(walk.dims)
    order = data.draw(st.permutations(range(rank)))
    permuted = list(walk.permute(order).addresses())
    assert sorted(permuted) == sorted(walk.addresses())
    ranges = [range(walk.dims[i][1]) for i in reversed(order)]
    expected = []
    for index in itertools.product(*ranges):
        by_new = dict(enumerate(reversed(index)))
        expected.append(walk.start + sum(by_new[new] * walk.dims[old][0] for new, old in enumerate(order)))
    assert permuted == expected
    if not rank:
        return
    dim = data.draw(st.integers(0, rank - 1))
    count = walk.dims[dim][1]
    assert walk.reverse(dim).reverse(dim) == walk or count == 0
    cut = data.draw(st.integers(0, count))
    outer = rank - 1
    cut = min(cut, walk.dims[outer][1])
    low, high = walk.slice(outer, 0, cut), walk.slice(outer, cut, walk.dims[outer][1])
    assert list(low.addresses()) + list(high.addresses()) == list(walk.addresses())


@given(walks(min_count=1, max_dims=1))
@settings(max_examples=30, deadline=None)
def test_reverse_of_one_dimension_reverses_the_order(walk):
    if walk.dims:
        assert list(walk.reverse(0).addresses()) == list(walk.addresses())[::-1]


@given(walks())
@settings(max_examples=60, deadline=None)
def test_span_and_contiguous(walk):
    touched = walk_bytes(walk)
    low, high = walk.span()
    assert (low, high) == ((min(touched), max(touched) + 1) if touched else (walk.start, walk.start))
    ascending = list(range(walk.start, walk.start + len(touched)))
    if walk.contiguous:
        assert touched in (ascending, [])


def test_published_folding_of_a_row():
    row = Walk(0, ((2, 128), (256, 128)), 2)
    assert row.folded() == Walk(0, (), 32768)
    assert row.contiguous
    assert Walk(5, ((0, 0),), 1).contiguous


def test_a_pattern_may_start_elsewhere():
    assert Walk(0, ((4, 3),), 4).moved(64).start == 64


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda w: w.merge(0), "does not continue"),
        (lambda w: w.split(0, 4), "no multiple of 4"),
        (lambda w: w.split(0, 0), "no multiple of 0"),
        (lambda w: w.slice(0, 1, 4), "outside dimension 0 of count 3"),
        (lambda w: w.slice(0, 2, 1), "outside"),
        (lambda w: w.permute((0, 0)), "no permutation"),
        (lambda w: w.unfolded(3), "no multiple of 3"),
        (lambda w: w.fold(), "not contiguous"),
        (lambda w: Walk(0, (), 0), "elem 0 bytes"),
        (lambda w: Walk(0, ((4, -1),), 4), "count -1"),
    ],
)
def test_misuse_is_refused(call, text):
    walk = Walk(0, ((8, 3), (100, 2)), 4)
    with pytest.raises(ValueError, match=text):
        call(walk)


def test_large_walks_are_not_enumerated():
    rng = random.Random(1)
    dims = tuple((rng.randrange(1, 1 << 40), 65535) for _ in range(4))
    walk = Walk(0, dims, 65536)
    assert walk.folded().count == 65535**4
    assert walk.span()[1] == sum(step * 65534 for step, _ in dims) + 65536

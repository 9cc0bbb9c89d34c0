"""Runs against a plain walk over every byte."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgekit.core.errors import LoweringError, Unsupported
from dgekit.patterns.runs import MAX_RUNS, Runs, element_starts, runs
from dgekit.patterns.walk import Walk


def oracle(walk):
    pieces = []
    for address in walk.addresses():
        if pieces and sum(pieces[-1]) == address:
            pieces[-1][1] += walk.elem
        else:
            pieces.append([address, walk.elem])
    return [tuple(piece) for piece in pieces]


@st.composite
def walks(draw):
    elem = draw(st.sampled_from([1, 2, 4]))
    dims, run = [], elem
    for _ in range(draw(st.integers(0, 4))):
        count = draw(st.integers(0, 4))
        step = draw(st.sampled_from([run, 2 * elem, elem, 0, -elem, -run, 3 * elem, run + 5]))
        dims.append((step, count))
        run = max(1, abs(step)) * max(1, count)
    return Walk(10_000, tuple(dims), elem)


@given(walks())
@settings(max_examples=60, deadline=None)
def test_runs_are_the_maximal_pieces_in_order(walk):
    found = runs(walk)
    assert list(zip(found.starts.tolist(), found.lengths.tolist(), strict=True)) == oracle(walk)
    assert found.nbytes == walk.nbytes
    assert element_starts(walk).tolist() == list(walk.addresses())


def test_pieces_that_touch_across_a_carry_are_joined():
    # 0, 8, 12, 20: the second row starts where the first one ends
    found = runs(Walk(0, ((8, 2), (12, 2)), 4))
    assert (found.starts.tolist(), found.lengths.tolist()) == ([0, 8, 20], [4, 8, 4])


def test_rows_of_a_scratchpad():
    found = runs(Walk(0x2000000000, ((2, 64), (0x40000, 128)), 2))
    assert found.starts.tolist() == [0x2000000000 + 0x40000 * p for p in range(128)]
    assert set(found.lengths.tolist()) == {128}


def test_runs_of_and_joined():
    assert len(Runs.joined([])) == 0
    both = Runs.joined([Runs.of([0, 100], 4), Runs.of([7], [9])])
    assert both.starts.tolist() == [0, 100, 7]
    assert both.lengths.tolist() == [4, 4, 9]
    assert Runs.of([], 4).merged().nbytes == 0
    with pytest.raises(ValueError):
        Runs.of([1, 2, 3], [1, 2])


def test_a_million_runs_are_fast():
    walk = Walk(0, ((100, 1000), (1 << 20, 1000)), 64)
    best = 1.0
    for _ in range(5):
        begin = time.perf_counter()
        found = runs(walk)
        best = min(best, time.perf_counter() - begin)
    assert len(found) == 1_000_000
    assert found.starts.dtype == np.int64
    assert best < 0.05  # the target is 10 ms; the margin is for a busy machine


@pytest.mark.parametrize("walk", [Walk(0, ((-4, 2),), 4), Walk((1 << 63) - 2, (), 4), Walk(1 << 64, (), 1)])
def test_addresses_outside_the_space_are_refused(walk):
    with pytest.raises(LoweringError) as caught:
        runs(walk)
    assert caught.value.rule == "patterns.address"


def test_too_many_runs_are_refused_before_anything_is_built():
    for call in (runs, element_starts):
        with pytest.raises(Unsupported) as caught:
            call(Walk(0, ((8, 65535), (1 << 30, 65535)), 4))
        assert caught.value.rule == "patterns.runs"
        assert caught.value.values["limit"] == MAX_RUNS


def test_empty_walk_with_a_huge_dimension():
    walk = Walk(0, ((8, 1 << 40), (1, 0)), 4)
    assert len(runs(walk)) == len(element_starts(walk)) == 0

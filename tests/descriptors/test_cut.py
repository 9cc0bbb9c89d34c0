"""Cutting streams: the fast form for equal runs against the one-by-one form, and the small helpers."""

import random

import numpy as np
import pytest

from dgekit.descriptors import cut as cutting
from dgekit.descriptors.cut import Caps, capped_ends, cut, ends_of, packet_ends, union
from dgekit.patterns.runs import Runs


def runs_of_length(length, total):
    lengths = [length] * (total // length) + ([total % length] if total % length else [])
    return Runs.of([place * 1000 for place in range(len(lengths))], lengths)


def longest_prefixes(src, dst, caps):
    """Packet ends by trying every longer prefix, from the positions where pieces begin."""
    ends, total = [], src.nbytes
    opens = [{0, *ends_of(runs).tolist()} for runs in (src, dst)]
    begin = 0
    while begin < total:
        end = begin
        while end < total and end - begin < caps.nbytes:
            counts = [1 + sum(begin < place <= end for place in places) for places in opens]
            if counts[0] > caps.m2s or counts[1] > caps.s2m:
                break
            end += 1
        ends.append(end)
        begin = end
    return ends


def test_equal_runs_give_the_longest_prefixes():
    rng = random.Random(3)
    sizes = [1, 2, 3, 4, 6, 8, 12, 40]
    fast = 0
    for _ in range(300):
        total = rng.randrange(1, 80)
        src, dst = runs_of_length(rng.choice(sizes), total), runs_of_length(rng.choice(sizes), total)
        caps = Caps(rng.choice([1, 4, 6, 7, 16, 1000]), rng.choice([1, 2, 3, 64]), rng.choice([1, 2, 3, 64]))
        fast += bool(cutting._uniform_step(src, dst, caps))
        assert packet_ends(src, dst, caps).tolist() == longest_prefixes(src, dst, caps)
    assert 50 < fast < 250  # both forms are exercised


@pytest.mark.parametrize("lengths", [[10, 10, 80], [10, 80, 10], [80, 10, 10], [50, 50]])
def test_a_run_that_differs_is_no_uniform_leg(lengths):
    src, dst = Runs.of([0], 100), Runs.of([0] * len(lengths), lengths)
    for caps in (Caps(64, 64, 2), Caps(64, 64, 1), Caps(30, 1, 1)):
        assert packet_ends(src, dst, caps).tolist() == longest_prefixes(src, dst, caps)
        assert packet_ends(dst, src, caps).tolist() == longest_prefixes(dst, src, caps)


def test_union_and_caps():
    assert union(np.array([1, 4, 9]), np.array([4, 5, 9])).tolist() == [1, 4, 5, 9]
    assert capped_ends(np.array([3, 10]), 3).tolist() == [3, 6, 9, 10]
    assert capped_ends(np.array([3, 6]), 3).tolist() == [3, 6]


def test_cut_leaves_runs_alone_where_nothing_new_is_cut():
    runs = Runs.of([0, 100], [10, 5])
    assert cut(runs, np.array([15])) is runs

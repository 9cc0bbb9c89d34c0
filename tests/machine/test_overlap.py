import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dgekit.machine.overlap import check_overlap, shared_between, shared_within
from dgekit.patterns.runs import Runs

RUNS = st.lists(st.tuples(st.integers(0, 60), st.integers(1, 8)), max_size=8)


def columns(runs):
    return np.array([s for s, _ in runs], np.int64), np.array([n for _, n in runs], np.int64)


def cells(run):
    return set(range(run[0], run[0] + run[1]))


@settings(max_examples=60, deadline=None)
@given(RUNS)
def test_within_agrees_with_sets(runs):
    found = shared_within(*columns(runs))
    meeting = any(cells(a) & cells(b) for i, a in enumerate(runs) for b in runs[:i])
    assert (found is not None) == meeting
    if found:
        shared = cells(runs[found.first]) & cells(runs[found.second])
        assert (min(shared), max(shared) + 1) == (found.low, found.high)


@settings(max_examples=60, deadline=None)
@given(RUNS, RUNS)
def test_between_agrees_with_sets(a, b):
    found = shared_between(*columns(a), *columns(b))
    assert (found is not None) == any(cells(x) & cells(y) for x in a for y in b)
    if found:
        shared = cells(a[found.first]) & cells(b[found.second])
        assert (min(shared), max(shared) + 1) == (found.low, found.high)


def test_check_reports_both_kinds_with_numbers():
    issues = check_overlap(Runs.of([0], 64), Runs.of([32, 40], 16), "copy")
    assert [issue.rule for issue in issues] == ["memory.overlap"] * 2
    assert issues[0].values == {"first": 0, "second": 0, "low": "0x20", "high": "0x30"}
    assert (issues[1].values["low"], issues[1].where) == ("0x28", "copy")
    assert check_overlap(Runs.of([0], 64), Runs.of([64], 64)) == []

"""Rounding to odd, against rationals."""

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dgekit.numerics.odd import integers_to_odd, narrow_to_odd, sum_to_odd

FINITE = st.floats(allow_nan=False, allow_infinity=False, min_value=-(2.0**300), max_value=2.0**300).filter(
    lambda number: number == 0 or abs(number) > 2.0**-300
)


def is_odd_rounding(got, exact, previous, following, last_bit):
    """Exact values stay; others become the neighbour whose last bit is 1."""
    if Fraction(float(got)) == exact:
        return True
    low, high = min(previous, following), max(previous, following)
    return bool(last_bit) and Fraction(float(low)) < exact < Fraction(float(high))


@settings(max_examples=60, deadline=None)
@given(FINITE, FINITE)
def test_sums(a, b):
    (got,) = sum_to_odd(np.array([a]), np.array([b]))
    with np.errstate(over="ignore"):
        around = np.nextafter(got, -np.inf), np.nextafter(got, np.inf)
    assert is_odd_rounding(got, Fraction(a) + Fraction(b), *around, np.float64(got).view(np.int64) & 1)


@settings(max_examples=60, deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_narrowing(value):
    (got,) = narrow_to_odd(np.array([value]))
    exact = Fraction(value)
    if abs(exact) > Fraction(float(np.finfo(np.float32).max)):
        assert abs(got) == np.finfo(np.float32).max
        return
    with np.errstate(over="ignore"):  # the neighbour of the largest value is infinite
        around = np.nextafter(got, np.float32(-np.inf)), np.nextafter(got, np.float32(np.inf))
    inside = [x for x in around if np.isfinite(x)] + [got]
    assert is_odd_rounding(got, exact, min(inside), max(inside), np.float32(got).view(np.int32) & 1)


def test_what_is_not_finite_stays():
    special = np.array([np.inf, -np.inf, np.nan])
    assert np.array_equal(narrow_to_odd(special), special.astype(np.float32), equal_nan=True)
    assert np.array_equal(sum_to_odd(special, np.ones(3)), special, equal_nan=True)
    assert np.isnan(sum_to_odd(np.array([np.inf]), np.array([-np.inf])))[0]


def test_wide_integers():
    numbers = [(1 << 63) - 1, -(1 << 63), (1 << 60) + 1, (1 << 53) + 1, 3, 0]
    got = integers_to_odd(np.array(numbers, np.int64))
    for number, near in zip(numbers, got, strict=True):
        around = np.nextafter(near, -np.inf), np.nextafter(near, np.inf)
        assert is_odd_rounding(near, Fraction(number), *around, np.float64(near).view(np.int64) & 1)
    assert integers_to_odd(np.array([(1 << 64) - 1], np.uint64))[0] == 2.0**64 - 2048

"""The whole-number oracle itself, against the chapter's golden table and rationals."""

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgekit.numerics.exact import Exact, decode_float, from_integer, join, round_half_even, split, to_integer
from dgekit.numerics.formats import BF16, E3M4, E4M3, E4M3FN, E5M2, FP16, FP32

FP8 = (E3M4, E4M3, E4M3FN, E5M2)

# cce 4.8: value, then (no saturation, saturation) for E3M4, E4M3, E4M3FN, E5M2
GOLDEN = [
    (0.1, "06/06 1D/1D 1D/1D 2E/2E"),
    (-0.3, "93/93 AA/AA AA/AA B5/B5"),
    (15.74, "6F/6F 58/58 58/58 4C/4C"),
    (15.75, "70/6F 58/58 58/58 4C/4C"),
    (247.0, "70/6F 77/77 77/77 5C/5C"),
    (248.0, "70/6F 78/77 78/78 5C/5C"),
    (464.0, "70/6F 78/77 7E/7E 5F/5F"),
    (465.0, "70/6F 78/77 7F/7E 5F/5F"),
    (61439.0, "70/6F 78/77 7F/7E 7B/7B"),
    (61440.0, "70/6F 78/77 7F/7E 7C/7B"),
    (2.0**-10, "00/00 00/00 00/00 14/14"),
]


def exact_of(value: float) -> Exact:
    top, bottom = value.as_integer_ratio()
    return Exact(math.copysign(1, value) < 0, abs(top), -(bottom.bit_length() - 1))


@pytest.mark.parametrize(("value", "codes"), GOLDEN)
def test_golden_conversions(value, codes):
    for shape, pair in zip(FP8, codes.split(), strict=True):
        plain, saturated = (int(code, 16) for code in pair.split("/"))
        assert join(exact_of(value), shape) == plain, shape.name
        assert join(exact_of(value), shape, saturate=True) == saturated, shape.name


def test_limits_of_the_formats():
    # cce 4.8: max finite, min normal, min subnormal
    limits = {
        E3M4: (15.5, 0.25, -6),
        E4M3: (240, 2.0**-6, -9),
        E4M3FN: (448, 2.0**-6, -9),
        E5M2: (57344, 2.0**-14, -16),
    }
    for shape, (largest, normal, subnormal) in limits.items():
        assert decode_float(shape.max_code, shape) == largest
        assert decode_float(1 << shape.man_bits, shape) == normal
        assert decode_float(1, shape) == 2.0**subnormal


@pytest.mark.parametrize("shape", [*FP8, BF16, FP16], ids=lambda shape: shape.name)
def test_every_code_comes_back(shape):
    for code in range(1 << shape.bits):
        value = split(code, shape)
        assert join(value, shape) == (shape.nan_code if value.nan else code)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 1 << 80), st.integers(-10, 60))
def test_rounding_is_half_even(number, shift):
    assert round_half_even(number, shift) == round(Fraction(number) / Fraction(2) ** shift)


@settings(max_examples=60, deadline=None)
@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_fp32_is_exact(value):
    assert decode_float(join(exact_of(value), FP32), FP32) == value


def test_to_integer():
    assert to_integer(exact_of(2.5), -128, 127) == 2
    assert to_integer(exact_of(-3.5), -128, 127) == -4
    assert to_integer(exact_of(1e9), -128, 127) == 127
    assert to_integer(exact_of(-1.0), 0, 255) == 0
    assert to_integer(Exact(nan=True), -128, 127) == 0
    assert to_integer(Exact(True, infinite=True), -128, 127) == -128
    assert to_integer(Exact(infinite=True), -128, 127) == 127
    assert from_integer(-7) == Exact(True, 7)

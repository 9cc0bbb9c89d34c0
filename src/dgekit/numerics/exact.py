"""The plain oracle of rounding: whole numbers only, one value at a time.

A finite value is `sign * mantissa * 2**exponent` with Python integers, so nothing here can round by accident.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dgekit.numerics.formats import FloatFormat


@dataclass(frozen=True, slots=True)
class Exact:
    """`(-1)**negative * mantissa * 2**exponent`, an infinity, or NaN."""

    negative: bool = False
    mantissa: int = 0
    exponent: int = 0
    infinite: bool = False
    nan: bool = False


def split(code: int, shape: FloatFormat) -> Exact:
    """The exact value of a code."""
    negative = bool(code & shape.sign_bit)
    magnitude = code & (shape.sign_bit - 1)
    if magnitude > shape.max_code:
        is_infinite = magnitude == shape.inf_code
        return Exact(negative, infinite=is_infinite, nan=not is_infinite)
    field = magnitude >> shape.man_bits
    fraction = magnitude & ((1 << shape.man_bits) - 1)
    mantissa = fraction | (1 << shape.man_bits if field else 0)
    return Exact(negative, mantissa, max(field, 1) - shape.bias - shape.man_bits)


def decode_float(code: int, shape: FloatFormat) -> float:
    """The value of a code as a Python float: exact for every format of at most 32 bits.

    >>> from dgekit.numerics.formats import E4M3, E4M3FN
    >>> decode_float(0x77, E4M3), decode_float(0x7E, E4M3FN)
    (240.0, 448.0)
    """
    value = split(code, shape)
    if value.nan:
        return math.nan
    magnitude = math.inf if value.infinite else math.ldexp(value.mantissa, value.exponent)
    return -magnitude if value.negative else magnitude


def join(value: Exact, shape: FloatFormat, *, saturate: bool = False) -> int:
    """The code nearest to an exact value, ties to even; overflow, NaN and saturation by cce.CHOICE-34 and 36."""
    if value.nan:
        return shape.nan_code
    sign = shape.sign_bit if value.negative else 0
    magnitude = shape.max_code + 1 if value.infinite else _nearest(value.mantissa, value.exponent, shape)
    if magnitude <= shape.max_code:
        return sign | magnitude
    if saturate and shape.saturates:
        return sign | shape.max_code
    return shape.nan_code if shape.inf_code is None else sign | shape.inf_code


def _nearest(mantissa: int, exponent: int, shape: FloatFormat) -> int:
    """Positive code of mantissa * 2**exponent, rounded; may exceed max_code."""
    if mantissa == 0:
        return 0
    lowest = 1 - shape.bias - shape.man_bits  # weight of one subnormal step
    ulp = max(lowest, exponent + mantissa.bit_length() - 1 - shape.man_bits)
    steps = round_half_even(mantissa, ulp - exponent)
    # steps counts ulps; a carry into the next binade lands on its first code by itself
    return steps + ((ulp - lowest) << shape.man_bits)


def round_half_even(number: int, shift: int) -> int:
    """`number / 2**shift` rounded to a whole number, ties to even; a negative shift multiplies.

    >>> [round_half_even(n, 1) for n in (1, 3, 5)]
    [0, 2, 2]
    """
    if shift <= 0:
        return number << -shift
    quotient, rest = number >> shift, number & ((1 << shift) - 1)
    half = 1 << (shift - 1)
    return quotient + (1 if rest > half or (rest == half and quotient & 1) else 0)


def to_integer(value: Exact, low: int, high: int) -> int:
    """The whole number nearest to a value, ties to even, saturated to [low, high]; NaN gives 0 (cce.CHOICE-37)."""
    if value.nan:
        return 0
    if value.infinite:
        return low if value.negative else high
    magnitude = round_half_even(value.mantissa, -value.exponent)
    return min(high, max(low, -magnitude if value.negative else magnitude))


def from_integer(number: int) -> Exact:
    """A whole number as an exact value."""
    return Exact(number < 0, abs(number))


def add(a: Exact, b: Exact) -> Exact:
    """The exact sum; a sum of zero is +0 unless both are -0, infinities of both signs give NaN."""
    if a.nan or b.nan or (a.infinite and b.infinite and a.negative != b.negative):
        return Exact(nan=True)
    if a.infinite or b.infinite:
        return a if a.infinite else b
    low, x, y = aligned(a, b)
    total = x + y
    negative = total < 0 or (total == 0 and a.negative and b.negative)
    return Exact(negative, abs(total), low)


def multiply(a: Exact, b: Exact) -> Exact:
    """The exact product; zero times infinity gives NaN."""
    negative = a.negative != b.negative
    if a.nan or b.nan:
        return Exact(nan=True)
    if a.infinite or b.infinite:
        has_zero = any(not value.infinite and value.mantissa == 0 for value in (a, b))
        return Exact(nan=True) if has_zero else Exact(negative, infinite=True)
    return Exact(negative, a.mantissa * b.mantissa, a.exponent + b.exponent)


def extreme(a: Exact, b: Exact, *, largest: bool) -> Exact:
    """The larger or the smaller value; NaN wins, -0 lies below +0 (cce.CHOICE-35)."""
    if a.nan or b.nan:
        return Exact(nan=True)
    return b if precedes(a, b) == largest else a


def precedes(a: Exact, b: Exact) -> bool:
    """True when `a` lies below `b`; neither is NaN."""
    if a.infinite or b.infinite:
        x, y = (0 if not value.infinite else -1 if value.negative else 1 for value in (a, b))
    else:
        _, x, y = aligned(a, b)
    return (x, not a.negative) < (y, not b.negative)


def aligned(a: Exact, b: Exact) -> tuple[int, int, int]:
    """A common exponent and both finite values as whole multiples of its power of two."""
    low = min(a.exponent, b.exponent)
    x, y = ((-value.mantissa if value.negative else value.mantissa) << (value.exponent - low) for value in (a, b))
    return low, x, y

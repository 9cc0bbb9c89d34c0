"""Rounding to odd: a first rounding after which a second one to nearest is still right.

A result that is not exact gets a last bit of 1. When the wider format has at least two bits more than the narrower,
rounding that to nearest even gives what one rounding of the exact value gives (cce 4.7, CHOICE-33).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]


def sum_to_odd(a: F64, b: F64) -> F64:
    """`a + b` rounded to odd; infinities and NaN as IEEE addition gives them. The sum must not overflow."""
    with np.errstate(invalid="ignore"):
        total = a + b
        shifted = total - a
        error = (a - (total - shifted)) + (b - shifted)  # two-sum: total + error is exact
        bits = total.view(np.int64)
        step = (np.abs(error) > 0) & ((bits & 1) == 0)  # false where the sum is not finite: its error is NaN
    toward = ((error.view(np.int64) ^ bits) >> 63) | 1  # +1 away from zero, -1 toward it
    odd: F64 = (bits + toward * step).view(np.float64)
    return odd


def narrow_to_odd(values: F64) -> F32:
    """fp64 values rounded to fp32 to odd; a value above the largest fp32 gives the largest, infinity stays."""
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        near = values.astype(np.float32)
        back = near.astype(np.float64)
        inexact = np.abs(back - values) > 0  # false for NaN and for infinities
    bits = near.view(np.int32)
    step = inexact & ((bits & 1) == 0)
    too_large = np.abs(back) > np.abs(values)
    # an even neighbour gives way to the odd one on the other side of the value
    odd: F32 = (bits + np.where(too_large, np.int32(-1), np.int32(1)) * step).view(np.float32)
    return odd


def integers_to_odd(numbers: npt.NDArray[Any]) -> F64:
    """64-bit integers as fp64 rounded to odd; narrower ones are exact."""
    if numbers.dtype.itemsize < 8:
        return numbers.astype(np.float64)
    low = numbers & np.array(0xFFFFFFFF, numbers.dtype)
    return sum_to_odd((numbers - low).astype(np.float64), low.astype(np.float64))

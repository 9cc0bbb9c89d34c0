"""The fused multiply-add: `a * b + c` of fp32 values with one rounding into the accumulate type (cce.CHOICE-33)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dgekit.numerics.codes import F32
from dgekit.numerics.convert import round_lanes
from dgekit.numerics.formats import FP32, FloatFormat
from dgekit.numerics.odd import F64, narrow_to_odd, sum_to_odd

Operand = F32 | np.float32

_DROPPED = 53 - 24  # bits that rounding fp64 to a normal fp32 discards
_TIE = np.int64(1 << (_DROPPED - 1))
_BELOW = np.int64((1 << _DROPPED) - 1)
_LEAST_NORMAL = 2.0**-126


def multiply_add(a: Operand, b: Operand, c: Operand, shape: FloatFormat, *, saturate: bool = False) -> F32:
    """fp32 lanes of `a * b + c` rounded once to `shape`; NaN is not canonical yet (writing makes it so, D63).

    >>> one = np.float32(1 + 2.0**-12)
    >>> hex(int(multiply_add(np.array([one]), one, np.float32(2.0**-80), FP32).view(np.uint32)[0]))
    '0x3f801001'
    """
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        lanes = np.broadcast_shapes(np.shape(a), np.shape(b), np.shape(c), (1,))
        product = np.broadcast_to(np.multiply(a, b, dtype=np.float64), lanes)  # exact: 24 + 24 bits
        addend = np.broadcast_to(np.asarray(c, np.float64), lanes)
        if shape is not FP32:
            return round_lanes(narrow_to_odd(sum_to_odd(product, addend)), shape, saturate=saturate)
        total = product + addend
        result = total.astype(np.float32)
    doubtful = np.flatnonzero(_may_round_twice(total))
    if len(doubtful):
        with np.errstate(over="ignore", under="ignore"):
            result[doubtful] = sum_to_odd(product[doubtful], addend[doubtful]).astype(np.float32)
    return result


def _may_round_twice(total: F64) -> npt.NDArray[np.bool_]:
    """Where rounding the fp64 sum again could go wrong: on a tie between two fp32, and among fp32 subnormals."""
    with np.errstate(invalid="ignore"):
        tie: npt.NDArray[np.bool_] = (total.view(np.int64) & _BELOW) == _TIE
        tie |= (np.abs(total) < _LEAST_NORMAL) & (total != 0)
    return tie

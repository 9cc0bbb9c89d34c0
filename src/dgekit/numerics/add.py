"""The additions of accumulating copies: what an engine adds into a destination (cce 4.2, 4.7, D65)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dgekit.core.dtypes import Dtype
from dgekit.core.errors import DecodeError
from dgekit.numerics.formats import FP32, unsupported

U8 = npt.NDArray[np.uint8]
ADD_DTYPES = (Dtype.FP32, Dtype.INT32)


def add_bytes(a: U8, b: U8, dtype: int) -> U8:
    """`a + b` element by element; all three are packed uint8 of `dtype`.

    fp32 rounds to nearest even and gives the canonical NaN (cce.CHOICE-34); int32 wraps modulo 2**32
    (cce.CHOICE-37). Raises Unsupported for another type, DecodeError when the sizes do not fit.

    >>> add_bytes(np.array([1, 0, 0, 0], np.uint8), np.array([255] * 4, np.uint8), 0x8).tolist()
    [0, 0, 0, 0]
    """
    if dtype not in ADD_DTYPES:
        raise unsupported(dtype, "an accumulating copy (float32 and int32 are)")
    left, right = (np.ascontiguousarray(side, dtype=np.uint8).reshape(-1) for side in (a, b))
    if left.size != right.size or left.size % 4:
        raise DecodeError(
            f"{left.size} and {right.size} bytes are not the same whole number of 4-byte elements",
            rule="numerics.size",
            values={"a": left.size, "b": right.size, "element": 4},
        )
    bits: npt.NDArray[np.uint32]
    if dtype == Dtype.INT32:
        bits = left.view("<u4") + right.view("<u4")
    else:
        with np.errstate(over="ignore", invalid="ignore"):
            total = left.view("<f4") + right.view("<f4")
        bits = total.view("<u4")
        bits[np.isnan(total)] = FP32.nan_code
    return bits.view(np.uint8)

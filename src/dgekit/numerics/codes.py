"""Codes of a float format to fp32 values and back, whole arrays at a time (cce 4.7, 4.8).

Every format lies inside fp32, so reading is exact; writing rounds once, to nearest even. NaN becomes the format's
canonical positive NaN; overflow gives the infinity, or NaN in the FN form, or the largest finite value where FP8
saturation is on.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

from dgekit.numerics.exact import decode_float
from dgekit.numerics.formats import BF16, FP16, FP32, FloatFormat

U8 = npt.NDArray[np.uint8]
U16 = npt.NDArray[np.uint16]
U32 = npt.NDArray[np.uint32]
F32 = npt.NDArray[np.float32]

_F32_INF = np.uint32(0x7F800000)
_ABS = np.uint32(0x7FFFFFFF)
_SIXTEEN = np.uint32(16)


def decode(raw: U8, shape: FloatFormat) -> F32:
    """The fp32 values of packed little-endian codes; a view of `raw` for fp32 itself."""
    if shape is FP32:
        values: F32 = raw.view("<f4")
        return values
    if shape.bits == 8:
        return _values(shape)[raw]
    if shape is BF16:
        widened: U32 = np.left_shift(raw.view("<u2"), _SIXTEEN, dtype=np.uint32)
        return widened.view(np.float32)
    with np.errstate(invalid="ignore"):  # signalling NaNs
        return raw.view("<f2").astype(np.float32)


def encode(values: F32, shape: FloatFormat, *, saturate: bool = False) -> U8:
    """Packed little-endian codes of contiguous fp32 values, rounded once to nearest even."""
    bits = values.view(np.uint32)
    if shape.bits == 8:
        return _codes(shape, saturate and shape.saturates)[_odd_index(bits)]
    if shape is FP16:
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            codes = values.astype("<f2").view("<u2")
    elif shape is BF16:
        codes = _to_bf16(bits)
    else:
        codes = bits.copy()
    nan = np.isnan(values)
    if nan.any():
        codes[nan] = shape.nan_code
    return codes.view(np.uint8)


def lost_bits(values: F32, raw: U8, shape: FloatFormat) -> int:
    """How many of `values` are not what their codes in `raw` stand for; a NaN that stays NaN has lost nothing."""
    with np.errstate(invalid="ignore"):
        changed = np.count_nonzero(decode(raw, shape) != values)
    return int(changed - np.count_nonzero(np.isnan(values)))


def finish(magnitude: U32, bits: U32, shape: FloatFormat, *, saturate: bool) -> U32:
    """Codes from rounded positive codes (larger than `max_code`: overflow) and the fp32 bits they came from."""
    if shape.saturates and saturate:
        overflow = shape.max_code
    else:
        overflow = shape.nan_code if shape.inf_code is None else shape.inf_code
    code = np.where(magnitude > shape.max_code, np.uint32(overflow), magnitude)
    signed = code | ((bits >> np.uint32(31)) << np.uint32(shape.bits - 1))
    is_nan = (bits & _ABS) > _F32_INF
    if overflow == shape.nan_code:
        is_nan = is_nan | (code == shape.nan_code)  # D63: 7F of either sign
    return np.where(is_nan, np.uint32(shape.nan_code), signed)


def _to_bf16(bits: U32) -> U16:
    """Nearest-even bf16 codes of fp32 bits that are not NaN: a carry runs into the exponent by itself."""
    rounded = bits >> _SIXTEEN
    rounded &= np.uint32(1)
    rounded += np.uint32(0x7FFF)
    rounded += bits
    rounded >>= _SIXTEEN
    return rounded.astype("<u2")


def _odd_index(bits: U32) -> U32:
    """The upper half of fp32 bits with its last bit set where the lower half is not zero (round to odd).

    Eight bits of significand rounded to odd hold all that rounding to the five or fewer of FP8 depends on.
    """
    index = bits >> _SIXTEEN
    index |= (bits << _SIXTEEN) != 0
    return index


@cache
def _values(shape: FloatFormat) -> F32:
    """The fp32 value of every FP8 code."""
    values = np.array([decode_float(code, shape) for code in range(1 << shape.bits)], dtype=np.float32)
    values.setflags(write=False)
    return values


@cache
def _codes(shape: FloatFormat, saturate: bool) -> U8:
    """The FP8 code of every upper half of an fp32 (see `_odd_index`)."""
    bits = np.arange(1 << 16, dtype=np.uint32) << _SIXTEEN
    table = finish(_nearest(bits & _ABS, shape), bits, shape, saturate=saturate).astype(np.uint8)
    table.setflags(write=False)
    return table


def _nearest(magnitude: U32, shape: FloatFormat) -> U32:
    """Positive codes of fp32 magnitudes, as if the exponent had no upper limit (larger than max_code: overflow)."""
    drop = FP32.man_bits - shape.man_bits
    odd = (magnitude >> np.uint32(drop)) & np.uint32(1)
    rebias = (FP32.bias - shape.bias) << shape.man_bits
    code = (magnitude + np.uint32((1 << (drop - 1)) - 1) + odd) >> np.uint32(drop)
    # Below the least normal, adding 2^k with k chosen so that one ulp is the least subnormal rounds the same way.
    scale = np.array([1 - shape.bias - shape.man_bits + FP32.man_bits + FP32.bias << FP32.man_bits], dtype=np.uint32)
    least_normal = np.uint32((FP32.bias - shape.bias + 1) << FP32.man_bits)
    small = np.minimum(magnitude, least_normal).view(np.float32)
    below = (small + scale.view(np.float32)).view(np.uint32) - scale
    return np.where(magnitude < least_normal, below, code - np.uint32(rebias))

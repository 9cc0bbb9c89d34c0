"""Element conversion as a casting DMA does it: read, to fp32, round once to the output type (cce 4.3, 4.7, D62).

Rounding is to nearest, ties to even; subnormals are kept; a NaN becomes the output's canonical positive NaN;
overflow gives the infinity (NaN for the FN form), or the largest finite value where FP8 saturation is on
(switch `ocp_sat`). To integers: round to nearest even, saturate, NaN gives 0. Raw little-endian bytes in and out.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dgekit.core.errors import DecodeError
from dgekit.numerics.codes import decode, encode
from dgekit.numerics.formats import dtype_text, float_format, integer_range, unsupported

U8 = npt.NDArray[np.uint8]
F32 = npt.NDArray[np.float32]


def cast_bytes(
    data: U8, in_dtype: int, out_dtype: int, *, in_fn: bool = False, out_fn: bool = False, saturate: bool = False
) -> U8:
    """Convert the elements in `data` (uint8, packed `in_dtype`) to `out_dtype`; returns packed uint8.

    `in_fn` and `out_fn` take E4M3 of that side in its FN form. Equal integer or 1-byte types are a byte move
    (cce 4.4).
    Raises Unsupported naming a type that a cast does not take, DecodeError when bytes are left over.

    >>> one = np.array([1.0], dtype="<f4").view(np.uint8)
    >>> cast_bytes(one, 0xA, 0x6).tobytes().hex()
    '803f'
    """
    values = to_float32(data, in_dtype, fn=in_fn)
    same = int(in_dtype) == int(out_dtype) and float_format(in_dtype, fn=in_fn) is float_format(out_dtype, fn=out_fn)
    if same and (element_size(in_dtype) == 1 or integer_range(in_dtype) is not None):
        return np.array(data, dtype=np.uint8).reshape(-1)
    return from_float32(values, out_dtype, fn=out_fn, saturate=saturate)


def element_size(dtype: int) -> int:
    """Bytes of one element of a type that a cast takes; raises Unsupported for another."""
    shape = float_format(dtype)
    if shape is not None:
        return shape.bits // 8
    bounds = integer_range(dtype)
    if bounds is None:
        raise unsupported(dtype, "a cast")
    return (bounds[1] - bounds[0]).bit_length() // 8


def to_float32(data: U8, dtype: int, *, fn: bool = False) -> F32:
    """The fp32 values of packed elements; exact for floats, rounded to nearest even for 32-bit integers."""
    size = element_size(dtype)
    raw = np.ascontiguousarray(data, dtype=np.uint8).reshape(-1)
    if raw.size % size:
        raise DecodeError(
            f"{raw.size} bytes are no whole number of {size}-byte {dtype_text(dtype)} elements",
            rule="numerics.size",
            values={"bytes": raw.size, "element": size},
        )
    shape = float_format(dtype, fn=fn)
    if shape is not None:
        return decode(raw, shape)
    bounds = integer_range(dtype)
    signed = bounds is not None and bounds[0] < 0
    values: F32 = raw.view(f"<{'i' if signed else 'u'}{size}").astype(np.float32)
    return values


def from_float32(values: F32, dtype: int, *, fn: bool = False, saturate: bool = False) -> U8:
    """Packed elements of `dtype` for fp32 `values`, rounded once."""
    size = element_size(dtype)
    shape = float_format(dtype, fn=fn)
    if shape is not None:
        return encode(np.ascontiguousarray(values, dtype=np.float32).reshape(-1), shape, saturate=saturate)
    bounds = integer_range(dtype)
    if bounds is None:
        raise unsupported(dtype, "a cast")
    low, high = bounds
    with np.errstate(invalid="ignore"):  # signalling NaNs
        whole = np.rint(values).astype(np.float64)  # 32-bit limits are exact here
    whole = np.clip(np.where(np.isnan(whole), 0.0, whole), low, high)
    return whole.astype(np.int64).astype(f"<u{size}").view(np.uint8)

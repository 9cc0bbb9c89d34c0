"""Conversions between element types, in lanes: into the accumulate type, and out of it (cce 4.3, 4.7).

One rule for each pair: float to float and integer to float round once to nearest even; float to integer rounds to
nearest even, then saturates, and NaN gives 0; integer to integer saturates (cce.CHOICE-32 to 37).
"""

from __future__ import annotations

import numpy as np

from dgekit.numerics.codes import F32, U8, U32, decode, encode, lost_bits
from dgekit.numerics.elements import Element, Lanes
from dgekit.numerics.formats import FP32, FloatFormat
from dgekit.numerics.odd import F64, integers_to_odd, narrow_to_odd
from dgekit.numerics.stochastic import encode_stochastic


def to_accum(lanes: Lanes, read: Element, accum: Element, *, saturate: bool = False) -> Lanes:
    """Lanes of type `read` as lanes of type `accum`, rounded once; the same array where nothing changes."""
    if read == accum:
        return lanes
    if accum.shape is None:
        return to_integers(lanes, accum)
    if not read.is_float:
        return _from_integers(lanes, accum.shape, saturate)
    return round_lanes(lanes, accum.shape, saturate=saturate)


def round_lanes(values: F32, shape: FloatFormat, *, saturate: bool = False) -> F32:
    """fp32 values rounded to a float format, as fp32; the same array for fp32 itself."""
    return values if shape is FP32 else decode(encode(values, shape, saturate=saturate), shape)


def to_integers(lanes: Lanes, kind: Element) -> Lanes:
    """Integer lanes of the nearest whole numbers, saturated; NaN gives 0."""
    low, high = kind.limits
    if lanes.dtype.kind != "f":
        have = np.iinfo(lanes.dtype)
        return np.clip(lanes, max(low, int(have.min)), min(high, int(have.max))).astype(kind.storage)
    with np.errstate(invalid="ignore"):  # signalling NaNs
        whole = np.rint(lanes).astype(np.float64)
        over, under = whole >= float(high + 1), whole < float(low)
    out = np.where(over | under | np.isnan(whole), 0.0, whole).astype(kind.storage)
    out[over] = high
    out[under] = low
    return out


def write_codes(
    lanes: Lanes, accum: Element, write: Element, *, saturate: bool = False, draws: U32 | None = None
) -> tuple[U8, int]:
    """Packed elements of type `write` for lanes of type `accum`, and how many of them lost bits.

    `draws` (one a lane) make a float to float conversion round stochastically (cce.CHOICE-40).
    """
    if write.shape is None:
        numbers = to_integers(lanes, write)
        return numbers.view(np.uint8), _lost_by_integers(lanes, numbers)
    if accum.is_float:
        if draws is None:
            raw = encode(lanes, write.shape, saturate=saturate)
        else:
            raw = encode_stochastic(lanes, write.shape, draws, saturate=saturate)
        same = accum == write and not (saturate and write.shape.saturates)  # saturation takes infinities away
        return raw, 0 if same else lost_bits(lanes, raw, write.shape)
    exact = integers_to_odd(lanes)
    raw = encode(narrow_to_odd(exact) if write.shape is not FP32 else _to_fp32(exact), write.shape, saturate=saturate)
    back = decode(raw, write.shape)
    return raw, int(np.count_nonzero(back.astype(np.float64) != exact))


def _from_integers(numbers: Lanes, shape: FloatFormat, saturate: bool) -> F32:
    exact = integers_to_odd(numbers)
    return _to_fp32(exact) if shape is FP32 else round_lanes(narrow_to_odd(exact), shape, saturate=saturate)


def _to_fp32(values: F64) -> F32:
    """fp64 values rounded to odd, to the nearest fp32."""
    return values.astype(np.float32)


def _lost_by_integers(lanes: Lanes, numbers: Lanes) -> int:
    """How many lanes are no whole number inside the limits of the integers they became."""
    if lanes.dtype.kind != "f":
        return 0 if lanes.dtype == numbers.dtype else int(np.count_nonzero(lanes != numbers))
    with np.errstate(invalid="ignore"):  # signalling NaNs
        return int(np.count_nonzero(lanes.astype(np.float64) != integers_to_odd(numbers)))

"""The order of MIN and MAX: NaN wins over everything, -0 lies below +0 (cce.CHOICE-35).

A code is turned into a signed key of the same width whose order is that order; the map is its own inverse.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dgekit.numerics.formats import FloatFormat

Keys = npt.NDArray[np.signedinteger[Any]]


def keys_of(codes: npt.NDArray[Any], shape: FloatFormat, *, largest: bool) -> Keys:
    """Keys of the codes of a format (any integer view of them); a NaN gets the key that wins."""
    limits = np.iinfo(f"i{shape.bits // 8}")
    bits = codes.view(limits.dtype)
    top = shape.max_code if shape.inf_code is None else shape.inf_code
    keys: Keys = _mirrored(bits)
    nan = (bits & limits.dtype.type(limits.max)) > top
    if nan.any():
        keys[nan] = limits.max if largest else limits.min
    return keys


def codes_from(keys: Keys, shape: FloatFormat) -> npt.NDArray[Any]:
    """The codes of keys, signed integers of the same width; NaN canonical."""
    codes: npt.NDArray[Any] = _mirrored(keys)
    limits = np.iinfo(keys.dtype)
    top = shape.max_code if shape.inf_code is None else shape.inf_code
    nan = (codes & keys.dtype.type(limits.max)) > top
    if nan.any():
        codes[nan] = shape.nan_code
    return codes


def _mirrored(bits: Keys) -> Any:
    """Negative codes with their magnitude bits inverted, so that larger magnitudes come first."""
    width = bits.dtype.itemsize * 8
    mirrored = bits >> bits.dtype.type(width - 1)
    mirrored &= bits.dtype.type((1 << (width - 1)) - 1)
    mirrored ^= bits
    return mirrored

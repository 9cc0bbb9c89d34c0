"""What memory must hold after a transfer, computed without the tool: itertools on the pattern, numpy, ml_dtypes.

A tensor is a flat array of elements here; a pattern is `[[step, count], ...]`, outermost first, in elements.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import ml_dtypes  # noqa: F401 - registers its names with numpy
import numpy as np
import numpy.typing as npt

Pattern = Sequence[Sequence[int]]
Flat = npt.NDArray[Any]

INTEGERS = {"int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"}


def numpy_dtype(name: str) -> np.dtype[Any]:
    """The dtype that holds values of a D54 name (float32r is stored as float32)."""
    return np.dtype({"float32r": "float32"}.get(name, name))


def positions(pattern: Pattern, offset: int = 0) -> npt.NDArray[np.int64]:
    """The element numbers that a pattern visits, in order."""
    steps = [step for step, _ in pattern]
    places = itertools.product(*(range(count) for _, count in pattern))
    return np.array([offset + sum(i * s for i, s in zip(at, steps, strict=True)) for at in places], np.int64)


def cast(values: Flat, name: str) -> Flat:
    """Values converted through float32 (D54, D62); integers round to nearest even, saturate, and take 0 for NaN."""
    out = numpy_dtype(name)
    with np.errstate(all="ignore"):
        middle = values.astype(np.float32)
        if name not in INTEGERS:
            return middle.astype(out)
        low, high = np.iinfo(out).min, np.iinfo(out).max
        listed = [0 if np.isnan(x) else low if x < low else high if x > high else int(np.rint(x)) for x in middle]
        return np.array([min(max(x, low), high) for x in listed], out)


def same(got: Flat, wanted: Flat) -> bool:
    """Equal bytes, where two NaN of any sign and payload count as equal in a cast (D63)."""
    with np.errstate(all="ignore"):
        nan = np.isnan(got.astype(np.float32)) & np.isnan(wanted.astype(np.float32))
    raw = f"u{got.dtype.itemsize}"
    return bool((nan | (got.view(raw) == wanted.view(raw))).all())


def copied(dst: Flat, to: npt.NDArray[np.int64], values: Flat) -> Flat:
    """`dst` with the values at the positions `to`, one after the other."""
    out = dst.copy()
    for position, value in zip(to.tolist(), values, strict=True):
        out[position] = value
    return out


def added(dst: Flat, to: npt.NDArray[np.int64], values: Flat) -> Flat:
    """`dst` with the values added one after the other, each sum rounded (D65); integers wrap."""
    out = dst.copy()
    with np.errstate(all="ignore"):
        for position, value in zip(to.tolist(), values, strict=True):
            out[position] = out[position] + value
    return out

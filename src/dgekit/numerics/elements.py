"""An element type as arithmetic sees it, and the lanes that hold its values.

Lanes are numpy arrays: fp32 for every float type (each lies inside fp32), the integer of the same width otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from dgekit.core.dtypes import Dtype
from dgekit.numerics.codes import decode
from dgekit.numerics.formats import FloatFormat, float_format, integer_limits, unsupported

U8 = npt.NDArray[np.uint8]
Lanes = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Element:
    """An element type: its ISA `code`, its float `shape` (None for integers), its `limits` (integers), its bytes."""

    code: int
    size: int
    shape: FloatFormat | None = None
    limits: tuple[int, int] = (0, 0)

    @property
    def is_float(self) -> bool:
        """True for a float type."""
        return self.shape is not None

    @property
    def storage(self) -> np.dtype[Any]:
        """The numpy integer of the same width, little-endian, signed where the type is."""
        return np.dtype(f"<{'i' if self.limits[0] < 0 else 'u'}{self.size}")


@cache
def element(dtype: int, *, fn: bool = False) -> Element:
    """The element type of an ISA code (`fn`: E4M3 in its FN form); raises Unsupported for another.

    >>> element(0x6).size, element(0x8).limits[1]
    (2, 2147483647)
    """
    shape = float_format(dtype, fn=fn)
    if shape is not None:
        code = Dtype.FP32 if dtype == Dtype.FP32R else dtype  # cce.CHOICE-28
        return Element(int(code), shape.bits // 8, shape)
    limits = integer_limits(dtype)
    if limits is None:
        raise unsupported(dtype, "in-transfer arithmetic")
    return Element(int(dtype), (limits[1] - limits[0]).bit_length() // 8, None, limits)


def is_element(dtype: int) -> bool:
    """True for a type that `element` knows."""
    return float_format(dtype) is not None or integer_limits(dtype) is not None


def accumulator(in_dtype: int, out_dtype: int) -> Dtype:
    """The type that sums of a pair of types are kept in when nobody names one (cce.CHOICE-27).

    >>> accumulator(Dtype.BFLOAT16, Dtype.BFLOAT16).name, accumulator(Dtype.INT8, Dtype.INT8).name
    ('FP32', 'INT32')
    """
    if float_format(in_dtype) is not None or float_format(out_dtype) is not None:
        return Dtype.FP32
    for wide in (Dtype.INT64, Dtype.UINT64):
        if wide in (in_dtype, out_dtype):
            return wide
    return Dtype.INT32 if in_dtype in (Dtype.INT8, Dtype.INT16, Dtype.INT32) else Dtype.UINT32


def read_lanes(raw: U8, kind: Element) -> Lanes:
    """The exact values of packed elements, as lanes; may be a view of `raw`."""
    if kind.shape is not None:
        return decode(raw, kind.shape)
    return raw.view(kind.storage)

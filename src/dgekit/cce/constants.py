"""The constant of MIN or MAX from a number a person writes (cce 3.6)."""

from __future__ import annotations

import math

from dgekit.cce.dtypes import constant_code
from dgekit.cce.packet import Constant
from dgekit.core.errors import ComputeError
from dgekit.numerics.exact import Exact, join
from dgekit.numerics.formats import FloatFormat, dtype_text, float_format, integer_limits


def constant_of(number: float, dtype: int) -> Constant:
    """The raw bits of a number in that type: rounded once, to nearest even, where the type is a float.

    Raises ComputeError for a type no constant may have, and for a number that an integer type does not hold.

    >>> hex(constant_of(6.0, 10).bits), hex(constant_of(-1, 4).bits)
    ('0x40c00000', '0xffff')
    """
    constant_code(dtype)
    shape = float_format(dtype)
    return Constant(_integer_bits(number, dtype) if shape is None else _float_bits(number, shape), int(dtype))


def _float_bits(number: float, shape: FloatFormat) -> int:
    negative = math.copysign(1.0, number) < 0
    if not math.isfinite(number):
        return join(Exact(negative, infinite=math.isinf(number), nan=math.isnan(number)), shape)
    mantissa, denominator = abs(number).as_integer_ratio()
    return join(Exact(negative, mantissa, 1 - denominator.bit_length()), shape)


def _integer_bits(number: float, dtype: int) -> int:
    low, high = integer_limits(dtype) or (0, 0)
    if not (math.isfinite(number) and number == int(number) and low <= number <= high):
        raise ComputeError(
            f"{number!r} is no {dtype_text(dtype)}",
            rule="cce.CHOICE-14",
            where="constant",
            values={"value": repr(number), "low": low, "high": high},
            source="cce 3.6",
            fix=f"a whole number from {low} to {high}",
        )
    return int(number) & (high - low)

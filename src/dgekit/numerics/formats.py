"""The float formats a DMA can convert: widths, biases and special codes, each declared once (cce 4.7, 4.8)."""

from __future__ import annotations

from dataclasses import dataclass

from dgekit.core.dtypes import Dtype, dtype_info
from dgekit.core.errors import Unsupported, UsageError


@dataclass(frozen=True, slots=True)
class FloatFormat:
    """A binary float of 1 sign, `exp_bits` and `man_bits` bits; `max_code`, `inf_code`, `nan_code` are positive codes.

    `inf_code` is None for the FN form, which has no infinity and overflows to NaN (cce.CHOICE-36).
    `saturates` says whether the saturation policy applies: FP8 only.
    """

    name: str
    exp_bits: int
    man_bits: int
    bias: int
    max_code: int
    inf_code: int | None
    nan_code: int
    saturates: bool = False

    @property
    def bits(self) -> int:
        """Width of one code."""
        return 1 + self.exp_bits + self.man_bits

    @property
    def sign_bit(self) -> int:
        """The code of -0."""
        return 1 << (self.bits - 1)


FP32 = FloatFormat("float32", 8, 23, 127, 0x7F7FFFFF, 0x7F800000, 0x7FC00000)
BF16 = FloatFormat("bfloat16", 8, 7, 127, 0x7F7F, 0x7F80, 0x7FC0)
FP16 = FloatFormat("float16", 5, 10, 15, 0x7BFF, 0x7C00, 0x7E00)
E3M4 = FloatFormat("float8_e3m4", 3, 4, 3, 0x6F, 0x70, 0x78, True)
E4M3 = FloatFormat("float8_e4m3", 4, 3, 7, 0x77, 0x78, 0x7C, True)
E4M3FN = FloatFormat("float8_e4m3fn", 4, 3, 7, 0x7E, None, 0x7F, True)
E5M2 = FloatFormat("float8_e5m2", 5, 2, 15, 0x7B, 0x7C, 0x7E, True)

# FP32R as a cast's type behaves as FP32 (cce.CHOICE-28).
_FLOATS = {
    Dtype.FP32: FP32,
    Dtype.FP32R: FP32,
    Dtype.BFLOAT16: BF16,
    Dtype.FP16: FP16,
    Dtype.FP8_EXP3: E3M4,
    Dtype.FP8_EXP4: E4M3,
    Dtype.FP8_EXP5: E5M2,
}
_SIGNED = {Dtype.INT8: 8, Dtype.INT16: 16, Dtype.INT32: 32, Dtype.INT64: 64}
_UNSIGNED = {Dtype.UINT8: 8, Dtype.UINT16: 16, Dtype.UINT32: 32, Dtype.UINT64: 64}
_INTEGERS = {
    **{dtype: (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) for dtype, bits in _SIGNED.items()},
    **{dtype: (0, (1 << bits) - 1) for dtype, bits in _UNSIGNED.items()},
}


def float_format(dtype: int, *, fn: bool = False) -> FloatFormat | None:
    """The float format of an ISA dtype (`fn`: the FN form of E4M3), or None for another type."""
    if fn and dtype == Dtype.FP8_EXP4:
        return E4M3FN
    return _FLOATS.get(Dtype(dtype)) if dtype in _FLOATS else None


def integer_limits(dtype: int) -> tuple[int, int] | None:
    """Lowest and highest value of an ISA integer type, or None for another type."""
    return _INTEGERS.get(Dtype(dtype)) if dtype in _INTEGERS else None


def is_castable(dtype: int) -> bool:
    """True for the types a cast takes: floats, and integers of up to 32 bits (D30, D62)."""
    limits = integer_limits(dtype)
    return float_format(dtype) is not None or (limits is not None and not limits[1] >> 32)


def dtype_text(dtype: int) -> str:
    """The name of a dtype code for a message; a code that names no type is printed as a number."""
    try:
        return dtype_info(dtype).name
    except UsageError:
        return f"dtype {int(dtype):#x}"


def unsupported(dtype: int, what: str) -> Unsupported:
    """The error for a type that `what` does not take."""
    return Unsupported(
        f"{dtype_text(dtype)} is not supported by {what}", rule="numerics.dtype", values={"dtype": int(dtype)}
    )

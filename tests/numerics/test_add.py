"""Additions against plain Python arithmetic."""

import struct

import numpy as np
import pytest

from dgekit.core.dtypes import Dtype
from dgekit.core.errors import DecodeError, Unsupported
from dgekit.numerics.add import add_bytes
from dgekit.numerics.exact import join, split
from dgekit.numerics.formats import FP32


def raw(codes):
    return np.frombuffer(struct.pack(f"<{len(codes)}I", *codes), dtype=np.uint8)


def test_int32_wraps():
    pairs = [(0x7FFFFFFF, 1, 0x80000000), (0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFE), (5, 7, 12), (0x80000000, 0x80000000, 0)]
    a, b, want = (raw([p[i] for p in pairs]) for i in range(3))
    assert np.array_equal(add_bytes(a, b, Dtype.INT32), want)


def exact_sum(a, b):
    """The fp32 code of the exact sum of two finite, non-cancelling codes, by whole numbers."""
    x, y = split(a, FP32), split(b, FP32)
    low = min(x.exponent, y.exponent)
    total = sum((-v.mantissa if v.negative else v.mantissa) << (v.exponent - low) for v in (x, y))
    return join(type(x)(total < 0, abs(total), low), FP32)


def test_fp32_rounds_the_exact_sum_once():
    rng = np.random.default_rng(3)
    a, b = (rng.integers(0x3F000000, 0x42000000, 2000).tolist() for _ in range(2))
    b = [code | (i % 2) << 31 for i, code in enumerate(b)]
    got = add_bytes(raw(a), raw(b), Dtype.FP32).view("<u4").tolist()
    assert got == [exact_sum(x, y) for x, y in zip(a, b, strict=True)]


def test_fp32_special_values():
    inf, minus_inf, nan, largest, minus_zero = 0x7F800000, 0xFF800000, 0xFFC12345, 0x7F7FFFFF, 0x80000000
    a, b = raw([inf, nan, largest, minus_zero, inf]), raw([minus_inf, 0, largest, minus_zero, inf])
    want = [0x7FC00000, 0x7FC00000, inf, minus_zero, inf]
    assert add_bytes(a, b, Dtype.FP32).view("<u4").tolist() == want


@pytest.mark.parametrize("dtype", [Dtype.BFLOAT16, Dtype.UINT32, Dtype.INT64])
def test_other_types_are_named(dtype):
    with pytest.raises(Unsupported, match="is not supported by an accumulating copy") as caught:
        add_bytes(raw([0]), raw([0]), dtype)
    assert caught.value.values == {"dtype": int(dtype)}


def test_sizes_must_fit():
    with pytest.raises(DecodeError, match="4 and 8 bytes"):
        add_bytes(raw([0]), raw([0, 0]), Dtype.INT32)
    with pytest.raises(DecodeError, match="2 and 2 bytes"):
        add_bytes(np.zeros(2, np.uint8), np.zeros(2, np.uint8), Dtype.INT32)

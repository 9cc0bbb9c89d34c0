"""Casts (one source, fp32 accumulator) against the whole-number oracle (every code of every narrow type) and ml_dtypes."""

import ml_dtypes
import numpy as np
import pytest

from dgekit.core.choices import Choices
from dgekit.core.dtypes import Dtype
from dgekit.core.errors import DecodeError, Unsupported
from dgekit.numerics.codes import decode, encode
from dgekit.numerics.elements import element
from dgekit.numerics.exact import from_integer, join, split, to_integer
from dgekit.numerics.formats import FP32, float_format, integer_limits, is_castable
from dgekit.numerics.reduce import Reduction, reduce_bytes

FLOATS = [Dtype.FP32, Dtype.FP32R, Dtype.BFLOAT16, Dtype.FP16, Dtype.FP8_EXP3, Dtype.FP8_EXP4, Dtype.FP8_EXP5]
INTEGERS = [Dtype.INT8, Dtype.UINT8, Dtype.INT16, Dtype.UINT16, Dtype.INT32, Dtype.UINT32]
NARROW = [d for d in FLOATS + INTEGERS if element(d).size <= 2]
ML = {
    Dtype.BFLOAT16: ml_dtypes.bfloat16,
    Dtype.FP16: np.float16,
    Dtype.FP8_EXP3: ml_dtypes.float8_e3m4,
    Dtype.FP8_EXP4: ml_dtypes.float8_e4m3,
    Dtype.FP8_EXP5: ml_dtypes.float8_e5m2,
}


def element_size(dtype):
    return element(dtype).size


def cast_bytes(data, in_dtype, out_dtype, *, in_fn=False, out_fn=False, saturate=False):
    read, write = element(in_dtype, fn=in_fn), element(out_dtype, fn=out_fn)
    return reduce_bytes(Reduction("add", read, element(Dtype.FP32), write, saturate=saturate), [data])[0]


def from_float32(values, dtype, *, fn=False, saturate=False):
    return encode(values, float_format(dtype, fn=fn), saturate=saturate)


def to_float32(raw, dtype):
    return decode(raw, float_format(dtype))


def all_codes(dtype):
    size = element_size(dtype)
    return np.arange(1 << (8 * size), dtype=f"<u{size}")


def codes_of(data, dtype):
    return data.view(f"<u{element_size(dtype)}").tolist()


def oracle(code, in_dtype, out_dtype, fn, saturate):
    """One element: to fp32, then to the output, in whole numbers."""
    shape = float_format(in_dtype, fn=fn)
    if shape is None:
        bits, (low, _) = 8 * element_size(in_dtype), integer_limits(in_dtype)
        number = code - (1 << bits) if low < 0 and code >> (bits - 1) else code
        value = from_integer(number)
    else:
        value = split(code, shape)
    value = split(join(value, FP32), FP32)
    out = float_format(out_dtype, fn=fn)
    if out is not None:
        return join(value, out, saturate=saturate)
    low, high = integer_limits(out_dtype)
    return to_integer(value, low, high) & ((1 << 8 * element_size(out_dtype)) - 1)


@pytest.mark.parametrize("in_dtype", [d for d in NARROW if element_size(d) == 1], ids=lambda d: d.name)
@pytest.mark.parametrize("out_dtype", FLOATS + INTEGERS, ids=lambda d: d.name)
def test_every_one_byte_code_to_every_type(in_dtype, out_dtype):
    if in_dtype == out_dtype:
        return
    for fn in (False, True):
        for saturate in (False, True):
            codes = all_codes(in_dtype)
            got = codes_of(
                cast_bytes(codes.view(np.uint8), in_dtype, out_dtype, in_fn=fn, out_fn=fn, saturate=saturate), out_dtype
            )
            assert got == [oracle(c, in_dtype, out_dtype, fn, saturate) for c in codes.tolist()]


@pytest.mark.parametrize("in_dtype", [Dtype.BFLOAT16, Dtype.FP16], ids=lambda d: d.name)
@pytest.mark.parametrize("out_dtype", NARROW, ids=lambda d: d.name)
def test_every_two_byte_float_to_every_narrow_type(in_dtype, out_dtype):
    codes = all_codes(in_dtype)
    got = codes_of(cast_bytes(codes.view(np.uint8), in_dtype, out_dtype), out_dtype)
    assert got == [oracle(c, in_dtype, out_dtype, False, False) for c in codes.tolist()]


@pytest.mark.parametrize("saturate", [False, True])
def test_every_bf16_code_to_e4m3fn(saturate):
    codes = all_codes(Dtype.BFLOAT16)
    got = cast_bytes(codes.view(np.uint8), Dtype.BFLOAT16, Dtype.FP8_EXP4, out_fn=True, saturate=saturate)
    want = [oracle(c, Dtype.BFLOAT16, Dtype.FP8_EXP4, True, saturate) for c in codes.tolist()]
    assert got.tolist() == want


def edge_fp32(shape):
    """fp32 patterns on, just above and just below codes and ties of a format, both signs."""
    unit = 1 << (23 - shape.man_bits - 1)
    ties = np.arange(1, 0x7F800000 // unit, max(1, 0x7F800000 // unit // 20000), dtype=np.int64) * unit
    near = np.concatenate([ties, ties + 1, ties - 1, [0, 1]]).astype(np.uint32)
    return np.concatenate([near, near | np.uint32(1 << 31)]).view(np.float32)


@pytest.mark.parametrize("dtype", list(ML), ids=lambda d: d.name)
def test_agrees_with_ml_dtypes(dtype):
    rng = np.random.default_rng(7)
    random = rng.integers(0, 1 << 32, 200_000, dtype=np.uint64).astype(np.uint32).view(np.float32)
    values = np.concatenate([random, edge_fp32(float_format(dtype))])
    values = values[~np.isnan(values)]
    with np.errstate(all="ignore"):
        want = values.astype(ML[dtype])  # from float32 only: float64 would round twice (D63)
    assert from_float32(values, dtype).tobytes() == want.tobytes()
    codes = all_codes(dtype).view(ML[dtype])
    with np.errstate(all="ignore"):
        back = codes.astype(np.float32)
    got = to_float32(codes.view(np.uint8), dtype)
    assert np.array_equal(got, back, equal_nan=True)


def test_e4m3fn_agrees_with_ml_dtypes_where_it_does_not_overflow():
    values = edge_fp32(float_format(Dtype.FP8_EXP4, fn=True))
    values = values[np.abs(values) <= 464]
    assert from_float32(values, Dtype.FP8_EXP4, fn=True).tobytes() == values.astype(ml_dtypes.float8_e4m3fn).tobytes()


@pytest.mark.parametrize("shape_dtype", FLOATS[2:], ids=lambda d: d.name)
def test_random_fp32_against_the_oracle(shape_dtype):
    rng = np.random.default_rng(11)
    shape = float_format(shape_dtype)
    near_one = (np.float32(2.0) ** rng.integers(-30, 20, 1500) * rng.standard_normal(1500)).astype(np.float32)
    codes = near_one.view(np.uint32).tolist()
    got = codes_of(from_float32(near_one, shape_dtype), shape_dtype)
    assert got == [join(split(code, FP32), shape) for code in codes]


def test_integers_go_through_fp32():
    big = np.array([16777217, -16777217, 2147483647, -2147483648], dtype="<i4")
    assert codes_of(cast_bytes(big.view(np.uint8), Dtype.INT32, Dtype.FP32), Dtype.FP32) == [
        0x4B800000, 0xCB800000, 0x4F000000, 0xCF000000,
    ]  # fmt: skip
    # 2147483647 becomes 2147483648.0, which saturates on the way back to a signed type
    back = cast_bytes(big.view(np.uint8), Dtype.INT32, Dtype.UINT32).view("<u4")
    assert back.tolist() == [16777216, 0, 2147483648, 0]
    top = np.array([4294967295], dtype="<u4")
    assert cast_bytes(top.view(np.uint8), Dtype.UINT32, Dtype.INT32).view("<i4").tolist() == [2147483647]


def test_nan_is_canonical_and_positive():
    nans = np.array([0xFFC00001, 0x7F800001, 0xFF800001], dtype="<u4").view(np.uint8)
    # cce.CHOICE-34
    for dtype, code in {
        Dtype.FP32R: 0x7FC00000, Dtype.BFLOAT16: 0x7FC0, Dtype.FP16: 0x7E00,
        Dtype.FP8_EXP5: 0x7E, Dtype.FP8_EXP4: 0x7C, Dtype.FP8_EXP3: 0x78, Dtype.INT16: 0,
    }.items():  # fmt: skip
        for saturate in (False, True):
            assert codes_of(cast_bytes(nans, Dtype.FP32, dtype, saturate=saturate), dtype) == [code] * 3
    assert cast_bytes(nans, Dtype.FP32, Dtype.FP8_EXP4, out_fn=True).tolist() == [0x7F] * 3


def test_fn_overflow_is_nan_of_either_sign():
    values = np.array([465.0, -465.0, np.inf, -np.inf, -464.0], dtype=np.float32)
    assert from_float32(values, Dtype.FP8_EXP4, fn=True).tolist() == [0x7F, 0x7F, 0x7F, 0x7F, 0xFE]
    assert from_float32(values, Dtype.FP8_EXP4, fn=True, saturate=True).tolist() == [0x7E, 0xFE, 0x7E, 0xFE, 0xFE]


def test_one_source_of_a_type_as_itself_is_itself_except_for_nan():
    for dtype in NARROW:
        if dtype in FLOATS:
            codes = all_codes(dtype)
            shape = float_format(dtype)
            want = [shape.nan_code if split(c, shape).nan else c for c in codes.tolist()]
            assert codes_of(cast_bytes(codes.view(np.uint8), dtype, dtype), dtype) == want


def test_which_types_cast():
    assert all(is_castable(dtype) for dtype in FLOATS + INTEGERS)
    assert not any(is_castable(d) for d in (Dtype.INT64, Dtype.UINT64, Dtype.FP8_EXP2, Dtype.INVALID, 0x7F))


def test_a_code_that_is_no_type_is_named_by_number():
    with pytest.raises(Unsupported, match="dtype 0x7f is not supported") as caught:
        element(0x7F)
    assert caught.value.rule == "numerics.dtype"
    assert caught.value.values == {"dtype": 0x7F}
    with pytest.raises(Unsupported, match="float8_e2m5 is not supported"):
        element(Dtype.FP8_EXP2)


def test_left_over_bytes():
    with pytest.raises(
        DecodeError, match="sources of 7 bytes are not the same whole number of bfloat16 elements"
    ) as caught:
        cast_bytes(np.zeros(7, np.uint8), Dtype.BFLOAT16, Dtype.FP32)
    assert caught.value.rule == "numerics.size"


def test_empty():
    assert cast_bytes(np.zeros(0, np.uint8), Dtype.BFLOAT16, Dtype.FP8_EXP4).size == 0


def test_saturation_is_a_switch_that_is_off():
    assert Choices().flag("ocp_sat") is False

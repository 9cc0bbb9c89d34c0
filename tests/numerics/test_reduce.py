"""Reductions against the whole-number oracle, one element at a time, for every type and operation."""

import tracemalloc
from functools import cache

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgekit.core.dtypes import Dtype
from dgekit.core.errors import DecodeError
from dgekit.numerics import exact
from dgekit.numerics.elements import accumulator, element
from dgekit.numerics.exact import Exact, from_integer, join, split, to_integer
from dgekit.numerics.formats import FP32
from dgekit.numerics.reduce import BLOCK, Reduction, reduce_bytes

FP8 = [("e3m4", 0xD, False), ("e4m3", 0xE, False), ("e4m3fn", 0xE, True), ("e5m2", 0xF, False)]
FLOATS = [element(Dtype.FP32), element(Dtype.BFLOAT16), element(Dtype.FP16)] + [element(d, fn=f) for _, d, f in FP8]
INTEGERS = [element(d) for d in (1, 2, 3, 4, 5, 8, 9, 12)]
F32 = element(Dtype.FP32)


# the oracle


def value_of(code, kind):
    """An element as an exact value."""
    if kind.shape is not None:
        return split(code, kind.shape)
    return from_integer(code - (1 << 8 * kind.size) if kind.limits[0] < 0 and code >> (8 * kind.size - 1) else code)


def number(value):
    return -value.mantissa if value.negative else value.mantissa


def convert(value, kind, saturate=False):
    """The exact value after one conversion to a type."""
    if kind.shape is not None:
        return split(join(value, kind.shape, saturate=saturate), kind.shape)
    return from_integer(to_integer(value, *kind.limits))


def code_of(value, kind, saturate=False):
    if kind.shape is not None:
        return join(value, kind.shape, saturate=saturate)
    return to_integer(value, *kind.limits) & ((1 << 8 * kind.size) - 1)


def wrapped(value, kind):
    low, high = kind.limits
    return from_integer((number(value) - low) % (high - low + 1) + low)


def reference(how, codes):
    """One element by the rules of cce 4.2 and 4.7, in whole numbers; the code written and whether it lost bits."""
    sat = how.saturate
    if how.op == "fma":
        total = Exact()
        for index, code in enumerate(codes):
            source = convert(value_of(code, how.read), F32)
            scale = split(int(np.float32(how.scales[index]).view(np.uint32)), FP32)
            operands = (total, source, scale)
            a, b, c = (operands[i] for i in (how.selectors[index] if how.selectors else (1, 2, 0)))
            total = convert(exact.add(exact.multiply(a, b), c), how.accum, sat)
    else:
        values = [value_of(code, how.read) for code in codes]
        sources = values if how.read == how.accum else [convert(value, how.accum, sat) for value in values]
        total, *rest = sources
        for source in rest:
            if how.op != "add":
                total = exact.extreme(total, source, largest=how.op == "max")
            elif how.accum.is_float:
                total = convert(exact.add(total, source), how.accum, sat)
            else:
                total = wrapped(exact.add(total, source), how.accum)
    written = code_of(total, how.write, sat)
    return written, lost(total, value_of(written, how.write))


def lost(before, after):
    if before.nan or after.nan:
        return before.nan != after.nan
    if before.infinite or after.infinite:
        return (before.infinite, before.negative) != (after.infinite, after.negative)
    _, x, y = exact.aligned(before, after)
    return x != y


# codes


def packed(codes, kind):
    return np.array(codes, f"<u{kind.size}").view(np.uint8)


@cache
def special_codes(kind):
    """Zeros, subnormals, the edges of the range, infinities and NaNs, quiet and signalling, of both signs."""
    if kind.shape is None:
        low, high = kind.limits
        mask = (1 << 8 * kind.size) - 1
        return [n & mask for n in (0, 1, -1 if low else 2, low, low + 1, high, high - 1, high // 2, high // 2 + 1, 3)]
    shape = kind.shape
    top = shape.sign_bit - 1
    least_normal = 1 << shape.man_bits
    one = shape.bias << shape.man_bits
    magnitudes = [0, 1, 2, 3, least_normal - 1, least_normal, least_normal + 1, one, one + 1, one - 1]
    magnitudes += [shape.max_code, shape.max_code - 1, min(top, shape.max_code + 1), min(top, shape.max_code + 2)]
    magnitudes += [shape.nan_code, top]
    return [code | sign for code in magnitudes for sign in (0, shape.sign_bit)]


def some_codes(rng, kind, count):
    """Specials, values near one, and any bits."""
    specials = special_codes(kind)
    codes = rng.integers(0, 1 << 8 * kind.size, count, dtype=np.uint64, endpoint=False)
    pick = rng.integers(0, 3, count)
    codes = np.where(pick == 0, rng.choice(np.array(specials, np.uint64), count), codes)
    if kind.shape is not None:
        one = kind.shape.bias << kind.shape.man_bits
        span = 4 << kind.shape.man_bits
        near = rng.integers(max(0, one - span), min(kind.shape.max_code, one + span), count, dtype=np.uint64)
        near |= rng.integers(0, 2, count, dtype=np.uint64) * np.uint64(kind.shape.sign_bit)
        codes = np.where(pick == 1, near, codes)
    return codes.tolist()


def check(how, columns):
    raw, lossy = reduce_bytes(how, [packed(column, how.read) for column in columns])
    want = [reference(how, codes) for codes in zip(*columns, strict=True)]
    got = raw.view(f"<u{how.write.size}").tolist()
    wrong = [(codes, g, w) for codes, g, (w, _) in zip(zip(*columns, strict=True), got, want, strict=True) if g != w]
    assert not wrong, [(*map(hex, codes), hex(g), hex(w)) for codes, g, w in wrong[:5]]
    assert lossy == sum(changed for _, changed in want)


# every pair of FP8


@cache
def fp8_pairs():
    return np.repeat(np.arange(256), 256).tolist(), np.tile(np.arange(256), 256).tolist()


def check_pair_sums(kind, left, right, got, lossy, saturate=False):
    """Compare with every sum of one of `left` and one of `right`, rounded to fp32 and then to the type.

    Equal sums are rounded once; infinities, NaN and zeros, whose sign is special, are added one pair at a time.
    """

    def rounded(total):
        in_fp32 = convert(total, F32)
        code = join(in_fp32, kind.shape, saturate=saturate)
        return code, lost(in_fp32, split(code, kind.shape))

    def whole(values):
        return np.array([0 if v.nan or v.infinite else number(v) << (v.exponent - low) for v in values], object)

    low = min(value.exponent for value in left + right)
    sums, place = np.unique(np.add.outer(whole(left), whole(right)).reshape(-1), return_inverse=True)
    pairs = [rounded(Exact(total < 0, abs(total), low)) for total in sums.tolist()]
    want = np.array([code for code, _ in pairs])[place]
    changed = np.array([lossy for _, lossy in pairs])[place]
    odd = [np.array([v.nan or v.infinite for v in values]) for values in (left, right)]
    one_by_one = np.logical_or.outer(*odd).reshape(-1) | (sums == 0)[place]
    for index in np.flatnonzero(one_by_one).tolist():
        want[index], changed[index] = rounded(exact.add(left[index // 256], right[index % 256]))
    assert np.array_equal(got, want)
    assert lossy == int(changed.sum())


def nan_codes(shape):
    return np.array([split(code, shape).nan for code in range(256)])


@pytest.mark.parametrize("saturate", [False, True])
@pytest.mark.parametrize(("dtype", "fn"), [f[1:] for f in FP8], ids=[f[0] for f in FP8])
def test_every_fp8_pair_adds(dtype, fn, saturate):
    kind = element(dtype, fn=fn)
    left, right = fp8_pairs()
    raw, lossy = reduce_bytes(
        Reduction("add", kind, F32, kind, saturate=saturate), [packed(left, kind), packed(right, kind)]
    )
    values = [split(code, kind.shape) for code in range(256)]
    check_pair_sums(kind, values, values, raw, lossy, saturate)


@pytest.mark.parametrize("op", ["max", "min"])
@pytest.mark.parametrize(("dtype", "fn"), [f[1:] for f in FP8], ids=[f[0] for f in FP8])
def test_every_fp8_pair_compares(dtype, fn, op):
    kind = element(dtype, fn=fn)
    left, right = fp8_pairs()
    values = [split(code, kind.shape) for code in range(256)]
    nan = nan_codes(kind.shape)
    order = sorted(
        (c for c in range(256) if not nan[c]),
        key=lambda c: (exact.decode_float(c, kind.shape), not values[c].negative),
    )
    rank = np.zeros(256, int)
    rank[order] = np.arange(len(order))
    a, b = np.array(left), np.array(right)
    first = (rank[a] >= rank[b]) if op == "max" else (rank[a] <= rank[b])
    want = np.where(nan[a] | nan[b], kind.shape.nan_code, np.where(first, a, b))
    for accum in (F32, kind):
        raw, lossy = reduce_bytes(Reduction(op, kind, accum, kind), [packed(left, kind), packed(right, kind)])
        assert np.array_equal(raw, want)
        assert lossy == 0


def fma_pairs(kind, scales):
    left, right = fp8_pairs()
    how = Reduction("fma", kind, F32, kind, scales=scales)
    raw, lossy = reduce_bytes(how, [packed(left, kind), packed(right, kind)])
    values = [split(code, kind.shape) for code in range(256)]
    first, second = (split(int(np.float32(s).view(np.uint32)), FP32) for s in scales)
    stored = [convert(exact.add(exact.multiply(value, first), Exact()), F32) for value in values]
    products = [exact.multiply(value, second) for value in values]
    check_pair_sums(kind, stored, products, raw, lossy)


@pytest.mark.parametrize(("dtype", "fn"), [f[1:] for f in FP8], ids=[f[0] for f in FP8])
def test_every_fp8_pair_multiplies_and_adds(dtype, fn):
    fma_pairs(element(dtype, fn=fn), (0.5, -1.5))


@pytest.mark.slow
@pytest.mark.parametrize("scales", [(1.0, 1.0), (0.3, 3.7), (2.0**-120, 1e-40), (0.0, float("inf"))])
@pytest.mark.parametrize(("dtype", "fn"), [f[1:] for f in FP8], ids=[f[0] for f in FP8])
def test_every_fp8_pair_with_other_scales(dtype, fn, scales):
    fma_pairs(element(dtype, fn=fn), scales)


# random and special values


@pytest.mark.parametrize("op", ["add", "max", "min", "fma"])
@pytest.mark.parametrize("accum", ["fp32", "own"])
@pytest.mark.parametrize("kind", FLOATS, ids=lambda k: k.shape.name)
def test_floats(kind, accum, op):
    rng = np.random.default_rng(5)
    scales = (0.5, -1.25, 0.3) if op == "fma" else ()
    how = Reduction(op, kind, F32 if accum == "fp32" else kind, kind, scales=scales)
    check(how, [some_codes(rng, kind, 700) for _ in range(3)])


def test_every_pair_of_fp32_specials():
    """Subnormals, edges, infinities, NaNs: all combinations, with scales that reach the ends of the range."""
    codes = special_codes(F32)
    left, right = [a for a in codes for _ in codes], codes * len(codes)
    for op in ("add", "max", "min"):
        check(Reduction(op, F32, F32, F32), [left, right])
    for scales in ((1.0, 1.0), (1.0, -1.0), (2.0**-100, 2.0**-30), (2.0**120, -(2.0**120)), (0.0, float("inf"))):
        check(Reduction("fma", F32, F32, F32, scales=scales), [left, right])


@pytest.mark.parametrize("kind", FLOATS[:3], ids=lambda k: k.shape.name)
def test_fma_near_ties(kind):
    """Products and sums whose fp64 sum falls on a tie between two results: where rounding twice would go wrong."""
    rng = np.random.default_rng(8)
    bits = kind.shape.man_bits
    one = kind.shape.bias << bits
    count = 600
    left = (one + rng.integers(0, 1 << bits, count)).tolist()
    right = [int(code) for code in rng.integers(1, max(2, one // 8), count)]
    for scale in (1.0 + 2.0**-12, 1.0 + 2.0**-23, 1.5, 2.0**-24, 2.0**-25 * (1 + 2.0**-23)):
        check(Reduction("fma", kind, F32, kind, scales=(1.0, scale)), [left, right])
        check(Reduction("fma", kind, kind, kind, scales=(scale, 1.0)), [left, right])


def test_fma_is_fused():
    """cce CHOICE-33: a = b = 1 + 2^-12, c = 2^-80; a plain double sum or an unfused one gives 3F801000."""
    tiny, one = 0x17800000, 0x3F800800  # 2^-80, 1 + 2^-12
    how = Reduction("fma", F32, F32, F32, scales=(1.0, 1.0 + 2.0**-12))
    raw, _ = reduce_bytes(how, [packed([tiny], F32), packed([one], F32)])
    assert raw.view("<u4").tolist() == [0x3F801001]


def test_selectors():
    """Multiplication as two sources (cce CHOICE-02), a stored value squared, and scalars only."""
    rng = np.random.default_rng(4)
    columns = [some_codes(rng, FLOATS[1], 300) for _ in range(2)]
    for selectors in (((1, 2, 0), (1, 0, 2)), ((1, 2, 0), (0, 0, 1)), ((1, 1, 1), (2, 2, 2)), ((2, 2, 0), (1, 2, 2))):
        for scales in ((1.0, 0.0), (0.75, -3.0)):
            check(Reduction("fma", FLOATS[1], F32, FLOATS[1], scales=scales, selectors=selectors), columns)


@pytest.mark.parametrize("read", FLOATS + INTEGERS, ids=lambda k: f"{k.code}{'fn' if k == FLOATS[5] else ''}")
def test_every_combination_of_types(read):
    rng = np.random.default_rng(read.code)
    for write in FLOATS + INTEGERS:
        for accum in {element(accumulator(read.code, write.code)), F32, read, write}:
            for op in ("add", "max", "min"):
                check(Reduction(op, read, accum, write, saturate=True), [some_codes(rng, read, 24) for _ in range(2)])
        if read.is_float:
            check(Reduction("fma", read, FLOATS[2], write, scales=(1.5, 2.0)), [some_codes(rng, read, 24)] * 2)
        check(Reduction("fma", read, F32, write, scales=(1.5, 2.0)), [some_codes(rng, read, 24)] * 2)


def test_integers_wrap_in_the_accumulator_and_saturate_when_written():
    i32, i8, u8 = element(Dtype.INT32), element(Dtype.INT8), element(Dtype.UINT8)
    add = Reduction("add", i32, i32, i32)
    raw, lossy = reduce_bytes(add, [packed([0x7FFFFFFF, 5], i32), packed([1, 7], i32)])
    assert (raw.view("<i4").tolist(), lossy) == ([-(1 << 31), 12], 0)
    raw, lossy = reduce_bytes(Reduction("add", i8, i32, i8), [packed([100, 200, 3], i8)] * 2)
    assert (raw.view("i1").tolist(), lossy) == ([127, -112, 6], 1)
    raw, lossy = reduce_bytes(Reduction("add", i8, i32, u8), [packed([0xFF, 1, 100], i8)])
    assert (raw.tolist(), lossy) == ([0, 1, 100], 1)


def test_first_source_is_converted_not_added_to_zero():
    """cce CHOICE-25: -0 stays; FMA starts at +0."""
    minus_zero = packed([0x80000000], F32)
    for count in (1, 2):
        assert reduce_bytes(Reduction("add", F32, F32, F32), [minus_zero] * count)[0].view("<u4").tolist() == [1 << 31]
    fma = Reduction("fma", F32, F32, F32, scales=(1.0,))
    assert reduce_bytes(fma, [minus_zero])[0].view("<u4").tolist() == [0]


def test_constant_is_folded_into_min_and_max():
    bf16 = element(Dtype.BFLOAT16)
    data = packed([0x4110, 0x3F80, 0xFFC1, 0x8000], bf16)  # 9, 1, NaN, -0
    six, zero = np.array([6.0], np.float32), np.zeros(1, np.float32)
    low, _ = reduce_bytes(Reduction("min", bf16, F32, bf16, constant=six), [data])
    assert low.view("<u2").tolist() == [0x40C0, 0x3F80, 0x7FC0, 0x8000]
    high, _ = reduce_bytes(Reduction("max", bf16, F32, bf16, constant=zero), [data])
    assert high.view("<u2").tolist() == [0x4110, 0x3F80, 0x7FC0, 0]
    nan = np.array([np.nan], np.float32)
    assert reduce_bytes(Reduction("max", bf16, F32, bf16, constant=nan), [data])[0].view("<u2").tolist() == [0x7FC0] * 4
    raw, lossy = reduce_bytes(Reduction("max", bf16, F32, bf16, constant=np.array([0.1], np.float32)), [data])
    assert (raw.view("<u2").tolist()[3], lossy) == (0x3DCD, 1)  # 0.1 is no bf16


# sizes and the block forms


@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, BLOCK - 1, BLOCK + 1, 2 * 32768 + 1, 4 * 32768 + 5])
def test_sizes(count):
    """Odd sizes and block edges, against numpy's own fp32 sum and ml_dtypes' rounding."""
    rng = np.random.default_rng(count)
    arrays = [rng.standard_normal(count, np.float32).astype(ml_dtypes.bfloat16) for _ in range(3)]
    wide = arrays[0].astype(np.float32) + arrays[1].astype(np.float32) + arrays[2].astype(np.float32)
    bf16 = element(Dtype.BFLOAT16)
    raw, lossy = reduce_bytes(Reduction("add", bf16, F32, bf16), [a.view(np.uint8) for a in arrays])
    want = wide.astype(ml_dtypes.bfloat16)
    assert np.array_equal(raw, want.view(np.uint8))
    assert lossy == int(np.count_nonzero(want.astype(np.float32) != wide))
    raw, _ = reduce_bytes(Reduction("max", bf16, F32, bf16), [a.view(np.uint8) for a in arrays])
    assert np.array_equal(raw, np.maximum(np.maximum(*arrays[:2]), arrays[2]).view(np.uint8))


@pytest.mark.parametrize("op", ["add", "fma", "max"])
@pytest.mark.parametrize("dtype", [Dtype.BFLOAT16, Dtype.FP16, Dtype.FP8_EXP4, Dtype.FP32, Dtype.INT8])
def test_memory_is_bounded_by_blocks(dtype, op):
    """Above the operands, a reduction holds a few blocks: 2 MiB, whatever the size."""
    kind = element(dtype)
    data = np.zeros(1 << 22, np.uint8)
    scales = (1.0,) * 3 if op == "fma" else ()
    accum = F32 if op == "fma" else element(accumulator(dtype, dtype))
    how = Reduction(op, kind, accum, kind, scales=scales)
    reduce_bytes(how, [data[: 1 << 17]] * 3)  # tables
    tracemalloc.start()
    try:
        out, _ = reduce_bytes(how, [data] * 3)
        assert tracemalloc.get_traced_memory()[1] < out.nbytes + (2 << 20)
    finally:
        tracemalloc.stop()


def test_bf16_specials_in_the_block_form():
    rng = np.random.default_rng(2)
    bf16 = element(Dtype.BFLOAT16)
    check(Reduction("add", bf16, F32, bf16), [some_codes(rng, bf16, 1999) for _ in range(4)])
    check(Reduction("add", bf16, F32, bf16), [special_codes(bf16)])


@pytest.mark.parametrize(
    ("kind", "numpy_type"),
    [(FLOATS[1], ml_dtypes.bfloat16), (FLOATS[2], np.float16), (FLOATS[6], ml_dtypes.float8_e5m2)],
    ids=["bf16", "fp16", "e5m2"],
)
def test_agrees_with_ml_dtypes(kind, numpy_type):
    """A second, independent rounding, from fp32 (never from fp64, which rounds twice: D63)."""
    rng = np.random.default_rng(6)
    arrays = [(rng.standard_normal(50_000) * 30).astype(np.float32).astype(numpy_type) for _ in range(2)]
    want = (arrays[0].astype(np.float32) + arrays[1].astype(np.float32)).astype(numpy_type)
    raw, _ = reduce_bytes(Reduction("add", kind, F32, kind), [a.view(np.uint8) for a in arrays])
    assert np.array_equal(raw, want.view(np.uint8))


@settings(max_examples=40, deadline=None)
@given(st.permutations(range(4)), st.integers(0, 1 << 32), st.sampled_from(range(7)))
def test_min_and_max_do_not_depend_on_the_order(order, seed, which):
    kind = FLOATS[which]
    rng = np.random.default_rng(seed)
    sources = [packed(some_codes(rng, kind, 50), kind) for _ in range(4)]
    for op in ("max", "min"):
        how = Reduction(op, kind, F32, kind)
        one, _ = reduce_bytes(how, sources)
        other, _ = reduce_bytes(how, [sources[i] for i in order])
        assert np.array_equal(one, other)


@pytest.mark.parametrize(("sizes", "match"), [((), "sources of no bytes"), ((4, 8), "4, 8 bytes"), ((6, 6), "6, 6")])
def test_sources_must_be_equal_and_whole(sizes, match):
    with pytest.raises(DecodeError, match=match) as caught:
        reduce_bytes(Reduction("add", F32, F32, F32), [np.zeros(size, np.uint8) for size in sizes])
    assert caught.value.rule == "numerics.size"

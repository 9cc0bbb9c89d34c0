"""The generator and the rounding of the stochastic model, against the chapter's numbers and plain integers."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgekit.core.dtypes import Dtype
from dgekit.core.errors import UsageError
from dgekit.numerics.codes import encode
from dgekit.numerics.elements import element
from dgekit.numerics.exact import Exact, join, split
from dgekit.numerics.formats import BF16, E3M4, E4M3, E4M3FN, E5M2, FP16, FP32
from dgekit.numerics.reduce import BLOCK, Reduction, reduce_bytes
from dgekit.numerics.stochastic import LANES, SrLanes, encode_stochastic

NARROW = [BF16, FP16, E3M4, E4M3, E4M3FN, E5M2]

# cce 4.9, seed 0x12345678
STATES = (0x12345678, 0x8C032FC1, 0x2E5AA50A, 0xC8923B53)
FIRST = [0x87985AA5, 0xD6941CBC, 0x2580D697, 0x70FB894F]
ROUNDED = """3F81 3F81 3F80 3F80 3F81 3F80 3F80 3F80 3F80 3F81 3F80 3F80 3F80 3F80 3F80 3F81
3F80 3F81 3F81 3F80 3F81 3F81 3F80 3F80 3F80 3F81 3F81 3F80 3F81 3F81 3F80 3F80"""


def stepped(state):
    state ^= state << 13 & 0xFFFFFFFF
    state ^= state >> 17
    return state ^ (state << 5 & 0xFFFFFFFF)


def test_golden_lanes_and_draws():
    lanes = SrLanes(0x12345678)
    assert lanes.states[:4] == STATES
    draws = lanes.draws(2 * LANES)
    assert draws[:4].tolist() == FIRST
    assert draws[LANES] == 0x155B24A3


def test_golden_conversions():
    values = np.full(32, 1.00390625, np.float32)
    codes = encode_stochastic(values, BF16, SrLanes(0x12345678).draws(32)).view("<u2")
    assert codes.tolist() == [int(code, 16) for code in ROUNDED.split()]


def test_a_zero_lane_state_is_replaced():
    """dec.D64: the chapter's own replacement would twin lanes 0 and 1 of seed 0."""
    assert SrLanes(0).states[:2] == (0x85EBCA6B, 0x9E3779B9)
    assert SrLanes(0x9E3779B9).states[:2] == (0x9E3779B9, 0x85EBCA6B)
    assert len(set(SrLanes(0).states)) == LANES


@settings(max_examples=40, deadline=None)
@given(st.integers(0, (1 << 32) - 1), st.lists(st.integers(0, 700), max_size=5))
def test_draws_are_the_generator_step_by_step(seed, counts):
    lanes = SrLanes(seed)
    states = list(lanes.states)
    for count in counts:
        want = []
        for index in range(count):
            states[index % LANES] = stepped(states[index % LANES])
            want.append(states[index % LANES])
        assert lanes.draws(count).tolist() == want
        assert list(lanes.states) == states


def test_single_lanes_are_set_as_seed_registers():
    lanes = SrLanes()
    assert not lanes.seeded
    for lane in range(LANES):
        lanes.set_lane(lane, lane)
    assert lanes.seeded
    assert lanes.states[:3] == (0x85EBCA6B, 1, 2)


@pytest.mark.parametrize("call", [lambda s: s.seed(1 << 32), lambda s: s.set_lane(16, 1), lambda s: s.set_lane(0, -1)])
def test_what_does_not_fit_is_refused(call):
    with pytest.raises(UsageError) as caught:
        call(SrLanes())
    assert caught.value.rule == "cce.4.9"


def expected(code, shape, draw, saturate):
    """Round up when fraction + draw / 2^32 >= 1, in rationals."""
    value = split(code, FP32)
    if value.nan or value.infinite:
        return join(value, shape, saturate=saturate)
    exact = Fraction(value.mantissa) * Fraction(2) ** value.exponent
    lowest = 1 - shape.bias - shape.man_bits
    binade = value.exponent + value.mantissa.bit_length() - 1 if value.mantissa else lowest
    ulp = max(lowest, binade - shape.man_bits)
    steps = exact / Fraction(2) ** ulp
    whole = steps.numerator // steps.denominator
    up = whole + (1 if steps - whole + Fraction(draw, 1 << 32) >= 1 else 0)
    return join(Exact(value.negative, up, ulp), shape, saturate=saturate)


@pytest.mark.parametrize("saturate", [False, True])
@pytest.mark.parametrize("shape", [*NARROW, FP32], ids=lambda shape: shape.name)
def test_every_region_of_fp32(shape, saturate):
    rng = np.random.default_rng(1)
    edge = [join(split(code, shape), FP32) for code in (1, shape.max_code, 1 << shape.man_bits, shape.max_code - 1)]
    codes = np.concatenate([
        rng.integers(0, 1 << 32, 800, dtype=np.uint64).astype(np.uint32),
        np.array([0, 1 << 31, 0x7F800000, 0xFF800000, 0x7F800001, 1, 0x7F7FFFFF, 0x007FFFFF], np.uint32),
        (np.array(edge)[:, None] + rng.integers(-(1 << 20), 1 << 20, (4, 150)).clip(-min(edge) + 1)).ravel().astype(np.uint32),
    ])  # fmt: skip
    draws = rng.integers(0, 1 << 32, len(codes), dtype=np.uint64).astype(np.uint32)
    draws[::7] = 0xFFFFFFFF
    draws[::11] = 0
    got = encode_stochastic(codes.view(np.float32), shape, draws, saturate=saturate).view(f"<u{shape.bits // 8}")
    want = [expected(c, shape, d, saturate) for c, d in zip(codes.tolist(), draws.tolist(), strict=True)]
    assert got.tolist() == want


@pytest.mark.parametrize("shape", NARROW, ids=lambda shape: shape.name)
def test_exact_values_are_unchanged(shape):
    codes = np.arange(1 << shape.bits).astype(f"<u{shape.bits // 8}")
    values = np.array([join(split(int(c), shape), FP32) for c in codes], np.uint32).view(np.float32)
    draws = np.full(len(codes), 0xFFFFFFFF, np.uint32)
    assert np.array_equal(encode_stochastic(values, shape, draws), encode(values, shape))


def test_the_mean_is_the_discarded_fraction():
    count = 40_000
    for fraction in (0.1, 0.5, 0.9):
        values = np.full(count, 1.0 + fraction * 2.0**-7, np.float32)
        codes = encode_stochastic(values, BF16, SrLanes(3).draws(count)).view("<u2")
        assert set(codes.tolist()) == {0x3F80, 0x3F81}
        mean = float((codes == 0x3F81).mean())
        assert abs(mean - fraction) < 4 * (fraction * (1 - fraction) / count) ** 0.5


def test_blocks_draw_one_stream():
    """A reduction of several blocks rounds as one conversion of all its elements does."""
    count = 2 * BLOCK + 5
    values = np.random.default_rng(9).standard_normal(count, np.float32)
    fp32, bf16 = element(Dtype.FP32), element(Dtype.BFLOAT16)
    lanes = SrLanes(77)
    raw, _ = reduce_bytes(Reduction("add", fp32, fp32, bf16), [values.view(np.uint8)], lanes.draws)
    again = SrLanes(77)
    assert np.array_equal(raw, encode_stochastic(values, BF16, again.draws(count)))
    assert lanes.states == again.states

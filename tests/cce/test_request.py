"""The host's way in: the runtime's checks in its order; constants from numbers."""

import math

import ml_dtypes
import numpy as np
import pytest
from cce_spec import D0, D1, EXAMPLES, FP32, S0, S1, S2, SPEC
from hypothesis import given, settings
from hypothesis import strategies as st

from dgekit.cce.constants import constant_of
from dgekit.cce.enums import Dtype, KbinDtype, KbinOp
from dgekit.cce.host import CceInfo, MinMaxInfo, fma_view
from dgekit.cce.request import packet_from_host
from dgekit.core.errors import ComputeError

BF16 = KbinDtype.BF16
CONSTANT = MinMaxInfo(use_constant=1, constant_dtype=KbinDtype.FP32, constant=0x40C00000)


@pytest.mark.parametrize(
    ("name", "op", "dtype", "sources", "dests", "size", "info"),
    [
        ("add_3src_bf16", KbinOp.ADD, BF16, (S0, S1, S2), (D0,), 4096, None),
        ("add_3src_bf16", KbinOp.ADD, BF16, (S0, S1, S2), (D0,), 4096, CceInfo.of(3, 1)),
        ("fma_2src_fp32", KbinOp.FMA, KbinDtype.FP32, (S0, S1), (D0,), 4096, CceInfo.of(2, 1, fma_view([0.5, 0.5]))),
        ("min_const_2src_bf16", KbinOp.MIN, BF16, (S0, S1), (D0,), 4096, CceInfo.of(2, 1, CONSTANT)),
        ("max_noconst_2src_bf16", KbinOp.MAX, BF16, (S0, S1), (D0,), 4096, CceInfo.of(2, 1)),
        ("max_noconst_2src_bf16", KbinOp.MAX, BF16, (S0, S1), (D0,), 4096, None),
        ("add_replicate", KbinOp.ADD, BF16, (S0, S1), (D0, D1), 4096, None),
    ],
)
def test_the_worked_packets_as_the_host_asks_for_them(name, op, dtype, sources, dests, size, info):
    assert packet_from_host(op, dtype, sources, dests, size, info) == EXAMPLES[name]


def test_all_32_scales_are_honoured():
    scales = [0.25 * index for index in range(32)]
    sources = tuple(S0 + 0x1000 * index for index in range(32))
    packet = packet_from_host(KbinOp.FMA, KbinDtype.FP32, sources, (D0,), 64, CceInfo.of(32, 1, fma_view(scales)))
    assert packet.scales == tuple(scales)


@pytest.mark.parametrize(
    ("op", "dtype", "info", "rule", "site"),
    [
        (0, BF16, None, "cce.1.1", "helper.c:0x1C0"),
        (KbinOp.TRANSPOSE, BF16, None, "cce.1.1", "helper.c:0x1C0"),
        (KbinOp.ADD, 0, None, "cce.1.2", "helper.c:0x1AF"),
        (KbinOp.FMA, BF16, None, "cce.2.3", "vring.c:0x3B8"),
        (KbinOp.FMA, BF16, CceInfo.of(2, 1, fma_view([1.0, 1.0], BF16)), "cce.2.3", "vring.c:0x3BA"),
        # the collective path zero-fills the union, so an FMA through it presents scale type 0
        (KbinOp.FMA, BF16, CceInfo.of(2, 1), "cce.1.2", "helper.c:0x1AF"),
        (KbinOp.MIN, BF16, CceInfo.of(2, 1, CONSTANT.replace(constant_dtype=0)), "cce.1.2", "helper.c:0x1AF"),
        (KbinOp.ADD, KbinDtype.FP32R, None, "cce.5.2", "encd.c:0x1204"),
    ],
)
def test_the_runtimes_assertions(op, dtype, info, rule, site):
    with pytest.raises(ComputeError) as caught:
        packet_from_host(op, dtype, (S0, S1), (D0,), 4096, info)
    assert (caught.value.rule, caught.value.values["site"]) == (rule, site)
    assert site in SPEC["assert_sites"]


@pytest.mark.parametrize("counts", [(3, 1), (2, 2)])
def test_counts_must_be_the_lists(counts):
    with pytest.raises(ComputeError) as caught:
        packet_from_host(KbinOp.ADD, BF16, (S0, S1), (D0,), 4096, CceInfo.of(*counts))
    assert caught.value.rule == "cce.CHOICE-04"


@pytest.mark.parametrize("size", [0, 1, 4095])
def test_bytes_are_whole_elements(size):
    with pytest.raises(ComputeError) as caught:
        packet_from_host(KbinOp.ADD, BF16, (S0, S1), (D0,), size)
    assert caught.value.rule == "cce.3.4"


@given(st.floats(width=32))
@settings(max_examples=60, deadline=None)
def test_float_constants_round_once(number):
    for dtype, kind in ((Dtype.BFLOAT16, ml_dtypes.bfloat16), (Dtype.FP16, np.float16), (Dtype.FP32, np.float32)):
        bits = constant_of(number, dtype).bits
        with np.errstate(over="ignore"):
            wanted = np.float32(number).astype(kind)
        stored = np.frombuffer(bits.to_bytes(4, "little")[: wanted.nbytes], dtype=kind)[0]
        assert bits >> 8 * wanted.nbytes == 0
        assert np.isnan(stored) if math.isnan(number) else stored.tobytes() == wanted.tobytes()


@pytest.mark.parametrize(
    ("number", "dtype", "bits"),
    [(-1, Dtype.INT16, 0xFFFF), (-1, Dtype.INT32, 0xFFFFFFFF), (200, Dtype.UINT8, 200), (0xFFFFFFFF, Dtype.UINT32, 0xFFFFFFFF)],
)  # fmt: skip
def test_integer_constants(number, dtype, bits):
    assert constant_of(number, dtype).bits == bits


@pytest.mark.parametrize(
    ("number", "dtype", "rule"),
    [
        (0.5, Dtype.INT32, "cce.CHOICE-14"),
        (-1, Dtype.UINT8, "cce.CHOICE-14"),
        (1 << 15, Dtype.INT16, "cce.CHOICE-14"),
        (math.inf, Dtype.INT32, "cce.CHOICE-14"),
        (1, Dtype.INT8, "cce.CHOICE-15"),
        (1.0, Dtype.FP8_EXP4, "cce.CHOICE-15"),
    ],
)
def test_refused_constants(number, dtype, rule):
    with pytest.raises(ComputeError) as caught:
        constant_of(number, dtype)
    assert caught.value.rule == rule


def test_the_constant_of_the_worked_example():
    assert constant_of(6.0, FP32) == EXAMPLES["min_const_2src_bf16"].constant

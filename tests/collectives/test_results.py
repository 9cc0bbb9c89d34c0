"""What all ranks hold in the end: the ring law, agreement of the algorithms, shards, bounds (cce 7.4 to 7.6, D76)."""

import ml_dtypes
import numpy as np
import pytest
from collective_cases import held, normal, one_pass_chunks, ring_law, run, setup_of, small_integers, values
from hypothesis import given, settings
from hypothesis import strategies as st

from dgekit.cce.enums import CceType
from dgekit.collectives import prepare as preparing
from dgekit.core.generations import MARIANA, SUNDA

ALGOS = ("ring", "kangaring", "mesh")
FLOATS = ("bfloat16", "float16", "float32", "float8_e3m4", "float8_e4m3", "float8_e5m2", "float8_e4m3fn")
INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
UNITS = {"float32": 2.0**-24, "bfloat16": 2.0**-8, "float16": 2.0**-11}  # half an ulp of 1


def bits(array: np.ndarray) -> bytes:
    return np.ascontiguousarray(array).tobytes()


@pytest.mark.parametrize("ranks", [2, 3, 4, 8])
@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
def test_the_ring_result_law(dtype, ranks):
    setup = setup_of("allreduce", "ring", ranks, dtype, 333)
    rng = np.random.default_rng(ranks)
    if dtype in FLOATS:
        rows = normal(setup, ranks)
    else:
        kind = np.dtype(dtype)
        rows = [rng.integers(0, 256, 333 * kind.itemsize, np.uint8).view(kind) for _ in range(ranks)]
    result = run(setup, rows, verify=True)
    assert result.identical and result.verified
    with np.errstate(over="ignore"):
        law = ring_law(rows, one_pass_chunks(333, ranks))
    assert bits(values(setup, result.rows[0])) == bits(law)


@pytest.mark.parametrize("choices", [{"ring_path": "host"}, {"ring_path": "device"}, {"ring_credits": "7"}])
@pytest.mark.parametrize("generation", [SUNDA, MARIANA])
def test_the_law_holds_on_either_path(choices, generation):
    setup = setup_of("allreduce", "ring", 5, "bfloat16", 1000, generation=generation, choices=choices)
    rows = normal(setup)
    result = run(setup, rows)
    assert bits(values(setup, result.rows[4])) == bits(ring_law(rows, one_pass_chunks(1000, 5)))


def test_a_ring_rounds_at_every_hop_and_a_mesh_once():
    """BF16 ranks 1, 2^-8, 2^-8: 3F81, 3F80, 3F80 by ring, 3F81 everywhere by mesh."""
    found = {}
    for algo, options in (("ring", {}), ("mesh", {}), ("mesh", {"mesh": "t2", "group": 1})):
        setup = setup_of("allreduce", algo, 3, "bfloat16", 96, **options)
        rows = [np.full(96, value, ml_dtypes.bfloat16) for value in (1, 2**-8, 2**-8)]
        result = run(setup, rows)
        assert result.identical
        found[algo] = [f"{code:04X}" for code in result.rows[1].view("<u2")[[0, 31, 32, 63, 64, 95]]]
    assert found == {"ring": ["3F81"] * 2 + ["3F80"] * 4, "mesh": ["3F81"] * 6}


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8, 16])
@pytest.mark.parametrize("kind", ["allreduce", "reducescatter", "allgather"])
@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3", "int8", "float32"])
def test_algorithms_agree_on_small_integers(kind, ranks, dtype):
    for algo in ALGOS:
        setup = setup_of(kind, algo, ranks, dtype, 1003, channels=2)
        rows = small_integers(setup)
        result = run(setup, rows, verify=True)
        assert result.verified and result.identical is (None if kind == "reducescatter" else True)
        whole = np.concatenate(rows) if kind == "allgather" else sum(row.astype(np.int64) for row in rows)
        found = [values(setup, row).astype(np.int64) for row in result.rows]
        if kind == "reducescatter":
            assert [len(row) for row in found[:-1]] == [-(-1003 // ranks)] * (ranks - 1)
            found = [np.concatenate(found)]
        for row in found:
            np.testing.assert_array_equal(row, whole.astype(np.int64), err_msg=algo)


@pytest.mark.parametrize("dtype", UNITS)
@pytest.mark.parametrize("algo", ALGOS)
@pytest.mark.parametrize("ranks", [2, 3, 8])
def test_floats_lie_within_the_bound(algo, ranks, dtype):
    """D76; exact sums in float64, which holds those of a few hundred such values exactly enough for the bound."""
    setup = setup_of("allreduce", algo, ranks, dtype, 500)
    rows = normal(setup, 7)
    found = values(setup, run(setup, rows).rows[0]).astype(np.float64)
    exact = sum(row.astype(np.float64) for row in rows)
    size = sum(np.abs(row.astype(np.float64)) for row in rows)
    assert (np.abs(found - exact) <= (ranks - 1) * UNITS[dtype] * size).all()


@pytest.mark.parametrize("op", [CceType.MIN, CceType.MAX])
@pytest.mark.parametrize("algo", ALGOS)
def test_extremes(algo, op):
    setup = setup_of("allreduce", algo, 6, "float16", 77, op=op)
    rows = normal(setup)
    wanted = (np.min if op == CceType.MIN else np.max)(np.stack(rows), axis=0)
    assert bits(values(setup, run(setup, rows).rows[3])) == bits(wanted)


def test_the_accumulator_counts():
    """fp16 kept in fp16 within one packet: 2048 + 1 + 1 is 2048 there, 2050 in fp32."""
    for accum, wanted in ((None, 2050), (7, 2048)):
        setup = setup_of("allreduce", "mesh", 3, "float16", 10, accum=accum)
        result = run(setup, [np.full(10, value, np.float16) for value in (2048, 1, 1)])
        assert set(values(setup, result.rows[0]).tolist()) == {wanted}


def test_a_mesh_of_more_ranks_than_a_packet_has_sources():
    """33 ranks: 32 in one packet, then the partial and the last (CHOICE-57), seen by what bf16 loses."""
    setup = setup_of("allreduce", "mesh", 33, "bfloat16", 32)
    ones = [np.full(32, 1, ml_dtypes.bfloat16)] + [np.full(32, 2**-8, ml_dtypes.bfloat16)] * 32
    total = np.float32(1 + 31 * 2**-8).astype(ml_dtypes.bfloat16)
    wanted = (np.float32(total) + np.float32(2**-8)).astype(ml_dtypes.bfloat16)
    result = run(setup, ones, verify=True)
    assert result.verified
    assert {float(value) for value in values(setup, result.rows[32])} == {float(wanted)}


@given(
    st.sampled_from(["allreduce", "reducescatter", "allgather"]),
    st.sampled_from([("ring", {}), ("kangaring", {}), ("mesh", {}), ("mesh", {"mesh": "t2"})]),
    st.integers(1, 9),
    st.integers(1, 700),
    st.integers(1, 4),
    st.integers(40, 400),
)
@settings(max_examples=60, deadline=None)
def test_any_size_over_any_ranks_channels_and_passes(kind, algo, ranks, elements, channels, bds):
    """Small limits on the descriptors of a pass make many passes of small chunks."""
    name, options = algo
    if kind == "allgather":
        options = {}
    before, preparing.MAX_PASS_BDS = preparing.MAX_PASS_BDS, bds
    try:
        setup = setup_of(kind, name, ranks, "int32", elements, channels=channels, **options)
    finally:
        preparing.MAX_PASS_BDS = before
    rng = np.random.default_rng(elements)
    rows = [
        held(setup, rank, rng.integers(-(2**31), 2**31, elements, np.int64).astype(np.int32)) for rank in range(ranks)
    ]
    result = run(setup, rows, verify=True)
    assert not result.deadlock and result.verified and result.identical is not False
    with np.errstate(over="ignore"):
        whole = np.concatenate(rows) if kind == "allgather" else np.sum(np.stack(rows), 0, dtype=np.int32)
    found = [values(setup, row) for row in result.rows]
    assert bits(np.concatenate(found)) == bits(whole) if kind == "reducescatter" else bits(found[0]) == bits(whole)

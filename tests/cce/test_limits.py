"""Sizes, caps, counters and element type gates."""

import pytest
from cce_spec import SPEC

from dgekit.cce import dtypes, limits
from dgekit.cce.enums import CceType, Dtype
from dgekit.core.choices import Choices
from dgekit.core.errors import ComputeError
from dgekit.core.generations import CAYMAN, MARIANA, MARIANA_PLUS, MAVERICK, SUNDA

LIMITS = SPEC["limits"]
BY_NUMBER = {"2": SUNDA, "3": CAYMAN, "4": MARIANA}
SIZED = [code for code in range(1, 16) if code != Dtype.FP32R]


@pytest.mark.parametrize("number", BY_NUMBER)
def test_the_limits_of_a_generation(number):
    generation, facts = BY_NUMBER[number], SPEC["per_generation"][number]
    assert limits.max_elements(generation) == LIMITS["max_cce_elements"][number]
    params = LIMITS["cce_params"][number]
    assert (generation.cce_max_bytes, generation.cce_elements) == (params["max_byte"], params["max_element"])
    assert generation.cce_tx_cap == LIMITS["max_tx_bds_per_packet"][number]
    assert (generation.has_combo, generation.has_combo) == (facts["replication"], facts["combo"])
    assert generation.strong_order_write == facts["strong_order"]
    assert generation.has_notification_mask == facts["notification_mask"]
    assert generation.has_cce_registers == facts["fp8_sr_regs"]


def test_mariana_plus_is_v4():
    names = ("cce_elements", "cce_max_bytes", "cce_tx_cap", "has_combo", "has_notification_mask", "has_cce_registers")
    assert all(getattr(MARIANA_PLUS, name) == getattr(MARIANA, name) for name in names)


def test_an_architecture_without_limits_is_the_runtimes_assertion():
    with pytest.raises(ComputeError) as caught:
        limits.max_elements(MAVERICK)
    assert caught.value.rule == "cce.5.1"
    assert SPEC["assert_sites"][caught.value.values["site"]] == caught.value.values["text"]


def test_published_numbers():
    assert (LIMITS["max_sources"], LIMITS["max_dests_CHOICE30"]) == (limits.MAX_SOURCES, limits.MAX_DESTS)
    assert (
        LIMITS["packet_granule_bytes"], LIMITS["priority_classes"],
    ) == (limits.PACKET_GRANULE, limits.PRIORITY_CLASSES)  # fmt: skip
    assert (
        LIMITS["chunk_granule_elements"], LIMITS["prio_cap_env"],
    ) == (limits.CHUNK_GRANULE, limits.PRIORITY_CAP_ENV)  # fmt: skip


@pytest.mark.parametrize(("size", "elements", "cap", "result"), LIMITS["packet_size_samples"])
def test_packet_size_samples(size, elements, cap, result):
    dtype = {2: Dtype.BFLOAT16, 4: Dtype.FP32}[size]
    for priority in range(5):
        caps = [7] * 5
        caps[priority] = cap
        assert limits.reduce_packet_bytes(dtype, elements, priority, caps) == result
        assert limits.reduce_packet_want(dtype, elements, priority, caps) == (result or size * elements)


def test_no_caps_unless_given():
    assert limits.reduce_packet_bytes(Dtype.FP32, 100_000) == 400_000


@pytest.mark.parametrize("priority", [-1, 5])
def test_a_priority_class_beyond_the_table(priority):
    with pytest.raises(ComputeError) as caught:
        limits.reduce_packet_bytes(Dtype.FP32, 1, priority)
    assert (caught.value.rule, caught.value.values["site"]) == ("cce.5.2", "encd.c:0x1202")


@pytest.mark.parametrize("caps", [(0,) * 4, (0,) * 6, (0, 0, 0, 0, -1)])
def test_five_caps(caps):
    with pytest.raises(ComputeError, match="caps") as caught:
        limits.reduce_packet_bytes(Dtype.FP32, 1, 0, caps)
    assert caught.value.rule == "cce.5.2"


def test_fp32r_traps_where_a_packet_is_sized():
    for call in (
        lambda: limits.reduce_packet_bytes(Dtype.FP32R, 2048),
        lambda: dtypes.element_size(Dtype.FP32R),
        lambda: limits.packet_elements(CAYMAN, Dtype.FP32R, Dtype.FP32, 65536),
    ):
        with pytest.raises(ComputeError) as caught:
            call()
        assert (caught.value.rule, caught.value.values["site"]) == ("cce.5.2", "encd.c:0x1204")
    assert dtypes.accum_size(Dtype.FP32R) == 4


@pytest.mark.parametrize("code", [-1, 0, 16, 31, 255])
def test_no_element_type(code):
    with pytest.raises(ComputeError) as caught:
        dtypes.element_size(code)
    assert caught.value.rule == "cce.1.2"


@pytest.mark.parametrize("code", SIZED)
def test_element_sizes_are_the_first_tables(code):
    assert dtypes.element_size(code) == SPEC["sizes"]["sdma_data_type_size"][code]


@pytest.mark.parametrize(
    ("generation", "in_dtype", "accum", "cap", "elements"),
    [
        (CAYMAN, Dtype.BFLOAT16, Dtype.FP32, 65536, 2048),
        (SUNDA, Dtype.BFLOAT16, Dtype.FP32, 65536, 1024),
        (CAYMAN, Dtype.FP32, Dtype.FP32, 4096, 1024),
        (CAYMAN, Dtype.INT64, Dtype.INT64, 65536, 1024),
        (SUNDA, Dtype.INT64, Dtype.INT64, 65536, 512),
        (CAYMAN, Dtype.BFLOAT16, Dtype.BFLOAT16, 65536, 2048),
        (MARIANA, Dtype.INT8, Dtype.FP32, 1000, 1000),
        (MARIANA, Dtype.BFLOAT16, Dtype.FP32, 3, 1),
    ],
)
def test_elements_of_a_whole_packet(generation, in_dtype, accum, cap, elements):
    assert limits.packet_elements(generation, in_dtype, accum, cap) == elements


def test_a_cap_below_one_element():
    with pytest.raises(ComputeError) as caught:
        limits.packet_elements(CAYMAN, Dtype.FP32, Dtype.FP32, 3)
    assert caught.value.rule == "cce.CHOICE-43"


@pytest.mark.parametrize(
    ("counters", "tx", "rx", "sites"),
    [
        (limits.ChannelCounters(), 65534, 65534, []),
        (limits.ChannelCounters(), 65535, 1, ["UINT16_MAX - m2s_val > tx count"]),
        (limits.ChannelCounters(60000, 60000), 5535, 5536, ["UINT16_MAX - m2s_val > tx count", "UINT16_MAX - s2m_val > rx count"]),
        (limits.ChannelCounters(fold_n=0), 1, 1, ["channel->fold_n > 0"]),
    ],
)  # fmt: skip
def test_channel_counters_are_16_bits(counters, tx, rx, sites):
    issues = limits.check_counters(counters, tx, rx)
    assert [issue.values["text"] for issue in issues] == sites
    assert {issue.rule for issue in issues} <= {"cce.2.3"}


def test_half_chunks_are_even():
    assert limits.check_half_chunk(64) == []
    (issue,) = limits.check_half_chunk(63)
    assert (issue.rule, issue.values["site"]) == ("cce.5.5", "enc_primitive.h:0x1FA")


def test_constant_codes():
    table = SPEC["remap"]["const_dt_code_to_sdma_CHOICE15"]
    assert list(dtypes.CONSTANT_DTYPES) == table
    assert [dtypes.constant_code(code) for code in table] == list(range(8))
    assert [code & 7 for code in table] == list(range(8))
    for code in set(range(17)) - set(table):
        with pytest.raises(ComputeError) as caught:
            dtypes.constant_code(code)
        assert caught.value.rule == "cce.CHOICE-15"
        assert caught.value.values["text"].startswith("Unsupported data type for min/max op ")


@pytest.mark.parametrize(
    ("op", "in_dtype", "out_dtype", "accum"),
    [
        (CceType.ADD, Dtype.BFLOAT16, Dtype.BFLOAT16, Dtype.FP32),
        (CceType.ADD, Dtype.INT8, Dtype.FP8_EXP4, Dtype.FP32),
        (CceType.ADD, Dtype.FP16, Dtype.INT32, Dtype.FP32),
        (CceType.MAX, Dtype.INT16, Dtype.INT16, Dtype.INT32),
        (CceType.MIN, Dtype.UINT8, Dtype.UINT8, Dtype.UINT32),
        (CceType.ADD, Dtype.INT32, Dtype.INT64, Dtype.INT64),
        (CceType.ADD, Dtype.UINT64, Dtype.UINT64, Dtype.UINT64),
        (CceType.FMA, Dtype.INT32, Dtype.INT32, Dtype.FP32),
    ],
)
def test_the_accumulator_nobody_named(op, in_dtype, out_dtype, accum):
    assert dtypes.default_accum(op, in_dtype, out_dtype) is accum


def test_the_reducible_gate():
    strict, permissive = Choices({"strict_reducible": True}), Choices({"strict_reducible": False})
    table = {
        Dtype[{"FP8_E3": "FP8_EXP3", "FP8_E4": "FP8_EXP4", "FP8_E5": "FP8_EXP5"}.get(n, n)]
        for n in LIMITS["reducible_table"]
    }
    for code in range(17):
        assert (dtypes.check_reducible(code, strict) == []) == (code in table)
        assert (dtypes.check_reducible(code, permissive) == []) == (code in SIZED)
    (issue,) = dtypes.check_reducible(Dtype.FP32, strict)
    assert (issue.rule, issue.severity) == ("cce.CHOICE-45", "error")


def test_the_v1_gate_compares_classes():
    low, high = LIMITS["nc_v1_band"]
    for one in range(16):
        for other in range(16):
            same = (low <= one <= high) == (low <= other <= high)
            assert [i.rule for i in dtypes.check_v1_classes(one, other)] == ([] if same else ["cce.5.3"])


def test_the_leg_between_state_buffers_converts_nothing():
    assert dtypes.check_sb2sb_types(6, 6) == []
    assert [issue.rule for issue in dtypes.check_sb2sb_types(6, 10)] == ["cce.5.3"]

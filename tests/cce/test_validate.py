"""Every reason why a packet is refused, with its rule, its place and the runtime's text."""

from dataclasses import replace

import pytest
from cce_packets import packets
from cce_spec import BF16, D0, D1, EXAMPLES, FP32, S0, S1, SPEC
from hypothesis import given, settings

from dgekit.cce.build import build
from dgekit.cce.enums import CceType, Dtype
from dgekit.cce.packet import CcePacket, Constant, Gce
from dgekit.cce.validate import check_packet, tx_count
from dgekit.core.choices import Choices
from dgekit.core.errors import ComputeError
from dgekit.core.generations import CAYMAN, MARIANA, MARIANA_PLUS, MAVERICK, SUNDA

ADD = EXAMPLES["add_3src_bf16"]
FMA = EXAMPLES["fma_2src_fp32"]
MIN = EXAMPLES["min_const_2src_bf16"]
GCE = EXAMPLES["ext_gce"]
TEXTS = SPEC["messages"]


def many(count):
    return tuple(S0 + 0x1000 * index for index in range(count))


CASES = [
    (replace(ADD, sources=()), CAYMAN, "cce.CHOICE-04", "sources", ""),
    (replace(ADD, sources=many(33)), CAYMAN, "cce.CHOICE-04", "sources", ""),
    (replace(ADD, dests=()), CAYMAN, "cce.CHOICE-30", "dests", ""),
    (replace(ADD, dests=many(17)), CAYMAN, "cce.CHOICE-30", "dests", ""),
    (replace(ADD, op=CceType.EXT), CAYMAN, "cce.2.2", "", TEXTS["vring_op"] % 4),
    (replace(FMA, scales=()), CAYMAN, "cce.2.3", "scales", "cce_info != NULL"),
    (replace(FMA, scales=(1.0,)), CAYMAN, "cce.CHOICE-04", "scales", ""),
    (replace(FMA, scales=(1.0, 1e39)), CAYMAN, "cce.3.5", "scales[1]", ""),
    (replace(FMA, selectors=((1, 2, 0),)), CAYMAN, "cce.CHOICE-04", "selectors", ""),
    (replace(FMA, selectors=((1, 2, 0), (1, 3, 0))), CAYMAN, "cce.CHOICE-12", "selectors[1].b", ""),
    (replace(ADD, scales=(1.0,) * 3), CAYMAN, "cce.2.3", "scales", ""),
    (replace(ADD, selectors=((1, 2, 0),) * 3), CAYMAN, "cce.2.3", "selectors", ""),
    (replace(ADD, constant=Constant(0, FP32)), CAYMAN, "cce.3.6", "constant", ""),
    (replace(MIN, constant=Constant(0, Dtype.INT8)), CAYMAN, "cce.CHOICE-15", "constant", TEXTS["minmax_dtype"] % "INT8"),
    (replace(MIN, constant=Constant(1 << 32, FP32)), CAYMAN, "cce.CHOICE-14", "constant", ""),
    (replace(MIN, seed=1), CAYMAN, "cce.CHOICE-11", "seed", ""),
    (replace(MIN, seed=1, dests=(D0, D1)), CAYMAN, "cce.CHOICE-11", "seed", ""),
    (replace(ADD, seed=1 << 32), CAYMAN, "cce.CHOICE-16", "seed", ""),
    (replace(ADD, dests=(D0, D1), elements=1024), SUNDA, "cce.5.4", "dests", TEXTS["replication_arch"]),
    (replace(GCE, elements=1024), SUNDA, "cce.5.4", "gce", TEXTS["concat"]),
    (replace(ADD, strong_order=True, elements=1024), SUNDA, "cce.5.4", "strong_order", TEXTS["sow_arch"]),
    (ADD, MAVERICK, "cce.5.1", "", "arch 2..4"),
    (replace(FMA, sources=many(32), scales=(1.0,) * 32, seed=1, dests=(D0, D1)), CAYMAN, "cce.5.1", "", TEXTS["concat"]),
    (replace(GCE, gce=Gce(0, True, BF16)), CAYMAN, "cce.4.6", "gce.header", "invalid compression header addr 0"),
    (replace(GCE, gce=Gce(48, True, BF16)), CAYMAN, "cce.4.6", "gce.header", "invalid compression header addr 30"),
    (replace(ADD, op=CceType.GCE, gce=Gce(48, False, BF16)), CAYMAN, "cce.4.6", "gce.header", "invalid decompression header addr 30"),
    (replace(ADD, op=CceType.GCE), CAYMAN, "cce.4.6", "gce", ""),
    (replace(GCE, gce=Gce(64, False, BF16)), CAYMAN, "cce.4.6", "gce", ""),
    (replace(ADD, in_dtype=0), CAYMAN, "cce.1.2", "in_dtype", ""),
    (replace(ADD, out_dtype=16), CAYMAN, "cce.1.2", "out_dtype", ""),
    (replace(ADD, accum_dtype=25), CAYMAN, "cce.1.2", "accum_dtype", ""),
    (replace(GCE, gce=Gce(64, True, 99)), CAYMAN, "cce.1.2", "gce.payload_dtype", ""),
    (replace(ADD, in_dtype=11), CAYMAN, "cce.5.2", "in_dtype", "sdma_data_type_size[dtype] > 0"),
    (replace(ADD, out_dtype=11), MARIANA, "cce.5.2", "out_dtype", "sdma_data_type_size[dtype] > 0"),
    (replace(FMA, in_dtype=8, accum_dtype=8), CAYMAN, "dec.D62", "accum_dtype", ""),
    (replace(FMA, accum_dtype=8), CAYMAN, "dec.D62", "accum_dtype", ""),
    (replace(ADD, elements=0), CAYMAN, "cce.5.1", "elements", ""),
    (replace(ADD, elements=2049), CAYMAN, "cce.5.1", "elements", ""),
    (replace(ADD, elements=1025), SUNDA, "cce.5.1", "elements", ""),
    (replace(ADD, accum_dtype=Dtype.INT64, elements=1025), CAYMAN, "cce.5.1", "elements", ""),
    (replace(ADD, sources=(S0, S1 + 1, S1)), CAYMAN, "cce.CHOICE-46", "sources[1]", ""),
    (replace(ADD, dests=(D0 + 1,)), CAYMAN, "cce.CHOICE-46", "dests[0]", ""),
    (replace(ADD, sources=(S0, S1, -2)), CAYMAN, "cce.3.4", "sources[2]", ""),
    (replace(ADD, dests=(1 << 64,)), CAYMAN, "cce.3.4", "dests[0]", ""),
]  # fmt: skip


@pytest.mark.parametrize(("packet", "generation", "rule", "where", "text"), CASES)
def test_each_refusal(packet, generation, rule, where, text):
    (issue,) = check_packet(packet, generation)
    assert (issue.rule, issue.where, issue.severity) == (rule, where, "error")
    assert issue.values.get("text", "") == text
    with pytest.raises(ComputeError) as caught:
        build(packet, generation, Choices())
    assert caught.value.as_issue() == issue


def test_too_many_descriptors_without_a_combination():
    small = replace(CAYMAN, cce_tx_cap=5)
    packet = replace(FMA, seed=1, sources=many(3), scales=(1.0,) * 3)
    (issue,) = check_packet(packet, small)
    assert issue.rule == "cce.5.1"
    assert issue.values == {"tx": 7, "limit": 5, "text": TEXTS["too_many_tx"] % (7, 5), "result": -22}


def test_all_reasons_at_once():
    wrong = CcePacket(CceType.ADD, many(33), (D0 + 1, D1), 4096, BF16, FP32, BF16, scales=(1.0,), seed=-1)
    rules = [issue.rule for issue in check_packet(wrong, SUNDA)]
    expected = ["cce.CHOICE-04", "cce.2.3", "cce.5.4", "cce.CHOICE-16", "cce.5.1", "cce.CHOICE-46"]
    assert rules == expected


@pytest.mark.parametrize("generation", [CAYMAN, MARIANA, MARIANA_PLUS], ids=lambda g: g.name)
def test_the_worked_packets_are_legal(generation):
    assert all(check_packet(packet, generation) == [] for packet in EXAMPLES.values())


@given(packets())
@settings(max_examples=50, deadline=None)
def test_the_count_is_what_the_builder_emits(packet):
    assert check_packet(packet, CAYMAN) == []
    assert tx_count(packet) == len(build(packet, CAYMAN, Choices()).tx)


def test_fp32r_accumulates_as_fp32():
    assert check_packet(replace(ADD, accum_dtype=Dtype.FP32R), CAYMAN) == []

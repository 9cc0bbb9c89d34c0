"""Plans: whole packets first, one remainder last; every total counted again from the packets."""

import pytest
from cce_spec import BF16, FP32
from hypothesis import given, settings
from hypothesis import strategies as st

from dgekit.cce.constants import constant_of
from dgekit.cce.dtypes import element_size
from dgekit.cce.enums import CceType, Dtype
from dgekit.cce.plan import plan
from dgekit.core.choices import Choices
from dgekit.core.errors import ComputeError
from dgekit.core.generations import CAYMAN, MARIANA, MAVERICK, SUNDA

PLAIN = Choices()


def shapes(made):
    return [(shape.packets, shape.elements, shape.tx, shape.rx) for shape in made.shapes]


@pytest.mark.parametrize(
    ("op", "elements", "sources", "dtype", "generation", "expected"),
    [
        (CceType.ADD, 2048, 3, BF16, CAYMAN, [(1, 2048, 3, 1)]),
        (CceType.ADD, 5000, 3, BF16, CAYMAN, [(2, 2048, 3, 1), (1, 904, 3, 1)]),
        (CceType.ADD, 5000, 3, BF16, SUNDA, [(4, 1024, 3, 1), (1, 904, 3, 1)]),
        (CceType.ADD, 7, 3, BF16, MARIANA, [(1, 7, 3, 1)]),
        (CceType.FMA, 2048, 2, FP32, CAYMAN, [(1, 2048, 4, 1)]),
        (CceType.MIN, 4096, 32, BF16, CAYMAN, [(2, 2048, 32, 1)]),
        (CceType.ADD, 1024, 2, Dtype.INT64, SUNDA, [(2, 512, 2, 1)]),
    ],
)
def test_worked_plans(op, elements, sources, dtype, generation, expected):
    assert shapes(plan(op, elements, sources, dtype, generation, PLAIN)) == expected


def test_a_constant_and_copies_add_descriptors():
    made = plan(CceType.MAX, 2048, 2, BF16, CAYMAN, PLAIN, dests=2, constant=constant_of(0.0, FP32))
    assert [bd.kind for bd in made.shapes[0].bds] == [
        "minmax_constant", "max", "max", "ext", "replication", "buffer", "buffer",
    ]  # fmt: skip
    assert [bd.nbytes for bd in made.shapes[0].bds] == [0, 4096, 4096, 0, 0, 4096, 4096]


def test_only_the_first_packet_carries_the_seed():
    made = plan(CceType.ADD, 5000, 2, BF16, CAYMAN, PLAIN, seed=1)
    assert shapes(made) == [(1, 2048, 3, 1), (1, 2048, 2, 1), (1, 904, 2, 1)]
    assert shapes(plan(CceType.ADD, 50, 2, BF16, CAYMAN, PLAIN, seed=1)) == [(1, 50, 3, 1)]


def test_packet_bytes_by_argument_or_switch():
    by_argument = plan(CceType.ADD, 1000, 2, BF16, CAYMAN, PLAIN, packet_bytes=512)
    by_switch = plan(CceType.ADD, 1000, 2, BF16, CAYMAN, Choices({"packet_bytes": 512}))
    assert by_argument == by_switch
    assert shapes(by_argument) == [(3, 256, 2, 1), (1, 232, 2, 1)]


@given(
    st.sampled_from([CceType.ADD, CceType.FMA, CceType.MAX]),
    st.integers(1, 20000),
    st.integers(1, 8),
    st.integers(1, 4),
    st.sampled_from([BF16, FP32, int(Dtype.INT16), int(Dtype.FP8_EXP4)]),
    st.sampled_from([BF16, FP32, int(Dtype.INT8)]),
    st.integers(64, 8192),
)
@settings(max_examples=50, deadline=None)
def test_packets_tile_the_elements_and_totals_add_up(op, elements, sources, dests, dtype, out, cap):
    made = plan(op, elements, sources, dtype, CAYMAN, PLAIN, out_dtype=out, dests=dests, packet_bytes=cap)
    packets = list(made.packets())
    assert [packet.index for packet in packets] == list(range(made.packet_count))
    assert sum(packet.elements for packet in packets) == elements
    at = 0
    for packet in packets:
        assert packet.first_element == at
        assert packet.source_offset == at * element_size(dtype)
        assert packet.dest_offset == at * element_size(out)
        at += packet.elements
    assert all(packet.elements == made.packet_elements for packet in packets[:-1])
    assert 0 < packets[-1].elements <= made.packet_elements
    told = made.to_json()
    per_packet = sources * (2 if op == CceType.FMA else 1) + (2 if dests > 1 else 0)
    assert told["totals"] == {
        "packets": len(packets),
        "tx": per_packet * len(packets),
        "rx": dests * len(packets),
        "bytes_read": sources * elements * element_size(dtype),
        "bytes_written": dests * elements * element_size(out),
        "ring_bytes": 16 * len(packets) * (per_packet + dests),
    }


def test_a_huge_plan_stays_small():
    made = plan(CceType.ADD, 1 << 60, 2, BF16, CAYMAN, PLAIN)
    assert shapes(made) == [(1 << 49, 2048, 2, 1)]


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"elements": 0}, "cce.CHOICE-43"),
        ({"sources": 0}, "cce.CHOICE-04"),
        ({"sources": 33}, "cce.CHOICE-04"),
        ({"dests": 17}, "cce.CHOICE-30"),
        ({"dests": 2, "generation": SUNDA}, "cce.5.4"),
        ({"generation": MAVERICK}, "cce.5.1"),
        ({"in_dtype": Dtype.FP32R}, "cce.5.2"),
        ({"in_dtype": 16}, "cce.1.2"),
        ({"packet_bytes": 1}, "cce.CHOICE-43"),
        ({"op": CceType.FMA, "accum_dtype": Dtype.INT32}, "dec.D62"),
    ],
)
def test_refused_plans(changes, rule):
    asked = {"op": CceType.ADD, "elements": 100, "sources": 2, "in_dtype": BF16, "generation": CAYMAN, **changes}
    positional = [asked.pop(name) for name in ("op", "elements", "sources", "in_dtype", "generation")]
    with pytest.raises(ComputeError) as caught:
        plan(*positional, PLAIN, **asked)
    assert caught.value.rule == rule

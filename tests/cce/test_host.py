"""The 140-byte host structure: places, both views, aliases."""

import struct

import pytest
from cce_spec import SPEC
from hypothesis import given, settings
from hypothesis import strategies as st

from dgekit.cce.enums import KbinDtype
from dgekit.cce.host import (
    INFO_BYTES,
    SCALE_SLOTS,
    UNION_BYTES,
    CceInfo,
    FmaInfo,
    MinMaxInfo,
    fma_view,
    fp32_bits,
    fp32_of,
)
from dgekit.core.errors import ComputeError, DecodeError

VIEWS = {"fma_info": FmaInfo, "min_max_info": MinMaxInfo}


@pytest.mark.parametrize("row", SPEC["cce_info"]["fields"], ids=lambda row: row["name"])
def test_each_field_lies_where_the_specification_says(row):
    view, _, name = row["name"].partition(".")
    layout = CceInfo.layout if not name else VIEWS[view].layout
    field = layout.field(name or view)
    base = CceInfo.layout.field("union").offset if name else 0
    assert (base + field.offset, field.size) == (row["offset"], row["size"])
    assert field.count == row.get("count")


def test_sizes():
    assert CceInfo.layout.size == INFO_BYTES == SPEC["cce_info"]["size"] == 140
    assert FmaInfo.layout.size == MinMaxInfo.layout.size == UNION_BYTES
    assert SPEC["limits"]["scale_slots"] == SCALE_SLOTS


def test_fma_view_packs_as_the_chapter_writes_it():
    info = CceInfo.of(2, 1, fma_view([0.5, 0.25]))
    expected = struct.pack("<II32fI", 2, 5, 0.5, 0.25, *[0.0] * 30, 1)
    assert info.encode() == expected
    assert CceInfo.decode(expected) == info
    assert info.fma_info.scales[:3] == (0.5, 0.25, 0.0)


def test_min_max_view_zero_fills_the_rest():
    info = CceInfo.of(3, 1, MinMaxInfo(use_constant=1, constant_dtype=KbinDtype.FP32, constant=0x40C00000))
    expected = struct.pack("<IB3xII120xI", 3, 1, 5, 0x40C00000, 1)
    assert info.encode() == expected
    assert info.min_max_info.constant_dtype is KbinDtype.FP32


@given(st.binary(min_size=INFO_BYTES, max_size=INFO_BYTES))
@settings(max_examples=50, deadline=None)
def test_both_views_alias_the_same_bytes(data):
    info = CceInfo.decode(data)
    assert info.encode() == data
    fma, min_max = info.fma_info, info.min_max_info
    assert min_max.use_constant == int(fma.scale_dtype) & 0xFF
    assert int(min_max.constant_dtype) == fma.scale[0]
    assert min_max.constant == fma.scale[1]
    assert fma.encode() == min_max.encode() == info.union == data[4:136]
    assert (info.num_sources, info.num_dests) == struct.unpack("<I132xI", data)


def test_no_view_leaves_the_union_zero():
    assert CceInfo.of(1, 1).encode() == struct.pack("<I132xI", 1, 1)


def test_refusals():
    with pytest.raises(ComputeError) as caught:
        fma_view([1.0] * 33)
    assert caught.value.rule == "cce.CHOICE-05"
    with pytest.raises(ComputeError) as caught:
        fp32_bits(1e39)
    assert caught.value.rule == "cce.3.5"
    with pytest.raises(DecodeError):
        CceInfo.decode(bytes(139))


def test_fp32_bits_round_to_nearest():
    assert fp32_bits(0.1) == 0x3DCCCCCD
    assert fp32_bits(float("inf")) == 0x7F800000
    assert fp32_of(0x3F000000) == 0.5

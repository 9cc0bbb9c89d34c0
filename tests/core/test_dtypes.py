"""Element types: the numbering and widths of the specification, names, and the NEFF numbering."""

import json
from pathlib import Path

import pytest

from dgekit.core.dtypes import DTYPES, Dtype, dtype_from_neff, dtype_info, dtype_named
from dgekit.core.errors import UsageError

SPEC = json.loads((Path(__file__).parents[1] / "golden" / "spec" / "isa-words.json").read_text())

# neff.md 3
NEFF = (
    "float8e3 1, float8e4 2, float8e5 3, float16 4, float32 5, float32r 6, bfloat16 7, uint8 8, uint16 9, uint32 10, "
    "uint64 11, int8 12, int16 13, int32 14, int64 15"
)


def test_codes():
    assert {member.name: int(member) for member in Dtype} == SPEC["enums"]["DTYPE"]


def test_widths():
    bits = {info.code.name: info.bits for info in DTYPES}
    assert bits == {name: width for name, width in SPEC["dtype_bits"].items() if width is not None}


def test_sizes_of_the_descriptor_types():
    """isa-words 2.5: what the DMA moves as a unit; FP32R has no size of its own there and is an FP32 word here."""
    for name, size in SPEC["sdma_dtype_size"].items():
        assert dtype_info(Dtype[name]).size == (size or 4)


def test_neff_numbers_by_code_and_by_name():
    pairs = dict(part.split(" ") for part in NEFF.split(", "))
    assert {info.neff_name: str(info.neff_code) for info in DTYPES if info.neff_code} == pairs
    for name, code in pairs.items():
        assert dtype_from_neff(int(code)) is dtype_from_neff(name)
        assert dtype_from_neff(name).neff_name == name


@pytest.mark.parametrize("wrong", [0, 16, "float7", ""])
def test_unknown_neff_type(wrong):
    with pytest.raises(UsageError) as caught:
        dtype_from_neff(wrong)
    assert caught.value.rule == "neff.3"
    assert caught.value.values == {"dtype": wrong}


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("bfloat16", 6), ("BF16", 6), ("fp32", 10), ("float32", 10), ("fp16", 7), ("FP8_EXP4", 14), ("fp32r", 11),
        ("float8_e4m3", 14), ("float8_e4m3fn", 14), ("float8e3", 13), ("float8e5", 15), ("int64", 12), ("uint64", 1),
    ],
)  # fmt: skip
def test_names(name, code):
    assert dtype_named(name).code == code


def test_every_name_is_its_own():
    assert len({info.name for info in DTYPES}) == len({info.code for info in DTYPES}) == len(DTYPES) == 29


def test_an_unknown_name_offers_the_nearest():
    with pytest.raises(UsageError) as caught:
        dtype_named("bfloat61")
    assert (caught.value.rule, caught.value.fix) == ("dec.D54", "write bfloat16")
    with pytest.raises(UsageError) as caught:
        dtype_named("?")
    assert "float32" in caught.value.fix


@pytest.mark.parametrize("code", [0, 0x17, 0x20, 255])
def test_a_code_that_is_no_type(code):
    with pytest.raises(UsageError) as caught:
        dtype_info(code)
    assert (caught.value.rule, caught.value.values) == ("isa.DTYPE", {"code": code})


def test_narrow_types_have_no_size_in_bytes():
    assert [info.name for info in DTYPES if info.size == 0] == [
        "float4_e2m1", "int4", "cptc1", "cptc2", "cptc3", "cptc4", "cptc5", "cptc6", "cptc7",
    ]  # fmt: skip

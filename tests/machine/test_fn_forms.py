"""E4M3 in its FN form: the ISA has one code for both forms, so the form travels beside the words (D54, D63)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from dgekit.api import Device
from dgekit.core.choices import Choices
from dgekit.core.dtypes import Dtype, dtype_from_neff, dtype_named
from dgekit.frontends.toml_file import loads
from dgekit.machine.session import run_workload

FN = ml_dtypes.float8_e4m3fn
PATHS = (("trn3", "unknown"), ("trn3", "swdge"), ("trn3", "none"), ("trn3+", "unknown"), ("trn2", "swdge"))
# finite values on both sides of every edge: 464 rounds to 448, 465 overflows (cce 4.8)
INSIDE = np.array([0.1, -0.3, 15.74, 15.75, 247, 248, 464, -464, 2.0**-10, 2.0**-9, 0, -0.0, 447, 1, -1, 3], np.float32)
OVER = np.array([465, 61440, np.inf, -465, -np.inf], np.float32)


def cast(gen: str, mode: str, values: np.ndarray, dtype: str, **choices: Any) -> np.ndarray:
    """Values cast by the device to `dtype`, as raw bytes."""
    device = Device(gen, choices)
    src, dst = device.hbm(values), device.hbm(shape=values.shape, dtype=dtype)
    done = device.copy(dst, src, mode=mode)
    assert done.ok, done.issues
    return dst.numpy()


@pytest.mark.parametrize(("gen", "mode"), PATHS)
def test_to_the_fn_form_as_ml_dtypes_rounds(gen: str, mode: str) -> None:
    got = cast(gen, mode, INSIDE, "float8_e4m3fn")
    assert got.dtype == FN
    assert got.tobytes() == INSIDE.astype(FN).tobytes()
    assert got.tobytes() != cast(gen, mode, INSIDE, "float8_e4m3").tobytes()  # 248 and 464 are finite only here


@pytest.mark.parametrize(("gen", "mode"), PATHS)
def test_every_code_back_to_fp32(gen: str, mode: str) -> None:
    codes = np.arange(256, dtype=np.uint8).view(FN)
    got = cast(gen, mode, codes, "float32")
    assert np.array_equal(got, codes.astype(np.float32), equal_nan=True)
    assert got[0x7E] == 448.0  # NaN in the IEEE-like form


def test_overflow_is_the_one_nan_or_the_largest_value() -> None:
    """D63: 7F of either sign; with `ocp_sat` the largest finite value (cce CHOICE-36)."""
    assert cast("trn3", "unknown", OVER, "float8_e4m3fn").tobytes() == b"\x7f" * 5
    assert cast("trn3", "unknown", OVER, "float8_e4m3fn", ocp_sat=True).tobytes() == bytes([0x7E] * 3 + [0xFE] * 2)


@pytest.mark.parametrize(
    ("dtype", "plain", "saturated"),
    [("float8_e4m3", 0x78, 0x77), ("float8_e3m4", 0x70, 0x6F), ("float8_e5m2", 0x7C, 0x7B)],
)
@pytest.mark.parametrize("mode", ["unknown", "none"])
def test_saturation_is_a_choice_of_the_run(dtype: str, plain: int, saturated: int, mode: str) -> None:
    big = np.array([61440.0, np.inf], np.float32)
    assert cast("trn2", mode, big, dtype).tobytes() == bytes([plain] * 2)
    assert cast("trn2", mode, big, dtype, ocp_sat=True).tobytes() == bytes([saturated] * 2)


def test_a_result_names_the_saturation_choice_only_where_it_matters() -> None:
    for dtype, asked in (("float8_e5m2", True), ("bfloat16", False)):
        device = Device("trn2")
        device.copy(device.hbm(shape=(4,), dtype=dtype), device.hbm(np.ones(4, np.float32)))
        assert ("ocp_sat" in device.session.finish().choices) is asked


def test_a_gathered_cast_keeps_the_form() -> None:
    device = Device("trn3")
    table = device.hbm(INSIDE.reshape(4, 4))
    indices = device.sbuf((1, 3), "uint32", contents=np.array([[3, 1, 1]], np.uint32))
    rows = device.hbm(shape=(3, 4), dtype="float8_e4m3fn")
    assert device.gather(rows, table, indices).ok
    assert rows.numpy().tobytes() == INSIDE.reshape(4, 4)[[3, 1, 1]].astype(FN).tobytes()


@pytest.mark.parametrize("mode", ["unknown", "none"])
def test_a_plain_copy_keeps_every_code(mode: str) -> None:
    codes = np.arange(256, dtype=np.uint8).view(FN)
    device = Device("trn3")
    dst = device.hbm(shape=(256,), dtype="float8_e4m3fn")
    assert device.copy(dst, device.hbm(codes), mode=mode).ok
    assert dst.numpy().tobytes() == codes.tobytes()


@pytest.mark.parametrize("mode", ["unknown", "none"])
def test_the_two_forms_cannot_be_converted_directly(mode: str) -> None:
    device = Device("trn3")
    dst = device.hbm(np.zeros(16, np.uint8).view(ml_dtypes.float8_e4m3))
    done = device.copy(dst, device.hbm(INSIDE.astype(FN)), mode=mode)
    assert done.status == "refused" and [issue.rule for issue in done.issues] == ["dec.D54"]
    assert not dst.numpy().view(np.uint8).any()


def test_names_and_codes() -> None:
    assert dtype_named("float8_e4m3fn").code == dtype_named("float8_e4m3").code == Dtype.FP8_EXP4
    assert dtype_from_neff("float8_e4m3fn").fn and not dtype_from_neff(2).fn  # the string selects the form (CHOICE-38)


def test_a_program_before_v4_warns_and_computes_the_form_it_names() -> None:
    text = """
    generation = "trn2"
    tensors.a = { space = "hbm", shape = [4], dtype = "float32", init = "ones" }
    tensors.b = { space = "hbm", shape = [4], dtype = "float8_e4m3fn" }
    transfers = [{ name = "t", op = "copy", src = "a", dst = "b" }]
    """
    program = loads(text)
    values = np.full(4, 448, np.float32)
    result, session = run_workload(replace(program, arrays={"a": values}), Choices())
    assert [(issue.rule, issue.severity) for issue in result.issues] == [("dec.D54", "warning")] and result.ok
    assert session.tensor_bytes("b").tobytes() == b"\x7e" * 4
    assert result.tensors["b"].tensor.dtype.name == "float8_e4m3fn"


def test_a_device_before_v4_warns_too() -> None:
    for gen, rules in (("trn2", ["dec.D54"]), ("trn3", [])):
        device = Device(gen)
        device.hbm(INSIDE.astype(FN))
        assert [issue.rule for issue in device.session.finish().issues] == rules

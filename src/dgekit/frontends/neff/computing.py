"""Compute ops of a dma list: what stands beside their sources, as the fields of a reduction (neff 3; cce 2.1, 2.3)."""

from __future__ import annotations

from typing import Any

from dgekit.cce.faults import refusal_error
from dgekit.core.dtypes import Dtype, DtypeInfo
from dgekit.core.errors import InputError
from dgekit.frontends.neff.definitions import Movement
from dgekit.transfers.transfer import REDUCTIONS

COMPUTE_OPS = REDUCTIONS
_CONSTANT_DTYPES = (Dtype.FP32, Dtype.INT32, Dtype.UINT32)


def operands(movement: Movement) -> dict[str, Any]:
    """`compute`, `scales`, `constant` and `constant_dtype` of a movement, as fields of a transfer.

    Raises ComputeError with the runtime's assertion for scales that are not fp32, InputError for a constant of
    another type than the format allows.
    """
    fields: dict[str, Any] = {"compute": movement.op}
    if movement.op == "fma" or any(scale is not None for scale in movement.scales):
        for number, dtype in enumerate(movement.scale_dtypes):
            _check_scale(dtype, f"{movement.where}.from_arr[{number}].scale_dtype")
        fields["scales"] = tuple(1.0 if scale is None else scale for scale in movement.scales)
    if movement.constant is not None:
        fields["constant"] = movement.constant
        fields["constant_dtype"] = _constant_dtype(movement)
    return fields


def _check_scale(dtype: DtypeInfo | None, where: str) -> None:
    if dtype is not None and dtype.code != Dtype.FP32:
        raise refusal_error(
            "scale_assert",
            rule="cce.2.3",
            message=f"the scales are {dtype.name}",
            where=where,
            dtype=int(dtype.code),
            fix='scale_dtype = "float32"',
        )


def _constant_dtype(movement: Movement) -> str:
    dtype = movement.constant_dtype
    if dtype is None:
        return "float32"
    if dtype.code not in _CONSTANT_DTYPES:
        raise InputError(
            f"a constant of {dtype.name}",
            rule="neff.constant",
            where=f"{movement.where}.constant_dtype",
            values={"dtype": int(dtype.code)},
            source="neff 3",
            fix="float32, int32 or uint32",
        )
    return dtype.name

"""What a packet computes, as numbers: its operation, element types, scales and constant (cce 4.1 to 4.4, 4.8)."""

from __future__ import annotations

import numpy as np

from dgekit.cce.dtypes import accum_size, element_size
from dgekit.cce.enums import CceType, Dtype
from dgekit.cce.packet import CcePacket, Constant
from dgekit.core.choices import Choices
from dgekit.core.dtypes import dtype_info
from dgekit.core.errors import ComputeError
from dgekit.core.generations import Generation
from dgekit.numerics.convert import to_accum
from dgekit.numerics.elements import Element, Lanes, element, read_lanes
from dgekit.numerics.reduce import Op, Reduction

_OPS: dict[CceType, Op] = {
    CceType.ADD: "add",
    CceType.FMA: "fma",
    CceType.MAX: "max",
    CceType.MIN: "min",
    CceType.GCE: "add",  # an expanded payload is treated like an ADD source (cce 4.6)
}
_FIRST_WITH_FN = 4  # CHOICE-38: before it, E4M3 is IEEE-like unless the FN form is named


def arithmetic_of(packet: CcePacket, generation: Generation, choices: Choices) -> Reduction:
    """The reduction of a packet's sources, whose operands were checked; raises ComputeError for its element types."""
    op = _OPS[packet.op]
    read, accum, write = _elements(packet, generation, choices)
    if op == "fma" and (accum.shape is None or (read.shape is None and accum.code != Dtype.FP32)):
        raise ComputeError(
            f"FMA of {dtype_info(read.code).name} accumulates in fp32, not in {dtype_info(accum.code).name}",
            rule="dec.D62",
            values={"in_dtype": read.code, "accum_dtype": accum.code},
            source="cce 4.7",
            fix="accumulate in FP32",
        )
    saturates = any(kind.shape is not None and kind.shape.saturates for kind in (accum, write))
    saturate = saturates and choices.flag("ocp_sat")
    constant = None if packet.constant is None else constant_lane(packet.constant, accum, saturate=saturate)
    return Reduction(op, read, accum, write, packet.scales, packet.selectors, constant, saturate)


def _elements(packet: CcePacket, generation: Generation, choices: Choices) -> tuple[Element, Element, Element]:
    """The types read, accumulated and written; the accumulator has the form of E4M3 that is written, or else read."""
    types = (packet.source_dtype, packet.accum_dtype, packet.out_dtype)
    element_size(packet.source_dtype, where="in_dtype")
    accum_size(packet.accum_dtype)
    element_size(packet.out_dtype, where="out_dtype")
    extended = Dtype.FP8_EXP4 in types and generation.nc >= _FIRST_WITH_FN and choices.flag("fp8_range_extension")
    in_fn, out_fn = packet.in_fn or extended, packet.out_fn or extended
    accum_fn = out_fn if packet.out_dtype == Dtype.FP8_EXP4 else in_fn
    read, accum, write = types
    return element(read, fn=in_fn), element(accum, fn=accum_fn), element(write, fn=out_fn)


def constant_lane(constant: Constant, accum: Element, *, saturate: bool = False) -> Lanes:
    """The constant as one lane of the accumulate type; raises ComputeError where its bits do not fit its type."""
    kind = element(constant.dtype)
    if constant.bits >> (8 * kind.size):
        raise ComputeError(
            f"the constant {constant.bits:#x} does not fit its type {dtype_info(kind.code).name}",
            rule="cce.CHOICE-14",
            where="constant",
            values={"bits": constant.bits, "size": kind.size},
            source="cce 3.6",
        )
    raw = np.frombuffer(constant.bits.to_bytes(kind.size, "little"), np.uint8)
    return to_accum(read_lanes(raw, kind), kind, accum, saturate=saturate)

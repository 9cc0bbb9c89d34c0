"""N arrays to one, element by element, as one compute packet does it; in blocks, so that temporaries stay in cache.

The order is that of the sources, with a rounding to the accumulate type after each (cce.CHOICE-26); the first source
of ADD, MIN and MAX is converted, not added to zero (cce.CHOICE-25). Elements do not depend on each other, so any
number of packets of equal shape may be given as one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dgekit.core.dtypes import Dtype
from dgekit.core.errors import DecodeError
from dgekit.numerics.codes import F32, U8, U32
from dgekit.numerics.convert import to_accum, write_codes
from dgekit.numerics.elements import Element, Lanes, element, read_lanes
from dgekit.numerics.formats import BF16, FP32, dtype_text
from dgekit.numerics.fused import Operand, multiply_add
from dgekit.numerics.order import codes_from, keys_of
from dgekit.numerics.reduce_bf16 import add_bf16

Op = Literal["add", "fma", "max", "min"]
Selectors = tuple[int, int, int]
Draws = Callable[[int], U32]

BLOCK = 16384  # elements
STORED, INPUT, SCALE = 0, 1, 2  # operand selectors of FMA (cce 1.3)
PLAIN: Selectors = (INPUT, SCALE, STORED)


@dataclass(frozen=True, slots=True, eq=False)
class Reduction:
    """What is computed: the operation, the three element types, and what belongs to single operations.

    `scales` and `selectors` (FMA) hold one entry a source; `constant` (MIN, MAX) is one lane of the accumulate type.
    `saturate` is the FP8 overflow policy.
    """

    op: Op
    read: Element
    accum: Element
    write: Element
    scales: tuple[float, ...] = ()
    selectors: tuple[Selectors, ...] = ()
    constant: Lanes | None = None
    saturate: bool = False


def reduce_bytes(how: Reduction, sources: Sequence[U8], draws: Draws | None = None) -> tuple[U8, int]:
    """The packed result of packed sources of one length, and how many elements lost bits when written.

    `draws` gives the random words of the next elements and makes the writing round stochastically. Raises DecodeError
    when the sources are not the same whole number of elements.

    >>> bf16 = element(Dtype.BFLOAT16)
    >>> how = Reduction("add", bf16, element(Dtype.FP32), bf16)
    >>> one, small = (np.array([code], "<u2").view(np.uint8) for code in (0x3F80, 0x3B80))
    >>> reduce_bytes(how, [one, small, small])[0].tobytes().hex()
    '813f'
    """
    raws = [np.ascontiguousarray(source, np.uint8).reshape(-1) for source in sources]
    count = _count(how.read, raws)
    out = np.empty(count * how.write.size, np.uint8)
    if draws is None and _is_bf16_add(how):
        return out, add_bf16(raws, out)
    one_block = _native_extreme if draws is None and _is_native(how) else _block
    lost = 0
    for first in range(0, count, BLOCK):
        last = min(first + BLOCK, count)
        part = [raw[first * how.read.size : last * how.read.size] for raw in raws]
        data, changed = one_block(how, part, draws)
        out[first * how.write.size : last * how.write.size] = data
        lost += changed
    return out, lost


def _count(read: Element, raws: Sequence[U8]) -> int:
    """Elements of each source."""
    sizes = [raw.size for raw in raws]
    if not sizes or len(set(sizes)) > 1 or sizes[0] % read.size:
        listed = ", ".join(map(str, sizes[:4])) + (", ..." if len(sizes) > 4 else "")
        raise DecodeError(
            f"sources of {listed or 'no'} bytes are not the same whole number of {dtype_text(read.code)} elements",
            rule="numerics.size",
            values={"bytes": sizes[:4], "sources": len(sizes), "element": read.size},
        )
    return sizes[0] // read.size


def _block(how: Reduction, part: Sequence[U8], draws: Draws | None) -> tuple[U8, int]:
    lanes = (read_lanes(raw, how.read) for raw in part)
    if how.op == "fma":
        total = _multiplied(how, lanes)
    else:
        converted = (to_accum(source, how.read, how.accum, saturate=how.saturate) for source in lanes)
        total = _added(how, converted) if how.op == "add" else _extreme(how, converted)
    rolls = None if draws is None else draws(len(total))
    return write_codes(total, how.accum, how.write, saturate=how.saturate, draws=rolls)


def _added(how: Reduction, sources: Iterable[Lanes]) -> Lanes:
    """Floats round to the accumulate type, integers wrap modulo its width (cce.CHOICE-37)."""
    total: Lanes | None = None
    for source in sources:
        if total is None:
            total = source
            continue
        with np.errstate(over="ignore", invalid="ignore"):
            total = total + source
        if how.accum.shape is not None:
            # two bits more than twice the narrower precision: the second rounding is harmless
            total = to_accum(total, _FP32, how.accum, saturate=how.saturate)
    assert total is not None
    return total


def _multiplied(how: Reduction, sources: Iterable[Lanes]) -> F32:
    """The products of integer sources go through fp32 (cce.CHOICE-37, D62)."""
    shape = how.accum.shape
    assert shape is not None
    stored: F32 | None = None
    for index, source in enumerate(sources):
        values = to_accum(source, how.read, _FP32)
        if stored is None:
            stored = np.zeros(len(values), np.float32)
        operands: tuple[Operand, ...] = (stored, values, np.float32(how.scales[index]))
        chosen = how.selectors[index] if how.selectors else PLAIN
        a, b, c = (operands[which] for which in chosen)
        result = multiply_add(a, b, c, shape, saturate=how.saturate)
        stored = np.broadcast_to(result, stored.shape)
    assert stored is not None
    return stored


def _extreme(how: Reduction, sources: Iterable[Lanes]) -> Lanes:
    """The constant is folded in first (cce 4.2); it is one lane against all."""
    combine = np.maximum if how.op == "max" else np.minimum
    largest = how.op == "max"
    is_float = how.accum.is_float
    first = () if how.constant is None else (how.constant,)
    total: Lanes | None = None
    for lanes in (*first, *sources):
        keys = keys_of(lanes.view(np.int32), FP32, largest=largest) if is_float else lanes
        total = keys if total is None else combine(total, keys)
    assert total is not None
    return codes_from(total, FP32).view(np.float32) if is_float else total


def _native_extreme(how: Reduction, part: Sequence[U8], _: Draws | None) -> tuple[U8, int]:
    """MIN or MAX on the codes themselves: the result is one of them, so nothing is rounded."""
    shape = how.read.shape
    assert shape is not None
    combine = np.maximum if how.op == "max" else np.minimum
    total = None
    for raw in part:
        keys = keys_of(raw.view(f"<i{how.read.size}"), shape, largest=how.op == "max")
        total = keys if total is None else combine(total, keys, out=total)
    assert total is not None
    return codes_from(total, shape).view(np.uint8), 0


def _is_native(how: Reduction) -> bool:
    """True when a float MIN or MAX cannot round or saturate on its way."""
    shape = how.read.shape
    if how.op not in ("max", "min") or shape is None or how.constant is not None or how.read != how.write:
        return False
    return how.accum in (how.read, _FP32) and not (how.saturate and shape.saturates)


def _is_bf16_add(how: Reduction) -> bool:
    return how.op == "add" and how.read.shape is BF16 and how.accum == _FP32 and how.write.shape is BF16


_FP32 = element(Dtype.FP32)

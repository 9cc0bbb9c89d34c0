"""Scatter with addition in every type, through words, rings and engines: each index its own packet (D65)."""

import numpy as np
import pytest

import dgekit
from dgekit.core.dtypes import dtype_named
from dgekit.numerics import exact
from dgekit.numerics.elements import accumulator, element
from dgekit.numerics.exact import from_integer, join, split, to_integer
from dgekit.numerics.formats import FP32

ROWS, WIDTH = 4, 16
INDICES = np.array([[2, 0, 2, 2, 3]], np.uint32)  # row 2 three times


def plus(a, b, kind):
    """One addition as a packet does it: accumulated wide, written in the type itself."""
    if kind.shape is not None:
        wide = exact.add(split(a, kind.shape), split(b, kind.shape))
        return join(split(join(wide, FP32), FP32), kind.shape)
    sign = 1 << 8 * kind.size
    low, high = kind.limits
    a, b = (n - sign if low < 0 and n >= sign // 2 else n for n in (a, b))
    wide = element(accumulator(kind.code, kind.code)).limits
    total = (a + b - wide[0]) % (wide[1] - wide[0] + 1) + wide[0]
    return to_integer(from_integer(total), low, high) % sign


@pytest.mark.parametrize(
    "dtype",
    ["bfloat16", "float16", "float32", "float8_e3m4", "float8_e4m3", "float8_e5m2", "int8", "uint8", "int16", "uint16",
     "int32", "uint32"],
)  # fmt: skip
def test_scatter_add(dtype):
    kind = element(dtype_named(dtype).code)
    bits = np.dtype(f"<u{kind.size}")
    rng = np.random.default_rng(kind.code)
    table, rows = (rng.integers(0, 1 << 8 * kind.size, (n, WIDTH), np.uint64).astype(bits) for n in (ROWS, 5))
    if kind.shape is not None:  # near one, where sums round
        one = kind.shape.bias << kind.shape.man_bits
        table, rows = (one + array % (2 << kind.shape.man_bits) for array in (table, rows))
    device = dgekit.Device("trn2")
    stored = [array.astype(bits).view(_value_type(dtype)) for array in (table, rows)]
    dst, src = (device.hbm(array, name=name, dtype=dtype) for array, name in zip(stored, "ts", strict=True))
    done = device.scatter(dst, src, device.sbuf(contents=INDICES, name="i"), mode="swdge", accumulate="add")
    assert done.result.status == "done"
    want = table.tolist()
    for lane, row in enumerate(INDICES[0].tolist()):
        want[row] = [plus(a, b, kind) for a, b in zip(want[row], rows[lane].tolist(), strict=True)]
    assert dst.numpy().view(bits).tolist() == want


def _value_type(dtype):
    import ml_dtypes

    return np.dtype(getattr(ml_dtypes, dtype, dtype))

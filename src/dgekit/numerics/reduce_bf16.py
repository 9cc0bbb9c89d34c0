"""The sum of bf16 arrays with an fp32 accumulator: the hot loop of gradients, two elements a 32-bit word.

An fp32 is a bf16 with sixteen more bits, so both halves of a word become fp32 lanes by a shift or a mask, and no
array is ever widened in memory.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dgekit.numerics.codes import U8, U32
from dgekit.numerics.formats import BF16

BLOCK = 32768  # words: the lanes of a block and their scratch stay in a core's second-level cache

_SIXTEEN = np.uint32(16)
_UPPER = np.uint32(0xFFFF0000)
_ONE = np.uint32(1)
_ALMOST_HALF = np.uint32(0x7FFF)
_NAN = np.uint32(BF16.nan_code << 16)


def add_bf16(sources: Sequence[U8], out: U8) -> int:
    """Write the bf16 sum of packed bf16 sources, rounded once, to `out`; how many elements lost bits.

    Sources and `out` have the same even number of bytes.
    """
    words = out.size // 4
    lanes, scratch = (np.empty(2 * min(BLOCK, words), np.uint32) for _ in range(2))
    columns = [source[: 4 * words].view("<u4") for source in sources]
    target = out[: 4 * words].view("<u4")
    lost = 0
    for first in range(0, words, BLOCK):
        part = slice(first, min(first + BLOCK, words))
        size = 2 * (part.stop - first)
        lost += _block([column[part] for column in columns], lanes[:size], scratch[:size], target[part])
    if out.size > 4 * words:
        lost += _odd_element(sources, out)
    return lost


def _block(columns: Sequence[U32], lanes: U32, scratch: U32, target: U32) -> int:
    """Sum one block; `lanes` and `scratch` hold the lower halves of all words, then the upper ones."""
    _spread(columns[0], lanes)
    total = lanes.view(np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        for column in columns[1:]:
            _spread(column, scratch)
            np.add(total, scratch.view(np.float32), out=total)
        has_nan = np.isnan(np.maximum.reduce(total))  # one reading pass; the mask is rarely needed
    if has_nan:
        lanes[np.isnan(total)] = _NAN
    np.left_shift(lanes, _SIXTEEN, out=scratch)
    lost = int(np.count_nonzero(scratch))
    np.right_shift(lanes, _SIXTEEN, out=scratch)
    np.bitwise_and(scratch, _ONE, out=scratch)
    np.add(scratch, _ALMOST_HALF, out=scratch)
    np.add(lanes, scratch, out=lanes)
    half = len(target)
    np.right_shift(lanes[:half], _SIXTEEN, out=target)
    np.bitwise_and(lanes[half:], _UPPER, out=scratch[:half])
    np.bitwise_or(target, scratch[:half], out=target)
    return lost


def _spread(words: U32, lanes: U32) -> None:
    half = len(words)
    np.left_shift(words, _SIXTEEN, out=lanes[:half])
    np.bitwise_and(words, _UPPER, out=lanes[half:])


def _odd_element(sources: Sequence[U8], out: U8) -> int:
    """The last element of an odd number, as a word with a zero upper half."""
    columns = [np.array([int.from_bytes(source[-2:].tobytes(), "little")], np.uint32) for source in sources]
    word = np.empty(1, np.uint32)
    lost = _block(columns, np.empty(2, np.uint32), np.empty(2, np.uint32), word)
    out[-2:] = word.view(np.uint8)[:2]
    return lost

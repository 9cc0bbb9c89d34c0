"""Stochastic rounding: the generator of the model and the conversion that uses it (cce 4.9, CHOICE-40, D64).

xorshift32 (13 left, 17 right, 5 left) in 16 lanes, one a data converter. Element i of a packet uses lane i mod 16 and
advances it once before use. The real generator is not known.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from dgekit.core.errors import UsageError
from dgekit.numerics.codes import F32, U8, U32, finish
from dgekit.numerics.formats import FP32, FloatFormat

LANES = 16
_MIX = 0x9E3779B9
_INSTEAD_OF_ZERO = 0x85EBCA6B  # dec.D64
_MASK = 0xFFFFFFFF


class SrLanes:
    """The 16 lane states of one queue: unseeded until `seed` or `set_lane`; they persist from packet to packet.

    >>> lanes = SrLanes(0x12345678)
    >>> [f"{draw:08X}" for draw in lanes.draws(2)]
    ['87985AA5', 'D6941CBC']
    """

    __slots__ = ("_states",)

    def __init__(self, seed: int | None = None) -> None:
        self._states = np.zeros(LANES, np.uint32)
        if seed is not None:
            self.seed(seed)

    @property
    def seeded(self) -> bool:
        """True once every lane has a state."""
        return bool(self._states.all())

    @property
    def states(self) -> tuple[int, ...]:
        """The lane states; 0 for a lane that nobody seeded."""
        return tuple(self._states.tolist())

    def seed(self, seed: int) -> None:
        """Set every lane from one 32-bit seed; raises UsageError for a seed of more bits."""
        base = _word(seed, "seed")
        for lane in range(LANES):
            state = base ^ (lane * _MIX & _MASK)
            self._states[lane] = state or _INSTEAD_OF_ZERO

    def set_lane(self, lane: int, state: int) -> None:
        """Set one lane, as a v4 seed register of (queue, data converter) does."""
        if not 0 <= lane < LANES:
            raise UsageError(
                f"data converter {lane} is not below {LANES}", rule="cce.4.9", values={"lane": lane, "lanes": LANES}
            )
        self._states[lane] = _word(state, "lane state") or _INSTEAD_OF_ZERO

    def draws(self, count: int) -> U32:
        """The draws of the next `count` elements of one packet, (count,); advances the lanes that they use."""
        rows, rest = divmod(count, LANES)
        table = np.empty((rows + 1, LANES), np.uint32)
        table[0] = _stepped(self._states)
        have = 1
        while have < len(table):
            more = min(have, len(table) - have)
            table[have : have + more] = _jumped(table[:more], have.bit_length() - 1)
            have += more
        last = table[rows - 1] if rows else self._states
        self._states = np.where(np.arange(LANES) < rest, table[rows], last)
        return table.reshape(-1)[:count]


def encode_stochastic(values: F32, shape: FloatFormat, draws: U32, *, saturate: bool = False) -> U8:
    """Packed codes of fp32 values; a magnitude rounds up when its discarded fraction + draw / 2**32 reaches 1."""
    bits = values.view(np.uint32)
    exponent = np.maximum((bits >> np.uint32(FP32.man_bits)) & np.uint32(0xFF), np.uint32(1)).astype(np.int64)
    fraction = bits & np.uint32((1 << FP32.man_bits) - 1)
    hidden = ((bits << np.uint32(1)) >= np.uint32(2 << FP32.man_bits)).astype(np.uint32) << np.uint32(FP32.man_bits)
    significand = (fraction | hidden).astype(np.int64)
    least_normal = FP32.bias - shape.bias + 1  # the fp32 exponent field of the format's least normal
    drop = FP32.man_bits - shape.man_bits + np.maximum(least_normal - exponent, 0)
    drop = np.minimum(drop, 60)  # more leaves nothing to keep and a fraction below 2**-32
    kept = significand >> drop
    rest = significand - (kept << drop)
    # whole 2**-32ths of the fraction: what lies below them cannot carry, since a draw is whole
    scaled = np.where(drop <= 32, rest << np.maximum(32 - drop, 0), rest >> np.maximum(drop - 32, 0))
    steps = kept + ((scaled + draws) >> 32)
    magnitude = steps + (np.maximum(exponent - least_normal, 0) << shape.man_bits)
    codes = finish(magnitude.astype(np.uint32), bits, shape, saturate=saturate)
    return codes.astype(f"<u{shape.bits // 8}").view(np.uint8)


def _word(number: int, what: str) -> int:
    if not 0 <= number <= _MASK:
        raise UsageError(f"{what} {number:#x} does not fit 32 bits", rule="cce.4.9", values={what: number})
    return number


def _stepped(states: U32) -> U32:
    after: U32 = states ^ (states << np.uint32(13))
    after ^= after >> np.uint32(17)
    after ^= after << np.uint32(5)
    return after


def _jumped(states: U32, power: int) -> U32:
    """The states 2**power steps later: the step is linear over bits, so a table a byte suffices."""
    table = _jump_table(power)
    after: U32 = table[0][states & np.uint32(0xFF)]
    for byte in range(1, 4):
        after ^= table[byte][(states >> np.uint32(8 * byte)) & np.uint32(0xFF)]
    return after


@cache
def _jump_table(power: int) -> U32:
    """(4, 256): the contribution of each value of each byte to the state 2**power steps later."""
    units = np.left_shift(np.uint32(1), np.arange(32, dtype=np.uint32))
    images: U32 = _stepped(units) if power == 0 else _jumped(_jumped(units, power - 1), power - 1)
    table = np.zeros((4, 256), np.uint32)
    for byte in range(4):
        for bit in range(8):
            table[byte, 1 << bit : 2 << bit] = table[byte, : 1 << bit] ^ images[8 * byte + bit]
    table.setflags(write=False)
    return table

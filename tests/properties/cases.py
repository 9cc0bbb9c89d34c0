"""Random transfers: patterns that stay inside their tensors, and switches that must not change what memory holds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st
from world import DTYPES, PAIRS, SPACES

MAX_PARTITIONS = 64
Counts = list[int]

pairs = st.sampled_from(PAIRS)
spaces = st.sampled_from(SPACES)
dtypes = st.sampled_from(DTYPES)
seeds = st.integers(0, 1 << 16)

# switches that say how a transfer is carried, never what it moves
_SWITCHES: dict[str, list[Any]] = {
    "fold_element": [True, False],
    "step_unit": ["bytes", "elements"],
    "dimpush_order": ["inner_first", "outer_first"],
    "packet_bytes": [65536, 4096, 64, 7],
    "ring_size": [4096, 256, 128],  # a packet must fit: SUNDA takes 128 BDs on the receive side
    "hbm_split": ["none", "equal"],
    "sem_mode": ["once", "per_engine"],
    "generate_pairing": ["single", "pair"],
    "regwrite": ["broadcast", "always", "never"],
    "dump_index": ["semaphore", "shape_register"],
    "dump_bracket": ["bound_byte", "elem_size"],
    "dump_position": ["before_push", "after_push"],
    "check_position": ["before_push", "after_push"],
    "q7_kind_line": ["software", "always"],
    "credits": ["free_slots", "none"],
    "bound_address": ["last_element", "start", "last_byte"],
    "check_ring_id": ["generation", "always", "never"],
    "oob_skip_log": ["row", "word", "none"],
    "log_stages": ["all", "select"],
    "select": ["two_tier", "chained"],
}


@st.composite
def switches(draw: st.DrawFn, *fixed: str) -> dict[str, Any]:
    """A few switches set to any of their values; those in `fixed` stay at their defaults."""
    names = draw(st.lists(st.sampled_from(sorted(set(_SWITCHES) - set(fixed))), max_size=5, unique=True))
    return {name: draw(st.sampled_from(_SWITCHES[name])) for name in names}


@dataclass(frozen=True)
class Leg:
    """One side: the tensor's shape, and the pattern and offset over it, in elements."""

    space: str
    shape: tuple[int, ...]
    pattern: list[list[int]]
    offset: int


@st.composite
def counts(draw: st.DrawFn, most: int = 240) -> Counts:
    """One to five dimensions with at most `most` elements together."""
    found: Counts = []
    for _ in range(draw(st.integers(1, 5))):
        room = most // math.prod(found)
        found.append(draw(st.integers(1, min(room, 40))))
    return found


@st.composite
def regrouped(draw: st.DrawFn, base: Counts) -> Counts:
    """The same elements with some neighbouring dimensions made one: both legs then nest."""
    found = [base[0]]
    for count in base[1:]:
        if draw(st.booleans()):
            found.append(count)
        else:
            found[-1] *= count
    return found


@st.composite
def leg(draw: st.DrawFn, space: str, base: Counts, *, distinct: bool) -> Leg:
    """A leg with the given counts; `distinct` visits no element twice, else steps may be zero or overlap."""
    if space == "hbm":
        steps, low, high = draw(_axis(base, distinct))
        before, after = draw(st.integers(0, 9)), draw(st.integers(0, 9))
        elements = before + high - low + 1 + after
        rows = draw(st.sampled_from([n for n in (1, 2, 3) if elements % n == 0]))
        return Leg(space, (rows, elements // rows), _zip(steps, base), before - low)
    down = [draw(st.booleans()) and count <= MAX_PARTITIONS for count in base]
    while math.prod(n for n, d in zip(base, down, strict=True) if d) > MAX_PARTITIONS:
        down[down.index(True)] = False
    row_steps, row_low, row_high = draw(_axis([n for n, d in zip(base, down, strict=True) if d], distinct, 1))
    col_steps, col_low, col_high = draw(_axis([n for n, d in zip(base, down, strict=True) if not d], distinct))
    above, left, right = draw(st.integers(0, 3)), draw(st.integers(0, 9)), draw(st.integers(0, 9))
    free = left + col_high - col_low + 1 + right
    rows, cols = iter(row_steps), iter(col_steps)
    steps = [next(rows) * free if d else next(cols) for d in down]
    shape = (above + row_high - row_low + 1, free)
    return Leg(space, shape, _zip(steps, base), (above - row_low) * free + left - col_low)


@st.composite
def _axis(draw: st.DrawFn, base: Counts, distinct: bool, gap: int = 3) -> tuple[list[int], int, int]:
    """Steps along one axis, and the lowest and highest place they reach from 0."""
    steps = [0] * len(base)
    extent = 1
    for dim in draw(st.permutations(range(len(base)))):
        if distinct:
            size = extent + draw(st.integers(0, gap - 1))
            extent = size * (base[dim] - 1) + extent
            steps[dim] = size * draw(st.sampled_from([1, 1, 1, -1]))
        else:
            steps[dim] = draw(st.sampled_from([0, 1, -1, extent, -extent, extent + 1, 2]))
            extent += abs(steps[dim]) * (base[dim] - 1)
            if extent > 60 and gap == 1:
                steps[dim], extent = 0, 60
    low = sum(min(0, step * (count - 1)) for step, count in zip(steps, base, strict=True))
    high = sum(max(0, step * (count - 1)) for step, count in zip(steps, base, strict=True))
    return steps, low, high


def _zip(steps: list[int], base: Counts) -> list[list[int]]:
    return [[step, count] for step, count in zip(steps, base, strict=True)]

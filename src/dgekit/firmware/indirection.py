"""Index lanes: which are in bounds, and which bytes each row moves (pipeline 3.6, 6.1; D25).

A lane is one entry of an index vector; its row is what the index selects. Row address = `start + index * step`, an
unsigned index times a signed step in bytes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dgekit.core.dtypes import dtype_info
from dgekit.core.errors import LoweringError, Unspecified, Unsupported
from dgekit.firmware.values import DgeShape, Indices, ShapePair
from dgekit.patterns.runs import ADDRESS_END, I64, MAX_RUNS, Runs

_U32 = 0xFFFF_FFFF
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class LaneFailure:
    """A lane whose index is above the limit of its leg; sentinels such as 0xFFFFFFFF are nothing else."""

    shape: DgeShape
    dim: int
    lane: int
    index: int

    @property
    def leg(self) -> str:
        """`src` or `dst`."""
        return "src" if self.shape.is_src else "dst"

    @property
    def element(self) -> int:
        """The flat element number of the row's start, as the public message counts (derived, D25)."""
        return self._elements(self.index)

    @property
    def elements(self) -> int:
        """The number of flat elements that the limit allows."""
        return self._elements(self.shape.bound.limit + 1)

    def _elements(self, index: int) -> int:
        return index * self.shape.step[self.dim] // (dtype_info(self.shape.dtype).size or 1)

    def describe(self) -> str:
        """One sentence with the lane, its index and both numbers.

        >>> from dgekit.core.dtypes import Dtype
        >>> from dgekit.firmware.values import BoundCheck
        >>> table = DgeShape(0, (64,), (2048,), 2048, Dtype.FP32, True, False, BoundCheck(True, 0, 127))
        >>> LaneFailure(table, 0, 43, 129).describe()
        'lane 43: src index 129 is above the limit 127 (element 66048 of 65536)'
        """
        return (
            f"lane {self.lane}: {self.leg} index {self.index} is above the limit {self.shape.bound.limit}"
            f" (element {self.element} of {self.elements})"
        )

    def values(self) -> dict[str, Any]:
        """The numbers of the message, for an issue."""
        return {
            "lane": self.lane,
            "index": self.index,
            "limit": self.shape.bound.limit,
            "element": self.element,
            "elements": self.elements,
            "leg": self.leg,
        }


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """The bytes of rows in order: piece i moves `src` run i to `dst` run i and belongs to lane `lanes[i]`."""

    lanes: I64
    src: Runs
    dst: Runs

    @classmethod
    def empty(cls) -> Rows:
        """No rows."""
        return cls(np.zeros(0, dtype=np.int64), Runs.of([], 0), Runs.of([], 0))

    def select(self, mask: Mask) -> Rows:
        """The pieces where the mask is set."""
        return Rows(
            self.lanes[mask],
            Runs(self.src.starts[mask], self.src.lengths[mask]),
            Runs(self.dst.starts[mask], self.dst.lengths[mask]),
        )

    def of_lanes(self, lanes: tuple[int, ...]) -> Rows:
        """The pieces of these lanes."""
        return self.select(np.isin(self.lanes, lanes))

    def row_starts(self) -> tuple[list[int], list[int], list[int]]:
        """Each lane that is left, with the addresses of its first piece on both legs, lanes ascending."""
        lanes, first = np.unique(self.lanes, return_index=True)
        return lanes.tolist(), self.src.starts[first].tolist(), self.dst.starts[first].tolist()


def index_vectors(pair: ShapePair) -> list[tuple[DgeShape, int, tuple[int, ...]]]:
    """(shape, dimension that the index replaces, u32 indices) of every indirect leg, source first."""
    indices = pair.indices or Indices()
    legs = ((pair.src, indices.src_dim, indices.src), (pair.dst, indices.dst_dim, indices.dst))
    return [(shape, dim, tuple(i & _U32 for i in vector)) for shape, dim, vector in legs if vector is not None]


def lane_count(pair: ShapePair) -> int:
    """Lanes of an indirect word; raises Unspecified when two index vectors differ in length."""
    counts = [len(vector) for _, _, vector in index_vectors(pair)]
    if len(set(counts)) > 1:
        raise Unspecified(
            f"{counts[0]} source indices and {counts[1]} destination indices do not pair",
            rule="dec.D25",
            values={"src": counts[0], "dst": counts[1]},
            fix="give both index vectors the same count",
        )
    return counts[0] if counts else 0


def check_lanes(pair: ShapePair) -> tuple[Mask, tuple[LaneFailure, ...]]:
    """(mask of the lanes in bounds, the failures by lane): an index passes at `<=` its limit; no bound, no check."""
    keep = np.ones(lane_count(pair), dtype=bool)
    failures: list[LaneFailure] = []
    for shape, dim, vector in index_vectors(pair):
        if not shape.bound.enabled:
            continue
        bad = np.asarray(vector, dtype=np.uint64) > np.uint64(min(shape.bound.limit, (1 << 64) - 1))
        keep &= ~bad
        failures += [LaneFailure(shape, dim, int(lane), vector[lane]) for lane in np.flatnonzero(bad)]
    return keep, tuple(sorted(failures, key=lambda failure: failure.lane))


def row_pieces(pair: ShapePair, keep: Mask) -> Rows:
    """What the kept lanes move: pieces in the order of the walk, as long as both legs and the lane allow.

    Legs of unequal element sizes are cut to the common size, in bytes for a copy and in elements for a cast (D30).
    Raises LoweringError when the legs hold unequal amounts or an address leaves the address space, Unsupported for
    more pieces than the tool expands.
    """
    src_unit, dst_unit = _units(pair)
    step = math.gcd(pair.src.elem_size // src_unit, pair.dst.elem_size // dst_unit)
    legs = (_leg_starts(pair, pair.src, keep, step * src_unit), _leg_starts(pair, pair.dst, keep, step * dst_unit))
    (src, src_lanes), (dst, dst_lanes) = legs
    if len(src) != len(dst):
        unit = "elements" if pair.is_cast else "bytes"
        raise LoweringError(
            f"the source has {len(src) * step} {unit}, the destination {len(dst) * step}",
            rule="pipeline.6.1",
            values={"src": len(src) * step, "dst": len(dst) * step, "unit": unit},
            fix="make both legs move the same amount",
        )
    lanes = src_lanes if (pair.indices or Indices()).src is not None else dst_lanes
    rows = Rows(lanes, Runs.of(src, step * src_unit), Runs.of(dst, step * dst_unit))
    return _joined(rows.select(keep[lanes]))


def _units(pair: ShapePair) -> tuple[int, int]:
    """Bytes of what the legs count together: elements of a cast, bytes of a copy."""
    if not pair.is_cast:
        return 1, 1
    sizes = tuple(dtype_info(side.dtype).size for side in (pair.src, pair.dst))
    for side, size in zip((pair.src, pair.dst), sizes, strict=True):
        if not size or side.elem_size % size:
            raise LoweringError(
                f"an element of {side.elem_size} bytes holds no whole {dtype_info(side.dtype).name}",
                rule="dec.D30",
                values={"elem_size": side.elem_size, "dtype_size": size},
            )
    return sizes[0], sizes[1]


def _leg_starts(pair: ShapePair, shape: DgeShape, keep: Mask, piece: int) -> tuple[I64, I64]:
    """(address of every piece of `piece` bytes, its lane) of one leg; dropped lanes keep their place at index 0."""
    indices = pair.indices or Indices()
    vector, dim = (indices.src, indices.src_dim) if shape.is_src else (indices.dst, indices.dst_dim)
    counts = [len(vector) if vector is not None and k == dim else n for k, n in enumerate(shape.num)]
    total = math.prod(counts) * (shape.elem_size // piece)
    if total > MAX_RUNS:
        raise Unsupported(
            f"{total} pieces of an indirect word are over the {MAX_RUNS} this tool expands",
            rule="patterns.runs",
            values={"pieces": total, "limit": MAX_RUNS},
        )
    starts, lanes = np.full(1, shape.start, dtype=np.int64), np.zeros(1, dtype=np.int64)
    check_reach(shape, vector, dim, keep)
    for k, count in enumerate(counts):
        offsets = np.arange(count, dtype=np.int64)
        lane_of = offsets if k == dim and vector is not None else np.zeros(count, dtype=np.int64)
        if k == dim and vector is not None:
            offsets = np.where(keep, np.asarray(vector, dtype=np.int64) & _U32, 0)
        starts = (offsets[:, None] * shape.step[k] + starts[None, :]).ravel()
        lanes = (lane_of[:, None] + lanes[None, :]).ravel()
    parts = np.arange(shape.elem_size // piece, dtype=np.int64) * piece
    return (starts[:, None] + parts[None, :]).ravel(), np.repeat(lanes, len(parts))


def check_reach(shape: DgeShape, vector: tuple[int, ...] | None, dim: int, keep: Mask) -> None:
    """Raises LoweringError where a kept lane leaves the addresses 0..2**63-1, beyond which 64-bit sums would wrap."""
    low = high = shape.start
    for k, (step, count) in enumerate(zip(shape.step, shape.num, strict=True)):
        used = [0, max(count - 1, 0)]
        if vector is not None and k == dim:
            used = [i & _U32 for i, kept in zip(vector, keep.tolist(), strict=True) if kept] or [0]
        low += min(step * min(used), step * max(used))
        high += max(step * min(used), step * max(used))
    if low < 0 or high + shape.elem_size > ADDRESS_END:
        raise LoweringError(
            f"rows from {low:#x} to {high:#x} leave the address space",
            rule="patterns.address",
            where="src" if shape.is_src else "dst",
            values={"low": low, "high": high},
            fix="set a bound on the index",
        )


def _joined(rows: Rows) -> Rows:
    """Neighbouring pieces of one lane that continue each other on both legs become one."""
    if len(rows.lanes) < 2:
        return rows
    goes_on = rows.lanes[1:] == rows.lanes[:-1]
    for leg in (rows.src, rows.dst):
        goes_on &= leg.starts[1:] == leg.starts[:-1] + leg.lengths[:-1]
    first = np.flatnonzero(np.concatenate(([True], ~goes_on)))
    src, dst = (Runs(leg.starts[first], np.add.reduceat(leg.lengths, first)) for leg in (rows.src, rows.dst))
    return Rows(rows.lanes[first], src, dst)

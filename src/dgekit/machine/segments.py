"""The memory that exists: a sorted table of segments, and the vectorised question which segment a run lies in."""

from __future__ import annotations

import bisect
import enum

import numpy as np
import numpy.typing as npt

from dgekit.core.errors import Overlap, Unsupported
from dgekit.machine.moves import U8
from dgekit.machine.semaphores import Semaphores
from dgekit.patterns.runs import I64


class SegmentKind(enum.IntEnum):
    """What an access to a segment does."""

    DATA = 0
    PARTITIONED = 1  # SBUF (and PSUM): partitions of `active` bytes, `stride` apart
    EVT_SEM = 2


class Segment:
    """One contiguous stretch of existing memory; its bytes are allocated when first touched.

    `written` holds a bool per byte where uninitialised reads are watched, else None; `semaphores` are those behind a
    window.
    """

    __slots__ = ("_data", "active", "base", "core", "kind", "name", "semaphores", "size", "stride", "written")

    def __init__(
        self,
        base: int,
        size: int,
        name: str,
        kind: SegmentKind = SegmentKind.DATA,
        *,
        data: U8 | None = None,
        core: int = -1,
        stride: int = 0,
        active: int = 0,
        semaphores: Semaphores | None = None,
    ) -> None:
        self.base = base
        self.size = size
        self.name = name
        self.kind = kind
        self.core = core
        self.stride = stride
        self.active = active
        self.semaphores = semaphores
        self._data = data
        self.written: npt.NDArray[np.bool_] | None = None

    @property
    def end(self) -> int:
        """The first address after the segment."""
        return self.base + self.size

    @property
    def data(self) -> U8:
        """The bytes, (size,) uint8; zeros until something is written."""
        if self._data is None:
            self._data = self._allocated()
        return self._data

    def _allocated(self) -> U8:
        try:
            return np.zeros(self.size, np.uint8)
        except MemoryError:
            raise Unsupported(
                f"{self.name} of {self.size} bytes does not fit into this computer's memory",
                rule="memory.host",
                where=self.name,
                values={"size": self.size},
            ) from None

    def watch(self, initialised: bool) -> None:
        """Start recording which bytes have been written."""
        self.written = np.ones(self.size, np.bool_) if initialised else np.zeros(self.size, np.bool_)

    def __repr__(self) -> str:
        return f"Segment({self.name!r}, {self.base:#x}..{self.end:#x})"


class Alias(Segment):
    """The same bytes (or semaphores) as `target`, which another device may own, under another address."""

    __slots__ = ("_target",)

    def __init__(self, base: int, target: Segment, name: str) -> None:
        super().__init__(
            base, target.size, name, target.kind,
            core=target.core, stride=target.stride, active=target.active, semaphores=target.semaphores,
        )  # fmt: skip
        self.written = target.written
        self._target = target

    @property
    def data(self) -> U8:
        """The bytes of the target."""
        return self._target.data


class SegmentTable:
    """Segments in address order."""

    __slots__ = ("_bases", "_ends", "_kinds", "_list", "_starts")

    def __init__(self) -> None:
        self._list: list[Segment] = []
        self._refresh()

    def add(self, segment: Segment) -> None:
        """Insert a segment; raises Overlap, naming both, where it meets another."""
        place = bisect.bisect_right(self._starts, segment.base)
        for other in self._list[max(0, place - 1) : place + 1]:
            if other.base < segment.end and segment.base < other.end:
                raise Overlap(
                    f"{segment.name} at {segment.base:#x}..{segment.end:#x} meets {other.name} "
                    f"at {other.base:#x}..{other.end:#x}",
                    where=segment.name,
                    values={"base": hex(segment.base), "size": segment.size, "other": other.name},
                    fix=f"place it at {other.end:#x} or later",
                )
        self._list.insert(place, segment)
        self._refresh()

    def _refresh(self) -> None:
        self._starts = [s.base for s in self._list]
        self._bases = np.array([s.base for s in self._list], np.int64)
        self._ends = np.array([s.end for s in self._list], np.int64)
        self._kinds = np.array([s.kind for s in self._list], np.uint8)

    def __getitem__(self, index: int) -> Segment:
        return self._list[index]

    def at(self, address: int) -> Segment | None:
        """The segment that holds a byte, or None."""
        place = bisect.bisect_right(self._starts, address) - 1
        return self._list[place] if place >= 0 and address < self._list[place].end else None

    def find(self, starts: I64, lengths: I64) -> I64:
        """The segment of each run, -1 where no segment holds all of it; (n,) int64."""
        one = self._one(starts, lengths)
        if one is not None:
            return np.full(len(starts), one, np.int64)
        index = np.searchsorted(self._bases, starts, "right") - 1
        inside = (index >= 0) & (starts >= 0) & (lengths > 0) & (lengths <= self._ends[index] - starts)
        return np.where(inside, index, -1)

    def _one(self, starts: I64, lengths: I64) -> int | None:
        """The segment that holds every run, or None when there is no single one."""
        if not len(starts) or lengths.min() < 1:
            return None
        low, high = int(starts.min()), int(starts.max()) + int(lengths.max())
        index = bisect.bisect_right(self._starts, low) - 1
        return index if index >= 0 and high <= self._list[index].end else None

    def in_kind(self, starts: I64, kind: SegmentKind) -> npt.NDArray[np.bool_]:
        """True for each address that lies in a segment of that kind."""
        index = self.find(starts, np.ones(len(starts), np.int64))
        found: npt.NDArray[np.bool_] = (index >= 0) & (self._kinds[index] == kind)
        return found

    def neighbours(self, address: int) -> tuple[Segment | None, Segment | None]:
        """The nearest segments below (or at) and above an address."""
        place = bisect.bisect_right(self._starts, address)
        below = self._list[place - 1] if place else None
        return below, self._list[place] if place < len(self._list) else None

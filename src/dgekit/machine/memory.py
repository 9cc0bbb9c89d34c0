"""Device memory: HBM and host blocks that were added, SBUF per core, the semaphore windows.

All addresses are SoC byte addresses; runs are `starts` and `lengths`, (n,) int64. A batch of runs is checked once
and then moved by strided copies; a fault names the address, the region and the nearest memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dgekit.core.choices import Choices
from dgekit.core.errors import InternalError, MemoryFault
from dgekit.core.generations import Generation
from dgekit.core.routing import chip_view
from dgekit.machine import address_map
from dgekit.machine.faults import Fault, segment_fault, unmapped
from dgekit.machine.moves import U8, cut_pairs, move
from dgekit.machine.overlap import shared_within
from dgekit.machine.segments import Alias, Segment, SegmentKind, SegmentTable
from dgekit.machine.semaphores import Change, Semaphores
from dgekit.patterns.runs import I64

_ADDABLE = ("HBM", "host")
_Chosen = slice | I64


class Memory:
    """The memory of one device: what was added, SBUF of every core (zero until written), and the semaphores.

    `changes` lists every update that a write to a semaphore window made, in order.
    """

    def __init__(self, generation: Generation, choices: Choices | None = None) -> None:
        chosen = choices if choices is not None else Choices()
        self.generation = generation
        self.changes: list[Change] = []
        self._watching = chosen.text("uninitialised") == "fault"
        self._segments = SegmentTable()
        self._semaphores = [Semaphores() for _ in range(generation.cores)]
        fixed = _fixed_kinds(generation, psum=generation.has_psum and chosen.flag("allow_psum"))
        for region in address_map.regions(generation):
            if region.name in fixed:
                segment = _fixed_segment(region, *fixed[region.name], self._semaphores)
                self._segments.add(segment)
                if self._watching and segment.kind is not SegmentKind.EVT_SEM:
                    segment.watch(initialised=False)

    def add(
        self,
        address: int,
        data: bytes | npt.NDArray[Any] | int,
        name: str = "",
        *,
        initialised: bool | None = None,
        copy: bool = True,
    ) -> None:
        """Make memory exist at `address`: contents (bytes or array), or a size in bytes (reads as zeros).

        `initialised` says whether its bytes count as written (default: contents yes, a size no); `copy = False`
        keeps a writable contiguous array itself. Raises Overlap, or MemoryFault outside HBM and host memory.
        """
        contents = None if isinstance(data, int) else _as_bytes(data, copy)
        size = data if isinstance(data, int) else _as_bytes(data, False).size
        label = name or f"memory at {address:#x}"
        if size < 1:
            raise MemoryFault(f"{label} has {size} bytes", rule="memory.size", where=label, values={"size": size})
        self._check_addable(address, size, label)
        segment = Segment(address, size, label, data=contents)
        self._segments.add(segment)
        if self._watching:
            segment.watch(contents is not None if initialised is None else initialised)

    def add_rings(self, address: int, size: int, name: str) -> U8:
        """Make `size` bytes of descriptor memory exist anywhere and return them; raises Overlap."""
        segment = Segment(address, size, name)
        self._segments.add(segment)
        return segment.data

    def _check_addable(self, address: int, size: int, label: str) -> None:
        region = address_map.region_of(self.generation, address)
        if region is None or not region.name.startswith(_ADDABLE) or region.name.endswith("reserve"):
            problem = f"lies in {address_map.describe(self.generation, address)}"
        elif address + size > region.end:
            problem = f"ends at {address + size:#x}, past the end {region.end:#x} of {region.name}"
        else:
            return
        where = self.generation.address_map
        raise MemoryFault(
            f"{label} at {address:#x} {problem}",
            rule="memory.region",
            where=label,
            values={"address": hex(address), "size": size},
            source="rings 4.2",
            fix=f"HBM is free from {where.hbm_bases[0] + where.hbm_reserved_low:#x}; SBUF is there without being added",
        )

    def alias(self, other: Memory, core: int, chip_id: int) -> None:
        """Make SBUF and semaphores of a core of `other`, device `chip_id`, exist here under their routed addresses.

        Doing it again changes nothing; raises LoweringError for a routing id above 63.
        """
        where = other.generation.address_map
        for base in (other.generation.sbuf_base(core), where.tpb_bases[core] + where.evt_sem_offset):
            routed = chip_view(base, chip_id)
            if self._segments.at(routed) is None:
                target = other._segments.at(base)
                assert target is not None  # every device has them
                self._segments.add(Alias(routed, target, f"{target.name} of device {chip_id}"))

    @property
    def semaphores(self) -> Semaphores:
        """The semaphores and events of core 0."""
        return self._semaphores[0]

    def semaphores_of(self, core: int) -> Semaphores:
        """The semaphores and events of one core."""
        return self._semaphores[core]

    # one run

    def read(self, address: int, size: int) -> bytes:
        """The `size` bytes at `address`; raises a MemoryFault."""
        return self.gather(*_one_run(address, size)).tobytes()

    def write(self, address: int, data: bytes | npt.NDArray[Any]) -> None:
        """Store bytes at `address`; a semaphore window performs its operation. Raises a MemoryFault."""
        contents = _as_bytes(data, False)
        self.scatter(*_one_run(address, contents.size), contents)

    def view(self, address: int, size: int) -> U8:
        """The bytes at `address` as a (size,) uint8 view of memory itself, written or not; raises a MemoryFault."""
        starts, lengths = _one_run(address, size)
        segment = self._segments[int(self._resolve(starts, lengths, reading=False)[0])]
        if segment.kind is SegmentKind.EVT_SEM:
            raise MemoryFault(f"{segment.name} has no bytes to view", rule="memory.evt_sem", where=segment.name)
        return segment.data[address - segment.base : address - segment.base + size]

    # many runs

    def gather(self, starts: I64, lengths: I64) -> U8:
        """The bytes of all runs, one after the other; raises the fault of the first run that is refused."""
        return self._gathered(self._resolve(starts, lengths, reading=True), starts, lengths)

    def peek(self, starts: I64, lengths: I64) -> U8:
        """As `gather`, for looking at memory from outside: bytes nobody wrote are no fault."""
        index = self._segments.find(starts, lengths)
        fault = self._check(index, starts, lengths, reading=True, watched=False)
        if fault is not None:
            raise fault[1]
        return self._gathered(index, starts, lengths)

    def _gathered(self, index: I64, starts: I64, lengths: I64) -> U8:
        out = np.empty(int(lengths.sum()), np.uint8)
        offsets = np.cumsum(lengths) - lengths
        for segment, chosen in self._groups(index):
            if segment.kind is SegmentKind.EVT_SEM:
                self._read_windows(segment, starts[chosen], out, offsets[chosen])
            else:
                move(out, offsets[chosen], segment.data, starts[chosen] - segment.base, lengths[chosen])
        return out

    def scatter(self, starts: I64, lengths: I64, data: U8) -> None:
        """Store a byte stream over runs; where two runs share bytes the later one wins."""
        index = self._resolve(starts, lengths, reading=False)
        offsets = np.cumsum(lengths) - lengths
        for segment, chosen in self._groups(index):
            if segment.kind is SegmentKind.EVT_SEM:
                self._write_windows(segment, starts[chosen], data, offsets[chosen])
            else:
                _store(segment, starts[chosen], lengths[chosen], data, offsets[chosen])

    def copy_stream(self, src_starts: I64, src_lengths: I64, dst_starts: I64, dst_lengths: I64) -> None:
        """Copy the byte stream of the source runs over the destination runs, wherever the two are cut.

        The order of moves is free: the legs must share no byte, nor two destination runs, and no run may lie in a
        semaphore window. Both legs are checked before anything moves; raises the fault of the first bad run.
        """
        src_index = self._resolve(src_starts, src_lengths, reading=True)
        dst_index = self._resolve(dst_starts, dst_lengths, reading=False)
        if np.array_equal(src_lengths, dst_lengths):
            frm, to, lengths = src_starts, dst_starts, src_lengths
        else:
            src_run, src_byte, dst_run, dst_byte, lengths = cut_pairs(src_lengths, dst_lengths)
            frm, to = src_starts[src_run] + src_byte, dst_starts[dst_run] + dst_byte
            src_index, dst_index = src_index[src_run], dst_index[dst_run]
        for target, outer in self._groups(dst_index):
            t, f, n = to[outer], frm[outer], lengths[outer]
            for source, inner in self._groups(src_index[outer]):
                move(target.data, t[inner] - target.base, source.data, f[inner] - source.base, n[inner])
            _mark(target, t, n)

    # checks

    def first_fault(self, starts: I64, lengths: I64, *, reading: bool) -> Fault | None:
        """The number of the first run that memory refuses and why, or None; nothing moves."""
        return self._check(self._segments.find(starts, lengths), starts, lengths, reading)

    def in_window(self, starts: I64) -> npt.NDArray[np.bool_]:
        """True for each address that lies in a semaphore window."""
        return self._segments.in_kind(starts, SegmentKind.EVT_SEM)

    def _resolve(self, starts: I64, lengths: I64, *, reading: bool) -> I64:
        """The segment of each run; raises the first fault."""
        index = self._segments.find(starts, lengths)
        fault = self._check(index, starts, lengths, reading)
        if fault is not None:
            raise fault[1]
        return index

    def _check(self, index: I64, starts: I64, lengths: I64, reading: bool, *, watched: bool = True) -> Fault | None:
        missing = np.flatnonzero(index < 0)
        stop = int(missing[0]) if len(missing) else len(index)
        found: list[Fault] = []
        if stop < len(index):
            found.append((stop, unmapped(self.generation, self._segments, int(starts[stop]), int(lengths[stop]))))
        for segment, chosen in self._groups(index[:stop]):
            fault = segment_fault(
                segment, starts[:stop][chosen], lengths[:stop][chosen], reading=reading, watched=watched
            )
            if fault is not None:
                run = fault[0] if isinstance(chosen, slice) else int(chosen[fault[0]])
                found.append((run, fault[1]))
        return min(found, key=lambda each: each[0], default=None)

    def _groups(self, index: I64) -> Iterator[tuple[Segment, _Chosen]]:
        """The runs of each segment: all of them as a slice where there is one segment."""
        if not len(index):
            return
        first = index[0]
        if (index == first).all():
            yield self._segments[int(first)], slice(None)
            return
        for number in np.unique(index).tolist():
            yield self._segments[number], np.flatnonzero(index == number)

    def _read_windows(self, segment: Segment, starts: I64, out: U8, offsets: I64) -> None:
        for address, offset in zip(starts.tolist(), offsets.tolist(), strict=True):
            word = _behind(segment).read_window(address - segment.base)
            out[offset : offset + 4] = np.frombuffer(word.to_bytes(4, "little"), np.uint8)

    def _write_windows(self, segment: Segment, starts: I64, data: U8, offsets: I64) -> None:
        for address, offset in zip(starts.tolist(), offsets.tolist(), strict=True):
            word = int.from_bytes(data[offset : offset + 4].tobytes(), "little")
            change = _behind(segment).write_window(address - segment.base, word)
            if change is not None:
                chip = address_map.routing(address)
                device = chip.chip_id if chip.id_valid else None
                self.changes.append(replace(change, core=segment.core, device=device))


def _fixed_kinds(generation: Generation, *, psum: bool) -> dict[str, tuple[SegmentKind, int, int]]:
    """Regions that exist without being added: kind, partition stride, usable bytes of a partition."""
    kinds = {
        "SBUF": (SegmentKind.PARTITIONED, generation.partition_stride, generation.active_bytes),
        "EVT_SEM": (SegmentKind.EVT_SEM, 0, 0),
    }
    if psum:
        kinds["PSUM"] = (SegmentKind.PARTITIONED, address_map.PSUM_STRIDE, address_map.PSUM_ACTIVE)
    return kinds


def _fixed_segment(
    region: address_map.Region, kind: SegmentKind, stride: int, active: int, semaphores: list[Semaphores]
) -> Segment:
    name = f"{region.name} of core {region.core}"
    behind = semaphores[region.core] if kind is SegmentKind.EVT_SEM else None
    return Segment(
        region.base, region.size, name, kind, core=region.core, stride=stride, active=active, semaphores=behind
    )


def _behind(segment: Segment) -> Semaphores:
    """The semaphores of a window."""
    if segment.semaphores is None:
        raise InternalError(f"{segment.name} has no semaphores")
    return segment.semaphores


def _one_run(address: int, size: int) -> tuple[I64, I64]:
    if not 0 <= address < 1 << 63:
        raise MemoryFault(f"{address:#x} is no SoC address", rule="memory.address", values={"address": hex(address)})
    return np.array([address], np.int64), np.array([size], np.int64)


def _as_bytes(data: bytes | bytearray | memoryview | npt.NDArray[Any], copy: bool) -> U8:
    """The bytes of `data` as (n,) uint8; a writable array of its own where `copy` asks for it or it must be."""
    if not isinstance(data, np.ndarray):
        flat: U8 = np.frombuffer(data, np.uint8)
    else:
        flat = np.ascontiguousarray(data).reshape(-1).view(np.uint8)
    return flat.copy() if copy else flat


def _store(segment: Segment, starts: I64, lengths: I64, data: U8, offsets: I64) -> None:
    """Move a stream into runs of one segment, in order where two of them meet."""
    to = starts - segment.base
    if shared_within(starts, lengths) is None:
        move(segment.data, to, data, offsets, lengths)
    else:
        for first, frm, size in zip(to.tolist(), offsets.tolist(), lengths.tolist(), strict=True):
            segment.data[first : first + size] = data[frm : frm + size]
    _mark(segment, starts, lengths)


def _mark(segment: Segment, starts: I64, lengths: I64) -> None:
    """Record that runs of a segment have been written, where that is watched."""
    if segment.written is None:
        return
    for first, size in zip((starts - segment.base).tolist(), lengths.tolist(), strict=True):
        segment.written[first : first + size] = True

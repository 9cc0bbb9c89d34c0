"""Why memory refuses an access: vectorised checks over many runs, and the error each finding becomes."""

from __future__ import annotations

import numpy as np

from dgekit.core.errors import CrossPartition, DgeError, MemoryFault, Uninitialised, Unmapped
from dgekit.core.generations import Generation
from dgekit.machine import address_map
from dgekit.machine.segments import Segment, SegmentKind, SegmentTable
from dgekit.machine.semaphores import window_error
from dgekit.patterns.runs import I64

Fault = tuple[int, DgeError]  # number of the run, and why it is refused


def unmapped(generation: Generation, table: SegmentTable, address: int, size: int) -> MemoryFault:
    """The error of a run that no segment holds: what is there instead, and what is nearest."""
    shown = address % (1 << 64)
    place = address_map.describe(generation, shown)
    values = {"address": hex(shown), "size": size, "region": place}
    if place.startswith("PSUM"):
        return MemoryFault(
            f"{size} bytes at {shown:#x} are PSUM ({place}), which no published transfer touches",
            rule="rings.4.4",
            values=values,
            fix="set the choice allow_psum to let engines reach it",
        )
    below, above = table.neighbours(address)
    near = []
    if below is not None:
        over = address - below.end
        near.append(
            f"{below.name} ends {over} bytes before" if over >= 0 else f"{below.name} ends {-over} bytes into it"
        )
        values["below"] = below.name
    if above is not None:
        near.append(f"{above.name} starts {above.base - address} bytes after")
        values["above"] = above.name
    return Unmapped(
        f"no memory holds {size} bytes at {shown:#x} ({place}); {', '.join(near) or 'nothing is mapped'}",
        values=values,
        source="rings 4.2",
        fix="declare a tensor there, or correct the address or the pattern",
    )


def segment_fault(segment: Segment, starts: I64, lengths: I64, *, reading: bool, watched: bool = True) -> Fault | None:
    """The first of several runs inside one segment that it refuses, or None; `watched` minds unwritten bytes."""
    if segment.kind is SegmentKind.EVT_SEM:
        return _window(segment, starts, lengths, reading)
    fault = _cross_partition(segment, starts, lengths) if segment.kind is SegmentKind.PARTITIONED else None
    if fault is None and reading and watched:
        fault = _uninitialised(segment, starts, lengths)
    return fault


def _window(segment: Segment, starts: I64, lengths: I64, reading: bool) -> Fault | None:
    for run, (address, size) in enumerate(zip(starts.tolist(), lengths.tolist(), strict=True)):
        error = window_error(address - segment.base, size, reading=reading)
        if error is not None:
            error.where = segment.name
            error.values["address"] = hex(address)
            return run, error
    return None


def _cross_partition(segment: Segment, starts: I64, lengths: I64) -> Fault | None:
    offsets = (starts - segment.base) % segment.stride
    bad = np.flatnonzero(offsets + lengths > segment.active)
    if not len(bad):
        return None
    run = int(bad[0])
    partition = (int(starts[run]) - segment.base) // segment.stride
    offset, size = int(offsets[run]), int(lengths[run])
    return run, CrossPartition(
        f"{size} bytes at byte {offset} of partition {partition} end at {offset + size}, "
        f"past the {segment.active} usable bytes of a partition",
        where=segment.name,
        values={"partition": partition, "offset": offset, "size": size, "active_bytes": segment.active},
        source="rings 4.4",
        fix=f"a run stays inside one partition: split it, or step by the partition stride {segment.stride:#x} instead",
    )


def _uninitialised(segment: Segment, starts: I64, lengths: I64) -> Fault | None:
    written = segment.written
    if written is None:
        return None
    for run, (address, size) in enumerate(zip((starts - segment.base).tolist(), lengths.tolist(), strict=True)):
        unwritten = np.flatnonzero(~written[address : address + size])
        if len(unwritten):
            byte = segment.base + address + int(unwritten[0])
            return run, Uninitialised(
                f"byte {byte:#x} of {segment.name} is read before anything wrote it",
                where=segment.name,
                values={"address": hex(byte), "offset": byte - segment.base, "unwritten": len(unwritten)},
                fix="give the tensor an initial value, or order the transfer that writes it first",
            )
    return None

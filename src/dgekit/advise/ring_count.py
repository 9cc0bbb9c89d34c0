"""Descriptors of one movement by arithmetic: what static expansion would put on each channel's ring, not expanded.

The same numbers as `transfers.static` and `descriptors.expand` (decisions D23, D32, D86), in microseconds: runs of
equal length are counted, never listed. What has no such form is handed to the real expansion.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from dgekit.core.errors import Unsupported
from dgekit.core.generations import Generation
from dgekit.descriptors.bd import MAX_BD_BYTES
from dgekit.patterns.algebra import common_shape, fold_pair
from dgekit.patterns.channels import dma_count, split_channels
from dgekit.patterns.walk import Walk

MAX_PACKETS = 1 << 22  # packets counted one by one where no period shows; a limit of this tool
_EXPANDED = 1 << 20  # runs that the real expansion is asked for at most

Dims = tuple[tuple[int, int], ...]  # (step, count), bytes, innermost first; the innermost step may be 1
# channels lo..hi-1 hold that many M2S and S2M descriptors each
Segment = tuple[int, int, int, int]


class Side(NamedTuple):
    """One side of a movement: its dimensions in bytes, whether it lies in SBUF, its offset in a partition.

    A tuple: a million of them are made for a large file.
    """

    dims: Dims
    on_chip: bool
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Machine:
    """What the count depends on: the generation, how many channels there are, the two switches."""

    generation: Generation
    channels: int
    packet_bytes: int
    hbm_split: bool = False


def copy_segments(src: Side, dst: Side, machine: Machine) -> tuple[Segment, ...]:
    """The data descriptors of a plain copy by channel; both sides hold the same bytes.

    Raises Unsupported for a movement that is too large to be counted here.
    """
    fast = _fast(src, dst, machine)
    return fast if fast is not None else _general(src, dst, machine)


def _fast(src: Side, dst: Side, machine: Machine) -> tuple[Segment, ...] | None:
    """The common forms: HBM to HBM, and one partition dimension with the same counts on both sides."""
    if not (src.on_chip or dst.on_chip):
        if machine.hbm_split:
            return None
        counts = _leg_counts(src.dims, dst.dims, machine)
        return None if counts is None else ((0, 1, *counts),)
    if len(src.dims) != len(dst.dims):
        return None
    if len(src.dims) == 2 and src.on_chip != dst.on_chip:
        rows = _rows(src, dst, machine)
        if rows is not None:
            return rows
    stride = machine.generation.partition_stride
    chosen = _partition_dim(src if src.on_chip else dst, stride)
    if chosen is None:
        return None
    if src.on_chip and dst.on_chip and (src.dims != dst.dims or _partition_dim(dst, stride) is None):
        return None
    count = src.dims[chosen][1]
    for a, b in zip(src.dims, dst.dims, strict=True):
        if a[1] != b[1]:
            return None
    each = -(-count // dma_count(count, machine.channels))
    whole, rest = divmod(count, each)
    counts = _leg_counts(_with_count(src.dims, chosen, each), _with_count(dst.dims, chosen, each), machine)
    if counts is None:
        return None
    if not rest:
        return ((0, whole, *counts),)
    last = _leg_counts(_with_count(src.dims, chosen, rest), _with_count(dst.dims, chosen, rest), machine)
    return None if last is None else ((0, whole, *counts), (whole, whole + 1, *last))


def _rows(src: Side, dst: Side, machine: Machine) -> tuple[Segment, ...] | None:
    """Rows of contiguous bytes, a partition each, between HBM and SBUF: what most entries of a file are."""
    (from_step, width), (from_pitch, count) = src.dims
    (to_step, to_width), (to_pitch, to_count) = dst.dims
    chip, pitch = (src, from_pitch) if src.on_chip else (dst, to_pitch)
    stride = machine.generation.partition_stride
    if from_step != 1 or to_step != 1 or width != to_width or count != to_count or pitch < stride or pitch % stride:
        return None
    if chip.offset + width > stride or min(from_pitch, to_pitch) < width:
        return None
    each = -(-count // dma_count(count, machine.channels))
    whole, rest = divmod(count, each)
    from_whole, to_whole = from_pitch == width, to_pitch == width  # rows that follow one another are one run
    found = _packed(width * each if from_whole else width, width * each if to_whole else width, width * each, machine)
    if not rest:
        return ((0, whole, *found),)
    last = _packed(width * rest if from_whole else width, width * rest if to_whole else width, width * rest, machine)
    return (0, whole, *found), (whole, whole + 1, *last)


def _partition_dim(side: Side, stride: int) -> int | None:
    """The one dimension that steps through partitions, when all others stay inside of one."""
    chosen, inside = None, side.offset
    for dim, (step, count) in enumerate(side.dims):
        if count == 1:
            continue
        if step >= stride:
            if chosen is not None or step % stride:
                return None
            chosen = dim
        elif step < 0:
            return None
        else:
            inside += step * (count - 1)
    return chosen if inside < stride else None


def _with_count(dims: Dims, dim: int, count: int) -> Dims:
    return (*dims[:dim], (dims[dim][0], count), *dims[dim + 1 :])


def _leg_counts(src: Dims, dst: Dims, machine: Machine) -> tuple[int, int] | None:
    """(M2S, S2M) descriptors of one channel; None where the runs of a side are not all of one length."""
    a, b = _run(src), _run(dst)
    if a is None or b is None:
        return None
    return _packed(a[0], b[0], a[0] * a[1], machine)


def _run(dims: Dims) -> tuple[int, int] | None:
    """(length, number) of the maximal contiguous runs; None where some may touch one another."""
    length, runs, reach = 1, 1, 0  # reach: how far the last run of the inner dimensions lies from the first
    for step, count in dims:
        if count == 1:
            continue
        if runs == 1 and step == length:
            length *= count
            continue
        if step - reach == length:
            return None
        runs *= count
        reach += step * (count - 1)
    return length, runs


def _packed(src: int, dst: int, total: int, machine: Machine) -> tuple[int, int]:
    """Descriptors of both legs, of runs of `src` and `dst` bytes: the runs, and one more for each that is cut."""
    generation = machine.generation
    step = min(machine.packet_bytes, MAX_BD_BYTES)
    if total <= step and total // src <= generation.tx_cap and total // dst <= generation.rx_cap:
        return total // src, total // dst
    uniform, limit = True, step
    for length, cap in ((src, generation.tx_cap), (dst, generation.rx_cap)):
        if length < total:
            limit = min(limit, cap * length)
    for length in (src, dst):
        if length < total and limit % length and length % limit:
            uniform = False
    if not uniform:
        cuts_src, cuts_dst = _greedy(src, dst, total, step, machine)
    else:
        ends = (total - 1) // limit
        cuts_src, cuts_dst = (ends - ends * limit // math.lcm(limit, length) for length in (src, dst))
    return total // src + cuts_src, total // dst + cuts_dst


def _greedy(src: int, dst: int, total: int, step: int, machine: Machine) -> tuple[int, int]:
    """Packet ends inside a run of each leg, packets cut one by one until their places repeat (decision D32)."""
    caps = machine.generation.tx_cap * src, machine.generation.rx_cap * dst
    period = math.lcm(src if src < total else 1, dst if dst < total else 1)
    seen: dict[int, tuple[int, int, int]] = {}
    position = in_src = in_dst = packets = 0
    while True:
        end = min(
            position + step,
            position - position % src + caps[0] if src < total else total,
            position - position % dst + caps[1] if dst < total else total,
        )
        if end >= total:
            return in_src, in_dst
        position = end
        in_src += position % src != 0
        in_dst += position % dst != 0
        before = seen.get(position % period)
        if before is not None:
            span = position - before[0]
            times = max(0, (total - position) // span - 1)
            position += times * span
            in_src += times * (in_src - before[1])
            in_dst += times * (in_dst - before[2])
            seen.clear()
        seen[position % period] = (position, in_src, in_dst)
        packets += 1
        if packets > MAX_PACKETS:
            raise Unsupported(
                f"a movement of {total} bytes in runs of {src} and {dst} has more than {MAX_PACKETS} packets "
                "that do not repeat",
                rule="rings.count",
                values={"bytes": total, "limit": MAX_PACKETS},
            )


def _general(src: Side, dst: Side, machine: Machine) -> tuple[Segment, ...]:
    """By the walks themselves: any dimensions, any split; runs that may touch are expanded."""
    from dgekit.descriptors.batch import ChannelWork
    from dgekit.descriptors.expand import expand
    from dgekit.patterns.runs import runs

    base = machine.generation.sbuf_base(0)
    walks = [Walk((base if side.on_chip else 0) + _lift(side), side.dims, 1) for side in (src, dst)]
    common = common_shape(*walks)
    left, right = fold_pair(*common) if common is not None else walks
    parts = split_channels(
        left,
        right,
        src.on_chip,
        dst.on_chip,
        machine.generation.partition_stride,
        range(machine.channels),
        src_base=base,
        dst_base=base,
        hbm_split=machine.hbm_split,
    )
    found = []
    for dma, a, b in parts:
        counts = _leg_counts(((1, a.elem), *a.dims), ((1, b.elem), *b.dims), machine)
        if counts is None:
            if max(a.folded().count, b.folded().count) > _EXPANDED:
                raise Unsupported(
                    f"a movement of {a.nbytes} bytes whose runs touch one another is too large to be expanded",
                    rule="rings.count",
                    values={"bytes": a.nbytes, "limit": _EXPANDED},
                )
            work = ChannelWork(dma, runs(a).merged(), runs(b).merged())
            batch = expand([work], machine.generation, machine.packet_bytes, barrier_last=False).channels[0]
            counts = len(batch.m2s), len(batch.s2m)
        found.append((dma, dma + 1, *counts))
    return tuple(found)


def _lift(side: Side) -> int:
    """Where the side begins, so that nothing of it lies below zero: whole partitions change nothing."""
    low = sum(min(0, step * (count - 1)) for step, count in side.dims)
    return side.offset - (low if not side.on_chip else 0)

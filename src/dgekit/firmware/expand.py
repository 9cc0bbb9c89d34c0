"""Stage 7's input: what each channel moves, as runs of bytes (descriptors.expand cuts them into packets and BDs)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

from dgekit.cce.packet import CcePacket
from dgekit.cce.work import ComputeWork, Work, update_packet, update_work
from dgekit.core.choices import Choices
from dgekit.core.dtypes import Dtype, dtype_info
from dgekit.core.errors import ComputeError, Unspecified, Unsupported
from dgekit.core.generations import Generation
from dgekit.descriptors.batch import ChannelWork, PacketKind
from dgekit.firmware import transposes
from dgekit.firmware.reshape import walks_tiles
from dgekit.firmware.values import Plan, ShapePair, Share, Tile
from dgekit.numerics.elements import is_element
from dgekit.patterns.algebra import common_shape, fold_pair
from dgekit.patterns.runs import Runs, element_starts, runs
from dgekit.patterns.walk import Walk
from dgekit.words.enums import ComputeOp


def plan_work(plan: Plan, pair: ShapePair, generation: Generation, choices: Choices, queue: int) -> tuple[Work, ...]:
    """The work of every share of a direct word; raises Unsupported for a compute op this tool does not run."""
    work = (part for share in plan.shares for part in share_work(share, pair, generation, choices))
    return tuple(replace(part, queue=queue) for part in work if _moves(part))


def _moves(work: Work) -> bool:
    legs = work.dests if isinstance(work, ComputeWork) else (work.src, work.dst)
    return any(runs.nbytes for runs in legs)


def share_work(share: Share, pair: ShapePair, generation: Generation, choices: Choices) -> Iterable[Work]:
    """The work of one channel; one piece, or two where the columns of a transpose leave a rest."""
    if share.tile is not None:
        if walks_tiles(pair, choices):
            return [_tile_work(share, share.tile, generation)]
        return _element_transpose(share, share.tile, pair)
    if pair.compute_op:
        return [_compute_work(share, pair)]
    src, dst = runs(share.src.walk()), runs(share.dst.walk())
    if pair.is_cast:
        dtypes = (int(pair.src.dtype), int(Dtype.FP32), int(pair.dst.dtype))  # through fp32 (D62)
        return [ChannelWork(share.dma, src, dst, PacketKind.CAST, *dtypes)]
    return [ChannelWork(share.dma, src, dst)]


def _tile_work(share: Share, tile: Tile, generation: Generation) -> ChannelWork:
    """Tile rows on the source, tile columns on the destination, tile after tile (D10, D12)."""
    rows = transposes.source_footprint(share.src, tile)
    columns = transposes.destination_footprint(share.dst, tile, generation.partition_stride)
    return _transpose_work(share, rows, columns, tile.rows, tile.cols)


def _element_transpose(share: Share, tile: Tile, pair: ShapePair) -> Iterable[ChannelWork]:
    """`xpose_walk = elements` (D11): element (x, y) of the source lands at dst + y*dst_step[0] + x*dst_step[1]."""
    (x_step, y_step), (x_count, y_count), size = _two_dims(share, pair), share.src.num[:2], share.src.elem_size
    row_step, column_step = share.dst.step[0], share.dst.step[1]
    if x_step != size or row_step != size or y_count % tile.rows:
        src = Walk(share.src.start, ((x_step, x_count), (y_step, y_count)), size)
        dst = Walk(share.dst.start, ((column_step, x_count), (row_step, y_count)), size)
        yield ChannelWork(share.dma, runs(src), runs(dst))
        return
    for lo, columns, blocks in _column_blocks(x_count, tile.cols):
        down, rows = y_count // tile.rows, tile.rows
        src = Walk(
            share.src.start + lo * size,
            ((y_step, rows), (y_step * rows, down), (columns * size, blocks)),
            columns * size,
        )
        dst = Walk(
            share.dst.start + lo * column_step,
            ((column_step, columns), (rows * size, down), (column_step * columns, blocks)),
            rows * size,
        )
        yield _transpose_work(share, src, dst, rows, columns)


def _column_blocks(count: int, width: int) -> list[tuple[int, int, int]]:
    """(first column, columns, how many such blocks): the full blocks of `width`, then the rest."""
    full, rest = divmod(count, width)
    return [block for block in ((0, width, full), (full * width, rest, 1)) if block[1] and block[2]]


def _two_dims(share: Share, pair: ShapePair) -> tuple[int, int]:
    """The source steps of a two-dimensional element transpose whose destination has the counts the other way round."""
    if len(share.src.num) == 2 and share.dst.num == share.src.num[::-1]:
        return share.src.step[0], share.src.step[1]
    raise Unspecified(
        f"counts {pair.src.num} and {pair.dst.num} are no element transpose",
        rule="dec.D11",
        values={"src": pair.src.num, "dst": pair.dst.num},
        fix="give the destination the source's counts the other way round, or set xpose_walk = tiles",
    )


def _transpose_work(share: Share, src: Walk, dst: Walk, rows: int, columns: int) -> ChannelWork:
    dtype = int(share.src.dtype)
    return ChannelWork(
        share.dma,
        Runs.of(element_starts(src), src.elem),
        Runs.of(element_starts(dst), dst.elem),
        PacketKind.TRANSPOSE,
        dtype,
        dtype,
        dtype,
        rows,
        columns,
    )


def _compute_work(share: Share, pair: ShapePair) -> ComputeWork:
    """A copy with a compute op: source run i updates destination run i, so both legs are cut alike."""
    return update_work(share.dma, *paired_runs(share.src.walk(), share.dst.walk()), compute_packet(pair))


def compute_packet(pair: ShapePair) -> CcePacket:
    """The packet of a word's compute op (cce CHOICE-01, 02).

    Raises Unsupported for an op or a type this tool does not run, ComputeError for addresses off the elements.
    """
    dtype = pair.src.dtype
    known = pair.compute_op in list(ComputeOp)
    if known and not pair.is_cast and is_element(dtype):
        _check_aligned(pair, dtype_info(dtype).size)
        return update_packet(ComputeOp(pair.compute_op), dtype)
    name = ComputeOp(pair.compute_op).name if known else hex(pair.compute_op)
    raise Unsupported(
        f"compute op {name} from {dtype.name} into {pair.dst.dtype.name} is not run by this tool",
        rule="pipeline.compute",
        values={"compute_op": pair.compute_op, "in_dtype": int(dtype), "out_dtype": int(pair.dst.dtype)},
        fix="compute without a cast",
    )


def _check_aligned(pair: ShapePair, size: int) -> None:
    """Start addresses and steps of a computing word are whole elements (cce 5.3, CHOICE-46)."""
    for leg, shape in (("src", pair.src), ("dst", pair.dst)):
        used = [step for step, count in zip(shape.step, shape.num, strict=True) if count > 1]
        for what, number in (
            ("start", shape.start),
            ("elem_size", shape.elem_size),
            *(("step", step) for step in used),
        ):
            if number % size:
                raise ComputeError(
                    f"{leg} {what} {number:#x} of a computing word is no multiple of the element's {size} bytes",
                    rule="cce.CHOICE-46",
                    where=leg,
                    values={what: number, "align": size},
                    source="cce 5.3",
                    fix="align it",
                )


def paired_runs(src: Walk, dst: Walk) -> tuple[Runs, Runs]:
    """Both walks in pieces of equal length, as long as the common shape allows."""
    size = math.gcd(src.elem, dst.elem)
    src, dst = src.unfolded(size), dst.unfolded(size)
    nested = common_shape(src, dst)
    if nested is not None:
        src, dst = fold_pair(*nested)
    return Runs.of(element_starts(src), src.elem), Runs.of(element_starts(dst), dst.elem)

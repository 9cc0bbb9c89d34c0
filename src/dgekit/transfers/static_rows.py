"""The host's expansion of indexed copies: runs of rows chosen by known index values (D23, D25)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dgekit.cce.work import Work
from dgekit.core.errors import Unsupported
from dgekit.descriptors.batch import ChannelWork
from dgekit.patterns.channels import dma_count, partitions_touched, row_blocks
from dgekit.patterns.runs import I64, MAX_RUNS, Runs, element_starts
from dgekit.patterns.walk import Walk
from dgekit.transfers.gather_transpose import lookup_of
from dgekit.transfers.request import Leg, Request
from dgekit.transfers.rows import row_plan
from dgekit.transfers.work import channel_work

Moved = tuple[list[Work], tuple[int, ...]]


def indirect_work(request: Request, indices: Sequence[int]) -> Moved:
    """The work of a gather or scatter, and the lanes whose index is past the table (they are left out)."""
    plan = row_plan(request, len(indices))
    chosen, kept, outside = _in_bounds(indices, plan.rows)
    table_at, data_at = element_starts(plan.table), element_starts(plan.data) - plan.data.start
    lanes = element_starts(plan.lanes)[kept]
    work: list[Work] = []
    for dma, (lo, hi) in enumerate(_lane_split(request, plan.direct, plan.lanes, len(kept))):
        table = Runs.of(_outer(chosen[lo:hi] * plan.row_step, table_at), plan.table.elem)
        data = Runs.of(_outer(lanes[lo:hi], data_at), plan.data.elem)
        src, dst = (data, table) if request.transfer.op == "scatter" else (table, data)
        work.append(channel_work(request, dma, src, dst))
    return work, outside


def gather_transpose_work(request: Request, indices: Sequence[int]) -> Moved:
    """The work of a gather-transpose, element by element: column c of index number i goes to row c, column i."""
    g = lookup_of(request, len(indices))
    if request.is_cast or request.transfer.accumulate:
        raise Unsupported(
            "a gather-transpose neither casts nor accumulates", rule="isa.4.5.no_cast", where=request.where
        )
    chosen, kept, outside = _in_bounds(indices, g.rows)
    columns = np.arange(g.cols, dtype=np.int64)
    lanes = Walk(g.dst, ((g.dst_row, g.cols),), g.size)
    work: list[Work] = []
    for dma, (lo, hi) in enumerate(_lane_split(request, request.dst, lanes, g.cols if len(kept) else 0)):
        src = _outer(g.src + columns[lo:hi] * g.src_col, chosen * g.row_step)
        dst = _outer(g.dst + columns[lo:hi] * g.dst_row, kept * g.dst_col)
        work.append(ChannelWork(dma, Runs.of(src, g.size).merged(), Runs.of(dst, g.size).merged()))
    return work, outside


def _in_bounds(indices: Sequence[int], rows: int) -> tuple[I64, I64, tuple[int, ...]]:
    """The indices below `rows` with their lanes, and the lanes of the others."""
    values = np.array([min(index, rows) if index >= 0 else rows for index in indices], dtype=np.int64)
    good = values < rows
    outside = tuple(int(lane) for lane in np.flatnonzero(~good))
    return values[good], np.flatnonzero(good).astype(np.int64), outside


def _outer(starts: I64, offsets: I64) -> npt.NDArray[np.int64]:
    """Every start plus every offset, offsets fastest."""
    if len(starts) * len(offsets) > MAX_RUNS:
        raise Unsupported(
            f"{len(starts) * len(offsets)} separate runs are over the {MAX_RUNS} this tool expands",
            rule="patterns.runs",
            values={"runs": len(starts) * len(offsets), "limit": MAX_RUNS},
            fix="cut the transfer",
        )
    flat: npt.NDArray[np.int64] = (starts[:, None] + offsets[None, :]).ravel()
    return flat


def _lane_split(request: Request, direct: Leg, lanes: Walk, count: int) -> list[tuple[int, int]]:
    """Blocks of lanes, one a channel, by the partitions the direct leg touches; HBM uses one channel (D23)."""
    if count == 0:
        return []
    generation = request.generation
    if not direct.in_sbuf:
        return [(0, count)]
    base = generation.sbuf_base(direct.placed.tensor.core)
    touched = partitions_touched(lanes, base, generation.partition_stride)
    return row_blocks(count, dma_count(touched, generation.engines))

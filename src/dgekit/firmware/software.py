"""The software backend: Q7 cores turn index vectors into rows and rows into descriptors (pipeline 3.5, 3.6; D25, D65).

Two cores take part and each has its own log: the lines of NX (bounds, dump, pushes) come first here, those of Q7
after them. Plain words go the same way when the `sw` flag is set, in four dimensions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from dgekit.cce.expand import expand
from dgekit.cce.work import ComputeWork, Work, update_work
from dgekit.core.choices import Choices
from dgekit.core.dtypes import Dtype
from dgekit.core.errors import Issue
from dgekit.core.events import EventLog
from dgekit.core.generations import Generation
from dgekit.core.state import StateView
from dgekit.descriptors.batch import ChannelWork, PacketKind
from dgekit.firmware import emit, gather, notify, spray
from dgekit.firmware.context import packet_bytes, queue_of
from dgekit.firmware.expand import compute_packet, plan_work
from dgekit.firmware.indirection import LaneFailure, Mask, Rows, check_lanes, index_vectors, row_pieces
from dgekit.firmware.values import (
    Backend,
    DgeShape,
    DimPush,
    Generate,
    Indices,
    Kind,
    MicroOp,
    Plan,
    Program,
    RegWrite,
    ShapePair,
    Share,
)

DIMS = emit.FORMS[Backend.SOFTWARE].rank


@dataclass(frozen=True, slots=True)
class SoftwareResult:
    """What the backend made of a word: `done` with its program and work, or `skipped` because an index is an error."""

    status: Literal["done", "skipped"]
    program: Program
    work: tuple[Work, ...] = ()
    issues: tuple[Issue, ...] = ()
    notifications: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class _Job:
    """One word on its way, and what every step may look at."""

    pair: ShapePair
    plan: Plan
    state: StateView
    generation: Generation
    choices: Choices
    events: EventLog
    is_out_queue: bool


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows of one channel: each lane with its two row addresses, and the work that moves them."""

    share: Share
    lanes: list[int]
    src: list[int]
    dst: list[int]
    work: list[Work]


def run(
    pair: ShapePair,
    plan: Plan,
    state: StateView,
    generation: Generation,
    choices: Choices,
    events: EventLog,
    *,
    is_out_queue: bool = False,
) -> SoftwareResult:
    """Generate the program and the work of one word on the Q7 cores; nothing is moved here.

    An index over its limit drops its row, or ends the word before anything is pushed where the word says that it is
    an error (D25). Raises Unsupported for a compute op this tool does not run, Unspecified for counts whose meaning
    no source gives, LoweringError for addresses outside the address space.
    """
    job = _Job(pair, plan, state, generation, choices, events, is_out_queue)
    if pair.indices is None:
        return _run_direct(job)
    keep, failures = check_lanes(pair)
    if failures and pair.indices.error_policy:
        return _stopped(failures, job)
    rows = _rows_by_channel(keep, job)
    program = Program(tuple(op for part in rows for op in _row_ops(part, job)))
    work = tuple(item for part in rows for item in part.work)
    records = _tell_dropped(failures, job)
    _emit_nx(program, job)
    dim = index_vectors(pair)[0][1]
    _emit_q7(keep, [spray.loop_index(dim, lane) for part in rows for lane in part.lanes], work, job)
    return SoftwareResult("done", program, work, _findings(pair, keep, failures), records)


def _run_direct(job: _Job) -> SoftwareResult:
    """A word without indices: the program of the plan in four dimensions, one position of the nest a channel."""
    program = emit.build_program(job.plan, job.pair, Backend.SOFTWARE, job.generation, job.choices)
    work = plan_work(job.plan, job.pair, job.generation, job.choices, queue_of(job.state))
    _emit_nx(program, job)
    _emit_q7(None, [spray.loop_index(0, 0)] * job.plan.num_dma, work, job)
    return SoftwareResult("done", program, work)


def _rows_by_channel(keep: Mask, job: _Job) -> list[_Rows]:
    """The rows of every channel that has any left."""
    if job.pair.kind is Kind.GATHER_TRANSPOSE:
        gather.check_counts(job.pair)
        parts = [_gathered(share, job.pair, keep) for share in job.plan.shares]
    else:
        template = _row_work(job.pair)
        rows = row_pieces(job.pair, keep)
        parts = [_indexed(share, rows, template) for share in job.plan.shares]
    queue = queue_of(job.state)
    return [replace(part, work=[replace(w, queue=queue) for w in part.work]) for part in parts if part.lanes]


def _row_work(pair: ShapePair) -> Work:
    """What is done with a row, without its bytes: a copy, a cast through fp32 (D62) or an update (D65)."""
    nothing = Rows.empty()
    if pair.compute_op:
        return update_work(0, nothing.src, nothing.dst, compute_packet(pair))
    if pair.is_cast:
        dtypes = (int(pair.src.dtype), int(Dtype.FP32), int(pair.dst.dtype))
        return ChannelWork(0, nothing.src, nothing.dst, PacketKind.CAST, *dtypes)
    return ChannelWork(0, nothing.src, nothing.dst)


def _indexed(share: Share, rows: Rows, template: Work) -> _Rows:
    own = rows if share.lanes is None else rows.of_lanes(share.lanes)
    lanes, src, dst = own.row_starts()
    if isinstance(template, ComputeWork):
        work: Work = update_work(share.dma, own.src, own.dst, template.packet)
    else:
        work = replace(template, dma=share.dma, src=own.src, dst=own.dst)
    return _Rows(share, lanes, src, dst, [work])


def _gathered(share: Share, pair: ShapePair, keep: Mask) -> _Rows:
    indices = pair.indices.src if pair.indices and pair.indices.src else ()
    lanes = np.flatnonzero(keep).tolist()
    work: list[Work] = [*gather.tile_work(share, pair, keep)]  # also checks that every row is inside the address space
    src = [share.src.start + indices[lane] * share.src.step[gather.LANES] for lane in lanes]
    dst = [share.dst.start + lane * share.dst.step[0] for lane in lanes]
    return _Rows(share, lanes, src, dst, work)


def _row_ops(rows: _Rows, job: _Job) -> Iterable[MicroOp]:
    """One channel: a GENERATE a leg for every row, then four DIMPUSHes with the count of its lanes (D25)."""
    dma, pair = rows.share.dma, job.pair
    if emit.writes_register(job.plan, job.generation, job.choices):
        yield RegWrite(dma)
    for src, dst in zip(rows.src, rows.dst, strict=True):
        yield Generate(dma, "RD", src, pair.src.elem_size, pair.semaphore)
        yield Generate(dma, "WR", dst, pair.dst.elem_size, pair.semaphore)
    pushes = [
        DimPush(dma, (src_num, dst_num), (src_step, dst_step))
        for (src_step, src_num), (dst_step, dst_num) in zip(*_lane_dims(rows, pair), strict=True)
    ]
    yield from pushes if job.choices.text("dimpush_order") == "inner_first" else reversed(pushes)


def _lane_dims(rows: _Rows, pair: ShapePair) -> list[list[tuple[int, int]]]:
    """(step in the word's unit, count) of both sides in four dimensions; the lanes that are left count as lanes."""
    indices = pair.indices or Indices()
    total = len(index_vectors(pair)[0][2])
    dims = []
    for shape, vector, dim in (
        (rows.share.src, indices.src, indices.src_dim),
        (rows.share.dst, indices.dst, indices.dst_dim),
    ):
        lanes = _lane_dim(shape, pair, total) if vector is None else dim
        side = [
            (step, len(rows.lanes) if k == lanes else count)
            for k, (step, count) in enumerate(zip(shape.word_step, shape.num, strict=True))
        ]
        dims.append(side + [emit.PAD] * (DIMS - len(side)))
    return dims


def _lane_dim(shape: DgeShape, pair: ShapePair, total: int) -> int | None:
    """The dimension of a direct leg that counts the lanes, if one does."""
    whole = pair.src if shape.is_src else pair.dst
    return next((k for k, count in enumerate(whole.num) if count == total), None)


def _emit_nx(program: Program, job: _Job) -> None:
    """The dump and the pushes."""
    dump_first = job.choices.text("dump_position") == "before_push"
    if dump_first:
        _emit_dump(job)
    emit.emit_program(program, emit.shown_leg(job.pair, job.is_out_queue), job.choices, job.events)
    if not dump_first:
        _emit_dump(job)


def _emit_dump(job: _Job) -> None:
    starts = (job.pair.src.start, job.pair.dst.start)  # this dump has no bounds field (pipeline 4.3)
    emit.emit_dump(job.pair, job.plan, Backend.SOFTWARE, starts, job.choices, job.events)


def _emit_q7(keep: Mask | None, loops: list[tuple[int, ...]], work: tuple[Work, ...], job: _Job) -> None:
    """The Q7 log in the order of pipeline 3.6; `keep` is None for a word without indices."""
    pair, events = job.pair, job.events
    spray.emit_dispatch(pair, events)
    if keep is not None:
        spray.emit_index_constructors(pair, events)
    pattern, mask = spray.emit_spray(pair, job.plan, job.choices, events)
    if keep is not None:
        spray.emit_index_steps(pair, events)
        spray.emit_lane_groups(pair, len(keep), pattern, mask, events)
        spray.emit_batman(pair, events)
    size = packet_bytes(job.state, pair.priority_class, job.choices)
    batch = expand(work, job.generation, size, job.choices, barrier_last=False)
    spray.emit_generation(loops, batch.m2s_count, job.choices, events)
    spray.emit_triggers(batch, job.state.core, job.generation, events)


def _stopped(failures: tuple[LaneFailure, ...], job: _Job) -> SoftwareResult:
    """The error policy: one line, one record if the gates are open, and nothing moves."""
    first = failures[0]
    records = _tell(first, job)
    lanes = len({failure.lane for failure in failures})
    more = f", and {lanes - 1} more lanes fail" if lanes > 1 else ""
    issue = Issue(
        "dec.D25",
        "error",
        f"{first.describe()}{more}; nothing is moved",
        f"{first.leg}_idx_bound_reg",
        {**first.values(), "failed_lanes": lanes},
        "dec.D25, pipeline 6.1",
        "correct the index, or set oob = skip to drop such rows",
    )
    return SoftwareResult("skipped", Program(), issues=(issue,), notifications=records)


def _tell_dropped(failures: tuple[LaneFailure, ...], job: _Job) -> tuple[bytes, ...]:
    """The skip policy: a line and, if the gates are open, a record for each dropped row, for the word, or for none."""
    if not failures:
        return ()
    by_lane = {failure.lane: failure for failure in reversed(failures)}
    dropped = [by_lane[lane] for lane in sorted(by_lane)]
    shown = {"row": dropped, "word": dropped[:1], "none": []}[job.choices.text("oob_skip_log")]
    return tuple(record for failure in shown for record in _tell(failure, job))


def _tell(failure: LaneFailure, job: _Job) -> tuple[bytes, ...]:
    """The bounds line of one failure, and its record if the gates are open."""
    args = emit.dollar_s(job.pair, job.choices, overrun=failure.index * failure.shape.step[failure.dim])
    job.events.emit("bounds", "failed", "bounds.failed", args, **failure.values())
    return notify.bound_failure(failure.shape.bound, job.state, job.generation, job.choices, job.events)


def _findings(pair: ShapePair, keep: Mask, failures: tuple[LaneFailure, ...]) -> tuple[Issue, ...]:
    """What there is to say about a word that ran: rows that were dropped, and destinations hit more than once."""
    found = []
    if failures:
        dropped = len(keep) - int(keep.sum())
        found.append(
            Issue(
                "dec.D25",
                "advice",
                f"{dropped} of {len(keep)} rows are out of bounds and dropped, the first: {failures[0].describe()}",
                f"{failures[0].leg}_idx_bound_reg",
                {**failures[0].values(), "dropped": dropped, "rows": len(keep)},
                "dec.D25",
            )
        )
    if repeated := _repeated(pair, keep):
        index, times = repeated
        found.append(
            Issue(
                "dec.D65",
                "warning",
                f"destination index {index} is used {times} times without non_unique_dst_idx; rows run in lane order",
                "flags.non_unique_dst_idx",
                {"index": index, "times": times},
                "dec.D65, isa-words 1.8",
                "set non_unique_dst_idx",
            )
        )
    return tuple(found)


def _repeated(pair: ShapePair, keep: Mask) -> tuple[int, int] | None:
    """The destination index used most often, if any is used twice and the word does not allow it."""
    indices = pair.indices or Indices()
    if indices.non_unique or indices.dst is None:
        return None
    used = Counter(index for index, kept in zip(indices.dst, keep.tolist(), strict=True) if kept)
    most = used.most_common(1)
    return most[0] if most and most[0][1] > 1 else None

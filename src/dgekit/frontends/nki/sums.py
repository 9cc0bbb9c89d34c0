"""dma_compute as transfers: static sums, and read-modify-write with a vector of rows (nki-dma 5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dgekit.core.errors import Issue
from dgekit.frontends.nki.copies import move, out_of_reach, table
from dgekit.frontends.nki.faults import KernelError
from dgekit.frontends.nki.kernel_run import KernelRun
from dgekit.frontends.nki.names import operator_name
from dgekit.frontends.nki.operands import Options, call_of, queued, refuse_psum, transfer_of
from dgekit.frontends.nki.tensor import NkiTensor

SOURCE = "nki-dma 5"
MAX_SOURCES = 16  # nki.M1


def compute(
    run: KernelRun,
    dst: NkiTensor,
    srcs: Sequence[NkiTensor],
    reduce_op: Any,
    scales: Sequence[float] | None,
    unique_indices: bool,
    opts: Options,
) -> None:
    """Carry out a dma_compute; raises KernelError for one that means nothing (nki.M1, M3, M5) or fails."""
    refuse_psum(run, dst, *srcs)
    factors = tuple(float(scale) for scale in scales or ())
    _check(dst, srcs, operator_name(reduce_op), factors)
    indirect = any(view.vector is not None for view in (dst, *srcs))
    if opts.oob == "skip" and (not indirect or run.before("0.4.0")):
        raise KernelError(
            "oob_mode.skip is for sums with a vector offset, since NKI 0.4.0", rule="nki.M5", source=SOURCE,
            values={"nki_version": run.version},
        )  # fmt: skip
    call = call_of(
        run, "dma_compute", dst, tuple(srcs), opts, rmw_op="add", unique_indices=bool(unique_indices), scales=factors
    )
    if not indirect:
        for view in srcs:
            out_of_reach(dst, view, opts, call)
        accesses = tuple(view.access() for view in srcs)
        made = transfer_of(
            run, call, replace(opts, mode="none"), "reduce", accesses[0], dst.access(),
            srcs=accesses, compute="add", accum="float32",
        )  # fmt: skip
        run.perform(queued(made))
        return
    _indirect(run, call, dst, srcs, unique_indices, opts)


def _check(dst: NkiTensor, srcs: Sequence[NkiTensor], op: str, scales: tuple[float, ...]) -> None:
    counts = [view.size for view in srcs]
    facts = (
        (op == "add", f"adds, it does not {op}"),
        (0 < len(srcs) <= MAX_SOURCES, f"has 1 to {MAX_SOURCES} sources, not {len(srcs)}"),
        (all(scale == 1.0 for scale in scales), f"has scales of 1.0, not {list(scales)}"),
        (len(scales) in (0, len(srcs)), f"has one scale a source, not {len(scales)} for {len(srcs)}"),
        (all(count == dst.size for count in counts), f"has equal element counts, not {counts} into {dst.size}"),
    )
    for holds, told in facts:
        if not holds:
            raise KernelError(
                f"a dma_compute {told}", rule="nki.M1", source=SOURCE, values={"sources": counts, "dst": dst.size}
            )


def _indirect(
    run: KernelRun, call: Any, dst: NkiTensor, srcs: Sequence[NkiTensor], unique: bool, opts: Options
) -> None:
    """HBM[rows] += SBUF, or SBUF += HBM[rows] (nki.M4)."""
    if len(srcs) != 2 or not unique:
        raise KernelError(
            f"a sum with a vector offset has two sources and unique indices, not {len(srcs)} sources and "
            f"unique_indices = {bool(unique)}",
            rule="nki.M3",
            values={"sources": len(srcs), "unique_indices": bool(unique)},
            source=SOURCE,
        )
    others = [view for view in srcs if not _same(view, dst)]
    if len(others) != 1:
        raise KernelError(
            "one source of a sum with a vector offset is the destination itself, the other the data", rule="nki.M3",
            source=SOURCE, fix="give dst and one source the same tensor, pattern and indices",
        )  # fmt: skip
    notes = _repeated(run, dst, call.line) if dst.vector is not None else ()
    move(run, call, dst, others[0], opts, "add", notes)


def _same(view: NkiTensor, dst: NkiTensor) -> bool:
    rows = [None if one.vector is None else one.vector.access() for one in (view, dst)]
    return view.access() == dst.access() and rows[0] == rows[1]


def _repeated(run: KernelRun, dst: NkiTensor, where: str) -> tuple[Issue, ...]:
    """A warning for rows that come twice among those in bounds: only unique indices are supported."""
    assert dst.vector is not None
    rows = (table(dst).pattern or ((0, 0),))[0][1]
    values = (run.read(dst.vector).astype(np.int64) & 0xFFFF_FFFF).ravel().tolist()
    counts = Counter(index for index in values if index < rows)
    repeated = {index: times for index, times in counts.items() if times > 1}
    if not repeated:
        return ()
    index, times = max(repeated.items(), key=lambda pair: pair[1])
    lanes = [lane for lane, value in enumerate(values) if value == index]
    return (
        Issue(
            "nki.M3",
            "warning",
            f"{len(repeated)} rows are added to more than once, row {index} {times} times; unique indices are promised",
            where,
            {"index": index, "times": times, "lanes": lanes, "repeated": len(repeated)},
            SOURCE,
            "sum the rows of equal index first",
        ),
    )

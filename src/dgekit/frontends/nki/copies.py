"""dma_copy, nl.load and nl.store as transfers: copies, casts, gathers and scatters (nki-dma 2 and 3)."""

from __future__ import annotations

import math
from typing import Any

from dgekit.core.errors import Issue
from dgekit.frontends.nki.faults import KernelError
from dgekit.frontends.nki.kernel_run import KernelRun, check_reach
from dgekit.frontends.nki.masks import masked
from dgekit.frontends.nki.names import operator_name
from dgekit.frontends.nki.operands import Options, call_of, refuse_psum, transfer_of
from dgekit.frontends.nki.tensor import NkiTensor
from dgekit.transfers.call import Call
from dgekit.transfers.transfer import Access

SOURCE = "nki-dma 2"


def copy(
    run: KernelRun,
    dst: NkiTensor,
    src: NkiTensor,
    opts: Options,
    *,
    mask: Any = None,
    rmw_op: Any = None,
    unique_indices: bool | None = None,
) -> None:
    """Carry out a dma_copy; raises KernelError for one that means nothing (D81) or fails."""
    refuse_psum(run, dst, src)
    adds = _rmw(run, rmw_op, unique_indices, opts)
    notes = _check_counts(run, dst, src)
    call = call_of(run, "dma_copy", dst, (src,), opts, rmw_op=adds, unique_indices=unique_indices is not False)
    for part_dst, part_src in masked(dst, src, mask):
        move(run, call, part_dst, part_src, opts, adds, notes)


def move(
    run: KernelRun, call: Call, dst: NkiTensor, src: NkiTensor, opts: Options, adds: str, notes: tuple[Issue, ...] = ()
) -> None:
    """One copy, gather or scatter of a call, with or without an addition."""
    vectors = [view for view in (dst, src) if view.vector is not None]
    if len(vectors) == 2:
        raise KernelError("both sides choose rows at run time; a DMA takes one", rule="nki.A4", source="nki-dma 3")
    dropped = out_of_reach(dst, src, opts, call)
    if dropped is not None:
        run.issues.append(dropped)
        return
    more: dict[str, Any] = {"accumulate": adds, "oob": opts.oob}
    if not vectors:
        if src.storage is dst.storage and src.access() == dst.access():
            raise KernelError(f"{dst.name} is copied onto itself", rule="nki.operand")
        run.perform(transfer_of(run, call, opts, "copy", src.access(), dst.access(), **more), notes)
        return
    (chosen,) = vectors
    more["indices"] = index_access(chosen)
    if chosen is dst:
        more["non_unique"] = not call.unique_indices
        run.perform(transfer_of(run, call, opts, "scatter", src.access(), table(dst), **more), notes)
    else:
        run.perform(transfer_of(run, call, opts, "gather", table(src), dst.access(), **more), notes)


def out_of_reach(dst: NkiTensor, src: NkiTensor, opts: Options, call: Call) -> Issue | None:
    """What says that a skipped call moves nothing, None for one that may go; raises KernelError for an error.

    Only a run-time scalar may take a view out of its tensor and be skipped (nki.C11).
    """
    for view in (dst, src):
        if view.vector is not None:
            continue
        try:
            check_reach(view)
        except KernelError as problem:
            if problem.rule != "nki.C11" or opts.oob != "skip":
                raise
            message = f"{problem.message}; the transfer is skipped"
            return Issue("nki.C11", "advice", message, call.line, problem.values, SOURCE)
    return None


def table(view: NkiTensor) -> Access:
    """The indexed leg: rows of the base tensor's pitch (nki.A2), as many as lie in it whole."""
    pitch = math.prod(view.base_shape[1:])
    inner = tuple(zip(view.strides[1:], view.shape[1:], strict=True))
    elements = view.storage.nbytes // view.info.size
    low = view.start + sum(min(0, step * (count - 1)) for step, count in inner)
    high = view.start + sum(max(0, step * (count - 1)) for step, count in inner)
    rows = (elements - 1 - high) // pitch + 1
    if low < 0 or rows < 1:
        raise KernelError(
            f"row 0 of the pattern reaches from element {low} to {high} of {view.name}, which has {elements}",
            rule="nki.bounds",
            values={"lowest": low, "highest": high, "elements": elements},
            source="nki-dma 3",
        )
    dtype = None if view.info == view.storage.dtype else view.info
    return Access(view.name, view.start, ((pitch, rows), *inner), dtype)


def index_access(view: NkiTensor) -> Access:
    """The indices of a gather or scatter: one a lane, in the order of the partitions (nki.A1)."""
    vector, lanes = view.vector, view.shape[0]
    if vector is None or vector.shape[1] != 1 or vector.size != lanes:
        shape = () if vector is None else vector.shape
        raise KernelError(
            f"{lanes} rows take indices of shape ({lanes}, 1), not {shape}",
            rule="nki.A1",
            values={"rows": lanes, "indices": list(shape)},
            source="nki-dma 3",
        )
    return vector.access()


def _rmw(run: KernelRun, rmw_op: Any, unique_indices: bool | None, opts: Options) -> str:
    """nki.C12: dst_rmw_op and unique_indices until NKI 0.2; add only, and only with oob error."""
    if rmw_op is None and unique_indices is None:
        return ""
    if not run.before("0.3.0"):
        raise KernelError(
            f"NKI {run.version} has no dst_rmw_op and no unique_indices on dma_copy",
            rule="nki.C12",
            values={"nki_version": run.version},
            source="nki-dma 2",
            fix="use dma_compute, or --nki-version 0.2.0 for the older rules",
        )
    if rmw_op is None:
        return ""
    if operator_name(rmw_op) != "add" or opts.oob != "error":
        raise KernelError(
            f"dst_rmw_op takes add with oob_mode.error, not {operator_name(rmw_op)} with {opts.oob}",
            rule="nki.C12",
            source="nki-dma 2",
        )
    return "add"


def _check_counts(run: KernelRun, dst: NkiTensor, src: NkiTensor) -> tuple[Issue, ...]:
    """nki.C2: as many elements on both sides; the front end of NKI 0.2 wanted equal shapes."""
    if dst.size != src.size:
        raise KernelError(
            f"dst {dst.shape} has {dst.size} elements, src {src.shape} has {src.size}",
            rule="nki.C2",
            values={"dst": dst.size, "src": src.size},
            source=SOURCE,
            fix="give both sides the same number of elements",
        )
    if dst.shape == src.shape or not run.before("0.3.0"):
        return ()
    shapes = {"dst": list(dst.shape), "src": list(src.shape)}
    message = f"the front end of NKI {run.version} refuses unequal shapes {dst.shape} and {src.shape}"
    return (Issue("nki.C2", "warning", message, "", shapes, SOURCE, "use NKI 0.3.0, or reshape"),)

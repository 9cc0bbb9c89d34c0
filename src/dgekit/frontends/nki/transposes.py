"""dma_transpose as transfers: one two-dimensional transpose for each index of the dimensions that stay (nki-dma 4)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from dgekit.core.errors import DgeError, Issue
from dgekit.frontends.nki.copies import out_of_reach, table
from dgekit.frontends.nki.faults import KernelError
from dgekit.frontends.nki.kernel_run import KernelRun
from dgekit.frontends.nki.operands import Options, call_of, queued, refuse_psum, transfer_of
from dgekit.frontends.nki.tensor import NkiTensor
from dgekit.transfers.build import build_words
from dgekit.transfers.call import Call
from dgekit.transfers.transfer import Access, Transfer

SOURCE = "nki-dma 4"
AXES = {2: (1, 0), 3: (2, 1, 0), 4: (3, 1, 2, 0)}  # nki.T1


def transpose(run: KernelRun, dst: NkiTensor, src: NkiTensor, axes: Any, opts: Options) -> None:
    """Carry out a dma_transpose; raises KernelError for one that means nothing (nki.T1 to T3) or fails."""
    refuse_psum(run, dst, src)
    order = _axes(src, axes)
    dst = _check_operands(run, dst, src, order)
    call = call_of(run, "dma_transpose", dst, (src,), opts, axes=order)
    dropped = out_of_reach(dst, src, opts, call)
    if dropped is not None:
        run.issues.append(dropped)
        return
    make = _direct if src.vector is None else _indirect
    notes = () if src.vector is None else _mixed_lanes(run, src, opts)
    for transfer in make(run, call, dst, src, opts):
        run.perform(*_feasible(run, transfer, notes))
        notes = ()


def _axes(src: NkiTensor, axes: Any) -> tuple[int, ...]:
    wanted = AXES.get(src.ndim)
    given = wanted if axes is None else tuple(int(axis) for axis in axes)
    if wanted is None or given != wanted:
        raise KernelError(
            f"no DMA transposes {src.ndim} dimensions by {given}",
            rule="nki.T1",
            values={"axes": list(given or ()), "dimensions": src.ndim},
            source=SOURCE,
            fix="axes are (1, 0), (2, 1, 0) or (3, 1, 2, 0)",
        )
    return wanted


def _check_operands(run: KernelRun, dst: NkiTensor, src: NkiTensor, order: tuple[int, ...]) -> NkiTensor:
    """nki.T2, nki.T3; before NKI 0.4.0 a destination of lower rank was filled up with ones."""
    if dst.space != "sbuf" or dst.vector is not None:
        raise KernelError(
            f"the destination {dst.name} of a transpose must be plain SBUF", rule="nki.T2", source=SOURCE,
            values={"space": dst.space}, fix="store the tile with a dma_copy",
        )  # fmt: skip
    if dst.info != src.info:
        raise KernelError(
            f"a transpose keeps the type, here are {src.info.name} and {dst.info.name}", rule="nki.T2", source=SOURCE,
            values={"src": src.info.name, "dst": dst.info.name},
        )  # fmt: skip
    wanted = tuple(src.shape[axis] for axis in order)
    if dst.shape == wanted:
        return dst
    if run.before("0.4.0") and dst.ndim < len(wanted) and _squeezed(dst.shape) == _squeezed(wanted):
        strides = iter(step for step, count in zip(dst.strides, dst.shape, strict=True) if count > 1)
        filled = tuple(next(strides) if count > 1 else 0 for count in wanted)
        return replace(dst, shape=wanted, strides=filled)
    raise KernelError(
        f"the transpose of {src.shape} has shape {wanted}, the destination {dst.shape}",
        rule="nki.T3",
        values={"wanted": list(wanted), "dst": list(dst.shape)},
        source=SOURCE,
        fix="give the destination that shape",
    )


def _squeezed(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(extent for extent in shape if extent > 1)


def _slices(dst: NkiTensor, src: NkiTensor) -> Iterator[tuple[NkiTensor, NkiTensor]]:
    """For each index of the dimensions that stay: the source as rows by columns, the destination the other way."""
    middle = range(1, src.ndim - 1)  # they keep their places in every legal permutation
    for index in itertools.product(*(range(src.shape[dim]) for dim in middle)):
        offsets = [
            view.start + sum(i * view.strides[dim] for i, dim in zip(index, middle, strict=True)) for view in (dst, src)
        ]
        yield (
            replace(dst, shape=_ends(dst.shape), strides=_ends(dst.strides), start=offsets[0]),
            replace(src, shape=_ends(src.shape), strides=_ends(src.strides), start=offsets[1]),
        )


def _ends(values: tuple[int, ...]) -> tuple[int, int]:
    return values[0], values[-1]


def _direct(run: KernelRun, call: Call, dst: NkiTensor, src: NkiTensor, opts: Options) -> Iterator[Transfer]:
    for to, of in _slices(dst, src):
        yield transfer_of(run, call, opts, "transpose", of.access(), to.access())


def _indirect(run: KernelRun, call: Call, dst: NkiTensor, src: NkiTensor, opts: Options) -> Iterator[Transfer]:
    for to, of in _slices(dst, src):
        rows = table(of)
        for first, indices in _index_blocks(of):
            lanes = 1
            for _, count in indices.pattern or ():
                lanes *= count
            part = replace(to, shape=(to.shape[0], lanes), start=to.start + first * to.strides[1])
            more = {"indices": indices, "oob": opts.oob}
            yield transfer_of(run, call, opts, "gather_transpose", rows, part.access(), **more)


def _index_blocks(src: NkiTensor) -> Iterator[tuple[int, Access]]:
    """The first src.shape[0] indices, column by column (nki.G6): whole columns, then the rest of one."""
    vector = src.vector
    assert vector is not None
    rows, step = vector.shape[0], vector.strides
    full, rest = divmod(src.shape[0], rows)
    if full:
        yield 0, Access(vector.name, vector.start, ((step[1], full), (step[0], rows)), vector.access().dtype)
    if rest:
        start = vector.start + full * step[1]
        yield full * rows, Access(vector.name, start, ((step[0], rest),), vector.access().dtype)


def _mixed_lanes(run: KernelRun, src: NkiTensor, opts: Options) -> tuple[Issue, ...]:
    """A warning for skipped lanes beside good ones, which wedge real devices (nki-dma 3, known faults)."""
    assert src.vector is not None
    flat = run.read(src.vector).astype(np.int64).ravel(order="F")[: src.shape[0]] & 0xFFFF_FFFF
    pattern = table(src).pattern or ((0, 0),)
    good = int((flat < pattern[0][1]).sum())
    if opts.oob != "skip" or good in (0, len(flat)):
        return ()
    return (
        Issue(
            "nki.G7",
            "warning",
            f"{len(flat) - good} of {len(flat)} lanes are out of bounds: the others move here, but a group that mixes "
            "both aborts the DMA on Trn2 and Trn3 with SDK 2.32.0",
            "",
            {"lanes": len(flat), "out_of_bounds": len(flat) - good},
            "nki-dma 3, aws-neuron-sdk report 1390",
            "sort the valid indices in front, or gather and transpose apart",
        ),
    )


def _feasible(run: KernelRun, transfer: Transfer, notes: tuple[Issue, ...]) -> tuple[Transfer, tuple[Issue, ...]]:
    """The transfer; a direct transpose of mode unknown that no word expresses is left to the host (D15)."""
    if transfer.mode != "unknown" or transfer.op != "transpose":
        return transfer, notes
    try:
        build_words(transfer, run.session.placement, run.generation, run.choices)
    except DgeError as problem:
        note = Issue(
            "nki.T4",
            "advice",
            f"the DGE cannot transpose this ({problem.message}); the host expands it",
            "",
            {},
            "nki-dma 4, decision D15",
        )
        return queued(replace(transfer, mode="none", queue="")), (*notes, note)
    return transfer, notes

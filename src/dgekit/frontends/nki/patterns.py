"""`.ap`: the author's access pattern with at most one run-time offset (nki-dma 3, nki.A1 to A5)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dgekit.core.dtypes import Dtype
from dgekit.frontends.nki.faults import KernelError
from dgekit.frontends.nki.indexing import number_of
from dgekit.frontends.nki.names import element_info
from dgekit.frontends.nki.tensor import NkiTensor

SOURCE = "nki-dma 3"
INDEX_TYPES = (Dtype.INT32, Dtype.UINT32)


def patterned(
    tensor: NkiTensor,
    pattern: Sequence[Sequence[int]],
    offset: int,
    scalar_offset: Any,
    vector_offset: Any,
    indirect_dim: int,
    dtype: Any,
) -> NkiTensor:
    """The view of a pattern; raises KernelError naming the rule of addressing that it breaks."""
    base = _base(tensor)
    view = base if dtype is None else replace(base, info=element_info(dtype))
    dims = _pairs(pattern)
    if scalar_offset is not None and vector_offset is not None:
        raise KernelError(
            "a view has one run-time offset, here are a scalar and a vector", rule="nki.A4", source=SOURCE,
            fix="drop one of them",
        )  # fmt: skip
    view = replace(
        view,
        shape=tuple(count for _, count in dims),
        strides=tuple(step for step, _ in dims),
        start=int(offset),
        pattern=dims,
        vector=None,
        scalar=False,
        indirect_dim=int(indirect_dim),
    )
    if vector_offset is not None:
        check_indices(view, vector_offset, dims[0][1], indirect_dim, columns=True)
        return replace(view, vector=vector_offset)
    if scalar_offset is None:
        return view
    return _moved(view, scalar_offset, int(indirect_dim))


def _base(tensor: NkiTensor) -> NkiTensor:
    """The tensor a pattern counts in: a whole one, or the base of an earlier pattern, which this one replaces."""
    if tensor.is_whole:
        return replace(tensor, base_shape=tensor.shape)
    if tensor.pattern is None:
        raise KernelError(
            f"a pattern counts from the start of its tensor, and this is a part of {tensor.name}",
            rule="nki.ap",
            values={"shape": list(tensor.shape), "start": tensor.start},
            source=SOURCE,
            fix="call .ap() on the tensor itself, with the offset in elements",
        )
    return tensor


def _pairs(pattern: Sequence[Sequence[int]]) -> tuple[tuple[int, int], ...]:
    dims = []
    for pair in pattern:
        if len(pair) != 2 or int(pair[1]) < 1:
            raise KernelError(
                f"{list(pair)} is no [step, count] of at least one element", rule="nki.ap", source=SOURCE,
                fix="pairs of [step, count], outermost first, in elements",
            )  # fmt: skip
        dims.append((int(pair[0]), int(pair[1])))
    if not dims:
        raise KernelError("a pattern has at least one [step, count]", rule="nki.ap", source=SOURCE)
    return tuple(dims)


def _moved(view: NkiTensor, scalar_offset: Any, dim: int) -> NkiTensor:
    """A scalar offset, read now: it counts rows of the base tensor's dimension (nki.A3)."""
    shape = view.base_shape
    if not 0 <= dim < len(shape):
        raise KernelError(f"indirect_dim {dim} of a tensor of {len(shape)} dimensions", rule="nki.A3", source=SOURCE)
    if dim == 0 and view.space != "hbm":
        raise KernelError(
            f"the partition of {view.name} cannot be chosen at run time", rule="nki.A5", source=SOURCE,
            fix="choose along a free dimension, or move through HBM",
        )  # fmt: skip
    value, _ = number_of(view, scalar_offset)
    return replace(view, start=view.start + value * math.prod(shape[dim + 1 :]), scalar=True)


def check_indices(view: NkiTensor, indices: Any, lanes: int, dim: int, *, columns: bool) -> None:
    """A vector of row indices as nki.A1 has it; `columns` allows the [128, n] tile of an indirect transpose."""
    facts = (
        (isinstance(indices, NkiTensor), "is a tensor", type(indices).__name__),
        (view.space == "hbm", "indexes a tensor in HBM", view.space),
        (dim == 0, "chooses along dimension 0", f"dimension {dim}"),
    )
    for holds, wanted, found in facts:
        if not holds:
            raise _no_vector(wanted, found)
    shape = indices.shape
    if indices.space != "sbuf" or indices.info.code not in INDEX_TYPES:
        raise _no_vector("lies in SBUF as int32 or uint32", f"{indices.info.name} in {indices.space}")
    wide = len(shape) == 2 and shape[1] > 1
    if len(shape) != 2 or (wide and not columns) or indices.size < lanes:
        raise _no_vector(f"has one index a partition, ({lanes}, 1)", str(shape))


def _no_vector(wanted: str, found: str) -> KernelError:
    return KernelError(
        f"a vector offset {wanted}; this has {found}",
        rule="nki.A1",
        values={"found": found, "wanted": wanted},
        source=SOURCE,
    )

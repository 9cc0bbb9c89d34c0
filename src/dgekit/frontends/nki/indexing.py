"""Indexing: whole numbers, slices, nl.ds, index tiles, and a tile of row indices (`a[idx, iy]`, D90)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dgekit.core.errors import Unsupported
from dgekit.frontends.nki.faults import KernelError
from dgekit.frontends.nki.names import Dynamic, Register
from dgekit.frontends.nki.tensor import NkiTensor, is_number


def indexed(tensor: NkiTensor, key: tuple[Any, ...]) -> NkiTensor:
    """The view that a subscript means; raises KernelError outside the tensor, Unsupported for other forms."""
    if tensor.vector is not None:
        raise KernelError(
            "a view with a vector offset cannot be indexed", rule="nki.A4", fix="write it into the pattern"
        )
    parts = _expanded(tensor, key)
    if parts and isinstance(parts[0], NkiTensor) and parts[0].size > 1:
        return _rows(tensor, parts)
    if any(isinstance(part, np.ndarray) and part.ndim for part in parts):
        return _tile(tensor, parts)
    return _plain(tensor, parts)


def _expanded(tensor: NkiTensor, key: tuple[Any, ...]) -> list[Any]:
    """One part a dimension (and the None of new ones), without an ellipsis."""
    given = sum(part is not None and part is not Ellipsis for part in key)
    if given > tensor.ndim or sum(part is Ellipsis for part in key) > 1:
        raise _bad(tensor, f"{given} indices for {tensor.ndim} dimensions")
    rest = [slice(None)] * (tensor.ndim - given)
    parts: list[Any] = []
    for part in key:
        parts += rest if part is Ellipsis else [part]
    return parts if Ellipsis in [part for part in key if part is Ellipsis] else parts + rest


# numbers and slices


def _plain(tensor: NkiTensor, parts: list[Any]) -> NkiTensor:
    start, scalar, dim = tensor.start, tensor.scalar, 0
    shape: list[int] = []
    strides: list[int] = []
    for part in parts:
        if part is None:
            shape.append(1)
            strides.append(0)
            continue
        extent, stride = tensor.shape[dim], tensor.strides[dim]
        dim += 1
        first, count, step, dynamic = _range(tensor, part, dim - 1, extent)
        start += first * stride
        scalar = scalar or dynamic
        if count is not None:
            shape.append(count)
            strides.append(stride * step)
    return replace(tensor, shape=tuple(shape), strides=tuple(strides), start=start, scalar=scalar, pattern=None)


def _range(tensor: NkiTensor, part: Any, dim: int, extent: int) -> tuple[int, int | None, int, bool]:
    """(first, count or None for a single index, step, known only at run time) of one part; nothing is clipped."""
    if isinstance(part, slice):
        step = 1 if part.step is None else int(part.step)
        low = 0 if part.start is None else int(part.start)
        high = extent if part.stop is None else int(part.stop)
        low, high = (value + extent if value < 0 else value for value in (low, high))
        count = -(-(high - low) // step) if step > 0 else 0
        if count < 1 or low < 0 or high > extent:
            raise _bad(tensor, f"{low}:{high}:{step} of dimension {dim}, which has {extent} elements")
        return low, count, step, False
    if isinstance(part, Dynamic):
        first, dynamic = number_of(tensor, part.start)
        if not dynamic and (part.size < 1 or not 0 <= first <= extent - part.size):
            raise _bad(tensor, f"ds({first}, {part.size}) of dimension {dim}, which has {extent} elements")
        return first, part.size, 1, dynamic
    index, dynamic = number_of(tensor, part)
    if dynamic:
        return index, None, 1, True
    if not -extent <= index < extent:
        raise _bad(tensor, f"index {index} of dimension {dim}, which has {extent} elements")
    return index % extent, None, 1, False


def number_of(tensor: NkiTensor, part: Any) -> tuple[int, bool]:
    """A whole number and whether it is known only at run time: a register, or a tile of one element read now."""
    if isinstance(part, NkiTensor):
        values = tensor.storage.run.read(part)
        if part.size != 1 or values.dtype.kind not in "iu":
            raise KernelError(
                f"a scalar offset is one whole number, not {part.shape} of {part.info.name}",
                rule="nki.A3",
                values={"shape": list(part.shape), "dtype": part.info.name},
                source="nki-dma 3",
            )
        return int(values.reshape(-1)[0]), True
    if isinstance(part, np.ndarray) and part.ndim == 0 and part.dtype.kind in "iu":
        return int(part), False
    if not is_number(part):
        raise Unsupported(f"an index of type {type(part).__name__}", rule="nki.index")
    return int(part), isinstance(part, Register)


def _bad(tensor: NkiTensor, what: str) -> KernelError:
    return KernelError(
        f"{what}: outside {tensor.name} of shape {tensor.shape}",
        rule="nki.index",
        values={"shape": list(tensor.shape)},
        fix="slices are not clipped; index tiles may reach over the end under a mask",
    )


# index tiles


def _tile(tensor: NkiTensor, parts: list[Any]) -> NkiTensor:
    """Index tiles as a view: their flat positions must be evenly spaced along each dimension."""
    flat, shape = _positions(tensor, parts, 0)
    strides = _steps(flat)
    if strides is None:
        raise Unsupported(
            f"index tiles of shape {shape} are not evenly spaced, so they are no access pattern",
            rule="nki.index",
            fix="use a vector offset for rows in any order",
        )
    start = tensor.start + int(flat.reshape(-1)[0])
    return replace(tensor, shape=shape, strides=strides, start=start, pattern=None)


def _positions(tensor: NkiTensor, parts: list[Any], first: int) -> tuple[npt.NDArray[np.int64], tuple[int, ...]]:
    """The flat element of every position, over the dimensions from `first` on."""
    terms: list[npt.NDArray[np.int64]] = []
    for dim, part in enumerate(parts[first:], first):
        if isinstance(part, slice) and part == slice(None) and tensor.shape[dim] == 1:
            part = 0
        if isinstance(part, slice) or part is None:
            raise Unsupported("slices beside index tiles", rule="nki.index", fix="write the slice as an index tile")
        if isinstance(part, np.ndarray):
            if part.dtype.kind not in "iu":
                raise Unsupported(f"an index tile of {part.dtype}", rule="nki.index")
            terms.append(part.astype(np.int64) * tensor.strides[dim])
        else:
            terms.append(np.asarray(number_of(tensor, part)[0] * tensor.strides[dim], np.int64))
    try:
        flat = sum(np.broadcast_arrays(*terms), np.zeros((), np.int64))
    except ValueError:
        shapes = [list(term.shape) for term in terms]
        raise KernelError(f"index tiles of shapes {shapes} do not broadcast", rule="nki.index") from None
    return np.asarray(flat), tuple(np.shape(flat))


def _steps(flat: npt.NDArray[np.int64]) -> tuple[int, ...] | None:
    """The step along each dimension, None when some dimension has no single step."""
    if not flat.size:
        return None
    first = int(flat.reshape(-1)[0])
    steps = tuple(
        int(np.asarray(flat.take(1, axis)).reshape(-1)[0]) - first if n > 1 else 0 for axis, n in enumerate(flat.shape)
    )
    even = all((np.diff(flat, axis=axis) == step).all() for axis, step in enumerate(steps))
    return steps if even else None


# rows by index


def _rows(tensor: NkiTensor, parts: list[Any]) -> NkiTensor:
    """`a[idx, iy]`: row idx[p] for partition p, the columns of the other index tiles."""
    from dgekit.frontends.nki.patterns import check_indices

    indices: NkiTensor = parts[0]
    check_indices(tensor, indices, indices.size, 0, columns=False)
    if all(isinstance(part, slice) and part == slice(None) for part in parts[1:]):
        columns, strides = tensor.shape[1:], tensor.strides[1:]
        start = 0
    else:
        flat, shape = _positions(tensor, parts, 1)
        steps = _steps(flat)
        if steps is None or (len(shape) > 1 and shape[0] != 1 and steps[0] != 0):
            raise Unsupported("columns of a gather that differ from row to row", rule="nki.index")
        columns, strides, start = shape[1:], steps[1:], int(flat.reshape(-1)[0])
    return replace(
        tensor,
        shape=(indices.size, *columns),
        strides=(tensor.strides[0], *strides),
        start=tensor.start + start,
        base_shape=tensor.shape,
        vector=indices,
        pattern=None,
    )

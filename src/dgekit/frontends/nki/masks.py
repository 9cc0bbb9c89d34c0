"""`mask=`: a predicate over an index tile, as the rectangles it lets through."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dgekit.frontends.nki.faults import KernelError
from dgekit.frontends.nki.tensor import NkiTensor

Box = tuple[tuple[int, int], ...]
Mask = npt.NDArray[np.bool_]


def boxes(mask: Mask) -> Iterator[Box]:
    """The true elements as boxes of (low, high) along each dimension; rows of equal form together.

    >>> list(boxes(np.array([[1, 1, 0], [1, 1, 0], [0, 0, 0]], bool)))
    [((0, 2), (0, 2))]
    >>> list(boxes(np.array([[1, 0, 1], [0, 1, 0]], bool)))
    [((0, 1), (0, 1)), ((0, 1), (2, 3)), ((1, 2), (1, 2))]
    """
    if mask.ndim == 0:
        if mask:
            yield ()
        return
    first, rows = 0, len(mask)
    while first < rows:
        same = (mask[first + 1 :] == mask[first]).all(axis=tuple(range(1, mask.ndim)))
        last = first + 1 + (int(np.argmin(same)) if not same.all() else len(same))
        for box in boxes(mask[first]):
            yield ((first, last), *box)
        first = last


def cut(view: NkiTensor, box: Box) -> NkiTensor:
    """The part of a view that a box names."""
    start = view.start + sum(low * stride for (low, _), stride in zip(box, view.strides, strict=True))
    return replace(view, shape=tuple(high - low for low, high in box), start=start)


def masked(dst: NkiTensor, src: NkiTensor, mask: Any) -> Iterator[tuple[NkiTensor, NkiTensor]]:
    """The pieces of a copy under a mask; the whole copy without one."""
    if mask is None:
        yield dst, src
        return
    if dst.shape != src.shape:
        raise KernelError(
            f"a masked copy needs equal shapes, here are {dst.shape} and {src.shape}", rule="nki.mask",
            values={"dst": list(dst.shape), "src": list(src.shape)},
        )  # fmt: skip
    try:
        wanted = np.broadcast_to(np.asarray(mask, bool), dst.shape)
    except (ValueError, TypeError):
        raise KernelError(
            f"a mask of shape {np.shape(mask)} does not cover {dst.shape}", rule="nki.mask", values={}
        ) from None
    vectors = [view for view in (dst, src) if view.vector is not None]
    for box in boxes(wanted):
        if vectors and box[0] != (0, dst.shape[0]):
            raise KernelError("a mask over the rows of a gather or scatter", rule="nki.mask", fix="use oob_mode.skip")
        yield cut(dst, box), cut(src, box)

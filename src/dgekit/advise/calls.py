"""The call that a transfer stands for, where its author wrote none: from a transfer file or a NEFF (D82).

Shapes are the counts of the patterns, outermost first. A copy with `accumulate` and a `reduce` are dma_compute; row
indices in partition 0 (D26) are judged as the one-a-partition tensor that NKI has.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from dgekit.core.dtypes import DtypeInfo
from dgekit.core.generations import Generation
from dgekit.frontends.nki.versions import DEFAULT_VERSION
from dgekit.patterns.channels import partitions_touched
from dgekit.patterns.walk import Walk
from dgekit.transfers.access import whole_pattern
from dgekit.transfers.call import Call, Dynamic, Function, View
from dgekit.transfers.transfer import Access, Tensor, Transfer

COLUMN = 128
Tensors = Mapping[str, Tensor]


def call_of_transfer(
    transfer: Transfer, tensors: Tensors, generation: Generation, version: str = DEFAULT_VERSION
) -> Call | None:
    """The author's call, else one derived; None where a side names no tensor or has no whole elements.

    >>> from dgekit.core.dtypes import dtype_named
    >>> from dgekit.core.generations import CAYMAN
    >>> kind = dtype_named("float32")
    >>> known = {"x": Tensor("x", "hbm", (64, 8), kind), "y": Tensor("y", "sbuf", (64, 8), kind)}
    >>> call = call_of_transfer(Transfer("t", "copy", Access("x"), Access("y")), known, CAYMAN)
    >>> call.function, call.dst.shape, call.dst.partitions
    ('dma_copy', (64, 8), 64)
    """
    if transfer.call is not None:
        return transfer.call
    accesses = [transfer.src, transfer.dst, *transfer.srcs, *([transfer.indices] if transfer.indices else [])]
    if any(not _is_whole(access, tensors) for access in accesses):
        return None
    return _Derived(transfer, tensors, generation, version).call()


def _is_whole(access: Access, tensors: Tensors) -> bool:
    tensor = tensors.get(access.tensor)
    return tensor is not None and (access.dtype or tensor.dtype).size > 0 and all(tensor.shape)


class _Derived:
    """One derivation: the transfer and what it is looked up in."""

    def __init__(self, transfer: Transfer, tensors: Tensors, generation: Generation, version: str) -> None:
        self.transfer, self.tensors, self.generation, self.version = transfer, tensors, generation, version

    def call(self) -> Call:
        """The call of the transfer's op."""
        transfer = self.transfer
        if transfer.op == "reduce":
            sources = tuple(self._view(access) for access in transfer.srcs)
            made = self._make("dma_compute", self._view(transfer.dst), sources)
            return replace(made, rmw_op=transfer.compute, scales=transfer.scales)
        src, dst = self._view(transfer.src), self._view(transfer.dst)
        if transfer.op in ("gather", "gather_transpose"):
            src = self._indexed(src, transfer.src)
        elif transfer.op == "scatter":
            dst = self._indexed(dst, transfer.dst)
        if transfer.op in ("transpose", "gather_transpose"):
            return replace(self._make("dma_transpose", dst, (src,)), axes=(1, 0))
        if transfer.accumulate:
            return replace(self._make("dma_compute", dst, (dst, src)), rmw_op=transfer.accumulate)
        return self._make("dma_copy", dst, (src,))

    def _make(self, function: Function, dst: View, srcs: tuple[View, ...]) -> Call:
        transfer = self.transfer
        return Call(
            function,
            dst,
            srcs,
            self._index_view(),
            dge_mode=transfer.mode,
            oob_mode=transfer.oob,
            priority=transfer.priority - 1 if transfer.priority else None,  # D83
            nki_version=self.version,
            line=transfer.where,
        )

    def _view(self, access: Access, dynamic: Dynamic = "") -> View:
        tensor = self.tensors[access.tensor]
        info = access.dtype or tensor.dtype
        dims = self._dims(access, tensor, info)
        shape = tuple(count for _, count in dims) if access.pattern is not None else self._shape(tensor, dims)
        partitions, first = self._partitions(access, dims, tensor, info)
        space: Literal["hbm", "sbuf"] = tensor.space
        pattern = access.pattern
        return View(
            tensor.name, space, shape, info, tensor.shape, pattern, access.offset, dynamic, 0, partitions, first
        )

    def _dims(self, access: Access, tensor: Tensor, info: DtypeInfo) -> tuple[tuple[int, int], ...]:
        return access.pattern if access.pattern is not None else whole_pattern(tensor, info.size)

    def _shape(self, tensor: Tensor, dims: tuple[tuple[int, int], ...]) -> tuple[int, ...]:
        """A whole tensor: as it is declared, but two-dimensional in a transpose."""
        if self.transfer.op in ("transpose", "gather_transpose"):
            return tuple(count for _, count in dims)
        return tensor.shape

    def _partitions(
        self, access: Access, dims: tuple[tuple[int, int], ...], tensor: Tensor, info: DtypeInfo
    ) -> tuple[int, int]:
        """Partitions touched and the first; in elements, so that no placement is needed."""
        if tensor.space != "sbuf":
            return 0, 0
        row = self._row(tensor) // info.size
        start = access.offset + ((tensor.offset or 0) // info.size if tensor.linear else 0)
        moving = tuple((step, count) for step, count in reversed(dims) if count > 1)
        if row < 1 or any(count < 1 for _, count in dims):
            return 0, 0
        return partitions_touched(Walk(start, moving, 1), 0, row), (tensor.partition or 0) + start // row

    def _row(self, tensor: Tensor) -> int:
        """Bytes of one partition."""
        return self.generation.partition_stride if tensor.linear else tensor.row_elements * tensor.dtype.size

    def _indexed(self, view: View, access: Access) -> View:
        """The indexed side as the call sees it: one row for each index."""
        tensor = self.tensors[access.tensor]
        (step, _), *inner = self._dims(access, tensor, view.dtype)
        lanes = self._lanes()
        row = inner if access.pattern is not None else [(1, extent) for extent in view.shape[1:]]
        pattern = ((step, lanes), *inner) if access.pattern is not None else None
        return replace(
            view, shape=(lanes, *(count for _, count in row)), pattern=pattern, dynamic="vector", partitions=lanes
        )

    def _lanes(self) -> int:
        indices = self.transfer.indices
        if indices is None:
            return 0
        tensor = self.tensors[indices.tensor]
        dims = self._dims(indices, tensor, indices.dtype or tensor.dtype)
        return math.prod(count for _, count in dims)

    def _index_view(self) -> View | None:
        """The indices as (N, 1), or as whole columns of 128 for a transpose."""
        if self.transfer.indices is None:
            return None
        view, lanes = self._view(self.transfer.indices), self._lanes()
        columns = lanes // COLUMN if self.transfer.op == "gather_transpose" and lanes % COLUMN == 0 else 1
        return replace(view, shape=(lanes // max(1, columns), max(1, columns)), pattern=None)

"""What compute engines do for data movement: memset, iota, assignment of a tile, registers (D90)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dgekit.core.errors import Unsupported
from dgekit.frontends.nki.faults import KernelError
from dgekit.frontends.nki.kernel_run import KernelRun
from dgekit.frontends.nki.names import Register
from dgekit.frontends.nki.tensor import NkiTensor
from dgekit.machine.contents import value_dtype


def fill(run: KernelRun, view: NkiTensor, value: Any) -> None:
    """Every element gets the number."""
    run.write(view, _elements(np.asarray(value), view).tobytes())


def count_up(
    run: KernelRun, view: NkiTensor, pattern: Sequence[Sequence[int]], offset: int, channel_multiplier: int
) -> None:
    """iota: element (p, i, j ...) gets offset + p * channel_multiplier + i * step + j * step ..."""
    counts = [int(count) for _, count in pattern]
    inside = int(np.prod(counts, dtype=np.int64))
    if not view.ndim or view.size != view.shape[0] * inside:
        raise KernelError(
            f"an iota of {counts} a partition does not fill {view.shape}",
            rule="nki.iota",
            values={"pattern": counts, "dst": list(view.shape)},
        )
    values = np.zeros((1,), np.int64)
    for step, count in pattern:
        values = (values[:, None] + np.arange(int(count), dtype=np.int64) * int(step)).ravel()
    lanes = np.arange(view.shape[0], dtype=np.int64) * int(channel_multiplier)
    run.write(view, _elements(lanes[:, None] + values + int(offset), view).tobytes())


def values_of(run: KernelRun, view: NkiTensor, array: npt.NDArray[Any]) -> None:
    """The elements of an array, in order."""
    run.write(view, _elements(array, view).tobytes())


def assign(view: NkiTensor, value: Any) -> None:
    """`tile[...] = value`: a number, or another tile of the same type and as many elements."""
    run = view.storage.run
    if not isinstance(value, NkiTensor):
        if isinstance(value, int | float | np.number):
            fill(run, view, value)
            return
        raise Unsupported(f"assigning a {type(value).__name__} to a tile", rule="nki.assign")
    if value.storage is view.storage and value.access() == view.access():
        return  # Python stores `tile[...] += x` and the like back into its place
    if value.info != view.info or value.size != view.size:
        raise KernelError(
            f"a tile of {value.shape} {value.info.name} assigned to {view.shape} {view.info.name}",
            rule="nki.assign",
            values={"value": list(value.shape), "tile": list(view.shape)},
            fix="load with dtype=, or give both the same shape",
        )
    if "hbm" in (view.space, value.space):
        raise Unsupported("assigning from or to HBM", rule="nki.assign", fix="use nl.load, nl.store or dma_copy")
    run.write(view, run.read(value).tobytes())


def load_register(run: KernelRun, register: Any, view: NkiTensor) -> None:
    """The one element of a view, as a register holds it."""
    checked_register(register).value = int(run.read(view).reshape(-1)[0]) if view.size == 1 else _no_scalar(view)


def store_register(run: KernelRun, view: NkiTensor, register: Any) -> None:
    """A register into the one element of a view."""
    if view.size != 1:
        _no_scalar(view)
    fill(run, view, int(checked_register(register)))


def checked_register(given: Any) -> Register:
    """A register; raises KernelError for anything else."""
    if not isinstance(given, Register):
        raise KernelError(
            f"{type(given).__name__} is no register", rule="nki.register", fix="register_alloc() makes one"
        )
    return given


def _no_scalar(view: NkiTensor) -> int:
    raise KernelError(
        f"a register takes one element, {view.name} has shape {view.shape}",
        rule="nki.register",
        values={"shape": list(view.shape)},
    )


def _elements(values: npt.NDArray[Any], view: NkiTensor) -> npt.NDArray[Any]:
    """Numbers as elements of the view's type; raises KernelError for whole numbers that do not fit."""
    dtype = value_dtype(view.info)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        low, high = (int(edge) for edge in (values.min(), values.max()))
        if low < limits.min or high > limits.max or (values != np.trunc(values)).any():
            raise KernelError(
                f"values from {low} to {high} do not fit {view.info.name}",
                rule="nki.value",
                values={"low": low, "high": high, "minimum": int(limits.min), "maximum": int(limits.max)},
            )
        return values.astype(dtype)
    return values.astype(np.float32).astype(dtype)

"""The part of nki.language that makes tensors, indices and loops, and loads and stores (D90)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dgekit.frontends.nki import copies, names, onchip
from dgekit.frontends.nki.faults import KernelError, instruction
from dgekit.frontends.nki.kernel_run import current
from dgekit.frontends.nki.names import Dynamic, MeshGrid, ParDim, Region, TileSize, region_space
from dgekit.frontends.nki.operands import Options, tensor_operand
from dgekit.frontends.nki.tensor import NkiTensor

mgrid = MeshGrid()
tile_size = TileSize()
_VALUES: dict[str, Any] = {**names.ELEMENTS, **names.REGIONS, **names.OPERATORS}

__all__ = [
    "NkiTensor", "affine_range", "arange", "ds", "full", "load", "mgrid", "ndarray", "num_programs", "par_dim",
    "program_id", "sequential_range", "static_range", "store", "tile_size", "zeros",
]  # fmt: skip

# tensors


@instruction
def ndarray(shape: Any, dtype: Any, buffer: Any = None, name: str = "", **others: Any) -> NkiTensor:
    """A new tensor, in SBUF unless `buffer` says otherwise; it holds what its memory held."""
    _refuse_others("ndarray", others)
    space = region_space(buffer)
    region = buffer if isinstance(buffer, Region) else names.REGIONS[space]
    return current().allocate(shape, dtype, region, name or "")


@instruction
def zeros(shape: Any, dtype: Any, buffer: Any = None, name: str = "", **others: Any) -> NkiTensor:
    """A new tensor of zeros."""
    return full(shape, 0, dtype, buffer, name, **others)


@instruction
def full(shape: Any, fill_value: Any, dtype: Any, buffer: Any = None, name: str = "", **others: Any) -> NkiTensor:
    """A new tensor of one number."""
    tensor = ndarray(shape, dtype, buffer, name, **others)
    onchip.fill(current(), tensor, fill_value)
    return tensor


def _refuse_others(function: str, others: dict[str, Any]) -> None:
    """Arguments of other versions that say nothing of the data are let pass; others are named."""
    for name in others:
        if name not in ("init_value", "lazy_initialization"):
            names.Absent(f"nki.language.{function}({name}=)").refuse()


# loads and stores


@instruction
def load(src: Any, *, mask: Any = None, dtype: Any = None, **others: Any) -> NkiTensor:
    """A new SBUF tile with the elements of an HBM view; where the mask is false the tile keeps what was there."""
    _refuse_others("load", others)
    run, of = current(), tensor_operand(src, "src")
    tile = run.allocate(of.shape, of.info.name if dtype is None else dtype)
    copies.copy(run, tile, of, Options(name="load"), mask=mask)
    return tile


@instruction
def store(dst: Any, value: Any, *, mask: Any = None, **others: Any) -> None:
    """An SBUF tile into an HBM view, under a mask."""
    _refuse_others("store", others)
    run = current()
    to, of = tensor_operand(dst, "dst"), tensor_operand(value, "value")
    copies.copy(run, to, of, Options(name="store"), mask=mask)


# indices and loops


def arange(*args: int) -> npt.NDArray[np.int64]:
    """An index tile, as numpy's arange."""
    return np.arange(*args, dtype=np.int64)


def ds(start: Any, size: int) -> Dynamic:
    """The slice of `size` elements from `start`, which may be a register or a tile of one element."""
    return Dynamic(start, size)


def par_dim(extent: int) -> ParDim:
    """Marks the dimension of a shape that lies along the partitions."""
    return ParDim(extent)


@instruction
def affine_range(start: Any, stop: Any = None, step: Any = 1) -> Iterable[int]:
    """The numbers of a loop without order between its rounds; here it runs in order."""
    return range(*_bounds(start, stop, step))


@instruction
def sequential_range(start: Any, stop: Any = None, step: Any = 1) -> Iterable[int]:
    """The numbers of a loop whose rounds are in order."""
    return range(*_bounds(start, stop, step))


@instruction
def static_range(start: Any, stop: Any = None, step: Any = 1) -> Iterable[int]:
    """The numbers of a loop that is unrolled."""
    return range(*_bounds(start, stop, step))


def _bounds(start: Any, stop: Any, step: Any) -> tuple[int, int, int]:
    try:
        low, high = (0, int(start)) if stop is None else (int(start), int(stop))
        return low, high, int(step)
    except (TypeError, ValueError):
        raise KernelError("the bounds of a loop are whole numbers", rule="nki.operand") from None


def program_id(axis: int = 0) -> int:
    """The number of this program in its launch grid: one program runs here."""
    del axis
    return 0


def num_programs(axes: int | Sequence[int] = 0) -> int:
    """The size of the launch grid: one."""
    del axes
    return 1


def __getattr__(name: str) -> Any:
    return _VALUES[name] if name in _VALUES else names.absent("nki.language", name)


def __dir__() -> list[str]:
    return sorted([*__all__, *_VALUES])

"""Initial contents of tensors, and tensors as arrays: between numpy arrays, .npy files and dense bytes.

Types that numpy lacks travel as uint8 or uint16 storage (decision D54).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dgekit.core.dtypes import DtypeInfo
from dgekit.core.errors import InputError
from dgekit.transfers.transfer import Tensor

U8 = npt.NDArray[np.uint8]
BLOCK = 1 << 20  # elements generated at a time; random bytes come in fours, so a block keeps their sequence


def value_dtype(info: DtypeInfo) -> np.dtype[Any]:
    """The numpy (or ml_dtypes) dtype that holds values of this element type."""
    try:
        return np.dtype(info.storage)
    except TypeError:
        import ml_dtypes

        extra: np.dtype[Any] = np.dtype(getattr(ml_dtypes, info.storage))
        return extra


def file_dtype(info: DtypeInfo) -> np.dtype[Any]:
    """The dtype of a saved .npy file: numpy's own where it has one, else uint8 or uint16 (D54)."""
    native = value_dtype(info)
    return native if native.isbuiltin == 1 else np.dtype(f"uint{info.bits}")


def dense_bytes(array: npt.NDArray[Any], tensor: Tensor) -> U8:
    """The bytes of `array` as the contents of `tensor`; raises InputError when shape or type do not fit."""
    wanted = value_dtype(tensor.dtype)
    accepted = {wanted, file_dtype(tensor.dtype), np.dtype(f"V{max(1, tensor.dtype.size)}")}
    if array.dtype not in accepted:
        raise InputError(
            f"array of {array.dtype} given for tensor {tensor.name} of {tensor.dtype.name}",
            rule="dec.D54",
            where=tensor.where or tensor.name,
            values={"given": str(array.dtype), "declared": tensor.dtype.name},
            fix="convert it first, or save its raw bits as " + str(file_dtype(tensor.dtype)),
        )
    if array.shape != tensor.shape:
        raise InputError(
            f"array of shape {tuple(array.shape)} given for tensor {tensor.name} of shape {tensor.shape}",
            rule="tensor.shape",
            where=tensor.where or tensor.name,
            values={"given": list(array.shape), "declared": list(tensor.shape)},
        )
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def as_array(data: U8, tensor: Tensor, *, for_file: bool = False) -> npt.NDArray[Any]:
    """Dense bytes as an array of the tensor's shape; `for_file` uses the storage dtype of a .npy file."""
    dtype = file_dtype(tensor.dtype) if for_file else value_dtype(tensor.dtype)
    return np.ascontiguousarray(data).view(dtype).reshape(tensor.shape)


def load_npy(path: Path, where: str) -> npt.NDArray[Any]:
    """An array from a .npy file; raises InputError for anything else (pickles are never loaded)."""
    try:
        loaded = np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise InputError(f"no file {path}", rule="input.file", where=where) from None
    except Exception as problem:  # numpy's header parser lets syntax, token, overflow and memory errors through
        raise InputError(f"{path} is no .npy array: {str(problem)[:200]}", rule="input.npy", where=where) from None
    if not isinstance(loaded, np.ndarray):
        raise InputError(f"{path} is an archive, not one .npy array", rule="input.npy", where=where)
    return loaded


def initial_bytes(tensor: Tensor, base_dir: Path | None, arrays: Mapping[str, Any]) -> U8 | None:
    """What the tensor holds when a run starts; None = uninitialised.

    `arrays` wins over the tensor's own `init`: numpy arrays, or bytes for a raw variable.
    """
    if tensor.name in arrays:
        return _given(arrays[tensor.name], tensor)
    if not tensor.init:
        return None
    if tensor.init.endswith(".npy"):
        path = (base_dir or Path()) / tensor.init
        return dense_bytes(load_npy(path, tensor.where or tensor.name), tensor)
    return _generated(tensor)


def _given(value: Any, tensor: Tensor) -> U8:
    if isinstance(value, np.ndarray):
        return dense_bytes(value, tensor)
    data = np.frombuffer(bytes(value), np.uint8)
    if len(data) > tensor.nbytes:
        raise InputError(
            f"{len(data)} bytes given for tensor {tensor.name} of {tensor.nbytes} bytes",
            rule="tensor.shape",
            where=tensor.where or tensor.name,
            values={"given": len(data), "declared": tensor.nbytes},
        )
    return np.pad(data, (0, tensor.nbytes - len(data)))


def _generated(tensor: Tensor) -> U8:
    """Generated contents, made a block at a time: the values are wider than most element types."""
    data = np.zeros(tensor.nbytes, np.uint8)
    if tensor.init == "zeros":
        return data
    values_of = _source(tensor)
    elements = data.view(value_dtype(tensor.dtype))
    for first in range(0, tensor.elements, BLOCK):
        count = min(BLOCK, tensor.elements - first)
        elements[first : first + count] = values_of(first, count)
    return data


def _source(tensor: Tensor) -> Callable[[int, int], npt.NDArray[Any]]:
    """What gives the values of elements first .. first + count, asked for in order."""
    dtype = value_dtype(tensor.dtype)
    if tensor.init == "ones":
        return lambda first, count: np.ones(count, dtype)
    if tensor.init == "arange":  # integers wrap at their width
        exact = np.int64 if dtype.kind in "iu" else np.float32
        return lambda first, count: np.arange(first, first + count, dtype=np.int64).astype(exact).astype(dtype)
    if tensor.init == "random":
        return _random(tensor.seed, dtype)
    raise InputError(
        f"tensor {tensor.name} has no initial contents named {tensor.init!r}",
        rule="tensor.init",
        where=tensor.where or tensor.name,
        fix="arange, zeros, ones, random, or a path ending in .npy",
    )


def _random(seed: int, dtype: np.dtype[Any]) -> Callable[[int, int], npt.NDArray[Any]]:
    rng = np.random.default_rng(seed)
    if dtype.kind in "iu":
        return lambda first, count: rng.integers(0, 256, count * dtype.itemsize, np.uint8).view(dtype)
    return lambda first, count: rng.standard_normal(count, np.float32).astype(dtype)

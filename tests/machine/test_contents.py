"""Generated contents: the same whatever the block they are made in, with the values their names promise."""

from __future__ import annotations

import numpy as np
import pytest

from dgekit.core.dtypes import dtype_named
from dgekit.core.errors import InputError
from dgekit.machine import contents
from dgekit.machine.contents import initial_bytes, value_dtype
from dgekit.transfers.transfer import Tensor

NAMES = ["int8", "uint8", "int16", "int32", "uint32", "int64", "float16", "bfloat16", "float32", "float8_e5m2"]
COUNT = 5003


def made(dtype: str, init: str, monkeypatch: pytest.MonkeyPatch, block: int = 1 << 20) -> np.ndarray:
    monkeypatch.setattr(contents, "BLOCK", block)
    data = initial_bytes(Tensor("x", "hbm", (COUNT,), dtype_named(dtype), init), None, {})
    assert data is not None
    return data


@pytest.mark.parametrize("dtype", NAMES)
@pytest.mark.parametrize("init", ["arange", "ones", "zeros", "random"])
def test_the_block_does_not_show(dtype: str, init: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, pieces = made(dtype, init, monkeypatch), made(dtype, init, monkeypatch, block=256)
    assert whole.tobytes() == pieces.tobytes()


@pytest.mark.parametrize("dtype", NAMES)
def test_values(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counting wraps at an integer's width and rounds once, from fp32, for a float."""
    storage = value_dtype(dtype_named(dtype))
    counted = np.array([n & ((1 << 8 * storage.itemsize) - 1) for n in range(COUNT)], np.uint64)
    if storage.kind in "iu":
        wanted = counted.astype(f"u{storage.itemsize}").view(storage)
    else:
        wanted = np.arange(COUNT).astype(np.float32).astype(storage)
    assert made(dtype, "arange", monkeypatch).tobytes() == wanted.tobytes()
    assert made(dtype, "ones", monkeypatch).tobytes() == np.ones(COUNT, storage).tobytes()
    assert not made(dtype, "zeros", monkeypatch).any()


def test_random_contents_follow_the_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = [Tensor("x", "hbm", (64,), dtype_named("float32"), "random", seed=seed) for seed in (0, 0, 1)]
    first, again, other = (initial_bytes(tensor, None, {}) for tensor in kinds)
    assert first is not None and again is not None and other is not None
    assert first.tobytes() == again.tobytes() != other.tobytes()


def test_unknown_contents() -> None:
    with pytest.raises(InputError) as caught:
        initial_bytes(Tensor("x", "hbm", (4,), dtype_named("int8"), "eye"), None, {})
    assert caught.value.rule == "tensor.init"


def test_memory_stays_near_the_tensor() -> None:
    """An int8 tensor is not counted up in 8-byte integers first: the peak is about its own size."""
    import tracemalloc

    size = 64 << 20
    tracemalloc.start()
    initial_bytes(Tensor("x", "hbm", (size,), dtype_named("int8"), "arange"), None, {})
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < size + (64 << 20)

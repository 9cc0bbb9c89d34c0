"""Collectives for tests: setups, inputs, results as arrays, and an oracle of the ring law that shares no code."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dgekit.collectives.prepare import prepare
from dgekit.collectives.request import Request, Setup
from dgekit.collectives.run import CollectiveResult, run_collective
from dgekit.core.choices import Choices
from dgekit.core.dtypes import dtype_named
from dgekit.core.generations import CAYMAN, Generation
from dgekit.machine.contents import value_dtype


def setup_of(
    kind: str,
    algo: str,
    ranks: int,
    dtype: str,
    elements: int,
    *,
    generation: Generation = CAYMAN,
    choices: dict[str, object] | None = None,
    **options: Any,
) -> Setup:
    return prepare(Request(kind, algo, ranks, dtype_named(dtype), elements, **options), generation, Choices(choices))


def run(setup: Setup, rows: list[np.ndarray], **options: Any) -> CollectiveResult:
    """Run on one array a rank, of the element type's values."""
    return run_collective(setup, [np.ascontiguousarray(row).view(np.uint8) for row in rows], **options)


def values(setup: Setup, row: np.ndarray) -> np.ndarray:
    return row.view(value_dtype(setup.request.dtype))


def small_integers(setup: Setup, seed: int = 0) -> list[np.ndarray]:
    """Rows whose sums every element type holds exactly, for up to 16 ranks."""
    rng = np.random.default_rng(seed)
    return [held(setup, rank, rng.integers(0, 2, setup.request.elements)) for rank in range(setup.ranks)]


def normal(setup: Setup, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [held(setup, rank, rng.standard_normal(setup.request.elements, np.float32)) for rank in range(setup.ranks)]


def held(setup: Setup, rank: int, row: np.ndarray) -> np.ndarray:
    """What a rank's input holds of a full vector: all, or for an all-gather its shard (D73)."""
    if setup.kind == "allgather":
        shard = -(-len(row) // setup.ranks)
        row = row[rank * shard : (rank + 1) * shard]
    return row.astype(value_dtype(setup.request.dtype))


def add(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """One hop: add wide, round or saturate to the type; int32, uint32 and 64-bit types wrap."""
    if a.dtype.kind in "iu":
        if a.dtype.itemsize >= 4:
            return a + b
        limits = np.iinfo(a.dtype)
        return np.clip(a.astype(np.int64) + b, limits.min, limits.max).astype(a.dtype)
    return (a.astype(np.float32) + b.astype(np.float32)).astype(a.dtype)


def ring_law(rows: list[np.ndarray], chunk_of: np.ndarray) -> np.ndarray:
    """cce 7.4: chunk k folds from the successor of k round to k, rounded after each hop; `chunk_of` per element."""
    ranks = len(rows)
    out = np.empty_like(rows[0])
    for chunk in range(ranks):
        mine = chunk_of == chunk
        total = rows[(chunk + 1) % ranks][mine]
        for hop in range(2, ranks + 1):
            total = add(total, rows[(chunk + hop) % ranks][mine])
        out[mine] = total
    return out


def one_pass_chunks(elements: int, ranks: int, channels: int = 1) -> np.ndarray:
    """CHOICE-51 and 54 in one pass: channels one after the other, in each the ranks' chunks of 32 elements' units."""
    shares = ranks * channels
    chunk = math.ceil(math.ceil(elements / shares) / 32) * 32
    return np.arange(elements) // chunk % ranks

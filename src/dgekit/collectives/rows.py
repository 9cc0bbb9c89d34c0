"""The inputs of the ranks: rows of a .npy file, or generated; and the rows of results, written one after the other."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dgekit.collectives.actor import U8
from dgekit.collectives.request import Setup
from dgekit.core.dtypes import DtypeInfo
from dgekit.core.errors import InputError
from dgekit.machine.contents import dense_bytes, file_dtype, initial_bytes, load_npy
from dgekit.transfers.transfer import Tensor


def generated_row(setup: Setup, rank: int) -> U8:
    """The input of a rank that nobody gave: random values from the seed `rank`."""
    first, end = setup.held(rank, output=False)
    if first == end:
        return np.zeros(0, np.uint8)
    tensor = Tensor(f"rank {rank}", "hbm", (end - first,), setup.request.dtype, init="random", seed=rank)
    row = initial_bytes(tensor, None, {})
    assert row is not None
    return row


def load_rows(path: str, where: str) -> npt.NDArray[Any]:
    """The array of a file, not yet read into memory: one row a rank; raises InputError for another shape."""
    rows = load_npy(Path(path), where)
    if rows.ndim != 2 or not rows.size:
        raise InputError(
            f"{path} holds an array of shape {rows.shape}, not one row of elements a rank",
            rule="collective.rows",
            where=where,
            values={"shape": list(rows.shape)},
        )
    return rows


def row_of(setup: Setup, rows: npt.NDArray[Any], rank: int, where: str) -> U8:
    """The input of one rank from the rows of all; the last shard of an all-gather may be longer than it needs.

    Raises InputError where shape or type do not fit.
    """
    kind = setup.request.dtype
    wanted = (setup.ranks, setup.shard if not setup.reduces else setup.request.elements)
    if rows.shape != wanted:
        raise InputError(
            f"{where} has shape {rows.shape}, {setup.kind} of {setup.request.elements} elements over {setup.ranks} "
            f"ranks takes {wanted}",
            rule="collective.rows",
            where=where,
            values={"given": list(rows.shape), "wanted": list(wanted)},
            source="dec.D73",
        )
    row = dense_bytes(rows[rank], Tensor(where, "hbm", (wanted[1],), kind, where=where))
    first, end = setup.held(rank, output=False)
    return row[: (end - first) * kind.size]


def out_width(setup: Setup) -> int:
    """Elements of one row of results: the full vector, or a whole shard."""
    return setup.request.elements if setup.kind != "reducescatter" else setup.shard


def save_rows(path: str, kind: DtypeInfo, ranks: int, width: int, rows: Iterable[U8]) -> None:
    """Write a .npy file of one row a rank, a row at a time; shorter rows end in zeros. Nothing is left half-written."""
    target = Path(path).resolve()
    partial = target.with_name(target.name + ".partial")
    try:
        with partial.open("wb") as file:
            header = {"descr": file_dtype(kind).newbyteorder("<").str, "fortran_order": False, "shape": (ranks, width)}
            np.lib.format.write_array_header_1_0(file, header)
            for row in rows:
                file.write(row.data)
                file.write(bytes(width * kind.size - row.size))
        partial.replace(target)
    except OSError as problem:
        partial.unlink(missing_ok=True)
        raise InputError(f"cannot write {path}: {problem.strerror}", rule="output.file", where=path) from None

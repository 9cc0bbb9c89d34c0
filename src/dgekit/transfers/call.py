"""A data movement as its author wrote it: what the legality rules look at, beside the transfer it becomes.

Patterns and shapes are in elements, outermost first, as NKI writes them (nki-dma 3). A front end that knows the
author's call attaches it to each `Transfer` it yields; for others `advise` derives one from the transfer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dgekit.core.dtypes import DtypeInfo

Function = Literal["dma_copy", "dma_transpose", "dma_compute", "sendrecv", "core_barrier"]
Dynamic = Literal["", "scalar", "vector"]


@dataclass(frozen=True, slots=True)
class View:
    """One operand: `shape` is what the call sees, `base_shape` the tensor under it.

    `pattern` is the author's `.ap` pattern (None: a plain slice), `offset` its start in elements; `dynamic` says
    whether the address is known only at run time, by one scalar or by a vector of rows along `indirect_dim`.
    `partitions` counts the SBUF partitions touched and `start_partition` is the first (0 and 0 in HBM).
    """

    tensor: str
    space: Literal["hbm", "sbuf", "psum"]
    shape: tuple[int, ...]
    dtype: DtypeInfo
    base_shape: tuple[int, ...]
    pattern: tuple[tuple[int, int], ...] | None = None
    offset: int = 0
    dynamic: Dynamic = ""
    indirect_dim: int = 0
    partitions: int = 0
    start_partition: int = 0


@dataclass(frozen=True, slots=True)
class Call:
    """One call: its operands and options, the NKI version whose rules count, and the author's line (`file.py:12`)."""

    function: Function
    dst: View
    srcs: tuple[View, ...]
    indices: View | None = None
    axes: tuple[int, ...] | None = None
    dge_mode: str = "unknown"
    oob_mode: str = "error"
    engine: str = "unknown"
    priority: int | None = None
    rmw_op: str = ""
    unique_indices: bool = True
    scales: tuple[float, ...] = ()
    dma_engine: str = ""
    cores: tuple[int, ...] = ()
    nki_version: str = "0.6.0"
    line: str = ""

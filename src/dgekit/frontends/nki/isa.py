"""The functions of nki.isa that move data, and those beside them (D90). Signatures follow NKI 0.6; older arguments
that went away are taken by name and judged by the version.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dgekit.frontends.nki import copies, names, onchip, sums, transposes
from dgekit.frontends.nki.faults import KernelError, instruction
from dgekit.frontends.nki.kernel_run import current
from dgekit.frontends.nki.names import Register, dge_mode, dma_engine, engine, nc_version, oob_mode
from dgekit.frontends.nki.operands import Options, call_of, member, options, tensor_operand
from dgekit.frontends.nki.tensor import NkiTensor

__all__ = [
    "core_barrier", "dge_mode", "dma_compute", "dma_copy", "dma_engine", "dma_transpose", "engine", "get_nc_version",
    "iota", "memset", "nc_version", "oob_mode", "register_alloc", "register_load", "register_move", "register_store",
    "sendrecv",
]  # fmt: skip


@instruction
def dma_copy(
    dst: Any,
    src: Any,
    priority: int | None = None,
    oob_mode: Any = oob_mode.error,
    dge_mode: Any = dge_mode.unknown,
    engine: Any = engine.unknown,
    name: str | None = None,
    *,
    mask: Any = None,
    dst_rmw_op: Any = None,
    unique_indices: bool | None = None,
) -> None:
    """`dst = src` by DMA, with a cast where the types differ; a vector offset makes it a gather or a scatter."""
    run = current()
    how = options(run, dge_mode=dge_mode, oob_mode=oob_mode, engine=engine, priority=priority, name=name)
    to, of = tensor_operand(dst, "dst"), tensor_operand(src, "src")
    copies.copy(run, to, of, how, mask=mask, rmw_op=dst_rmw_op, unique_indices=unique_indices)


@instruction
def dma_transpose(
    dst: Any,
    src: Any,
    axes: Sequence[int] | None = None,
    priority: int | None = None,
    dge_mode: Any = dge_mode.unknown,
    oob_mode: Any = oob_mode.error,
    name: str | None = None,
) -> None:
    """The transpose of `src`: axes (1, 0), (2, 1, 0) or (3, 1, 2, 0); a vector offset gathers the rows first."""
    run = current()
    how = options(run, dge_mode=dge_mode, oob_mode=oob_mode, priority=priority, name=name)
    transposes.transpose(run, tensor_operand(dst, "dst"), tensor_operand(src, "src"), axes, how)


@instruction
def dma_compute(
    dst: Any,
    srcs: Sequence[Any],
    reduce_op: Any,
    scales: Sequence[float] | None = None,
    unique_indices: bool = True,
    oob_mode: Any = oob_mode.error,
    name: str | None = None,
) -> None:
    """The sum of `srcs`, in fp32; with a vector offset on dst or a source, read-modify-write."""
    run = current()
    how = options(run, oob_mode=oob_mode, name=name)
    operands = [tensor_operand(src, f"srcs[{number}]") for number, src in enumerate(srcs)]
    sums.compute(run, tensor_operand(dst, "dst"), operands, reduce_op, scales, unique_indices, how)


@instruction
def sendrecv(
    src: Any,
    dst: Any,
    send_to_rank: int,
    recv_from_rank: int,
    pipe_id: int = 0,
    dma_engine: Any = dma_engine.dma,
    name: str | None = None,
) -> None:
    """An exchange between two cores: noted for `dge check`, not run, since one core runs here (D81)."""
    run = current()
    sides = tensor_operand(dst, "dst"), tensor_operand(src, "src")
    how = Options(name=name or "")
    mover = member(run, names.dma_engine, dma_engine)
    ranks = (int(send_to_rank), int(recv_from_rank))
    run.calls.append(call_of(run, "sendrecv", sides[0], (sides[1],), how, dma_engine=mover, cores=ranks))


@instruction
def core_barrier(data: Any, cores: Sequence[int], engine: Any = engine.unknown, name: str | None = None) -> None:
    """A barrier between cores: noted for `dge check`, not run (D81)."""
    run = current()
    how = options(run, engine=engine, name=name)
    ranks = tuple(int(core) for core in cores)
    run.calls.append(call_of(run, "core_barrier", tensor_operand(data, "data"), (), how, cores=ranks))


@instruction
def memset(
    dst: Any = None,
    value: Any = 0,
    engine: Any = engine.unknown,
    name: str | None = None,
    *,
    shape: Sequence[int] | None = None,
    dtype: Any = None,
    mask: Any = None,
) -> NkiTensor | None:
    """Fill `dst` with a number; the older form takes shape and dtype and returns a new tile."""
    run = current()
    if mask is not None:
        names.Absent("nki.isa.memset(mask=)").refuse()
    if isinstance(dst, NkiTensor):
        onchip.fill(run, dst, value)
        return None
    if shape is None and isinstance(dst, tuple | list):
        shape = dst
    if shape is None or dtype is None:
        raise KernelError("a memset takes a tensor, or shape and dtype", rule="nki.operand")
    tile = run.allocate(shape, dtype, name=name or "")
    onchip.fill(run, tile, value)
    return tile


@instruction
def iota(
    dst: Any,
    pattern: Sequence[Sequence[int]] | None = None,
    offset: int = 0,
    channel_multiplier: int = 0,
    name: str | None = None,
    *,
    dtype: Any = None,
) -> NkiTensor | None:
    """Whole numbers by a pattern; the older form takes an index expression and dtype and returns a new tile."""
    run = current()
    if isinstance(dst, NkiTensor):
        if pattern is None:
            raise KernelError("an iota takes a pattern of [step, count]", rule="nki.iota")
        onchip.count_up(run, dst, pattern, offset, channel_multiplier)
        return None
    values = np.asarray(dst)
    if dtype is None or values.dtype.kind not in "iu" or not values.ndim:
        raise KernelError("an iota takes a tensor and a pattern, or an index tile and dtype", rule="nki.operand")
    tile = run.allocate(values.shape, dtype, name=name or "")
    onchip.values_of(run, tile, values)
    return tile


@instruction
def register_alloc(x: Any = None) -> Register:
    """A register, empty or with a number or the element of a tensor of one."""
    register = Register()
    if isinstance(x, NkiTensor):
        onchip.load_register(current(), register, x)
    elif x is not None:
        register.value = int(x)
    return register


@instruction
def register_move(dst: Any, src: Any = None, *, imm: int | None = None) -> None:
    """A number, or another register's, into a register."""
    onchip.checked_register(dst).value = int(src if imm is None else imm)


@instruction
def register_load(dst: Any, src: Any) -> None:
    """The element of a tensor of one into a register."""
    onchip.load_register(current(), dst, tensor_operand(src, "src"))


@instruction
def register_store(dst: Any, src: Any) -> None:
    """A register into a tensor of one element."""
    onchip.store_register(current(), tensor_operand(dst, "dst"), src)


def get_nc_version() -> nc_version:
    """The NeuronCore version of the target (v5 has no name in this API)."""
    number = current().generation.nc
    if number not in [one.value for one in nc_version]:
        names.Absent(f"nki.isa.nc_version of NeuronCore-v{number}").refuse()
    return nc_version(number)


def __getattr__(name: str) -> Any:
    return names.absent("nki.isa", name)

"""The operands and options of a DMA call: checked, and as the values that transfers carry."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass, replace
from typing import Any

from dgekit.core.errors import Unsupported
from dgekit.frontends.nki import names
from dgekit.frontends.nki.faults import KernelError, here
from dgekit.frontends.nki.kernel_run import KernelRun
from dgekit.frontends.nki.tensor import NkiTensor
from dgekit.transfers.call import Call, View
from dgekit.transfers.queues import queue_name
from dgekit.transfers.transfer import Access, Transfer

_STREAMS = {"tensor": "pe", "scalar": "act", "gpsimd": "pool", "vector": "dve", "sync": "sp"}
_STREAM_OF_MODE = {"hwdge": "sp"}  # the DGE block takes commands from the Scalar or Sync sequencer (nki-dma 1)


@dataclass(frozen=True, slots=True)
class Options:
    """How a call is to be carried out, as names."""

    mode: str = "unknown"
    oob: str = "error"
    engine: str = "unknown"
    priority: int | None = None
    name: str = ""

    @property
    def stream(self) -> str:
        """The engine stream that issues it."""
        return _STREAMS.get(self.engine) or _STREAM_OF_MODE.get(self.mode, "pool")


def options(
    run: KernelRun,
    *,
    dge_mode: Any = names.dge_mode.unknown,
    oob_mode: Any = names.oob_mode.error,
    engine: Any = names.engine.unknown,
    priority: int | None = None,
    name: str | None = None,
) -> Options:
    """The options of a call; raises KernelError for what is no member of its enum."""
    return Options(
        member(run, names.dge_mode, dge_mode),
        member(run, names.oob_mode, oob_mode),
        member(run, names.engine, engine),
        None if priority is None else int(priority),
        name or "",
    )


def member(run: KernelRun, kind: type[enum.Enum], given: Any) -> str:
    """The name of an enum's member; whole numbers were taken before NKI 0.3.0 (nki-dma 1)."""
    if isinstance(given, kind):
        return given.name
    if isinstance(given, int) and run.before("0.3.0") and given in [one.value for one in kind]:
        return kind(given).name
    raise KernelError(
        f"{given!r} is no {kind.__name__}",
        rule="nki.enum",
        values={"nki_version": run.version},
        source="nki-dma 1",
        fix="one of " + ", ".join(f"{kind.__name__}.{one.name}" for one in kind),
    )


def tensor_operand(given: Any, what: str) -> NkiTensor:
    """A tensor of this API; raises KernelError for anything else."""
    if isinstance(given, names.Absent):
        given.refuse()
    if not isinstance(given, NkiTensor):
        raise KernelError(f"{what} is {type(given).__name__}, not a tensor of HBM or SBUF", rule="nki.operand")
    return given


def refuse_psum(run: KernelRun, *operands: NkiTensor) -> None:
    """nki.C1: operands lie in HBM or SBUF. PSUM was taken before NKI 0.3.0, which this tool has not."""
    for operand in operands:
        if operand.space != "psum":
            continue
        if run.before("0.3.0"):
            raise Unsupported("a DMA of PSUM: nothing here computes into it", rule="nki.C1")
        raise KernelError(
            f"{operand.name} is in PSUM; a DMA takes HBM and SBUF",
            rule="nki.C1",
            source="nki-dma 2",
            fix="copy it to SBUF first",
        )


def view_of(tensor: NkiTensor) -> View:
    """An operand as the legality rules look at it."""
    space: Any = tensor.space
    partitions, first = _partitions(tensor)
    return View(
        tensor.name,
        space,
        tensor.shape,
        tensor.info,
        tensor.base_shape,
        tensor.pattern,
        tensor.start,
        "vector" if tensor.vector is not None else "scalar" if tensor.scalar else "",
        tensor.indirect_dim,
        partitions,
        first,
    )


def _partitions(tensor: NkiTensor) -> tuple[int, int]:
    """SBUF partitions a view touches, and the first."""
    if tensor.space == "hbm":
        return 0, 0
    buffer = tensor.storage
    row = max(1, math.prod(buffer.shape[1:]) * buffer.dtype.size // tensor.info.size)
    across = [count for step, count in zip(tensor.strides, tensor.shape, strict=True) if abs(step) >= row]
    return math.prod(across), tensor.start // row


def call_of(
    run: KernelRun, function: Any, dst: NkiTensor, srcs: tuple[NkiTensor, ...], opts: Options, **more: Any
) -> Call:
    """The author's call; `more` are the fields that only some functions have."""
    vectors = [one.vector for one in (dst, *srcs) if one.vector is not None]
    return Call(
        function,
        view_of(dst),
        tuple(view_of(src) for src in srcs),
        view_of(vectors[0]) if vectors else None,
        dge_mode=opts.mode,
        oob_mode=opts.oob,
        engine=opts.engine,
        priority=opts.priority,
        nki_version=run.version,
        line=here(),
        **more,
    )


def transfer_of(run: KernelRun, call: Call, opts: Options, op: Any, src: Access, dst: Access, **more: Any) -> Transfer:
    """A transfer of a call. Where there is no DGE (no push model), the host expands what the author left open (D47)."""
    mode: Any = opts.mode
    if mode == "unknown" and not run.generation.has_push_model:
        mode = "none"
    made = Transfer(
        opts.name or call.function,
        op,
        src,
        dst,
        mode,
        priority=0 if opts.priority is None else opts.priority + 1,
        engine=opts.stream,
        call=call,
        where=call.line,
        **more,
    )
    return queued(made)


def queued(transfer: Transfer) -> Transfer:
    """The transfer with its queue's name (D84)."""
    return replace(transfer, queue=queue_name(transfer))

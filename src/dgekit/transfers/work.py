"""One channel's runs as work of the right kind: copy, cast or update (descriptors.batch)."""

from __future__ import annotations

from dgekit.cce.work import Work, update_packet, update_work
from dgekit.core.dtypes import Dtype
from dgekit.core.errors import Unsupported
from dgekit.descriptors.batch import ChannelWork, PacketKind
from dgekit.patterns.runs import Runs
from dgekit.transfers.request import Request
from dgekit.transfers.transfer import Transfer
from dgekit.words.enums import ComputeOp


def channel_work(request: Request, dma: int, src: Runs, dst: Runs) -> Work:
    """The work of channel `dma`; the runs of an accumulating transfer must pair one by one, others are merged."""
    src_code, dst_code = int(request.src.dtype.code), int(request.dst.dtype.code)
    if request.transfer.accumulate:
        if request.is_cast:
            raise Unsupported(
                f"{request.transfer.accumulate} of {request.src.dtype.name} into {request.dst.dtype.name}",
                rule="pipeline.compute",
                where=request.where,
                fix="cast in a transfer of its own",
            )
        return update_work(dma, src, dst, update_packet(compute_op(request.transfer), src_code))
    if request.is_cast:  # through fp32 (D62)
        return ChannelWork(dma, src.merged(), dst.merged(), PacketKind.CAST, src_code, int(Dtype.FP32), dst_code)
    return ChannelWork(dma, src.merged(), dst.merged())


def compute_op(transfer: Transfer) -> ComputeOp:
    """The compute op of a word that does what the transfer's `accumulate` says; NONE without it."""
    return ComputeOp[transfer.accumulate.upper()] if transfer.accumulate else ComputeOp.NONE

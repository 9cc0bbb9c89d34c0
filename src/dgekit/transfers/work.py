"""One channel's runs as work of the right kind: copy, cast or addition (descriptors.batch)."""

from __future__ import annotations

from dgekit.core.dtypes import Dtype
from dgekit.core.errors import Unsupported
from dgekit.descriptors.batch import ChannelWork, PacketKind
from dgekit.numerics.elements import accumulator
from dgekit.patterns.runs import Runs
from dgekit.transfers.request import Request


def channel_work(request: Request, dma: int, src: Runs, dst: Runs) -> ChannelWork:
    """The work of channel `dma`; the runs of an accumulating transfer must pair one by one, others are merged."""
    src_code, dst_code = int(request.src.dtype.code), int(request.dst.dtype.code)
    if request.transfer.accumulate:
        if request.is_cast:
            raise Unsupported(
                f"adding {request.src.dtype.name} into {request.dst.dtype.name}",
                rule="pipeline.compute",
                where=request.where,
                fix="cast in a transfer of its own",
            )
        return ChannelWork(dma, src, dst, PacketKind.ADD, src_code, int(accumulator(src_code, src_code)), src_code)
    if request.is_cast:  # through fp32 (D62)
        return ChannelWork(dma, src.merged(), dst.merged(), PacketKind.CAST, src_code, int(Dtype.FP32), dst_code)
    return ChannelWork(dma, src.merged(), dst.merged())

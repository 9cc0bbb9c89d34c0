"""A reduction as data and as a line for people: operation, types, and what each channel takes."""

from __future__ import annotations

from typing import Any

from dgekit.cce.dtypes import element_size
from dgekit.cce.work import ComputeWork
from dgekit.core.dtypes import Dtype
from dgekit.descriptors.batch import ChannelBatch, PacketKind
from dgekit.machine.results import TransferResult


def reduction_to_json(result: TransferResult) -> dict[str, Any]:
    """The plan of a transfer that computes, as `dge lower --stage plan --json` prints it."""
    packet = result.computes[0].packet
    batches = {channel.dma: channel for channel in result.descriptors.channels}
    shares = [_share(work, batches.get(work.dma)) for work in result.computes]
    return {
        "kind": "REDUCE",
        "op": packet.op.name.lower(),
        "dtypes": {
            "in": Dtype(packet.in_dtype).name,
            "accum": Dtype(packet.accum_dtype).name,
            "out": Dtype(packet.out_dtype).name,
        },
        "sources": len(packet.sources),
        "dests": len(packet.dests),
        "packets": sum(share["packets"] for share in shares),
        "num_dma": len(shares),
        "shares": shares,
    }


def _share(work: ComputeWork, channel: ChannelBatch | None) -> dict[str, Any]:
    """What one channel takes; no packets where nothing was moved."""
    size = work.sources[0].nbytes
    counts = {"packets": 0, "tx": 0, "rx": 0}
    if channel is not None:
        rows = channel.packets[channel.packets["kind"] == PacketKind.COMPUTE]
        counts = {"packets": len(rows), "tx": int(rows["m2s_count"].sum()), "rx": int(rows["s2m_count"].sum())}
    return {
        "dma": work.dma,
        "elements": size // element_size(work.packet.in_dtype),
        **counts,
        "sources": [hex(int(runs.starts[0])) for runs in work.sources],
        "dests": [hex(int(runs.starts[0])) for runs in work.dests],
    }


def compute_line(result: TransferResult) -> str:
    """One line: `add of 3 sources, BFLOAT16 in, FP32 accumulated, BFLOAT16 out: 24 packets on 8 DMA`."""
    packet = result.computes[0].packet
    types = [Dtype(code).name for code in (packet.in_dtype, packet.accum_dtype, packet.out_dtype)]
    packets = sum(int((one.packets["kind"] == PacketKind.COMPUTE).sum()) for one in result.descriptors.channels)
    dmas = len({work.dma for work in result.computes})
    copies = f", {len(packet.dests)} destinations" if len(packet.dests) > 1 else ""
    sources = f"{len(packet.sources)} source" + ("s" if len(packet.sources) > 1 else "")
    return (
        f"{packet.op.name.lower()} of {sources}, {types[0]} in, {types[1]} accumulated, {types[2]} out{copies}: "
        f"{packets} packets on {dmas} DMA"
    )

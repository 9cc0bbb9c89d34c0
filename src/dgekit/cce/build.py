"""From a packet to its BDs: sources, operands, stages, framing (cce 3.2 to 3.8).

A packet is a list of BDs in the order of cce 3.4; framing (FIRST, LAST, ring id, the more bit of a combined packet) is
laid over the finished list. Packets of equal shape share one template: `build_many` writes only their addresses.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from dgekit.cce.bds import (
    AddBd,
    ConstantBd,
    ExtBd,
    FmaBd,
    FmaParameterBd,
    GceBd,
    GceParameterBd,
    MinMaxBd,
    ReplicationBd,
    SeedBd,
)  # fmt: skip
from dgekit.cce.dtypes import constant_code, element_size
from dgekit.cce.enums import CceType, Dtype
from dgekit.cce.faults import raise_first
from dgekit.cce.host import fp32_bits
from dgekit.cce.packet import CcePacket, Constant, Gce
from dgekit.cce.validate import check_packet
from dgekit.cce.words import (
    AddMeta,
    ConstantWord,
    ExtMeta,
    FmaMeta,
    FmaOperands,
    FmaParameterWord,
    GceMeta,
    GceParameterWord,
    MinMaxMeta,
    MinMaxOperands,
    ReplicationWord,
)  # fmt: skip
from dgekit.core.choices import Choices
from dgekit.core.errors import ComputeError
from dgekit.core.generations import Generation
from dgekit.descriptors.bd import FIRST, LAST, LENGTH, MD, MORE, S2M, M2SControl, S2MControl
from dgekit.layout.struct import Struct

U32 = npt.NDArray[np.uint32]
I64 = npt.NDArray[np.int64]

# BDs with a source address; the others carry operands (cce 3.4)
_DATA = (AddBd, FmaBd, MinMaxBd, GceBd)
RING_IDS = 4


@dataclass(frozen=True, slots=True, eq=False)
class BuiltPacket:
    """The BDs of one packet: `tx` (n, 4) and `rx` (m, 4) u32; `source_rows` are the tx rows that hold an address."""

    tx: U32
    rx: U32
    source_rows: tuple[int, ...]

    def encode(self) -> bytes:
        """The BDs as bytes, tx first."""
        return self.tx.astype("<u4").tobytes() + self.rx.astype("<u4").tobytes()


def promoted(packet: CcePacket) -> CcePacket:
    """The packet as the engine is given it: a lone ADD source of 1-byte elements is moved as UINT16 (cce 4.4).

    Only where both ends have the same type, the packet has one tx BD and the bytes are even (CHOICE-29, decision D70);
    every other packet comes back as it is. The accumulator becomes UINT32, so that the move is exact.
    """
    alone = packet.op == CceType.ADD and len(packet.sources) == 1 and not packet.is_combo
    rounds = packet.seed is not None or packet.stochastic
    same = packet.in_dtype == packet.out_dtype and packet.in_fn == packet.out_fn
    if not (alone and same and not rounds and element_size(packet.in_dtype) == 1 and packet.elements % 2 == 0):
        return packet
    return replace(
        packet,
        elements=packet.elements // 2,
        in_dtype=Dtype.UINT16,
        out_dtype=Dtype.UINT16,
        accum_dtype=Dtype.UINT32,
        in_fn=False,
        out_fn=False,
    )


def build(packet: CcePacket, generation: Generation, choices: Choices, *, ring_id: int = 1) -> BuiltPacket:
    """The BDs of one packet; raises ComputeError with the first reason why the generation does not take it."""
    raise_first(check_packet(packet, generation))
    _check_ring_id(ring_id)
    return _built(packet, generation, choices, ring_id)


def build_many(
    packet: CcePacket,
    sources: I64,
    dests: I64,
    generation: Generation,
    choices: Choices,
    *,
    ring_id: int = 1,
) -> tuple[U32, U32]:
    """`tx` (k, n, 4) and `rx` (k, m, 4) of k packets like `packet` at other addresses, (k, sources) and (k, dests).

    Raises ComputeError like `build`, and for addresses that do not fit the packet or lie off its elements.
    """
    _check_addresses("sources", sources, len(packet.sources), packet.source_dtype)
    _check_addresses("dests", dests, len(packet.dests), packet.dest_dtype)
    template = build(packet, generation, choices, ring_id=ring_id)
    count = len(sources)
    tx, rx = np.repeat(template.tx[None], count, axis=0), np.repeat(template.rx[None], count, axis=0)
    rows = list(template.source_rows)
    tx[:, rows, 2], tx[:, rows, 3] = sources & 0xFFFFFFFF, sources >> 32
    rx[:, :, 2], rx[:, :, 3] = dests & 0xFFFFFFFF, dests >> 32
    return tx, rx


def _check_ring_id(ring_id: int) -> None:
    if not 0 <= ring_id < RING_IDS:
        raise ComputeError(
            f"ring id {ring_id} does not fit two bits",
            rule="cce.3.2",
            where="ring_id",
            values={"ring_id": ring_id, "limit": RING_IDS - 1},
            source="cce 3.2",
        )


def _check_addresses(what: str, addresses: I64, columns: int, dtype: int) -> None:
    if addresses.ndim != 2 or addresses.shape[1] != columns:
        raise ComputeError(
            f"{what} of shape {addresses.shape} for packets of {columns}",
            rule="cce.CHOICE-04",
            where=what,
            values={"shape": list(addresses.shape), "columns": columns},
        )
    size = element_size(dtype)
    off = np.argwhere((addresses % size != 0) | (addresses < 0))
    if len(off):
        row, column = (int(index) for index in off[0])
        address = int(addresses[row, column])
        raise ComputeError(
            f"{address:#x} is no multiple of the element's {size} bytes",
            rule="cce.CHOICE-46",
            where=f"packet {row}, {what}[{column}]",
            values={"address": f"{address:#x}", "align": size},
            source="cce 5.3",
            fix="align it",
        )


def _built(packet: CcePacket, generation: Generation, choices: Choices, ring_id: int) -> BuiltPacket:
    bds = list(_tx_bds(promoted(packet), choices))
    tx = _rows(bds)
    tx[:, 0] |= ring_id << M2SControl.layout.field("ring_id").start
    tx[0, 0] |= FIRST  # CHOICE-08: FIRST and LAST, never CONCAT
    tx[-1, 0] |= LAST
    if packet.is_combo:
        tx[:-1, 1] |= MORE
    data_rows = [row for row, bd in enumerate(bds) if isinstance(bd, _DATA)]
    source_rows = tuple(data_rows[: len(packet.sources)])  # a compression stage after them has no address
    if choices.flag("strict_meta"):
        tx[list(source_rows), 0] &= ~np.uint32(MD)
    return BuiltPacket(tx, _rx_rows(packet, generation, ring_id), source_rows)


def _rows(bds: list[Struct]) -> U32:
    return np.frombuffer(b"".join(bd.encode() for bd in bds), dtype="<u4").reshape(-1, 4).astype(np.uint32)


def _rx_rows(packet: CcePacket, generation: Generation, ring_id: int) -> U32:
    """One buffer a destination; combined packets write in strong order where that exists (decision D68)."""
    strong = packet.strong_order or (packet.is_combo and generation.strong_order_write)
    length = packet.elements * element_size(packet.dest_dtype) & LENGTH
    control = S2MControl(length=length, ring_id=ring_id, strong_order_wr=int(strong))
    return _rows([S2M(len_ctrl=control, buf_ptr=address) for address in packet.dests])


def _tx_bds(packet: CcePacket, choices: Choices) -> Iterator[Struct]:
    """The tx BDs in the order of cce 3.4, without framing."""
    nbytes = packet.elements * element_size(packet.source_dtype)
    if packet.seed is not None:
        yield SeedBd(seed=packet.seed)
    if packet.constant is not None:
        yield _constant_bd(packet.op, packet.constant, nbytes, choices)
    if packet.op == CceType.GCE and packet.gce is not None:
        yield _header_bd(packet.gce)
    for index in range(len(packet.sources)):
        yield from _source_bds(packet, index, nbytes, choices)
    if packet.is_combo:
        yield ExtBd(meta_ctrl=ExtMeta(mid_dt=packet.out_dtype, accum_dt=packet.accum_dtype))
        yield from _stage_bds(packet)


def _source_bds(packet: CcePacket, index: int, nbytes: int, choices: Choices) -> Iterator[Struct]:
    """One source, with its operands before it for FMA."""
    control = M2SControl(length=nbytes & LENGTH, md=1)
    address = packet.sources[index]
    last = int(index == len(packet.sources) - 1)
    barrier = int(packet.write_barrier and index == 0)
    accum = packet.accum_dtype
    if packet.op == CceType.FMA:
        a, b, c = packet.selectors_of(index)
        yield FmaParameterBd(
            meta_ctrl=FmaParameterWord(a10=last),  # CHOICE-12
            operands=FmaOperands(length=nbytes, a_sel=a, b_sel=b, c_sel=c),  # CHOICE-13
            scale=fp32_bits(packet.scales[index]),
        )
        fma = FmaMeta(in_dt=packet.in_dtype, accum_dt=accum, f4_last=last, f5=barrier)
        yield FmaBd(len_ctrl=control, meta_ctrl=fma, buf_ptr=address)
    elif packet.op == CceType.ADD:
        add = AddMeta(out_dt=packet.out_dtype, accum_dt=accum, last=last, wrbar=barrier)  # CHOICE-24
        yield AddBd(len_ctrl=control, meta_ctrl=add, buf_ptr=address)
    elif packet.op == CceType.GCE:
        gce = GceMeta(in_dt=packet.source_dtype, accum_dt=accum, last=last, wrbar=barrier)
        yield GceBd(len_ctrl=control, meta_ctrl=gce, buf_ptr=address)
    else:
        meta = _min_max_meta(packet, choices).replace(last=last, notif=last, wrbar=barrier)  # CHOICE-21
        yield MinMaxBd(len_ctrl=control, meta_ctrl=meta, buf_ptr=address)


def _min_max_meta(packet: CcePacket, choices: Choices) -> MinMaxMeta:
    """The word of a MIN or MAX source, in the builder's literal form or unified with the others (D37, D67)."""
    constant = packet.constant
    meta = MinMaxMeta(
        sub=packet.op, in_dt=packet.in_dtype, accum_dt=packet.accum_dtype, use_const=int(constant is not None)
    )
    if choices.flag("unified_minmax"):
        return meta.replace(const_dt=int(packet.op), out_dt=constant.dtype if constant is not None else 0)
    if constant is None:
        return meta
    return meta.replace(const_dt=constant_code(constant.dtype), out_dt=packet.out_dtype)


def _constant_bd(op: CceType, constant: Constant, nbytes: int, choices: Choices) -> ConstantBd:
    code = int(op) if choices.flag("unified_minmax") else constant_code(constant.dtype)
    return ConstantBd(
        meta_ctrl=ConstantWord(const_dt=code), operands=MinMaxOperands(length=nbytes), constant=constant.bits
    )


def _header_bd(gce: Gce) -> GceParameterBd:
    return GceParameterBd(meta_ctrl=GceParameterWord(a6_mode=int(gce.compress)), header=gce.header)


def _stage_bds(packet: CcePacket) -> Iterator[Struct]:
    """What happens to the result of a combined packet: compression, then replication."""
    if packet.has_stage and packet.gce is not None:
        yield _header_bd(packet.gce)
        yield GceBd(meta_ctrl=GceMeta(in_dt=packet.out_dtype, accum_dt=packet.accum_dtype, last=1))
    if len(packet.dests) > 1:
        yield ReplicationBd(meta_ctrl=ReplicationWord(count=len(packet.dests), param=1, mode=1))  # CHOICE-17

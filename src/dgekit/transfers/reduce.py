"""`reduce`: any number of sources combined element by element, by the host's own expansion (D38, D61, D62, D69)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from dgekit.cce.constants import constant_of
from dgekit.cce.dtypes import CONSTANT_DTYPES, element_size
from dgekit.cce.enums import CceType, Dtype
from dgekit.cce.faults import raise_first
from dgekit.cce.limits import packet_elements
from dgekit.cce.packet import CcePacket, Constant
from dgekit.cce.validate import check_packet
from dgekit.cce.work import ComputeWork, template
from dgekit.core.dtypes import dtype_named
from dgekit.core.errors import ComputeError, DgeError, Overlap
from dgekit.patterns.algebra import common_shapes
from dgekit.patterns.channels import split_legs
from dgekit.patterns.runs import runs
from dgekit.patterns.walk import Walk
from dgekit.transfers.overlap import repeated_byte, shared_byte
from dgekit.transfers.request import Leg, Request, check_dtype, open_leg
from dgekit.transfers.transfer import REDUCTIONS

_CONSTANT_OF = {Dtype.INT64: Dtype.INT32, Dtype.UINT64: Dtype.UINT32}


@dataclass(frozen=True, slots=True)
class Legs:
    """All sides of a reduction."""

    sources: tuple[Leg, ...]
    dests: tuple[Leg, ...]

    @property
    def walks(self) -> tuple[Walk, ...]:
        """Sources, then destinations."""
        return tuple(leg.walk for leg in (*self.sources, *self.dests))


def reduce_work(request: Request) -> list[ComputeWork]:
    """The work of every channel; raises LoweringError, Overlap, or ComputeError with the rule that a packet breaks."""
    try:
        legs = _open_legs(request)
        packet = _packet(request, legs)
        _check_amounts(legs)
        _check_alignment(legs)
        most = packet_elements(request.generation, packet.in_dtype, packet.accum_dtype, _packet_bytes(request))
        fitting = min(most, legs.sources[0].walk.count)
        raise_first(check_packet(replace(packet, elements=fitting), request.generation))
    except ComputeError as problem:
        problem.where = f"{request.where}: {problem.where}" if problem.where else request.where
        raise
    _check_overlap(request, legs)
    return [
        ComputeWork(
            dma, tuple(map(runs, parts[: len(legs.sources)])), tuple(map(runs, parts[len(legs.sources) :])), packet
        )
        for dma, parts in _channels(request, legs)
    ]


def _packet_bytes(request: Request) -> int:
    return request.choices.number("packet_bytes")


def _open_legs(request: Request) -> Legs:
    transfer = request.transfer
    sides = {"srcs": transfer.srcs or (transfer.src,), "dsts": transfer.dsts or (transfer.dst,)}
    opened = {
        name: tuple(
            open_leg(f"{name}[{index}]", access, request.placement, request.generation, request.where)
            for index, access in enumerate(accesses)
        )
        for name, accesses in sides.items()
    }
    for name, legs in opened.items():
        for leg in legs:
            check_dtype(leg, request)
            if leg.dtype != legs[0].dtype:
                raise ComputeError(
                    f"{leg.name} is {leg.dtype.name}, {legs[0].name} {legs[0].dtype.name}: a packet names one type",
                    rule="cce.4.3",
                    where=name,
                    values={"dtypes": [one.dtype.name for one in legs]},
                    source="cce 3.8, 4.3",
                    fix="cast in a transfer of its own",
                )
    return Legs(opened["srcs"], opened["dsts"])


def _packet(request: Request, legs: Legs) -> CcePacket:
    """The packet that every piece of the reduction is, at no addresses."""
    transfer = request.transfer
    if transfer.compute not in REDUCTIONS:
        raise ComputeError(
            f"no reduction is called {transfer.compute!r}",
            rule="cce.1.1",
            where="compute",
            source="cce 1.1",
            fix="one of " + ", ".join(REDUCTIONS),
        )
    op = CceType[transfer.compute.upper()]
    read, written = legs.sources[0].dtype, legs.dests[0].dtype
    for name, dtype in (("srcs", read), ("dsts", written)):
        element_size(dtype.code, where=name)
    accum = dtype_named(transfer.accum).code if transfer.accum else None
    packet = template(op, len(legs.sources), len(legs.dests), read.code, written.code, accum)
    return replace(
        packet,
        scales=tuple(transfer.scales),
        constant=_constant(request, packet),
        seed=transfer.seed,
        in_fn=read.fn,
        out_fn=written.fn,
    )


def _constant(request: Request, packet: CcePacket) -> Constant | None:
    """The constant in the type named, else in the accumulator's where that may be a constant's, else fp32."""
    transfer = request.transfer
    if transfer.constant is None:
        return None
    if transfer.constant_dtype:
        dtype: int = dtype_named(transfer.constant_dtype).code
    else:
        dtype = _CONSTANT_OF.get(Dtype(packet.accum_dtype), Dtype(packet.accum_dtype))
        dtype = dtype if dtype in CONSTANT_DTYPES else Dtype.FP32
    return constant_of(transfer.constant, dtype)


def _check_amounts(legs: Legs) -> None:
    """Every side has the same number of elements (cce 4.10)."""
    wanted = legs.sources[0].walk.count
    for leg in (*legs.sources, *legs.dests):
        if leg.walk.count != wanted:
            raise ComputeError(
                f"{leg.name} has {leg.walk.count} elements, {legs.sources[0].name} {wanted}",
                rule="cce.4.10",
                where=leg.name,
                values={"elements": leg.walk.count, "wanted": wanted},
                source="cce 4.10",
                fix="give every source and destination the same number of elements",
            )


def _check_alignment(legs: Legs) -> None:
    """Every element lies on a multiple of its size (cce 5.3, CHOICE-46); steps count whole elements."""
    for leg in (*legs.sources, *legs.dests):
        size = leg.dtype.size
        if leg.walk.start % size:
            raise ComputeError(
                f"{leg.name} starts at {leg.walk.start:#x}, no multiple of the element's {size} bytes",
                rule="cce.CHOICE-46",
                where=leg.name,
                values={"address": f"{leg.walk.start:#x}", "align": size},
                source="cce 5.3",
                fix="align it",
            )


def _check_overlap(request: Request, legs: Legs) -> None:
    """A destination may be a source element for element, and meets no side otherwise."""
    for number, dest in enumerate(legs.dests):
        twice = repeated_byte(dest.walk)
        if twice is not None:
            raise _meets(request, f"{dest.name} writes the byte at {twice:#x} more than once", twice)
        for other in (*legs.sources, *legs.dests[:number]):
            if other.placed is not dest.placed or (other in legs.sources and _same_elements(other.walk, dest.walk)):
                continue
            shared = shared_byte(other.walk, dest.walk)
            if shared is not None:
                raise _meets(request, f"{other.name} and {dest.name} share bytes, the first at {shared:#x}", shared)


def _same_elements(a: Walk, b: Walk) -> bool:
    return a.elem == b.elem and (a == b or a.merged() == b.merged())


def _meets(request: Request, message: str, address: int) -> DgeError:
    return Overlap(
        message,
        where=request.where,
        values={"address": address},
        fix="write to another tensor, or exactly over one of the sources",
    )


def _channels(request: Request, legs: Legs) -> Iterator[tuple[int, tuple[Walk, ...]]]:
    """The part of every channel (D23); legs whose shapes do not nest take one channel."""
    generation = request.generation
    sides = (*legs.sources, *legs.dests)
    yield from split_legs(
        common_shapes(legs.walks) or legs.walks,
        [leg.in_sbuf for leg in sides],
        [generation.sbuf_base(leg.placed.tensor.core) for leg in sides],
        generation.partition_stride,
        range(generation.engines),
        hbm_split=request.choices.text("hbm_split") == "equal",
    )

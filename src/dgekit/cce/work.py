"""What one DMA channel is to compute, before it is cut into packets; and the in-place updates of DGE words.

The counterpart of `descriptors.batch.ChannelWork` for packets of several sources or destinations.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from dgekit.cce.dtypes import default_accum
from dgekit.cce.enums import CceType, Dtype
from dgekit.cce.packet import CcePacket
from dgekit.cce.remap import ccetype_from_compute_op
from dgekit.core.errors import Unsupported
from dgekit.descriptors.batch import ChannelWork, PacketKind
from dgekit.numerics.elements import is_element
from dgekit.patterns.runs import Runs
from dgekit.words.enums import ComputeOp

# CHOICE-02: MULTIPLY is no CCETYPE. First B with scale 1.0, then A with a = input, b = stored, c = scale 0.0: A * B + 0
_PRODUCT_SCALES = (1.0, 0.0)
_PRODUCT_SELECTORS = ((1, 2, 0), (1, 0, 2))


@dataclass(frozen=True, slots=True, eq=False)
class ComputeWork:
    """`packet` applied to every element of the runs: element i of each source gives element i of each destination.

    The addresses and the count of `packet` stand for any; its seed belongs to the first packet. A run that ends, on
    any leg, ends a packet (D69), so runs that must not meet in one packet are kept apart (D65).
    """

    dma: int
    sources: tuple[Runs, ...]
    dests: tuple[Runs, ...]
    packet: CcePacket
    queue: int = 0

    @property
    def kind(self) -> PacketKind:
        """What the engine does with it, as of any work."""
        return PacketKind.COMPUTE


Work = ChannelWork | ComputeWork


def template(
    op: CceType, sources: int, dests: int, in_dtype: int, out_dtype: int, accum_dtype: int | None = None
) -> CcePacket:
    """A packet of that shape at no addresses; the accumulator is CHOICE-27's unless given (decision D62)."""
    accum = default_accum(op, in_dtype, out_dtype) if accum_dtype is None else accum_dtype
    return CcePacket(op, (0,) * sources, (0,) * dests, 1, int(in_dtype), int(accum), int(out_dtype))


def update_packet(op: ComputeOp, dtype: int) -> CcePacket:
    """The packet of `B = B op A`: sources B and A, destination B (CHOICE-01); MULTIPLY as two FMA sources (CHOICE-02).

    FP32R counts as FP32. Raises Unsupported for an element type that nothing is computed in.

    >>> update_packet(ComputeOp.MAX, Dtype.BFLOAT16).op.name, update_packet(ComputeOp.MULTIPLY, Dtype.INT8).scales
    ('MAX', (1.0, 0.0))
    """
    if not is_element(dtype):
        raise Unsupported(
            f"nothing is computed in elements of {Dtype(dtype).name if dtype in tuple(Dtype) else hex(dtype)}",
            rule="pipeline.compute",
            values={"dtype": int(dtype)},
            fix="a type of whole bytes among the codes 1 to 15",
        )
    code = Dtype.FP32 if dtype == Dtype.FP32R else dtype
    if op != ComputeOp.MULTIPLY:
        return template(ccetype_from_compute_op(op), 2, 1, code, code)
    product = template(CceType.FMA, 2, 1, code, code)
    return replace(product, scales=_PRODUCT_SCALES, selectors=_PRODUCT_SELECTORS)


def update_work(dma: int, src: Runs, dst: Runs, packet: CcePacket, queue: int = 0) -> ComputeWork:
    """Update the destination runs with the source runs, in the order of the runs."""
    return ComputeWork(dma, (dst, src), (dst,), packet, queue)

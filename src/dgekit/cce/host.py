"""The host structure of a compute descriptor, 140 bytes, with its union of two views (cce 2.1).

The operation decides which view is live; both can be read at any time, and they alias: `use_constant` is the low byte
of `scale_dtype`, `constant_dtype` is `scale[0]`, `constant` is `scale[1]`.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Self

from dgekit.cce.enums import KbinDtype
from dgekit.core.errors import ComputeError
from dgekit.layout.fields import data, enum, u8, u32, u32s
from dgekit.layout.struct import Struct

SCALE_SLOTS = 32
UNION_BYTES = 132
INFO_BYTES = 140


class FmaInfo(Struct, name="fma_info", size=UNION_BYTES, source="cce 2.1"):
    """The union as FMA reads it. Scales are raw fp32 bits, so that every pattern survives; see `scales`."""

    scale_dtype = enum(0, KbinDtype, "element type of the scales; only fp32 is accepted", bits=32)
    scale = u32s(SCALE_SLOTS, 4, "one fp32 scale a source, raw bits", base=16)

    @property
    def scales(self) -> tuple[float, ...]:
        """The 32 scales as numbers."""
        return struct.unpack(f"<{SCALE_SLOTS}f", struct.pack(f"<{SCALE_SLOTS}I", *self.scale))


class MinMaxInfo(Struct, name="min_max_info", size=UNION_BYTES, source="cce 2.1"):
    """The union as MIN and MAX read it."""

    use_constant = u8(0, "bool: fold the constant in first")
    pad = data(3, 1, "three bytes of padding", role="reserved")
    constant_dtype = enum(4, KbinDtype, "element type of the constant", bits=32)
    constant = u32(8, "the constant, raw bits", base=16)
    rest = data(120, 12, "zero in this view")


class CceInfo(Struct, name="kbin_dma_desc_cce_info_t", size=INFO_BYTES, source="cce 2.1"):
    """The whole structure; `fma_info` and `min_max_info` read the union."""

    num_sources = u32(0, "sources of the packet")
    union = data(UNION_BYTES, 4, "fma_info or min_max_info, by operation")
    num_dests = u32(136, "destinations of the packet")

    @classmethod
    def of(cls, num_sources: int, num_dests: int, view: FmaInfo | MinMaxInfo | None = None) -> Self:
        """The structure around one view; no view leaves the union zero, as the collective path does."""
        union = view.encode() if view is not None else bytes(UNION_BYTES)
        return cls(num_sources=num_sources, union=union, num_dests=num_dests)

    @property
    def fma_info(self) -> FmaInfo:
        """The union in the FMA view."""
        return FmaInfo.decode(self.union)

    @property
    def min_max_info(self) -> MinMaxInfo:
        """The union in the MIN/MAX view."""
        return MinMaxInfo.decode(self.union)


def fma_view(scales: Sequence[float], scale_dtype: int = KbinDtype.FP32) -> FmaInfo:
    """The FMA view of up to 32 scales, rounded to fp32; unused slots are 0. ComputeError for more, or one too large.

    >>> hex(fma_view([0.5]).scale[0])
    '0x3f000000'
    """
    if len(scales) > SCALE_SLOTS:
        raise ComputeError(
            f"{len(scales)} scales, the structure holds {SCALE_SLOTS}",
            rule="cce.CHOICE-05",
            values={"scales": len(scales), "limit": SCALE_SLOTS},
            source="cce 2.1",
        )
    bits = [fp32_bits(scale) for scale in scales]
    return FmaInfo(scale_dtype=scale_dtype, scale=(*bits, *[0] * (SCALE_SLOTS - len(bits))))


def fp32_bits(number: float) -> int:
    """The fp32 pattern nearest to a number; ComputeError for a finite one beyond fp32.

    >>> hex(fp32_bits(6.0))
    '0x40c00000'
    """
    try:
        return int.from_bytes(struct.pack("<f", number), "little")
    except OverflowError:
        raise ComputeError(
            f"{number!r} is beyond the largest fp32 number",
            rule="cce.3.5",
            values={"value": number},
            source="cce 3.5",
            fix="a scale of at most 3.4028234663852886e+38",
        ) from None


def fp32_of(bits: int) -> float:
    """The number that an fp32 pattern stands for."""
    number: float = struct.unpack("<f", bits.to_bytes(4, "little"))[0]
    return number

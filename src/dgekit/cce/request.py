"""The host's way to a packet: the structure of cce 2.1, with the checks of the runtime in its order (cce 2)."""

from __future__ import annotations

from collections.abc import Sequence

from dgekit.cce.dtypes import default_accum, element_size
from dgekit.cce.enums import CceType, Dtype
from dgekit.cce.faults import refusal_error
from dgekit.cce.host import CceInfo
from dgekit.cce.packet import CcePacket, Constant
from dgekit.cce.remap import ccetype_from_kbin, sdma_from_kbin
from dgekit.core.errors import ComputeError

_MIN_MAX = (CceType.MIN, CceType.MAX)


def packet_from_host(
    op: int,
    dtype: int,
    sources: Sequence[int],
    dests: Sequence[int],
    size_bytes: int,
    info: CceInfo | None = None,
    *,
    accum_dtype: int | None = None,
    out_dtype: int | None = None,
    seed: int | None = None,
) -> CcePacket:
    """The packet for a host operation and element type (kbin numbers), addresses, and bytes of one source.

    `info` may be None but for FMA: no constant then, counts from the lists. `accum_dtype` and `out_dtype` are SDMA
    codes. Raises ComputeError with the runtime's assertion, for counts that disagree (CHOICE-04), and for bytes that
    are no whole elements.
    """
    kind = ccetype_from_kbin(op)
    in_dtype = sdma_from_kbin(dtype)
    if info is not None:
        _check_counts(info, len(sources), len(dests))
    out = in_dtype if out_dtype is None else out_dtype
    return CcePacket(
        op=kind,
        sources=tuple(sources),
        dests=tuple(dests),
        elements=_elements(size_bytes, in_dtype),
        in_dtype=int(in_dtype),
        accum_dtype=int(default_accum(kind, in_dtype, out) if accum_dtype is None else accum_dtype),
        out_dtype=int(out),
        scales=_scales(info, len(sources)) if kind == CceType.FMA else (),
        constant=_constant(info) if kind in _MIN_MAX else None,
        seed=seed,
    )


def _check_counts(info: CceInfo, sources: int, dests: int) -> None:
    for name, stated, given in (("num_sources", info.num_sources, sources), ("num_dests", info.num_dests, dests)):
        if stated != given:
            raise ComputeError(
                f"{name} is {stated}, the list holds {given}",
                rule="cce.CHOICE-04",
                where=name,
                values={"stated": stated, "given": given},
                source="cce 2.3",
            )


def _elements(size_bytes: int, dtype: Dtype) -> int:
    size = element_size(dtype, where="dtype")
    if size_bytes < size or size_bytes % size:
        raise ComputeError(
            f"{size_bytes} bytes are no whole elements of {size}",
            rule="cce.3.4",
            where="size_bytes",
            values={"bytes": size_bytes, "element_bytes": size},
            source="cce 3.4",
        )
    return size_bytes // size


def _scales(info: CceInfo | None, count: int) -> tuple[float, ...]:
    """The scales of the FMA view: all 32 slots count (CHOICE-05). Their type must be fp32."""
    if info is None:
        raise refusal_error("info_null", rule="cce.2.3", message="FMA without its structure", where="cce_info")
    view = info.fma_info
    scale_dtype = sdma_from_kbin(view.scale_dtype)
    if scale_dtype != Dtype.FP32:
        raise refusal_error(
            "scale_assert",
            rule="cce.2.3",
            message=f"the scales are {scale_dtype.name}",
            where="fma_info.scale_dtype",
            dtype=int(scale_dtype),
            fix="fp32 scales (kbin_dtype 5)",
        )
    return view.scales[:count]


def _constant(info: CceInfo | None) -> Constant | None:
    if info is None or not info.min_max_info.use_constant:
        return None
    view = info.min_max_info
    return Constant(view.constant, int(sdma_from_kbin(view.constant_dtype)))

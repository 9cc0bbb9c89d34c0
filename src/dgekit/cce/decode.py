"""From BDs back to packets: what the engine reads out of the descriptors it is given (cce 3.9, 4.10).

The words do not say everything: an ADD names one element type for both ends, FMA none for its output (CHOICE-24), no
word tells the FN form of E4M3. What the words leave out is given beside them or taken as equal to the input.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dgekit.cce.dtypes import CONSTANT_DTYPES, element_size
from dgekit.cce.enums import DEFAULT_SELECTORS
from dgekit.cce.packet import CcePacket, Constant, Gce
from dgekit.cce.parts import OPS, Parts, fault
from dgekit.core.choices import Choices
from dgekit.core.errors import DgeError, Issue
from dgekit.descriptors.bd import BD_BYTES, FIRST, LAST, LENGTH, MAX_BD_BYTES, S2M
from dgekit.layout.struct import Struct

U32 = npt.NDArray[np.uint32]

_BARRIER = {"add": "wrbar", "fma": "f5", "max": "wrbar", "min": "wrbar", "gce": "wrbar"}


@dataclass(frozen=True, slots=True)
class RawPacket:
    """BDs that are no compute packet (a copy, a reshape, garbage), kept as they are, and why."""

    tx: tuple[bytes, ...]
    rx: tuple[bytes, ...]
    issues: tuple[Issue, ...] = ()


def decode_packets(tx: U32, rx: U32, choices: Choices | None = None) -> list[CcePacket | RawPacket]:
    """Every packet of a stream of BDs, (n, 4) and (m, 4) u32: cut at FIRST and LAST, paired with its rx BDs.

    Never raises for what the BDs hold: what is no compute packet comes back raw, with the reason.
    """
    rows, buffers = _bytes_of(tx), _bytes_of(rx)
    chosen = choices or Choices()
    packets: list[CcePacket | RawPacket] = []
    at = 0
    for group in _packets(rows):
        try:
            parts = Parts.of(group, chosen)
        except DgeError as problem:
            own = _covering(group, buffers, at)
            packets.append(RawPacket(tuple(group), tuple(own), (problem.as_issue(),)))
        else:
            own = buffers[at : at + parts.dest_count]
            packets.append(_packet_or_raw(parts, group, own, chosen))
        at += len(own)
    if at < len(buffers):
        message = f"{len(buffers) - at} rx BDs belong to no packet"
        issue = Issue("cce.4.10", "error", message, "rx", {"rx": len(buffers), "used": at}, "cce 4.10")
        packets.append(RawPacket((), tuple(buffers[at:]), (issue,)))
    return packets


def decode_packet(
    tx: U32,
    rx: U32,
    choices: Choices | None = None,
    *,
    in_dtype: int | None = None,
    out_dtype: int | None = None,
) -> CcePacket:
    """The compute packet that exactly these BDs are; `in_dtype` and `out_dtype` are types known from elsewhere.

    Raises ComputeError with the rule that the BDs break: no flush, data after it, sources of unequal size, a
    destination of another size, operands without their source.
    """
    chosen = choices or Choices()
    parts = Parts.of(_bytes_of(tx), chosen)
    return _packet(parts, _bytes_of(rx), chosen, in_dtype, out_dtype)


def _bytes_of(words: U32) -> list[bytes]:
    data = np.ascontiguousarray(words, dtype="<u4").tobytes()
    return [data[at : at + BD_BYTES] for at in range(0, len(data), BD_BYTES)]


def _packets(rows: Sequence[bytes]) -> list[list[bytes]]:
    """Cut after every LAST, and before every FIRST."""
    groups: list[list[bytes]] = []
    closed = True
    for row in rows:
        word0 = int.from_bytes(row[:4], "little")
        if closed or word0 & FIRST:
            groups.append([])
        groups[-1].append(row)
        closed = bool(word0 & LAST)
    return groups


def _length(row: bytes) -> int:
    return int.from_bytes(row[:4], "little") & LENGTH or MAX_BD_BYTES


def _covering(group: Sequence[bytes], buffers: Sequence[bytes], at: int) -> list[bytes]:
    """The rx BDs that a packet of no known kind fills, counted in bytes."""
    left = sum(map(_length, group))
    own: list[bytes] = []
    while left > 0 and at + len(own) < len(buffers):
        own.append(buffers[at + len(own)])
        left -= _length(own[-1])
    return own


def _packet_or_raw(
    parts: Parts, group: Sequence[bytes], own: Sequence[bytes], choices: Choices
) -> CcePacket | RawPacket:
    try:
        return _packet(parts, own, choices)
    except DgeError as problem:
        return RawPacket(tuple(group), tuple(own), (problem.as_issue(),))


def _packet(
    parts: Parts,
    rx: Sequence[bytes],
    choices: Choices,
    in_dtype: int | None = None,
    out_dtype: int | None = None,
) -> CcePacket:
    kind = parts.kinds[0]
    meta = parts.sources[0].at("meta_ctrl")
    constant = _constant(parts, meta, choices)
    own_in = meta.at("out_dt") if kind == "add" else meta.at("in_dt")
    in_type = int(own_in if in_dtype is None else in_dtype)
    out_type = int(_own_out(kind, meta, choices) or in_type) if out_dtype is None else out_dtype
    gce = _gce(parts, kind, in_type, out_type)
    packet = CcePacket(
        op=OPS[kind],
        sources=tuple(source.at("buf_ptr") for source in parts.sources),
        dests=tuple(int.from_bytes(row[8:16], "little") for row in rx),
        elements=_elements(parts, in_type),
        in_dtype=in_type,
        accum_dtype=int(meta.at("accum_dt")),
        out_dtype=out_type,
        scales=tuple(parts.scales),
        selectors=() if all(one == DEFAULT_SELECTORS for one in parts.selectors) else tuple(parts.selectors),
        constant=constant,
        seed=parts.seed,
        gce=gce,
        strong_order=_strong(rx),
        write_barrier=bool(meta.at(_BARRIER[kind])),
    )
    _check_uniform(parts)
    _check_dests(packet, parts.dest_count, rx)
    return packet


def _own_out(kind: str, meta: Struct, choices: Choices) -> int:
    """The output type that the word names, or 0."""
    if kind == "add" or (kind in ("max", "min") and not choices.flag("unified_minmax")):
        return int(meta.at("out_dt"))
    return 0


def _constant(parts: Parts, meta: Struct, choices: Choices) -> Constant | None:
    used = parts.kinds[0] in ("max", "min") and bool(meta.at("use_const"))
    if used != (parts.constant is not None):
        raise fault("cce.3.6", "the sources and the constant BD disagree on whether a constant is used", "tx")
    if parts.constant is None:
        return None
    if choices.flag("unified_minmax"):
        return Constant(parts.constant.at("constant"), int(meta.at("out_dt")))
    codes = {"source": meta.at("const_dt"), "constant": parts.constant.at("meta_ctrl.const_dt")}
    if codes["source"] != codes["constant"]:
        raise fault("cce.CHOICE-15", "the sources and the constant BD name two constant types", "tx", **codes)
    return Constant(parts.constant.at("constant"), int(CONSTANT_DTYPES[codes["constant"]]))


def _gce(parts: Parts, kind: str, in_type: int, out_type: int) -> Gce | None:
    """The compression of the packet; the payload's type is in no word, so it is the type beside it."""
    if parts.header is None:
        return None
    compress = bool(parts.header.at("meta_ctrl.a6_mode"))
    return Gce(parts.header.at("header"), compress, out_type if compress else in_type)


def _elements(parts: Parts, in_type: int) -> int:
    lengths = [source.at("len_ctrl.length") or MAX_BD_BYTES for source in parts.sources]
    if len(set(lengths)) > 1:
        raise fault("cce.4.10", "the sources have unequal sizes", "tx", bytes=lengths)
    size = element_size(in_type, where="in_dtype")
    if lengths[0] % size:
        raise fault(
            "cce.4.10",
            f"{lengths[0]} bytes are no whole elements of {size}",
            "tx",
            bytes=lengths[0],
            element_bytes=size,
        )
    return lengths[0] // size


def _strong(rx: Sequence[bytes]) -> bool:
    return bool(rx) and all(S2M.decode(row).len_ctrl.strong_order_wr for row in rx)


def _check_uniform(parts: Parts) -> None:
    """All sources name the same element types."""
    for name in ("in_dt", "out_dt", "accum_dt"):
        metas = [source.at("meta_ctrl") for source in parts.sources]
        codes = {int(meta.at(name)) for meta in metas if any(field.name == name for field in meta.layout.fields)}
        if len(codes) > 1:
            raise fault("cce.4.3", f"the sources name several types as {name}", "tx", types=sorted(codes))


def _check_dests(packet: CcePacket, wanted: int, rx: Sequence[bytes]) -> None:
    if len(rx) != wanted:
        raise fault("cce.4.10", f"{len(rx)} rx BDs for {wanted} destinations", "rx", rx=len(rx), dests=wanted)
    expected = packet.elements * element_size(packet.dest_dtype, where="out_dtype")
    for index, row in enumerate(rx):
        if _length(row) != expected:
            raise fault(
                "cce.4.10",
                f"a destination of {_length(row)} bytes, {packet.elements} elements of the output type take {expected}",
                f"rx[{index}]",
                fix="give the element types that the words leave out",
                bytes=_length(row),
                expected=expected,
            )

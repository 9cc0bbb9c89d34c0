"""The arithmetic of a packet in a ring: what its BDs and the row beside them ask for, and whether it can be done.

What is computed is read from the BDs themselves; the row gives the element types that words leave out (cce 3.9).
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from dgekit.cce.decode import decode_packet
from dgekit.cce.enums import CceType, Dtype
from dgekit.cce.execute import unseeded
from dgekit.cce.faults import raise_first
from dgekit.cce.packet import CcePacket
from dgekit.cce.validate import check_packet
from dgekit.core.choices import Choices
from dgekit.core.errors import DgeError, Unsupported
from dgekit.core.generations import Generation
from dgekit.descriptors import bd
from dgekit.descriptors.batch import PacketKind
from dgekit.machine.packets import Window
from dgekit.numerics.elements import element
from dgekit.numerics.formats import integer_limits, is_castable, unsupported
from dgekit.numerics.stochastic import SrLanes

COMPUTE = (PacketKind.CAST, PacketKind.COMPUTE)
_PROFILES = ("strict_meta", "unified_minmax")  # the switches that decoding asks


def arithmetic_error(
    window: Window, at: int, generation: Generation, choices: Choices, lanes: SrLanes | None = None
) -> DgeError | None:
    """Why the arithmetic of packet `at` cannot be done, or None; `lanes` is the state of its queue, where known."""
    kind = int(window.side["kind"][at])
    if kind not in COMPUTE:
        return None
    row = window.side[at]
    try:
        for name in ("in_dtype", "out_dtype"):
            dtype = int(row[name])
            element(dtype)
            if kind == PacketKind.CAST and not is_castable(dtype):
                return unsupported(dtype, "a cast")
        if kind == PacketKind.COMPUTE:
            packet = operations_of(window, at, choices)
            raise_first(check_packet(packet, generation))
            if packet.gce is not None:
                return Unsupported("this tool runs no compression from rings", rule="cce.4.6", source="cce 4.6")
            if lanes is not None and packet.stochastic and packet.seed is None and not lanes.seeded:
                return unseeded()
    except DgeError as error:
        return error
    return None


def operations_of(window: Window, at: int, choices: Choices) -> CcePacket:
    """Packet `at` as a compute packet without addresses; raises ComputeError for BDs that are none."""
    row = window.side[at]
    if int(row["kind"]) == PacketKind.CAST:
        return _cast(row)
    m2s_first, s2m_first = (int(ends[at - 1]) if at else 0 for ends in (window.m2s_ends, window.s2m_ends))
    tx = window.m2s[m2s_first : window.m2s_ends[at]].copy()
    rx = window.s2m[s2m_first : window.s2m_ends[at]].copy()
    rows = window.src_rows - m2s_first
    tx[rows[(rows >= 0) & (rows < len(tx))], 2:] = 0
    rx[:, 2:] = 0
    for words in (tx, rx):
        words[:, 0] &= ~np.uint32(bd.RING_ID)
    profile = tuple(choices.flag(name) for name in _PROFILES)
    packet = _decoded(tx.tobytes(), rx.tobytes(), int(row["in_dtype"]), int(row["out_dtype"]), profile)
    return replace(packet, in_fn=bool(row["in_fn"]), out_fn=bool(row["out_fn"]), stochastic=bool(row["stochastic"]))


@lru_cache(maxsize=256)
def _decoded(tx: bytes, rx: bytes, in_dtype: int, out_dtype: int, profile: tuple[bool, ...]) -> CcePacket:
    """The packet of BDs whose addresses are 0; packets of equal words are decoded once."""
    words, buffers = (np.frombuffer(data, np.uint32).reshape(-1, 4) for data in (tx, rx))
    choices = Choices(dict(zip(_PROFILES, profile, strict=True)))
    return decode_packet(words, buffers, choices, in_dtype=in_dtype, out_dtype=out_dtype)


def _cast(row: np.void) -> CcePacket:
    """A cast has one source and goes through fp32 (D62), but equal integers are moved."""
    types = {int(Dtype.FP32R): int(Dtype.FP32)}  # FP32R is only no type to size packets with (cce.CHOICE-28)
    read, write = (types.get(dtype, dtype) for dtype in (int(row["in_dtype"]), int(row["out_dtype"])))
    accum = read if read == write and integer_limits(read) is not None else int(Dtype.FP32)
    in_fn, out_fn = bool(row["in_fn"]), bool(row["out_fn"])
    return CcePacket(CceType.ADD, (0,), (0,), 0, read, accum, write, in_fn=in_fn, out_fn=out_fn)

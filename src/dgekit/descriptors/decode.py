"""From 16 bytes to names: which view a BD has, what kind it is, its fields and one printable line.

Decoding is total: any 16 bytes have a view, and decode then encode is the identity (decisions D31, D66).
"""

from __future__ import annotations

from typing import Any, Literal

from dgekit.core.errors import DecodeError
from dgekit.descriptors.bd import (
    BD_BYTES,
    MAX_BD_BYTES,
    MORE,
    S2M,
    CceOptype,
    CmeOptype,
    ComputeMeta,
    CopyMeta,
    DreOptype,
    M2SCompute,
    M2SControl,
    M2SCopy,
    M2SParameter,
    S2MControl,
    SdmaOp,
)

Leg = Literal["m2s", "s2m"]
M2S = M2SCopy | M2SCompute | M2SParameter

_PARAMETERS = (
    "minmax_parameter", "minmax_constant", "seed", "seed_disabled", "fma_parameter", "replication", "gce_parameter",
)  # fmt: skip
_DATA_KINDS: dict[int, str] = {CceOptype.ADD: "add", CceOptype.EXT: "ext", CceOptype.GCE: "gce"}
_SEED_WORD1 = 0x6000000
_FLAGS = ("first", "last", "concat", "dmb", "int_en", "md", "dummy", "no_snoop", "strong_order_wr")


def decode_bd(data: bytes, leg: Leg) -> M2S | S2M:
    """The BD in its view: S2M, or by kind and op M2SCopy, M2SCompute or M2SParameter; DecodeError unless 16 bytes."""
    if leg == "s2m":
        return S2M.decode(data)
    kind = m2s_kind(data)
    if kind in _PARAMETERS:
        return M2SParameter.decode(data)
    op = M2SCopy.decode(data).meta_ctrl.op
    return M2SCompute.decode(data) if op == SdmaOp.CCE else M2SCopy.decode(data)


def m2s_kind(data: bytes) -> str:
    """What an M2S BD is: the op's name for copies and reshapes, cce 3.9's name for compute BDs, else `raw`.

    >>> m2s_kind(bytes.fromhex("00100005030008010000000100000000"))
    'copy'
    """
    if len(data) != BD_BYTES:
        raise DecodeError(
            f"a BD takes {BD_BYTES} bytes, not {len(data)}", values={"bytes": len(data), "size": BD_BYTES}
        )
    control = M2SControl.decode(data[:4])
    word1, word2 = (int.from_bytes(data[at : at + 4], "little") for at in (4, 8))
    if not control.md:
        return _plain_kind(control, word1)
    return _compute_kind(word1 & ~MORE, word2)


def _plain_kind(control: M2SControl, word1: int) -> str:
    """A BD without the md bit: a copy, a CRC, a reshape, or the continuation of one."""
    if word1 == 0:
        return "continuation" if control.concat else "copy"  # op 0 is modelled as a copy (rings 1.6)
    meta = CopyMeta.decode(word1.to_bytes(4, "little"))
    if meta.op in (SdmaOp.NONE, SdmaOp.CME):
        return _member_name(CmeOptype, meta.optype)
    if meta.op == SdmaOp.DRE:
        return _member_name(DreOptype, meta.optype)
    return "raw"


def _compute_kind(word1: int, word2: int) -> str:
    """The decision list of cce 3.9, in its order."""
    meta = ComputeMeta.decode(word1.to_bytes(4, "little"))
    if meta.op == SdmaOp.DRE and int(meta.optype) == DreOptype.REPLICATION:
        return "replication"
    if word1 == 0:  # a seed that is not enabled differs only in word2 (decision D66)
        return "minmax_parameter" if word2 else "seed_disabled"
    if meta.op != SdmaOp.CCE:
        return "raw"
    if meta.write_barrier:
        return _flagged_kind(meta, word1, word2)
    if meta.block_attr_sub in (CceOptype.MAX, CceOptype.MIN):
        return "max" if meta.block_attr_sub == CceOptype.MAX else "min"
    if meta.optype == CceOptype.FMA:
        return "fma" if word1 >> 8 & 0xFFF else "fma_parameter"
    return _DATA_KINDS.get(meta.optype, "raw")


def _flagged_kind(meta: ComputeMeta, word1: int, word2: int) -> str:
    """Step 4 of cce 3.9: the parameter flag, word1 bit 26, is set."""
    if meta.optype == CceOptype.GCE and word1 & 1:
        return "gce_parameter"
    if word2 >> 24 & 0x3F == 2:
        return "minmax_constant"
    if word1 & 0x1FFFFFFF == _SEED_WORD1 and word2 == 0:
        return "seed"
    return "fma_parameter" if meta.optype == CceOptype.FMA else "raw"


def _member_name(members: type[CmeOptype] | type[DreOptype], number: int) -> str:
    return next((member.name.lower() for member in members if member == number), "raw")


def bd_length(control: M2SControl | S2MControl) -> int:
    """The bytes a control word stands for: a stored 0 is 65536 (rings 1.7)."""
    return control.length or MAX_BD_BYTES


def bd_to_json(data: bytes, leg: Leg) -> dict[str, Any]:
    """`{"leg", "kind", "bytes", "ring_id", "address", "fields", "hex"}`; address is null for a parameter BD."""
    decoded = decode_bd(data, leg)
    parameter = isinstance(decoded, M2SParameter)
    return {
        "leg": leg,
        "kind": m2s_kind(data) if leg == "m2s" else "buffer",
        "bytes": 0 if parameter else bd_length(decoded.len_ctrl),
        "ring_id": decoded.len_ctrl.ring_id,
        "address": None if isinstance(decoded, M2SParameter) else f"{decoded.buf_ptr:#x}",
        "fields": decoded.to_json(),
        "hex": data.hex(),
    }


def bd_line(data: bytes, leg: Leg) -> str:
    """One line for people: leg, kind, length, address, packet bits, word1, and the bytes in memory order.

    >>> bd_line(bytes.fromhex("0000000d030008010000000100000000"), "m2s")
    'M2S copy 65536 B at 0x1000000 ring 1 first last word1=0x01080003 | 00 00 00 0d 03 00 08 01 00 00 00 01 00 00 00 00'
    """
    decoded = decode_bd(data, leg)
    kind = m2s_kind(data) if leg == "m2s" else "buffer"
    if isinstance(decoded, M2SParameter):
        place = f"meta1={int.from_bytes(data[8:12], 'little'):#010x} meta2={decoded.meta2:#010x}"
    else:
        place = f"{bd_length(decoded.len_ctrl)} B at {decoded.buf_ptr:#x}"
    control = decoded.len_ctrl.to_json()
    flags = "".join(f" {name}" for name in _FLAGS if control.get(name))
    word1 = int.from_bytes(data[4:8], "little")
    return f"{leg.upper()} {kind} {place} ring {decoded.len_ctrl.ring_id}{flags} word1={word1:#010x} | {data.hex(' ')}"

"""From 16 bytes to a kind and named fields, and back: total in both directions (cce 3.9, decision D66).

Every BD has a kind; what nothing explains is `raw`, kept word for word. So decode, print, read and encode is always
the identity.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from dgekit.cce.bds import (
    AddBd,
    ConstantBd,
    ExtBd,
    FmaBd,
    FmaParameterBd,
    GceBd,
    GceParameterBd,
    MinMaxBd,
    NoConstantBd,
    NoSeedBd,
    RawBd,
    ReplicationBd,
    SeedBd,
)
from dgekit.cce.enums import CceType
from dgekit.cce.words import MinMaxMeta, ReplicationWord
from dgekit.core.choices import Choices
from dgekit.core.errors import DecodeError
from dgekit.descriptors.bd import (
    BD_BYTES,
    COPY_WORD1,
    MD,
    S2M,
    CmeOptype,
    CopyMeta,
    DreOptype,
    M2SControl,
    M2SCopy,
    SdmaOp,
)
from dgekit.descriptors.decode import m2s_kind
from dgekit.layout.struct import Struct

Leg = Literal["auto", "m2s", "s2m"]
LEGS: tuple[Leg, ...] = ("auto", "m2s", "s2m")
BUFFER, RAW = "buffer", "raw"
SOURCES = ("add", "fma", "max", "min", "gce")
PARAMETERS = (
    "fma_parameter", "minmax_constant", "minmax_parameter", "seed", "seed_disabled", "replication", "gce_parameter",
)  # fmt: skip

_COPY = CopyMeta.decode(COPY_WORD1.to_bytes(4, "little"))
_PLAIN = {
    **{member.name.lower(): CopyMeta(op=SdmaOp.CME, optype=member) for member in CmeOptype},
    "copy": _COPY,
    **{member.name.lower(): CopyMeta(op=SdmaOp.DRE, optype=member) for member in DreOptype},
    "continuation": CopyMeta(),
}

# The BD that a kind means when nothing more is said of it.
DEFAULTS: Mapping[str, Struct] = {
    **{kind: M2SCopy(meta_ctrl=meta) for kind, meta in _PLAIN.items()},
    "continuation": M2SCopy(len_ctrl=M2SControl(concat=1)),
    "add": AddBd(),
    "fma": FmaBd(),
    "max": MinMaxBd(meta_ctrl=MinMaxMeta(sub=CceType.MAX)),
    "min": MinMaxBd(meta_ctrl=MinMaxMeta(sub=CceType.MIN)),
    "gce": GceBd(),
    "ext": ExtBd(),
    "fma_parameter": FmaParameterBd(),
    "minmax_constant": ConstantBd(),
    "minmax_parameter": NoConstantBd(),
    "seed": SeedBd(),
    "seed_disabled": NoSeedBd(),
    "replication": ReplicationBd(meta_ctrl=ReplicationWord(count=2, param=1, mode=1)),
    "gce_parameter": GceParameterBd(),
    BUFFER: S2M(),
    RAW: RawBd(),
}
KINDS = tuple(DEFAULTS)


def classify(data: bytes, leg: Leg = "auto", choices: Choices | None = None) -> str:
    """The kind of a BD, one of `KINDS`; DecodeError unless 16 bytes.

    `auto` takes a BD without metadata, packet and concat bits and with word1 0 for the receive side (`buffer`): no tx
    BD that software writes looks like that.

    >>> classify(bytes.fromhex("0010800500600a020000001000200000"))
    'add'
    >>> classify(bytes.fromhex("00100001000000000000002000200000"))
    'buffer'
    """
    if len(data) != BD_BYTES:
        raise DecodeError(
            f"a BD takes {BD_BYTES} bytes, not {len(data)}", values={"bytes": len(data), "size": BD_BYTES}
        )
    if leg == "s2m" or (leg == "auto" and _is_buffer(data)):
        return BUFFER
    word0, word1 = (int.from_bytes(data[at : at + 4], "little") for at in (0, 4))
    meta = CopyMeta.decode(word1.to_bytes(4, "little"))
    if not word0 & MD and meta.op == SdmaOp.CCE and (choices or Choices()).flag("strict_meta"):
        data = (word0 | MD).to_bytes(4, "little") + data[4:]  # a source BD of that profile (CHOICE-09)
    kind = m2s_kind(data)
    return kind if _reads_back(kind, word0) else RAW


def _is_buffer(data: bytes) -> bool:
    control = M2SControl.decode(data[:4])
    return not any((control.md, control.first, control.last, control.concat, int.from_bytes(data[4:8], "little")))


def _reads_back(kind: str, word0: int) -> bool:
    """The reshape `replication` without the metadata bit is no compute BD: nothing known writes it."""
    return kind != "replication" or bool(word0 & MD)


def decode_bd(data: bytes, leg: Leg = "auto", choices: Choices | None = None) -> tuple[str, Struct]:
    """Kind and named fields of a BD; `.encode()` of the second gives the same 16 bytes."""
    kind = classify(data, leg, choices)
    return kind, type(DEFAULTS[kind]).decode(data)

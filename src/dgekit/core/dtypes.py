"""Element types: the ISA numbering, its bit widths, the names users write and the NEFF numbering.

Sources: isa-words 2.5 (codes, widths, generations), neff 3 (NEFF codes), decision D54 (ml_dtypes names).
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from functools import cache

from dgekit.core.errors import UsageError


class Dtype(enum.IntEnum):
    """The ISA's DTYPE enum, one byte (isa-words 2.5)."""

    INVALID = 0x00
    UINT64 = 0x01
    INT8 = 0x02
    UINT8 = 0x03
    INT16 = 0x04
    UINT16 = 0x05
    BFLOAT16 = 0x06
    FP16 = 0x07
    INT32 = 0x08
    UINT32 = 0x09
    FP32 = 0x0A
    FP32R = 0x0B
    INT64 = 0x0C
    FP8_EXP3 = 0x0D
    FP8_EXP4 = 0x0E
    FP8_EXP5 = 0x0F
    FP4_EXP2 = 0x10
    FP8_EXP2 = 0x11
    INT4 = 0x12
    SFP8_E8 = 0x13
    SFP8_E7 = 0x14
    SFP8_E6 = 0x15
    SFP8_E5 = 0x16
    CPTC1 = 0x19
    CPTC2 = 0x1A
    CPTC3 = 0x1B
    CPTC4 = 0x1C
    CPTC5 = 0x1D
    CPTC6 = 0x1E
    CPTC7 = 0x1F


@dataclass(frozen=True, slots=True)
class DtypeInfo:
    """One element type: ISA `code`, width in `bits`, the user's `name`, numpy storage and NEFF `neff_code`.

    `fn` marks the FN form of E4M3, which the ISA code does not tell from the IEEE-like one (D54).
    """

    code: Dtype
    name: str
    bits: int
    storage: str
    neff_code: int | None = None
    neff_name: str = ""
    is_float: bool = False
    fn: bool = False

    @property
    def size(self) -> int:
        """Bytes of one element in memory; 0 for types narrower than a byte."""
        return self.bits // 8


# name (ml_dtypes spelling, D54), bits, numpy name of the values, NEFF code and name (neff 3)
DTYPES: tuple[DtypeInfo, ...] = (
    DtypeInfo(Dtype.UINT64, "uint64", 64, "uint64", 11, "uint64"),
    DtypeInfo(Dtype.INT8, "int8", 8, "int8", 12, "int8"),
    DtypeInfo(Dtype.UINT8, "uint8", 8, "uint8", 8, "uint8"),
    DtypeInfo(Dtype.INT16, "int16", 16, "int16", 13, "int16"),
    DtypeInfo(Dtype.UINT16, "uint16", 16, "uint16", 9, "uint16"),
    DtypeInfo(Dtype.BFLOAT16, "bfloat16", 16, "bfloat16", 7, "bfloat16", True),
    DtypeInfo(Dtype.FP16, "float16", 16, "float16", 4, "float16", True),
    DtypeInfo(Dtype.INT32, "int32", 32, "int32", 14, "int32"),
    DtypeInfo(Dtype.UINT32, "uint32", 32, "uint32", 10, "uint32"),
    DtypeInfo(Dtype.FP32, "float32", 32, "float32", 5, "float32", True),
    DtypeInfo(Dtype.FP32R, "float32r", 32, "float32", 6, "float32r", True),
    DtypeInfo(Dtype.INT64, "int64", 64, "int64", 15, "int64"),
    DtypeInfo(Dtype.FP8_EXP3, "float8_e3m4", 8, "float8_e3m4", 1, "float8e3", True),
    DtypeInfo(Dtype.FP8_EXP4, "float8_e4m3", 8, "float8_e4m3", 2, "float8e4", True),
    DtypeInfo(Dtype.FP8_EXP5, "float8_e5m2", 8, "float8_e5m2", 3, "float8e5", True),
    DtypeInfo(Dtype.FP4_EXP2, "float4_e2m1", 4, "uint8", None, "", True),
    DtypeInfo(Dtype.FP8_EXP2, "float8_e2m5", 8, "uint8", None, "", True),
    DtypeInfo(Dtype.INT4, "int4", 4, "uint8"),
    DtypeInfo(Dtype.SFP8_E8, "float8_e8m0", 8, "uint8", None, "", True),
    DtypeInfo(Dtype.SFP8_E7, "float8_e7m1", 8, "uint8", None, "", True),
    DtypeInfo(Dtype.SFP8_E6, "float8_e6m2", 8, "uint8", None, "", True),
    DtypeInfo(Dtype.SFP8_E5, "float8_e5m3", 8, "uint8", None, "", True),
    DtypeInfo(Dtype.CPTC1, "cptc1", 1, "uint8"),
    DtypeInfo(Dtype.CPTC2, "cptc2", 2, "uint8"),
    DtypeInfo(Dtype.CPTC3, "cptc3", 3, "uint8"),
    DtypeInfo(Dtype.CPTC4, "cptc4", 4, "uint8"),
    DtypeInfo(Dtype.CPTC5, "cptc5", 5, "uint8"),
    DtypeInfo(Dtype.CPTC6, "cptc6", 6, "uint8"),
    DtypeInfo(Dtype.CPTC7, "cptc7", 7, "uint8"),
)

# E4M3 in its FN form shares the ISA code with the IEEE-like form; the name chooses the arithmetic (D54).
E4M3FN = DtypeInfo(Dtype.FP8_EXP4, "float8_e4m3fn", 8, "float8_e4m3fn", 2, "float8_e4m3fn", True, fn=True)

_ALIASES = {
    "bf16": "bfloat16",
    "fp16": "float16",
    "fp32": "float32",
    "fp32r": "float32r",
    "float8e3": "float8_e3m4",
    "float8e4": "float8_e4m3",
    "float8e5": "float8_e5m2",
}


@cache
def _by_name() -> dict[str, DtypeInfo]:
    table = {info.name: info for info in (*DTYPES, E4M3FN)}
    table.update({info.code.name.lower(): info for info in DTYPES})
    table.update({alias: table[name] for alias, name in _ALIASES.items()})
    return table


@cache
def _by_code() -> dict[int, DtypeInfo]:
    return {int(info.code): info for info in DTYPES}


def dtype_info(code: int) -> DtypeInfo:
    """The record of an ISA code (E4M3 in its IEEE-like form); raises UsageError for no element type."""
    info = _by_code().get(int(code))
    if info is None:
        raise UsageError(f"dtype code {int(code):#x} is no element type", rule="isa.DTYPE", values={"code": int(code)})
    return info


def dtype_named(name: str) -> DtypeInfo:
    """The record of a user's name (ml_dtypes spelling, ISA spelling or a short alias).

    >>> dtype_named("bfloat16").code.name, dtype_named("fp32").size
    ('BFLOAT16', 4)
    """
    info = _by_name().get(name.lower())
    if info is None:
        import difflib

        near = difflib.get_close_matches(name.lower(), _by_name(), 1)
        raise UsageError(
            f"unknown dtype {name!r}",
            rule="dec.D54",
            fix=f"write {near[0]}" if near else "one of " + ", ".join(i.name for i in DTYPES[:15]),
        )
    return info


def dtype_from_neff(code: int | str) -> DtypeInfo:
    """The record of a NEFF dtype, by code or by name (neff 3); raises UsageError when there is none."""
    for info in (*DTYPES, E4M3FN):
        if info.neff_code is not None and code in (info.neff_code, info.neff_name, info.name):
            return info
    raise UsageError(f"unknown NEFF dtype {code!r}", rule="neff.3", values={"dtype": code})

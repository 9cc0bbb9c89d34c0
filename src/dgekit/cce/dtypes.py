"""Element types in a packet: sizes, the default accumulator, the codes of a constant, the gates (cce 1.2, 4.3, 5.3)."""

from __future__ import annotations

from typing import Final

from dgekit.cce.enums import CceType, Dtype
from dgekit.cce.faults import refusal_error
from dgekit.cce.remap import MAX_DTYPE, SDMA_DATA_TYPE_SIZE
from dgekit.core.choices import Choices
from dgekit.core.dtypes import dtype_info
from dgekit.core.errors import ComputeError, Issue
from dgekit.numerics.elements import accumulator

# Index: the 3-bit code; each code is the SDMA value & 7, and these eight are the accepted types (CHOICE-15).
CONSTANT_DTYPES: Final = (
    Dtype.INT32, Dtype.UINT32, Dtype.FP32, Dtype.UINT8, Dtype.INT16, Dtype.UINT16, Dtype.BFLOAT16, Dtype.FP16,
)  # fmt: skip

# The `cce_dtypes` table of the collectives; fp32 and the integers are absent, FP32R has no size (cce 5.3).
REDUCIBLE: Final = (Dtype.BFLOAT16, Dtype.FP16, Dtype.FP32R, Dtype.FP8_EXP3, Dtype.FP8_EXP4, Dtype.FP8_EXP5)
_PERMISSIVE: Final = tuple(Dtype(code) for code in range(1, MAX_DTYPE + 1) if code != Dtype.FP32R)  # CHOICE-45
_V1_CLASS: Final = range(Dtype.INT32, Dtype.FP32R + 1)


def element_size(dtype: int, *, where: str = "") -> int:
    """Bytes of one element in a packet; ComputeError for a code that is no type, or for FP32R, whose size is 0.

    >>> element_size(Dtype.BFLOAT16)
    2
    """
    if not 1 <= dtype <= MAX_DTYPE:
        raise ComputeError(
            f"{int(dtype)} is no element type of a compute packet",
            rule="cce.1.2",
            where=where,
            values={"dtype": int(dtype), "low": 1, "high": MAX_DTYPE},
            source="cce 1.2",
        )
    size = SDMA_DATA_TYPE_SIZE[dtype]
    if not size:
        raise refusal_error(
            "dtype_size_zero",
            rule="cce.5.2",
            message="FP32R has no size in the table that packets are sized with",
            where=where,
            dtype=int(dtype),
            fix="FP32; as accumulator FP32R is FP32",
        )
    return size


def accum_size(dtype: int) -> int:
    """Bytes of one accumulator lane; FP32R counts as FP32 there (CHOICE-28)."""
    return element_size(Dtype.FP32 if dtype == Dtype.FP32R else dtype, where="accum_dtype")


def is_float(dtype: int) -> bool:
    """True for the floating types of a compute packet."""
    return 1 <= dtype <= MAX_DTYPE and dtype_info(dtype).is_float


def default_accum(op: int, in_dtype: int, out_dtype: int) -> Dtype:
    """The accumulator of a packet that names none (CHOICE-27): fp32 for floats and FMA, else the integers' own class.

    >>> default_accum(CceType.ADD, Dtype.INT8, Dtype.INT8).name, default_accum(CceType.FMA, 8, 8).name
    ('INT32', 'FP32')
    """
    return Dtype.FP32 if op == CceType.FMA else accumulator(in_dtype, out_dtype)


def constant_code(dtype: int) -> int:
    """The 3-bit code of a constant's element type; ComputeError with the runtime's text for the others.

    >>> constant_code(Dtype.FP32)
    2
    """
    if dtype not in CONSTANT_DTYPES:
        name = Dtype(dtype).name if dtype in Dtype._value2member_map_ else str(int(dtype))
        raise refusal_error(
            "minmax_dtype",
            name,
            rule="cce.CHOICE-15",
            where="constant",
            dtype=int(dtype),
            fix="one of " + ", ".join(legal.name for legal in CONSTANT_DTYPES),
        )
    return CONSTANT_DTYPES.index(Dtype(dtype))


def check_reducible(dtype: int, choices: Choices) -> list[Issue]:
    """Whether a collective may reduce this type: the runtime's table if `strict_reducible`, else all with a size."""
    strict = choices.flag("strict_reducible")
    legal = REDUCIBLE if strict else _PERMISSIVE
    if dtype in legal:
        return []
    return [
        Issue(
            "cce.CHOICE-45",
            "error",
            f"a collective does not reduce element type {_name(dtype)}",
            values={"dtype": int(dtype), "strict_reducible": strict},
            source="cce 5.3",
            fix="one of " + ", ".join(one.name for one in legal),
        )
    ]


def check_v1_classes(in_dtype: int, out_dtype: int) -> list[Issue]:
    """The in/out gate of the first NeuronCore generation: both 32-bit-class types, or neither (cce 5.3)."""
    if (in_dtype in _V1_CLASS) == (out_dtype in _V1_CLASS):
        return []
    return [
        Issue(
            "cce.5.3",
            "error",
            f"on NC-v1 {_name(in_dtype)} and {_name(out_dtype)} must both be of the classes 8 to 11, or neither",
            values={"in_dtype": int(in_dtype), "out_dtype": int(out_dtype)},
            source="cce 5.3",
        )
    ]


def check_sb2sb_types(in_dtype: int, out_dtype: int) -> list[Issue]:
    """The SBUF to SBUF leg converts nothing (cce 5.3)."""
    if in_dtype == out_dtype:
        return []
    return [
        Issue(
            "cce.5.3",
            "error",
            f"the SBUF to SBUF leg converts nothing: {_name(in_dtype)} in, {_name(out_dtype)} out",
            values={"in_dtype": int(in_dtype), "out_dtype": int(out_dtype)},
            source="cce 5.3",
        )
    ]


def _name(dtype: int) -> str:
    return Dtype(dtype).name if dtype in Dtype._value2member_map_ else str(int(dtype))

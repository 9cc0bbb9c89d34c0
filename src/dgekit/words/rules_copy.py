"""Rules of the copies: DMA_DIRECT2D (isa-words 4.2) and DMA_INDIRECT1D (4.3)."""

from __future__ import annotations

from collections.abc import Iterator

from dgekit.core.dtypes import Dtype
from dgekit.words.enums import MAX_INDICES_PER_LEG, PARTITION_OFFSET_BITS, ComputeOp, IndirectDim, IndirectMode
from dgekit.words.legs import Leg, dtype_bits, legs
from dgekit.words.rules import Finding, Subject, rule
from dgekit.words.rules_address import addr4_immediate
from dgekit.words.rules_common import MEMCPY_LIKE, SHAPED, enum_text, is_member, leg_dtypes, misaligned

HIGHEST_BASIC_DTYPE = Dtype.FP8_EXP5
_WIDE_GROUP = frozenset({Dtype.INT32, Dtype.UINT32, Dtype.FP32, Dtype.FP32R})


def is_compute_copy(s: Subject) -> bool:
    """True for the CCE arm of isa-words 4.2: a compute op or a dtype cast."""
    return bool(s.word.compute_op != ComputeOp.NONE or s.word.in_dtype != s.word.out_dtype)


def active_legs(s: Subject) -> tuple[Leg, ...]:
    """The legs of an INDIRECT1D word whose rows an index vector chooses; both for the undefined mode 3."""
    src, dst = legs(s.word)
    return {IndirectMode.SRC_INDIRECTION: (src,), IndirectMode.DST_INDIRECTION: (dst,)}.get(
        s.word.flags.indirect_mode, (src, dst)
    )


# shared by both copies


@rule(
    "isa.4.2.dtype",
    "FP32R is no source; 64-bit integers are no dtypes; from v4 only 0x0 to 0xf.",
    source="4.2",
    words=MEMCPY_LIKE,
)
def _copy_dtypes(s: Subject) -> Iterator[Finding]:
    if s.word.in_dtype == Dtype.FP32R:
        yield Finding("in_dtype is FP32R, which no copy may read", "in_dtype", {"dtype": int(Dtype.FP32R)}, "use FP32")
    for name, code in leg_dtypes(s):
        if code in (Dtype.UINT64, Dtype.INT64):
            message = f"{name} is {enum_text(Dtype, code)}; 64-bit integers are invalid on both sides"
            yield Finding(message, name, {"dtype": code}, "copy them as UINT32 with twice the count")
        elif s.generation.nc >= 4 and code > HIGHEST_BASIC_DTYPE:
            message = f"{name} is {enum_text(Dtype, code)}; from v4 a copy takes only dtypes 0x0 to 0xf"
            yield Finding(
                message, name, {"dtype": code, "maximum": int(HIGHEST_BASIC_DTYPE)}, "copy the bytes as UINT8"
            )


@rule(
    "isa.4.2.host_pair",
    "With a compute op both dtypes are 32-bit ones, or neither is.",
    source="4.2",
    words=SHAPED,
    severity="warning",
)
def _host_pair(s: Subject) -> Iterator[Finding]:
    kinds = [code in _WIDE_GROUP for _, code in leg_dtypes(s)]
    if s.word.compute_op != ComputeOp.NONE and kinds[0] != kinds[1]:
        values = {"in_dtype": int(s.word.in_dtype), "out_dtype": int(s.word.out_dtype)}
        message = "a compute op between a 32-bit type and another: the host refuses it (its rule is named for NC-v1)"
        yield Finding(message, "in_dtype", values)


@rule(
    "isa.4.2.shape_reg_zero",
    "A leg shaped by a register has counts 0 and step[1] 0.",
    source="4.2",
    words=("DMA_DIRECT2D",),
)
def _shape_reg_zero(s: Subject) -> Iterator[Finding]:
    for leg in legs(s.word):
        if leg.shape_from_register and (any(leg.counts) or leg.steps[1]):
            yield Finding(
                f"the {leg.name} shape is a register's; counts {list(leg.counts)} and step[1] {leg.steps[1]} must be 0",
                f"{leg.name}_num_elem",
                {"num_elem": list(leg.counts), "step_elem_1": leg.steps[1]},
                "write zero counts and a zero outer step",
            )


@rule("isa.4.3.shape_reg_zero", "A leg shaped by a register has count 0.", source="4.3", words=("DMA_INDIRECT1D",))
def _shape_reg_zero_1d(s: Subject) -> Iterator[Finding]:
    for leg in legs(s.word):
        if leg.shape_from_register and leg.counts[0]:
            message = f"the {leg.name} shape comes from a register, so its count {leg.counts[0]} must be 0"
            yield Finding(message, f"{leg.name}_num_elem", {"num_elem": leg.counts[0]}, "write a zero count")


def _total_bytes(s: Subject) -> Iterator[Finding]:
    src, dst = legs(s.word)
    if is_compute_copy(s) or src.shape_from_register or dst.shape_from_register:
        return
    if src.total_bytes != dst.total_bytes:
        yield Finding(
            f"the source covers {_product(src)} = {src.total_bytes} bytes, "
            f"the destination {_product(dst)} = {dst.total_bytes}",
            "dst_num_elem",
            {"src_bytes": src.total_bytes, "dst_bytes": dst.total_bytes},
            "make both products equal",
        )


def _product(leg: Leg) -> str:
    return " x ".join(str(factor) for factor in (*leg.counts, leg.bytes_per_element))


rule("isa.4.2.total_bytes", "A plain copy covers as many bytes on both legs.", source="4.2", words=("DMA_DIRECT2D",))(
    _total_bytes
)
rule(
    "isa.4.3.total_bytes",
    "A plain indirect copy covers as many bytes on both legs.",
    source="4.3",
    evidence="M/I",
    words=("DMA_INDIRECT1D",),
)(_total_bytes)


@rule(
    "isa.C13", "With a cast or a compute op an immediate address is aligned to its dtype.", source="4.1", words=SHAPED
)
def _aligned_start(s: Subject) -> Iterator[Finding]:
    if not is_compute_copy(s):
        return
    for leg in legs(s.word):
        problem = misaligned(leg.immediate, leg.dtype)
        if problem:
            remainder, size = problem
            message = f"the {leg.name} address {leg.immediate:#x} is {remainder} bytes off a multiple of {size}"
            yield Finding(message, f"{leg.name}_start_addr", {"address": leg.immediate, "alignment": size})


@rule(
    "isa.C14",
    "With a cast or a compute op a step is a multiple of the dtype's bytes (count 1 waives it, D3).",
    source="4.1",
    evidence="M/I",
    words=SHAPED,
)
def _aligned_step(s: Subject) -> Iterator[Finding]:
    if not is_compute_copy(s) or s.choices.text("step_unit") == "elements":
        return  # element steps are aligned by themselves
    for leg in legs(s.word):
        size = (dtype_bits(leg.dtype) or 0) // 8
        if size == 0 or leg.shape_from_register:
            continue
        for i, (step, count) in enumerate(zip(leg.steps, leg.counts, strict=True)):
            if count != 1 and step % size:
                yield Finding(
                    f"{leg.name} step {step} bytes is no multiple of the dtype's {size}",
                    f"{leg.name}_step_elem[{i}]",
                    {"step_bytes": step, "alignment": size, "count": count},
                    "write the step in bytes, or read steps as elements with step_unit = elements",
                )


# DMA_INDIRECT1D


@rule("isa.2.7.mode", "indirect_mode is 0, 1 or 2.", source="2.7", words=("DMA_INDIRECT1D", "PSEUDO_DMA_EXT"))
def _mode(s: Subject) -> Iterator[Finding]:
    mode = int(s.word.flags.indirect_mode)
    if not is_member(IndirectMode, mode):
        yield Finding(f"indirect_mode {mode} is not defined", "flags.indirect_mode", {"indirect_mode": mode})


@rule(
    "isa.4.3.dims",
    "An indirection names dimension X, any if its shape comes from a register.",
    source="4.3",
    words=("DMA_INDIRECT1D",),
)
def _dims(s: Subject) -> Iterator[Finding]:
    active = active_legs(s)
    for leg, name in zip(legs(s.word), ("gather_dim", "scatter_dim"), strict=True):
        dim = getattr(s.word.flags, name)
        if dim == IndirectDim.X or (leg in active and leg.shape_from_register):
            continue
        state = "the leg has an immediate shape" if leg in active else "the mode has no such leg"
        yield Finding(
            f"{name} is {enum_text(IndirectDim, dim)}, it must be X (0x0): {state}",
            f"flags.{name}",
            {name: int(dim), "required": 0, "indirect_mode": int(s.word.flags.indirect_mode)},
            f"set flags.{name} = X",
        )


@rule("isa.4.3.index_count", "An active leg has at most 4096 indices.", source="4.3", words=("DMA_INDIRECT1D",))
def _index_count(s: Subject) -> Iterator[Finding]:
    for leg in active_legs(s):
        if not leg.shape_from_register and leg.counts[0] > MAX_INDICES_PER_LEG:
            yield Finding(
                f"the {leg.name} leg has {leg.counts[0]} indices, the limit is {MAX_INDICES_PER_LEG}",
                f"{leg.name}_num_elem",
                {"indices": leg.counts[0], "maximum": MAX_INDICES_PER_LEG},
                "split the transfer into several words",
            )


@rule(
    "isa.4.3.index_place",
    "An index vector is register-sourced or lies in SBUF partition 0.",
    source="4.3",
    words=("DMA_INDIRECT1D",),
)
def _index_place(s: Subject) -> Iterator[Finding]:
    for leg in active_legs(s):
        name = f"{leg.name}_idx_start_addr"
        offset = addr4_immediate(getattr(s.word, name))
        above = (offset or 0) >> PARTITION_OFFSET_BITS
        if above:
            yield Finding(
                f"{name} {offset:#x} is not in SBUF partition 0: bits 28:18 are {above:#x}",
                name,
                {"offset": offset, "bits_28_18": above},
                "put the indices into partition 0 of SBUF",
            )


@rule(
    "isa.4.3.scatter_add",
    "A scatter-add has a destination index, non_unique_dst_idx and ADD.",
    source="4.3",
    words=("DMA_INDIRECT1D",),
    severity="warning",
)
def _scatter_add(s: Subject) -> Iterator[Finding]:
    if s.word.compute_op != ComputeOp.ADD:
        return
    flags = s.word.flags
    if flags.indirect_mode == IndirectMode.SRC_INDIRECTION:
        message = "compute_op ADD with source indirection: only a destination index makes a scatter-add"
        yield Finding(message, "flags.indirect_mode", {"indirect_mode": 0})
    elif not flags.non_unique_dst_idx:
        message = (
            "compute_op ADD on a scattered destination without non_unique_dst_idx: repeated indices are not announced"
        )
        yield Finding(
            message, "flags.non_unique_dst_idx", {"non_unique_dst_idx": 0}, "set flags.non_unique_dst_idx = 1"
        )

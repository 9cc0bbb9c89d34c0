"""Rules of addresses, shape registers, bound registers and index vectors (isa-words 1.3 to 1.6, 4.1 C4 to C10)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dgekit.core.errors import Severity
from dgekit.words.enums import NUM_DGE_SHAPE_REGISTERS, NUM_REGISTERS, Addr4Marker, Addr8Marker
from dgekit.words.legs import VAR_ID_BIT, WIDE_BIT, Leg, legs
from dgekit.words.rules import Finding, Subject, rule
from dgekit.words.rules_common import (
    RESOLVED,
    SHAPED,
    TRANSPOSES,
    WITH_LEGS,
    checked_leaves,
    has_idle_index_fields,
    inferred_on_xpose,
    is_member,
)
from dgekit.words.structs import Addr4Immediate, Addr8TblReg

LAST_REGISTER = NUM_REGISTERS - 1
_LEGAL_ADDR8 = frozenset(int(marker) for marker in Addr8Marker)
_LEGAL_PSEUDO_ADDR8 = _LEGAL_ADDR8 | {0x10, 0x50}

# addresses


@rule("isa.C4", "The marker of an ADDR8 is one of the ten listed.", source="1.3", evidence="M/I", words=RESOLVED)
def _marker(s: Subject) -> Iterator[Finding]:
    for leg in legs(s.word):
        if leg.marker not in _LEGAL_ADDR8 and not leg.marker & VAR_ID_BIT:
            yield _bad_marker(leg, "ADDR8")


@rule("isa.1.3.var_id", "Only a pseudo word may hold a variable id.", source="1.3", words=RESOLVED)
def _var_id(s: Subject) -> Iterator[Finding]:
    for leg in legs(s.word):
        if leg.marker & VAR_ID_BIT:
            message = (
                f"marker {leg.marker:#x} of the {leg.name} address has VAR_ID_BIT, which only a pseudo word may have"
            )
            values = {"marker": leg.marker, "VAR_ID_BIT": VAR_ID_BIT}
            yield Finding(message, f"{leg.name}_start_addr", values, "resolve the pseudo word with a relocation")


@rule(
    "isa.1.4.marker",
    "The marker of a PSEUDO_ADDR8 is an ADDR8 one, 0x10 or 0x50.",
    source="1.4",
    evidence="M/I",
    words=("PSEUDO_DMA_DIRECT2D",),
)
def _pseudo_marker(s: Subject) -> Iterator[Finding]:
    for leg in legs(s.word):
        if leg.marker not in _LEGAL_PSEUDO_ADDR8:
            yield _bad_marker(leg, "PSEUDO_ADDR8")


def _bad_marker(leg: Leg, union: str) -> Finding:
    message = f"marker {leg.marker:#x} of the {leg.name} address is none of {union}'s"
    return Finding(message, f"{leg.name}_start_addr.marker", {"marker": leg.marker})


@rule("isa.1.5.reg_num", "A register number is a general one, 0 to 63.", source="1.5")
def _register_numbers(s: Subject) -> Iterator[Finding]:
    for path, field, value in checked_leaves(s.word):
        if field.kind.type_name == "REG_NUM" and value > LAST_REGISTER:
            message = f"{path} names register {value}; the last is {LAST_REGISTER}"
            yield Finding(message, path, {"register": value, "maximum": LAST_REGISTER})
    for leg in legs(s.word):
        number = getattr(leg.address, "offset_reg", 0) + bool(leg.marker & WIDE_BIT)
        if isinstance(leg.address, Addr8TblReg) and number > LAST_REGISTER:
            message = f"the offset of the {leg.name} address reaches register {number}; the last is {LAST_REGISTER}"
            yield Finding(message, f"{leg.name}_start_addr.offset_reg", {"register": number, "maximum": LAST_REGISTER})


@rule(
    "isa.C5",
    "Whether marker 6c takes the shape from a register, as 40, c0, 60, 68 do.",
    source="8.24",
    evidence="-",
    words=WITH_LEGS,
)
def _wide_shape(s: Subject) -> Iterator[Finding]:
    for leg in legs(s.word):
        if leg.marker == Addr8Marker.ADDR_TBL_SHAPE_REG_OFFSET_REG_WIDE:
            message = (
                f"no source says whether marker {leg.marker:#x} takes the shape from a register; bit 6 decides here"
            )
            yield Finding(message, f"{leg.name}_start_addr", {"marker": leg.marker})


@rule("isa.C6", "A shape register's index, in step_elem[0], is below 4.", source="4.1", words=SHAPED)
def _shape_register(s: Subject) -> Iterator[Finding]:
    for leg in legs(s.word):
        if leg.shape_from_register and not 0 <= leg.steps[0] < NUM_DGE_SHAPE_REGISTERS:
            yield Finding(
                f"the {leg.name} shape comes from shape register {leg.steps[0]}; there are {NUM_DGE_SHAPE_REGISTERS}",
                f"{leg.name}_step_elem",
                {"shape_register": leg.steps[0], "count": NUM_DGE_SHAPE_REGISTERS},
                "name a shape register from 0 to 3 in step_elem[0]",
            )


@rule(
    "isa.8.26",
    "Whether a transpose may take its shape from a register is open.",
    source="8.26",
    evidence="-",
    words=TRANSPOSES,
)
def _transpose_shape(s: Subject) -> Iterator[Finding]:
    for leg in legs(s.word):
        if leg.shape_from_register:
            message = f"no source says whether the {leg.name} shape of {s.kind} may come from a register"
            yield Finding(message, f"{leg.name}_start_addr", {"marker": leg.marker})


# bound registers


def bound_problem(bound: Any) -> str | None:
    """Why a BOUND_CHECK_REG breaks C7, None when it is inert or enabled."""
    if bound.bc_enabled or not (bound.bc_reg or bound.bc_disable_oob_error_notif):
        return None
    return (
        f"the bound check is disabled but bc_reg is {bound.bc_reg} and "
        f"bc_disable_oob_error_notif is {bound.bc_disable_oob_error_notif}"
    )


def bound_values(bound: Any) -> dict[str, int]:
    """The three fields of a BOUND_CHECK_REG, for an issue."""
    return {name: int(getattr(bound, name)) for name in ("bc_reg", "bc_disable_oob_error_notif", "bc_enabled")}


def bound_finding(name: str, bound: Any, severity: Severity | None = None) -> Iterator[Finding]:
    """The C7 finding of one bound register, if any."""
    problem = bound_problem(bound)
    if problem:
        yield Finding(f"{name}: {problem}", name, bound_values(bound), "clear the byte or set bc_enabled", severity)


def address_bounds(word: Any) -> Iterator[tuple[str, Any, Leg]]:
    """(field name, register, leg) of the bound registers that limit addresses."""
    both = legs(word)
    if word.kind in ("DMA_DIRECT2D", "DMA_DIRECT2D_XPOSE"):
        yield from ((f"{leg.name}_bound_reg", leg.bound, leg) for leg in both)
    elif word.kind == "DMA_GATHER_XPOSE":
        yield "dst_bound_reg", word.dst_bound_reg, both[1]


def index_bounds(word: Any) -> Iterator[tuple[str, Any]]:
    """(field name, register) of the bound registers that limit indices."""
    for name in ("src_idx_bound_reg", "dst_idx_bound_reg"):
        if hasattr(word, name):
            yield name, getattr(word, name)


@rule(
    "isa.C7",
    "A bound register is either all zero, or enabled.",
    source="4.1",
    words=("DMA_DIRECT2D", "DMA_DIRECT2D_XPOSE", "DMA_GATHER_XPOSE"),
)
def _bound_register(s: Subject) -> Iterator[Finding]:
    for name, bound, _ in address_bounds(s.word):
        yield from bound_finding(name, bound, inferred_on_xpose(s))


@rule(
    "isa.C8",
    "With a wide marker bc_reg + 1 is a register too.",
    source="4.1",
    evidence="M/I",
    words=("DMA_DIRECT2D", "DMA_DIRECT2D_XPOSE", "DMA_GATHER_XPOSE"),
)
def _bound_pair(s: Subject) -> Iterator[Finding]:
    for name, bound, leg in address_bounds(s.word):
        if bound.bc_enabled and leg.marker & WIDE_BIT and bound.bc_reg + 1 > LAST_REGISTER:
            message = f"{name} is wide (marker {leg.marker:#x}): its pair ends at register {bound.bc_reg + 1}, past 63"
            yield Finding(message, name, {"bc_reg": bound.bc_reg, "maximum": LAST_REGISTER - 1, "marker": leg.marker})


@rule(
    "isa.C9",
    "An index bound register is either all zero, or enabled.",
    source="4.1",
    words=("DMA_INDIRECT1D", "DMA_GATHER_XPOSE"),
)
def _index_bound(s: Subject) -> Iterator[Finding]:
    for name, bound in index_bounds(s.word):
        yield from bound_finding(name, bound)


@rule(
    "isa.C10",
    "An out-of-bound index is an error, or its notification is on.",
    source="4.1",
    words=("DMA_INDIRECT1D",),
)
def _silent_bound(s: Subject) -> Iterator[Finding]:
    is_error = s.word.flags.idx_bound_is_err
    for name, bound in index_bounds(s.word):
        if bound.bc_disable_oob_error_notif and not is_error:
            yield Finding(
                f"{name} disables the notification while idx_bound_is_err is 0: an out-of-bound index would be silent",
                name,
                {"idx_bound_is_err": int(is_error), **bound_values(bound)},
                "set flags.idx_bound_is_err = 1 or clear bc_disable_oob_error_notif",
            )


# index vectors


@rule("isa.2.12.marker", "The marker of an ADDR4 is one of the listed.", source="2.12", evidence="M/I")
def _addr4_marker(s: Subject) -> Iterator[Finding]:
    for name, address in addr4_fields(s.word):
        top = address.marker_value
        if not is_member(Addr4Marker, top):
            yield Finding(f"marker {top:#x} of {name} is none of ADDR4's", name, {"marker": top})


@rule("isa.1.5.offset", "Bits 22:18 of a partition offset are zero.", source="1.5", evidence="M/I")
def _partition_offset(s: Subject) -> Iterator[Finding]:
    for name, address in addr4_fields(s.word):
        value = addr4_immediate(address)
        if value is not None and value >> 18 & 0x1F:
            message = f"{name} {value:#x} names a partition that is not the first of a quadrant (bits 22:18)"
            yield Finding(message, name, {"offset": value, "bits_22_18": value >> 18 & 0x1F})


def addr4_fields(word: Any) -> Iterator[tuple[str, Any]]:
    """(field name, ADDR4) of the on-chip addresses of any word; an extension's only where it has index channels."""
    if has_idle_index_fields(word):
        return
    for name in ("src_idx_start_addr", "dst_idx_start_addr", "src_addr", "dst_addr"):
        if hasattr(word, name):
            yield name, getattr(word, name)
    for name in ("src_mem_pattern", "dst_mem_pattern"):
        if hasattr(word, name):
            yield f"{name}.start_addr", getattr(word, name).start_addr


def addr4_immediate(address: Any) -> int | None:
    """The 29-bit window of an immediate ADDR4, None for every other form."""
    return address.address if isinstance(address, Addr4Immediate) else None

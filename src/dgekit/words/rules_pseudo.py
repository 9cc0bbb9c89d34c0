"""Rules of PSEUDO_DMA_DIRECT2D and PSEUDO_DMA_EXT (isa-words 4.6), and a look ahead at the word they become."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dgekit.core.errors import DgeError, Issue
from dgekit.words.enums import TILE_COLUMNS, TILE_ROWS, Addr8MarkerBit, DgeOpcode, IndirectMode
from dgekit.words.legs import SHAPE_REG_BIT, VAR_ID_BIT, Leg, dtype_bits, legs
from dgekit.words.resolve import repack
from dgekit.words.rules import Finding, Subject, rule
from dgekit.words.rules_common import has_idle_index_fields, is_member
from dgekit.words.structs import Addr8Reg

_PSEUDO = ("PSEUDO_DMA_DIRECT2D",)
_EXT = ("PSEUDO_DMA_EXT",)
OFFSET_REG_BIT = Addr8MarkerBit.ADDR_TBL_OFFSET_REG.value
FULL_TILE_COLUMNS = max(TILE_COLUMNS.values())


@rule("isa.4.6.dge_op", "dge_op is 0 to 3; on SUNDA 0 or 1.", source="4.6", words=_PSEUDO)
def _dge_op(s: Subject) -> Iterator[Finding]:
    op = int(s.word.dge_op)
    if op >= s.generation.dge_kinds:
        last = s.generation.dge_kinds - 1
        message = f"dge_op {op:#x} is an unsupported dynamic DMA opcode; {s.generation.name} has 0..{last}"
        yield Finding(message, "dge_op", {"dge_op": op, "maximum": last, "generation": s.generation.name})


@rule("isa.4.6.extension", "dge_op 1, 2 and 3 need an extension right after the word.", source="4.6", words=_PSEUDO)
def _needs_extension(s: Subject) -> Iterator[Finding]:
    if needs_extension(s.word) and s.extension is None and s.extension_missing:
        op = DgeOpcode(int(s.word.dge_op))
        message = f"dge_op {int(op)} ({op.name}) needs a PSEUDO_DMA_EXT (0xda) at byte 64, and none follows"
        yield Finding(message, "dge_op", {"dge_op": int(op)}, "put a 0xda word right after")


def needs_extension(pseudo: Any) -> bool:
    """True for the kinds that the loader refuses without a 0xda word."""
    return is_member(DgeOpcode, pseudo.dge_op) and pseudo.dge_op != DgeOpcode.DMA_DIRECT2D


@rule("isa.4.6.unneeded", "A plain copy needs no extension.", source="5.1", words=_PSEUDO, severity="advice")
def _unneeded_extension(s: Subject) -> Iterator[Finding]:
    if s.extension is not None and s.word.dge_op == DgeOpcode.DMA_DIRECT2D:
        message = "dge_op 0 goes to DIRECT2D without looking for an extension, yet one follows"
        yield Finding(message, "dge_op", {"dge_op": 0})


@rule(
    "isa.4.6.same_elements",
    "Both legs of a copy move the same number of elements.",
    source="4.6",
    words=_PSEUDO,
    severity="warning",
)
def _same_elements(s: Subject) -> Iterator[Finding]:
    src, dst = legs(s.word)
    if s.word.dge_op == DgeOpcode.DMA_GATHER_TRANSPOSE or _any_shaped(src, dst):
        return
    counts = [_elements(leg, s.word.dge_op == DgeOpcode.DMA_TRANSPOSE) for leg in (src, dst)]
    if None not in counts and counts[0] != counts[1]:
        message = (
            f"the source moves {counts[0]} elements, the destination {counts[1]}; the compiler wants the same number"
        )
        yield Finding(message, "dst_num_elem", {"src_elements": counts[0], "dst_elements": counts[1]})


def _elements(leg: Leg, of_transpose: bool) -> int | None:
    """Elements of the dtype a leg moves; of a transpose the bare counts, whose unit both legs share."""
    if of_transpose:
        return leg.counts[0] * leg.counts[1]
    bits = dtype_bits(leg.dtype)
    return 8 * leg.total_bytes // bits if bits else None


@rule(
    "isa.4.6.same_dims",
    "The compiler writes both legs of a copy with the same counts.",
    source="4.6",
    words=_PSEUDO,
    severity="advice",
)
def _same_dims(s: Subject) -> Iterator[Finding]:
    src, dst = legs(s.word)
    if s.word.dge_op == DgeOpcode.DMA_DIRECT2D and src.counts != dst.counts and not _any_shaped(src, dst):
        message = (
            f"the counts of the legs are {list(src.counts)} and {list(dst.counts)}; the compiler wants them to match"
        )
        yield Finding(message, "dst_num_elem", {"src": list(src.counts), "dst": list(dst.counts)})


def _any_shaped(*both: Leg) -> bool:
    return any(leg.shape_from_register for leg in both)


@rule(
    "isa.4.6.offset_kinds",
    "An access has a scalar or a vector offset, not both.",
    source="4.6",
    words=_PSEUDO,
    severity="warning",
)
def _offset_kinds(s: Subject) -> Iterator[Finding]:
    for leg in _indexed_legs(s):
        if leg.marker & OFFSET_REG_BIT:
            message = f"the {leg.name} access has both an index vector and a register offset (marker {leg.marker:#x})"
            yield Finding(message, f"{leg.name}_start_addr", {"marker": leg.marker}, "fold the offset into the base")


def _indexed_legs(s: Subject) -> tuple[Leg, ...]:
    """The legs whose rows the extension's index vectors choose."""
    src, dst = legs(s.word)
    if s.extension is None or has_idle_index_fields(s.extension):
        return ()
    if s.word.dge_op == DgeOpcode.DMA_GATHER_TRANSPOSE:
        return (src,)
    if s.word.dge_op != DgeOpcode.DMA_INDIRECT1D:
        return ()
    mode = s.extension.flags.indirect_mode
    return {IndirectMode.SRC_INDIRECTION: (src,), IndirectMode.DST_INDIRECTION: (dst,)}.get(mode, (src, dst))


@rule("isa.4.6.tile_rows", "tile_src_rows of an extension is 16 or 0.", source="4.6", words=_EXT)
def _ext_rows(s: Subject) -> Iterator[Finding]:
    rows = s.word.tile_src_rows
    if rows not in (0, TILE_ROWS):
        yield Finding(
            f"tile_src_rows is {rows}; 16 or 0 are legal", "tile_src_rows", {"rows": rows, "legal": [0, TILE_ROWS]}
        )


@rule(
    "isa.4.6.tile_cols",
    "tile_src_cols of an extension is 128 or 0; 1..127 is a warning (D6).",
    source="4.6, decision D6",
    words=_EXT,
)
def _ext_columns(s: Subject) -> Iterator[Finding]:
    columns = s.word.tile_src_cols
    values = {"columns": columns, "legal": [0, FULL_TILE_COLUMNS]}
    if columns > FULL_TILE_COLUMNS:
        yield Finding(f"tile_src_cols is {columns}, above 128", "tile_src_cols", values)
    elif columns not in (0, FULL_TILE_COLUMNS):
        message = f"tile_src_cols is {columns}; the published extension holds 128 or 0"
        yield Finding(message, "tile_src_cols", values, severity="warning")


def look_ahead(s: Subject) -> Subject | None:
    """The word the pseudo would become, as a subject; None when it cannot become one.

    A variable's address is not known before loading, so it stands as a register address: no rule judges its value.
    """
    if s.kind != "PSEUDO_DMA_DIRECT2D" or int(s.word.dge_op) >= s.generation.dge_kinds:
        return None
    src, dst = (_unknown_address(leg.address) for leg in legs(s.word))
    try:
        resolved = repack(s.word, s.extension, src, dst, s.choices)
    except DgeError:
        return None  # its own rule has said why
    return Subject(resolved.word, s.generation, s.choices)


def _unknown_address(address: Any) -> Any:
    if not address.marker_value & VAR_ID_BIT:
        return address
    return Addr8Reg(marker=0x80 | (address.marker_value & SHAPE_REG_BIT))


def inferred(issue: Issue) -> Issue:
    """An issue of the word looked ahead at: the field map is inferred, so an error becomes a warning (D52)."""
    severity = "warning" if issue.severity == "error" else issue.severity
    message = f"once resolved: {issue.message}"
    return Issue(issue.rule, severity, message, issue.where, issue.values, issue.source, issue.fix)

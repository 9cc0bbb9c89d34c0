"""From a pseudo word to the word the device executes: a fresh re-pack chosen by `dge_op` (isa-words 5, decision D5).

Steps: pick the target, resolve both addresses through the relocation table, pack every field of the table in
isa-words 5.3, and say what the target has no place for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dgekit.core.choices import Choices
from dgekit.core.errors import IllegalWord, Issue, LoweringError, Unspecified
from dgekit.core.evidence import Evidence
from dgekit.layout.struct import default_of
from dgekit.words.enums import ComputeOp, DgeOpcode
from dgekit.words.legs import SHAPE_REG_BIT, VAR_ID_BIT, dtype_bits
from dgekit.words.structs import (
    Addr8Immediate,
    DmaConfigs,
    DmaDirect2D,
    DmaDirect2DXpose,
    DmaGatherTransposeFlags,
    DmaGatherXpose,
    DmaIndirect1D,
    DtypePair,
    PseudoAddr8Var,
    PseudoDmaDirect2D,
    PseudoDmaExt,
)

ADDRESS_BITS = 58
NIBBLE_MAX = 0xF

ResolvedWord = DmaDirect2D | DmaIndirect1D | DmaDirect2DXpose | DmaGatherXpose


# What resolution itself can find, by rule id: the statement and how sure it is. Errors first, then notices.
LOWERING_RULES: Mapping[str, tuple[str, Evidence]] = {
    "isa.5.1.var": ("A variable id is in the relocation table.", Evidence.parse("H/O", "isa-words 5.1")),
    "isa.5.1.address": ("A relocated address fits 58 bits.", Evidence.parse("M/I", "isa-words 1.3")),
    "isa.5.1.form": ("An address form has a known layout.", Evidence.parse("-", "isa-words 1.4")),
    "isa.1.9.dtype_pair": ("Both dtypes of a gather-transpose fit a nibble.", Evidence.parse("H/O", "isa-words 1.9")),
    "isa.5.2.compute_op": (
        "Whether a plain copy takes its extension's compute_op.",
        Evidence.parse("-", "isa-words 5.2"),
    ),
    "isa.5.3.bound_bytes": ("How bound sizes in bytes reach a register.", Evidence.parse("-", "isa-words 5.3")),
    "isa.5.3.no_place": (
        "A value of the pseudo word has a place in the target.",
        Evidence.parse("H/I", "isa-words 5.3"),
    ),
}


@dataclass(frozen=True, slots=True)
class Resolved:
    """The word to execute, the completion increment carried beside it (D5), and what was noticed on the way."""

    word: ResolvedWord
    sem_increment: int
    issues: tuple[Issue, ...] = ()


def resolve(
    pseudo: PseudoDmaDirect2D, ext: PseudoDmaExt | None, relocations: Mapping[int, int], choices: Choices
) -> Resolved:
    """Resolve one pseudo word; `relocations` maps a variable id to the SoC address of its first byte.

    Raises IllegalWord for an unknown `dge_op` or a missing extension, LoweringError for a variable that is not in
    the table or an address over 58 bits, Unspecified for an address form whose layout no source gives.
    """
    src = _resolve_address(pseudo.src_start_addr, relocations, "src_start_addr")
    dst = _resolve_address(pseudo.dst_start_addr, relocations, "dst_start_addr")
    return repack(pseudo, ext, src, dst, choices)


def repack(pseudo: PseudoDmaDirect2D, ext: PseudoDmaExt | None, src: Any, dst: Any, choices: Choices) -> Resolved:
    """Pack the target word around two addresses that are resolved already; raises IllegalWord as `resolve` does."""
    kind = _target_kind(pseudo)
    if kind == DgeOpcode.DMA_DIRECT2D:
        word: ResolvedWord = _direct(pseudo, ext, src, dst, choices)
    else:
        word = _EXTENDED_TARGETS[kind](pseudo, _required(ext, kind), src, dst, choices)
    return Resolved(word, pseudo.sem_increment, tuple(_notices(kind, pseudo, ext, choices)))


def _target_kind(pseudo: PseudoDmaDirect2D) -> DgeOpcode:
    try:
        return DgeOpcode(int(pseudo.dge_op))
    except ValueError:
        raise IllegalWord(
            f"dge_op {int(pseudo.dge_op):#x} is an unsupported dynamic DMA opcode",
            rule="isa.4.6.dge_op",
            where="dge_op",
            values={"dge_op": int(pseudo.dge_op), "maximum": max(DgeOpcode)},
            source="isa-words 4.6",
            fix="use 0 (DIRECT2D), 1 (INDIRECT1D), 2 (TRANSPOSE) or 3 (GATHER_TRANSPOSE)",
        ) from None


def _required(ext: PseudoDmaExt | None, kind: DgeOpcode) -> PseudoDmaExt:
    if ext is None:
        raise IllegalWord(
            f"dge_op {int(kind)} ({kind.name}) needs a PSEUDO_DMA_EXT (0xda) right after the pseudo word",
            rule="isa.4.6.extension",
            where="dge_op",
            values={"dge_op": int(kind)},
            source="isa-words 4.6",
            fix="put a 0xda word at byte 64",
        )
    return ext


# addresses (isa-words 5.1 step 2)


def _resolve_address(address: Any, relocations: Mapping[int, int], where: str) -> Any:
    if isinstance(address, PseudoAddr8Var):
        return _resolve_variable(address, relocations, where)
    if address.marker_value & VAR_ID_BIT:
        raise Unspecified(
            f"{where} has marker {address.marker_value:#x}, an address form whose layout no source gives",
            rule="isa.5.1.form",
            where=where,
            values={"marker": address.marker_value},
            source="isa-words 1.4",
        )
    return address


def _resolve_variable(address: PseudoAddr8Var, relocations: Mapping[int, int], where: str) -> Addr8Immediate:
    base = relocations.get(address.var_id)
    if base is None:
        known = ", ".join(str(var_id) for var_id in sorted(relocations)) or "none"
        raise LoweringError(
            f"{where} names variable id {address.var_id}, which the relocation table does not have",
            rule="isa.5.1.var",
            where=where,
            values={"var_id": address.var_id, "known": sorted(relocations)},
            source="isa-words 5.1",
            fix=f"give an address for the id; known ids: {known}",
        )
    target = base + address.offset
    if not 0 <= target < 1 << ADDRESS_BITS:
        raise LoweringError(
            f"{where}: variable {address.var_id} at {base:#x} plus offset {address.offset:#x} is {target:#x}, "
            f"which does not fit {ADDRESS_BITS} bits",
            rule="isa.5.1.address",
            where=where,
            values={"base": base, "offset": address.offset, "address": target, "bits": ADDRESS_BITS},
            source="isa-words 1.3",
        )
    return Addr8Immediate(address=target, marker_bits=(address.marker_value & SHAPE_REG_BIT) >> 2)


# the four targets (isa-words 5.3)


def _priority(pseudo: PseudoDmaDirect2D) -> DmaConfigs:
    return DmaConfigs(priority_class=pseudo.dma_configs.priority_class)


def _direct(pseudo: PseudoDmaDirect2D, ext: PseudoDmaExt | None, src: Any, dst: Any, choices: Choices) -> DmaDirect2D:
    carried = ext is not None and choices.text("kind0_compute_op") == "extension"
    return DmaDirect2D(
        header=_header(pseudo, DmaDirect2D),
        events=pseudo.events,
        dma_configs=_priority(pseudo),
        semaphore=pseudo.semaphore,
        sem_increment=pseudo.sem_increment,
        compute_op=ext.compute_op if ext is not None and carried else ComputeOp.NONE,
        src_start_addr=src,
        src_step_elem=pseudo.src_step_elem,
        src_num_elem=pseudo.src_num_elem,
        src_elem_size=pseudo.src_elem_size,
        src_bound_reg=pseudo.src_bound_reg,
        dst_bound_reg=pseudo.dst_bound_reg,
        dst_start_addr=dst,
        dst_step_elem=pseudo.dst_step_elem,
        dst_num_elem=pseudo.dst_num_elem,
        dst_elem_size=pseudo.dst_elem_size,
        in_dtype=pseudo.in_dtype,
        out_dtype=pseudo.out_dtype,
    )


def _header(pseudo: PseudoDmaDirect2D, target: type[Any]) -> Any:
    """The target's own header with the pseudo's profiling bytes."""
    plain: Any = default_of(target)
    return plain.header.replace(debug_cmd=pseudo.header.debug_cmd, debug_hint=pseudo.header.debug_hint)


def _indirect(pseudo: PseudoDmaDirect2D, ext: PseudoDmaExt, src: Any, dst: Any, _: Choices) -> DmaIndirect1D:
    return DmaIndirect1D(
        header=_header(pseudo, DmaIndirect1D),
        events=pseudo.events,
        semaphore=pseudo.semaphore,
        sem_increment=pseudo.sem_increment,
        idx_num_active_channels=ext.idx_num_active_channels,
        flags=ext.flags,
        src_start_addr=src,
        src_step_elem=pseudo.src_step_elem[0],
        src_num_elem=pseudo.src_num_elem[0],
        src_elem_size=pseudo.src_elem_size,
        dst_start_addr=dst,
        dst_step_elem=pseudo.dst_step_elem[0],
        dst_num_elem=pseudo.dst_num_elem[0],
        dst_elem_size=pseudo.dst_elem_size,
        src_idx_start_addr=ext.src_idx_start_addr,
        dst_idx_start_addr=ext.dst_idx_start_addr,
        in_dtype=pseudo.in_dtype,
        out_dtype=pseudo.out_dtype,
        src_idx_bound_reg=pseudo.src_bound_reg,
        dst_idx_bound_reg=pseudo.dst_bound_reg,
        compute_op=ext.compute_op,
        dma_configs=_priority(pseudo),
    )


def _transpose(pseudo: PseudoDmaDirect2D, ext: PseudoDmaExt, src: Any, dst: Any, _: Choices) -> DmaDirect2DXpose:
    return DmaDirect2DXpose(
        header=_header(pseudo, DmaDirect2DXpose),
        events=pseudo.events,
        src_bound_reg=pseudo.src_bound_reg,
        dst_bound_reg=pseudo.dst_bound_reg,
        in_dtype=pseudo.in_dtype,
        out_dtype=pseudo.out_dtype,
        src_start_addr=src,
        src_step_elem=pseudo.src_step_elem,
        src_num_elem=pseudo.src_num_elem,
        tile_src_row_step=ext.tile_src_row_step,
        dst_start_addr=dst,
        dst_step_elem=pseudo.dst_step_elem,
        dst_num_elem=pseudo.dst_num_elem,
        tile_src_rows=ext.tile_src_rows,
        tile_src_cols=ext.tile_src_cols,
        semaphore=pseudo.semaphore,
        dma_configs=_priority(pseudo),
    )


def _gather(pseudo: PseudoDmaDirect2D, ext: PseudoDmaExt, src: Any, dst: Any, choices: Choices) -> DmaGatherXpose:
    elem_size = pseudo.dst_elem_size if choices.text("gather_elem_size") == "dst" else pseudo.src_elem_size
    return DmaGatherXpose(
        header=_header(pseudo, DmaGatherXpose),
        events=pseudo.events,
        semaphore=pseudo.semaphore,
        dma_configs=_priority(pseudo),
        idx_num_active_channels=ext.idx_num_active_channels,
        src_idx_bound_reg=pseudo.src_bound_reg,
        src_start_addr=src,
        src_step_elem=pseudo.src_step_elem,
        src_num_elem=pseudo.src_num_elem,
        src_idx_start_addr=ext.src_idx_start_addr,
        dst_start_addr=dst,
        dst_bound_reg=pseudo.dst_bound_reg,
        dst_step_elem_1=pseudo.dst_step_elem[1],
        dst_num_elem=pseudo.dst_num_elem,
        elem_size=elem_size,
        dtype=DtypePair(dtype_lo=_nibble(pseudo, "in_dtype"), dtype_hi=_nibble(pseudo, "out_dtype")),
        flags=DmaGatherTransposeFlags(gather_dim=ext.flags.gather_dim),
    )


def _nibble(pseudo: PseudoDmaDirect2D, name: str) -> int:
    code = int(getattr(pseudo, name))
    if code > NIBBLE_MAX:
        raise IllegalWord(
            f"{name} {code:#x} does not fit the dtype pair of DMA_GATHER_XPOSE, which holds 0x0 to 0xf",
            rule="isa.1.9.dtype_pair",
            where=name,
            values={"dtype": code, "maximum": NIBBLE_MAX},
            source="isa-words 1.9",
        )
    return code


_EXTENDED_TARGETS: Mapping[DgeOpcode, Callable[..., ResolvedWord]] = {
    DgeOpcode.DMA_INDIRECT1D: _indirect,
    DgeOpcode.DMA_TRANSPOSE: _transpose,
    DgeOpcode.DMA_GATHER_TRANSPOSE: _gather,
}


# what has no place, and what nobody knows


def _notices(kind: DgeOpcode, pseudo: PseudoDmaDirect2D, ext: PseudoDmaExt | None, choices: Choices) -> Iterator[Issue]:
    if ext is not None:
        yield from _extension_notices(kind, ext)
    yield from _dropped(kind, pseudo, choices)


def _extension_notices(kind: DgeOpcode, ext: PseudoDmaExt) -> Iterator[Issue]:
    if kind == DgeOpcode.DMA_DIRECT2D and ext.compute_op != ComputeOp.NONE:
        yield Issue(
            "isa.5.2.compute_op",
            "unspecified",
            f"no source says whether a plain copy takes compute_op {int(ext.compute_op):#x} from its extension",
            "extension.compute_op",
            {"compute_op": int(ext.compute_op)},
            "isa-words 5.2",
            "choice kind0_compute_op",
        )
    elif kind in (DgeOpcode.DMA_TRANSPOSE, DgeOpcode.DMA_GATHER_TRANSPOSE) and ext.compute_op != ComputeOp.NONE:
        yield _no_place("extension.compute_op", int(ext.compute_op), kind)
    sizes = {
        "src": ext.src_bound_size_bytes | ext.src_bound_size_bytes_upper << 32,
        "dst": ext.dst_bound_size_bytes | ext.dst_bound_size_bytes_upper << 32,
    }
    if any(sizes.values()):
        yield Issue(
            "isa.5.3.bound_bytes",
            "unspecified",
            "no source says how the extension's bound sizes in bytes reach a bound register; they are not used",
            "extension",
            sizes,
            "isa-words 5.3",
        )


def _dropped(kind: DgeOpcode, pseudo: PseudoDmaDirect2D, choices: Choices) -> Iterator[Issue]:
    if kind == DgeOpcode.DMA_INDIRECT1D:
        for name in ("src_num_elem", "dst_num_elem"):
            outer = getattr(pseudo, name)[1]
            if outer > 1:
                yield _no_place(f"{name}[1]", outer, kind)
    elif kind == DgeOpcode.DMA_GATHER_TRANSPOSE and pseudo.dst_num_elem[0] != 1:
        size = (dtype_bits(pseudo.out_dtype) or 0) // 8
        implicit = 1 if choices.text("step_unit") == "elements" else size
        if pseudo.dst_step_elem[0] != implicit:
            yield _no_place("dst_step_elem[0]", pseudo.dst_step_elem[0], kind)


def _no_place(name: str, value: int, kind: DgeOpcode) -> Issue:
    return Issue(
        "isa.5.3.no_place",
        "warning",
        f"{name} is {value}, but the resolved word of {kind.name} has no place for it",
        name,
        {name: value, "dge_op": int(kind)},
        "isa-words 5.3",
    )

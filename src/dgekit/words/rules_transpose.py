"""Rules of the transposes: DMA_DIRECT2D_XPOSE (isa-words 4.4) and DMA_GATHER_XPOSE (4.5)."""

from __future__ import annotations

from collections.abc import Iterator

from dgekit.core.dtypes import Dtype
from dgekit.core.errors import Severity
from dgekit.words.enums import GATHER_ELEM_SIZE, LINE_BYTES, TILE_COLUMNS, TILE_ROWS, IndirectDim
from dgekit.words.legs import dtype_bits, immediate_address, legs, sbuf_place, step_bytes
from dgekit.words.rules import Finding, Subject, rule
from dgekit.words.rules_address import addr4_immediate
from dgekit.words.rules_common import enum_text

_XPOSE = ("DMA_DIRECT2D_XPOSE",)
_GATHER = ("DMA_GATHER_XPOSE",)


def _size(code: int) -> int:
    return (dtype_bits(code) or 0) // 8


def _sketch(s: Subject) -> Severity | None:
    """Under `xpose_walk = elements` the step and SBUF rules are warnings (decision D11)."""
    return "warning" if s.choices.text("xpose_walk") == "elements" else None


# DMA_DIRECT2D_XPOSE


@rule("isa.4.4.tile_rows", "A tile has 16 rows.", source="4.4", words=_XPOSE, since=3)
def _tile_rows(s: Subject) -> Iterator[Finding]:
    rows = s.word.tile_src_rows
    if rows != TILE_ROWS:
        yield Finding(
            f"tile_src_rows is {rows}, it must be {TILE_ROWS}", "tile_src_rows", {"rows": rows, "required": TILE_ROWS}
        )


@rule(
    "isa.C12",
    "A transpose's dtype is 2 bytes wide, for DMA_DIRECT2D_XPOSE also 4.",
    source="4.4",
    words=_XPOSE + _GATHER,
    since=3,
)
def _width(s: Subject) -> Iterator[Finding]:
    if s.kind == "DMA_GATHER_XPOSE":
        legal = {2}
        dtypes = [("dtype.dtype_lo", s.word.dtype.dtype_lo), ("dtype.dtype_hi", s.word.dtype.dtype_hi)]
    else:
        legal = {2} if s.choices.text("xpose_dtype") == "two" else set(TILE_COLUMNS)
        dtypes = [("out_dtype", s.word.out_dtype)]
    for name, code in dtypes:
        bits = dtype_bits(code)
        if bits is None or bits % 8 or bits // 8 not in legal:
            width = "no width" if bits is None else f"{bits} bits"
            wanted = " or ".join(str(size) for size in sorted(legal))
            message = f"{name} {enum_text(Dtype, code)} has {width}; a transpose takes {wanted} bytes"
            yield Finding(message, name, {"dtype": int(code), "bits": bits, "legal_bytes": sorted(legal)})


@rule(
    "isa.4.4.tile_cols", "A tile has 1 to 128 columns of 2 bytes, or 1 to 64 of 4.", source="4.4", words=_XPOSE, since=3
)
def _tile_columns(s: Subject) -> Iterator[Finding]:
    limit = TILE_COLUMNS.get(_size(s.word.out_dtype))
    columns = s.word.tile_src_cols
    if limit is not None and not 1 <= columns <= limit:
        message = f"tile_src_cols is {columns}, the range for {_size(s.word.out_dtype)}-byte elements is 1..{limit}"
        yield Finding(message, "tile_src_cols", {"columns": columns, "minimum": 1, "maximum": limit})


@rule("isa.4.4.no_cast", "in_dtype equals out_dtype.", source="4.4", words=_XPOSE, since=3)
def _xpose_no_cast(s: Subject) -> Iterator[Finding]:
    yield from _cast(s.word.in_dtype, s.word.out_dtype, "out_dtype")


def _cast(first: int, second: int, where: str) -> Iterator[Finding]:
    if first != second:
        message = f"a transpose does not cast: {enum_text(Dtype, first)} to {enum_text(Dtype, second)}"
        yield Finding(message, where, {"in_dtype": int(first), "out_dtype": int(second)}, "make both dtypes equal")


@rule("isa.4.4.sbuf", "The destination lies in SBUF.", source="4.4", words=_XPOSE, since=3)
def _xpose_sbuf(s: Subject) -> Iterator[Finding]:
    for found in _in_sbuf(s):
        yield Finding(found.message, found.where, found.values, found.fix, _sketch(s))


def _in_sbuf(s: Subject) -> Iterator[Finding]:
    address = immediate_address(s.word.dst_start_addr)
    if address is not None and sbuf_place(address, s.generation) is None:
        yield Finding(
            f"dst_start_addr {address:#x} is not in the SBUF of any core of {s.generation.name}",
            "dst_start_addr",
            {"address": address, "sbuf_core_0": s.generation.sbuf_base(0), "active_bytes": s.generation.active_bytes},
            "transpose into SBUF",
        )


@rule("isa.4.4.dst_align", "An immediate destination is 32-byte aligned.", source="4.4", words=_XPOSE, since=3)
def _xpose_align(s: Subject) -> Iterator[Finding]:
    yield from _aligned("dst_start_addr", immediate_address(s.word.dst_start_addr), LINE_BYTES)


def _aligned(name: str, address: int | None, alignment: int) -> Iterator[Finding]:
    if address is not None and address % alignment:
        message = f"{name} {address:#x} is {address % alignment} bytes off a multiple of {alignment}"
        yield Finding(message, name, {"address": address, "alignment": alignment})


@rule(
    "isa.4.4.step32",
    "A destination step is a multiple of 32 bytes, or its count is 1.",
    source="4.4",
    words=_XPOSE,
    since=3,
)
def _xpose_step(s: Subject) -> Iterator[Finding]:
    if legs(s.word)[1].shape_from_register:
        return  # its steps are the register's
    unit = _size(s.word.out_dtype)
    for i, (step, count) in enumerate(zip(s.word.dst_step_elem, s.word.dst_num_elem, strict=True)):
        yield from _line_step(s, f"dst_step_elem[{i}]", step, count, unit, _sketch(s))


def _line_step(s: Subject, name: str, step: int, count: int, unit: int, severity: Severity | None) -> Iterator[Finding]:
    distance = step_bytes(step, unit, s.choices)
    if count != 1 and distance % LINE_BYTES:
        yield Finding(
            f"{name} is {distance} bytes, no multiple of {LINE_BYTES}, and its count is {count}",
            name,
            {"step_bytes": distance, "alignment": LINE_BYTES, "count": count},
            "let the destination step from tile to tile in multiples of 32 bytes",
            severity,
        )


# DMA_GATHER_XPOSE


@rule("isa.4.5.no_cast", "Both dtype nibbles are equal.", source="4.5", words=_GATHER, since=3)
def _gather_no_cast(s: Subject) -> Iterator[Finding]:
    yield from _cast(s.word.dtype.dtype_lo, s.word.dtype.dtype_hi, "dtype.dtype_hi")


@rule("isa.4.5.elem_size", "elem_size is even and 2 to 256.", source="4.5", words=_GATHER, since=3)
def _gather_elem_size(s: Subject) -> Iterator[Finding]:
    size = s.word.elem_size
    if size not in GATHER_ELEM_SIZE or size % 2:
        yield Finding(
            f"elem_size is {size}; it must be even and 2..256", "elem_size", {"elem_size": size, "maximum": 256}
        )


@rule("isa.4.5.src_align", "An immediate source is 2-byte aligned.", source="4.5", words=_GATHER, since=3)
def _gather_src_align(s: Subject) -> Iterator[Finding]:
    yield from _aligned("src_start_addr", immediate_address(s.word.src_start_addr), 2)


@rule("isa.4.5.dst_align", "An immediate destination is 32-byte aligned.", source="4.5", words=_GATHER, since=3)
def _gather_dst_align(s: Subject) -> Iterator[Finding]:
    yield from _aligned("dst_start_addr", immediate_address(s.word.dst_start_addr), LINE_BYTES)


@rule("isa.4.5.idx_align", "An immediate index vector is 4-byte aligned.", source="4.5", words=_GATHER, since=3)
def _gather_idx_align(s: Subject) -> Iterator[Finding]:
    yield from _aligned("src_idx_start_addr", addr4_immediate(s.word.src_idx_start_addr), 4)


@rule("isa.4.5.sbuf", "The destination lies in SBUF.", source="3.4", words=_GATHER, since=3, severity="warning")
def _gather_sbuf(s: Subject) -> Iterator[Finding]:
    yield from _in_sbuf(s)


@rule("isa.4.5.gather_dim", "gather_dim is Y.", source="4.5", words=_GATHER, since=3)
def _gather_dim(s: Subject) -> Iterator[Finding]:
    dim = s.word.flags.gather_dim
    if dim != IndirectDim.Y:
        message = f"gather_dim is {enum_text(IndirectDim, dim)}, it must be Y (0x1)"
        yield Finding(message, "flags.gather_dim", {"gather_dim": int(dim), "required": 1}, "set flags.gather_dim = Y")


@rule("isa.4.5.index_multiple", "The index count is a multiple of 16.", source="4.5", words=_GATHER, since=3)
def _index_multiple(s: Subject) -> Iterator[Finding]:
    count = s.word.src_num_elem[1]
    if count % TILE_ROWS:
        message = f"src_num_elem[1] is {count}, no multiple of {TILE_ROWS}"
        yield Finding(message, "src_num_elem[1]", {"indices": count, "multiple": TILE_ROWS}, "pad the index vector")


@rule(
    "isa.4.5.index_count",
    "Source Y and destination X counts are the same index count.",
    source="4.5",
    words=_GATHER,
    since=3,
)
def _same_index_count(s: Subject) -> Iterator[Finding]:
    src, dst = s.word.src_num_elem[1], s.word.dst_num_elem[0]
    if src != dst:
        message = f"src_num_elem[1] is {src} and dst_num_elem[0] is {dst}; both are the number of indices"
        yield Finding(message, "dst_num_elem[0]", {"src_indices": src, "dst_indices": dst})


@rule(
    "isa.4.5.step32",
    "The outer destination step is a multiple of 32 bytes, or its count is 1.",
    source="4.5",
    words=_GATHER,
    since=3,
)
def _gather_step(s: Subject) -> Iterator[Finding]:
    dst = legs(s.word)[1]
    if dst.shape_from_register:
        return
    yield from _line_step(s, "dst_step_elem_1", s.word.dst_step_elem_1, s.word.dst_num_elem[1], _size(dst.dtype), None)

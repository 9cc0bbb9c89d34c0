"""Rules of dma_transpose, direct and indirect (nki-dma 4: T1 to T5, G1 to G7)."""

from __future__ import annotations

import math
from collections.abc import Iterator

from dgekit.advise.rules import DGE_PAGE, TRANSPOSE_PAGE, Case, Finding, rule
from dgekit.core.dtypes import Dtype
from dgekit.transfers.call import View

AXES = {2: (1, 0), 3: (2, 1, 0), 4: (3, 1, 2, 0)}
ROWS = 16
COLUMNS = 128
LEADING = (1, 2, 4, 8, 16)

_ONLY = ("dma_transpose",)
_API_060 = f"{TRANSPOSE_PAGE}, NKI 0.6.0"
_NOTES_060 = "NKI release notes 0.6.0"
_SHAPE_FIX = f"leave the mode unknown, or cut the source into blocks of {ROWS} x {COLUMNS}"


def _indirect(case: Case) -> bool:
    return case.call.srcs[0].dynamic == "vector"


@rule(
    "nki.T1",
    "A DMA transposes 2-D by (1, 0), 3-D by (2, 1, 0), 4-D by (3, 1, 2, 0), and nothing else.",
    functions=_ONLY,
    sources=(("D", TRANSPOSE_PAGE),),
    fix="reshape to one of these, or transpose on the PE",
)
def axes(case: Case) -> Iterator[Finding]:
    """The permutation against the only one of its rank."""
    rank = len(case.call.srcs[0].shape)
    given, want = case.call.axes, AXES.get(rank)
    if want is None or (given is not None and given != want):
        shown = "no axes" if given is None else f"axes {list(given)}"
        values = {"axes": list(given or ()), "dimensions": rank, "want": list(want or ())}
        yield Finding(f"{shown} of a {rank}-D source", values)


@rule(
    "nki.T2",
    "A DMA transpose ends in SBUF, reads HBM or SBUF, and keeps the type.",
    functions=_ONLY,
    sources=(("D", TRANSPOSE_PAGE),),
    fix="transpose into SBUF under one type, then copy",
)
def operands(case: Case) -> Iterator[Finding]:
    """Memories and types of both sides."""
    dst, src = case.call.dst, case.call.srcs[0]
    if dst.space != "sbuf":
        yield Finding(f"the destination {dst.tensor} is in {dst.space}", {"space": dst.space, "want": "sbuf"})
    if src.space == "psum":
        yield Finding(f"the source {src.tensor} is in PSUM", {"space": src.space, "want": ["hbm", "sbuf"]})
    if src.dtype != dst.dtype:
        values = {"src": src.dtype.name, "dst": dst.dtype.name}
        yield Finding(f"a transpose from {src.dtype.name} to {dst.dtype.name}", values)


@rule(
    "nki.T3",
    "The destination has the transposed shape of the source, with the same rank (enforced since NKI 0.4.0).",
    functions=_ONLY,
    sources=(("D", "NKI release notes 0.4.0"),),
    fix="give the destination that shape",
    changes=(("0.4.0", "a destination of lower rank is refused; before, it was padded silently"),),
)
def transposed_shape(case: Case) -> Iterator[Finding]:
    """Shapes; before 0.4.0 without regard to extents of 1."""
    src, dst = case.call.srcs[0].shape, case.call.dst.shape
    order = AXES.get(len(src))
    if order is None:
        return
    want = tuple(src[axis] for axis in order)
    if dst == want:
        return
    values = {"src": list(src), "dst": list(dst), "want": list(want)}
    if case.before("0.4.0") and len(dst) < len(want) and _squeezed(dst) == _squeezed(want):
        message = f"dst {list(dst)} is padded silently to {list(want)}; NKI 0.4.0 refuses it"
        yield Finding(message, values, severity="warning")
    else:
        yield Finding(f"the transpose of {list(src)} has shape {list(want)}, dst has {list(dst)}", values)


def _squeezed(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(extent for extent in shape if extent > 1)


@rule(
    "nki.T4",
    "A direct transpose takes unknown or hwdge; hwdge wants 2-byte types and the shapes of its NKI version.",
    functions=_ONLY,
    modes=("none", "swdge", "hwdge"),
    sources=(("D", TRANSPOSE_PAGE), ("D", DGE_PAGE)),
    fix="leave the mode unknown",
    changes=(
        ("0.6.0", "hwdge shapes: rows 1 to 16 in 3-D and 4-D, up to 128 columns; before, 16 rows and 128 columns"),
    ),
)
def direct_transpose(case: Case) -> Iterator[Finding]:
    """The mode, then what hwdge asks of type and shape by either page."""
    if _indirect(case) or len(case.call.srcs[0].shape) not in AXES:
        return
    if case.mode == "swdge":
        yield Finding("a direct transpose in swdge", {"mode": "swdge", "allowed": ["unknown", "hwdge"]})
    elif case.mode == "none":
        yield from _static_transpose(case)
    else:
        yield from _hwdge_transpose(case)


def _static_transpose(case: Case) -> Iterator[Finding]:
    """The API page lists no `none`; the compiler may still expand an `unknown` one on the host."""
    page = f"{TRANSPOSE_PAGE}, NKI {case.version}"
    yield Finding(
        f"the {page} lists unknown and hwdge for a direct transpose, not none",
        {"mode": "none", "allowed": ["unknown", "hwdge"]},
        source=f"{page} [D]",
        only_named=True,
    )
    yield Finding(
        f"the {DGE_PAGE} lists none for a direct transpose; the API page decides",
        {"mode": "none"},
        severity="warning",
        source=f"{DGE_PAGE} [D] against {page} [D]",
        only_named=True,
    )


def _hwdge_transpose(case: Case) -> Iterator[Finding]:
    src = case.call.srcs[0]
    if src.dtype.size != 2:
        values = {"bytes": src.dtype.size, "want": 2}
        yield Finding(f"hwdge transposes 2-byte types, {src.dtype.name} has {src.dtype.size} bytes", values)
    if case.before("0.6.0"):
        yield from _shape_before_060(case, src.shape)
    else:
        yield from _shape_060(src.shape)


def _shape_before_060(case: Case, shape: tuple[int, ...]) -> Iterator[Finding]:
    """16 rows, and columns in multiples of 128; the release note words the old rule as exactly 128."""
    source = f"{DGE_PAGE} [D], as of NKI {case.version}"
    problem = _by_dge_page(shape)
    if problem is not None:
        message, values = problem
        yield Finding(message, values, _SHAPE_FIX, source=source)
    elif shape[-1] != COLUMNS:
        yield Finding(
            f"shape[-1] is {shape[-1]}: the {DGE_PAGE} takes multiples of {COLUMNS}, the {_NOTES_060} say the rule "
            f"was exactly {COLUMNS}",
            {"columns": shape[-1], "want": COLUMNS},
            severity="warning",
            source=f"{_NOTES_060} [D] against {source}",
        )


def _shape_060(shape: tuple[int, ...]) -> Iterator[Finding]:
    """The API page decides; where the other page says the opposite, a warning names it."""
    ours, theirs = list(_by_api_060(shape)), _by_dge_page(shape)
    for told, numbers in ours:
        yield Finding(told, numbers, _SHAPE_FIX, source=f"{_API_060} [D]")
    if bool(ours) == (theirs is not None):
        return
    if theirs is None:
        message = f"the {DGE_PAGE} allows {list(shape)}; the {_API_060} does not, and decides"
    else:
        message = f"the {DGE_PAGE} refuses it ({theirs[0]}); the {_API_060} allows it, and decides"
    values = {"shape": list(shape)}
    yield Finding(message, values, severity="warning", source=f"{DGE_PAGE} [D] against {_API_060} [D]")


def _by_dge_page(shape: tuple[int, ...]) -> tuple[str, dict[str, int]] | None:
    if shape[0] != ROWS:
        return f"hwdge transposes with shape[0] = {ROWS}, here it is {shape[0]}", {"rows": shape[0], "want": ROWS}
    if shape[-1] % COLUMNS:
        values = {"columns": shape[-1], "multiple": COLUMNS}
        return f"hwdge transposes with shape[-1] in multiples of {COLUMNS}, here it is {shape[-1]}", values
    return None


def _by_api_060(shape: tuple[int, ...]) -> Iterator[tuple[str, dict[str, object]]]:
    rows = shape[0]
    if len(shape) == 2:
        if rows != ROWS:
            yield f"hwdge transposes 2-D with shape[0] = {ROWS}, here it is {rows}", {"rows": rows, "want": ROWS}
    elif rows not in LEADING:
        yield (
            f"hwdge transposes with shape[0] in {list(LEADING)}, here it is {rows}",
            {"rows": rows, "want": list(LEADING)},
        )
    elif rows * shape[-2] % ROWS:
        values: dict[str, object] = {"product": rows * shape[-2], "multiple": ROWS}
        yield f"shape[0] x shape[-2] is {rows * shape[-2]}, no multiple of {ROWS}", values
    if shape[-1] > COLUMNS:
        message = f"hwdge transposes with shape[-1] up to {COLUMNS}, here it is {shape[-1]}"
        yield message, {"columns": shape[-1], "maximum": COLUMNS}


@rule(
    "nki.T5",
    "An indirect transpose takes unknown or swdge.",
    functions=_ONLY,
    modes=("none", "hwdge"),
    sources=(("D", TRANSPOSE_PAGE), ("D", DGE_PAGE)),
    fix="use swdge or unknown",
)
def indirect_transpose(case: Case) -> Iterator[Finding]:
    """A vector of indices in another mode."""
    if _indirect(case):
        message = f"an indirect transpose in mode {case.mode}"
        yield Finding(message, {"mode": case.mode, "allowed": ["unknown", "swdge"]})


@rule(
    "nki.G1",
    "An indirect transpose reads HBM, 2-byte types, up to 128 columns (exactly 128 before NKI 0.4.0).",
    functions=_ONLY,
    sources=(("D", TRANSPOSE_PAGE), ("D", DGE_PAGE)),
    fix="cut the columns into blocks of 128 of a 2-byte type",
    changes=(("0.4.0", "fewer than 128 columns are allowed"),),
)
def gathered_source(case: Case) -> Iterator[Finding]:
    """Memory, type and columns of the source."""
    if not _indirect(case):
        return
    src = case.call.srcs[0]
    columns = src.shape[-1]
    if src.space != "hbm":
        yield Finding(f"the source {src.tensor} is in {src.space}", {"space": src.space, "want": "hbm"})
    if src.dtype.size != 2:
        values = {"bytes": src.dtype.size, "want": 2}
        yield Finding(f"{src.dtype.name} has {src.dtype.size} bytes; it takes 2-byte types", values)
    if case.before("0.4.0") and columns != COLUMNS:
        values = {"columns": columns, "want": COLUMNS}
        yield Finding(f"shape[-1] is {columns}; NKI {case.version} takes exactly {COLUMNS}", values)
    elif columns > COLUMNS:
        yield Finding(f"shape[-1] is {columns}, over {COLUMNS}", {"columns": columns, "maximum": COLUMNS})


@rule(
    "nki.G2",
    "The rows of an indirect transpose are a multiple of 16.",
    functions=_ONLY,
    sources=(("D", TRANSPOSE_PAGE), ("D", DGE_PAGE)),
    fix="pad the indices to a multiple of 16",
)
def gathered_rows(case: Case) -> Iterator[Finding]:
    """src.shape[0] against 16."""
    rows = case.call.srcs[0].shape[0]
    if _indirect(case) and rows % ROWS:
        yield Finding(f"shape[0] is {rows}, no multiple of {ROWS}", {"rows": rows, "multiple": ROWS})


@rule(
    "nki.G3",
    "A 4-D indirect transpose has shape[1] = 1 or shape[2] = 1.",
    functions=_ONLY,
    sources=(("D", TRANSPOSE_PAGE), ("D", DGE_PAGE)),
    fix="make it several transposes",
)
def one_middle(case: Case) -> Iterator[Finding]:
    """The middle extents of a 4-D source."""
    shape = case.call.srcs[0].shape
    if _indirect(case) and len(shape) == 4 and 1 not in shape[1:3]:
        values = {"shape[1]": shape[1], "shape[2]": shape[2]}
        yield Finding(f"shape[1] is {shape[1]} and shape[2] is {shape[2]}; one of them must be 1", values)


@rule(
    "nki.G4",
    "The indices of an indirect transpose are 2-D uint32 in SBUF, shape[0] a multiple of 16 from 16 to 128, and 128 "
    "when there are several columns.",
    functions=_ONLY,
    sources=(("D", TRANSPOSE_PAGE), ("D", DGE_PAGE)),
    fix="give the indices as uint32 [128, n], or [k x 16, 1]",
)
def index_tile(case: Case) -> Iterator[Finding]:
    """Type, memory and shape of the indices."""
    indices = case.call.indices
    if not _indirect(case) or indices is None:
        return
    if indices.space != "sbuf" or indices.dtype.code != Dtype.UINT32:
        message = f"the indices {indices.tensor} are {indices.dtype.name} in {indices.space}"
        yield Finding(message, {"dtype": indices.dtype.name, "space": indices.space})
    yield from _index_shape(indices)


def _index_shape(indices: View) -> Iterator[Finding]:
    shape = indices.shape
    if len(shape) != 2:
        yield Finding(f"the indices have {len(shape)} dimensions", {"dimensions": len(shape), "want": 2})
    elif not ROWS <= shape[0] <= COLUMNS or shape[0] % ROWS:
        values = {"rows": shape[0], "minimum": ROWS, "maximum": COLUMNS, "multiple": ROWS}
        yield Finding(f"the indices have {shape[0]} rows, not a multiple of {ROWS} from {ROWS} to {COLUMNS}", values)
    elif shape[1] > 1 and shape[0] != COLUMNS:
        values = {"rows": shape[0], "columns": shape[1], "want": COLUMNS}
        yield Finding(f"indices of {shape[1]} columns have {shape[0]} rows, not {COLUMNS}", values)


@rule(
    "nki.G5",
    "There are at least as many indices as rows to transpose.",
    functions=_ONLY,
    sources=(("D", TRANSPOSE_PAGE), ("D", DGE_PAGE)),
    fix="give one index a row",
)
def enough_indices(case: Case) -> Iterator[Finding]:
    """indices.size against src.shape[0]."""
    indices, rows = case.call.indices, case.call.srcs[0].shape[0]
    if _indirect(case) and indices is not None and math.prod(indices.shape) < rows:
        given = math.prod(indices.shape)
        yield Finding(f"{given} indices for {rows} rows", {"indices": given, "rows": rows})


@rule(
    "nki.G6",
    "Indices of an indirect transpose are taken column by column, the first src.shape[0] of them.",
    functions=_ONLY,
    sources=(("D", TRANSPOSE_PAGE), ("D", DGE_PAGE)),
    severity="advice",
    fix="lay the indices out column by column",
)
def column_order(case: Case) -> Iterator[Finding]:
    """Told where there is more than one column."""
    indices = case.call.indices
    if _indirect(case) and indices is not None and len(indices.shape) == 2 and indices.shape[1] > 1:
        rows = case.call.srcs[0].shape[0]
        message = f"the first {rows} of the {list(indices.shape)} indices count, column by column"
        yield Finding(message, {"indices": list(indices.shape), "rows": rows})


@rule(
    "nki.G7",
    "oob_mode.skip is for dynamic sources: indices, or (since NKI 0.5.0) a scalar offset.",
    functions=_ONLY,
    sources=(("D", TRANSPOSE_PAGE), ("I", "aws-neuron-sdk report 1390")),
    fix="use oob_mode.error",
    changes=(("0.5.0", "a scalar offset may be skipped too"),),
)
def skip_is_dynamic(case: Case) -> Iterator[Finding]:
    """skip on a static source, on a scalar before 0.5.0, and the known fault of mixed lanes."""
    if case.call.oob_mode != "skip":
        return
    if case.scalar and case.before("0.5.0"):
        values = {"nki_version": case.version, "since": "0.5.0"}
        yield Finding(f"NKI {case.version} does not skip a scalar offset", values)
    elif not case.scalar and not _indirect(case):
        yield Finding("oob_mode.skip on a static source", {"oob_mode": "skip"})
    bad, lanes = len(case.outside()), len(case.indices or ())
    if 0 < bad < lanes:
        yield Finding(
            f"{bad} of {lanes} lanes are out of bounds: a group that mixes both aborts the DMA on Trn2 and Trn3 "
            "(SDK 2.32.0)",
            {"lanes": lanes, "out_of_bounds": bad},
            "sort the valid indices in front, or gather and transpose apart",
            "warning",
            "aws-neuron-sdk report 1390 [I]",
        )

"""Rules of dma_copy, and those that every DMA call shares: types, modes, engine, priority (nki-dma 2: C1 to C13)."""

from __future__ import annotations

import math
from collections.abc import Iterator

from dgekit.advise.rules import COPY_PAGE, DGE_PAGE, DYNAMIC_MODES, INTRO_PAGE, MODES, Case, Finding, rule
from dgekit.core.dtypes import Dtype, DtypeInfo

NOTES_030 = "NKI release notes 0.3.0"
MAX_PRIORITY = 3
EXACT_INTEGER = 1 << 24  # the largest whole number up to which fp32 holds every one

_ALL = ("dma_copy", "dma_transpose", "dma_compute")
_HWDGE_ENGINES = ("scalar", "sync")
_WIDE_INTEGERS = (Dtype.INT32, Dtype.UINT32, Dtype.INT64, Dtype.UINT64)
_MX = (Dtype.FP4_EXP2, Dtype.SFP8_E8)


@rule(
    "nki.C1",
    "A DMA moves between HBM and SBUF; a PSUM source is refused since NKI 0.3.0.",
    functions=("dma_copy", "dma_compute"),
    sources=(("D", COPY_PAGE), ("D", NOTES_030)),
    fix="copy it to SBUF first",
    changes=(("0.3.0", "a source in PSUM is refused"),),
)
def memories(case: Case) -> Iterator[Finding]:
    """Views in PSUM: destinations always, sources since 0.3.0."""
    for view in case.views:
        if view.space == "psum" and (view is case.call.dst or not case.before("0.3.0")):
            yield Finding(f"{view.tensor} is in PSUM", {"space": view.space, "allowed": ["hbm", "sbuf"]})


@rule(
    "nki.C2",
    "Source and destination have the same number of elements; their shapes may differ since NKI 0.3.0.",
    functions=("dma_copy",),
    sources=(("D", COPY_PAGE), ("I", "aws-neuron-sdk report 1281")),
    fix="give both sides the same number of elements",
    changes=(("0.3.0", "the front end no longer wants equal shapes"),),
)
def counts(case: Case) -> Iterator[Finding]:
    """Element counts; shapes for the front end of 0.2."""
    dst, src = case.call.dst, case.call.srcs[0]
    have, want = math.prod(src.shape), math.prod(dst.shape)
    if have != want:
        message = f"src {list(src.shape)} has {have} elements, dst {list(dst.shape)} has {want}"
        yield Finding(message, {"src": have, "dst": want})
    elif case.before("0.3.0") and src.shape != dst.shape and case.authored:
        yield Finding(
            f"the front end of NKI {case.version} refuses unequal shapes {list(src.shape)} and {list(dst.shape)}",
            {"src": list(src.shape), "dst": list(dst.shape)},
            "use NKI 0.3.0 or later, or reshape one side",
            "warning",
            "aws-neuron-sdk report 1281 [I]",
        )


@rule(
    "nki.C3",
    "A copy between two types goes through fp32: 32-bit integers above 2^24 lose bits. Equal types are exact.",
    functions=("dma_copy",),
    sources=(("D", COPY_PAGE), ("D", INTRO_PAGE)),
    severity="advice",
    fix="use equal types, or a view of the bytes",
)
def cast_loses_bits(case: Case) -> Iterator[Finding]:
    """Casts from or to integers that fp32 does not hold."""
    src, dst = case.call.srcs[0].dtype, case.call.dst.dtype
    wide = [info.name for info in (src, dst) if info.code in _WIDE_INTEGERS]
    if src != dst and wide:
        message = f"{src.name} to {dst.name} goes through fp32, so {wide[0]} values above {EXACT_INTEGER} lose bits"
        yield Finding(message, {"src": src.name, "dst": dst.name, "exact_up_to": EXACT_INTEGER})


@rule(
    "nki.C4",
    "No DMA casts from or to MXFP4 or MXFP8.",
    functions=("dma_copy",),
    sources=(("D", INTRO_PAGE),),
    fix="move the bytes under one type, and convert on a compute engine",
)
def no_mx_cast(case: Case) -> Iterator[Finding]:
    """Casts with a microscaling type on either side."""
    src, dst = case.call.srcs[0].dtype, case.call.dst.dtype
    scaled = [info.name for info in (src, dst) if _is_mx(info)]
    if src != dst and scaled:
        yield Finding(f"{src.name} to {dst.name}: {scaled[0]} is not cast", {"src": src.name, "dst": dst.name})


def _is_mx(info: DtypeInfo) -> bool:
    return info.code in _MX or info.name.endswith("_x4")


@rule(
    "nki.C5",
    "hwdge moves raw bytes: source and destination have the same type, since NKI 0.3.0.",
    functions=("dma_copy",),
    modes=("hwdge",),
    sources=(("D", NOTES_030), ("D", "NKI migration guide")),
    fix="cast with swdge or none, or view one side as the other's type",
    since="0.3.0",
)
def hwdge_keeps_the_type(case: Case) -> Iterator[Finding]:
    """A cast in hwdge."""
    src, dst = case.call.srcs[0].dtype, case.call.dst.dtype
    if src != dst:
        yield Finding(f"a cast from {src.name} to {dst.name} in hwdge", {"src": src.name, "dst": dst.name})


@rule(
    "nki.C6",
    "hwdge, and swdge with a vector of indices, need NeuronCore-v3 or later.",
    functions=_ALL,
    modes=DYNAMIC_MODES,
    sources=(("D", COPY_PAGE), ("D", DGE_PAGE)),
    fix="use none, or swdge without indices; or a Trn2 or later target",
)
def dge_generation(case: Case) -> Iterator[Finding]:
    """Modes that NeuronCore-v2 lacks."""
    if case.generation.nc < 3 and (case.mode == "hwdge" or case.vector):
        what = "hwdge" if case.mode == "hwdge" else "swdge with indices"
        yield Finding(
            f"{what} on {case.generation.name}, NeuronCore-v{case.generation.nc}",
            {"nc": case.generation.nc, "minimum": 3},
        )


@rule(
    "nki.C7",
    "engine= is given only together with hwdge, and names scalar or sync.",
    functions=_ALL,
    sources=(("D", COPY_PAGE),),
    fix="drop engine=, or give dge_mode.hwdge with engine.scalar or engine.sync",
)
def engine_is_for_hwdge(case: Case) -> Iterator[Finding]:
    """An engine without hwdge, or one that commands no DGE."""
    engine = case.call.engine
    if engine == "unknown":
        return
    if engine not in _HWDGE_ENGINES:
        yield Finding(f"engine {engine} issues no DMA", {"engine": engine, "allowed": list(_HWDGE_ENGINES)})
    elif case.requested != "hwdge":
        yield Finding(
            f"engine {engine} is given with mode {case.requested}", {"engine": engine, "mode": case.requested}
        )


@rule(
    "nki.C8",
    "priority is 0 to 3, lower is more urgent, on NeuronCore-v4 and later.",
    functions=_ALL,
    sources=(("D", COPY_PAGE), ("D", "Trainium3 architecture guide")),
    fix="leave priority out, or use 0 to 3 on Trn3",
)
def priority(case: Case) -> Iterator[Finding]:
    """The range, the generation, and the page that knows no such argument."""
    given = case.call.priority
    if given is None:
        return
    if not 0 <= given <= MAX_PRIORITY:
        yield Finding(f"priority {given} is not 0 to {MAX_PRIORITY}", {"priority": given, "maximum": MAX_PRIORITY})
    if case.generation.nc < 4:
        yield Finding(
            f"priority {given} on {case.generation.name}: traffic classes exist from NeuronCore-v4 on",
            {"nc": case.generation.nc, "minimum": 4},
        )
    else:
        yield Finding(
            f"the Trainium3 architecture guide says that traffic shaping has no nki.isa API; the {COPY_PAGE}, which is "
            "newer, has priority and decides",
            {"priority": given},
            "none needed",
            "warning",
            f"Trainium3 architecture guide [D] against {COPY_PAGE} [D]",
        )


@rule(
    "nki.C9",
    "A start address known only at run time takes swdge or hwdge, never none.",
    functions=("dma_copy", "dma_transpose"),
    modes=("none",),
    sources=(("D", COPY_PAGE), ("X", "none with scalar_offset: the page's prose against the other page's table")),
    fix="use swdge or hwdge, or an offset known when the kernel is traced",
)
def static_has_no_runtime_address(case: Case) -> Iterator[Finding]:
    """A scalar offset without a DGE; the other page's table would allow it."""
    for view in case.views:
        if view.dynamic == "scalar":
            yield Finding(
                f"{view.tensor} starts at an address known only at run time, and mode none has no DGE",
                {"mode": case.mode, "dynamic": view.dynamic},
            )
            yield Finding(
                f"the table of the {DGE_PAGE} lists any mode for scalar_offset; the {COPY_PAGE} excludes none and "
                "decides",
                {"mode": case.mode},
                severity="warning",
                source=f"{DGE_PAGE} [D] against {COPY_PAGE} [D]",
            )


@rule(
    "nki.C10",
    "Gather and scatter (vector_offset) take swdge, or leave the mode unknown.",
    functions=("dma_copy",),
    modes=("none", "hwdge"),
    sources=(("D", DGE_PAGE),),
    fix="use swdge or unknown",
)
def vectors_need_swdge(case: Case) -> Iterator[Finding]:
    """A vector of indices in another mode."""
    if case.vector:
        yield Finding(f"a vector of row indices in mode {case.mode}", {"mode": case.mode, "allowed": ["swdge"]})


@rule(
    "nki.C11",
    "Both dynamic modes check bounds: error stops the run with NRT_EXEC_OOB (1006), skip drops that index.",
    functions=_ALL,
    sources=(("D", COPY_PAGE),),
    severity="advice",
    fix="clamp the indices, or oob_mode.skip",
)
def out_of_bounds(case: Case) -> Iterator[Finding]:
    """Lanes whose known index is past the last row."""
    lanes = case.outside()
    if not lanes or case.indices is None:
        return
    index = case.indices[lanes[0]]
    values = {"lane": lanes[0], "index": index, "rows": case.rows, "lanes": len(lanes), **_flat(case, index)}
    place = f"{len(lanes)} of {len(case.indices)} indices are out of bounds, first index {index} of {case.rows} rows "
    place += f"at lane {lanes[0]}"
    if "element" in values:
        place += f" (element {values['element']} of {values['elements']})"
    if case.call.oob_mode == "skip":
        yield Finding(f"{place}: their rows are skipped", values)
    else:
        yield Finding(f"{place}: the runtime stops with NRT_EXEC_OOB (1006)", values, severity="warning")


def _flat(case: Case, index: int) -> dict[str, int]:
    """The element index that the public message names: the row's first element in the flat tensor."""
    view = next((view for view in case.views if view.dynamic == "vector"), None)
    if view is None:
        return {}
    pitch = math.prod(view.base_shape[1:])
    return {"element": index * pitch, "elements": math.prod(view.base_shape)}


@rule(
    "nki.C12",
    "dst_rmw_op and unique_indices left dma_copy in NKI 0.3.0; before, only add, and only with oob_mode.error.",
    functions=("dma_copy",),
    sources=(("D", NOTES_030), ("D", "NKI migration guide")),
    fix="use dma_compute",
    changes=(("0.3.0", "the arguments are gone"),),
)
def no_rmw_copy(case: Case) -> Iterator[Finding]:
    """The old arguments, and their old limits."""
    op, version = case.call.rmw_op, case.version
    if not op and case.call.unique_indices:
        return
    if not case.before("0.3.0"):
        given = f"dst_rmw_op {op}" if op else "unique_indices = False"
        yield Finding(f"NKI {version} has no {given} on dma_copy", {"nki_version": version, "removed_in": "0.3.0"})
    elif op and (op != "add" or case.call.oob_mode != "error"):
        yield Finding(
            f"dst_rmw_op {op} with oob_mode {case.call.oob_mode}; it takes add with error",
            {"op": op, "oob_mode": case.call.oob_mode},
            "use add with oob_mode.error",
        )
    elif not case.call.unique_indices:
        message = "offsets that come twice are hazardous under dst_rmw_op"
        yield Finding(message, {"unique_indices": False}, "make the indices unique", "warning")


@rule(
    "nki.C13",
    "SBUF to SBUF is legal; a copy on a compute engine is advised.",
    functions=("dma_copy",),
    sources=(("D", COPY_PAGE),),
    severity="advice",
    fix="use a tensor copy on a compute engine",
)
def on_chip_copy(case: Case) -> Iterator[Finding]:
    """A copy that stays in SBUF."""
    dst, src = case.call.dst, case.call.srcs[0]
    if dst.space == src.space == "sbuf":
        yield Finding(f"{src.tensor} to {dst.tensor} stays in SBUF", {"src": src.space, "dst": dst.space})


@rule(
    "dec.D47",
    "The modes that a generation has in this tool: NeuronCore-v2 runs none only, and no page speaks of v5.",
    functions=_ALL,
    modes=MODES,
    sources=(("X", "decision D47"),),
    fix="use mode none",
)
def modes_of_the_generation(case: Case) -> Iterator[Finding]:
    """Modes without a model: refused where no page allows them, told where the documentation does."""
    if case.mode in case.generation.modes:
        return
    values = {"mode": case.mode, "modes": [mode for mode in MODES if mode in case.generation.modes]}
    if case.generation.nc < 3:
        if case.mode == "swdge":
            yield Finding(f"this tool runs no swdge on {case.generation.name}; the pages allow it", values)
        return
    yield Finding(f"{case.generation.name} has no mode {case.mode}", values, severity="error")

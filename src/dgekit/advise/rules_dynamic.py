"""Rules found outside the API pages, about addresses known only at run time (nki-dma 2: C20 to C26)."""

from __future__ import annotations

from collections.abc import Iterator

from dgekit.advise.rules import DYNAMIC_MODES, LIBRARY, Case, Finding, rule
from dgekit.transfers.call import View

GROUP = 16  # partitions that dynamic DMA takes together
FULL = 128
LONGEST_SPAN = 1 << 16

_MOVES = ("dma_copy", "dma_compute")
_ALL = ("dma_copy", "dma_transpose", "dma_compute")
_NOTES = ("R", "third-party notes of compiler checks")


def ragged(case: Case) -> Iterator[View]:
    """The SBUF sides whose partitions are neither one nor a multiple of 16."""
    for view in case.views:
        if view.space == "sbuf" and view.partitions != 1 and view.partitions % GROUP:
            yield view


def padded(partitions: int) -> int:
    """The next multiple of 16.

    >>> padded(24), padded(32)
    (32, 32)
    """
    return -(-partitions // GROUP) * GROUP


@rule(
    "nki.C20",
    "A DMA with a run-time offset touches 1 partition or a multiple of 16; in hwdge the compiler refuses others.",
    functions=_MOVES,
    modes=DYNAMIC_MODES,
    sources=(("L", f"{LIBRARY}, MLP-TKG down projection MX and block-wise MoE"), ("I", "aws-neuron-sdk report 1253")),
)
def partitions_in_groups(case: Case) -> Iterator[Finding]:
    """hwdge with a scalar offset is refused, as the public report shows; vectors get the library's own warning."""
    if case.mode == "hwdge" and case.scalar:
        refused = True
    elif case.mode == "swdge" and case.vector:
        refused = False
    else:
        return
    for view in {(view.tensor, view.partitions): view for view in ragged(case)}.values():
        pad = padded(view.partitions)
        yield Finding(
            f"{view.tensor} touches {view.partitions} partitions, which is neither 1 nor a multiple of {GROUP}",
            {"partitions": view.partitions, "multiple": GROUP, "padded": pad},
            f"pad to {pad} partitions, or split the transfer" + (", or use swdge" if refused else ""),
            "error" if refused else None,
        )


@rule(
    "nki.C21",
    "Library idiom: leave the mode unknown when the rows divide by 16, else force swdge.",
    functions=_MOVES,
    sources=(("L", LIBRARY),),
    severity="advice",
    fix="force dge_mode.swdge",
)
def force_swdge(case: Case) -> Iterator[Finding]:
    """unknown with a scalar offset over a ragged number of partitions: the compiler may pick hwdge."""
    if case.requested == "unknown" and case.scalar:
        for view in ragged(case):
            message = f"mode unknown with {view.partitions} partitions of {view.tensor}: the compiler may pick hwdge"
            yield Finding(message, {"partitions": view.partitions, "multiple": GROUP})


@rule(
    "nki.C22",
    "Both sides of a dynamic DMA have the same number of dimensions.",
    functions=_MOVES,
    modes=DYNAMIC_MODES,
    sources=(("L", LIBRARY), _NOTES),
    fix="write both patterns with as many pairs",
)
def equal_ranks(case: Case) -> Iterator[Finding]:
    """Ranks of the two sides of an author's call."""
    if not case.authored or not (case.scalar or case.vector):
        return
    dst = case.call.dst
    for src in case.call.srcs:
        if len(src.shape) != len(dst.shape):
            message = f"src {list(src.shape)} has {len(src.shape)} dimensions, dst {list(dst.shape)} {len(dst.shape)}"
            yield Finding(message, {"src": len(src.shape), "dst": len(dst.shape)})


@rule(
    "nki.C23",
    "A scatter by a vector takes its source from SBUF.",
    functions=_MOVES,
    modes=("swdge",),
    sources=(("L", LIBRARY),),
    fix="load the source into SBUF first",
)
def scatter_from_sbuf(case: Case) -> Iterator[Finding]:
    """The data side of a scatter in HBM."""
    if case.call.dst.dynamic != "vector":
        return
    for src in case.call.srcs:
        if src.dynamic != "vector" and src.space != "sbuf":
            yield Finding(f"the scatter's source {src.tensor} is in {src.space}", {"space": src.space})


@rule(
    "nki.C24",
    "Choosing a part of an SBUF tensor at run time was refused or crashed in several versions.",
    functions=_ALL,
    modes=DYNAMIC_MODES,
    sources=(("L", LIBRARY), ("I", "aws-neuron-sdk report 1373")),
    fix="copy SBUF to HBM, take the part there, and load it back",
)
def no_choice_in_sbuf(case: Case) -> Iterator[Finding]:
    """A scalar offset into SBUF."""
    for view in case.views:
        if view.dynamic == "scalar" and view.space == "sbuf":
            message = f"a run-time offset into {view.tensor} {list(view.base_shape)} in SBUF"
            yield Finding(message, {"space": view.space, "indirect_dim": view.indirect_dim})


@rule(
    "nki.C25",
    "An old test comment for hwdge: 128 partitions, spill and reload DMAs. Obsolete; it explains old assertions.",
    functions=("dma_copy",),
    modes=("hwdge",),
    sources=(("D", "NKI API example tests, beta 2"),),
    severity="advice",
    fix="ignore it, or use NKI 0.3.0 or later",
    before="0.3.0",
)
def old_partition_count(case: Case) -> Iterator[Finding]:
    """Another number of partitions under the early releases."""
    for view in case.views:
        if view.space == "sbuf" and view.partitions != FULL:
            message = f"{view.tensor} touches {view.partitions} partitions; early hwdge asked for {FULL}"
            yield Finding(message, {"partitions": view.partitions, "expected": FULL})


@rule(
    "nki.C26",
    "Further compiler checks of DGE patterns: contiguous innermost dimension, 2-D data under indices, 4-D transposes, "
    "dynamic transposes from the Pool queue, a span of 65536 bytes encoded as 0.",
    functions=_ALL,
    modes=DYNAMIC_MODES,
    sources=(_NOTES,),
    fix="use mode none if the compiler refuses it",
)
def compiler_checks(case: Case) -> Iterator[Finding]:
    """Habits that third parties saw; advice only."""
    for view in case.views:
        yield from _innermost(view)
        if view.dynamic == "vector" and case.call.function != "dma_transpose":
            moving = [count for _, count in view.pattern or () if count > 1]
            if len(moving) > 2:
                values = {"dimensions": len(moving), "expected": 2}
                yield Finding(f"the pattern of {view.tensor} under indices has {len(moving)} dimensions", values)
    if case.call.function != "dma_transpose":
        return
    src = case.call.srcs[0]
    if case.authored and len(src.shape) != 4:
        values = {"dimensions": len(src.shape), "expected": 4}
        yield Finding(f"a DGE transpose of a {len(src.shape)}-D source; the checks want 4-D", values)
    if case.mode == "hwdge" and case.scalar:
        yield Finding("a dynamic transpose outside the Pool queue", {"mode": case.mode})


def _innermost(view: View) -> Iterator[Finding]:
    if not view.pattern:
        return
    step, count = view.pattern[-1]
    if count > 1 and step != 1:
        yield Finding(f"the innermost step of {view.tensor} is {step}, not 1", {"step": step, "expected": 1})
    elif count * view.dtype.size == LONGEST_SPAN:
        yield Finding(f"rows of {view.tensor} span {LONGEST_SPAN} bytes, encoded as 0", {"bytes": LONGEST_SPAN})

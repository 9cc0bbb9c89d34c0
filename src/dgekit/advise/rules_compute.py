"""Rules of dma_compute, sendrecv and core_barrier (nki-dma 5: M1 to M8)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator

from dgekit.advise.rules import COMPUTE_PAGE, Case, Finding, rule
from dgekit.core.dtypes import Dtype
from dgekit.core.errors import Severity

MAX_SOURCES = 16
SENDRECV_BYTES = {32: 1024, 16: 512, 8: 256}  # per partition, by bits of the type

SHOWN_LANES = 8

_ONLY = ("dma_compute",)
_V4_GUIDE = "NeuronCore-v4 architecture guide"
_BARRIER_CORES = (0, 1)


@rule(
    "nki.M1",
    "dma_compute adds up to 16 sources in fp32, without scales other than 1.0, all of as many elements.",
    functions=_ONLY,
    sources=(("D", COMPUTE_PAGE),),
    fix="use a compute engine for anything else",
)
def plain_sum(case: Case) -> Iterator[Finding]:
    """Operation, scales, number of sources, element counts."""
    call = case.call
    own: Severity | None = None if case.authored else "warning"  # a NEFF knows more operations than the API
    if call.rmw_op not in ("", "add"):
        yield Finding(f"the operation is {call.rmw_op}", {"op": call.rmw_op, "allowed": "add"}, severity=own)
    scaled = [scale for scale in call.scales if scale != 1.0]
    if scaled:
        yield Finding(f"scale {scaled[0]}", {"scales": list(call.scales), "allowed": 1.0}, severity=own)
    if len(call.srcs) > MAX_SOURCES:
        yield Finding(f"{len(call.srcs)} sources", {"sources": len(call.srcs), "maximum": MAX_SOURCES})
    want = math.prod(call.dst.shape)
    for src in call.srcs:
        have = math.prod(src.shape)
        if have != want:
            yield Finding(f"{src.tensor} has {have} elements, dst has {want}", {"src": have, "dst": want})


@rule(
    "nki.M2",
    "Without indices dma_compute is static: mode none, every address known when the kernel is traced.",
    functions=_ONLY,
    modes=("none", "swdge", "hwdge"),
    sources=(("D", COMPUTE_PAGE),),
    fix="use none or unknown, and fixed addresses",
)
def static_sum(case: Case) -> Iterator[Finding]:
    """A DGE mode, or a scalar offset, without a vector."""
    if case.vector:
        return
    if case.scalar:
        yield Finding("an address known only at run time", {"dynamic": "scalar"})
    if case.mode != "none":
        yield Finding(f"a sum without indices in mode {case.mode}", {"mode": case.mode, "allowed": ["none"]})


@rule(
    "nki.M3",
    "With indices dma_compute takes swdge, 2 sources and unique indices; what repeated ones give is not public.",
    functions=_ONLY,
    modes=("", "none", "swdge", "hwdge"),
    sources=(("D", COMPUTE_PAGE),),
    fix="use swdge, two sources, unique indices",
)
def indexed_sum(case: Case) -> Iterator[Finding]:
    """By mode: the mode. For the call: its sources, the promise of unique indices, and whether it is kept."""
    if not case.vector:
        return
    if case.mode:
        if case.mode != "swdge":
            message = f"a sum with indices in mode {case.mode}"
            yield Finding(message, {"mode": case.mode, "allowed": ["swdge"]})
        return
    if len(case.call.srcs) != 2:
        yield Finding(f"{len(case.call.srcs)} sources with indices", {"sources": len(case.call.srcs), "want": 2})
    if not case.call.unique_indices:
        yield Finding("unique_indices is False", {"unique_indices": False, "want": True})
    if case.call.dst.dynamic == "vector":
        yield from _repeated(case)


def _repeated(case: Case) -> Iterator[Finding]:
    """In-bounds indices that come more than once; a warning, for the promise of the call is the author's."""
    counts = Counter(index for index in case.indices or () if index < case.rows)
    repeated = {index: times for index, times in counts.items() if times > 1}
    if not repeated:
        return
    index, times = max(repeated.items(), key=lambda pair: pair[1])
    lanes = [lane for lane, value in enumerate(case.indices or ()) if value == index][:SHOWN_LANES]
    yield Finding(
        f"{len(repeated)} of {len(counts)} rows are added to more than once: row {index} {times} times, by lanes "
        + ", ".join(map(str, lanes)),
        {"index": index, "times": times, "lanes": lanes, "repeated": len(repeated)},
        "sum the rows of equal index first",
        "advice" if case.marked else "warning",
    )


@rule(
    "nki.M4",
    "Two read-modify-writes exist: HBM[rows] += SBUF and SBUF += HBM[rows].",
    functions=_ONLY,
    sources=(("D", COMPUTE_PAGE),),
    severity="advice",
    fix="keep the indexed side in HBM and the other in SBUF",
)
def rmw_forms(case: Case) -> Iterator[Finding]:
    """An indexed sum that is neither."""
    if not case.vector:
        return
    for view in case.views:
        want = "hbm" if view.dynamic == "vector" else "sbuf"
        if view.space != want:
            side = "indexed side" if want == "hbm" else "other side"
            yield Finding(f"the {side} {view.tensor} is in {view.space}", {"space": view.space, "want": want})
            return


@rule(
    "nki.M5",
    "oob_mode came to dma_compute with NKI 0.4.0; skip takes indices.",
    functions=_ONLY,
    sources=(("D", "NKI release notes 0.4.0"),),
    fix="use oob_mode.error",
    changes=(("0.4.0", "dma_compute has oob_mode"),),
)
def skip_takes_indices(case: Case) -> Iterator[Finding]:
    """skip before 0.4.0, or without indices."""
    if case.call.oob_mode != "skip":
        return
    if case.before("0.4.0"):
        values = {"nki_version": case.version, "since": "0.4.0"}
        yield Finding(f"NKI {case.version} has no oob_mode on dma_compute", values)
    elif not case.vector:
        yield Finding("oob_mode.skip without indices", {"oob_mode": "skip"})


@rule(
    "nki.M6",
    "Read-add-write into SBUF runs at full copy speed on NeuronCore-v4 for bf16 and fp32 of one type, at half before.",
    functions=_ONLY,
    sources=(("D", _V4_GUIDE),),
    severity="advice",
    fix="use bf16 or fp32 on both sides, on Trn3",
)
def sbuf_accumulate(case: Case) -> Iterator[Finding]:
    """An accumulation into SBUF that is not at full speed."""
    dst = case.call.dst
    if dst.space != "sbuf" or not any(src.tensor == dst.tensor for src in case.call.srcs):
        return
    types = {view.dtype.name for view in case.views}
    fast = len(types) == 1 and dst.dtype.code in (Dtype.BFLOAT16, Dtype.FP32)
    if case.generation.nc < 4 or not fast:
        message = f"{', '.join(sorted(types))} added into SBUF on {case.generation.name} runs at half the copy speed"
        yield Finding(message, {"types": sorted(types), "nc": case.generation.nc})


@rule(
    "nki.M7",
    "sendrecv by gpsimd_dma moves at most 1024 bytes a partition of 32-bit types, 512 of 16-bit, 256 of 8-bit; it "
    "joins the two halves of a logical core, on NeuronCore-v3 and later.",
    functions=("sendrecv",),
    sources=(("D", "nki.isa.sendrecv API page"),),
    fix="send less at a time, or use dma_engine.dma",
)
def sendrecv_size(case: Case) -> Iterator[Finding]:
    """Generation, and bytes per partition of both sides."""
    if case.generation.nc < 3:
        message = f"sendrecv on {case.generation.name}, NeuronCore-v{case.generation.nc}"
        yield Finding(message, {"nc": case.generation.nc, "minimum": 3}, "use Trn2 or later")
    if case.call.dma_engine != "gpsimd_dma":
        return
    for view in case.views:
        limit = SENDRECV_BYTES.get(view.dtype.bits)
        have = math.prod(view.shape[1:]) * view.dtype.size
        if limit is not None and have > limit:
            message = f"{view.tensor} has {have} bytes a partition of {view.dtype.name}, the limit is {limit}"
            yield Finding(message, {"bytes": have, "maximum": limit})


@rule(
    "nki.M8",
    "core_barrier joins cores 0 and 1, on NeuronCore-v3 and later.",
    functions=("core_barrier",),
    sources=(("D", "nki.isa.core_barrier API page"),),
    fix="give cores (0, 1) on Trn2 or later",
)
def barrier_cores(case: Case) -> Iterator[Finding]:
    """Generation and cores."""
    if case.generation.nc < 3:
        message = f"core_barrier on {case.generation.name}, NeuronCore-v{case.generation.nc}"
        yield Finding(message, {"nc": case.generation.nc, "minimum": 3})
    if case.call.cores != _BARRIER_CORES:
        values = {"cores": list(case.call.cores), "want": list(_BARRIER_CORES)}
        yield Finding(f"cores {list(case.call.cores)}", values)

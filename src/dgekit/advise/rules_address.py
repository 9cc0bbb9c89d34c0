"""Rules of access patterns and run-time addresses (nki-dma 3: A1 to A5 and the shape of patterns)."""

from __future__ import annotations

import math
from collections.abc import Iterator

from dgekit.advise.rules import ACCESS_PAGE, COPY_PAGE, Case, Finding, rule
from dgekit.core.dtypes import Dtype
from dgekit.transfers.call import View

PARTITIONS = 128
FREE_DIMS = 4

_ALL = ("dma_copy", "dma_transpose", "dma_compute")
_INDEX_TYPES = (Dtype.INT32, Dtype.UINT32)


@rule(
    "nki.A1",
    "A vector_offset is an SBUF tensor (P, 1) of int32 or uint32, one row index a partition; the tensor it indexes is "
    "in HBM and indexed along dimension 0.",
    functions=_ALL,
    sources=(("D", COPY_PAGE), ("D", ACCESS_PAGE)),
    fix="put the indices in SBUF as uint32 (P, 1), and the table in HBM",
)
def vector_offset(case: Case) -> Iterator[Finding]:
    """The indexed side, then the indices."""
    for view in case.views:
        if view.dynamic != "vector":
            continue
        if view.space != "hbm":
            yield Finding(f"the indexed tensor {view.tensor} is in {view.space}", {"space": view.space, "want": "hbm"})
        if view.indirect_dim != 0:
            values = {"indirect_dim": view.indirect_dim, "want": 0}
            yield Finding(f"indices along dimension {view.indirect_dim} of {view.tensor}", values)
    if case.vector and case.call.indices is not None:
        yield from _index_tensor(case, case.call.indices)


def _index_tensor(case: Case, indices: View) -> Iterator[Finding]:
    if indices.space != "sbuf":
        yield Finding(f"the indices {indices.tensor} are in {indices.space}", {"space": indices.space, "want": "sbuf"})
    if indices.dtype.code not in _INDEX_TYPES:
        message = f"the indices {indices.tensor} are {indices.dtype.name}"
        yield Finding(message, {"dtype": indices.dtype.name, "want": ["int32", "uint32"]})
    if case.call.function == "dma_transpose":
        return  # a tile of several columns: nki.G4
    if len(indices.shape) != 2 or indices.shape[1] != 1:
        message = f"the indices {indices.tensor} have shape {list(indices.shape)}"
        yield Finding(message, {"shape": list(indices.shape), "want": ["P", 1]})
    elif indices.shape[0] > PARTITIONS:
        yield Finding(
            f"{indices.shape[0]} indices; one call takes one a partition, at most {PARTITIONS}",
            {"indices": indices.shape[0], "maximum": PARTITIONS},
            f"make it {-(-indices.shape[0] // PARTITIONS)} calls",
            None if case.authored else "warning",
        )


@rule(
    "nki.A2",
    "The leading step of a pattern is ignored on the indexed dimension: rows are as far apart as in the base tensor.",
    functions=_ALL,
    sources=(("D", ACCESS_PAGE),),
    severity="warning",  # legal, but hardly what the author means
    fix="write the base tensor's row pitch as the leading step, or reshape the tensor",
)
def row_pitch(case: Case) -> Iterator[Finding]:
    """A leading step that differs from the pitch of the base tensor."""
    for view in case.views:
        if view.dynamic != "vector" or not view.pattern or view.pattern[0][1] == 1:
            continue
        step, pitch = view.pattern[0][0], math.prod(view.base_shape[1:])
        if step != pitch:
            message = f"the leading step {step} of {view.tensor} is ignored: its rows are {pitch} elements apart"
            yield Finding(message, {"step": step, "pitch": pitch})


@rule(
    "nki.A3",
    "A scalar_offset is one number, in a 1 x 1 SBUF tensor or a register; it counts rows of a base tensor's dimension.",
    functions=_ALL,
    sources=(("D", COPY_PAGE), ("D", ACCESS_PAGE)),
    fix="load one number, and name a dimension of the base tensor",
)
def scalar_offset(case: Case) -> Iterator[Finding]:
    """The dimension, and the shape of the number where it is a tensor."""
    for view in case.views:
        if view.dynamic == "scalar" and not 0 <= view.indirect_dim < max(1, len(view.base_shape)):
            values = {"indirect_dim": view.indirect_dim, "dimensions": len(view.base_shape)}
            yield Finding(f"{view.tensor} has no dimension {view.indirect_dim}", values)
    indices = case.call.indices
    if case.scalar and not case.vector and indices is not None and math.prod(indices.shape) != 1:
        message = f"the offset {indices.tensor} has shape {list(indices.shape)}"
        yield Finding(message, {"shape": list(indices.shape), "want": [1, 1]})


@rule(
    "nki.A4",
    "vector_offset and scalar_offset exclude each other; a call has one vector of indices.",
    functions=_ALL,
    sources=(("D", COPY_PAGE), ("D", ACCESS_PAGE)),
    fix="choose rows on one side, through a buffer for the other",
)
def one_choice(case: Case) -> Iterator[Finding]:
    """Both sides indexed; a read-modify-write names its destination twice with the same indices."""
    sources = [view for view in case.call.srcs if view.dynamic == "vector"]
    same = [view for view in sources if case.call.function == "dma_compute" and view.tensor == case.call.dst.tensor]
    chosen = len(sources) - len(same) + (case.call.dst.dynamic == "vector" or bool(same))
    if chosen > 1:
        yield Finding(f"{chosen} sides choose rows by a vector", {"vectors": chosen, "maximum": 1})


@rule(
    "nki.A5",
    "The partition dimension of SBUF and PSUM is not chosen at run time.",
    functions=_ALL,
    sources=(("D", ACCESS_PAGE),),
    fix="choose along a free dimension, or move through HBM",
)
def no_choice_of_partition(case: Case) -> Iterator[Finding]:
    """indirect_dim 0 on chip."""
    for view in case.views:
        if view.dynamic == "scalar" and view.space != "hbm" and view.indirect_dim == 0:
            yield Finding(f"the partition of {view.tensor} is chosen at run time", {"indirect_dim": 0, "minimum": 1})


@rule(
    "nki.3.partition",
    "The first pair of a pattern on SBUF or PSUM is the partition; its step is the partition's element count.",
    functions=_ALL,
    sources=(("D", ACCESS_PAGE),),
    fix="write the partition's element count as the first step; partitions have no stride",
)
def partition_step(case: Case) -> Iterator[Finding]:
    """Authors' patterns only: a transfer file may put its own dimensions anywhere."""
    for view in _patterns(case):
        step, count = view.pattern[0] if view.pattern else (0, 1)
        free = math.prod(view.base_shape[1:])
        if view.space != "hbm" and count > 1 and step != free:
            message = f"the first step of {view.tensor} is {step}, its partitions hold {free} elements"
            yield Finding(message, {"step": step, "free": free})


@rule(
    "nki.3.dims",
    "A pattern on chip has the partition and at most 4 free dimensions.",
    functions=_ALL,
    sources=(("D", ACCESS_PAGE),),
    fix="merge dimensions that continue each other, or split the transfer",
)
def free_dimensions(case: Case) -> Iterator[Finding]:
    """Free dimensions of authors' patterns."""
    for view in _patterns(case):
        free = len(view.pattern or ()) - 1
        if view.space != "hbm" and free > FREE_DIMS:
            message = f"the pattern of {view.tensor} has {free} free dimensions"
            yield Finding(message, {"free": free, "maximum": FREE_DIMS})


def _patterns(case: Case) -> list[View]:
    return [view for view in case.views if view.pattern] if case.authored else []

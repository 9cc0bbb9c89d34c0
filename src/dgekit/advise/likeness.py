"""Which transfers are alike: those that lower to the same descriptors but for their addresses.

A loop's transfers differ in their offsets only. Runs, splits and words depend on steps, counts, element types, memories
and alignment; what checks an address itself (indices, bound registers, overlapping sides) is never taken as alike.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from dgekit.core.errors import DgeError
from dgekit.core.generations import Generation
from dgekit.transfers.access import access_walk, element_type
from dgekit.transfers.placement import Placement
from dgekit.transfers.transfer import Access, Transfer

_ALIGNMENT = 64  # bytes; the widest that a rule asks for is 32 (isa-words 4.4)
_NOWHERE = Access("")


def likeness(transfer: Transfer, placement: Placement, generation: Generation) -> Hashable | None:
    """A key that transfers with equal descriptors share; None for one that must be looked at by itself."""
    if transfer.indices is not None or transfer.src_bound is not None or transfer.dst_bound is not None:
        return None
    sides, spans = [], []
    try:
        for access in (*(transfer.srcs or (transfer.src,)), transfer.dst):
            placed = placement.find(access.tensor)
            walk = access_walk(access, placement, generation)
            kind = element_type(access, placed).name
            spans.append(walk.span())
            sides.append((walk.dims, walk.elem, walk.start % _ALIGNMENT, kind, placed.in_sbuf, placed.tensor.core))
    except DgeError:
        return None  # said where it is lowered
    low, high = spans[-1]
    if any(start < high and low < end for start, end in spans[:-1]):
        return None
    options = replace(transfer, name="", where="", call=None, wait=(), src=_NOWHERE, dst=_NOWHERE, srcs=())
    return options, tuple(sides)

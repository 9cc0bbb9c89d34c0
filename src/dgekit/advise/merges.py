"""Advice on several transfers at once: neighbours that could be one, with rows long enough for the engines.

A DMA of short rows takes its fixed time whatever it moves (nki-dma 8), so that eight tiles of 256 bytes a partition
cost eight times what one tile of 2 KiB does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from dgekit.advise.change import Change
from dgekit.advise.facts import BEST_ROW_BYTES, GOOD_ROW_BYTES
from dgekit.advise.predict import Predicted, Prediction
from dgekit.advise.proposal import (
    GUIDELINE,
    RESERVED,
    Finder,
    Proposal,
    Tensors,
    chip_side,
    copies,
    new_tensor,
    pattern_of,
    rows_of,
    tensors_of,
)
from dgekit.core.generations import Generation
from dgekit.transfers.transfer import Access, Tensor, Transfer

# what merged transfers have in common
_ALIKE = ("op", "mode", "queue", "engine", "semaphore", "increment", "priority", "num_queues", "src_bound", "dst_bound")


class _Member(NamedTuple):
    """One copy between HBM and SBUF, by its sides."""

    row: Predicted
    item: Transfer
    chip: str
    rows: int
    width: int

    @property
    def far(self) -> Access:
        """Its access to HBM."""
        access: Access = getattr(self.item, "dst" if self.chip == "src" else "src")
        return access

    @property
    def near(self) -> Access:
        """Its access to SBUF."""
        access: Access = getattr(self.item, self.chip)
        return access


def _longer_rows(prediction: Prediction) -> Iterator[Proposal]:
    """Tiles of short rows that lie side by side in HBM: several of them in one transfer."""
    tensors = tensors_of(prediction.workload)
    groups: dict[tuple[object, ...], list[_Member]] = {}
    for row, item in copies(prediction):
        member = _member(row, item, tensors)
        if member is not None:
            groups.setdefault(_likeness(member, tensors), []).append(member)
    for group in groups.values():
        for run in _even(group):
            yield from _blocks(run, tensors, prediction.generation)


def _member(row: Predicted, item: Transfer, tensors: Tensors) -> _Member | None:
    """The transfer as something to merge; None where its waits, sums or shape do not allow it."""
    side = chip_side(item, tensors)
    if item.op != "copy" or side is None or item.accumulate or item.wait or item.updates:
        return None
    rows, width = rows_of(getattr(item, side), tensors)
    member = _Member(row, item, side, rows, width)
    far = pattern_of(member.far, tensors)
    if rows < 2 or len(far) < 2 or far[0][1] != rows or row.nbytes // rows >= GOOD_ROW_BYTES:
        return None
    return member


def _likeness(member: _Member, tensors: Tensors) -> tuple[object, ...]:
    """What transfers must share to be merged."""
    item, near = member.item, tensors[member.near.tensor]
    return (
        *(getattr(item, name) for name in _ALIKE),
        *(member.chip, member.far.tensor, pattern_of(member.far, tensors), pattern_of(member.near, tensors)),
        *(near.shape, near.dtype.name, member.far.dtype, member.near.dtype),
    )


def _even(group: Sequence[_Member]) -> Iterator[list[_Member]]:
    """Runs whose places in HBM advance by one step."""
    run: list[_Member] = []
    for member in group:
        if len(run) > 1 and member.far.offset - run[-1].far.offset != run[1].far.offset - run[0].far.offset:
            yield run
            run = []
        if run and member.far.offset <= run[-1].far.offset:
            yield run
            run = []
        run.append(member)
    yield run


def _blocks(run: Sequence[_Member], tensors: Tensors, generation: Generation) -> Iterator[Proposal]:
    """As many at a time as rows of 4 KiB, or a partition, hold."""
    first = run[0]
    size = first.row.nbytes // first.rows
    most = min(-(-BEST_ROW_BYTES // size), (generation.active_bytes - RESERVED) // size)
    blocks = [run[n : n + most] for n in range(0, len(run), most)]
    merged = [block for block in blocks if len(block) > 1]
    if not merged:
        return
    change = _merged(merged[0], tensors)
    for block in merged[1:]:
        change = change.joined(_merged(block, tensors))
    count = len(merged[0])
    message = (
        f"move {count} tiles at a time: rows of {count * size} bytes instead of {size} "
        f"({GOOD_ROW_BYTES} is the least recommended, {BEST_ROW_BYTES} saturates)"
    )
    yield Proposal("merge", (count, first.rows, first.width), message, GUIDELINE, change)


def _merged(block: Sequence[_Member], tensors: Tensors) -> Change:
    """One transfer for all of a block: loads where the first stood, stores where the last did."""
    first, count = block[0], len(block)
    outer, *inner = pattern_of(first.far, tensors)
    step = block[1].far.offset - first.far.offset
    far = replace(first.far, pattern=(outer, (step, count), *inner))
    near, tiles = _near(block, tensors)
    src, dst = (near, far) if first.chip == "src" else (far, near)
    increment = first.item.increment * count
    item = replace(first.item, name=f"{first.item.name}~x{count}", increment=increment, src=src, dst=dst, call=None)
    stands = block[-1 if first.chip == "src" else 0].row.number
    items: dict[int, tuple[Transfer, ...]] = {member.row.number: () for member in block}
    items[stands] = (item,)
    return Change(items, tiles, dict.fromkeys(items, stands))


def _near(block: Sequence[_Member], tensors: Tensors) -> tuple[Access, tuple[Tensor, ...]]:
    """The SBUF side: the same tensor further on where that is how they lie, else a tile that holds them all."""
    first, count = block[0], len(block)
    offsets = [member.near.offset for member in block]
    steps = {after - before for before, after in pairwise(offsets)}
    if len({member.near.tensor for member in block}) == 1 and len(steps) == 1 and min(steps) > 0:
        outer, *inner = pattern_of(first.near, tensors)
        return replace(first.near, pattern=(outer, (steps.pop(), count), *inner)), ()
    tile = new_tensor(tensors[first.near.tensor], f"x{count}", (first.rows, count * first.width))
    return Access(tile.name), (tile,)


MERGES: tuple[Finder, ...] = (_longer_rows,)

"""Finding room: HBM as intervals inside the stacks, SBUF as rectangles of partitions and bytes (decision D39)."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dgekit.core.errors import LoweringError, Overlap
from dgekit.core.generations import Generation
from dgekit.transfers.transfer import Tensor

HBM_START = 0x1000_0000
HBM_ALIGN = 4096
SBUF_ALIGN = 64
SEMAPHORE_BYTES = 64


def usable_bytes(generation: Generation) -> int:
    """Bytes of one partition that tensors may use: the active ones less the semaphore words (D39)."""
    return generation.active_bytes - SEMAPHORE_BYTES


def align_up(value: int, alignment: int) -> int:
    """The lowest multiple of `alignment` that is not below `value`."""
    return -(-value // alignment) * alignment


def row_bytes(tensor: Tensor, stride: int) -> int:
    """Bytes of one SBUF row of the tensor; a linear tensor takes the whole stride."""
    return stride if tensor.linear else tensor.row_elements * tensor.dtype.size


def partitions_of(tensor: Tensor, stride: int, offset: int = 0) -> int:
    """Partitions an SBUF tensor covers from its first: its first dimension, or its linear bytes over the stride."""
    if tensor.linear:
        return -(-(offset + tensor.nbytes) // stride)
    return tensor.shape[0] if tensor.shape else 1


def refused(
    tensor: Tensor, what: str, rule: str = "dec.D39", *, values: Mapping[str, int] | None = None, fix: str = ""
) -> LoweringError:
    """The error that says why a tensor cannot be placed."""
    return LoweringError(
        f"tensor {tensor.name} {what}",
        rule=rule,
        where=tensor.where or tensor.name,
        values=values,
        source="decision D39",
        fix=fix,
    )


def too_wide(tensor: Tensor, offset: int, generation: Generation) -> LoweringError:
    """The error for a row that does not fit its partition at `offset`."""
    row, limit = row_bytes(tensor, generation.partition_stride), usable_bytes(generation)
    return refused(
        tensor,
        f"has rows of {row} bytes at offset {offset}; a partition of {generation.name} has {limit} usable bytes "
        f"({generation.active_bytes} active, {SEMAPHORE_BYTES} kept for semaphore words)",
        values={"end": offset + row, "limit": limit},
        fix="use a narrower tensor, or free space in the partition",
    )


# HBM: intervals


def place_hbm(tensors: Sequence[Tensor], generation: Generation) -> dict[str, tuple[int, int]]:
    """(0, address) by name of every HBM tensor."""
    listed = [tensor for tensor in tensors if tensor.space == "hbm"]
    pinned = [(tensor.address, tensor) for tensor in listed if tensor.address is not None]
    pinned.sort(key=lambda entry: entry[0])
    for address, tensor in pinned:
        _check_stack(address, tensor, generation)
    for (low, below), (high, above) in itertools.pairwise(pinned):
        if low + below.nbytes > high:
            raise _overlap(below, _hex_range(low, below.nbytes), above, _hex_range(high, above.nbytes))
    places = {tensor.name: (0, address) for address, tensor in pinned}
    blocked = [(address, address + tensor.nbytes) for address, tensor in pinned]
    cursor = HBM_START
    for tensor in listed:
        if tensor.address is None:
            address = _next_hbm(cursor, tensor, blocked, generation)
            places[tensor.name] = (0, address)
            cursor = address + tensor.nbytes
    return places


def _stacks(generation: Generation) -> list[tuple[int, int]]:
    """The populated part of each HBM stack that programs may use, as (first, end); the low 16 MiB are firmware's."""
    layout = generation.address_map
    return [(base + layout.hbm_reserved_low, base + layout.hbm_size) for base in layout.hbm_bases]


def _next_hbm(cursor: int, tensor: Tensor, blocked: Sequence[tuple[int, int]], generation: Generation) -> int:
    """The lowest 4 KiB aligned free address at or above `cursor` with room for the tensor inside one stack."""
    for low, end in sorted(_stacks(generation)):
        address = align_up(max(cursor, low), HBM_ALIGN)
        for first, after in blocked:
            if first < address + tensor.nbytes and address < after:
                address = align_up(after, HBM_ALIGN)
        if address + tensor.nbytes <= end:
            return address
    populated = sum(end - low for low, end in _stacks(generation))
    raise refused(
        tensor,
        f"of {tensor.nbytes} bytes fits no HBM stack any more",
        values={"bytes": tensor.nbytes, "populated": populated},
        fix="use smaller tensors",
    )


def _check_stack(address: int, tensor: Tensor, generation: Generation) -> None:
    if any(low <= address and address + tensor.nbytes <= end for low, end in _stacks(generation)):
        return
    layout = generation.address_map
    ranges = ", ".join(_hex_range(low, end - low) for low, end in sorted(_stacks(generation)))
    low_part = any(base <= address < base + layout.hbm_reserved_low for base in layout.hbm_bases)
    reason = "in the 16 MiB kept for firmware" if low_part else "in no HBM stack"
    raise refused(
        tensor,
        f"is pinned to {_hex_range(address, tensor.nbytes)}, {reason}; usable are {ranges}",
        "memory.unmapped",
        values={"address": address, "bytes": tensor.nbytes},
    )


# SBUF: rectangles of partitions and columns


@dataclass(frozen=True, slots=True)
class _Block:
    """Partitions first..last of one core, bytes low..high-1 of each; the tensor starts at byte `offset`."""

    tensor: Tensor
    offset: int
    first: int
    last: int
    low: int
    high: int

    def shares_partitions(self, other: _Block) -> bool:
        return self.tensor.core == other.tensor.core and self.first <= other.last and other.first <= self.last

    def overlaps(self, other: _Block) -> bool:
        return self.shares_partitions(other) and self.low < other.high and other.low < self.high

    def __str__(self) -> str:
        return f"partitions {self.first}..{self.last} bytes {self.low:#x}..{self.high:#x}"


def place_sbuf(tensors: Sequence[Tensor], generation: Generation) -> dict[str, tuple[int, int]]:
    """(partition, offset) by name of every SBUF tensor: first the pinned ones, then the others around them."""
    blocks: list[_Block] = []
    listed = [tensor for tensor in tensors if tensor.space == "sbuf"]
    for tensor in listed:
        if tensor.offset is not None:
            blocks.append(_apart(blocks, _block(tensor, tensor.offset, generation)))
    for tensor in listed:
        if tensor.offset is None:
            blocks.append(_free_block(blocks, tensor, generation))
    return {block.tensor.name: (block.first, block.offset) for block in blocks}


def _block(tensor: Tensor, offset: int, generation: Generation) -> _Block:
    stride, first = generation.partition_stride, tensor.partition or 0
    last = first + partitions_of(tensor, stride, offset) - 1
    low = 0 if tensor.linear else offset
    return _Block(tensor, offset, first, last, low, low + row_bytes(tensor, stride))


def _apart(blocks: Sequence[_Block], block: _Block) -> _Block:
    """The block itself; raises Overlap when it shares bytes with one of `blocks`."""
    for other in blocks:
        if block.overlaps(other):
            raise _overlap(other.tensor, str(other), block.tensor, str(block))
    return block


def _free_block(blocks: Sequence[_Block], tensor: Tensor, generation: Generation) -> _Block:
    """The lowest free 64 B aligned offset in the tensor's partitions; a linear tensor takes whole partitions."""
    block = _block(tensor, 0, generation)
    if tensor.linear:
        return _apart(blocks, block)
    for other in sorted(blocks, key=lambda placed: placed.low):
        if block.overlaps(other):
            block = _block(tensor, align_up(other.high, SBUF_ALIGN), generation)
    if block.high > usable_bytes(generation):
        raise too_wide(tensor, block.offset, generation)
    return block


def _hex_range(address: int, nbytes: int) -> str:
    return f"{address:#x}..{address + nbytes:#x}"


def _overlap(first: Tensor, first_range: str, second: Tensor, second_range: str) -> Overlap:
    return Overlap(
        f"tensors {first.name} ({first_range}) and {second.name} ({second_range}) overlap",
        rule="dec.D39",
        where=second.where or second.name,
        values={"first": first_range, "second": second_range},
        source="decision D39",
        fix="move one of the pins",
    )

"""What the finders of advice share: a proposal, and how they look at a program's plain copies and their tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from dgekit.advise.change import Change
from dgekit.advise.predict import Predicted, Prediction
from dgekit.transfers.access import whole_pattern
from dgekit.transfers.transfer import Access, Tensor, Transfer, Workload

GUIDELINE = "nki-dma 8: Guideline to Avoid Under-Utilizing DMA Bandwidth"
INTRO = "nki-dma 7: Introduction to DMA with NKI"
RESERVED = 64  # bytes of a partition kept for semaphore words (decision D39)

Pattern = tuple[tuple[int, int], ...]
Tensors = dict[str, Tensor]


@dataclass(frozen=True, slots=True)
class Proposal:
    """One thing to change: its `kind`, the `key` of what it is told with, the text, the source, and the change."""

    kind: str
    key: tuple[object, ...]
    message: str
    source: str
    change: Change


Finder = Callable[[Prediction], Iterator[Proposal]]


def copies(prediction: Prediction) -> Iterator[tuple[Predicted, Transfer]]:
    """The plain transfers: no indices, no compute, something to move."""
    for row in prediction.transfers:
        item = row.item
        if row.works and isinstance(item, Transfer) and item.indices is None and item.op in ("copy", "transpose"):
            yield row, item


def tensors_of(workload: Workload) -> Tensors:
    """The tensors by name."""
    return {tensor.name: tensor for tensor in workload.tensors}


def chip_side(item: Transfer, tensors: Tensors) -> str | None:
    """The one side in SBUF; None when there is none, or both are."""
    sides = [side for side in ("src", "dst") if tensors[getattr(item, side).tensor].space == "sbuf"]
    return sides[0] if len(sides) == 1 and not tensors[getattr(item, sides[0]).tensor].linear else None


def pattern_of(access: Access, tensors: Tensors) -> Pattern:
    """The access's pattern, written out for a whole tensor."""
    tensor = tensors[access.tensor]
    if access.pattern is not None:
        return access.pattern
    return whole_pattern(tensor, access.dtype.size if access.dtype is not None else 0)


def rows_of(access: Access, tensors: Tensors) -> tuple[int, int]:
    """(partitions, elements of each) of an access to SBUF whose first dimension steps through whole partitions."""
    pattern, tensor = pattern_of(access, tensors), tensors[access.tensor]
    total = 1
    for _, count in pattern:
        total *= count
    if access.dtype is not None or len(pattern) < 2 or pattern[0][0] != tensor.row_elements:
        return 1, total
    return pattern[0][1], total // pattern[0][1]


def new_tensor(tensor: Tensor, label: str, shape: tuple[int, ...]) -> Tensor:
    """A tensor like another one, of another shape, at no place in particular."""
    return replace(
        tensor, name=f"{tensor.name}~{label}", shape=shape, init="", address=None, partition=None, offset=None,
        var_id=None,
    )  # fmt: skip

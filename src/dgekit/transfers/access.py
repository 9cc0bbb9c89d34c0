"""From a user's access pattern to a walk over SoC addresses, with every element proved to be inside its tensor.

HBM tensors are row-major and contiguous. SBUF tensors follow decision D40: element e lies in partition e // free at
byte (e % free) x size, so each step is one (partition, column) move; a walk whose columns leave the row is a fault.
"""

from __future__ import annotations

from dgekit.core.dtypes import DtypeInfo
from dgekit.core.errors import CrossPartition, LoweringError, Unsupported
from dgekit.core.generations import Generation
from dgekit.patterns.walk import Dim, Walk
from dgekit.transfers.placement import Placed, Placement
from dgekit.transfers.transfer import Access, Tensor

Pattern = tuple[tuple[int, int], ...]

SHOWN_DIMS = 8  # of a pattern in a message


def access_walk(access: Access, placement: Placement, generation: Generation, where: str = "") -> Walk:
    """The bytes an access visits, in order: absolute SoC addresses, dimensions innermost first, one dtype element each.

    A dimension of count 1 keeps its step (times the element size) and is never mapped to partitions (D40). Raises
    LoweringError `transfers.bounds` or `transfers.shape`, and CrossPartition where an SBUF pattern leaves its row.

    >>> from dgekit.core.dtypes import dtype_named
    >>> from dgekit.core.generations import CAYMAN
    >>> from dgekit.transfers.placement import place
    >>> where = place([Tensor("t", "sbuf", (4, 8), dtype_named("float32"))], CAYMAN)
    >>> access_walk(Access("t"), where, CAYMAN)
    Walk(start=137438953472, dims=((4, 8), (262144, 4)), elem=4)
    """
    placed = placement.find(access.tensor, where)
    size = element_type(access, placed).size
    if size == 0:
        raise Unsupported(
            f"access to {access.tensor} in elements of {element_type(access, placed).bits} bits",
            rule="transfers.dtype",
            where=where,
            fix="move the packed bytes as uint8",
        )
    pattern = access.pattern if access.pattern is not None else _whole(access, placed, size, where)
    _check_bounds(access, pattern, placed, size, where)
    if not placed.in_sbuf:
        dims = tuple((step * size, count) for step, count in reversed(pattern))
        return Walk(placed.address + access.offset * size, dims, size)
    return _sbuf_walk(access, pattern, placed, generation, size, where)


def element_type(access: Access, placed: Placed) -> DtypeInfo:
    """The type an access counts in: its own, else the tensor's."""
    return access.dtype or placed.tensor.dtype


def whole_pattern(tensor: Tensor, size: int = 0) -> Pattern:
    """The pattern of a whole tensor: its rows, then one row; one dimension for a tensor of rank 1 or a linear one.

    `size` is the element size the pattern counts in (0: the tensor's own).

    >>> from dgekit.core.dtypes import dtype_named
    >>> whole_pattern(Tensor("t", "hbm", (4, 2, 8), dtype_named("int8")))
    ((16, 4), (1, 16))
    """
    elements = tensor.nbytes // (size or tensor.dtype.size)
    if len(tensor.shape) < 2 or tensor.linear:
        return ((1, elements),)
    row = elements // tensor.shape[0]
    return ((row, tensor.shape[0]), (1, row))


def _whole(access: Access, placed: Placed, size: int, where: str) -> Pattern:
    """The whole tensor in elements of `size` bytes, which must divide its rows."""
    tensor = placed.tensor
    row = tensor.row_elements * tensor.dtype.size if len(tensor.shape) > 1 and not tensor.linear else tensor.nbytes
    if row % size or access.offset:
        raise LoweringError(
            f"offset {access.offset} without a pattern on {access.tensor}, whose rows are {row} bytes of {size}-byte "
            "elements: the whole tensor starts at 0 and holds whole elements",
            rule="transfers.shape",
            where=where,
            values={"offset": access.offset, "row_bytes": row, "size": size},
            fix="give the pattern",
        )
    return whole_pattern(tensor, size)


def _check_bounds(access: Access, pattern: Pattern, placed: Placed, size: int, where: str) -> None:
    """Every element inside the tensor: the lowest and the highest element index against its size."""
    if any(count < 1 for _, count in pattern):
        raise LoweringError(
            f"pattern {_shown(pattern)} of {access.tensor} has a count below 1",
            rule="transfers.shape",
            where=where,
            fix="leave the transfer out, or give each dimension at least one element",
        )
    elements = placed.tensor.nbytes // size
    lowest = access.offset + sum(min(0, step * (count - 1)) for step, count in pattern)
    highest = access.offset + sum(max(0, step * (count - 1)) for step, count in pattern)
    if lowest < 0 or highest >= elements:
        raise LoweringError(
            f"pattern {_shown(pattern)} at offset {access.offset} touches elements {lowest}..{highest} of "
            f"{access.tensor}, which has {elements}",
            rule="transfers.bounds",
            where=where,
            values={"lowest": lowest, "highest": highest, "elements": elements},
            fix="patterns count in elements, [step, count], outermost first",
        )


def _sbuf_walk(access: Access, pattern: Pattern, placed: Placed, generation: Generation, size: int, where: str) -> Walk:
    """Each step as a move over partitions and columns; the columns must stay in the row for the whole pattern."""
    linear = placed.tensor.linear
    row = placed.stride if linear else placed.row_bytes
    limit = generation.active_bytes if linear else row
    start = access.offset * size + (placed.offset if linear else 0)
    partition, column = divmod(start, row)
    dims: list[Dim] = []
    low = high = column
    for step, count in reversed(pattern):
        if count == 1:
            dims.append((step * size, 1))
            continue
        over = (start + step * size) // row - partition
        along = step * size - over * row
        low += min(0, along * (count - 1))
        high += max(0, along * (count - 1))
        dims.append((over * placed.stride + along, count))
    if low < 0 or high + size > limit:
        raise CrossPartition(
            f"pattern {_shown(pattern)} at offset {access.offset} of {access.tensor} reaches bytes "
            f"{low}..{high + size} of a partition row of {limit} bytes",
            where=where,
            values={"low": low, "high": high + size, "row_bytes": limit},
            source="decision D40",
            fix=f"give partitions a dimension of their own, with a step of {row // size} elements",
        )
    base = placed.address - (placed.offset if linear else 0)
    return Walk(base + partition * placed.stride + column, tuple(dims), size)


def _shown(pattern: Pattern) -> str:
    listed = [f"[{step}, {count}]" for step, count in pattern[:SHOWN_DIMS]]
    more = [f"... {len(pattern)} dimensions"] if len(pattern) > SHOWN_DIMS else []
    return "[" + ", ".join(listed + more) + "]"

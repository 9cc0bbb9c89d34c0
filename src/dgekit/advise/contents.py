"""What index tensors hold when a transfer reads them, as far as a program tells without running it.

Initial contents, writes of compute engines and plain copies are followed, in program order; whatever else writes a
tensor makes it unknown. Only tensors that feed indices are looked at.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from dgekit.core.errors import DgeError
from dgekit.machine.contents import initial_bytes
from dgekit.patterns.runs import element_starts
from dgekit.patterns.walk import Walk
from dgekit.transfers.access import whole_pattern
from dgekit.transfers.transfer import Access, Item, RawWords, SemaphoreStep, Tensor, Transfer, Workload

MAX_BYTES = 1 << 22  # of one tensor that is followed
U8 = npt.NDArray[np.uint8]


def index_values(workload: Workload) -> dict[int, tuple[int, ...]]:
    """The index values of each indexed transfer that are known, as unsigned numbers, by the item's number."""
    indexed = [item for item in workload.items if isinstance(item, Transfer) and item.indices is not None]
    if not indexed:
        return {}
    known = _Contents(workload, _feeding(workload.items))
    found: dict[int, tuple[int, ...]] = {}
    for number, item in enumerate(workload.items):
        if isinstance(item, Transfer) and item.indices is not None:
            values = known.read(item.indices)
            if values is not None and len(values) % 4 == 0:
                found[number] = tuple(values.view("<u4").tolist())
        known.apply(item)
    return found


def _feeding(items: Iterable[Item]) -> set[str]:
    """Tensors that indices come from, through any number of copies."""
    listed = [item for item in items if isinstance(item, Transfer)]
    wanted = {item.indices.tensor for item in listed if item.indices is not None}
    while True:
        more = {item.src.tensor for item in listed if item.op == "copy" and item.dst.tensor in wanted} - wanted
        if not more:
            return wanted
        wanted |= more


class _Contents:
    """Dense bytes of the followed tensors; a tensor that is not there is unknown."""

    def __init__(self, workload: Workload, names: set[str]) -> None:
        self._tensors = {tensor.name: tensor for tensor in workload.tensors}
        self._bytes: dict[str, U8] = {}
        for tensor in workload.tensors:
            if tensor.name not in names or not 0 < tensor.nbytes <= MAX_BYTES:
                continue
            try:
                held = initial_bytes(tensor, workload.base_dir, workload.arrays)
            except DgeError:
                continue  # the run says what is wrong with it
            if held is not None:
                self._bytes[tensor.name] = held.copy()

    def read(self, access: Access) -> U8 | None:
        """The bytes of an access, None when unknown."""
        held, places = self._bytes.get(access.tensor), self._places(access)
        return None if held is None or places is None else held[places]

    def apply(self, item: Item) -> None:
        """What an item leaves behind."""
        if isinstance(item, SemaphoreStep):
            for write in item.writes:
                self._write(write.access, np.frombuffer(write.data, np.uint8))
        elif isinstance(item, RawWords):
            self._bytes.clear()  # it may write anywhere
        else:
            data = self.read(item.src) if self._is_plain(item) else None
            for access in item.dsts or (item.dst,):
                self._write(access, data)

    def _is_plain(self, item: Transfer) -> bool:
        types = [self._type(access) for access in (item.src, item.dst)]
        return item.op == "copy" and not item.accumulate and types[0] == types[1] and types[0] is not None

    def _type(self, access: Access) -> Any:
        tensor = self._tensors.get(access.tensor)
        return access.dtype or (tensor.dtype if tensor is not None else None)

    def _write(self, access: Access, data: U8 | None) -> None:
        """Data into an access (one element fills it); unknown data makes the whole tensor unknown."""
        tensor = self._tensors.get(access.tensor)
        places = self._places(access)
        whole = places is not None and tensor is not None and len(places) == tensor.nbytes
        if access.tensor not in self._bytes and whole and data is not None and tensor is not None:
            self._bytes[access.tensor] = np.zeros(tensor.nbytes, np.uint8)
        held = self._bytes.get(access.tensor)
        if held is None:
            return
        if data is None or places is None or not len(data) or len(places) % len(data):
            del self._bytes[access.tensor]
            return
        held[places] = np.tile(data, len(places) // len(data))

    def _places(self, access: Access) -> npt.NDArray[np.int64] | None:
        """Where the bytes of an access lie in the dense tensor; None when they are not all inside."""
        tensor = self._tensors.get(access.tensor)
        if tensor is None or not 0 < tensor.nbytes <= MAX_BYTES:
            return None
        return _dense_places(access, tensor)


def _dense_places(access: Access, tensor: Tensor) -> npt.NDArray[np.int64] | None:
    size = (access.dtype or tensor.dtype).size
    if size < 1:
        return None
    pattern = access.pattern if access.pattern is not None else whole_pattern(tensor, size)
    dims = tuple((step * size, count) for step, count in reversed(pattern))
    walk = Walk(access.offset * size, dims, size)
    low, high = walk.span()
    if low < 0 or high > tensor.nbytes or walk.count > MAX_BYTES:
        return None
    return (element_starts(walk)[:, None] + np.arange(size)).ravel()

"""Where tensors lie: addresses, SBUF rows, variable ids, and the SBUF slots the tool keeps for itself.

Decision D39: HBM upward from 0x10000000, 4 KiB aligned; SBUF from partition 0, offset 0, 64 B aligned, the last
64 B of each partition kept for semaphore words; pins win; variable ids in order of declaration.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from dgekit.core.errors import LoweringError, Unsupported
from dgekit.core.evt_sem import REGISTER_BYTES
from dgekit.core.generations import GIB, Generation
from dgekit.patterns.channels import ROWS_PER_DMA
from dgekit.transfers.allocation import (
    SBUF_ALIGN,
    SEMAPHORE_BYTES,
    align_up,
    partitions_of,
    place_hbm,
    place_sbuf,
    refused,
    row_bytes,
    too_wide,
    usable_bytes,
)
from dgekit.transfers.transfer import Tensor

MEMORY_LIMIT = 4 * GIB  # of one program's tensors: a limit of this tool
MAX_VAR_ID = (1 << 24) - 1


@dataclass(frozen=True, slots=True)
class Placed:
    """One tensor in memory: SoC `address` of its first element and, in SBUF, the first partition and byte offset.

    `stride` is the distance of two partitions in bytes (0 in HBM).
    """

    tensor: Tensor
    address: int
    var_id: int
    partition: int = 0
    offset: int = 0
    stride: int = 0

    @property
    def in_sbuf(self) -> bool:
        """True when the tensor lies in SBUF."""
        return self.tensor.space == "sbuf"

    @property
    def row_bytes(self) -> int:
        """Bytes of one SBUF row (a linear tensor fills the stride), or of the whole HBM tensor."""
        return row_bytes(self.tensor, self.stride) if self.in_sbuf else self.tensor.nbytes

    @property
    def partitions(self) -> int:
        """Partitions the tensor covers; 0 in HBM."""
        return partitions_of(self.tensor, self.stride, self.offset) if self.in_sbuf else 0

    def rows(self, active_bytes: int) -> tuple[tuple[int, int, int], ...]:
        """Where the dense bytes lie, as (SoC address, offset in the dense bytes, bytes): one piece in HBM, one a
        partition in SBUF; of a linear tensor only what falls into the partitions' `active_bytes`.

        >>> from dgekit.core.dtypes import dtype_named
        >>> Placed(Tensor("t", "sbuf", (2, 8), dtype_named("int8")), 0x2000000000, 0, 0, 0, 0x40000).rows(0x38000)
        ((137438953472, 0, 8), (137439215616, 8, 8))
        """
        if not self.in_sbuf:
            return ((self.address, 0, self.tensor.nbytes),)
        if not self.tensor.linear:
            row = self.row_bytes
            return tuple((self.address + i * self.stride, i * row, row) for i in range(self.partitions))
        pieces = []
        for start in range(0, self.offset + self.tensor.nbytes, self.stride):
            low = max(start, self.offset)
            high = min(start + active_bytes, self.offset + self.tensor.nbytes)
            if low < high:
                pieces.append((self.address + low - self.offset, low - self.offset, high - low))
        return tuple(pieces)


@dataclass(frozen=True, slots=True)
class Placement:
    """All tensors of a workload in memory, by name, in order of declaration."""

    generation: Generation
    placed: Mapping[str, Placed]

    def __getitem__(self, name: str) -> Placed:
        return self.placed[name]

    def find(self, name: str, where: str = "") -> Placed:
        """The tensor of that name; raises LoweringError with the nearest right name."""
        found = self.placed.get(name)
        if found is None:
            near = difflib.get_close_matches(name, self.placed, 1)
            raise LoweringError(
                f"no tensor is named {name!r}",
                rule="transfers.tensor",
                where=where,
                fix=f"write {near[0]}" if near else "declare it first",
            )
        return found

    def relocations(self) -> dict[int, int]:
        """Variable id to the SoC address of that tensor's first element: the loader's table (isa-words 5.1)."""
        return {placed.var_id: placed.address for placed in self.placed.values()}

    def index_slot(self, nbytes: int, core: int = 0) -> int:
        """SoC address of the first free 64 B slot of partition 0 above all its tensors (D26).

        Raises LoweringError when `nbytes` do not fit below the semaphore words.
        """
        used = [p.offset + p.row_bytes for p in self.placed.values() if p.in_sbuf and _covers(p, core, 0)]
        offset = align_up(max(used, default=0), SBUF_ALIGN)
        limit = usable_bytes(self.generation)
        if offset + nbytes > limit:
            raise LoweringError(
                f"{nbytes} bytes of indices do not fit partition 0 of core {core} above its tensors: "
                f"{max(0, limit - offset)} bytes are free",
                rule="dec.D26",
                values={"bytes": nbytes, "free": max(0, limit - offset)},
                source="decision D26",
                fix="declare the indices as [1, N] in SBUF partition 0",
            )
        return self.generation.sbuf_base(core) + offset

    def semaphore_word_address(self, engine: int, ordinal: int = 0, core: int = 0) -> int:
        """SoC address of the word that holds engine `engine`'s increment number `ordinal` (D33, rings 6.2).

        The last active word of partition 8 x engine holds the first increment of a program, the word below it the
        next one. Raises LoweringError beyond the 16 words of the reserved 64 bytes.

        >>> from dgekit.core.generations import CAYMAN
        >>> hex(place([], CAYMAN).semaphore_word_address(5))
        '0x2000a37ffc'
        """
        words = SEMAPHORE_BYTES // REGISTER_BYTES
        if not 0 <= ordinal < words:
            raise LoweringError(
                f"a program has at most {words} distinct static increments, this is number {ordinal + 1}",
                rule="dec.D33",
                values={"ordinal": ordinal, "words": words},
                source="decision D33",
                fix="use fewer different values of increment with mode none",
            )
        generation = self.generation
        partition = ROWS_PER_DMA * engine
        column = generation.active_bytes - REGISTER_BYTES * (ordinal + 1)
        return generation.sbuf_base(core) + partition * generation.partition_stride + column


def place(tensors: Iterable[Tensor], generation: Generation) -> Placement:
    """Give every tensor an address and a variable id (D39).

    Raises Overlap when pinned tensors share bytes, LoweringError for duplicate names or ids and for a tensor that
    does not fit (numbers on both sides), Unsupported for element types narrower than a byte.
    """
    listed = list(tensors)
    for tensor in listed:
        _check_tensor(tensor, generation)
    _check_unique(listed)
    ids = _variable_ids(listed)
    places = {**place_hbm(listed, generation), **place_sbuf(listed, generation)}
    placed = {tensor.name: _placed(tensor, ids[tensor.name], places[tensor.name], generation) for tensor in listed}
    return Placement(generation, MappingProxyType(placed))


def _placed(tensor: Tensor, var_id: int, place: tuple[int, int], generation: Generation) -> Placed:
    if tensor.space == "hbm":
        return Placed(tensor, place[1], var_id)
    partition, offset = place
    stride = generation.partition_stride
    address = generation.sbuf_base(tensor.core) + partition * stride + offset
    return Placed(tensor, address, var_id, partition, offset, stride)


def _covers(placed: Placed, core: int, partition: int) -> bool:
    return placed.tensor.core == core and placed.partition <= partition < placed.partition + placed.partitions


# one tensor at a time


def _check_tensor(tensor: Tensor, generation: Generation) -> None:
    if tensor.dtype.size == 0:
        raise Unsupported(
            f"tensor {tensor.name} has {tensor.dtype.bits}-bit elements ({tensor.dtype.name}); memory is laid out in "
            "bytes",
            rule="transfers.dtype",
            where=tensor.where or tensor.name,
            values={"bits": tensor.dtype.bits},
            fix="declare the packed bytes as uint8",
        )
    if not tensor.shape or any(extent < 1 for extent in tensor.shape):
        raise refused(tensor, f"of shape {list(tensor.shape)} holds no element", "transfers.shape")
    if not 0 <= tensor.core < generation.cores:
        raise refused(
            tensor,
            f"names core {tensor.core}; {generation.name} has cores 0..{generation.cores - 1}",
            values={"core": tensor.core, "cores": generation.cores},
        )
    if tensor.space == "hbm":
        _check_hbm_pins(tensor)
    else:
        _check_sbuf(tensor, generation)


def _check_hbm_pins(tensor: Tensor) -> None:
    if tensor.partition is not None or tensor.offset is not None:
        raise refused(tensor, "lies in HBM, where partition and offset mean nothing", fix="pin it with address")
    if tensor.linear:
        raise refused(tensor, "lies in HBM; only an SBUF tensor can be linear")


def _check_sbuf(tensor: Tensor, generation: Generation) -> None:
    if tensor.address is not None:
        raise refused(tensor, "lies in SBUF, where address means nothing", fix="pin it with partition and offset")
    first, offset = tensor.partition or 0, tensor.offset or 0
    if first < 0 or offset < 0:
        raise refused(tensor, f"is pinned at partition {first}, offset {offset}: both must be 0 or more")
    rows = partitions_of(tensor, generation.partition_stride, offset)
    if first + rows > generation.partitions:
        raise refused(
            tensor,
            f"needs partitions {first}..{first + rows - 1}; there are {generation.partitions}",
            values={"partitions": first + rows, "limit": generation.partitions},
            fix="fold rows into the free dimension, or use several tensors",
        )
    row = tensor.row_elements * tensor.dtype.size
    if not tensor.linear and offset + row > usable_bytes(generation):
        raise too_wide(tensor, offset, generation)


# names and variable ids


def _check_unique(tensors: Sequence[Tensor]) -> None:
    names: set[str] = set()
    owners: dict[int, Tensor] = {}
    for tensor in tensors:
        if tensor.name in names:
            raise refused(tensor, "is declared twice", "transfers.tensor", fix="give it another name")
        names.add(tensor.name)
        if tensor.var_id is None:
            continue
        if not 0 <= tensor.var_id <= MAX_VAR_ID:
            raise refused(
                tensor,
                f"is pinned to variable id {tensor.var_id}; the field has 24 bits",
                values={"var_id": tensor.var_id, "limit": MAX_VAR_ID},
            )
        if tensor.var_id in owners:
            other = owners[tensor.var_id].name
            raise refused(tensor, f"and tensor {other} are both pinned to variable id {tensor.var_id}")
        owners[tensor.var_id] = tensor


def _variable_ids(tensors: Sequence[Tensor]) -> dict[str, int]:
    """Variable id by tensor name: the pinned ones, the others counted up from 0 around them."""
    taken = {tensor.var_id for tensor in tensors if tensor.var_id is not None}
    ids: dict[str, int] = {}
    following = 0
    for tensor in tensors:
        if tensor.var_id is not None:
            ids[tensor.name] = tensor.var_id
            continue
        while following in taken:
            following += 1
        ids[tensor.name] = following
        following += 1
    return ids

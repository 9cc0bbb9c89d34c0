"""Index vectors: where they must lie, what restages them, and which register bounds them (D25, D26)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from dgekit.core.dtypes import Dtype
from dgekit.core.errors import Issue
from dgekit.patterns.walk import Walk
from dgekit.transfers.access import access_walk, element_type
from dgekit.transfers.pack import REGISTER_END, SPARE_REGISTERS
from dgekit.transfers.placement import Placed
from dgekit.transfers.request import Request
from dgekit.transfers.transfer import Bound
from dgekit.transfers.values import Staging
from dgekit.words.enums import INDEX_BYTES, PARTITION_OFFSET_BITS
from dgekit.words.structs import Addr4Immediate


@dataclass(frozen=True, slots=True)
class IndexVector:
    """`count` u32 indices, contiguous at byte `offset` of SBUF partition 0, once `stagings` are done."""

    offset: int
    count: int
    stagings: tuple[Staging, ...] = ()
    issues: tuple[Issue, ...] = ()

    def address(self, first: int) -> Addr4Immediate:
        """The address of index number `first`."""
        return Addr4Immediate(addr_immediate=self.offset + INDEX_BYTES * first)


def index_walk(request: Request) -> tuple[Placed, Walk]:
    """Where a transfer's indices lie; raises LoweringError for a transfer without any or of another width."""
    access = request.transfer.indices
    if access is None:
        raise request.refuse(
            f"a {request.transfer.op} needs indices", "transfers.indices", {}, 'write indices = "tensor"'
        )
    placed = request.placement.find(access.tensor, request.where)
    dtype = element_type(access, placed)
    if dtype.code not in (Dtype.UINT32, Dtype.INT32):
        raise request.refuse(
            f"indices are 32-bit integers, not {dtype.name}",
            "transfers.indices",
            {"dtype": int(dtype.code)},
            "declare them as uint32",
            "isa-words 4.3",
        )
    return placed, access_walk(access, request.placement, request.generation, request.where)


def index_vector(request: Request) -> IndexVector:
    """The indices as words read them: in partition 0 of the executing core, restaged if they are one a partition.

    Raises LoweringError `dec.D26` for any other place.
    """
    placed, walk = index_walk(request)
    name, generation = placed.tensor.name, request.generation
    if not placed.in_sbuf or placed.tensor.core != request.core:
        place = f"core {placed.tensor.core}" if placed.in_sbuf else "HBM"
        raise request.refuse(
            f"indices {name} lie in {place}; words read them from SBUF partition 0 of core {request.core}",
            "dec.D26",
            {"place": place, "core": request.core},
            f"declare {name} as sbuf [1, N] on core {request.core}",
            "decision D26",
        )
    base = generation.sbuf_base(request.core)
    contiguous = walk.contiguous and walk.start + walk.nbytes <= base + generation.partition_stride
    if contiguous:
        return _in_reach(request, IndexVector(walk.start - base, walk.count, (), _sign_note(request, placed)))
    slot = request.placement.index_slot(walk.nbytes, request.core)
    staging = Staging(walk, slot, f"indices of {request.transfer.name}")
    note = Issue(
        "dec.D26",
        "advice",
        f"{walk.count} indices of {name} are restaged to SBUF partition 0, byte {slot - base:#x}",
        request.where,
        {"indices": walk.count, "address": slot},
        "decision D26",
    )
    notes = (note, *_sign_note(request, placed))
    return _in_reach(request, IndexVector(slot - base, walk.count, (staging,), notes))


def _in_reach(request: Request, vector: IndexVector) -> IndexVector:
    end = vector.offset + INDEX_BYTES * vector.count
    if end > 1 << PARTITION_OFFSET_BITS:
        raise request.refuse(
            f"indices end at byte {end:#x} of partition 0; an index address has {PARTITION_OFFSET_BITS} bits of offset",
            "isa.1.5",
            {"end": end, "limit": 1 << PARTITION_OFFSET_BITS},
            "place the indices lower in the partition",
            "isa-words 1.5",
        )
    return vector


def _sign_note(request: Request, placed: Placed) -> tuple[Issue, ...]:
    if placed.tensor.dtype.code != Dtype.INT32:
        return ()
    message = f"indices {placed.tensor.name} are int32; they are read as unsigned, so a negative one is out of bounds"
    return (Issue("isa.4.3.indices", "advice", message, request.where, {}, "isa-words 4.3", "declare them as uint32"),)


def index_bound(request: Request, given: Bound | None, rows: int, used: Collection[int]) -> Bound:
    """The bound of the index vector: the user's, else rows - 1 in the lowest register the program leaves free (D25)."""
    if given is not None:
        return given
    if rows > REGISTER_END:
        raise request.refuse(
            f"{rows} rows are more than a 32-bit index reaches", "dec.D25", {"rows": rows, "limit": REGISTER_END}
        )
    taken = {bound.register for bound in (request.transfer.src_bound, request.transfer.dst_bound) if bound}
    for register in SPARE_REGISTERS:
        if register not in used and register not in taken:
            return Bound(register, rows - 1)
    raise request.refuse(
        f"the program sets all {len(SPARE_REGISTERS)} general registers; none is left for the index bound",
        "dec.D25",
        {"registers": len(SPARE_REGISTERS)},
        "leave one of registers 0..61 free, or name one with src_bound or dst_bound",
        "decision D25",
    )

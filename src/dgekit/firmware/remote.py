"""What a leg between cores is, and how EXTENDED_RDMA_DESC_GEN names one (pipeline 3.7, rings 7, decision D77).

A leg moves the same bytes of 128 partitions from the SBUF of the executing core to that of a peer, then increments a
semaphore at either end. Every engine of the mask takes a contiguous block of partitions and sends both increments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dgekit.core.choices import Choices
from dgekit.core.errors import LoweringError, Unspecified, Unsupported
from dgekit.core.evt_sem import SEM_INC, register_address
from dgekit.core.generations import KIB, Generation
from dgekit.core.routing import chip_view
from dgekit.core.state import StateView
from dgekit.descriptors.batch import ChannelBatch, ChannelWork, DescriptorBatch
from dgekit.descriptors.expand import expanded, joined
from dgekit.descriptors.semaphore import with_semaphore
from dgekit.firmware.addresses import register_value
from dgekit.patterns.runs import Runs
from dgekit.words.enums import PARTITION_ADDR_MASK
from dgekit.words.structs import Addr4Immediate, Addr4Marker, Addr4Reg, ExtendedRdmaDescGen

CHUNK_BYTES = 64 * KIB  # of one partition in one descriptor (rings 7)
ENGINE_COUNTS = (1, 2, 4, 8, 16)
MASK_BITS = 16
RESERVED_BYTES = 64  # at the end of each partition, for semaphore words (D39)
QUADRANT_ROWS = 32


@dataclass(frozen=True, slots=True)
class Peer:
    """The core at the other end: its number on its device, and the device's routing id."""

    core: int
    routing_id: int


@dataclass(frozen=True, slots=True, eq=False)
class Sides:
    """The runs that one engine reads and those it writes, at the peer's own addresses."""

    src: Runs
    dst: Runs


@dataclass(frozen=True, slots=True)
class Iteration:
    """One turn of the descriptor loop: first bytes at either end, bytes of a partition."""

    src: int
    dst: int
    nbytes: int


@dataclass(frozen=True, slots=True, eq=False)
class Leg:
    """One leg. `src` and `dst` are SoC addresses, `dst` without the routing bits of the peer; `nbytes` a partition.

    `spans` are the first byte and the one after the last of the first partition, source then destination; `rows` the
    partitions of an engine. `sides` holds the data of each engine of `dmas`, in parts of equal runs where there are
    several sizes (nothing where the leg only signals); `iterations` the turns of the descriptor loop.
    """

    core: int
    peer: Peer
    local_sem: int
    remote_sem: int
    dmas: tuple[int, ...]
    src: int
    dst: int
    nbytes: int
    spans: tuple[tuple[int, int], tuple[int, int]]
    rows: int
    sides: tuple[tuple[Sides, ...], ...]
    iterations: tuple[Iteration, ...]

    @property
    def mask(self) -> int:
        """The engines as bits."""
        return sum(1 << dma for dma in self.dmas)

    @property
    def routed(self) -> int:
        """`dst` with the routing bits."""
        return chip_view(self.dst, self.peer.routing_id)


def read_generate(word: ExtendedRdmaDescGen, state: StateView, generation: Generation, choices: Choices) -> Leg:
    """The leg that a word names.

    Raises Unsupported for a generation or a field that is not supported, LoweringError for numbers outside their
    ranges, IllegalWord for registers that do not exist, Unspecified for address forms that nobody describes.
    """
    check_generation(generation)
    if word.is_bidirectional:
        raise Unsupported(
            "is_bidirectional is set; two pages say that sending to two peers is not supported",
            rule="isa.4.8.bidirectional",
            where="is_bidirectional",
            values={"is_bidirectional": int(word.is_bidirectional)},
            source="isa-words 4.8",
            fix="one leg a neighbour",
        )
    operands = ("remote_core_id", "remote_routing_id", "dma_engine_mask")
    core, routing_id, mask = (_operand(int(getattr(word, name)), name, state, choices) for name in operands)
    dmas = engines_of(mask, generation)
    nbytes = int(word.free_dim_bytes)
    places = [_offset(getattr(word, name), name, state) for name in ("src_addr", "dst_addr")]
    check_fits(places[0] + nbytes, generation.active_bytes, "src_addr")
    check_fits(places[1] + nbytes, generation.active_bytes - RESERVED_BYTES, "dst_addr")
    src = generation.sbuf_base(state.core) + places[0]
    dst = peer_base(core, generation) + places[1]
    chunks = tuple((at, min(CHUNK_BYTES, nbytes - at)) for at in range(0, nbytes, CHUNK_BYTES))
    return Leg(
        core=state.core,
        peer=checked_peer(core, routing_id),
        local_sem=int(word.local_sem),
        remote_sem=int(word.remote_sem),
        dmas=dmas,
        src=src,
        dst=dst,
        nbytes=nbytes,
        spans=((src, src + nbytes), (dst, dst + nbytes)),
        rows=generation.partitions // len(dmas),
        sides=tuple(_blocks(src, dst, chunks, len(dmas), generation)) if nbytes else (),
        iterations=tuple(Iteration(src + at, dst + at, size) for at, size in chunks),
    )


def _blocks(
    src: int, dst: int, chunks: tuple[tuple[int, int], ...], engines: int, generation: Generation
) -> Iterator[tuple[Sides, ...]]:
    """Contiguous blocks of partitions, engine after engine in the order of the mask (identity swizzle, D77)."""
    rows = generation.partitions // engines
    by_size: dict[int, list[int]] = {}
    for at, size in chunks:
        by_size.setdefault(size, []).append(at)
    for block in range(engines):
        partitions = (block * rows + np.arange(rows, dtype=np.int64)) * generation.partition_stride
        places = {size: np.concatenate([at + partitions for at in ats]) for size, ats in by_size.items()}
        yield tuple(Sides(Runs.of(src + at, size), Runs.of(dst + at, size)) for size, at in places.items())


def batch_of(leg: Leg, values: Callable[[int], int], generation: Generation, choices: Choices) -> DescriptorBatch:
    """The descriptors of a leg: data, then the local and the remote increment on every engine (rings 7).

    `values(dma)` is the SoC address of a word that holds 1. With `rdma_local_sem = all16` the engines outside the
    mask send the local increment alone.
    """
    queue = choices.number("rdma_ring")
    routing_id = leg.peer.routing_id
    limit = choices.number("packet_bytes")
    channels = [
        joined([_data(dma, part, routing_id, queue, limit, generation) for part in parts])
        for dma, parts in zip(leg.dmas, leg.sides, strict=False)
    ]
    data = DescriptorBatch(tuple(channels))
    everyone = choices.text("rdma_local_sem") == "all16"
    local = register_address(generation, leg.core, SEM_INC, leg.local_sem)
    remote = chip_view(register_address(generation, leg.peer.core, SEM_INC, leg.remote_sem), routing_id)
    senders = tuple(range(generation.engines)) if everyone else leg.dmas
    signalled = with_semaphore(data, [(dma, values(dma), local) for dma in senders], queue)
    return with_semaphore(signalled, [(dma, values(dma), remote) for dma in leg.dmas], queue)


def _data(dma: int, part: Sides, routing_id: int, queue: int, limit: int, generation: Generation) -> ChannelBatch:
    """The data BDs of one engine; where all runs have one size, no run is cut at the end of a packet."""
    target = Runs(part.dst.starts | np.int64(chip_view(0, routing_id)), part.dst.lengths)
    sizes = np.unique(np.concatenate((part.src.lengths, target.lengths)))
    size = int(sizes[0])
    packet = limit // size * size if len(sizes) == 1 and size <= limit else limit
    return expanded(ChannelWork(dma, part.src, target, queue=queue), generation, packet)


# the parts of a word


def check_generation(generation: Generation) -> None:
    """Raise Unsupported where no source says that the firmware runs these words."""
    if generation.nc < 3:
        raise Unsupported(
            f"the headers of {generation.name} have the RDMA words, but no source says that its firmware runs them",
            rule="dec.D77",
            values={"generation": generation.name},
            source="isa-words 7, decision D77",
            fix="use CAYMAN or later",
        )


def _operand(field: int, name: str, state: StateView, choices: Choices) -> int:
    """An IMM_VAL_INST_FIELD: the number itself, or what the register in its low byte holds."""
    if choices.text("imm_val_field") == "immediate":
        return field
    return register_value(field & 0xFF, name, state)


def engines_of(mask: int, generation: Generation) -> tuple[int, ...]:
    """The engines of a mask, ascending; raises LoweringError for a count or an engine that cannot be."""
    dmas = tuple(dma for dma in range(MASK_BITS) if mask >> dma & 1)
    if mask >> MASK_BITS or len(dmas) not in ENGINE_COUNTS:
        raise LoweringError(
            f"dma_engine_mask {mask:#x} names {mask.bit_count()} engines; 1, 2, 4, 8 or 16 in 16 bits can be",
            rule="pipeline.3.7.mask",
            where="dma_engine_mask",
            values={"mask": mask, "engines": mask.bit_count(), "legal": list(ENGINE_COUNTS)},
            source="isa-words 4.8",
        )
    if dmas[-1] >= generation.engines:
        raise LoweringError(
            f"dma_engine_mask {mask:#x} names engine {dmas[-1]}; {generation.name} has {generation.engines} a core",
            rule="pipeline.3.7.mask",
            where="dma_engine_mask",
            values={"mask": mask, "engine": dmas[-1], "engines": generation.engines},
            source="rings 8",
        )
    return dmas


def peer_base(core: int, generation: Generation) -> int:
    """SoC address of the peer's SBUF on its own device; cores of the second die have bit 47."""
    if core >= generation.cores:
        raise LoweringError(
            f"remote core {core} does not exist; a device of {generation.name} has {generation.cores}",
            rule="pipeline.3.7.core",
            where="remote_core_id",
            values={"core": core, "cores": generation.cores},
            source="rings 4.2",
        )
    return generation.sbuf_base(core)


def checked_peer(core: int, routing_id: int) -> Peer:
    """The peer; raises LoweringError for a routing id above 63."""
    chip_view(0, routing_id)
    return Peer(core, routing_id)


def on_chip_place(address: Any, name: str, state: StateView) -> tuple[int, int]:
    """(first partition, byte) of an ADDR4 in SBUF, immediate or from a register.

    Raises LoweringError for PSUM and for bits that must be zero, Unspecified for the forms nobody describes.
    """
    if isinstance(address, Addr4Reg) and address.marker_value == Addr4Marker.ADDR_REG:
        window = register_value(int(address.regnum), name, state) & PARTITION_ADDR_MASK
        address = Addr4Immediate(addr_immediate=window)
    if not isinstance(address, Addr4Immediate) or address.marker_value != Addr4Marker.IMM:
        raise Unspecified(
            f"no source says what {name} with marker {int(address.marker_value):#x} means in this word",
            rule="pipeline.3.7.address",
            where=name,
            values={"marker": int(address.marker_value)},
            fix="use an immediate or a register",
        )
    if address.is_psum or address.must_be_zero or address.address >> 26:
        problem = "PSUM" if address.is_psum else "bits that must be zero"
        raise LoweringError(
            f"{name} {address.address:#x} holds {problem}; both ends are SBUF",
            rule="pipeline.3.7.sbuf",
            where=name,
            values={"address": hex(address.address)},
            source="isa-words 1.5, pipeline 3.7",
        )
    return QUADRANT_ROWS * address.quadrant, address.partition_offset


def _offset(address: Any, name: str, state: StateView) -> int:
    """The byte inside each partition; a leg always takes all partitions, so it starts at the first."""
    partition, byte = on_chip_place(address, name, state)
    if partition:
        raise LoweringError(
            f"{name} starts at partition {partition}; a leg moves all partitions, from 0 on",
            rule="pipeline.3.7.partition",
            where=name,
            values={"partition": partition},
            source="rings 7",
        )
    return byte


def check_fits(end: int, limit: int, name: str) -> None:
    """Raise LoweringError when bytes of a partition end past `limit`."""
    if end > limit:
        raise LoweringError(
            f"the bytes at {name} end at {end} of a partition, past {limit}",
            rule="pipeline.3.7.bytes",
            where=name,
            values={"end": end, "limit": limit},
            source="rings 4.4; decision D39 keeps the last 64 bytes of a destination for semaphore words",
        )

"""The host's own expansion for mode `none`: work of every DMA channel without words or firmware (D15, D23, D33)."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from dgekit.cce.work import Work
from dgekit.core.choices import Choices
from dgekit.core.errors import Issue
from dgekit.core.evt_sem import PROGRAM_CORE, SEM_INC, register_address
from dgekit.core.generations import Generation
from dgekit.core.state import MemoryReader
from dgekit.descriptors.batch import ChannelWork, PacketKind
from dgekit.patterns.algebra import common_shape, fold_pair
from dgekit.patterns.channels import dma_count, partitions_touched, row_blocks, split_channels
from dgekit.patterns.runs import Runs, element_starts, runs
from dgekit.patterns.walk import Walk
from dgekit.transfers.indices import index_walk
from dgekit.transfers.overlap import check_overlap
from dgekit.transfers.placement import Placement
from dgekit.transfers.reduce import reduce_work
from dgekit.transfers.request import Leg, Request, check_same_count, copy_dtypes, open_request
from dgekit.transfers.static_rows import gather_transpose_work, indirect_work
from dgekit.transfers.transfer import Item, Transfer
from dgekit.transfers.transpose import Geometry, tile_refusal, transpose_geometry
from dgekit.transfers.work import channel_work
from dgekit.words.enums import INDEX_BYTES, TILE_ROWS


@dataclass(frozen=True, slots=True)
class EngineIncrement:
    """One engine's semaphore pair: the 4 bytes `value` at `value_address` are copied to the INC window (rings 6.2)."""

    dma: int
    value_address: int
    inc_address: int
    value: int


@dataclass(frozen=True, slots=True)
class StaticPlan:
    """What the host's rings hold for one transfer.

    `increments` is a pair for every engine, with or without data, or one a queue of a NEFF (D33); empty without a
    semaphore. `out_of_bounds`
    lists index lanes past the table: dropped with `skip`; with `error` they set `stopped`, and then nothing moves.
    """

    work: tuple[Work, ...]
    increments: tuple[EngineIncrement, ...] = ()
    issues: tuple[Issue, ...] = ()
    core: int = 0
    out_of_bounds: tuple[int, ...] = ()
    stopped: bool = False


def static_work(
    transfer: Transfer,
    placement: Placement,
    generation: Generation,
    choices: Choices,
    *,
    indices: Sequence[int] | None = None,
    ordinals: Mapping[int, int] | None = None,
) -> StaticPlan:
    """The work of all channels of one transfer, and its semaphore pairs.

    `indices` are the index values of a gather, scatter or gather_transpose; `ordinals` numbers the program's distinct
    increments (`increment_ordinals`; by default this transfer's own is number 0). Raises as `build_words` does.
    """
    request = open_request(transfer, placement, generation, choices)
    if transfer.op != "reduce":
        check_overlap(request)
    increments = _increments(request, ordinals if ordinals is not None else {static_increment(transfer): 0})
    if transfer.op in _DIRECT:
        return StaticPlan(tuple(_DIRECT[transfer.op](request)), increments, (), request.core)
    if indices is None:
        raise request.refuse(
            f"a static {transfer.op} needs the index values when it is expanded", "transfers.indices", {}
        )
    moved = gather_transpose_work if transfer.op == "gather_transpose" else indirect_work
    work, outside = moved(request, indices)
    if outside and transfer.oob == "error":
        return StaticPlan((), (), (_out_of_bounds(request, indices, outside),), request.core, outside, True)
    return StaticPlan(tuple(work), increments, (), request.core, outside)


def read_indices(
    transfer: Transfer, placement: Placement, generation: Generation, choices: Choices, memory: MemoryReader
) -> tuple[int, ...]:
    """The index values of a transfer as memory holds them now: u32, in the order of its `indices` access."""
    _, walk = index_walk(open_request(transfer, placement, generation, choices))
    pieces = runs(walk)
    starts, lengths = pieces.starts.tolist(), pieces.lengths.tolist()
    data = b"".join(memory.read(start, length) for start, length in zip(starts, lengths, strict=True))
    return struct.unpack(f"<{len(data) // INDEX_BYTES}I", data)


def is_static(transfer: Transfer) -> bool:
    """True for what the host expands itself: mode `none`, and every reduce (D15, D38)."""
    return transfer.mode == "none" or transfer.op == "reduce"


def increment_ordinals(items: Iterable[Item]) -> dict[int, int]:
    """The number of each distinct increment of a program's static transfers, in order of first use (D33).

    Every distinct value has a word of its own in the partitions' reserved bytes.
    """
    ordinals: dict[int, int] = {}
    for item in items:
        if isinstance(item, Transfer) and is_static(item) and item.semaphore is not None:
            ordinals.setdefault(static_increment(item), len(ordinals))
    return ordinals


def static_increment(transfer: Transfer) -> int:
    """What one semaphore pair adds: the transfer's increment, or 1 for each of a NEFF queue set's queues (D33)."""
    return transfer.increment if transfer.num_queues is None else 1


def _increments(request: Request, ordinals: Mapping[int, int]) -> tuple[EngineIncrement, ...]:
    """A pair for each engine, or for each queue of a NEFF queue set."""
    transfer, generation, core = request.transfer, request.generation, request.core
    if transfer.semaphore is None:
        return ()
    window = register_address(generation, PROGRAM_CORE, SEM_INC, transfer.semaphore)
    amount = static_increment(transfer)
    if amount not in ordinals:
        raise request.refuse(
            f"increment {amount} has no word among {sorted(ordinals)}",
            "dec.D33",
            {"increment": amount, "numbered": sorted(ordinals)},
            "number the increments of the whole program with increment_ordinals",
        )
    pairs = []
    for queue in range(transfer.num_queues or generation.engines):
        dma = queue % generation.engines
        word = request.placement.semaphore_word_address(dma, ordinals[amount], core)
        pairs.append(EngineIncrement(dma, word, window, amount))
    return tuple(pairs)


def _out_of_bounds(request: Request, indices: Sequence[int], lanes: Sequence[int]) -> Issue:
    lane = lanes[0]
    return Issue(
        "dec.D25",
        "error",
        f"index {indices[lane]} at position {lane} is past the last row; nothing was moved",
        request.where,
        {"lane": lane, "index": indices[lane], "lanes_out_of_bounds": len(lanes)},
        "decision D25",
        'write oob = "skip" to drop such rows',
    )


# straight copies and casts


def _copy_work(request: Request) -> Iterable[Work]:
    check_same_count(request)
    if request.is_cast:
        copy_dtypes(request)
    src, dst = request.src.walk, request.dst.walk
    common = common_shape(src, dst)
    if common is not None:
        src, dst = fold_pair(*common)
    elif request.transfer.accumulate:
        raise request.refuse(
            "the shapes of an accumulating copy must nest",
            "dec.D2",
            {"src": list(src.counts), "dst": list(dst.counts)},
            "give both patterns the same counts",
        )
    pieces = _element_runs if request.transfer.accumulate else runs
    for dma, part_src, part_dst in _channels(request, src, dst):
        yield channel_work(request, dma, pieces(part_src), pieces(part_dst))


def _element_runs(walk: Walk) -> Runs:
    """Every element as a run of its own."""
    return Runs.of(element_starts(walk), walk.elem)


def _channels(request: Request, src: Walk, dst: Walk) -> list[tuple[int, Walk, Walk]]:
    """The shares of all channels; a NEFF queue set has as many as it has hardware queues (neff 2)."""
    generation = request.generation
    queues = request.transfer.num_queues or generation.engines
    return split_channels(
        src,
        dst,
        request.src.in_sbuf,
        request.dst.in_sbuf,
        generation.partition_stride,
        range(min(queues, generation.engines)),
        src_base=generation.sbuf_base(request.src.placed.tensor.core),
        dst_base=generation.sbuf_base(request.dst.placed.tensor.core),
        hbm_split=request.choices.text("hbm_split") == "equal",
    )


# transposes


def _transpose_work(request: Request) -> Iterable[ChannelWork]:
    """Tiles where the transpose rules allow them, else an element-wise permuted copy."""
    geometry = transpose_geometry(request)
    if tile_refusal(request, geometry) is None:
        yield from _tile_work(request, geometry)
        return
    g = geometry
    src = Walk(g.src, ((g.src_row, g.rows), (g.src_col, g.cols)), g.size)
    dst = Walk(g.dst, ((g.dst_col, g.rows), (g.dst_row, g.cols)), g.size)
    for dma, part_src, part_dst in _channels(request, src, dst):
        yield ChannelWork(dma, runs(part_src), runs(part_dst))


def _tile_work(request: Request, geometry: Geometry) -> Iterable[ChannelWork]:
    """Each channel takes ceil(columns / #DMA) columns of every tile (D10)."""
    channels = dma_count(
        max(_partitions(leg, request) for leg in (request.src, request.dst)), request.generation.engines
    )
    code = int(request.src.dtype.code)
    for part, tile_cols in geometry.column_blocks():
        for dma, (lo, hi) in enumerate(row_blocks(tile_cols, channels)):
            down, along = part.rows // TILE_ROWS, part.cols // tile_cols
            across = tile_cols * part.src_col, tile_cols * part.dst_row
            rows = Walk(
                part.src + lo * part.src_col,
                ((part.src_row, TILE_ROWS), (TILE_ROWS * part.src_row, down), (across[0], along)),
                (hi - lo) * part.size,
            )
            cols = Walk(
                part.dst + lo * part.dst_row,
                ((part.dst_row, hi - lo), (TILE_ROWS * part.size, down), (across[1], along)),
                TILE_ROWS * part.size,
            )
            pieces = _element_runs(rows), _element_runs(cols)
            yield ChannelWork(dma, *pieces, PacketKind.TRANSPOSE, code, code, code, TILE_ROWS, hi - lo)


def _partitions(leg: Leg, request: Request) -> int:
    """Partitions a leg touches; 0 in HBM."""
    if not leg.in_sbuf:
        return 0
    base = request.generation.sbuf_base(leg.placed.tensor.core)
    return partitions_touched(leg.walk, base, request.generation.partition_stride)


_DIRECT: dict[str, Callable[[Request], Iterable[Work]]] = {
    "copy": _copy_work,
    "transpose": _transpose_work,
    "reduce": reduce_work,
}

"""Stage 3, reshape: look at both tensors, then decide how many DMAs share the word and what each takes (pipeline 3).

The integers of strategy and kind are not published; the numbers here are the model's (pipeline 3.2).
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace

from dgekit.core.choices import Choices
from dgekit.core.events import EventLog
from dgekit.core.generations import Generation
from dgekit.firmware import transposes
from dgekit.firmware.transpose_lines import emit_transpose
from dgekit.firmware.values import DgeShape, Indices, Kind, Plan, ShapePair, Share
from dgekit.patterns.channels import dma_count, partitions_touched, row_blocks, split_channels
from dgekit.patterns.walk import Walk
from dgekit.words.legs import sbuf_place

_LOW32 = 0xFFFF_FFFF


class Strategy(enum.IntEnum):
    """How one tensor is reshaped (pipeline 3.2, DESIGN numbers)."""

    IDENTITY = 0
    MERGE = 1
    SPLIT = 2
    TRANSPOSE = 3


@dataclass(frozen=True, slots=True)
class Analysis:
    """What the analysis of one tensor found: step and base in bytes, partitions touched (1 for HBM)."""

    nelem_target: int
    step_target: int
    base: int
    strategy: Strategy
    partition_range: int
    partitions: int


def reshape(pair: ShapePair, dmas: tuple[int, ...], generation: Generation, choices: Choices, events: EventLog) -> Plan:
    """Analyze both tensors, assess the pair and split it over the channels `dmas` (ascending, at least one)."""
    src = analyze(pair, pair.src, generation, choices)
    dst = analyze(pair, pair.dst, generation, choices)
    partitions = _wanted_partitions(pair, src, dst)
    shares = _shares(pair, partitions, dmas, generation, choices)
    plan = Plan(pair.kind, _strategy(pair, src, dst), partitions, shares)
    for side, analysis in (("src", src), ("dst", dst)):
        events.emit(
            "reshape", "analyzed", "reshape.analyzed", _analyzed_args(analysis, pair.kind, generation), side=side
        )
    _emit_assessment(pair, src, dst, len(dmas), plan, events)
    emit_transpose("reshape", pair, pair.src, choices, events)
    return plan


def analyze(pair: ShapePair, shape: DgeShape, generation: Generation, choices: Choices) -> Analysis:
    """One tensor: elements, the slowest step that moves, the partitions it touches and the strategy."""
    moving = [step for step, count in zip(shape.step, shape.num, strict=True) if count > 1]
    partition_range, partitions = _partitions(_footprint(pair, shape, generation, choices), shape, generation)
    return Analysis(
        nelem_target=shape.walk().count,
        step_target=moving[-1] if moving else 0,
        base=shape.start,
        strategy=_tensor_strategy(pair, shape, partitions),
        partition_range=partition_range,
        partitions=partitions,
    )


def walks_tiles(pair: ShapePair, choices: Choices) -> bool:
    """True when the counts of this word count tiles: 0xbd under `xpose_walk = tiles` (D10)."""
    return pair.kind is Kind.TRANSPOSE and choices.text("xpose_walk") == "tiles"


def _footprint(pair: ShapePair, shape: DgeShape, generation: Generation, choices: Choices) -> Walk:
    """The bytes a side touches; those of an indirect leg are its pattern without the indices."""
    if pair.tile is None or not walks_tiles(pair, choices):
        return shape.walk()
    if shape.is_src:
        return transposes.source_footprint(shape, pair.tile)
    return transposes.destination_footprint(shape, pair.tile, generation.partition_stride)


def _partitions(walk: Walk, shape: DgeShape, generation: Generation) -> tuple[int, int]:
    """(range from the first to the last, number of distinct partitions); 1 and 1 for HBM (pipeline 3.3)."""
    place = sbuf_place(shape.start, generation)
    if place is None or walk.count == 0:
        return 1, 1
    base, stride = generation.sbuf_base(place[0]), generation.partition_stride
    low, high = walk.span()
    return (high - 1 - base) // stride - (low - base) // stride + 1, partitions_touched(walk, base, stride)


def _tensor_strategy(pair: ShapePair, shape: DgeShape, partitions: int) -> Strategy:
    if pair.kind in (Kind.TRANSPOSE, Kind.GATHER_TRANSPOSE):
        return Strategy.TRANSPOSE
    if partitions > 1:
        return Strategy.SPLIT
    plain = shape.walk().without_unit_dims()
    return Strategy.MERGE if len(plain.folded().dims) < len(plain.dims) else Strategy.IDENTITY


def _strategy(pair: ShapePair, src: Analysis, dst: Analysis) -> int:
    """The strategy of the pair: that of the side in SBUF, the destination first."""
    return int(dst.strategy if pair.dst.on_chip or not pair.src.on_chip else src.strategy)


def _wanted_partitions(pair: ShapePair, src: Analysis, dst: Analysis) -> int:
    """P of D23: partitions on the SBUF side, the larger of both; an indirect leg says nothing, HBM counts 1."""
    indices = pair.indices
    sides = [
        side.partitions
        for side, shape, lanes in (
            (src, pair.src, indices.src if indices else None),
            (dst, pair.dst, indices.dst if indices else None),
        )
        if shape.on_chip and lanes is None
    ]
    return max(sides, default=1)


def _shares(
    pair: ShapePair, partitions: int, dmas: tuple[int, ...], generation: Generation, choices: Choices
) -> tuple[Share, ...]:
    used = dmas[: dma_count(partitions, len(dmas))]
    if pair.kind is Kind.GATHER_TRANSPOSE:
        return _gather_shares(pair, used)
    if pair.kind is Kind.INDIRECT:
        return _lane_shares(pair, used)
    if pair.tile is not None and walks_tiles(pair, choices):
        return transposes.column_shares(pair, pair.tile, used, generation.partition_stride)
    return _direct_shares(pair, dmas, generation, choices)


def _direct_shares(
    pair: ShapePair, dmas: tuple[int, ...], generation: Generation, choices: Choices
) -> tuple[Share, ...]:
    """Blocks of the partition dimension (D23); one channel where the legs' counts differ.

    That is so in a D11 transpose: even where rows and columns are as many, dimension 0 of one leg is 1 of the other.
    """
    if pair.tile is not None:
        return (Share(dmas[0], pair.src, pair.dst, pair.tile),)
    src_place, dst_place = sbuf_place(pair.src.start, generation), sbuf_place(pair.dst.start, generation)
    parts = split_channels(
        pair.src.walk(),
        pair.dst.walk(),
        src_place is not None,
        dst_place is not None,
        generation.partition_stride,
        dmas,
        src_base=generation.sbuf_base(src_place[0]) if src_place else 0,
        dst_base=generation.sbuf_base(dst_place[0]) if dst_place else 0,
        hbm_split=choices.text("hbm_split") == "equal",
    )
    return tuple(Share(dma, _cut(pair.src, src), _cut(pair.dst, dst), pair.tile) for dma, src, dst in parts)


def _cut(shape: DgeShape, walk: Walk) -> DgeShape:
    """The shape with the start and counts of a part of its walk."""
    return replace(shape, start=walk.start, num=walk.counts)


def _lane_shares(pair: ShapePair, used: tuple[int, ...]) -> tuple[Share, ...]:
    """Blocks of index lanes; one channel where the legs are not one row a lane each."""
    indices = pair.indices or Indices()
    lanes = len(indices.src if indices.src is not None else indices.dst or ())
    if len(used) == 1 or pair.src.num != (lanes,) or pair.dst.num != (lanes,):
        return (Share(used[0], pair.src, pair.dst, lanes=tuple(range(lanes))),)
    return tuple(
        Share(
            dma,
            _lane_part(pair.src, lo, hi, indices.src is not None),
            _lane_part(pair.dst, lo, hi, indices.dst is not None),
            lanes=tuple(range(lo, hi)),
        )
        for dma, (lo, hi) in zip(used, row_blocks(lanes, len(used)), strict=False)
    )


def _lane_part(shape: DgeShape, lo: int, hi: int, indirect: bool) -> DgeShape:
    """One leg of lanes lo..hi-1: a direct leg advances, an indirect one keeps the base of its table."""
    start = shape.start if indirect else shape.start + lo * shape.step[0]
    return replace(shape, start=start, num=(hi - lo,))


def _gather_shares(pair: ShapePair, used: tuple[int, ...]) -> tuple[Share, ...]:
    """Blocks of columns: dimension 0 of the gathered rows, dimension 1 of the destination (isa-words 3.4)."""
    lanes = tuple(range(len(pair.indices.src or ()))) if pair.indices else ()
    tile = pair.tile
    if tile is None or pair.src.num[0] != tile.cols or pair.dst.num[1:] != (tile.cols,):
        return (Share(used[0], pair.src, pair.dst, tile, lanes),)
    shares = []
    for dma, (lo, hi) in zip(used, row_blocks(tile.cols, len(used)), strict=False):
        src, dst = pair.src.walk().slice(0, lo, hi), pair.dst.walk().slice(1, lo, hi)
        shares.append(Share(dma, _cut(pair.src, src), _cut(pair.dst, dst), replace(tile, cols=hi - lo), lanes))
    return tuple(shares)


def _analyzed_args(analysis: Analysis, kind: Kind, generation: Generation) -> tuple[int, ...]:
    """The nine values of the "Analyzed tensor" line; base and step print their low 32 bits (pipeline 3.3)."""
    stride = generation.partition_stride
    base, step = analysis.base & _LOW32, analysis.step_target
    step_partitions = step // stride if step >= 0 else -(-step // stride)
    return (
        analysis.nelem_target,
        step & _LOW32,
        step_partitions,
        base,
        base // stride,
        int(analysis.strategy),
        int(kind),
        analysis.partition_range,
        analysis.partitions,
    )


def _emit_assessment(
    pair: ShapePair, src: Analysis, dst: Analysis, available: int, plan: Plan, events: EventLog
) -> None:
    """The pair line; the simple one when either side is in HBM (pipeline 3.3)."""
    kind, used = int(plan.kind), plan.num_dma
    if pair.src.on_chip and pair.dst.on_chip:
        args: tuple[int, ...] = (kind, min(src.partitions, dst.partitions), available, kind, used)
        events.emit("reshape", "assessed", "reshape.pair", args, dmas=[share.dma for share in plan.shares])
        return
    hbm_only = int(not pair.src.on_chip and not pair.dst.on_chip)
    args = (src.partitions, dst.partitions, available, hbm_only, kind, used)
    events.emit("reshape", "assessed", "reshape.simple", args, dmas=[share.dma for share in plan.shares])

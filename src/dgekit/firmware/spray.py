"""What the Q7 cores say on the way to their descriptors: spray, gather pattern, index steps (pipeline 3.5, 3.6).

The strings are the firmware's, the order is inferred, and the functions behind the numbers are not published: each
function here that invents one says so (DESIGN). None of these numbers reaches the data.
"""

from __future__ import annotations

from collections.abc import Sequence

from dgekit.core.choices import Choices
from dgekit.core.events import EventLog
from dgekit.core.generations import Generation
from dgekit.descriptors.batch import DescriptorBatch
from dgekit.descriptors.doorbell import LEGS, doorbell_address, unit_base
from dgekit.firmware.indirection import index_vectors
from dgekit.firmware.transpose_lines import emit_transpose, padded
from dgekit.firmware.values import DgeShape, Indices, Kind, Plan, ShapePair
from dgekit.words.enums import INDEX_BYTES

VECTOR_LANES = 16  # u32 lanes of one 512-bit vector: the model logs index work by such groups (DESIGN)
NEST = 5  # dimensions of the generation loop
PROCESSOR = 0  # the Q7 core that the model lets speak (DESIGN)
_NO_LIMIT = 0xFFFF_FFFF

KIND_LINES = {
    Kind.DIRECT2D: "decode.direct2d",
    Kind.INDIRECT: "decode.indirect",
    Kind.GATHER_TRANSPOSE: "decode.gather_transpose",
}


def emit_dispatch(pair: ShapePair, events: EventLog) -> None:
    """The lines of the Q7 dispatcher: the opcode, then the kind, of which a transpose has none (pipeline 2.1, 7.3)."""
    events.emit("decode", "dispatch", "decode.dispatch", (PROCESSOR, pair.opcode), processor=PROCESSOR)
    events.emit("decode", "kind", KIND_LINES.get(pair.kind, ""), kind=pair.kind.name)


def emit_index_constructors(pair: ShapePair, events: EventLog) -> None:
    """One line an index vector, with its address."""
    for shape, _, _ in index_vectors(pair):
        events.emit("indirection", "constructor", "indirection.constructor", (_index_address(pair, shape),))


def port_steps(num_dma: int) -> tuple[int, int]:
    """(step_port, step_half): channels are neighbouring ports, so 1 and no half (DESIGN)."""
    return (1, 0) if num_dma else (0, 0)


def gather_pattern(eng_mask: int, step_port: int, step_half: int) -> tuple[int, int]:
    """(pattern, mask): every `step_port`-th engine of the mask, half a port later if `step_half` (DESIGN).

    >>> [hex(value) for value in gather_pattern(0xFFFF, 4, 1)]
    ['0x4444', '0xffff']
    """
    shift = step_port // 2 if step_half else 0
    ports = (bit for bit in range(eng_mask.bit_length()) if step_port and (bit - shift) % step_port == 0)
    return sum(1 << bit for bit in ports) & eng_mask, eng_mask


def engine_mask(plan: Plan) -> int:
    """The DMAs of a plan as bits."""
    return sum(1 << dma for dma in {share.dma for share in plan.shares})


def emit_spray(pair: ShapePair, plan: Plan, choices: Choices, events: EventLog) -> tuple[int, int]:
    """The spray lines of both operands and the gather pattern they lead to; returns (pattern, mask).

    "Our" tensor is the source (DESIGN); one that is ours and indexed prints both outcomes, indirection first.
    """
    indices = pair.indices or Indices()
    step_port, step_half = port_steps(plan.num_dma)
    hbm_to_hbm = int(not pair.src.on_chip and not pair.dst.on_chip)
    for shape, indexed in ((pair.src, indices.src is not None), (pair.dst, indices.dst is not None)):
        flags = (int(plan.kind), int(indexed), int(shape.is_src), hbm_to_hbm, plan.num_dma)
        events.emit("spray", "info", "spray.info", flags)
        if indexed:
            events.emit("spray", "indirection", "spray.indirection")
            emit_transpose("spray", pair, shape, choices, events)
            events.emit("spray", "indirection_result", "spray.indirection_result", (step_port, step_half))
        if shape.is_src:
            events.emit("spray", "tensor", "spray.tensor")
            if not indexed:
                emit_transpose("spray", pair, shape, choices, events)
            events.emit("spray", "tensor_result", "spray.tensor_result", (step_port, step_half))
        if not indexed and not shape.is_src:
            events.emit("spray", "skip", "spray.skip")
    eng_mask = engine_mask(plan)
    events.emit("spray", "pattern_start", "spray.pattern_start", (int(plan.kind), step_port, step_half, eng_mask))
    pattern, mask = gather_pattern(eng_mask, step_port, step_half)
    events.emit("spray", "pattern_end", "spray.pattern_end", (pattern, mask))
    return pattern, mask


def emit_index_steps(pair: ShapePair, events: EventLog) -> None:
    """The shared dimension, its steps, and how they go forward and back (two lines whose text is not all known)."""
    shape, dim, vector = index_vectors(pair)[0]
    other = pair.dst if shape.is_src else pair.src
    ours, others = _step_of(shape, dim), _step_of(other, dim)
    events.emit("indirection", "shared", "indirection.shared", (dim, INDEX_BYTES))
    events.emit("indirection", "steps", "indirection.steps", (dim, len(shape.num)))
    events.emit("indirection", "increment", "indirection.increment", (ours, others))
    back = max(0, len(vector) - 1)
    events.emit("indirection", "rewind", "indirection.rewind", (-ours * back, -others * back))


def _step_of(shape: DgeShape, dim: int) -> int:
    return shape.word_step[dim] if dim < len(shape.num) else 0


def emit_lane_groups(pair: ShapePair, count: int, pattern: int, mask: int, events: EventLog) -> None:
    """For each vector of lanes: indices read, masks, and the address of its last index (DESIGN: one line a vector)."""
    vectors = index_vectors(pair)
    maxima = _index_maxima(pair)
    for first in range(0, count, VECTOR_LANES):
        lanes = range(first, min(first + VECTOR_LANES, count))
        for shape, _, _ in vectors:
            address = _index_address(pair, shape) + first * INDEX_BYTES
            events.emit("indirection", "gather", "indirection.gather", (address, pattern, mask))
        ours, others = _valid(pair.src, pair, lanes), _valid(pair.dst, pair, lanes)
        events.emit("indirection", "masks", "indirection.masks", (ours, others, *maxima), lanes=(first, len(lanes)))
        for shape, dim, vector in vectors:
            _emit_address(shape, dim, vector[lanes[-1]], events)


def _emit_address(shape: DgeShape, dim: int, index: int, events: EventLog) -> None:
    """`address += last_indices * indirection_step`, an unsigned index times a signed step; addresses as high_low."""
    step = shape.step[dim]
    events.emit("indirection", "start", "indirection.start", (dim, index, step))
    before, after = shape.start, shape.start + index * step
    events.emit("indirection", "before", "indirection.before", (before >> 32, before, index, step))
    events.emit("indirection", "after", "indirection.after", (after >> 32, after))


def _index_address(pair: ShapePair, shape: DgeShape) -> int:
    indices = pair.indices or Indices()
    return indices.src_address if shape.is_src else indices.dst_address


def _index_maxima(pair: ShapePair) -> tuple[int, int]:
    """srx_idx_max and dst_idx_max: the limit, all ones without one, 0 for a leg without an index (DESIGN)."""
    maxima = {True: 0, False: 0}
    for shape, _, _ in index_vectors(pair):
        maxima[shape.is_src] = shape.bound.limit if shape.bound.enabled else _NO_LIMIT
    return maxima[True], maxima[False]


def _valid(shape: DgeShape, pair: ShapePair, lanes: Sequence[int]) -> int:
    """Which lanes of a group are in bounds on one leg; a leg without an index is valid throughout."""
    vectors = {leg.is_src: vector for leg, _, vector in index_vectors(pair)}
    vector = vectors.get(shape.is_src)
    ok = (vector is None or not shape.bound.enabled or vector[lane] <= shape.bound.limit for lane in lanes)
    return sum(1 << bit for bit, valid in enumerate(ok) if valid)


def emit_batman(pair: ShapePair, events: EventLog) -> None:
    """The five-dimensional shape before the indirection reshape, and its shared dimension."""
    shape, dim, _ = index_vectors(pair)[0]
    num, step = padded(shape, NEST)
    events.emit("indirection", "batman_shape", "indirection.batman_shape", (*num, *step))
    events.emit("indirection", "batman_dim", "indirection.batman_dim", (dim,))


def emit_generation(loops: Sequence[tuple[int, ...]], descriptors: int, choices: Choices, events: EventLog) -> None:
    """How many descriptors come, then one loop index each row; the loop index is innermost first (DESIGN)."""
    ring = choices.number("ring_size")
    events.emit("swdge", "generating", "swdge.generating", (descriptors, ring), descriptors=descriptors)
    for index in loops:
        events.emit("swdge", "loop", "swdge.loop", index)


def emit_triggers(batch: DescriptorBatch, core: int, generation: Generation, events: EventLog) -> None:
    """The broadcast doorbells, S2M then M2S (D29): one line for the channels of equal count.

    The base is the low half of the unit address of the core's first engine, as if all sat behind it (DESIGN).
    """
    first = core * generation.engines
    for leg in reversed(LEGS):
        masks: dict[tuple[int, int], int] = {}
        for channel in batch.channels:
            count = len(channel.s2m if leg == "S2M" else channel.m2s)
            masks[channel.queue, count] = masks.get((channel.queue, count), 0) | 1 << channel.dma
        for (queue, count), mask in masks.items():
            base, address = unit_base(generation, first, leg), doorbell_address(generation, first, queue, leg)
            events.emit("doorbell", "trigger", "doorbell.trigger", (base, address, mask, count), leg=leg, queue=queue)


def loop_index(dim: int, lane: int) -> tuple[int, ...]:
    """The position of a row in the loop nest.

    >>> loop_index(1, 7)
    (0, 7, 0, 0, 0)
    """
    return tuple(lane if k == dim else 0 for k in range(NEST))

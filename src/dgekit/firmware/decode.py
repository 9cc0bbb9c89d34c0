"""Stage 2, decode: a resolved word and the machine's state become a pair of shapes in bytes (pipeline 2).

What the words package already knows about a word's two legs is taken from `words.legs`; here registers, tables and
index vectors are read, and steps become bytes (D1).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dgekit.core.choices import Choices
from dgekit.core.dtypes import Dtype, dtype_info
from dgekit.core.errors import IllegalWord, Issue, UsageError
from dgekit.core.events import EventLog
from dgekit.core.generations import Generation
from dgekit.core.state import NUM_SHAPE_REGISTERS, StateView
from dgekit.firmware.addresses import (
    bound_check,
    index_address,
    is_wide,
    leg_address,
    read_indices,
    takes_shape_register,
)
from dgekit.firmware.values import BoundCheck, DgeShape, Indices, Kind, ShapePair, Tile
from dgekit.words.enums import TILE_ROWS, IndirectMode
from dgekit.words.legs import Leg, element_bytes, legs, sbuf_place

KIND_OF = {
    "DMA_DIRECT2D": Kind.DIRECT2D,
    "DMA_INDIRECT1D": Kind.INDIRECT,
    "DMA_DIRECT2D_XPOSE": Kind.TRANSPOSE,
    "DMA_GATHER_XPOSE": Kind.GATHER_TRANSPOSE,
}
_NO_INCREMENT = (Kind.TRANSPOSE, Kind.GATHER_TRANSPOSE)
_U16 = 0xFFFF


def kind_of(word: Any) -> Kind:
    """The DGE kind of a resolved word; raises IllegalWord for any other word."""
    kind = KIND_OF.get(word.kind)
    if kind is None:
        raise IllegalWord(
            f"{word.kind} is no resolved DGE word",
            rule="pipeline.2.1",
            values={"kind": word.kind},
            source="pipeline 2.1",
            fix="resolve a pseudo word first",
        )
    return kind


def decode(
    word: Any,
    state: StateView,
    generation: Generation,
    choices: Choices,
    events: EventLog,
    sem_increment: int | None = None,
) -> tuple[ShapePair, tuple[Issue, ...]]:
    """The shapes of a resolved word (0xb8, 0xbb, 0xbd, 0xf1) and what there is to remark.

    `sem_increment` is the increment of the pseudo word, for the two words that have no field for it (D5). Raises
    IllegalWord for a structure the device refuses, LoweringError for state that is missing, and memory faults.
    """
    kind = kind_of(word)
    src_leg, dst_leg = legs(word)
    src = _shape(src_leg, kind, state, generation, choices, events)
    dst = _shape(dst_leg, kind, state, generation, choices, events)
    increment, issues = _increment(word, kind, sem_increment)
    pair = ShapePair(
        kind=kind,
        src=src,
        dst=dst,
        semaphore=int(word.semaphore),
        sem_increment=increment,
        priority_class=int(word.dma_configs.priority_class),
        compute_op=int(word.compute_op) if kind in (Kind.DIRECT2D, Kind.INDIRECT) else 0,
        tile=_tile(word, kind, src),
        opcode=int(word.header.opcode),
    )
    pair = replace(pair, indices=_indices(word, pair, state, generation))
    events.emit("decode", "shapes", kind=kind.name, src=src, dst=dst, semaphore=pair.semaphore)
    return pair, issues


def _shape(
    leg: Leg, kind: Kind, state: StateView, generation: Generation, choices: Choices, events: EventLog
) -> DgeShape:
    """One side: address resolved, counts and steps taken from the word or from a shape register."""
    dtype = _dtype(leg)
    elem_size = dtype_info(dtype).size if leg.elem_size is None else element_bytes(leg.elem_size)
    if not elem_size:
        raise _illegal_dtype(leg, "is narrower than a byte")
    unit = elem_size if choices.text("step_unit") == "elements" else 1
    start = leg_address(leg.address, leg.name, state)
    num, steps, register = _dims(leg, state, events)
    return DgeShape(
        start=start,
        num=num,
        step=_step_bytes(leg, kind, steps, unit, elem_size, register),
        elem_size=elem_size,
        dtype=dtype,
        is_src=leg.name == "src",
        on_chip=sbuf_place(start, generation) is not None,
        bound=_bound(leg, kind, state),
        unit=unit,
        shape_register=register,
    )


def _step_bytes(
    leg: Leg, kind: Kind, steps: tuple[int, ...], unit: int, elem_size: int, register: int | None
) -> tuple[int, ...]:
    """Steps in bytes; the first destination step of 0xf1 is implicit, the size of its dtype (isa-words 3.4)."""
    scaled = tuple(step * unit for step in steps)
    if kind is Kind.GATHER_TRANSPOSE and leg.name == "dst" and register is None:
        return (elem_size, *scaled[1:])
    return scaled


def _dims(leg: Leg, state: StateView, events: EventLog) -> tuple[tuple[int, ...], tuple[int, ...], int | None]:
    """(counts, steps, shape register): a register gives four dimensions, its index rides in the first step (1.3)."""
    if not takes_shape_register(leg.address):
        return leg.counts, leg.steps, None
    index = leg.steps[0]
    if not 0 <= index < NUM_SHAPE_REGISTERS:
        raise IllegalWord(
            f"the {leg.name} shape comes from register {index}; there are {NUM_SHAPE_REGISTERS}",
            rule="isa.C6",
            where=f"{leg.name}_step_elem[0]",
            values={"index": index, "registers": NUM_SHAPE_REGISTERS},
            source="isa-words 4.1, pipeline 2.4",
        )
    shape = state.shape_registers[index]
    events.emit("decode", "shape_step", "shape.step", (index, *(step & _U16 for step in shape.step)))
    events.emit("decode", "shape_num", "shape.num", (index, *shape.num))
    return shape.num, shape.step, index


def _dtype(leg: Leg) -> Dtype:
    try:
        return dtype_info(leg.dtype).code
    except UsageError:
        raise _illegal_dtype(leg, "is no element type") from None


def _illegal_dtype(leg: Leg, why: str) -> IllegalWord:
    return IllegalWord(
        f"{leg.name} dtype {int(leg.dtype):#x} {why}",
        rule="isa.DTYPE",
        where="in_dtype" if leg.name == "src" else "out_dtype",
        values={"dtype": int(leg.dtype)},
        source="isa-words 2.5",
    )


def _guards_address(leg: Leg, kind: Kind) -> bool:
    """True when the leg's bound guards its address, False when it guards its indices."""
    return kind in (Kind.DIRECT2D, Kind.TRANSPOSE) or (kind is Kind.GATHER_TRANSPOSE and leg.name == "dst")


def _bound(leg: Leg, kind: Kind, state: StateView) -> BoundCheck:
    """The leg's bound register; the limit of an address may be a pair, that of an index never is (isa-words C9)."""
    if _guards_address(leg, kind):
        return bound_check(leg.bound, f"{leg.name}_bound_reg", state, wide=is_wide(leg.address))
    return bound_check(leg.bound, f"{leg.name}_idx_bound_reg", state, wide=False)


def _increment(word: Any, kind: Kind, carried: int | None) -> tuple[int, tuple[Issue, ...]]:
    """The completion increment: a field of 0xb8 and 0xbb, carried beside 0xbd and 0xf1, else 1 with a warning (D5)."""
    if kind not in _NO_INCREMENT:
        return int(word.sem_increment), ()
    if carried is not None:
        return carried, ()
    issue = Issue(
        "dec.D5",
        "warning",
        f"{word.kind} has no sem_increment; 1 is used",
        "sem_increment",
        {"sem_increment": 1},
        "dec.D5",
        "give the increment beside the word",
    )
    return 1, (issue,)


def _tile(word: Any, kind: Kind, src: DgeShape) -> Tile | None:
    if kind is Kind.TRANSPOSE:
        row_step = int(word.tile_src_row_step) * src.unit
        tile = Tile(int(word.tile_src_rows), int(word.tile_src_cols), src.elem_size, row_step)
        if not tile.rows or not tile.cols:
            raise IllegalWord(
                f"a tile of {tile.rows} x {tile.cols} holds nothing",
                rule="isa.4.4.tile_rows",
                values={"rows": tile.rows, "cols": tile.cols},
                source="isa-words 4.4",
            )
        return tile
    if kind is Kind.GATHER_TRANSPOSE:
        return Tile(TILE_ROWS, int(word.elem_size) // src.elem_size, src.elem_size, src.step[1])
    return None


def _indices(word: Any, pair: ShapePair, state: StateView, generation: Generation) -> Indices | None:
    """The index vectors of an indirect word, read from SBUF partition 0."""
    if pair.kind is Kind.GATHER_TRANSPOSE:
        silent_skip = Indices(error_policy=pair.src.bound.notify, src_dim=int(word.flags.gather_dim))
        return _with_src(silent_skip, word, pair, state, generation)
    if pair.kind is not Kind.INDIRECT:
        return None
    flags, mode = word.flags, int(word.flags.indirect_mode)
    if mode not in list(IndirectMode):
        raise IllegalWord(
            f"indirect_mode {mode} is not defined",
            rule="isa.2.7",
            where="flags.indirect_mode",
            values={"indirect_mode": mode},
            source="isa-words 2.7",
        )
    indices = Indices(
        error_policy=bool(flags.idx_bound_is_err),
        non_unique=bool(flags.non_unique_dst_idx),
        src_dim=int(flags.gather_dim),
        dst_dim=int(flags.scatter_dim),
    )
    if mode != IndirectMode.DST_INDIRECTION:
        indices = _with_src(indices, word, pair, state, generation)
    if mode != IndirectMode.SRC_INDIRECTION:
        indices = _with_dst(indices, word, pair, state, generation)
    return indices


def _with_src(indices: Indices, word: Any, pair: ShapePair, state: StateView, generation: Generation) -> Indices:
    name = "src_idx_start_addr"
    address = index_address(word.src_idx_start_addr, name, state, generation)
    lanes = read_indices(address, _lane_count(pair.src, indices.src_dim, "gather_dim"), name, state)
    return replace(indices, src=lanes, src_address=address)


def _with_dst(indices: Indices, word: Any, pair: ShapePair, state: StateView, generation: Generation) -> Indices:
    name = "dst_idx_start_addr"
    address = index_address(word.dst_idx_start_addr, name, state, generation)
    lanes = read_indices(address, _lane_count(pair.dst, indices.dst_dim, "scatter_dim"), name, state)
    return replace(indices, dst=lanes, dst_address=address)


def _lane_count(shape: DgeShape, dim: int, name: str) -> int:
    """The count of the dimension that the index replaces."""
    if dim >= len(shape.num):
        raise IllegalWord(
            f"{name} {dim} names no dimension of a shape of {len(shape.num)}",
            rule="isa.4.3.dims",
            where=f"flags.{name}",
            values={"dim": dim, "dims": len(shape.num)},
            source="isa-words 4.3",
        )
    return shape.num[dim]

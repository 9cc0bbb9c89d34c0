"""Stage 6, emit: the dump line and the micro-ops of every channel (pipeline 5, D18 to D22, D49, D50).

The program always holds both legs; the log shows one of them unless `generate_pairing = pair`. Steps are in the unit
of the word, as the firmware pushes them.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

from dgekit.core.choices import Choices
from dgekit.core.errors import Unspecified
from dgekit.core.events import EventLog
from dgekit.core.generations import Generation
from dgekit.firmware.values import (
    Backend,
    BoundCheck,
    DgeShape,
    DimPush,
    Generate,
    MicroOp,
    Plan,
    Program,
    RegWrite,
    ShapePair,
    Share,
)

PAD = (0, 1)  # step and count of a dimension the word does not have (D3)
_U16, _U32 = 0xFFFF, 0xFFFF_FFFF
Dims = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Form:
    """The dimensions a backend pushes: the word's inner ones, padded, `outer` more behind them (pipeline 4.3)."""

    inner: int
    outer: int = 0

    @property
    def rank(self) -> int:
        """DIMPUSHes a GENERATE is followed by."""
        return self.inner + self.outer


FORMS = {Backend.POOL: Form(2), Backend.SOFTWARE: Form(4), Backend.RTL: Form(2, 5), Backend.FAST: Form(2)}


def build_program(plan: Plan, pair: ShapePair, backend: Backend, generation: Generation, choices: Choices) -> Program:
    """The micro-ops of every channel: a register write if there is one, then RD, WR and the dimensions (D20, D50)."""
    lead = writes_register(plan, generation, choices)
    ops: list[MicroOp] = []
    for share in plan.shares:
        if lead:
            ops.append(RegWrite(share.dma))
        ops.extend(share_ops(share, pair, FORMS[backend], choices))
    return Program(tuple(ops))


def writes_register(plan: Plan, generation: Generation, choices: Choices) -> bool:
    """Whether a REGWRITE leads each channel: only where the firmware has it, by default for more than one DMA (D20)."""
    if not generation.has_regwrite:
        return False
    rule = choices.text("regwrite")
    return rule == "always" or (rule == "broadcast" and plan.num_dma > 1)


def share_ops(share: Share, pair: ShapePair, form: Form, choices: Choices) -> list[MicroOp]:
    """One channel: RD, WR, then a DIMPUSH a dimension; dimensions beyond the form repeat the whole group (5.2)."""
    ops: list[MicroOp] = []
    pushes = _dim_pushes(share, form, choices)
    for src, dst in _starts(share, form):
        ops.append(Generate(share.dma, "RD", src, share.src.elem_size, pair.semaphore))
        ops.append(Generate(share.dma, "WR", dst, share.dst.elem_size, pair.semaphore))
        ops.extend(pushes)
    return ops


def emit_program(program: Program, leg: str, choices: Choices, events: EventLog) -> None:
    """The push events in order; the leg that the log does not show has an event without a line (D18)."""
    both = choices.text("generate_pairing") == "pair"
    for op in program.ops:
        if isinstance(op, RegWrite):
            events.emit("push", "regwrite", "push.regwrite", (op.dma,), dma=op.dma)
        elif isinstance(op, DimPush):
            events.emit("push", "dimpush", "push.dimpush", (op.dma, *op.num, *op.step), dma=op.dma)
        else:
            line = "push.generate" if both or op.dir == leg else ""
            args = (op.dma, op.dir, op.addr, op.elem_size & _U16, op.sem_num)
            events.emit("push", "generate", line, args, dma=op.dma)


def shown_leg(pair: ShapePair, is_out_queue: bool) -> str:
    """The leg that is shown alone: WR for SBUF to HBM and for the `out` queue of a NEFF, else RD (D18)."""
    return "WR" if is_out_queue or (pair.src.on_chip and not pair.dst.on_chip) else "RD"


def emit_dump(
    pair: ShapePair, plan: Plan, backend: Backend, effective: tuple[int, int], choices: Choices, events: EventLog
) -> None:
    """The descriptor dump of a backend, over the whole shape (D21); `effective` addresses are those of the bounds."""
    if backend is Backend.POOL:
        events.emit("dump", "dump", "dump.pool", _pool_args(pair, effective, choices))
    elif backend is Backend.RTL:
        sides = (*_side_args(pair.src, FORMS[backend], choices), *_side_args(pair.dst, FORMS[backend], choices))
        events.emit("dump", "dump", "dump.rtl", (*dollar_s(pair, choices), *sides))
    elif backend is Backend.SOFTWARE:
        events.emit("dump", "dump", "dump.software", software_dump_args(pair, plan, choices))


def software_dump_args(pair: ShapePair, plan: Plan, choices: Choices) -> tuple[int, ...]:
    """The values of the software dump: both sides in four dimensions, the cast, the index's dimension, the kind."""
    form = FORMS[Backend.SOFTWARE]
    indices = pair.indices
    dim = 0 if indices is None else indices.src_dim if indices.src is not None else indices.dst_dim
    return (
        *dollar_s(pair, choices),
        *_side_args(pair.src, form, choices),
        *_side_args(pair.dst, form, choices),
        int(pair.src.dtype),
        int(pair.dst.dtype),
        dim,
        int(plan.kind),
    )


def dollar_s(pair: ShapePair, choices: Choices, overrun: int | None = None) -> tuple[int, int]:
    """The two values of `$S[%i]+=%i`: semaphore and increment, or shape register and the offset that overran (D22)."""
    if choices.text("dump_index") == "semaphore":
        return pair.semaphore, pair.sem_increment
    registers = [side.shape_register for side in (pair.src, pair.dst) if side.shape_register is not None]
    return (registers[0] if registers else 0), pair.sem_increment if overrun is None else overrun


def _pool_args(pair: ShapePair, effective: tuple[int, int], choices: Choices) -> tuple[int, ...]:
    form = FORMS[Backend.POOL]
    return (
        *dollar_s(pair, choices),
        *_side_args(pair.src, form, choices),
        *_side_args(pair.dst, form, choices),
        int(pair.src.dtype),
        int(pair.dst.dtype),
        *_bound_args(pair.src.bound, effective[0]),
        *_bound_args(pair.dst.bound, effective[1]),
        pair.compute_op,
    )


def _bound_args(bound: BoundCheck, effective: int) -> tuple[int, int, int]:
    return int(bound.enabled), effective, bound.limit if bound.enabled else 0


def _side_args(shape: DgeShape, form: Form, choices: Choices) -> tuple[int, ...]:
    """Bracket, address, steps as unsigned 32-bit values, counts; outer dimensions are printed before the inner."""
    inner, outer = _split_dims(shape, form)
    dims = outer + inner
    bracket = shape.bound.raw if choices.text("dump_bracket") == "bound_byte" else shape.elem_size & _U16
    return (bracket, shape.start, *(step & _U32 for step, _ in dims), *(count for _, count in dims))


def _split_dims(shape: DgeShape, form: Form) -> tuple[Dims, Dims]:
    """(inner, outer) dimensions as (step in the word's unit, count), padded to the form."""
    dims = tuple(zip(shape.word_step, shape.num, strict=True))
    inner = (*dims[: form.inner], *(PAD,) * (form.inner - len(dims)))
    beyond = dims[form.inner : form.rank]
    return inner, (*beyond, *(PAD,) * (form.outer - len(beyond)))


def _dim_pushes(share: Share, form: Form, choices: Choices) -> list[DimPush]:
    """Inner 0, inner 1, then outer 0 on, or the other way round (D19)."""
    src = [dim for part in _split_dims(share.src, form) for dim in part]
    dst = [dim for part in _split_dims(share.dst, form) for dim in part]
    pushes = [
        DimPush(share.dma, (src_count, dst_count), (src_step, dst_step))
        for (src_step, src_count), (dst_step, dst_count) in zip(src, dst, strict=True)
    ]
    return pushes if choices.text("dimpush_order") == "inner_first" else pushes[::-1]


def _starts(share: Share, form: Form) -> list[tuple[int, int]]:
    """Start addresses of both legs, one pair for every position of the dimensions that the form does not hold."""
    src, dst = _positions(share.src, form.rank), _positions(share.dst, form.rank)
    if len(src) != len(dst):
        raise Unspecified(
            f"legs of {len(src)} and {len(dst)} positions beyond {form.rank} dimensions do not pair",
            rule="pipeline.5.2",
            values={"src": share.src.num, "dst": share.dst.num},
            fix="give both shape registers the same outer counts",
        )
    return list(zip(src, dst, strict=True))


def _positions(shape: DgeShape, rank: int) -> list[int]:
    """The start address at every position of the dimensions from `rank` on, the inner of them fastest."""
    beyond = list(zip(shape.step, shape.num, strict=True))[rank:]
    if math.prod(count for _, count in beyond) > MAX_POSITIONS:
        raise Unspecified(
            f"{shape.num[rank:]} positions beyond {rank} dimensions are over the {MAX_POSITIONS} this tool pushes",
            rule="pipeline.5.2",
            fix="use fewer or smaller outer dimensions",
        )
    ranges = [range(count) for _, count in reversed(beyond)]
    steps = [step for step, _ in reversed(beyond)]
    return [
        shape.start + sum(i * step for i, step in zip(index, steps, strict=True))
        for index in itertools.product(*ranges)
    ]


MAX_POSITIONS = 1 << 16

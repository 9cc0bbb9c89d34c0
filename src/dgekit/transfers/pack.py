"""Packing one pseudo word: address arms, step units, bound registers, the fields every kind shares (isa-words 3.5)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dgekit.core.dtypes import DtypeInfo
from dgekit.core.state import NUM_REGISTERS
from dgekit.patterns.walk import Walk
from dgekit.transfers.request import Leg, Request
from dgekit.transfers.transfer import Bound
from dgekit.transfers.values import BuiltWord
from dgekit.words.enums import ELEM_SIZE_ZERO_MEANS, DgeOpcode
from dgekit.words.structs import (
    Addr8Immediate,
    BoundCheckReg,
    DmaConfigs,
    PseudoAddr8Var,
    PseudoDmaDirect2D,
    PseudoDmaExt,
)

OFFSET_END = 1 << 32
STEP_LIMIT = 1 << 31
REGISTER_END = 1 << 32
SPARE_REGISTERS = range(62)  # the compiler keeps 62 and 63 (isa-words 0)


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a pseudo word: where it starts, its dimensions (step in BYTES, count; fastest first), its bound.

    A step of None belongs to an unused dimension and is stored as 1 (D3); missing dimensions are unused ones.
    """

    leg: Leg
    start: int
    dims: tuple[tuple[int | None, int], ...]
    elem_size: int
    bound: BoundCheckReg

    @classmethod
    def of(cls, leg: Leg, walk: Walk, bound: BoundCheckReg) -> Side:
        """A side that walks as `walk` does."""
        return cls(leg, walk.start, walk.dims, walk.elem, bound)


def pseudo_word(
    request: Request, op: DgeOpcode, src: Side, dst: Side, types: tuple[DtypeInfo, DtypeInfo], unit: tuple[int, int]
) -> PseudoDmaDirect2D:
    """The 0xd4 word of two sides; `unit` is what one step counts in bytes on each, if steps count elements (D1).

    The increment is left 0: `finish` gives it to the last word. Raises LoweringError for a step that does not divide
    (`dec.D1`) or does not fit (`isa.3.5`).
    """
    return PseudoDmaDirect2D(
        dma_configs=DmaConfigs(priority_class=request.transfer.priority),
        semaphore=request.transfer.semaphore or 0,
        dge_op=op,
        src_start_addr=_address(src),
        src_step_elem=_steps(request, src, unit[0]),
        src_num_elem=_counts(src),
        src_elem_size=src.elem_size % ELEM_SIZE_ZERO_MEANS,  # 65536 is stored as 0
        src_bound_reg=src.bound,
        dst_bound_reg=dst.bound,
        dst_start_addr=_address(dst),
        dst_step_elem=_steps(request, dst, unit[1]),
        dst_num_elem=_counts(dst),
        dst_elem_size=dst.elem_size % ELEM_SIZE_ZERO_MEANS,
        in_dtype=types[0].code,
        out_dtype=types[1].code,
    )


def finish(request: Request, words: Iterable[tuple[PseudoDmaDirect2D, PseudoDmaExt | None]]) -> tuple[BuiltWord, ...]:
    """The words with the increment on the last one (D4); none without a semaphore (D42)."""
    listed = list(words)
    table = request.placement.relocations()
    increment = request.transfer.increment if request.transfer.semaphore is not None else 0
    built = [BuiltWord(pseudo, ext, 0, table) for pseudo, ext in listed[:-1]]
    pseudo, ext = listed[-1]
    return (*built, BuiltWord(pseudo.replace(sem_increment=increment), ext, increment, table))


def stored_step(request: Request, name: str, step: int, unit: int) -> int:
    """A byte step as the word stores it (D1); raises LoweringError where it does not divide or does not fit an i32."""
    if request.choices.text("step_unit") == "elements":
        if step % unit:
            raise request.refuse(
                f"{name} of {step} bytes is no whole number of elements of {unit} bytes",
                "dec.D1",
                {"step_bytes": step, "element_bytes": unit, "remainder": step % unit},
                "use step_unit = bytes",
                "decision D1",
            )
        step //= unit
    if not -STEP_LIMIT <= step < STEP_LIMIT:
        raise request.refuse(
            f"{name} {step} does not fit a signed 32-bit step",
            "isa.3.5",
            {"step": step, "low": -STEP_LIMIT, "high": STEP_LIMIT - 1},
            "use several transfers, or mode none",
            "isa-words 3.5",
        )
    return step


def bound_register(request: Request, bound: Bound | None, *, silent: bool = False) -> BoundCheckReg:
    """The bound byte of one leg, all zero without a bound; raises LoweringError for a register that does not exist."""
    if bound is None:
        return BoundCheckReg()
    if not 0 <= bound.register < NUM_REGISTERS:
        raise request.refuse(
            f"bound register {bound.register} is outside 0..{NUM_REGISTERS - 1}",
            "isa.C8",
            {"register": bound.register, "maximum": NUM_REGISTERS - 1},
        )
    quiet = silent or not bound.notify
    return BoundCheckReg(bc_reg=bound.register, bc_disable_oob_error_notif=int(quiet), bc_enabled=1)


def bound_values(request: Request, bounds: Iterable[Bound | None]) -> dict[int, int]:
    """Registers to load for bounds that name their limit; a limit must fit the register's 32 bits."""
    values: dict[int, int] = {}
    for bound in bounds:
        if bound is None or bound.limit is None:
            continue
        if not 0 <= bound.limit < REGISTER_END:
            raise request.refuse(
                f"limit {bound.limit:#x} does not fit the 32 bits of bound register {bound.register}",
                "isa.1.6",
                {"limit": bound.limit, "maximum": REGISTER_END - 1},
                "only an address with a wide table offset reads a register pair",
                "isa-words 1.6",
            )
        if values.setdefault(bound.register, bound.limit) != bound.limit:
            raise request.refuse(
                f"register {bound.register} would hold two limits, {values[bound.register]:#x} and {bound.limit:#x}",
                "transfers.bound",
                {"register": bound.register},
                "give the two bounds different registers",
            )
    return values


def _address(side: Side) -> Addr8Immediate | PseudoAddr8Var:
    """The variable arm, or the immediate one where the offset is no u32."""
    offset = side.start - side.leg.placed.address
    if 0 <= offset < OFFSET_END:
        return PseudoAddr8Var(offset=offset, var_id=side.leg.placed.var_id)
    return Addr8Immediate(address=side.start)


def _steps(request: Request, side: Side, unit: int) -> tuple[int, int]:
    stored = [
        1 if step is None else stored_step(request, f"{side.leg.name} step {dim}", step, unit)
        for dim, (step, _) in enumerate(side.dims)
    ]
    inner, outer, *_ = (*stored, 1, 1)
    return inner, outer


def _counts(side: Side) -> tuple[int, int]:
    inner, outer, *_ = (*(count for _, count in side.dims), 1, 1)
    return inner, outer

"""What checks and lowering ask of a word's two legs: addresses, steps, counts and sizes under one shape.

Sources: isa-words 1.3 (markers), 3.1 to 3.5 (fields), decisions D1 (unit of steps) and D3 (count 1 waives a step).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dgekit.core.choices import Choices
from dgekit.core.dtypes import dtype_info
from dgekit.core.errors import UsageError
from dgekit.core.generations import Generation
from dgekit.words.enums import ELEM_SIZE_ZERO_MEANS, Addr8MarkerBit

SHAPE_REG_BIT = Addr8MarkerBit.SHAPE_REG.value
VAR_ID_BIT = Addr8MarkerBit.VAR_ID.value
WIDE_BIT = Addr8MarkerBit.ADDR_TBL_OFFSET_WIDE.value


@dataclass(frozen=True, slots=True)
class Leg:
    """One leg of a word: `steps` and `counts` fastest first, `elem_size` the stored u16, None where there is none."""

    name: str
    address: Any
    steps: tuple[int, ...]
    counts: tuple[int, ...]
    dtype: int
    bound: Any
    elem_size: int | None = None

    @property
    def marker(self) -> int:
        """The marker bits of the address."""
        return int(self.address.marker_value)

    @property
    def shape_from_register(self) -> bool:
        """Bit 6 decides (isa-words C5; for 0x6c by open point 24)."""
        return bool(self.marker & SHAPE_REG_BIT)

    @property
    def immediate(self) -> int | None:
        """The immediate address, None for every other form."""
        return immediate_address(self.address)

    @property
    def bytes_per_element(self) -> int:
        """`elem_size` with 0 read as 65536; 1 where the word has no element size."""
        return 1 if self.elem_size is None else element_bytes(self.elem_size)

    @property
    def total_bytes(self) -> int:
        """Bytes the leg covers: the product of the counts times the element size."""
        total = self.bytes_per_element
        for count in self.counts:
            total *= count
        return total


def immediate_address(address: Any) -> int | None:
    """The address an ADDR8 holds itself, None when a register, a table or a variable gives it."""
    return int(address.address) if address.marker_value in (0, SHAPE_REG_BIT) else None


def element_bytes(elem_size: int) -> int:
    """Bytes of one element: a stored 0 stands for 65536 (isa-words 3.1)."""
    return elem_size or ELEM_SIZE_ZERO_MEANS


def dtype_bits(code: int) -> int | None:
    """Bits of one element of an ISA dtype code, None for INVALID and unknown codes."""
    try:
        return dtype_info(code).bits
    except UsageError:
        return None


def step_bytes(step: int, unit: int, choices: Choices) -> int:
    """A stored step in bytes: as it is, or times `unit` when steps count elements (decision D1)."""
    return step * unit if choices.text("step_unit") == "elements" else step


def legs(word: Any) -> tuple[Leg, ...]:
    """Source and destination of a word that has two ADDR8 legs, nothing for the other words."""
    build = _LEGS.get(word.kind)
    return build(word) if build else ()


def _direct(word: Any) -> tuple[Leg, ...]:
    src = (word.src_start_addr, word.src_step_elem, word.src_num_elem, word.in_dtype, word.src_bound_reg)
    dst = (word.dst_start_addr, word.dst_step_elem, word.dst_num_elem, word.out_dtype, word.dst_bound_reg)
    return Leg("src", *src, word.src_elem_size), Leg("dst", *dst, word.dst_elem_size)


def _indirect(word: Any) -> tuple[Leg, ...]:
    return (
        Leg("src", word.src_start_addr, (word.src_step_elem,), (word.src_num_elem,), word.in_dtype,
            word.src_idx_bound_reg, word.src_elem_size),
        Leg("dst", word.dst_start_addr, (word.dst_step_elem,), (word.dst_num_elem,), word.out_dtype,
            word.dst_idx_bound_reg, word.dst_elem_size),
    )  # fmt: skip


def _transpose(word: Any) -> tuple[Leg, ...]:
    src = (word.src_start_addr, word.src_step_elem, word.src_num_elem, word.in_dtype, word.src_bound_reg)
    dst = (word.dst_start_addr, word.dst_step_elem, word.dst_num_elem, word.out_dtype, word.dst_bound_reg)
    return Leg("src", *src), Leg("dst", *dst)


def _gather(word: Any) -> tuple[Leg, ...]:
    src_dtype, dst_dtype = word.dtype.dtype_lo, word.dtype.dtype_hi
    implicit = (dtype_bits(dst_dtype) or 0) // 8
    src = (word.src_start_addr, word.src_step_elem, word.src_num_elem, src_dtype, word.src_idx_bound_reg)
    dst = (word.dst_start_addr, (implicit, word.dst_step_elem_1), word.dst_num_elem, dst_dtype, word.dst_bound_reg)
    return Leg("src", *src), Leg("dst", *dst)


_LEGS = {
    "DMA_DIRECT2D": _direct,
    "PSEUDO_DMA_DIRECT2D": _direct,
    "DMA_INDIRECT1D": _indirect,
    "DMA_DIRECT2D_XPOSE": _transpose,
    "DMA_GATHER_XPOSE": _gather,
}


def sbuf_place(address: int, generation: Generation) -> tuple[int, int, int] | None:
    """(core, partition, byte) when `address` lies in the active SBUF bytes of any core, else None."""
    span = generation.partitions * generation.partition_stride
    for core in range(generation.cores):
        offset = address - generation.sbuf_base(core)
        if 0 <= offset < span:
            partition, byte = divmod(offset, generation.partition_stride)
            return (core, partition, byte) if byte < generation.active_bytes else None
    return None

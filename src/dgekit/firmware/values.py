"""The values that travel through the DGE: shapes, plan, backend and the micro-op program.

Units: the steps of a shape are BYTES, whatever `step_unit` says about the word; `elem_size` is the true byte count
(65536, never 0). Micro-ops and log lines carry steps in the unit of the word (`DgeShape.unit` bytes, D1), as the
firmware pushes them. Index 0 of `num` and `step` is the fastest dimension. Sources: pipeline 2.4, 3, 4.3 and 5.1.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Literal

from dgekit.core.dtypes import Dtype
from dgekit.patterns.walk import Walk


class Kind(enum.IntEnum):
    """The DGE kinds; the numbers are the model's (pipeline 3.2, DESIGN), SB2SB is MARIANA_PLUS' fast reshape."""

    DIRECT2D = 0
    INDIRECT = 1
    TRANSPOSE = 2
    GATHER_TRANSPOSE = 3
    SB2SB = 4


class Backend(enum.Enum):
    """Who turns the shapes into descriptors; the value is what JSON prints."""

    POOL = "pool"
    RTL = "rtl"
    SOFTWARE = "software"
    FAST = "fast"
    INLINE = "inline"
    STATIC = "static"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class BoundCheck:
    """One bound register byte, resolved: `limit` is the 64-bit (wide) or 32-bit value it points at; 0 if disabled."""

    enabled: bool = False
    register: int = 0
    limit: int = 0
    notify: bool = True
    raw: int = 0


@dataclass(frozen=True, slots=True)
class DgeShape:
    """One side of a word as the firmware holds it: address resolved, shape registers read.

    `elem_size` of a transpose (0xbd, 0xf1) is the size of its dtype. `unit` is what one step of the word counts in
    bytes; `shape_register` the register the shape came from. `bound` guards the index of an indirect leg (0xbb, and
    the source of 0xf1), else the address.
    """

    start: int
    num: tuple[int, ...]
    step: tuple[int, ...]
    elem_size: int
    dtype: Dtype
    is_src: bool
    on_chip: bool
    bound: BoundCheck = BoundCheck()
    unit: int = 1
    shape_register: int | None = None

    @property
    def word_step(self) -> tuple[int, ...]:
        """The steps in the unit of the word, as log lines and micro-ops carry them."""
        return tuple(step // self.unit for step in self.step)

    def walk(self) -> Walk:
        """The byte walk of this side."""
        return Walk(self.start, tuple(zip(self.step, self.num, strict=True)), self.elem_size)


@dataclass(frozen=True, slots=True)
class Tile:
    """The tile of a transpose: rows x cols elements of `size` bytes, source rows `row_step` bytes apart."""

    rows: int
    cols: int
    size: int
    row_step: int


@dataclass(frozen=True, slots=True)
class Indices:
    """The index vectors of an indirect word, read from memory: None = that leg is direct.

    `error_policy` is the word's idx_bound_is_err (0xf1 has no such flag: there the notification bit of its bound
    decides, as for 0xbb with the flag clear); `non_unique` its non_unique_dst_idx; `src_dim` and `dst_dim` are the
    dimensions an index replaces (gather_dim, scatter_dim; X is 0).
    """

    src: tuple[int, ...] | None = None
    dst: tuple[int, ...] | None = None
    src_address: int = 0
    dst_address: int = 0
    error_policy: bool = True
    non_unique: bool = False
    src_dim: int = 0
    dst_dim: int = 0


@dataclass(frozen=True, slots=True)
class ShapePair:
    """What decode extracts from one resolved word."""

    kind: Kind
    src: DgeShape
    dst: DgeShape
    semaphore: int
    sem_increment: int
    priority_class: int
    compute_op: int
    tile: Tile | None = None
    indices: Indices | None = None
    opcode: int = 0

    @property
    def is_cast(self) -> bool:
        """True when the two sides have different dtypes."""
        return self.src.dtype != self.dst.dtype


@dataclass(frozen=True, slots=True)
class Share:
    """What one DMA channel moves: its part of both sides (and of the tile, and which lanes of an index vector)."""

    dma: int
    src: DgeShape
    dst: DgeShape
    tile: Tile | None = None
    lanes: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """What reshape decided: kind, strategy number, partitions, and one share a channel."""

    kind: Kind
    strategy: int
    partitions: int
    shares: tuple[Share, ...]

    @property
    def num_dma(self) -> int:
        """Channels in use (#DMA)."""
        return len(self.shares)


@dataclass(frozen=True, slots=True)
class Generate:
    """GENERATE: start one leg on channel `dma`; `elem_size` in bytes (65536 stays 65536; the log prints the u16)."""

    dma: int
    dir: Literal["RD", "WR"]
    addr: int
    elem_size: int
    sem_num: int


@dataclass(frozen=True, slots=True)
class DimPush:
    """DIMPUSH: one dimension; `num` = (source count, destination count), `step` = both steps in the word's unit."""

    dma: int
    num: tuple[int, int]
    step: tuple[int, int]


@dataclass(frozen=True, slots=True)
class RegWrite:
    """REGWRITE: a register write ahead of the data on channel `dma`; its operands are not published."""

    dma: int


MicroOp = Generate | DimPush | RegWrite


@dataclass(frozen=True, slots=True)
class Program:
    """The micro-ops of one word, channel after channel, in the order they are pushed."""

    ops: tuple[MicroOp, ...] = ()

    def channel(self, dma: int) -> tuple[MicroOp, ...]:
        """The micro-ops of one channel."""
        return tuple(op for op in self.ops if op.dma == dma)

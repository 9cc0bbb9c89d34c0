"""Snapshots of machine state, as values: what a pure stage may look at.

`machine/` owns the state; a stage gets a `StateView` and never changes it. Registers hold unsigned 32-bit values.
Sources: pipeline 1.4 to 1.6 and 2.4, isa-words 1.3, decisions D25, D27, D41.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

NUM_SHAPE_REGISTERS = 4
NUM_REGISTERS = 64
NUM_SEMAPHORES = 256

REG_FEATURE_FLAGS = 38
REG_CARVEOUT = 39
REG_DMA_CONFIG = 40


class MemoryReader(Protocol):
    """Read access to device memory by SoC address; raises a MemoryFault."""

    def read(self, address: int, size: int) -> bytes:
        """The `size` bytes at `address`."""
        ...


@dataclass(frozen=True, slots=True)
class ShapeRegister:
    """One DGE shape register: four counts and four signed steps, fastest dimension first (pipeline 2.4)."""

    num: tuple[int, int, int, int] = (1, 1, 1, 1)
    step: tuple[int, int, int, int] = (1, 1, 1, 1)


@dataclass(frozen=True, slots=True)
class Mailbox:
    """One DGE mailbox: operations of a greater class number than `priority` use only the DMAs in `mask` (1.5)."""

    priority: int = 0xFF
    mask: int = 0xFFFF


@dataclass(frozen=True, slots=True)
class Availability:
    """The backend availability table (pipeline 1.4) and the context's software flag."""

    pool: bool = True
    rtl: bool = True
    sw: bool = False


@dataclass(frozen=True, slots=True)
class StateView:
    """What firmware and resolution may read: registers, shapes, tables, local registers and memory.

    `address_table` maps a table entry id to a SoC address; `priority_bytes` holds the preferred bytes per packet
    of classes 1..4 (pipeline 1.5); `core` is the NeuronCore whose SBUF the word's on-chip leg uses.
    """

    registers: Mapping[int, int] = field(default_factory=dict)
    shape_registers: tuple[ShapeRegister, ...] = (ShapeRegister(),) * NUM_SHAPE_REGISTERS
    address_table: Mapping[int, int] = field(default_factory=dict)
    feature_flags: int = 0
    carveout: int = 0
    dma_config: int = 0x0001_FFFF
    mailboxes: tuple[Mailbox, ...] = (Mailbox(),) * 4
    priority_bytes: tuple[int, ...] = ()
    memory: MemoryReader | None = None
    core: int = 0

    def register(self, number: int) -> int:
        """The 32-bit value of a general register; registers nobody set hold 0."""
        return self.registers.get(number, 0)

    def register_pair(self, number: int) -> int:
        """The 64-bit value of registers `number` (low) and `number + 1` (high)."""
        return self.register(number) | self.register(number + 1) << 32

    @property
    def dma_mask(self) -> int:
        """The 16 DMAs this engine may use: local register 40, low half."""
        return self.dma_config & 0xFFFF

    @property
    def queue_mask(self) -> int:
        """The queues this engine may use: local register 40, high half."""
        return self.dma_config >> 16 & 0xFFFF

"""Stage 1, setup: the context pair of a stream, and what the host and the local registers allow it (pipeline 1).

One copy needs a read leg and a write leg, each with its own ring, so a context is a pair: RX = S2M = write,
TX = M2S = read.
"""

from __future__ import annotations

from dataclasses import dataclass

from dgekit.core.choices import Choices
from dgekit.core.errors import LoweringError, UsageError
from dgekit.core.events import EventLog
from dgekit.core.generations import Generation
from dgekit.core.state import NUM_SHAPE_REGISTERS, Availability, ShapeRegister, StateView
from dgekit.firmware.values import Kind

NO_MASK = 0xFFFF
SOFTWARE_KINDS = frozenset({Kind.INDIRECT, Kind.GATHER_TRANSPOSE})


@dataclass(frozen=True, slots=True)
class DgeContext:
    """The context object of one stream (pipeline 1.1); bases are SoC addresses of the S2M and the M2S ring."""

    rx_ctx_id: int
    tx_ctx_id: int
    sw: bool
    engine: int
    queue_idx: int
    queue_num: int
    rx_base: int
    tx_base: int
    n_dge_shape: int = 0
    shapes: tuple[ShapeRegister, ...] = ()


def init_context(
    slot: int,
    state: StateView,
    generation: Generation,
    events: EventLog,
    *,
    sw: bool,
    rx_base: int,
    tx_base: int,
) -> DgeContext:
    """Bind the context pair of stream `slot` and log its three setup lines (pipeline 1.1).

    Stream n has the ids 2n (rx) and 2n + 1 (tx), the lowest DMA that register 40 allows and the n-th of its queues.
    Raises LoweringError when register 40 allows no DMA or no queue, or more shapes are set than the file holds.
    """
    if len(state.shape_registers) > NUM_SHAPE_REGISTERS:
        raise LoweringError(
            f"{len(state.shape_registers)} shape registers do not fit the file of {NUM_SHAPE_REGISTERS}",
            rule="pipeline.2.4",
            values={"shapes": len(state.shape_registers), "limit": NUM_SHAPE_REGISTERS},
        )
    events.emit("setup", "start", "setup.start")
    context = DgeContext(
        rx_ctx_id=2 * slot,
        tx_ctx_id=2 * slot + 1,
        sw=sw,
        engine=channels(state, generation)[0],
        queue_idx=queue_of(state, slot),
        queue_num=generation.queues_per_engine,
        rx_base=rx_base,
        tx_base=tx_base,
        n_dge_shape=len(state.shape_registers),
        shapes=state.shape_registers,
    )
    ids = (context.rx_ctx_id, context.tx_ctx_id)
    queue = (context.engine, context.queue_idx, context.queue_num)
    events.emit("setup", "contexts", "setup.contexts", (*ids, int(sw), *queue), slot=slot)
    events.emit("setup", "bases", "setup.bases", (rx_base, tx_base), slot=slot)
    return context


def availability_of(mode: str, kind: Kind) -> Availability:
    """The availability table and the sw flag that a mode stands for (D15); `none` has no firmware stage.

    >>> availability_of("hwdge", Kind.DIRECT2D)
    Availability(pool=False, rtl=True, sw=False)
    """
    match mode:
        case "unknown":
            return Availability(pool=True, rtl=True, sw=kind in SOFTWARE_KINDS)
        case "hwdge":
            return Availability(pool=False, rtl=True, sw=False)
        case "swdge":
            return Availability(pool=True, rtl=True, sw=True)
    raise UsageError(
        f"mode {mode!r} does not go through the firmware",
        rule="dec.D15",
        fix="unknown, hwdge or swdge; none is expanded by the host",
    )


def effective_mask(state: StateView, priority_class: int) -> int:
    """The DMAs a word may use: register 40 low, AND the mask of every mailbox that its class is above (1.5).

    >>> from dgekit.core.state import Mailbox
    >>> hex(effective_mask(StateView(mailboxes=(Mailbox(priority=1, mask=0x00FF),)), 2))
    '0xff'
    """
    mask = NO_MASK
    for mailbox in state.mailboxes:
        if priority_class > mailbox.priority:
            mask &= mailbox.mask
    return mask & state.dma_mask


def channels(state: StateView, generation: Generation, priority_class: int = 0) -> tuple[int, ...]:
    """The DMA channels a word may use, ascending; raises LoweringError when there is none."""
    mask = effective_mask(state, priority_class)
    found = tuple(dma for dma in range(generation.engines) if mask >> dma & 1)
    if not found:
        raise LoweringError(
            f"no DMA is left for priority class {priority_class}",
            rule="pipeline.1.6",
            values={"register40": state.dma_mask, "effective": mask},
            source="pipeline 1.5, 1.6",
            fix="set mask bits in local register 40 or in the mailboxes",
        )
    return found


def queue_of(state: StateView, slot: int = 0) -> int:
    """The queue of stream `slot`: the n-th that register 40 allows, going round; raises LoweringError for none."""
    allowed = [queue for queue in range(16) if state.queue_mask >> queue & 1]
    if not allowed:
        raise LoweringError(
            "local register 40 allows no queue",
            rule="pipeline.1.6",
            values={"register40": state.queue_mask},
            fix="set a bit of its high half",
        )
    return allowed[slot % len(allowed)]


def packet_bytes(state: StateView, priority_class: int, choices: Choices) -> int:
    """Preferred bytes of one packet: the host's map for classes 1..4, else the default of class 0 (1.5)."""
    if 1 <= priority_class <= len(state.priority_bytes) and state.priority_bytes[priority_class - 1]:
        return state.priority_bytes[priority_class - 1]
    return choices.number("packet_bytes")

"""Notifications: the gates before a 16-byte record is sent to the host, of success and of error (pipeline 6.4, 6.5).

The records are for the first pass of a queue; the machine that stores one sets its time and its phase.
"""

from __future__ import annotations

from collections.abc import Mapping

from dgekit.core.choices import Choices
from dgekit.core.events import EventLog
from dgekit.core.generations import Generation
from dgekit.core.state import StateView
from dgekit.descriptors.notification import (
    ENGINES_PER_GROUP,
    MAX_PACKETS,
    ErrorId,
    NotificType,
    dge_completion,
    sequencer_error,
)
from dgekit.firmware.values import BoundCheck

PACKET_NOTIFICATION_BIT = 1 << 1  # of local register 38: it gates success and error alike (pipeline 1.6)


def bound_failure(
    bound: BoundCheck, state: StateView, generation: Generation, choices: Choices, events: EventLog
) -> tuple[bytes, ...]:
    """The record of a failed bound, if register 38 and the bound's own bit let it out; nothing otherwise."""
    if not bound.notify or not _enabled(state, generation):
        return ()
    return (_dispatch(choices, events),)


def no_backend(state: StateView, generation: Generation, choices: Choices, events: EventLog) -> tuple[bytes, ...]:
    """The record of a word without a backend: gated by register 38 alone, or never sent (pipeline 6.4, DESIGN)."""
    if choices.text("no_backend_notify") == "never" or not _enabled(state, generation):
        return ()
    return (_dispatch(choices, events),)


def illegal_instruction(state: StateView, generation: Generation, choices: Choices) -> tuple[bytes, ...]:
    """The sequencer's own record of an illegal word; no record before a program sets register 38 (D27)."""
    if not _enabled(state, generation):
        return ()
    return (sequencer_error(ErrorId.SEQUENCER_FATAL, choices.number("notif_type")).encode(),)


def completed(
    packets: Mapping[int, int], processor: str, core: int, state: StateView, generation: Generation
) -> tuple[bytes, ...]:
    """The records of a word whose data has moved: `packets` counts them by DMA of `core` (pipeline 6.5, rings 6.4).

    A record has one packet count for all its engines, so engines with different counts get a record each count. The
    program counter is not modelled: the record says that it is the last start record's. `processor` is the engine
    whose stream holds the word (pe, act, pool, dve, sp).
    """
    if not _enabled(state, generation):
        return ()
    kind = NotificType[f"{processor.upper()}_EXPLICIT"]
    group, first = divmod(core * generation.engines % generation.address_map.engines_per_pair, ENGINES_PER_GROUP)
    return tuple(
        dge_completion(
            0,
            [first + dma for dma, own in packets.items() if own == count],
            part,
            notific_type=kind,
            group=group,
            infer=True,
        ).encode()
        for count in sorted(set(packets.values()))
        for part in _parts(count)
    )


def _parts(count: int) -> list[int]:
    """A packet count in pieces that the 12-bit field of a record holds."""
    whole, rest = divmod(count, MAX_PACKETS)
    return [MAX_PACKETS] * whole + [rest] * bool(rest)


def _enabled(state: StateView, generation: Generation) -> bool:
    return generation.has_feature_flags and bool(state.feature_flags & PACKET_NOTIFICATION_BIT)


def _dispatch(choices: Choices, events: EventLog) -> bytes:
    record = sequencer_error(choices.number("error_id"), choices.number("notif_type")).encode()
    events.emit("bounds", "dispatched", "bounds.dispatched", record=record.hex())
    return record

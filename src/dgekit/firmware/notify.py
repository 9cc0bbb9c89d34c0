"""Notifications: the gates before one is sent, and the 16-byte record that the host drains (pipeline 6.4, 6.5)."""

from __future__ import annotations

from dgekit.core.choices import Choices
from dgekit.core.events import EventLog
from dgekit.core.generations import Generation
from dgekit.core.state import StateView
from dgekit.firmware.values import BoundCheck

PACKET_NOTIFICATION_BIT = 1 << 1  # of local register 38: it gates success and error alike (pipeline 1.6)

SEQUENCER_FATAL = 0x0A


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
    return (error_record(SEQUENCER_FATAL, choices.number("notif_type")),)


def _enabled(state: StateView, generation: Generation) -> bool:
    return generation.has_feature_flags and bool(state.feature_flags & PACKET_NOTIFICATION_BIT)


def _dispatch(choices: Choices, events: EventLog) -> bytes:
    record = error_record(choices.number("error_id"), choices.number("notif_type"))
    events.emit("bounds", "dispatched", "bounds.dispatched", record=record.hex())
    return record


def error_record(
    error_id: int, notific_type: int, *, block_id: int = 0, program_counter: int = 0, info: int = 0, timestamp: int = 0
) -> bytes:
    """The 16 bytes of a sequencer error record; the header byte splits the 48 bits of metadata (pipeline 6.5).

    Phase and overflow bits are zero: the queue that stores the record sets them. `timestamp` is in picoseconds.

    >>> error_record(0x09, 0x1F).hex()
    '0900001f000000000000000000000000'
    """
    metadata = block_id | program_counter << 4 | info << 16
    low, high = metadata & 0xFFFF, metadata >> 16
    return (
        error_id.to_bytes(1, "little")
        + low.to_bytes(2, "little")
        + notific_type.to_bytes(1, "little")
        + high.to_bytes(4, "little")
        + timestamp.to_bytes(8, "little")
    )

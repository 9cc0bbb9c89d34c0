"""Doorbell addresses as the machine uses them; the arithmetic is shared with the firmware's trigger lines."""

from dgekit.descriptors.doorbell import (
    COUNT_BITS,
    LEGS,
    QUEUE_BANK,
    QUEUE_STRIDE,
    TAIL_INC,
    Doorbell,
    Leg,
    doorbell_address,
    doorbell_at,
    engine_base,
    engine_count,
    unit_base,
)

__all__ = [
    "COUNT_BITS",
    "LEGS",
    "QUEUE_BANK",
    "QUEUE_STRIDE",
    "TAIL_INC",
    "Doorbell",
    "Leg",
    "doorbell_address",
    "doorbell_at",
    "engine_base",
    "engine_count",
    "unit_base",
]

"""Doorbell addresses: the tail-increment register of a queue on one leg of an engine (rings 2.1, 2.7)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from dgekit.core.errors import RingError
from dgekit.core.generations import Generation

Leg = Literal["M2S", "S2M"]
LEGS: tuple[Leg, Leg] = ("M2S", "S2M")

QUEUE_STRIDE = 0x1000
QUEUE_BANK = 0x1000
TAIL_INC = 0x38


@dataclass(frozen=True, slots=True)
class Doorbell:
    """One doorbell: device-wide `engine` number, `queue` and `leg`."""

    engine: int
    queue: int
    leg: Leg


def engine_count(generation: Generation) -> int:
    """Engines of one device that belong to cores."""
    return generation.cores * generation.engines


def engine_base(generation: Generation, engine: int) -> int:
    """SoC address of an engine's window; raises RingError for an engine the generation does not have."""
    if not 0 <= engine < engine_count(generation):
        raise RingError(
            f"engine {engine} does not exist on {generation.name}",
            rule="rings.2.1",
            values={"engine": engine, "engines": engine_count(generation)},
        )
    pair, index = divmod(engine, generation.address_map.engines_per_pair)
    return generation.address_map.engine_first[pair] + index * generation.address_map.engine_stride


def unit_base(generation: Generation, engine: int, leg: Leg) -> int:
    """SoC address of the M2S or S2M unit of an engine."""
    return engine_base(generation, engine) + (generation.m2s_size if leg == "S2M" else 0)


def doorbell_address(generation: Generation, engine: int, queue: int, leg: Leg) -> int:
    """Where the number of new BDs is written; `engine` counts over the device (core x engines per core + index).

    >>> from dgekit.core.generations import CAYMAN
    >>> hex(doorbell_address(CAYMAN, 33, 3, "S2M"))
    '0x5004124038'
    """
    if not 0 <= queue < generation.queues_per_engine:
        raise RingError(
            f"queue {queue} does not exist",
            rule="rings.2.1",
            values={"queue": queue, "queues": generation.queues_per_engine},
        )
    return unit_base(generation, engine, leg) + QUEUE_BANK + queue * QUEUE_STRIDE + TAIL_INC


def doorbell_at(generation: Generation, address: int) -> Doorbell | None:
    """The doorbell at an address, or None if the address is none: the inverse of `doorbell_address`."""
    where = generation.address_map
    for pair, first in enumerate(where.engine_first):
        index, offset = divmod(address - first, where.engine_stride)
        if not 0 <= index < where.engines_per_pair:
            continue
        leg: Leg = "S2M" if offset >= generation.m2s_size else "M2S"
        queue, register = divmod(offset - (generation.m2s_size if leg == "S2M" else 0) - QUEUE_BANK, QUEUE_STRIDE)
        engine = pair * where.engines_per_pair + index
        if register != TAIL_INC or not 0 <= queue < generation.queues_per_engine:
            return None
        return Doorbell(engine, queue, leg) if engine < engine_count(generation) else None
    return None

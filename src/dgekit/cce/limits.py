"""How large a packet may be: elements, bytes, descriptors, the collectives' priority caps (cce 5.1, 5.2, 5.5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from dgekit.cce.dtypes import accum_size, element_size
from dgekit.cce.faults import finding, refusal_error
from dgekit.core.errors import ComputeError, Issue
from dgekit.core.generations import Generation

MAX_SOURCES: Final = 32
MAX_DESTS: Final = 16  # CHOICE-30: no upper bound is known
PACKET_GRANULE: Final = 32  # bytes
PRIORITY_CLASSES: Final = 5
NO_CAPS: Final = (0,) * PRIORITY_CLASSES
COUNTER_MAX: Final = 0xFFFF  # descriptor counters per channel are 16 bits
CHUNK_GRANULE: Final = 32  # elements
PRIORITY_CAP_ENV: Final = "NEURON_RT_DBG_CC_CCE_REDUCE_DMA_PRIO_PKT_SIZE"


def max_elements(generation: Generation) -> int:
    """Elements one descriptor may carry; the runtime asserts for architectures without a compute path that is known.

    >>> from dgekit.core.generations import SUNDA
    >>> max_elements(SUNDA)
    1024
    """
    if not generation.has_cce:
        raise refusal_error(
            "max_elements_arch",
            rule="cce.5.1",
            message=f"no limits of the compute path are known for {generation.name} (v{generation.nc})",
            generation=generation.name,
            fix="SUNDA, CAYMAN or MARIANA",
        )
    return generation.cce_elements


def packet_elements(generation: Generation, in_dtype: int, accum_dtype: int, packet_bytes: int) -> int:
    """Elements of a whole packet: the least of three limits, the request counted in source bytes (CHOICE-43).

    >>> from dgekit.core.generations import CAYMAN
    >>> [packet_elements(CAYMAN, 6, accum, limit) for accum, limit in ((10, 65536), (12, 65536), (10, 100))]
    [2048, 1024, 50]
    """
    size = element_size(in_dtype, where="in_dtype")
    if packet_bytes < size:
        raise ComputeError(
            f"a packet of {packet_bytes} bytes holds no element of {size} bytes",
            rule="cce.CHOICE-43",
            values={"packet_bytes": packet_bytes, "element_bytes": size},
            source="cce 5.1",
        )
    return min(max_elements(generation), generation.cce_max_bytes // accum_size(accum_dtype), packet_bytes // size)


def reduce_packet_bytes(dtype: int, elements: int, priority_class: int = 0, caps: Sequence[int] = NO_CAPS) -> int:
    """The packet size of a collective reduce: capped by the priority class, low five bits cleared (cce 5.2).

    A cap of 0 is no cap. A result of 0 means one packet of the bytes wanted (CHOICE-44), see `reduce_packet_want`.
    Raises ComputeError with the runtime's assertion for a class above 4 and for a type without a size (FP32R).

    >>> reduce_packet_bytes(6, 2048, 0, (1000, 0, 0, 0, 0))
    992
    """
    cap = _priority_cap(priority_class, caps)
    want = element_size(dtype, where="dtype") * elements
    return (cap if cap and want > cap else want) & ~(PACKET_GRANULE - 1)


def reduce_packet_want(dtype: int, elements: int, priority_class: int = 0, caps: Sequence[int] = NO_CAPS) -> int:
    """Like `reduce_packet_bytes`, with the whole request where the granule left nothing (CHOICE-44)."""
    granted = reduce_packet_bytes(dtype, elements, priority_class, caps)
    return granted or element_size(dtype, where="dtype") * elements


def _priority_cap(priority_class: int, caps: Sequence[int]) -> int:
    if len(caps) != PRIORITY_CLASSES or any(cap < 0 for cap in caps):
        raise ComputeError(
            f"{len(caps)} packet size caps, one a priority class belongs here",
            rule="cce.5.2",
            values={"caps": list(caps), "classes": PRIORITY_CLASSES},
            source="cce 5.2",
            fix="five numbers of bytes, 0 for no cap",
        )
    if not 0 <= priority_class < PRIORITY_CLASSES:
        raise refusal_error(
            "prio_class",
            rule="cce.5.2",
            message=f"priority class {priority_class}",
            priority_class=priority_class,
            highest=PRIORITY_CLASSES - 1,
        )
    return caps[priority_class]


@dataclass(frozen=True, slots=True)
class ChannelCounters:
    """How many descriptors a channel has emitted on either side, and over how many queues it is folded."""

    m2s: int = 0
    s2m: int = 0
    fold_n: int = 1


def check_counters(counters: ChannelCounters, tx: int, rx: int) -> list[Issue]:
    """The runtime's assertions before a channel emits `tx` and `rx` descriptors: 16-bit counters, at least one fold."""
    issues = []
    if counters.fold_n < 1:
        issues.append(
            finding(
                "fold_n", rule="cce.2.3", message=f"{counters.fold_n} folds", where="channel", fold_n=counters.fold_n
            )
        )
    for key, side, value, more in (
        ("m2s_counter", "m2s", counters.m2s, tx),
        ("s2m_counter", "s2m", counters.s2m, rx),
    ):
        if not COUNTER_MAX - value > more:
            issues.append(
                finding(
                    key,
                    rule="cce.2.3",
                    message=f"{side} counter at {value}, {more} descriptors more pass {COUNTER_MAX}",
                    where="channel",
                    counter=value,
                    added=more,
                    limit=COUNTER_MAX,
                )
            )
    return issues


def check_half_chunk(elements: int) -> list[Issue]:
    """A chunk that is cut in halves has an even number of elements (cce 5.5)."""
    if elements % 2 == 0:
        return []
    return [finding("even_chunk", rule="cce.5.5", message=f"a chunk of {elements} elements", elements=elements)]

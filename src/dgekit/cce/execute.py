"""Carrying a packet out: all sources are read, combined and converted, then every destination is written (cce 4.10).

`compute` works on bytes, `execute` on memory. Packets of equal shape that do not depend on each other may be computed
as one (`compute_many`, D61): the bytes are the same, packet by packet.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from dgekit.cce.arithmetic import arithmetic_of
from dgekit.cce.codec import HEADER_BYTES, check_codec, check_header, make_header
from dgekit.cce.decode import RawPacket, decode_packets
from dgekit.cce.enums import CceType
from dgekit.cce.faults import raise_first
from dgekit.cce.packet import CcePacket
from dgekit.cce.validate import check_operands, check_packet
from dgekit.core.choices import Choices
from dgekit.core.dtypes import dtype_info
from dgekit.core.errors import ComputeError, Issue
from dgekit.core.generations import Generation
from dgekit.numerics.convert import write_codes
from dgekit.numerics.elements import element, read_lanes
from dgekit.numerics.reduce import Reduction, reduce_bytes
from dgekit.numerics.stochastic import LANES, SrLanes

U8 = npt.NDArray[np.uint8]
U32 = npt.NDArray[np.uint32]
I64 = npt.NDArray[np.int64]

_EXACT_IN_FP32 = 1 << 24


class MemoryLike(Protocol):
    """Memory as the executor needs it: byte streams over runs of (starts, lengths), each (n,) int64."""

    def gather(self, starts: I64, lengths: I64) -> U8:
        """The bytes of all runs, one after the other."""

    def scatter(self, starts: I64, lengths: I64, data: U8) -> None:
        """Store a byte stream over runs, or raise and store nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """What a packet, or a run of packets, computed: the packed bytes of `elements` for each destination.

    `lossy` counts the elements that lost bits when they were converted on their way out; `promoted` says that bytes
    were only moved (cce 4.4); `header` is what a compression stage writes beside the payload.
    """

    data: U8
    elements: int
    lossy: int
    promoted: bool = False
    header: bytes | None = None
    issues: tuple[Issue, ...] = ()


def compute(
    packet: CcePacket,
    sources: Sequence[U8],
    choices: Choices,
    generation: Generation,
    lanes: SrLanes | None = None,
    *,
    header: bytes | None = None,
) -> Result:
    """The result of one packet for its sources' bytes (packed uint8, `packet.elements` each).

    `lanes` is the stochastic rounding state of the queue; a packet with a seed sets it. `header` is the header of a
    packet that decompresses. Raises DgeError; the limits of a generation are for `check_packet`.
    """
    return compute_many(packet, sources, (packet.elements,), choices, generation, lanes, header=header)


def compute_many(
    packet: CcePacket,
    sources: Sequence[U8],
    counts: Sequence[int],
    choices: Choices,
    generation: Generation,
    lanes: SrLanes | None = None,
    *,
    header: bytes | None = None,
) -> Result:
    """The result of a run of packets that differ in their bytes and addresses only.

    `counts` are the elements of each packet; source i holds source i of every packet, one after the other. The first
    packet alone carries the seed (D64). Each result goes where its packet would put it: `data` is theirs in order.
    """
    raise_first(check_operands(packet))
    how = arithmetic_of(packet, generation, choices)
    total = sum(counts)
    _check_sources(packet, sources, total, how.read.size)
    state = _rounding(packet, how, lanes)
    if packet.gce is not None:
        _check_stage(packet, counts, choices, header)
    issues: list[Issue] = []
    promoted = False
    if state is not None:
        data, lossy = _stochastic(how, sources, counts, state)
    elif _moves_bytes(packet, how):
        data, lossy, promoted = _promoted(how, sources[0], counts, issues)
    else:
        data, lossy = reduce_bytes(how, sources)
    issues += _inexact_products(how, sources)
    result = Result(data, total, lossy, promoted, issues=tuple(issues))
    return _compressed(packet, how, result) if packet.gce is not None and packet.gce.compress else result


def execute(
    packet: CcePacket, memory: MemoryLike, choices: Choices, generation: Generation, lanes: SrLanes | None = None
) -> Result:
    """Carry one packet out on memory: read every source, then write every destination (cce.CHOICE-41).

    Raises the first error of `check_packet`, of the arithmetic or of memory; then nothing has been written.
    """
    raise_first(check_packet(packet, generation))
    header = None
    if packet.gce is not None and not packet.gce.compress:
        check_codec(packet.gce, choices)
        header = memory.gather(*_runs((packet.gce.header,), HEADER_BYTES)).tobytes()
    size = packet.elements * element(packet.source_dtype).size
    stream = memory.gather(*_runs(packet.sources, size))
    sources = [stream[first : first + size] for first in range(0, stream.size, size)]
    result = compute(packet, sources, choices, generation, lanes, header=header)
    starts, lengths = _runs(packet.dests, result.data.size)
    written = np.tile(result.data, len(packet.dests)) if len(packet.dests) > 1 else result.data
    if result.header is not None and packet.gce is not None:
        starts = np.append(starts, np.int64(packet.gce.header))
        lengths = np.append(lengths, np.int64(HEADER_BYTES))
        written = np.concatenate((written, np.frombuffer(result.header, np.uint8)))
    memory.scatter(starts, lengths, written)
    return result


def execute_bds(
    tx: U32,
    rx: U32,
    memory: MemoryLike,
    choices: Choices,
    generation: Generation,
    lanes: SrLanes | None = None,
) -> list[Result]:
    """Decode the packets of a stream of BDs, (n, 4) and (m, 4) u32, then carry them out in order.

    Raises ComputeError for BDs that are no compute packet, before anything moves; else as `execute` does.
    """
    packets = decode_packets(tx, rx, choices)
    for packet in packets:
        if isinstance(packet, RawPacket):
            raise_first(packet.issues)
            raise ComputeError("the BDs are no compute packet", rule="cce.3.9", source="cce 3.9")
    return [execute(packet, memory, choices, generation, lanes) for packet in packets if isinstance(packet, CcePacket)]


class Plain:
    """Memory that has only `read(address, size)` and `write(address, data)`, run by run.

    A refused write after the first run leaves the earlier runs written.
    """

    __slots__ = ("_memory",)

    def __init__(self, memory: Any) -> None:
        self._memory = memory

    def gather(self, starts: I64, lengths: I64) -> U8:
        """The bytes of all runs, one after the other."""
        pairs = zip(starts.tolist(), lengths.tolist(), strict=True)
        return np.frombuffer(b"".join(bytes(self._memory.read(first, size)) for first, size in pairs), np.uint8)

    def scatter(self, starts: I64, lengths: I64, data: U8) -> None:
        """Store a byte stream over runs, in order."""
        offset = 0
        for first, size in zip(starts.tolist(), lengths.tolist(), strict=True):
            self._memory.write(first, data[offset : offset + size].tobytes())
            offset += size


def _runs(addresses: Sequence[int], size: int) -> tuple[I64, I64]:
    if max(addresses) >> 63:
        raise ComputeError(
            f"{max(addresses):#x} is no address of simulated memory", rule="cce.3.4", values={"address": max(addresses)}
        )
    return np.array(addresses, np.int64), np.full(len(addresses), size, np.int64)


def _check_sources(packet: CcePacket, sources: Sequence[U8], elements: int, size: int) -> None:
    """As many sources as the packet names, each of as many elements (cce 4.10)."""
    if len(sources) != len(packet.sources):
        raise ComputeError(
            f"the packet names {len(packet.sources)} sources, {len(sources)} were given",
            rule="cce.CHOICE-04",
            where="sources",
            values={"named": len(packet.sources), "given": len(sources)},
            source="cce 2.3",
        )
    for index, source in enumerate(sources):
        if source.size != elements * size:
            name = dtype_info(packet.source_dtype).name
            raise ComputeError(
                f"source {index} holds {source.size} bytes, {elements} {name} elements are {elements * size}",
                rule="cce.4.10",
                where=f"sources[{index}]",
                values={"bytes": source.size, "elements": elements, "element_bytes": size},
                source="cce 4.10",
                fix="every source of a packet has the same number of elements",
            )


def unseeded() -> ComputeError:
    """The error of rounding stochastically on a queue that has no state."""
    return ComputeError(
        "stochastic rounding on a queue that nothing has seeded",
        rule="cce.CHOICE-40",
        where="stochastic",
        source="cce 4.9",
        fix="give the first packet a seed",
    )


def _rounding(packet: CcePacket, how: Reduction, lanes: SrLanes | None) -> SrLanes | None:
    """The lanes that a packet rounds with, seeded if it carries a seed; None where it rounds to nearest (CHOICE-40)."""
    state = lanes
    if packet.seed is not None:
        state = SrLanes() if state is None else state
        state.seed(packet.seed)
    elif not packet.stochastic:
        return None
    if state is None or not state.seeded:
        raise unseeded()
    return state if how.accum.is_float and how.write.is_float else None


def _stochastic(how: Reduction, sources: Sequence[U8], counts: Sequence[int], lanes: SrLanes) -> tuple[U8, int]:
    """Every packet begins with lane 0; packets of whole rows of lanes make one stream of draws."""
    if not any(count % LANES for count in counts[:-1]):
        return reduce_bytes(how, sources, lanes.draws)
    parts = [reduce_bytes(how, part, lanes.draws) for part in _split(sources, counts, how.read.size)]
    return np.concatenate([data for data, _ in parts]), sum(lossy for _, lossy in parts)


def _split(sources: Sequence[U8], counts: Sequence[int], size: int) -> Iterator[list[U8]]:
    first = 0
    for count in counts:
        yield [source[first * size : (first + count) * size] for source in sources]
        first += count


def _moves_bytes(packet: CcePacket, how: Reduction) -> bool:
    """The promotion to UINT16: one tx BD of one-byte elements that are not converted; ADD only (cce.CHOICE-29)."""
    alone = len(packet.sources) == 1 and packet.op == CceType.ADD and not packet.is_combo and packet.seed is None
    return alone and how.read.size == 1 and how.read == how.write


def _promoted(how: Reduction, source: U8, counts: Sequence[int], issues: list[Issue]) -> tuple[U8, int, bool]:
    """Packets of an even number of bytes are moved; the others are computed, with a warning (D70)."""
    odd = np.array(counts, np.int64) % 2 == 1
    if not odd.any():
        return source.copy(), 0, True
    issues.append(
        Issue(
            "dec.D70",
            "warning",
            "an odd number of bytes is not promoted to 16-bit elements: NaN becomes canonical",
            values={"packets": int(odd.sum()), "bytes": int(np.array(counts)[odd][0])},
            source="cce 4.4",
        )
    )
    data = source.copy()
    converted = np.repeat(odd, counts)
    data[converted], lossy = reduce_bytes(how, [source[converted]])
    return data, lossy, not odd.all()


def _inexact_products(how: Reduction, sources: Sequence[U8]) -> list[Issue]:
    """FMA reads integers through fp32, which holds every integer up to 2**24 only (D70)."""
    if how.op != "fma" or how.read.is_float or how.read.size < 4 or not sources[0].size:
        return []
    numbers = [read_lanes(source, how.read) for source in sources]
    largest = max(max(int(lanes.max()), -int(lanes.min())) for lanes in numbers)
    if largest <= _EXACT_IN_FP32:
        return []
    return [
        Issue(
            "dec.D70",
            "warning",
            f"a product of integers goes through fp32, which rounds {largest}",
            values={"largest": largest, "exact_up_to": _EXACT_IN_FP32},
            source="cce 4.7",
        )
    ]


def _check_stage(packet: CcePacket, counts: Sequence[int], choices: Choices, header: bytes | None) -> None:
    gce = packet.gce
    assert gce is not None
    check_codec(gce, choices)
    if len(counts) != 1:
        raise ComputeError(
            f"{len(counts)} packets share one compression header",
            rule="cce.4.6",
            where="gce.header",
            values={"packets": len(counts)},
            source="cce 4.6",
            fix="compute such packets one by one",
        )
    if not gce.compress:
        check_header(header or b"", gce, packet.elements)


def _compressed(packet: CcePacket, how: Reduction, result: Result) -> Result:
    """The flushed, converted elements as payload, and its header."""
    assert packet.gce is not None
    payload = element(packet.gce.payload_dtype)
    header = make_header(payload.code, packet.out_dtype, result.elements)
    if payload.code == packet.out_dtype:
        return replace(result, header=header)
    data, lossy = write_codes(read_lanes(result.data, how.write), how.write, payload, saturate=how.saturate)
    return replace(result, data=data, lossy=result.lossy + lossy, header=header)

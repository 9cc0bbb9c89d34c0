"""How long a transfer takes: an estimate from public numbers, with its band (nki-dma 8, decision D87).

One engine's data time is bytes / rate + descriptors x t_descriptor; engines work side by side, so the busiest counts.
A transfer ends t_issue + t_start + data after its instruction (`latency_ns`); one behind the other on a queue, each
takes the longest of its data, its issue and the fixed time of a DMA (`interval_ns`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from dgekit.advise.facts import CAST_SHARE, TRANSPOSE_SHARE, Fact, Facts, Path, facts_of
from dgekit.core.dtypes import Dtype
from dgekit.core.generations import Generation
from dgekit.descriptors.batch import ChannelBatch, DescriptorBatch, PacketKind
from dgekit.descriptors.build import addresses_of, bytes_read, lengths_of
from dgekit.firmware.values import Backend
from dgekit.patterns.runs import I64
from dgekit.words.legs import sbuf_place

_FULL_SPEED_COMPUTE = (Dtype.BFLOAT16, Dtype.FP32)  # on v4, same type at both ends (nki-dma M6)


@dataclass(frozen=True, slots=True)
class Band:
    """A time in ns: the estimate between the least and the most that the public numbers allow."""

    low: float
    estimate: float
    high: float

    def __add__(self, other: Band) -> Band:
        return Band(self.low + other.low, self.estimate + other.estimate, self.high + other.high)

    def to_json(self) -> dict[str, float]:
        """The object of every time in JSON, rounded to 0.1 ns."""
        return {"low": round(self.low, 1), "estimate": round(self.estimate, 1), "high": round(self.high, 1)}


@dataclass(frozen=True, slots=True)
class Speeds:
    """One end, or the middle, of the band of every fact: what times are computed from."""

    rate: float
    fixed: float
    descriptor: float
    start: float
    issue: dict[Path, float]
    semaphore: float


@dataclass(frozen=True, slots=True)
class Load:
    """What one engine does for one word: bytes of the larger leg, and as many as a copy would move in the same time."""

    engine: int
    nbytes: int
    copied: float
    descriptors: int

    def time(self, speeds: Speeds) -> float:
        """Its data time in ns."""
        return self.copied / speeds.rate + self.descriptors * speeds.descriptor


Word = tuple[Load, ...]


@dataclass(frozen=True, slots=True)
class Cost:
    """The estimate for one transfer, in ns.

    `latency_ns`: from issue to completion; `interval_ns`: back to back; `data_ns`: the busiest engine's data;
    `after_trigger_ns`: from the trigger of the last word to completion. `bound_by` names what sets the interval:
    fixed, issue or data.
    """

    latency_ns: Band
    interval_ns: Band
    data_ns: Band
    after_trigger_ns: Band
    engines: int
    path: Path
    bound_by: str
    facts: Facts

    @property
    def sources(self) -> tuple[Fact, ...]:
        """The numbers it was computed from, with their evidence."""
        return self.facts.listed()


def speeds_of(facts: Facts) -> tuple[Speeds, Speeds, Speeds]:
    """The fast end, the estimate and the slow end."""
    return _speeds(facts, "fast"), _speeds(facts, "value"), _speeds(facts, "slow")


def _speeds(facts: Facts, end: str) -> Speeds:
    def of(fact: Fact) -> float:
        return float(getattr(fact, end))

    issue = {path: of(fact) for path, fact in facts.issue.items()}
    return Speeds(of(facts.rate), of(facts.fixed), of(facts.descriptor), of(facts.start), issue, of(facts.semaphore))


def path_of(backend: Backend) -> Path:
    """Who builds the descriptors of a backend: the host, a DGE block, or GpSimd's software."""
    if backend is Backend.STATIC:
        return "static"
    return "software" if backend is Backend.SOFTWARE else "hardware"


def cost_of(batches: Sequence[DescriptorBatch], path: Path, generation: Generation) -> Cost:
    """The cost of a transfer from its descriptors, one batch a word; raises Unspecified for MAVERICK."""
    facts = facts_of(generation)
    return cost_of_words([loads_of(batch, generation, facts) for batch in batches], path, facts)


def cost_of_words(words: Sequence[Word], path: Path, facts: Facts) -> Cost:
    """The cost of a transfer from what each engine does for each of its words."""
    ends = [_times(words, path, speeds) for speeds in speeds_of(facts)]
    latency, interval, data, after = (Band(*column) for column in zip(*ends, strict=True))
    engines = len({load.engine for word in words for load in word})
    return Cost(latency, interval, data, after, engines, path, _bound(words, path, speeds_of(facts)[1]), facts)


def word_data(word: Word, speeds: Speeds) -> float:
    """Data time of a word: its busiest engine's."""
    return max((load.time(speeds) for load in word), default=0.0)


def _interval(word: Word, path: Path, speeds: Speeds) -> float:
    return max(speeds.fixed, speeds.issue[path], word_data(word, speeds))


def _times(words: Sequence[Word], path: Path, speeds: Speeds) -> tuple[float, float, float, float]:
    """(latency, interval, data, after the last trigger)."""
    intervals = [_interval(word, path, speeds) for word in words]
    last = word_data(words[-1], speeds) if words else 0.0
    data = sum(word_data(word, speeds) for word in words)
    after = speeds.start + last
    return sum(intervals[:-1]) + speeds.issue[path] + after, sum(intervals), data, after


def _bound(words: Sequence[Word], path: Path, speeds: Speeds) -> str:
    times = {
        "data": sum(word_data(word, speeds) for word in words),
        "issue": speeds.issue[path] * len(words),
        "fixed": speeds.fixed * len(words),
    }
    return max(times, key=lambda name: times[name])


# loads from descriptors


def loads_of(batch: DescriptorBatch, generation: Generation, facts: Facts) -> Word:
    """What every engine does for one batch; semaphore packets take no part (they end the transfer, D87)."""
    engines: dict[int, Load] = {}
    for channel in batch.channels:
        for load in _channel_loads(channel, generation, facts):
            before = engines.get(load.engine, Load(load.engine, 0, 0.0, 0))
            engines[load.engine] = Load(
                load.engine,
                before.nbytes + load.nbytes,
                before.copied + load.copied,
                before.descriptors + load.descriptors,
            )
    return tuple(engines[dma] for dma in sorted(engines))


def _channel_loads(channel: ChannelBatch, generation: Generation, facts: Facts) -> Iterable[Load]:
    packets = channel.packets
    if not len(packets):
        return
    read = _sums(bytes_read(channel.m2s), packets["m2s_first"], packets["m2s_count"])
    written = _sums(lengths_of(channel.s2m), packets["s2m_first"], packets["s2m_count"])
    sizes = np.maximum(read, written)
    descriptors = np.maximum(packets["m2s_count"], packets["s2m_count"])
    for kind in np.unique(packets["kind"]).tolist():
        if kind == PacketKind.SEMAPHORE:
            continue
        chosen = packets["kind"] == kind
        nbytes = int(sizes[chosen].sum())
        share = _share(PacketKind(kind), channel, int(np.flatnonzero(chosen)[0]), generation, facts)
        yield Load(channel.dma, nbytes, nbytes / share, int(descriptors[chosen].sum()))


def _sums(lengths: I64, firsts: I64, counts: I64) -> I64:
    """The bytes of each packet's descriptors on one leg."""
    before = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(lengths)))
    found: I64 = before[firsts + counts] - before[firsts]
    return found


def _share(kind: PacketKind, channel: ChannelBatch, packet: int, generation: Generation, facts: Facts) -> float:
    """The rate of packets of a kind as a share of a copy's."""
    row = channel.packets[packet]
    match kind:
        case PacketKind.TRANSPOSE:
            source = int(addresses_of(channel.m2s[row["m2s_first"] : row["m2s_first"] + 1])[0])
            return TRANSPOSE_SHARE["hbm" if sbuf_place(source, generation) is None else "sbuf"]
        case PacketKind.CAST:
            return CAST_SHARE
        case PacketKind.COMPUTE:
            same = row["in_dtype"] == row["out_dtype"] and row["in_dtype"] in _FULL_SPEED_COMPUTE
            return facts.compute_share if same else CAST_SHARE
    return 1.0

"""Ring memory of a transfer: both published estimates and static expansion, whatever the mode (decision D86)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from dgekit.advise.rings import estimate_a, estimate_b
from dgekit.advise.sizes import Sizes
from dgekit.core.generations import Generation
from dgekit.descriptors.batch import DescriptorBatch
from dgekit.descriptors.bd import BD_BYTES
from dgekit.descriptors.summary import data_bytes
from dgekit.transfers.placement import Placement
from dgekit.transfers.transfer import Access, Transfer


@dataclass(frozen=True, slots=True)
class RingBytes:
    """HBM that a transfer's descriptors take when the host expands them, in bytes; `exact` 0: it has no expansion."""

    estimate_a: int = 0
    estimate_b: int = 0
    exact: int = 0

    def __add__(self, other: RingBytes) -> RingBytes:
        return RingBytes(
            self.estimate_a + other.estimate_a, self.estimate_b + other.estimate_b, self.exact + other.exact
        )

    def to_json(self) -> dict[str, int]:
        """The `ring_bytes` object."""
        return {"estimate_a": self.estimate_a, "estimate_b": self.estimate_b, "exact": self.exact}


@dataclass(frozen=True, slots=True)
class EngineUse:
    """What one DMA engine gets of a transfer: BDs of both legs, bytes of the source leg."""

    engine: int
    m2s: int
    s2m: int
    nbytes: int

    def to_json(self) -> dict[str, int]:
        """The entry of `per_engine`, as a run has it."""
        return {"engine": self.engine, "m2s": self.m2s, "s2m": self.s2m, "bytes": self.nbytes}


def engine_uses(batch: DescriptorBatch) -> tuple[EngineUse, ...]:
    """BDs and bytes by engine."""
    m2s: Counter[int] = Counter()
    s2m: Counter[int] = Counter()
    nbytes: Counter[int] = Counter()
    for channel in batch.channels:
        m2s[channel.dma] += len(channel.m2s)
        s2m[channel.dma] += len(channel.s2m)
        nbytes[channel.dma] += data_bytes(channel)
    return tuple(EngineUse(dma, m2s[dma], s2m[dma], nbytes[dma]) for dma in sorted(m2s))


def ring_memory(
    transfer: Transfer, engines: Sequence[EngineUse], sizes: Sizes, placement: Placement, generation: Generation
) -> tuple[RingBytes, tuple[EngineUse, ...]]:
    """Ring memory by both estimates and by expansion, and what each ring holds.

    `engines` and `sizes` are those of static expansion, empty where there is none. Every DMA ends with a write from
    each engine (nki-dma 7).
    """
    source_runs, dest_runs = _runs_of(transfer, sizes, placement)
    a = sum(estimate_a(source, dest_runs) for source in source_runs)
    b = sum(estimate_b(source, dest_runs) for source in source_runs)
    if not engines:
        return RingBytes(a * BD_BYTES, b * BD_BYTES), ()
    use = _with_writes(engines, transfer, generation)
    exact = sum(one.m2s + one.s2m for one in use)
    return RingBytes(a * BD_BYTES, b * BD_BYTES, exact * BD_BYTES), use


def raw_ring_memory(sizes: Sizes, descriptors: int) -> RingBytes:
    """The same for a word given raw, which has no static form: what it moves is counted."""
    m2s, s2m = max(1, sizes.m2s), max(1, sizes.s2m)
    return RingBytes(estimate_a(m2s, s2m) * BD_BYTES, estimate_b(m2s, s2m) * BD_BYTES, descriptors * BD_BYTES)


def _with_writes(engines: Sequence[EngineUse], transfer: Transfer, generation: Generation) -> tuple[EngineUse, ...]:
    """The engines with a semaphore BD on each leg, which static expansion has only where the transfer signals.

    A NEFF's entry may be several transfers, of which the last one signals (D33).
    """
    if transfer.semaphore is not None or transfer.num_queues is not None:
        return tuple(engines)
    found = {use.engine: use for use in engines}
    for dma in range(generation.engines):
        use = found.get(dma, EngineUse(dma, 0, 0, 0))
        found[dma] = replace(use, m2s=use.m2s + 1, s2m=use.s2m + 1)
    return tuple(found[dma] for dma in sorted(found))


def _runs_of(transfer: Transfer, sizes: Sizes, placement: Placement) -> tuple[list[int], int]:
    """Contiguous pieces of each source and of the destination, as both estimates count them.

    A pattern counts as it is written, all dimensions but the innermost (neff 3b); a whole tensor by its pieces. What
    has no such form (indices, transposes) counts its descriptors.
    """
    if transfer.op in ("copy", "reduce"):
        sources = transfer.srcs or (transfer.src,)
        return [pieces(access, placement) for access in sources], pieces(transfer.dst, placement)
    return [max(1, sizes.m2s)], max(1, sizes.s2m)


def pieces(access: Access, placement: Placement) -> int:
    """Contiguous pieces of an access by its sizes: rows of a pattern, partitions of a whole tensor in SBUF."""
    if access.pattern is None:
        placed = placement.find(access.tensor)
        return placed.tensor.shape[0] if placed.in_sbuf and not placed.tensor.linear else 1
    count = 1
    for _, extent in access.pattern[:-1]:
        count *= extent
    if access.pattern and access.pattern[-1][0] != 1:
        count *= access.pattern[-1][1]
    return count

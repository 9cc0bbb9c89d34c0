"""The rings of one queue: the published estimates, the limit of a ring, and the counts that its entries add up to."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from dgekit.advise.ring_count import Segment
from dgekit.core.errors import Issue
from dgekit.frontends.neff.definitions import Queue

QUEUE_LIMIT = 16_777_200  # descriptors of one ring: 2**24 - 16 (nki-dma 7, rings 2.5)
SEMAPHORE_WRITES = 16  # one an engine, whatever a copy's shape (nki-dma 7)
_PAIR = 2  # descriptors of a semaphore write: one a leg


def estimate_a(from_runs: int, to_runs: int) -> int:
    """Descriptors of one copy as the compiler's own analyser counts them, in descriptors of 16 bytes.

    >>> estimate_a(1, 1) + estimate_a(8, 8), 16 * (estimate_a(1, 1) + estimate_a(8, 8))
    (82, 1312)
    """
    return from_runs + SEMAPHORE_WRITES + to_runs + SEMAPHORE_WRITES


def estimate_b(from_runs: int, to_runs: int, num_queues: int = 1) -> int:
    """Descriptors of one copy by the estimate for spill queues; `num_queues` counts for a queue instance only.

    >>> 16 * estimate_b(1, 8), 16 * estimate_b(8, 8, 16)
    (256, 4096)
    """
    return _PAIR * max(from_runs, to_runs) * num_queues


def queue_limit_issues(name: str, fullest: int, spread: int, where: str) -> list[Issue]:
    """What is wrong with a queue whose fullest ring holds `fullest` descriptors, `spread` when spread evenly.

    A ring takes 16,777,200: an error when no spreading over the hardware queues can help, else a warning.
    """
    if fullest <= QUEUE_LIMIT:
        return []
    values = {"descriptors": fullest, "spread": spread, "limit": QUEUE_LIMIT}
    certain = spread > QUEUE_LIMIT
    message = f"queue {name}: a ring of {fullest} descriptors, the limit is {QUEUE_LIMIT}"
    fix = "cut the movements, or merge their runs" if certain else "spread the movements over the hardware queues"
    return [Issue("rings.queue_limit", "error" if certain else "warning", message, where, values, "nki-dma 7", fix)]


@dataclass(slots=True)
class QueueRings:
    """What the entries of one queue (or queue instance) put on its rings; descriptors unless a name says bytes.

    `uncounted` are movements that `exact` leaves out, by reason; `nbytes` what all movements read.
    """

    name: str
    queue: Queue | None
    entries: int = 0
    movements: int = 0
    nbytes: int = 0
    estimate_a: int = 0
    estimate_b: int = 0
    uncounted: Counter[str] = field(default_factory=Counter)
    _m2s: Counter[int] = field(default_factory=Counter)  # by channel: how many more than on the channel before
    _s2m: Counter[int] = field(default_factory=Counter)

    @property
    def num_queues(self) -> int:
        """Hardware queues, 1 where the file does not say."""
        return self.queue.num_queues if self.queue is not None else 1

    @property
    def kind(self) -> str:
        """How the runtime's print-out files it: spill by its name, else io."""
        return "spill" if "spill" in self.name.lower() else "io"

    @property
    def m2s(self) -> tuple[int, ...]:
        """Exact M2S descriptors of each hardware queue."""
        return self._by_channel(self._m2s)

    @property
    def s2m(self) -> tuple[int, ...]:
        """Exact S2M descriptors of each hardware queue."""
        return self._by_channel(self._s2m)

    @property
    def exact(self) -> int:
        """Exact descriptors of all its rings."""
        return sum(self.m2s) + sum(self.s2m)

    @property
    def fullest(self) -> int:
        """Exact descriptors of its fullest ring (one leg of one hardware queue)."""
        return max((*self.m2s, *self.s2m), default=0)

    @property
    def spread(self) -> int:
        """What its fullest ring would hold if every hardware queue held the same."""
        return max(-(-sum(leg) // self.num_queues) for leg in (self.m2s, self.s2m))

    def add_segments(self, segments: Sequence[Segment]) -> None:
        """Count data descriptors."""
        for low, high, m2s, s2m in segments:
            self._m2s[low] += m2s
            self._m2s[high] -= m2s
            self._s2m[low] += s2m
            self._s2m[high] -= s2m

    def _by_channel(self, differences: Counter[int]) -> tuple[int, ...]:
        sums = itertools.accumulate(differences[channel] for channel in range(self.num_queues))
        return tuple(data + self.entries for data in sums)  # and one semaphore BD an entry

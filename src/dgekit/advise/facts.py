"""Public numbers of DMA speed, each with where it comes from and how far it may be off (nki-dma 7 and 8, decision D87).

Every number that a time depends on has three values: `value` for the estimate, `fast` and `slow` for its band. What no
page says of a generation is inferred from a neighbour and says so; MAVERICK has no public number at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from dgekit.core.errors import Unspecified
from dgekit.core.evidence import Evidence
from dgekit.core.generations import Generation

Path = Literal["static", "hardware", "software"]  # who turns a transfer into descriptors: host, DGE block, GpSimd
PATHS: tuple[Path, ...] = ("static", "hardware", "software")


@dataclass(frozen=True, slots=True)
class Fact:
    """One number: what it is, in which unit, and its evidence. Times are ns, rates B/ns (one engine)."""

    name: str
    value: float
    fast: float
    slow: float
    unit: str
    about: str
    evidence: Evidence

    def to_json(self) -> dict[str, object]:
        """The fact as reports list it."""
        return {
            "name": self.name,
            "value": self.value,
            "fast": self.fast,
            "slow": self.slow,
            "unit": self.unit,
            "about": self.about,
            "evidence": self.evidence.describe(),
        }


@dataclass(frozen=True, slots=True)
class Facts:
    """The numbers of one generation."""

    rate: Fact
    fixed: Fact
    descriptor: Fact
    start: Fact
    issue: Mapping[Path, Fact]
    semaphore: Fact
    compute_share: float

    def listed(self) -> tuple[Fact, ...]:
        """All of them, for a report."""
        return (self.rate, self.fixed, self.descriptor, self.start, *self.issue.values(), self.semaphore)


def _page(tag: str, source: str) -> Evidence:
    return Evidence.parse(tag, source)


_TABLE = _page("H/S", "nki-dma 8: Guideline to Avoid Under-Utilizing DMA Bandwidth; Introduction to DMA with NKI")
_NEIGHBOUR = _page(
    "L/I", "nki-dma 8: the curve, read with this generation's rate; no page names the generation plotted"
)


def _rate(value: float, fast: float, slow: float) -> Fact:
    about = "data rate of one engine; fast: theoretical, slow: as measured on 2 KiB an engine (21 of 23)"
    return Fact("rate", value, fast, slow, "B/ns", about, _TABLE)


def _fixed(value: float, fast: float, slow: float) -> Fact:
    about = "least time between two DMAs of one queue: the knee of the curve at 2.4 KiB a partition"
    return Fact("fixed", value, fast, slow, "ns", about, _NEIGHBOUR)


DESCRIPTOR = Fact(
    "descriptor",
    1.0,
    0.0,
    8.0,
    "ns",
    "one descriptor, beside its bytes; fitted: 8 rows of 256 B on one engine take 97 ns",
    _page("L/X", "nki-dma 8: no page gives it; [128,128] bf16 profile"),
)
START = Fact(
    "start",
    371.0,
    297.0,
    740.0,
    "ns",
    "from the trigger to the first byte; fitted: 468 ns of a DMA whose data take 97; slow: 740 ns behind GpSimd",
    _page("M/I", "nki-dma 8: [128,128] bf16 profile"),
)
ISSUE: Mapping[Path, Fact] = {
    "static": Fact(
        "issue static", 0.0, 0.0, 8.0, "ns", "a trigger instruction", _page("H/S", "nki-dma 8: 8 ns in a profile")
    ),
    "hardware": Fact(
        "issue hardware",
        600.0,
        480.0,
        720.0,
        "ns",
        "one DMA instruction on its DGE block (Scalar's or Sync's); the page says about 600",
        _page("H/S", "nki-dma 1 and 8: DGE Reference; NeuronCore-v3 architecture guide"),
    ),
    "software": Fact(
        "issue software",
        875.0,
        650.0,
        1100.0,
        "ns",
        "GpSimd's time for one DMA; one after the other",
        _page("M/O", "nki-dma 8: practitioners measured 0.65 to 1.1 us"),
    ),
}
SEMAPHORE = Fact(
    "semaphore",
    1300.0,
    1040.0,
    1560.0,
    "ns",
    "from a semaphore to the start of the DMA that waits for it, across engines; the page says about 1300",
    _page("H/S", "nki-dma 8: Guideline to Avoid Under-Utilizing DMA Bandwidth"),
)

# a transpose's rate as a share of a copy's, by where its source lies (nki-dma 4: NeuronCore-v3 architecture guide)
TRANSPOSE_SHARE = {"hbm": 0.9, "sbuf": 0.5}
COMPUTE_SHARE = 0.5  # through the DMA compute path before v4 (nki-dma M6: NeuronCore-v4 architecture guide)
GOOD_ROW_BYTES, BEST_ROW_BYTES = 2048, 4096  # bytes a partition: least recommended, saturated (nki-dma 8)
CAST_SHARE = 0.5  # a cast is a compute packet of one source

_BY_CORE: Mapping[int, Facts] = {
    2: Facts(_rate(17, 27.2, 15.5), _fixed(1140, 714, 1300), DESCRIPTOR, START, ISSUE, SEMAPHORE, COMPUTE_SHARE),
    3: Facts(_rate(23, 27.2, 21), _fixed(850, 714, 1140), DESCRIPTOR, START, ISSUE, SEMAPHORE, COMPUTE_SHARE),
    4: Facts(_rate(33, 38.4, 30.1), _fixed(850, 589, 1140), DESCRIPTOR, START, ISSUE, SEMAPHORE, 1.0),
}


def facts_of(generation: Generation) -> Facts:
    """The numbers of a generation; raises Unspecified where there are none.

    >>> from dgekit.core.generations import CAYMAN
    >>> facts_of(CAYMAN).rate.value, facts_of(CAYMAN).fixed.value
    (23, 850)
    """
    if not has_facts(generation):
        raise Unspecified(
            f"no public source says how fast the DMA of {generation.name} is",
            rule="advise.rate",
            values={"generation": generation.name},
            source="nki-dma 8",
        )
    return _BY_CORE[generation.nc]


def has_facts(generation: Generation) -> bool:
    """True for the generations whose speed is published."""
    return generation.nc in _BY_CORE

"""Every transfer in every mode side by side: whether it is legal, what it becomes, how long it takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dgekit.advise.cost import Band
from dgekit.advise.predict import CHOSEN_MODES, Predicted, Prediction
from dgekit.advise.ring_bytes import RingBytes
from dgekit.core.errors import Issue

COLUMNS = (
    "transfer", "requested", "mode", "legal", "rules", "descriptors", "bytes", "ring_bytes",
    "time_low_ns", "time_ns", "time_high_ns", "interval_ns",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Case:
    """One transfer in one mode; `issues` say why it is not legal, or what to mind; times None: no public numbers."""

    mode: str
    legal: bool
    issues: tuple[Issue, ...]
    descriptors: int
    nbytes: int
    rings: RingBytes
    latency_ns: Band | None
    interval_ns: Band | None

    @property
    def rules(self) -> tuple[str, ...]:
        """The ids of the rules that it breaks."""
        return tuple(dict.fromkeys(issue.rule for issue in self.issues if issue.severity == "error"))

    def to_json(self) -> dict[str, object]:
        """The entry of `modes`."""
        return {
            "legal": self.legal,
            "issues": [issue.to_json() for issue in self.issues],
            "descriptors": self.descriptors,
            "bytes": self.nbytes,
            "ring_bytes": self.rings.to_json(),
            "time_ns": self.latency_ns.to_json() if self.latency_ns is not None else None,
            "interval_ns": self.interval_ns.to_json() if self.interval_ns is not None else None,
        }


@dataclass(frozen=True, slots=True)
class Row:
    """One transfer: the mode it asks for, and its case in each of the three."""

    name: str
    where: str
    requested: str
    cases: tuple[Case, ...]

    def to_json(self) -> dict[str, object]:
        """The entry of `transfers`."""
        return {
            "name": self.name,
            "where": self.where,
            "requested": self.requested,
            "modes": {case.mode: case.to_json() for case in self.cases},
        }


def what_if(prediction: Prediction) -> tuple[Row, ...]:
    """The table of a program; needs a prediction with all modes. Words given raw have no other mode and no row."""
    return tuple(
        Row(row.name, row.where, row.item.mode, tuple(_case(prediction, row, mode) for mode in CHOSEN_MODES))
        for row in prediction.transfers
        if row.modes
    )


def _case(prediction: Prediction, own: Predicted, mode: str) -> Case:
    """What the rules say of the mode, then what lowering says."""
    row, verdict = own.modes[mode], prediction.verdicts.get(own.number)
    said = verdict.modes[mode].issues if verdict is not None and mode in verdict.modes else ()
    return Case(
        mode,
        prediction.is_legal(own, mode) and row.status != "refused",
        (*said, *row.issues),
        row.descriptors,
        row.nbytes,
        row.rings if mode == "none" and row.works else RingBytes(),
        row.cost.latency_ns if row.cost is not None else None,
        row.cost.interval_ns if row.cost is not None else None,
    )


def table(rows: tuple[Row, ...]) -> Iterator[Mapping[str, object]]:
    """One record a transfer and mode, with the keys of COLUMNS; a time that nobody can tell is empty."""
    for row in rows:
        for case in row.cases:
            times = tuple(case.latency_ns.to_json().values()) if case.latency_ns is not None else ("", "", "")
            interval = case.interval_ns.to_json()["estimate"] if case.interval_ns is not None else ""
            values = (row.name, row.requested, case.mode, "yes" if case.legal else "no", " ".join(case.rules))
            counts = (case.descriptors, case.nbytes, case.rings.exact)
            yield dict(zip(COLUMNS, (*values, *counts, *times, interval), strict=True))

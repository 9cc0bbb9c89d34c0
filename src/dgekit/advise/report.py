"""A report on a program: what it asks of the DMA system, how long it may take, what to change.

Transfer files, kernels and small NEFFs are lowered transfer by transfer; of a NEFF with many entries, or with several
subgraphs and none named, the totals are counted from its dma lists, which are never held in memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dgekit.advise.advice import Advice, advice_for
from dgekit.advise.cost import Band, speeds_of
from dgekit.advise.facts import facts_of, has_facts
from dgekit.advise.predict import CHOSEN_MODES, Prediction, QueueUse, predict
from dgekit.advise.ring_bytes import RingBytes
from dgekit.advise.rings import NeffRings, QueueRings, neff_rings
from dgekit.advise.verdict import verdicts
from dgekit.core.choices import Choices, Value
from dgekit.core.errors import Issue, has_errors
from dgekit.core.generations import Generation, generation_named
from dgekit.descriptors.bd import BD_BYTES
from dgekit.frontends.detect import detect
from dgekit.frontends.load import load_program, read_file
from dgekit.frontends.neff.opened import OpenNeff, open_neff
from dgekit.frontends.neff.source import Progress
from dgekit.frontends.nki.script import split_source
from dgekit.transfers.transfer import Workload

MOST_TRANSFERS = 2000  # of a NEFF, looked at one by one; of more, only totals
_HEAD = 1 << 12  # bytes that tell a NEFF
NOTE = "Times are estimates from public numbers, not measurements; the band is what those numbers allow."


@dataclass(frozen=True, slots=True)
class Report:
    """What `dge advise` shows. `prediction` is None where only totals were counted (`neff`); `notes` say what is left
    out and why."""

    source: str
    generation: Generation
    queues: tuple[QueueUse, ...]
    descriptors: int
    nbytes: int
    rings: RingBytes
    time_ns: Band | None
    choices: Mapping[str, Value]
    issues: tuple[Issue, ...]
    prediction: Prediction | None = None
    neff: NeffRings | None = None
    advice: tuple[Advice, ...] = ()
    notes: tuple[str, ...] = ()
    small_bytes: int = 0

    @property
    def ok(self) -> bool:
        """True when every transfer can be lowered and nothing found is an error."""
        rows = self.prediction.transfers if self.prediction is not None else ()
        return all(row.works and not has_errors(row.issues) for row in rows) and not has_errors(self.issues)

    @property
    def largest_queue(self) -> QueueUse | None:
        """The queue with the fullest ring."""
        return max(self.queues, key=lambda queue: queue.largest_ring, default=None)


def advise(
    program: str | Path | Workload,
    *,
    generation: str | Generation | None = None,
    choices: Mapping[str, object] | None = None,
    inputs: Mapping[str, Any] | None = None,
    subgraph: str = "",
    with_advice: bool = True,
    progress: Progress | None = None,
    most: int = MOST_TRANSFERS,
) -> Report:
    """A report on a program: a Workload, or the path of a transfer file, a NEFF, words, or `kernel.py:function`.

    Arguments as those of `dgekit.run`; `most` is how many entries of a NEFF are looked at one by one, `progress` is
    called while one is read. Raises InputError for what cannot be read, and a DgeError where tensors have no place.
    """
    settings = Choices(choices)
    chip = generation_named(generation) if generation is not None else None
    if isinstance(program, Workload):
        given = replace(program, generation=chip or program.generation)
        return report_on(given, settings, with_advice=with_advice)
    script = split_source(str(program))
    path = Path(script[0] if script is not None else program)
    if script is None and is_neff(path):
        neff = open_neff(path, progress=progress)
        return neff_report(neff, path, settings, generation=chip, subgraph=subgraph, with_advice=with_advice, most=most)
    workload = load_program(
        read_file(path),
        Path(program).name,
        base_dir=path.parent,
        generation=chip,
        choices=choices,
        inputs=inputs,
        subgraph=subgraph,
    )
    return report_on(workload, settings, with_advice=with_advice)


def is_neff(path: Path) -> bool:
    """True for a file that begins as a NEFF does."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return detect(file.read(_HEAD), path.name) == "neff"


def report_on(workload: Workload, choices: Choices, *, with_advice: bool = True) -> Report:
    """A report on a workload: every transfer, in every mode, and what to change."""
    prediction = judged(predict(workload, choices, CHOSEN_MODES))
    untold = f"{workload.generation.name} has no public speeds: no times."
    settings = Choices({**workload.choices, **choices.overrides()})
    return Report(
        workload.source,
        workload.generation,
        prediction.queues,
        prediction.descriptors,
        prediction.nbytes,
        prediction.rings,
        prediction.time_ns,
        prediction.choices,
        prediction.issues,
        prediction,
        advice=advice_for(prediction, choices) if with_advice else (),
        notes=(*_illegal(prediction), NOTE if prediction.time_ns is not None else untold),
        small_bytes=settings.number("small_bytes"),
    )


def judged(prediction: Prediction) -> Prediction:
    """The prediction with the verdicts on its transfers."""
    found = verdicts(prediction.workload)
    return replace(
        prediction, verdicts={row.number: verdict for row, verdict in zip(prediction.transfers, found, strict=False)}
    )


def _illegal(prediction: Prediction) -> tuple[str, ...]:
    names = [verdict.name for verdict in prediction.verdicts.values() if not verdict.legal]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    told = f"not legal in the mode asked for: {', '.join(names[:3])}{more}; dge check says why."
    return (told,) if names else ()


def neff_report(
    neff: OpenNeff,
    path: Path,
    choices: Choices,
    *,
    generation: Generation | None = None,
    subgraph: str = "",
    with_advice: bool = True,
    most: int = MOST_TRANSFERS,
) -> Report:
    """A report on a NEFF, by transfer where it is small and one subgraph is meant; entries count as the runtime
    expands them, unless `neff_path` is set."""
    chosen = replace(neff, subgraphs=tuple(g for g in neff.subgraphs if not subgraph or g.name == subgraph))
    rings = neff_rings(chosen, choices, generation=generation)
    entries = sum(row.movements for row in rings.queues)
    one = len(chosen.subgraphs) == 1
    if entries > most or (not one and chosen.subgraphs):
        why = f"{entries} movements are more than {most}" if entries > most else f"{len(chosen.subgraphs)} subgraphs"
        return _totals(rings, choices, f"{why}: totals only{'' if one else '; --subgraph names one'}.")
    overrides = {"neff_path": "static", **choices.overrides()}
    workload = load_program(
        read_file(path), neff.source, form="neff", generation=generation, choices=overrides, subgraph=subgraph
    )
    report = report_on(workload, Choices(overrides), with_advice=with_advice)
    queues = tuple(_with_rings(queue, rings) for queue in report.queues)
    issues = tuple(dict.fromkeys((*report.issues, *rings.issues)))
    return replace(report, queues=queues, rings=_all_rings(rings), neff=rings, issues=issues)


def _with_rings(queue: QueueUse, rings: NeffRings) -> QueueUse:
    """The queue with the rings that its entries take, whatever triggers them."""
    found = [row for row in rings.queues if row.name == queue.name]
    if not found:
        return queue
    return replace(queue, ring_bytes=_ring_bytes(found[0]), largest_ring=found[0].fullest)


def _ring_bytes(row: QueueRings) -> RingBytes:
    return RingBytes(row.estimate_a * BD_BYTES, row.estimate_b * BD_BYTES, row.exact * BD_BYTES)


def _all_rings(rings: NeffRings) -> RingBytes:
    return sum((_ring_bytes(row) for row in rings.queues), RingBytes())


def _totals(rings: NeffRings, choices: Choices, why: str) -> Report:
    queues = tuple(
        QueueUse(row.name, row.movements, row.exact, row.nbytes, _ring_bytes(row), row.fullest) for row in rings.queues
    )
    return Report(
        rings.source,
        rings.generation,
        queues,
        sum(row.exact for row in rings.queues),
        sum(row.nbytes for row in rings.queues),
        _all_rings(rings),
        _time_of_totals(rings),
        choices.used(),
        rings.issues,
        neff=rings,
        notes=(why, NOTE, "The time takes every entry once, queues side by side and nothing waiting for anything."),
        small_bytes=choices.number("small_bytes"),
    )


def _time_of_totals(rings: NeffRings) -> Band | None:
    """The longest of what any core's engines must move, and of any queue's DMAs one behind the other."""
    if not has_facts(rings.generation):
        return None
    facts = facts_of(rings.generation)
    ends = []
    for speeds in speeds_of(facts):
        times = [0.0]
        for core in rings.cores:
            engines: dict[int, float] = {}
            for row in core.queues:
                times.append(row.entries * speeds.fixed)
                share = row.nbytes / max(1, row.num_queues) / speeds.rate
                for number, leg in enumerate(zip(row.m2s, row.s2m, strict=True)):
                    dma = number % rings.generation.engines
                    engines[dma] = engines.get(dma, 0.0) + share + max(leg) * speeds.descriptor
            times += engines.values()
        ends.append(max(times))
    return Band(*ends)


def facts_json(generation: Generation) -> list[dict[str, Any]]:
    """The numbers that times come from, with their evidence."""
    return [fact.to_json() for fact in facts_of(generation).listed()] if has_facts(generation) else []

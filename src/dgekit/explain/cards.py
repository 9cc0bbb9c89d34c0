"""The values of an explanation: one card a word, with the lines it was rebuilt from.

A card belongs to the NX sequencer of one host name; a job is the work of one Q7 processor for a word.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from dgekit.core.errors import Issue
from dgekit.firmware.emit import FORMS
from dgekit.firmware.values import Backend, Kind
from dgekit.logs.fields import name_fields
from dgekit.logs.formats import FORMATS

DUMPS = {"dump.pool": Backend.POOL, "dump.rtl": Backend.RTL, "dump.software": Backend.SOFTWARE}
SELECTS = {"select.pool": Backend.POOL, "select.rtl": Backend.RTL, "select.none": Backend.NONE}
FATAL = ("seq.illegal", "seq.bad_opcode")  # the sequencer stops on the word
KIND_LINES = {
    "decode.direct2d": Kind.DIRECT2D,
    "decode.indirect": Kind.INDIRECT,
    "decode.gather_transpose": Kind.GATHER_TRANSPOSE,
}


class Entry(NamedTuple):
    """One understood line: its number in the log, its format and its values."""

    line: int
    key: str
    args: tuple[Any, ...]
    cut: bool = False

    @property
    def stage(self) -> str:
        """The firmware stage."""
        return self.key.partition(".")[0]

    @property
    def fields(self) -> dict[str, Any]:
        """The values by name."""
        return name_fields(FORMATS[self.key], self.args)


class Entries(list[Entry]):
    """Lines that belong together."""

    def all(self, key: str) -> list[Entry]:
        """Every line of a format."""
        return [entry for entry in self if entry.key == key]

    def first(self, *keys: str) -> Entry | None:
        """The first line of any of the formats."""
        return next((entry for entry in self if entry.key in keys), None)

    def of_stage(self, stage: str) -> list[Entry]:
        """Every line of a stage."""
        return [entry for entry in self if entry.stage == stage]


@dataclass(frozen=True, slots=True)
class Context:
    """A context pair as the setup lines give it (pipeline 1.1); bases are 0 where their line is missing."""

    rx: int
    tx: int
    sw: int
    engine: int
    queue_idx: int
    queue_num: int
    rx_base: int = 0
    tx_base: int = 0


@dataclass(frozen=True, slots=True)
class Side:
    """One leg as the dump prints it: bracket, address, then (step, count) innermost first, padding included."""

    name: str
    bracket: int
    addr: int
    dims: tuple[tuple[int, int], ...]

    @property
    def count(self) -> int:
        """Elements of the printed dimensions."""
        total = 1
        for _, count in self.dims:
            total *= count
        return total


@dataclass(frozen=True, slots=True)
class Group:
    """GENERATEs of one channel and the DIMPUSHes behind them."""

    dma: int
    generates: tuple[Entry, ...]
    pushes: tuple[Entry, ...]

    def generated(self, leg: str) -> list[Entry]:
        """The GENERATEs of one leg, RD or WR."""
        return [entry for entry in self.generates if entry.args[1] == leg]

    @property
    def counts(self) -> tuple[tuple[int, int], ...]:
        """(source, destination) count of every DIMPUSH."""
        return tuple((entry.args[1], entry.args[2]) for entry in self.pushes)

    @property
    def steps(self) -> tuple[tuple[int, int], ...]:
        """(source, destination) step of every DIMPUSH."""
        return tuple((entry.args[3], entry.args[4]) for entry in self.pushes)


@dataclass(slots=True)
class Job:
    """What one Q7 processor did for one word."""

    processor: int
    lines: Entries = field(default_factory=Entries)

    @property
    def kind(self) -> Kind | None:
        """The kind that its dispatcher named; a transpose has no line."""
        return next((KIND_LINES[entry.key] for entry in self.lines if entry.key in KIND_LINES), None)

    @property
    def works(self) -> bool:
        """False for a job that is only the dispatcher's lines, as of a word that a hardware backend took."""
        return any(entry.stage != "decode" for entry in self.lines)


@dataclass(eq=False)
class Card:
    """One word as the log shows it."""

    number: int
    host: str
    context: Context | None = None
    lines: Entries = field(default_factory=Entries)
    jobs: list[Job] = field(default_factory=list)
    issues: list[Issue] = field(default_factory=list)
    is_last: bool = False

    @cached_property
    def dump(self) -> Entry | None:
        """The descriptor dump."""
        return self.lines.first(*DUMPS)

    @cached_property
    def pushes(self) -> list[Entry]:
        """The micro-ops, in order."""
        return self.lines.of_stage("push")

    @cached_property
    def failures(self) -> list[Entry]:
        """The lines of failed bounds."""
        return self.lines.all("bounds.failed")

    @cached_property
    def assessed(self) -> dict[str, Any]:
        """The values of the assessment; empty where the log has none."""
        entry = self.lines.first("reshape.pair", "reshape.simple")
        return entry.fields if entry is not None else {}

    @cached_property
    def analysis(self) -> list[dict[str, Any]]:
        """The values of the two analysis lines, source first."""
        return [entry.fields for entry in self.lines.all("reshape.analyzed")]

    @cached_property
    def tile(self) -> dict[str, Any]:
        """Rows, columns and element size of the tile of a transpose; empty where no line gives them."""
        own = self.lines.first("reshape.transpose", "reshape.indirect_transpose")
        jobs = (job.lines.first("spray.indirect_transpose", "spray.transpose") for job in self.jobs)
        entry = own or next((entry for entry in jobs if entry is not None), None)
        return entry.fields if entry is not None else {}

    @cached_property
    def backend(self) -> Backend:
        """Who took the word: the dump says, else the selection; pushes without either are the fast path."""
        if self.dump is not None:
            return DUMPS[self.dump.key]
        select = self.lines.first(*SELECTS)
        if select is not None:
            return SELECTS[select.key]
        if self.lines.first(*FATAL):
            return Backend.NONE
        if self.assessed or any(job.works for job in self.jobs):
            return Backend.SOFTWARE
        return Backend.FAST

    @cached_property
    def kind(self) -> Kind | None:
        """What kind of word it is: tile and kind lines say, else the kind number, in the model's numbering."""
        if self.lines.first("reshape.transpose") or (self.backend is Backend.FAST and self.pushes):
            return Kind.TRANSPOSE
        named = next((job.kind for job in self.jobs if job.kind is not None), None)
        if named is not None:
            return named
        number = self.assessed.get("Reshape Kind")
        if number is None and self.backend is Backend.SOFTWARE and self.dump is not None:
            number = self.dump.fields["reshape_kind"]
        if number is None:
            return self.kind_by_shape
        return Kind(number) if number in list(Kind) else None

    @cached_property
    def kind_by_shape(self) -> Kind | None:
        """The kind that a hardware dump suggests where the log names none: counts that change places transpose."""
        if self.assessed or self.sides is None or self.backend is Backend.SOFTWARE:
            return None
        src, dst = (tuple(count for _, count in side.dims) for side in self.sides)
        if src == dst:
            return Kind.DIRECT2D
        return Kind.TRANSPOSE if src[:2] == dst[1::-1] else Kind.DIRECT2D

    @cached_property
    def status(self) -> str:
        """`done`, `skipped` (a bound failed), `refused` (no backend, illegal word) or `open` (the log ends before)."""
        if self.lines.first(*FATAL, "select.none"):
            return "refused"
        if self.dump is not None or self.pushes:
            is_late = self.dump is not None and self.failures and self.failures[-1].line > self.dump.line
            return "skipped" if is_late and self.backend is not Backend.SOFTWARE else "done"
        return "skipped" if self.failures else "open"

    @cached_property
    def sides(self) -> tuple[Side, Side] | None:
        """Source and destination of the dump."""
        if self.dump is None:
            return None
        return _side("src", self.dump), _side("dst", self.dump)

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """The pushes in groups: GENERATEs, then DIMPUSHes."""
        return tuple(_groups(self.pushes))

    @cached_property
    def dmas(self) -> tuple[int, ...]:
        """The channels that were pushed to."""
        return tuple(dict.fromkeys(entry.args[0] for entry in self.pushes))

    def elem_sizes(self) -> dict[str, int]:
        """Bytes of one element of each leg whose GENERATE is shown: `src` from RD, `dst` from WR."""
        found: dict[str, int] = {}
        for entry in self.pushes:
            if entry.key == "push.generate":
                found.setdefault("src" if entry.args[1] == "RD" else "dst", entry.fields["elem_size"])
        return found

    def semaphore(self) -> tuple[int, int] | None:
        """Semaphore and increment as `$S[..]+=..` prints them; the number alone is also in every GENERATE."""
        entry = self.dump or self.lines.first("bounds.failed")
        return (entry.args[0], entry.args[1]) if entry is not None else None


def _side(name: str, dump: Entry) -> Side:
    values = dump.fields[name]
    dims = list(zip(values["step"], values["num"], strict=True))
    form = FORMS[DUMPS[dump.key]]
    # outer dimensions are printed before the inner ones (pipeline 7.4)
    return Side(name, values["bracket"], int(values["addr"], 16), tuple(dims[form.outer :] + dims[: form.outer]))


def _groups(pushes: list[Entry]) -> Iterator[Group]:
    generates: list[Entry] = []
    dims: list[Entry] = []
    for entry in pushes:
        if dims and (entry.key != "push.dimpush" or entry.args[0] != dims[-1].args[0]):
            yield Group(dims[0].args[0], tuple(generates), tuple(dims))
            generates, dims = [], []
        if entry.key == "push.generate":
            if generates and entry.args[0] != generates[-1].args[0]:
                yield Group(generates[0].args[0], tuple(generates), ())
                generates = []
            generates.append(entry)
        elif entry.key == "push.dimpush":
            dims.append(entry)
    if generates or dims:
        yield Group((dims or generates)[0].args[0], tuple(generates), tuple(dims))


@dataclass(slots=True)
class Explanation:
    """All that a log tells: its cards, the contexts it set up, findings that belong to no card, and the counts."""

    cards: list[Card] = field(default_factory=list)
    contexts: list[tuple[str, Context]] = field(default_factory=list)
    issues: list[Issue] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    other_formats: dict[str, int] = field(default_factory=dict)

    @property
    def all_issues(self) -> list[Issue]:
        """Every finding: those of the log, then those of the cards in order."""
        return [*self.issues, *(issue for card in self.cards for issue in card.issues)]

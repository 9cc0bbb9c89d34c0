"""Lines to cards: where a word begins and ends in the log of a sequencer, and which Q7 work belongs to it.

The log has no mark between two words. A word begins with its shape or analysis lines; where a log lacks them, with its
selection, its dump, or a push that cannot belong to the word before: channels ascend within a word, each is pushed to
once, and one semaphore is named throughout. The order of dump and pushes is not settled (pipeline 5.2), so both are
taken.
"""

from __future__ import annotations

from collections.abc import Iterable

from dgekit.explain.cards import DUMPS, FATAL, KIND_LINES, SELECTS, Card, Context, Entries, Entry, Explanation, Job
from dgekit.firmware.values import Backend
from dgekit.logs.parse import ParsedLine
from dgekit.words.enums import Opcode

_OPENING = ("shape", "reshape")
_DGE_OPCODES = frozenset({Opcode.DMAMEMCPY, Opcode.DMA_INDIRECT, Opcode.DMA_TRANSPOSE, Opcode.DMA_GATHER_TRANSPOSE})
_HARDWARE = (Backend.POOL, Backend.RTL)
_JOB_STAGES = frozenset({"decode", "spray", "indirection", "swdge", "doorbell", "bounds"})
_WORD_STAGES = frozenset({"shape", "reshape", "select", "dump", "push", "bounds"})


def rebuild(lines: Iterable[ParsedLine]) -> Explanation:
    """The cards of a log, of every host name and sequencer, in the order in which they begin."""
    found = Explanation(counts={"lines": 0, "understood": 0, "unknown": 0, "others": 0})
    sequencers: dict[str, _Sequencer] = {}
    processors: dict[tuple[str, int], _Processor] = {}
    for parsed in lines:
        found.counts["lines"] += 1
        if parsed.row is None:
            found.counts["unknown" if parsed.dialect else "others"] += 1
            continue
        found.counts["understood"] += 1
        entry = Entry(parsed.line, parsed.row.key, parsed.args, parsed.cut)
        if parsed.dialect == "S":
            taken = sequencers.setdefault(parsed.host, _Sequencer(parsed.host, found)).take(entry)
        elif parsed.dialect == "P":
            who = (parsed.host, parsed.processor)
            taken = processors.setdefault(who, _Processor(parsed.processor)).take(entry)
        else:
            taken = False
        if not taken:
            found.other_formats[entry.key] = found.other_formats.get(entry.key, 0) + 1
    for sequencer in sequencers.values():
        sequencer.close()
    _assign_jobs(found, processors)
    found.cards.sort(key=lambda card: card.lines[0].line)
    for number, card in enumerate(found.cards, 1):
        card.number = number
    return found


class _Sequencer:
    """The S: lines of one host name."""

    def __init__(self, host: str, found: Explanation) -> None:
        self._host = host
        self._found = found
        self._lines = Entries()
        self._contexts: dict[int, Context] = {}
        self._last: Card | None = None

    def take(self, entry: Entry) -> bool:
        """Put a line where it belongs; False for one that belongs to no word."""
        if entry.stage == "setup":
            self._set_up(entry)
            return True
        if entry.key in FATAL:
            if any(line.stage != "shape" for line in self._lines):
                self._end_word()
            self._lines.append(entry)
            self._end_word()
            return True
        if entry.key == "seq.dispatch":
            self._end_word()
        if entry.stage not in _WORD_STAGES:
            return False
        if entry.key == "dump.software" and self._has_lost_its_head():
            self._take_back()
        elif self._lines and _begins_word(entry, self._lines):
            self._end_word()
        self._lines.append(entry)
        return True

    def _has_lost_its_head(self) -> bool:
        """Pushes behind failed rows look like another word, until the dump behind them says that they are not."""
        last = self._last
        return (
            last is not None
            and bool(last.failures)
            and last.dump is None
            and not last.pushes
            and bool(self._lines)
            and all(entry.stage == "push" for entry in self._lines)
        )

    def _take_back(self) -> None:
        """Join the word before to the one at hand."""
        if self._last is not None:
            self._found.cards.remove(self._last)
            self._lines = Entries([*self._last.lines, *self._lines])
            self._last = None

    def close(self) -> None:
        """The end of the log."""
        self._end_word()
        if self._last is not None:
            self._last.is_last = True

    def _set_up(self, entry: Entry) -> None:
        self._end_word()
        if entry.key == "setup.contexts":
            context = Context(*entry.args)
            self._contexts[context.sw] = context
            self._found.contexts.append((self._host, context))
        elif entry.key == "setup.bases" and self._found.contexts and self._found.contexts[-1][0] == self._host:
            last = self._found.contexts[-1][1]
            context = Context(last.rx, last.tx, last.sw, last.engine, last.queue_idx, last.queue_num, *entry.args)
            self._contexts[context.sw] = context
            self._found.contexts[-1] = (self._host, context)

    def _end_word(self) -> None:
        if not self._lines:
            return
        card = Card(0, self._host, lines=self._lines)
        tier = int(card.backend is Backend.SOFTWARE)
        card.context = self._contexts.get(tier)
        self._found.cards.append(card)
        self._last, self._lines = card, Entries()


def _begins_word(entry: Entry, lines: Entries) -> bool:
    """Whether a line cannot belong to the word of `lines`."""
    if entry.stage == "push":
        return _push_begins_word(entry, lines)
    later = any(line.stage not in _OPENING for line in lines)
    if entry.stage == "shape":
        return later or any(line.stage == "reshape" for line in lines)
    if entry.key == "reshape.analyzed":
        return later or len(lines.all(entry.key)) == 2 or lines.first("reshape.pair", "reshape.simple") is not None
    if entry.stage == "reshape":
        return later or (entry.key in ("reshape.pair", "reshape.simple") and lines.first(entry.key) is not None)
    if entry.stage == "select":
        return later
    if entry.stage == "dump":
        selected = lines.first(*SELECTS)
        other = selected is not None and SELECTS[selected.key] is not DUMPS[entry.key]
        return lines.first(*DUMPS) is not None or other
    # bounds: a hardware word may fail behind its pushes, the rows of a software word fail before its dump
    dump = lines.first("dump.software")
    return entry.key == "bounds.failed" and dump is not None


def _push_begins_word(entry: Entry, lines: Entries) -> bool:
    pushed = lines.of_stage("push")
    dump = lines.first(*DUMPS)
    if not pushed:
        return dump is None and lines.first("bounds.failed", "select.none") is not None
    if dump is not None and dump.line > pushed[0].line and entry.key != "push.dimpush":
        return True
    dma, last = entry.args[0], pushed[-1]
    if dma < last.args[0]:
        return True
    if entry.key == "push.generate":
        earlier = next((line for line in pushed if line.key == "push.generate"), None)
        if earlier is not None and earlier.args[4] != entry.args[4]:
            return True
    starts_group = entry.key != "push.dimpush" and last.key == "push.dimpush"
    if not starts_group:
        return False
    if dma == last.args[0]:
        return dump is not None and lines.first("shape.num") is None
    assessed = lines.first("reshape.pair", "reshape.simple")
    return assessed is not None and len({line.args[0] for line in pushed}) >= int(assessed.args[-1])


class _Processor:
    """The P lines of one Q7 processor."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.jobs: list[Job] = []

    def take(self, entry: Entry) -> bool:
        """Put a line where it belongs; False for one that belongs to no word."""
        if entry.stage not in _JOB_STAGES or (entry.stage == "doorbell" and entry.key != "doorbell.trigger"):
            return False
        if entry.key == "decode.dispatch" and entry.args[-1] not in _DGE_OPCODES:
            return False
        if not self.jobs or self._begins_job(entry):
            self.jobs.append(Job(self.number))
        self.jobs[-1].lines.append(entry)
        return True

    def _begins_job(self, entry: Entry) -> bool:
        lines = self.jobs[-1].lines
        if entry.key == "decode.dispatch":
            return True
        if entry.key in KIND_LINES:
            return lines[-1].key != "decode.dispatch"
        return entry.key == "spray.info" and lines.first("swdge.generating", "doorbell.trigger") is not None


def _assign_jobs(found: Explanation, processors: dict[tuple[str, int], _Processor]) -> None:
    """Give the n-th piece of work of every processor to the n-th word that its host's software backend took."""
    for (host, _), processor in processors.items():
        cards = [card for card in found.cards if card.host == host]
        takers = [card for card in cards if card.backend is Backend.SOFTWARE and card.status == "done"]
        jobs = [job for job in processor.jobs if job.works]
        for card, job in zip(takers, jobs, strict=False):
            card.jobs.append(job)
        for job in jobs[len(takers) :]:
            orphan = Card(0, host, lines=Entries(job.lines), jobs=[job])
            found.cards.append(orphan)

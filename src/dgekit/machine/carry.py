"""Carry one prepared item through firmware, descriptors, rings and engines, and note what happened."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dgekit.cce.expand import expand
from dgekit.cce.work import ComputeWork, Work
from dgekit.core.errors import DgeError, InternalError, LoweringError
from dgekit.core.state import Availability, StateView
from dgekit.descriptors.batch import ChannelBatch, DescriptorBatch
from dgekit.descriptors.host import ring_slots, stamped
from dgekit.descriptors.semaphore import with_semaphore
from dgekit.firmware import notify
from dgekit.firmware.context import availability_of, channels, init_context, queue_of
from dgekit.firmware.decode import KIND_OF
from dgekit.firmware.outcome import Outcome
from dgekit.firmware.pipeline import run_word
from dgekit.firmware.values import Backend, Kind
from dgekit.machine.carry_remote import REMOTE_KINDS, run_remote
from dgekit.machine.prepare import Prepared, ReadyWord
from dgekit.machine.remote import RemoteCopier
from dgekit.machine.scheduler import is_met
from dgekit.patterns.runs import runs
from dgekit.transfers.access import access_walk, element_type
from dgekit.transfers.events import word_events
from dgekit.transfers.static import EngineIncrement, StaticPlan, static_work
from dgekit.transfers.transfer import RawWords, SemaphoreStep, Transfer, Update, Wait
from dgekit.transfers.values import Staging

if TYPE_CHECKING:
    from dgekit.machine.session import Session

OUT_QUEUE = "out"  # the queue type of a NEFF whose log shows the WR leg (D18)


class Carrier:
    """Runs the items of one session; remembers which context pairs have been set up."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._contexts: set[tuple[int, bool]] = set()  # core and tier
        self._copier = RemoteCopier(session.machine, session.fabric, session.choices)

    def carry(self, entry: Prepared) -> bool:
        """Run one item to its end; a DgeError becomes the result's refusal, and its updates are not made.

        Returns False when the engine's sequencer stopped on an illegal word (pipeline 6.2).
        """
        try:
            if entry.is_static:
                self._carry_static(entry)
            elif isinstance(entry.item, SemaphoreStep):
                self._carry_step(entry.item)
            else:
                self._carry_words(entry)
        except DgeError as error:
            entry.result.refuse(error.as_issue())
            return True
        if any(outcome.fatal for outcome in entry.result.outcomes):
            return False
        for update in entry.item.updates:
            self._update(update)
        return True

    def _carry_step(self, step: SemaphoreStep) -> None:
        """What an instruction of a compute engine leaves in memory."""
        session = self._session
        for write in step.writes:
            walk = access_walk(write.access, session.placement, session.generation, step.where or step.name)
            pieces = runs(walk)
            repeats = walk.nbytes // len(write.data)
            data = np.frombuffer(write.data, np.uint8)
            session.machine.memory.scatter(pieces.starts, pieces.lengths, np.tile(data, repeats))
            session.events.emit("memory", "write", tensor=write.access.tensor, address=walk.start, bytes=walk.nbytes)

    # through the firmware

    def _carry_words(self, entry: Prepared) -> None:
        for staging in entry.stagings:
            self._restage(staging)
        for number, ready in enumerate(entry.words):
            self._session.events.word = number
            updates = self._gate(entry, number, ready)
            remote = ready.word.kind in REMOTE_KINDS
            outcome = self._between_cores(entry, ready) if remote else self._firmware(entry, ready)
            entry.result.outcomes.append(outcome)
            self._session.notify(outcome.notifications)
            entry.result.issues += [issue for issue in outcome.issues if issue not in entry.result.issues]
            entry.result.backend = outcome.backend
            if outcome.status != "done":
                entry.result.status = outcome.status
                return
            if not remote:
                self._move(entry, outcome, ready)
            for update in updates:
                self._update(update)

    def _gate(self, entry: Prepared, number: int, ready: ReadyWord) -> tuple[Update, ...]:
        """The EVENTS of the later words of an item; those of the first are the item's own."""
        if not number or not isinstance(entry.item, RawWords):
            return ()
        waits, updates = word_events(ready.word.encode(), entry.result.where or entry.result.name, entry.core)
        self._require(entry, waits)
        return updates

    def _between_cores(self, entry: Prepared, ready: ReadyWord) -> Outcome:
        """A word that copies to another core: no DGE, the Q7 processors build and start the rings."""
        session = self._session
        state = session.state_for(entry.core, entry.registers)
        outcome, batch = run_remote(ready.word, state, session, self._copier)
        if batch is not None:
            entry.result.batches.append(batch)
        return outcome

    def _firmware(self, entry: Prepared, ready: ReadyWord) -> Outcome:
        session = self._session
        state = session.state_for(entry.core, entry.registers)
        availability = self._availability(entry, ready)
        self._set_up(state, availability.sw)
        return run_word(
            ready.word,
            state,
            availability,
            session.generation,
            session.choices,
            session.events,
            sem_increment=ready.sem_increment,
            is_out_queue=isinstance(entry.item, Transfer) and entry.item.queue_type == OUT_QUEUE,
        )

    def _availability(self, entry: Prepared, ready: ReadyWord) -> Availability:
        if not self._session.generation.has_selector or entry.result.mode == "none":
            return Availability()
        return availability_of(entry.result.mode, KIND_OF.get(ready.word.kind, Kind.DIRECT2D))

    def _set_up(self, state: StateView, sw: bool) -> None:
        """Bind the context pair of the tier once on each core, before its first word (pipeline 1.1)."""
        session = self._session
        if (state.core, sw) in self._contexts or not session.generation.has_push_model:
            return
        slot = sum(core == state.core for core, _ in self._contexts)
        self._contexts.add((state.core, sw))
        rings = session.machine.queue(channels(state, session.generation)[0], queue_of(state, slot), state.core)
        init_context(
            slot,
            state,
            session.generation,
            session.events,
            sw=sw,
            rx_base=rings.ring("S2M").base,
            tx_base=rings.ring("M2S").base,
        )

    def _restage(self, staging: Staging) -> None:
        """Move indices to where words can name them, in full view (D26)."""
        session = self._session
        pieces = runs(staging.source)
        data = session.machine.memory.gather(pieces.starts, pieces.lengths)
        session.machine.memory.write(staging.address, data)
        session.events.emit(
            "memory", "restage", source=staging.source.start, address=staging.address, bytes=len(data), why=staging.why
        )

    def _move(self, entry: Prepared, outcome: Outcome, ready: ReadyWord) -> None:
        """Expand, check every byte it touches, move, then complete."""
        session = self._session
        self._require(entry, outcome.waits)
        semaphore, increment = self._completion(entry, outcome, ready)
        per_engine = increment > 0 and session.choices.text("sem_mode") == "per_engine"
        work = self._in_forms(entry, outcome.work)
        data = self._expanded(entry, work, outcome.packet_bytes)
        batch = self._with_increment(data, semaphore, increment, entry.core) if per_engine else data
        self._execute(entry, batch)
        if entry.result.status != "done":
            return
        if increment and not per_engine:
            session.machine.apply_increment(semaphore, increment, session.events)
        for update in outcome.updates:
            self._update(update)
        self._notice(entry, data)

    def _require(self, entry: Prepared, waits: Iterable[Wait]) -> None:
        """Refuse a word whose own waits do not hold now: nothing else runs that could change that."""
        for wait in waits:
            if not is_met(wait, self._session.machine.memory.semaphores_of(wait.core)):
                raise LoweringError(
                    f"the word waits for semaphore {wait.semaphore} {wait.compare} {wait.value}, which does not hold",
                    rule="run.wait",
                    where=entry.result.where or entry.result.name,
                    values={"semaphore": wait.semaphore, "wants": wait.value},
                    fix="put the wait on the transfer",
                )

    def _notice(self, entry: Prepared, data: DescriptorBatch) -> None:
        """Tell the host that the word's data has moved, if the program asked for it (pipeline 6.5)."""
        session = self._session
        packets: Counter[int] = Counter()
        for channel in data.channels:
            packets[channel.dma] += len(channel.packets)
        state = session.state_for(entry.core, entry.registers)
        session.notify(notify.completed(packets, entry.item.engine, entry.core, state, session.generation))

    def _completion(self, entry: Prepared, outcome: Outcome, ready: ReadyWord) -> tuple[int, int]:
        """The semaphore and increment of a word; of a transfer's words only the last one counts (D4)."""
        pair = outcome.pair
        if pair is None or (isinstance(entry.item, Transfer) and not ready.sem_increment):
            return 0, 0
        return pair.semaphore, pair.sem_increment

    def _with_increment(self, batch: DescriptorBatch, semaphore: int, increment: int, core: int) -> DescriptorBatch:
        """A semaphore BD pair behind every channel's data (`sem_mode = per_engine`)."""
        pairs = self._session.increment_pairs([channel.dma for channel in batch.channels], semaphore, increment, core)
        return self._with_pairs(batch, pairs)

    # the host's own expansion

    def _carry_static(self, entry: Prepared) -> None:
        session, plan = self._session, entry.static
        if isinstance(entry.item, Transfer) and entry.item.indices is not None:
            plan = self._indexed_plan(entry, entry.item)
        if plan is None:
            raise InternalError(f"transfer {entry.result.name} has no static plan")
        entry.result.backend = Backend.STATIC
        if plan.stopped:
            entry.result.status = "skipped"
            return
        work = self._in_forms(entry, plan.work)
        batch = self._expanded(entry, work, session.choices.number("packet_bytes"))
        self._execute(entry, self._with_pairs(batch, plan.increments))

    def _indexed_plan(self, entry: Prepared, transfer: Transfer) -> StaticPlan:
        """The plan for the index values that memory holds now."""
        session = self._session
        plan = static_work(
            transfer,
            session.placement,
            session.generation,
            session.choices,
            indices=session.index_values(transfer),
            ordinals=session.ordinals,
        )
        entry.result.issues += plan.issues
        return plan

    # shared

    def _expanded(self, entry: Prepared, work: Iterable[Work], packet_bytes: int) -> DescriptorBatch:
        """The descriptors of the work; what it computes is noted."""
        session, listed = self._session, list(work)
        batch = expand(listed, session.generation, packet_bytes, session.choices, barrier_last=False)
        entry.result.computes += [item for item in listed if isinstance(item, ComputeWork)]
        return batch

    def _in_forms(self, entry: Prepared, work: Iterable[Work]) -> Iterable[Work]:
        """The work with the forms of E4M3 that its tensors have: a word has one code for both (D54)."""
        if not isinstance(entry.item, Transfer):
            return work
        src, dst = (
            element_type(access, self._session.placement[access.tensor]).fn
            for access in (entry.item.src, entry.item.dst)
        )
        return [_in_form(part, src, dst) for part in work] if src or dst else work

    def _with_pairs(self, batch: DescriptorBatch, pairs: Iterable[EngineIncrement]) -> DescriptorBatch:
        """The batch with semaphore packets; their value words are written first."""
        listed = list(pairs)
        for pair in listed:
            self._session.machine.memory.write(pair.value_address, pair.value.to_bytes(4, "little"))
        return with_semaphore(batch, [(pair.dma, pair.value_address, pair.inc_address) for pair in listed])

    def _execute(self, entry: Prepared, batch: DescriptorBatch) -> None:
        """Check every byte the batch touches, then move; a fault found by the check moves nothing."""
        machine = self._session.machine
        faults = machine.validate(batch)
        if faults:
            entry.result.status = "refused"
            entry.result.issues += faults
            return
        places = {id(channel): self._tails(channel, entry.core) for channel in batch.channels}
        stats = machine.execute(batch, self._session.events, entry.core)
        entry.result.lossy += stats.lossy
        entry.result.issues += [issue for issue in stats.issues if issue not in entry.result.issues]
        stored = tuple(self._stamped(channel, *places[id(channel)]) for channel in batch.channels)
        entry.result.batches.append(DescriptorBatch(stored))

    def _tails(self, channel: ChannelBatch, core: int) -> tuple[int, int]:
        """How many BDs each ring of the channel's queue has seen so far: M2S, S2M."""
        rings = self._session.machine.queue(channel.dma, channel.queue, core)
        return rings.m2s.tail, rings.s2m.tail

    def _stamped(self, channel: ChannelBatch, m2s_tail: int, s2m_tail: int) -> ChannelBatch:
        """The channel as its rings stored it: every BD with the ring id of its slot (D28)."""
        length = self._session.choices.number("ring_size")
        return replace(
            channel,
            m2s=stamped(channel.m2s, ring_slots(len(channel.m2s), m2s_tail, length)[1]),
            s2m=stamped(channel.s2m, ring_slots(len(channel.s2m), s2m_tail, length)[1]),
        )

    def _update(self, update: Update) -> None:
        semaphores = self._session.machine.memory.semaphores_of(update.core)
        if update.op == "write":
            semaphores.set(update.semaphore, update.value)
        else:
            semaphores.add(update.semaphore, update.value if update.op == "add" else -update.value)
        self._session.events.emit("completion", "update", semaphore=update.semaphore, op=update.op, value=update.value)


def _in_form(work: Work, src: bool, dst: bool) -> Work:
    """The work with its ends' forms of E4M3."""
    if isinstance(work, ComputeWork):
        return replace(work, packet=replace(work.packet, in_fn=src, out_fn=dst))
    return replace(work, in_fn=src, out_fn=dst)

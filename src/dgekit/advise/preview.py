"""One item lowered to the descriptors it would move, on a scratch device where nothing moves.

The device is the run's own, lowering and firmware included; only the last step, the execution of descriptors, is left
out. Items that leave index values in memory are the exception: they run, so that what reads the indices sees them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import replace
from typing import Any

from dgekit.core.choices import Choices
from dgekit.core.events import EventLog
from dgekit.descriptors.batch import DescriptorBatch
from dgekit.machine.carry import Carrier
from dgekit.machine.prepare import Lowering, Prepared, prepare
from dgekit.machine.session import Session
from dgekit.transfers.static import increment_ordinals
from dgekit.transfers.transfer import Access, Item, RawWords, SemaphoreStep, Transfer, Workload


class _Expander(Carrier):
    """Carries items as far as their descriptors: nothing is checked against memory, moved or signalled."""

    def _execute(self, entry: Prepared, batch: DescriptorBatch) -> None:
        entry.result.batches.append(batch)


class Preview:
    """A workload's scratch device; raises a DgeError where its tensors have no place."""

    def __init__(self, workload: Workload, choices: Choices | None = None) -> None:
        merged = {**workload.choices, **(choices.overrides() if choices is not None else {})}
        self.choices = Choices(merged)
        self.workload = workload
        self.session = Session(workload.generation, self.choices)
        self._live = live_tensors(workload)
        tensors = [tensor if tensor.name in self._live else replace(tensor, init="") for tensor in workload.tensors]
        arrays = {name: value for name, value in workload.arrays.items() if name in self._live}
        self.session.add_tensors(tensors, workload.base_dir, arrays)
        self.session.set_state(replace(workload.state, semaphores={}))
        self._expander = _Expander(self.session)
        self._mover = Carrier(self.session)
        self.known: dict[Hashable, Any] = {}  # what is known of transfers that are alike (advise.likeness)
        self._registers = frozenset(self.session.state_for(0, {}).registers)

    def items(self) -> Iterator[tuple[int, Item]]:
        """The program's items in order; when the next one is asked for, an item that indices depend on has run."""
        for number, item in enumerate(self.workload.items):
            yield number, item
            if writes(item) & self._live:
                self._mover.carry(self._prepared(item))

    def of(self, item: Item) -> Prepared:
        """An item with its result: outcomes, batches, status and issues, as a run would have them (bar its faults)."""
        entry = self._prepared(item)
        if entry.result.status != "refused":
            self._expander.carry(entry)
        return entry

    def _prepared(self, item: Item) -> Prepared:
        session = self.session
        session.events = EventLog()  # what the stages say is of no use here
        session.ordinals = increment_ordinals([item])
        lowering = Lowering(session.placement, session.generation, self.choices, session.ordinals, self._registers)
        return prepare(item, lowering)


def writes(item: Item) -> frozenset[str]:
    """The tensors an item leaves bytes in; a word given raw is not looked into."""
    match item:
        case Transfer():
            return frozenset({item.dst.tensor})
        case SemaphoreStep():
            return frozenset(write.access.tensor for write in item.writes)
    return frozenset()


def live_tensors(workload: Workload) -> frozenset[str]:
    """The tensors whose contents decide what moves: index tensors, and what their contents come from.

    A word given raw names no tensor, so that any may hold its indices.
    """
    items = workload.items
    if any(isinstance(item, RawWords) for item in items):
        return frozenset(tensor.name for tensor in workload.tensors)
    found = {item.indices.tensor for item in items if isinstance(item, Transfer) and item.indices is not None}
    for item in reversed(items):
        if isinstance(item, Transfer) and item.dst.tensor in found:
            found |= {access.tensor for access in reads(item)}
    return frozenset(found)


def reads(transfer: Transfer) -> tuple[Access, ...]:
    """What a transfer reads: its sources, and its indices."""
    sources = transfer.srcs or (transfer.src,)
    return sources if transfer.indices is None else (*sources, transfer.indices)

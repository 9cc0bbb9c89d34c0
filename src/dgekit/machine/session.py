"""A session: one device with its tensors, and the items that run on it.

The session owns the state; each item goes through `machine.carry`, which calls the pure stages with a snapshot.
A whole program is lowered before anything moves, so that a program that cannot be lowered changes no byte.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dgekit.core.choices import Choices
from dgekit.core.errors import DgeError, Issue
from dgekit.core.events import EventLog
from dgekit.core.evt_sem import PROGRAM_CORE, SEM_INC, register_address
from dgekit.core.generations import Generation
from dgekit.core.state import (
    REG_CARVEOUT,
    REG_DMA_CONFIG,
    REG_FEATURE_FLAGS,
    StateView,
)
from dgekit.descriptors.notification import ErrorRecord, decode_record
from dgekit.logs.render import render_log
from dgekit.machine.carry import Carrier
from dgekit.machine.contents import U8, as_array, dense_bytes, initial_bytes
from dgekit.machine.fabric import Fabric
from dgekit.machine.initial_state import checked_state
from dgekit.machine.machine import Machine
from dgekit.machine.notify import NotificationQueue
from dgekit.machine.prepare import NO_EFFECT, Lowering, Prepared, prepare
from dgekit.machine.results import RunResult, TensorResult, TransferResult
from dgekit.machine.scheduler import run_in_order
from dgekit.patterns.runs import runs
from dgekit.transfers.indices import index_walk
from dgekit.transfers.placement import Placed, Placement, place
from dgekit.transfers.request import open_request
from dgekit.transfers.static import EngineIncrement, increment_ordinals
from dgekit.transfers.transfer import Item, MachineInit, SemaphoreStep, Tensor, Transfer, Workload

NOTIFY_QUEUE_BYTES = 4096  # any power of two will do: the host drains after each record


class Session:
    """One device: memory, rings and registers, the tensors placed in it, and what has run so far."""

    def __init__(
        self,
        generation: Generation,
        choices: Choices | None = None,
        *,
        chip_id: int = 0,
        fabric: Fabric | None = None,
    ) -> None:
        """`chip_id` is the device's routing id in `fabric` (of which it is the only device unless one is given)."""
        self.generation = generation
        self.choices = choices if choices is not None else Choices()
        self.machine = Machine(generation, self.choices)
        self.chip_id = chip_id
        self.fabric = fabric if fabric is not None else Fabric()
        self.fabric.add(chip_id, self.machine)
        self.events = EventLog()
        self.placement: Placement = place((), generation)
        self.results: list[TransferResult] = []
        self.issues: list[Issue] = []
        self.ordinals: dict[int, int] = {}
        self.notifications: list[bytes] = []
        host = generation.address_map.host_base
        self._error_queue = NotificationQueue(host, NOTIFY_QUEUE_BYTES)
        self._notify_queue = NotificationQueue(host + NOTIFY_QUEUE_BYTES, NOTIFY_QUEUE_BYTES)
        self._state = StateView(memory=self.machine.memory)
        self._carrier = Carrier(self)

    # tensors

    def add_tensors(self, tensors: Iterable[Tensor], base_dir: Path | None, arrays: Mapping[str, Any]) -> None:
        """Place tensors behind those already there and fill them; raises a DgeError and then places none."""
        added = list(tensors)
        self.placement = self._extended(added)
        for tensor in added:
            self._fill(self.placement[tensor.name], initial_bytes(tensor, base_dir, arrays))

    def _extended(self, added: list[Tensor]) -> Placement:
        if not self.placement.placed:
            return place(added, self.generation)
        return place([*(_pinned(placed) for placed in self.placement.placed.values()), *added], self.generation)

    def _fill(self, placed: Placed, contents: U8 | None) -> None:
        memory = self.machine.memory
        if not placed.in_sbuf:
            data = placed.tensor.nbytes if contents is None else contents
            memory.add(placed.address, data, placed.tensor.name)
        elif contents is not None:
            starts, lengths, picked = self._pieces(placed)
            memory.scatter(starts, lengths, contents if picked is None else contents[picked])

    def _pieces(self, placed: Placed) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[Any] | None]:
        """Where the dense bytes lie; the index into them when a linear tensor has bytes outside the partitions."""
        rows = placed.rows(self.generation.active_bytes)
        starts, offsets, lengths = (np.array(column, np.int64) for column in zip(*rows, strict=True))
        if int(lengths.sum()) == placed.tensor.nbytes:
            return starts, lengths, None
        picked = np.concatenate([np.arange(o, o + n) for o, n in zip(offsets.tolist(), lengths.tolist(), strict=True)])
        return starts, lengths, picked

    def tensor_bytes(self, name: str) -> U8:
        """The dense bytes of a tensor as memory holds them now (inactive bytes of a linear tensor read as 0)."""
        placed = self.placement.find(name)
        if not placed.in_sbuf:
            return self.machine.memory.view(placed.address, placed.tensor.nbytes)
        starts, lengths, picked = self._pieces(placed)
        data = self.machine.memory.peek(starts, lengths)
        if picked is None:
            return data
        dense = np.zeros(placed.tensor.nbytes, np.uint8)
        dense[picked] = data
        return dense

    def tensor_array(self, name: str, *, for_file: bool = False) -> npt.NDArray[Any]:
        """A copy of a tensor as an array of its shape."""
        data = self.tensor_bytes(name).copy()
        return as_array(data, self.placement[name].tensor, for_file=for_file)

    def store_array(self, name: str, array: npt.NDArray[Any]) -> None:
        """Overwrite a tensor's contents; raises InputError when shape or type do not fit."""
        placed = self.placement.find(name)
        contents = dense_bytes(array, placed.tensor)
        starts, lengths, picked = self._pieces(placed)
        self.machine.memory.scatter(starts, lengths, contents if picked is None else contents[picked])

    # state

    def set_state(self, init: MachineInit) -> None:
        """Set registers, shapes, tables and semaphores (D41); raises LoweringError and then sets nothing."""
        init = checked_state(init, self.choices)
        state, local, table = self._state, init.local_registers, self._table(init.address_table)
        shapes = list(state.shape_registers)
        for index, register in init.shape_registers.items():
            shapes[index] = register
        self._state = replace(
            state,
            registers={**state.registers, **init.registers},
            shape_registers=tuple(shapes),
            address_table={**state.address_table, **table},
            feature_flags=local.get(REG_FEATURE_FLAGS, state.feature_flags),
            carveout=local.get(REG_CARVEOUT, state.carveout),
            dma_config=local.get(REG_DMA_CONFIG, state.dma_config),
            mailboxes=init.mailboxes or state.mailboxes,
            priority_bytes=init.priority_bytes or state.priority_bytes,
        )
        for semaphore, value in init.semaphores.items():
            self.machine.semaphores.set(semaphore, value)

    def _table(self, entries: Mapping[int, int | str]) -> dict[int, int]:
        return {
            entry: self.placement.find(value).address if isinstance(value, str) else value
            for entry, value in entries.items()
        }

    def state_for(self, core: int, registers: Mapping[int, int]) -> StateView:
        """A snapshot for one word: the session's state, with `registers` loaded on top."""
        return replace(self._state, registers={**self._state.registers, **registers}, core=core)

    def index_values(self, transfer: Transfer) -> list[int]:
        """The u32 indices of a transfer as memory holds them now."""
        walk = index_walk(open_request(transfer, self.placement, self.generation, self.choices))[1]
        pieces = runs(walk)
        return list(np.frombuffer(self.machine.memory.gather(pieces.starts, pieces.lengths).tobytes(), "<u4").tolist())

    def increment_word(self, dma: int, increment: int, core: int) -> int:
        """The address of the word that holds an engine's increment, one for each distinct increment (D33)."""
        ordinal = self.ordinals.setdefault(increment, len(self.ordinals))
        return self.placement.semaphore_word_address(dma, ordinal, core)

    def increment_pairs(self, dmas: Iterable[int], semaphore: int, increment: int, core: int) -> list[EngineIncrement]:
        """A semaphore pair for each engine, with a value word of its own for each distinct increment (D33)."""
        inc = register_address(self.generation, PROGRAM_CORE, SEM_INC, semaphore)
        return [EngineIncrement(dma, self.increment_word(dma, increment, core), inc, increment) for dma in dmas]

    def _core_semaphores(self) -> dict[int, dict[int, int]]:
        """What legs between cores have counted elsewhere than on core 0, by core."""
        cores = range(1, self.generation.cores)
        found = {core: self.machine.memory.semaphores_of(core).nonzero() for core in cores}
        return {core: values for core, values in found.items() if values}

    def notify(self, records: Iterable[bytes]) -> None:
        """Send records to their queue, errors or explicit notices, which the host drains at once (pipeline 6.5)."""
        for record in records:
            queue = self._error_queue if isinstance(decode_record(record), ErrorRecord) else self._notify_queue
            queue.push(record)
            self.notifications += queue.drain()

    # running

    def run_items(self, items: Iterable[Item]) -> list[TransferResult]:
        """Lower every item, then run them in stream order; returns the results of the transfers in program order."""
        listed = list(items)
        first = len(self.results)
        self.ordinals = increment_ordinals(listed)
        lowering = Lowering(
            self.placement, self.generation, self.choices, self.ordinals, frozenset(self._state.registers)
        )
        prepared = {first + n: prepare(item, lowering) for n, item in enumerate(listed)}
        for index, entry in prepared.items():
            entry.result.index = index
            self.results.append(entry.result)
        if any(entry.result.status == "refused" for entry in prepared.values()):
            _hold_back(prepared)
        else:
            self._run_prepared(listed, prepared, first)
        return [entry.result for entry in prepared.values() if not isinstance(entry.item, SemaphoreStep)]

    def _run_prepared(self, items: list[Item], prepared: dict[int, Prepared], first: int) -> None:
        started: set[int] = set()

        def run_one(index: int, item: Item) -> bool:
            started.add(first + index)
            self.events.transfer, self.events.word = first + index, -1
            return self._carrier.carry(prepared[first + index])

        try:
            run_in_order(items, self.machine.memory.semaphores_of, run_one)
        except DgeError as stuck:
            self.issues.append(stuck.as_issue())
        finally:
            self.events.transfer = self.events.word = -1
        for index, entry in prepared.items():
            if index not in started:
                entry.result.status = "skipped"
                entry.result.issues.append(_never_ran(entry.item))

    def finish(self) -> RunResult:
        """What the run left behind, up to now."""
        tensors = {
            name: TensorResult(placed.tensor, hashlib.sha256(self.tensor_bytes(name).data).hexdigest())
            for name, placed in self.placement.placed.items()
        }
        log = tuple(render_log(self.events, self.generation, self.choices))
        return RunResult(
            generation=self.generation,
            choices=self.choices.used(),
            transfers=tuple(result for result in self.results if result.kind != NO_EFFECT),
            semaphores=self.machine.semaphores.nonzero(),
            core_semaphores=self._core_semaphores(),
            tensors=tensors,
            events=self.events,
            log=log,
            issues=tuple(self.issues),
            notifications=tuple(self.notifications),
        )


def run_workload(workload: Workload, choices: Choices | None = None) -> tuple[RunResult, Session]:
    """Run a whole workload on a fresh device; `choices` win over the workload's own."""
    merged = Choices({**workload.choices, **(choices.overrides() if choices is not None else {})})
    session = Session(workload.generation, merged, chip_id=workload.state.chip_id)
    session.issues += workload.issues
    session.add_tensors(workload.tensors, workload.base_dir, workload.arrays)
    session.set_state(workload.state)
    session.run_items(workload.items)
    return session.finish(), session


def _hold_back(prepared: dict[int, Prepared]) -> None:
    """Mark everything that could have run as skipped: a refused program changes no byte."""
    refused = [entry.result.name for entry in prepared.values() if entry.result.status == "refused"]
    for entry in prepared.values():
        if entry.result.status != "refused":
            entry.result.status = "skipped"
            entry.result.issues.append(
                Issue(
                    "run.refused",
                    "advice",
                    f"not run, because the program was refused ({', '.join(refused)})",
                    entry.result.where or entry.result.name,
                )
            )


def _never_ran(item: Item) -> Issue:
    return Issue(
        "run.not_reached",
        "advice",
        f"never ran: engine {item.engine} was held up, or stopped on an illegal word",
        item.where or item.name,
        {"engine": item.engine},
    )


def _pinned(placed: Placed) -> Tensor:
    """The tensor with its present place pinned, so that placing others does not move it."""
    if placed.in_sbuf:
        return replace(placed.tensor, partition=placed.partition, offset=placed.offset, var_id=placed.var_id)
    return replace(placed.tensor, address=placed.address, var_id=placed.var_id)

"""A change of a program: other items in the place of some, with the tensors they need; and what it does to the time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from dgekit.advise.calls import call_of_transfer
from dgekit.advise.cost import Band
from dgekit.advise.predict import Predicted, Prediction, predicted, step_of, time_of
from dgekit.advise.preview import Preview, reads
from dgekit.advise.ring_bytes import RingBytes
from dgekit.advise.timeline import Step
from dgekit.advise.verdict import judge_call
from dgekit.core.choices import Choices
from dgekit.core.errors import DgeError
from dgekit.transfers.call import Call
from dgekit.transfers.transfer import Item, Tensor, Transfer, Workload


@dataclass(frozen=True, slots=True)
class Change:
    """`items` stand in the place of the items with those numbers (none: the item is left out); `tensors` are new.

    `merged` says in whose place the transfer stands that an item has become part of.
    """

    items: Mapping[int, tuple[Transfer, ...]]
    tensors: tuple[Tensor, ...] = ()
    merged: Mapping[int, int] = field(default_factory=dict)

    def applied(self, workload: Workload) -> Workload:
        """The program with the change made.

        A new tensor stands beside the old one: what else used the old one is left as it was.
        """
        items: list[Item] = []
        for number, item in enumerate(workload.items):
            items += self.items.get(number, (item,))
        return replace(workload, tensors=(*workload.tensors, *self.tensors), items=tuple(items))

    def joined(self, other: Change) -> Change:
        """Both changes, of different items."""
        tensors, merged = (*self.tensors, *other.tensors), {**self.merged, **other.merged}
        return Change({**self.items, **other.items}, tensors, merged)


@dataclass(frozen=True, slots=True)
class Effect:
    """What a change leads to: the program's time, and the ring memory of static expansion it adds."""

    time_ns: Band
    rings: RingBytes
    rows: Mapping[int, tuple[Predicted, ...]] = field(default_factory=dict)


def effect_of(change: Change, prediction: Prediction, choices: Choices) -> Effect | None:
    """The program's time with a change, whose items only are lowered again; None where one is illegal or refused."""
    workload = prediction.workload
    needed = _needed(change, workload)
    rows: dict[int, tuple[Predicted, ...]] = {}
    try:
        if not _legal(needed):
            return None
        preview = Preview(needed, choices)
        for number, items in change.items.items():
            rows[number] = tuple(predicted(item, preview, number) for item in items)
    except DgeError:
        return None
    if not all(row.works for group in rows.values() for row in group):
        return None
    steps = _steps(prediction.steps, rows, change.merged)
    time = time_of(steps, prediction.generation, workload.state.semaphores)
    if time is None:
        return None
    return Effect(time, sum((row.rings for group in rows.values() for row in group), RingBytes()), rows)


def _legal(workload: Workload) -> bool:
    """True when the rules allow every transfer in its mode; calls that differ in their lines only are judged once."""
    tensors = {tensor.name: tensor for tensor in workload.tensors}
    judged: dict[tuple[Call, str], bool] = {}
    for item in workload.items:
        call = call_of_transfer(item, tensors, workload.generation) if isinstance(item, Transfer) else None
        if call is None or not isinstance(item, Transfer):
            continue
        authored = item.call is not None
        key = (replace(call, line=""), item.mode)
        if key not in judged:
            mode = call.dge_mode if authored else item.mode
            judged[key] = judge_call(call, workload.generation, requested=mode, authored=authored).legal
    return all(judged.values())


def _needed(change: Change, workload: Workload) -> Workload:
    """The workload of the changed items alone, with the tensors they name."""
    items = tuple(item for group in change.items.values() for item in group)
    names = {access.tensor for item in items for access in (*reads(item), item.dst)}
    tensors = tuple(tensor for tensor in (*workload.tensors, *change.tensors) if tensor.name in names)
    return replace(workload, tensors=tensors, items=items)


def _steps(steps: Sequence[Step], rows: Mapping[int, tuple[Predicted, ...]], merged: Mapping[int, int]) -> list[Step]:
    """The steps of the changed program; who needed an item needs the last one that stands in its place.

    A merged transfer needs what its parts needed, bar what now comes behind it (a tile that is no longer reused).
    """
    needs: dict[int, set[int]] = {}
    for number, step in enumerate(steps):
        needs.setdefault(merged.get(number, number), set()).update(step.after)
    places: dict[int, int] = {}
    found: list[Step] = []
    for number, step in enumerate(steps):
        group = rows.get(number)
        after = tuple(needs.get(number, ()))
        if group is None:
            found.append(replace(step, after=after))
        else:
            found += [step_of(row, after if n == 0 else ()) for n, row in enumerate(group)]
        places[number] = len(found) - 1
    at = {number: places[merged.get(number, number)] for number in places}
    return [
        replace(step, after=tuple(sorted({at[n] for n in step.after if at[n] < place})))
        for place, step in enumerate(found)
    ]

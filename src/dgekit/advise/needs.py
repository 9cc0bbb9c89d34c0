"""Which earlier transfers a kernel's transfer must wait for, because they touch the same bytes (decision D53).

A kernel says nothing of semaphores: its compiler puts a wait wherever two calls share bytes and one writes them.
Programs that name their waits themselves are left as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from dgekit.advise.preview import reads
from dgekit.core.errors import DgeError
from dgekit.core.generations import Generation
from dgekit.machine.overlap import shared_between
from dgekit.patterns.runs import Runs, runs
from dgekit.patterns.walk import Walk
from dgekit.transfers.access import access_walk
from dgekit.transfers.placement import Placement
from dgekit.transfers.transfer import Access, Item, RawWords, SemaphoreStep

_RUNS = 4096  # patterns of more runs are compared by their first and last byte
_LOOK = 256  # earlier uses of a tensor looked at


@dataclass(frozen=True, slots=True)
class _Use:
    """One earlier use of a tensor's bytes."""

    step: int
    writes: bool
    span: tuple[int, int]
    walk: Walk


@dataclass(slots=True)
class Needs:
    """Remembers the uses of tensors, item by item."""

    placement: Placement
    generation: Generation
    _uses: dict[str, list[_Use]] = field(default_factory=dict)
    _cut: dict[int, Runs] = field(default_factory=dict)

    def of(self, number: int, item: Item) -> tuple[int, ...]:
        """The earlier steps that item `number` needs; nothing for items that are not a kernel's calls."""
        if isinstance(item, RawWords | SemaphoreStep) or item.call is None:
            return ()
        found: set[int] = set()
        for access, writing in [*((access, False) for access in reads(item)), (item.dst, True)]:
            use = self._use(number, access, writing)
            if use is None:
                continue
            earlier = self._uses.setdefault(access.tensor, [])
            found |= {other.step for other in earlier[-_LOOK:] if other.step != number and self._meet(use, other)}
            earlier.append(use)
        return tuple(sorted(found))

    def _use(self, number: int, access: Access, writing: bool) -> _Use | None:
        try:
            walk = access_walk(access, self.placement, self.generation)
        except DgeError:
            return None  # said where the transfer is lowered
        return _Use(number, writing, walk.span(), walk)

    def _meet(self, one: _Use, other: _Use) -> bool:
        if not (one.writes or other.writes) or one.span[0] >= other.span[1] or other.span[0] >= one.span[1]:
            return False
        if max(one.walk.count, other.walk.count) > _RUNS:
            return True
        a, b = runs(one.walk), runs(other.walk)
        return shared_between(a.starts, a.lengths, b.starts, b.lengths) is not None

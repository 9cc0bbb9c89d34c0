"""Streams in order, one an engine, held up by waits (D43, D53)."""

from __future__ import annotations

import pytest

from dgekit.core.errors import Deadlock
from dgekit.machine.scheduler import is_met, run_in_order
from dgekit.machine.semaphores import Semaphores
from dgekit.transfers.transfer import SemaphoreStep, Update, Wait


def step(name: str, engine: str = "pool", *wait: Wait, adds: int | None = None) -> SemaphoreStep:
    """An item that waits, and adds 1 to semaphore `adds` when it runs."""
    return SemaphoreStep(name, wait, () if adds is None else (Update(adds, "add", 1),), engine)


class Recorder:
    """Runs items as the carrier would: their updates are made, and names listed in order."""

    def __init__(self, *, illegal: tuple[str, ...] = (), **start: int) -> None:
        self.semaphores = Semaphores()
        self.ran: list[str] = []
        self._illegal = illegal
        for name, value in start.items():
            self.semaphores.set(int(name[1:]), value)

    def __call__(self, index: int, item: SemaphoreStep) -> bool:
        self.ran.append(item.name)
        for update in item.updates:
            self.semaphores.add(update.semaphore, update.value)
        return item.name not in self._illegal

    def run(self, *items: SemaphoreStep) -> list[str]:
        run_in_order(items, lambda core: self.semaphores, self)
        return self.ran


@pytest.mark.parametrize(
    ("compare", "met"),
    [("ge", (False, True, True)), ("gt", (False, False, True)), ("eq", (False, True, False)),
     ("le", (True, True, False)), ("lt", (True, False, False))],
)  # fmt: skip
def test_every_comparison(compare: str, met: tuple[bool, ...]) -> None:
    semaphores = Recorder().semaphores
    for value, expected in zip((4, 5, 6), met, strict=True):
        semaphores.set(3, value)
        assert is_met(Wait(3, 5, compare), semaphores) is expected  # type: ignore[arg-type]


def test_ready_heads_go_in_program_order() -> None:
    assert Recorder().run(step("a", "act"), step("b"), step("c", "act"), step("d", "sp")) == ["a", "b", "c", "d"]


def test_a_held_up_head_holds_its_own_stream_only() -> None:
    items = (step("a1", "act", Wait(1, 2)), step("a2", "act"), step("p1", adds=1), step("p2"), step("p3", adds=1))
    assert Recorder().run(*items) == ["p1", "p2", "p3", "a1", "a2"]


def test_a_decrementing_wait_consumes_what_it_waited_for() -> None:
    """Two consumers, one token at a time: D53's `decrement`."""
    take = Wait(1, 2, decrement=True)
    recorder = Recorder(s1=5)
    recorder.run(step("a", "act", take), step("b", "act", take))
    assert recorder.semaphores.read(1) == 1
    with pytest.raises(Deadlock):
        recorder.run(step("c", "act", take))
    assert recorder.semaphores.read(1) == 1  # a wait that does not hold takes nothing


def test_all_waits_of_an_item_must_hold() -> None:
    items = (step("a", "act", Wait(1, 1), Wait(2, 1)), step("b", adds=1), step("c", "sp", Wait(1, 1), adds=2))
    assert Recorder().run(*items) == ["b", "c", "a"]


def test_an_illegal_word_stops_its_engine() -> None:
    items = (step("a"), step("b"), step("c", "act"))
    assert Recorder(illegal=("a",)).run(*items) == ["a", "c"]


def test_a_deadlock_names_every_edge() -> None:
    """Two streams that wait for each other: the graph has both, with what is wanted and what is there."""
    recorder = Recorder(s7=1)
    items = (
        step("first"),
        step("left", "pool", Wait(7, 2), Wait(0, 0), adds=8),
        step("right", "act", Wait(8, 1, "eq"), adds=7),
        step("behind", "act"),
    )
    with pytest.raises(Deadlock) as caught:
        recorder.run(*items)
    assert caught.value.rule == "run.deadlock" and recorder.ran == ["first"]
    assert caught.value.values["waits"] == [
        {"engine": "pool", "item": "left", "semaphore": 7, "compare": "ge", "wants": 2, "has": 1},
        {"engine": "act", "item": "right", "semaphore": 8, "compare": "eq", "wants": 1, "has": 0},
    ]
    for part in ("left on pool", "semaphore 7 ge 2 (it is 1)", "right on act"):
        assert part in caught.value.message

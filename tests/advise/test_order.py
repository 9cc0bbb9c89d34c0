"""Order by semaphores against every execution of small programs, and the cases that are easy to get wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from hypothesis import given, settings
from hypothesis import strategies as st

from dgekit.advise.order import Order
from dgekit.core.generations import CAYMAN
from dgekit.transfers.transfer import (
    Access,
    Item,
    MachineInit,
    RawWords,
    SemaphoreStep,
    Transfer,
    Update,
    Wait,
    Workload,
)
from dgekit.words.structs import DmaDirect2D


def move(name: str, engine: str = "pool", queue: str = "", **more: object) -> Transfer:
    return Transfer(name, "copy", Access("x"), Access("y"), engine=engine, queue=queue, **more)  # type: ignore[arg-type]


def order(*items: Item, **more: object) -> Order:
    return Order(Workload(CAYMAN, (), items, **more))  # type: ignore[arg-type]


# cases


def test_one_queue_of_one_engine_is_an_order_and_two_queues_are_none() -> None:
    same = order(move("a"), move("b"))
    assert (same.before(0, 1), same.before(1, 0)) == (True, False)
    two = order(move("a", queue="q1"), move("b", queue="q2"))
    assert not two.before(0, 1) and not two.before(1, 0)
    assert not order(move("a"), move("b", engine="act")).before(0, 1)
    assert not order(move("a", mode="hwdge"), move("b", mode="swdge")).before(0, 1)  # D84: two queues


def test_a_step_does_not_wait_for_the_queue_it_feeds() -> None:
    """The second load starts behind the first, but the instruction after both is issued at once."""
    program = order(move("load0"), move("load1"), SemaphoreStep("use"), move("store", queue="other"))
    assert program.before(0, 1)
    assert not program.before(0, 2) and not program.before(1, 2) and not program.before(0, 3)
    assert program.before(2, 3)  # instructions of an engine are done in order


def test_a_wait_orders_only_what_it_cannot_do_without() -> None:
    loads = (move("a", engine="sp", semaphore=3), move("b", engine="act", semaphore=3))
    one = order(*loads, move("c", wait=(Wait(3, 1),)))
    assert not one.before(0, 2) and not one.before(1, 2)
    both = order(*loads, move("c", wait=(Wait(3, 2),)))
    assert both.before(0, 2) and both.before(1, 2)
    more = order(*loads, move("c", wait=(Wait(3, 1, "gt"),)))
    assert more.before(0, 2) and more.before(1, 2)
    started = order(*loads, move("c", wait=(Wait(3, 2),)), state=MachineInit(semaphores={3: 1}))
    assert not started.before(0, 2)


def test_a_wait_for_less_is_no_order() -> None:
    assert not order(move("a", semaphore=3), move("b", engine="act", wait=(Wait(3, 1, "lt"),))).before(0, 1)
    assert order(move("a", semaphore=3), move("b", engine="act", wait=(Wait(3, 1, "eq"),))).before(0, 1)


def test_a_static_transfer_counts_engine_by_engine() -> None:
    """16 increments of 1: a wait for 15 may hold while the last engine still moves (D33)."""
    for value, ordered in ((15, False), (16, True)):
        program = order(move("load", mode="none", semaphore=3), move("use", engine="act", wait=(Wait(3, value),)))
        assert program.before(0, 1) is ordered
    # two loads: an engine that lags holds back both of its pieces
    loads = [move(f"load{n}", mode="none", semaphore=3) for n in range(2)]
    for value, first, second in ((16, False, False), (30, False, False), (31, True, False), (32, True, True)):
        program = order(*loads, move("use", engine="act", wait=(Wait(3, value),)))
        assert (program.before(0, 2), program.before(1, 2)) == (first, second), value


def test_a_dge_transfer_that_counts_by_engine() -> None:
    for value, ordered in ((1, False), (16, True)):
        items = (move("load", semaphore=3), move("use", engine="act", wait=(Wait(3, value),)))
        assert order(*items, choices={"sem_mode": "per_engine"}).before(0, 1) is ordered


def test_a_neff_queue_set_counts_its_queues() -> None:
    load = move("load", mode="none", semaphore=3, num_queues=4, increment=4)
    assert order(load, move("use", engine="act", wait=(Wait(3, 4),))).before(0, 1)
    assert not order(load, move("use", engine="act", wait=(Wait(3, 3),))).before(0, 1)


def test_what_comes_later_cannot_have_helped() -> None:
    """The second load waits for the store, so the store's wait was for the first one."""
    program = order(
        move("load0", queue="q0", semaphore=1),
        move("load1", queue="q1", semaphore=1, wait=(Wait(2, 1),)),
        move("store", engine="act", semaphore=2, wait=(Wait(1, 1),)),
    )
    assert program.before(0, 2) and program.before(2, 1)


def test_a_wait_that_takes_off_again() -> None:
    def program(decrement: bool) -> Order:
        return order(
            move("a", engine="sp", queue="q0", semaphore=1),
            move("b", engine="pe", queue="q1", semaphore=1, wait=(Wait(2, 1),)),
            move("c", engine="act", semaphore=2, wait=(Wait(1, 1, decrement=decrement),)),
            move("d", engine="act", queue="q2", wait=(Wait(1, 1),)),
        )

    assert program(True).before(1, 3) and not program(False).before(1, 3)


def test_updates_of_instructions_count_and_written_values_may_satisfy() -> None:
    step = SemaphoreStep("step", updates=(Update(5, "add", 2),))
    assert order(step, move("a", engine="act", wait=(Wait(5, 2),))).before(0, 1)
    written = SemaphoreStep("set", engine="pe", updates=(Update(5, "write", 2),))
    assert not order(step, written, move("a", engine="act", wait=(Wait(5, 2),))).before(0, 2)


def test_words_name_their_semaphore_themselves() -> None:
    raw = RawWords("w", DmaDirect2D(semaphore=7, sem_increment=2).encode())
    assert order(raw, move("a", engine="act", wait=(Wait(7, 2),))).before(0, 1)


def test_a_program_that_never_runs_still_has_an_order() -> None:
    stuck = order(move("a", wait=(Wait(9, 1),)), move("b"), move("c", engine="act", wait=(Wait(999, 1),)))
    assert stuck.before(0, 1)


# every execution of small programs

ENGINES, QUEUES, SEMAPHORES = ("sp", "act"), ("q0", "q1"), (0, 1)


@st.composite
def programs(draw: st.DrawFn) -> tuple[Item, ...]:
    items: list[Item] = []
    for n in range(draw(st.integers(2, 6))):
        engine = draw(st.sampled_from(ENGINES))
        waits = draw(
            st.lists(
                st.builds(
                    Wait,
                    st.sampled_from(SEMAPHORES),
                    st.integers(1, 3),
                    st.sampled_from(["ge", "gt", "eq"]),
                    st.booleans(),
                ),
                max_size=1,
            )
        )
        semaphore = draw(st.none() | st.sampled_from(SEMAPHORES))
        if draw(st.integers(0, 3)):
            queue = draw(st.sampled_from(QUEUES))
            items.append(move(f"i{n}", engine, queue, semaphore=semaphore, wait=tuple(waits)))
        else:
            updates = () if semaphore is None else (Update(semaphore, "add", 1),)
            items.append(SemaphoreStep(f"i{n}", tuple(waits), updates, engine))
    return tuple(items)


State = tuple[tuple[bool, ...], tuple[bool, ...], tuple[int, ...]]  # issued, done, semaphores


class Machine:
    """The plain model: an engine issues in order; a queue finishes in order; an instruction is done before the next."""

    def __init__(self, items: Sequence[Item]) -> None:
        self.items = items

    def earlier(self, i: int, same_queue: bool) -> list[int]:
        mine = self.items[i]
        return [
            k
            for k in range(i)
            if self.items[k].engine == mine.engine
            and (not same_queue or getattr(self.items[k], "queue", None) == getattr(mine, "queue", None))
        ]

    def can_issue(self, i: int, state: State) -> bool:
        issued, done, values = state
        before = self.earlier(i, same_queue=False)
        ready = all(issued[k] and (done[k] or isinstance(self.items[k], Transfer)) for k in before)
        return not issued[i] and ready and all(holds(wait, values[wait.semaphore]) for wait in self.items[i].wait)

    def can_move(self, i: int, state: State) -> bool:
        return state[0][i] and not state[1][i] and all(state[1][k] for k in self.earlier(i, same_queue=True))

    def steps(self, state: State) -> Iterator[State]:
        for i, item in enumerate(self.items):
            issued, done, values = (list(part) for part in state)
            if self.can_issue(i, state):
                issued[i] = True
                for wait in item.wait:
                    values[wait.semaphore] -= wait.value * wait.decrement
            elif self.can_move(i, state):
                done[i] = True
                if isinstance(item, Transfer) and item.semaphore is not None:
                    values[item.semaphore] += item.increment
                for update in item.updates:
                    values[update.semaphore] += update.value
            else:
                continue
            yield tuple(issued), tuple(done), tuple(values)  # type: ignore[misc]


def holds(wait: Wait, value: int) -> bool:
    return {"ge": value >= wait.value, "gt": value > wait.value, "eq": value == wait.value}[wait.compare]


@cache
def reachable(items: tuple[Item, ...]) -> frozenset[State]:
    machine = Machine(items)
    start: State = ((False,) * len(items), (False,) * len(items), (0,) * len(SEMAPHORES))
    seen, waiting = {start}, [start]
    while waiting:
        for following in machine.steps(waiting.pop()):
            if following not in seen:
                seen.add(following)
                waiting.append(following)
    return frozenset(seen)


@settings(max_examples=60, deadline=None)
@given(programs())
def test_what_is_claimed_holds_in_every_execution(items: tuple[Item, ...]) -> None:
    claimed = Order(Workload(CAYMAN, (), items))
    machine = Machine(items)
    for state in reachable(items):
        for second in range(len(items)):
            if machine.can_move(second, state):
                missing = [k for k in range(len(items)) if claimed.before(k, second) and not state[1][k]]
                assert not missing, (missing, second, state)


@settings(max_examples=60, deadline=None)
@given(programs())
def test_a_wait_for_every_increment_is_always_seen(items: tuple[Item, ...]) -> None:
    """Where the wait can hold at all."""
    claimed = Order(Workload(CAYMAN, (), items))
    for j, item in enumerate(items):
        for wait in item.wait:
            adders = [
                k
                for k, other in enumerate(items)
                if (isinstance(other, Transfer) and other.semaphore == wait.semaphore)
                or any(update.semaphore == wait.semaphore for update in other.updates)
            ]
            runs = any(state[0][j] for state in reachable(items))
            if runs and j not in adders and len(adders) == wait.value + (wait.compare == "gt"):
                assert all(claimed.before(k, j) for k in adders)

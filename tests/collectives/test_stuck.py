"""Deadlocks end with the wait graph; requests that make no sense are refused with a reason."""

import pytest
from collective_cases import run, setup_of, small_integers

from dgekit.collectives.programs import program
from dgekit.collectives.request import Drop
from dgekit.collectives.run import check_memory
from dgekit.core.errors import ComputeError, Deadlock, DgeError, Unsupported, UsageError
from dgekit.core.generations import MAVERICK


@pytest.mark.parametrize("ranks", [2, 3, 4, 8])
def test_two_credits_deadlock_from_three_ranks_on(ranks):
    """D60; each rank waits for a credit of the next, once round the ring."""
    setup = setup_of("allreduce", "ring", ranks, "float32", 1000, credits=2)
    result = run(setup, small_integers(setup), verify=True)
    if ranks == 2:
        assert result.ok and result.verified
        return
    assert not result.ok and result.identical is None and result.verified is None and result.sha256 is None
    assert [(edge.rank, edge.step, edge.semaphore, edge.value, edge.waits_for) for edge in result.deadlock] == [
        (rank, "recv_reduce_send", "send_sema", 0, ((rank + 1) % ranks,)) for rank in range(ranks)
    ]
    with pytest.raises(Deadlock) as caught:
        result.raise_deadlock()
    assert caught.value.rule == "collective.deadlock"
    assert caught.value.values["waits"] == [edge.to_json() for edge in result.deadlock]
    assert "rank 0 channel 0 pass 0 H0: recv_reduce_send needs send_sema >= 1" in str(caught.value)


@pytest.mark.parametrize("kind", ["allreduce", "reducescatter", "allgather"])
@pytest.mark.parametrize(
    ("algo", "ranks", "options"),
    [("ring", 3, {}), ("kangaring", 4, {}), ("kangaring", 3, {}), ("mesh", 2, {}), ("mesh", 3, {}), ("mesh", 4, {})],
)
def test_no_signal_may_be_lost(kind, algo, ranks, options):
    """Whichever signal of whichever rank is lost: somebody waits for that rank's semaphore for ever."""
    setup = setup_of(kind, algo, ranks, "int32", 100, **options)
    for rank in range(ranks):
        signals = [signal for step in program(setup, rank, 0) for signal in step.signals]
        for number, signal in enumerate(signals):
            lossy = setup_of(kind, algo, ranks, "int32", 100, drop=Drop(rank, number), **options)
            result = run(lossy, small_integers(lossy))
            assert result.deadlock, (rank, number)
            assert any(
                (edge.rank, edge.semaphore) == (signal.rank, signal.semaphore) and edge.value < edge.at_least
                for edge in result.deadlock
            )


def test_semaphores_are_back_where_they_started():
    setup = setup_of("allreduce", "ring", 3, "float32", 100, channels=2)
    result = run(setup, small_integers(setup))
    assert (
        result.to_json()["semaphores"]
        == [{"send_sema[0]": 4, "recv_sema[0]": 0, "send_sema[1]": 4, "recv_sema[1]": 0}] * 3
    )


REFUSED = [
    ("collective.name", ("broadcast", "ring", 2, "float32", 64), {}),
    ("collective.name", ("allreduce", "tree", 2, "float32", 64), {}),
    ("collective.range", ("allreduce", "ring", 0, "float32", 64), {}),
    ("collective.range", ("allreduce", "ring", 257, "float32", 64), {}),
    ("collective.range", ("allreduce", "ring", 2, "float32", 0), {}),
    ("collective.range", ("allreduce", "ring", 2, "float32", 64), {"channels": 33}),
    ("collective.range", ("allreduce", "ring", 2, "float32", 64), {"credits": 0}),
    ("collective.mesh", ("allreduce", "ring", 2, "float32", 64), {"mesh": "t1"}),
    ("collective.mesh", ("allreduce", "mesh", 2, "float32", 64), {"mesh": "t3"}),
    ("collective.mesh", ("allreduce", "mesh", 3, "float32", 64), {"mesh": "t0"}),
    ("collective.mesh", ("reducescatter", "mesh", 4, "float32", 64), {"mesh": "t1"}),
    ("collective.mesh", ("allgather", "mesh", 4, "float32", 64), {"mesh": "t2"}),
    ("collective.mesh", ("allgather", "mesh", 4, "float32", 64), {"group": 2}),
    ("collective.mesh", ("allreduce", "mesh", 4, "float32", 64), {"mesh": "t1", "group": 2}),
    ("collective.group", ("allreduce", "ring", 4, "float32", 64), {"group": 2}),
    ("collective.group", ("allreduce", "kangaring", 6, "float32", 64), {"group": 4}),
    ("collective.group", ("allreduce", "kangaring", 10, "float32", 64), {"group": 5}),
    ("collective.drop", ("allreduce", "ring", 2, "float32", 64), {"drop": Drop(2, 0)}),
    ("collective.drop", ("allreduce", "ring", 2, "float32", 64), {"drop": Drop(0, 99)}),
    ("cce.7.6", ("allreduce", "mesh", 2, "float32", 1 << 27), {}),
    ("cce.5.2", ("allreduce", "ring", 2, "float32r", 64), {}),
    ("cce.1.2", ("allreduce", "ring", 2, "int4", 64), {}),
    ("cce.CHOICE-45", ("allreduce", "ring", 2, "float32", 64), {"choices": {"strict_reducible": "true"}}),
    ("cce.5.1", ("allreduce", "ring", 2, "float32", 64), {"generation": MAVERICK}),
]


@pytest.mark.parametrize(("rule", "request_", "options"), REFUSED)
def test_refusals(rule, request_, options):
    with pytest.raises(DgeError) as caught:
        setup_of(*request_, **options)
    assert caught.value.rule == rule
    assert isinstance(caught.value, UsageError | ComputeError)


def test_fp32r_is_a_legal_accumulator():
    setup = setup_of("allreduce", "ring", 2, "float32", 64, accum=11)
    assert run(setup, small_integers(setup), verify=True).verified


def test_what_does_not_fit_the_memory_is_refused_before_it_is_allocated():
    setup = setup_of("allreduce", "ring", 8, "float32", 1 << 44)
    with pytest.raises(Unsupported) as caught:
        check_memory(setup, 8, verify=False)
    assert caught.value.rule == "collective.memory"

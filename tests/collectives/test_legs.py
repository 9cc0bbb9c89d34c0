"""Bytes between ranks by RDMA words: the same results as by plain copies, and every leg counted (D77)."""

from __future__ import annotations

import numpy as np
import pytest
from collective_cases import normal, run, setup_of

from dgekit.collectives.legs import RdmaLegs, leg_words
from dgekit.core.choices import Choices
from dgekit.core.errors import Deadlock, LoweringError, Unsupported, UsageError
from dgekit.core.generations import CAYMAN, MARIANA, SUNDA
from dgekit.machine.remote import RemoteCopier
from dgekit.words.checks import check_word


@pytest.mark.parametrize(
    ("kind", "algo", "ranks", "options"),
    [
        ("allreduce", "ring", 3, {}),
        ("allreduce", "ring", 2, {"channels": 2}),
        ("reducescatter", "ring", 4, {}),
        ("allgather", "ring", 9, {}),  # two devices
        ("allreduce", "kangaring", 4, {}),
        ("allreduce", "mesh", 2, {}),
        ("allreduce", "mesh", 4, {}),
        ("reducescatter", "mesh", 3, {}),
        ("allreduce", "ring", 1, {}),
    ],
)
def test_results_are_those_of_plain_copies(kind, algo, ranks, options):
    plain, legs = (setup_of(kind, algo, ranks, "bfloat16", 333, leg=leg, **options) for leg in ("copy", "rdma"))
    rows = normal(plain)
    expected, found = run(plain, rows), run(legs, rows, verify=True)
    assert all(np.array_equal(a, b) for a, b in zip(expected.rows, found.rows, strict=True))
    assert found.verified and found.semaphores == expected.semaphores
    assert [tally.to_json() for tally in found.tallies] == [tally.to_json() for tally in expected.tallies]
    counted = found.to_json()["legs"]
    assert (sum(counted) > 0) is (ranks > 1) and expected.to_json()["legs"] == [0] * ranks


def test_a_ring_of_n_ranks_takes_four_legs_a_hop():
    """Each rank sends each half of N - 1 chunks in the reduce phase and of N - 1 in the gather phase."""
    found = run(setup_of("allreduce", "ring", 4, "int32", 4096, leg="rdma"), [np.ones(4096, np.int32)] * 4)
    assert found.to_json()["legs"] == [2 * 2 * 3] * 4


@pytest.mark.parametrize("size", [0, 1, 127, 128, 129, 70_000, 128 * 65536 + 5])
def test_any_number_of_bytes_is_padded_to_equal_rows(size):
    data = np.random.default_rng(size).integers(0, 256, size, np.uint8)
    legs = RdmaLegs(CAYMAN, Choices())
    assert np.array_equal(legs.carry(3, 12, data), data)
    assert legs.count == (1 if size else 0)


def test_more_than_an_sbuf_holds_takes_several_legs():
    most = 128 * (CAYMAN.active_bytes - 64)
    data = np.arange(most + 300, dtype=np.uint32).view(np.uint8)[: most + 300]
    legs = RdmaLegs(CAYMAN, Choices())
    assert np.array_equal(legs.carry(0, 1, data), data) and legs.count == 2


@pytest.mark.parametrize("engines", [1, 2, 8, 16])
def test_any_number_of_engines_that_a_leg_can_have(engines):
    legs = RdmaLegs(MARIANA, Choices({"rdma_leg_engines": engines}))
    data = np.arange(5000, dtype=np.uint16).view(np.uint8)
    for source, dest in ((0, 1), (1, 0), (0, 1)):
        assert np.array_equal(legs.carry(source, dest, data), data)


@pytest.mark.parametrize("engines", [3, 17, 32])
def test_other_numbers_of_engines_are_refused(engines):
    with pytest.raises(LoweringError) as refused:
        RdmaLegs(CAYMAN, Choices({"rdma_leg_engines": engines}))
    assert refused.value.rule == "pipeline.3.7.mask"


def test_the_words_are_legal_and_wait_for_all_masked_engines():
    generate, start = leg_words(5, 2, 0xFF, 4096)
    for word in (generate, start):
        assert not [issue for issue in check_word(word, CAYMAN, Choices()) if issue.severity != "unspecified"]
    assert (generate.remote_core_id, generate.remote_routing_id, generate.free_dim_bytes) == (5, 2, 4096)
    assert start.events.semaphore_value == 8


def test_sunda_has_no_such_legs_and_other_names_are_refused():
    with pytest.raises(Unsupported) as unsupported:
        setup_of("allreduce", "ring", 2, "float32", 64, leg="rdma", generation=SUNDA)
    assert unsupported.value.rule == "dec.D77"
    with pytest.raises(UsageError) as unknown:
        setup_of("allreduce", "ring", 2, "float32", 64, leg="wire")
    assert unknown.value.rule == "collective.name"


def test_a_leg_whose_increments_do_not_come_is_no_hang(monkeypatch):
    monkeypatch.setattr(RemoteCopier, "start", lambda self, core, events: None)
    with pytest.raises(Deadlock) as stuck:
        RdmaLegs(CAYMAN, Choices()).carry(0, 1, np.zeros(10, np.uint8))
    assert stuck.value.rule == "collective.leg"
    assert stuck.value.values == {"wants": 4, "has": 0}

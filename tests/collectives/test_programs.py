"""The steps themselves: sequences of cce 7.4, balance of signals, bounds of buffers, cuts of the vector."""

from collections import Counter

import numpy as np
import pytest
from collective_cases import run, setup_of, small_integers
from hypothesis import given, settings
from hypothesis import strategies as st

from dgekit.cce.dtypes import element_size
from dgekit.cce.plan import plan
from dgekit.collectives import prepare as preparing
from dgekit.collectives.geometry import Geometry
from dgekit.collectives.mesh import EVENTS, events
from dgekit.collectives.prepare import MAX_PASS_BDS, default_group
from dgekit.collectives.programs import buffers, program, semaphores
from dgekit.collectives.steps import ReductionType
from dgekit.core.generations import CAYMAN, SUNDA

EVERY = [
    (kind, algo, ranks, channels, options)
    for kind in ("allreduce", "reducescatter", "allgather")
    for algo, ranks, channels, options in [
        ("ring", 2, 1, {}), ("ring", 5, 2, {}), ("ring", 3, 1, {"choices": {"ring_path": "host"}}),
        ("kangaring", 4, 3, {}), ("kangaring", 9, 2, {}), ("kangaring", 3, 1, {}), ("kangaring", 8, 1, {"group": 2}),
        ("mesh", 2, 1, {}), ("mesh", 5, 2, {}), ("mesh", 6, 1, {"mesh": "t2", "group": 2}), ("ring", 1, 1, {}),
    ]
    if not (kind == "allgather" and options.get("mesh"))
]  # fmt: skip


def steps_of(setup, rank, channel=0):
    return list(program(setup, rank, channel))


@pytest.mark.parametrize(("kind", "algo", "ranks", "channels", "options"), EVERY)
def test_steps_fit_their_buffers_and_their_signals(kind, algo, ranks, channels, options):
    setup = setup_of(kind, algo, ranks, "float16", 300, channels=channels, **options)
    for channel in range(channels):
        raised, taken = Counter(), Counter()
        for rank in range(ranks):
            for step in steps_of(setup, rank, channel):
                raised.update((signal.rank, signal.semaphore) for signal in step.signals)
                for wait in step.waits:
                    taken[rank, wait.semaphore] += wait.take
                for dma in step.dmas:
                    counts = {region.count for region in (*dma.sources, *dma.dests)}
                    assert len(counts) == 1 and min(counts) > 0
                    for region in (*dma.sources, *dma.dests):
                        first, end = setup.held(region.rank, output=False)
                        sizes = buffers(setup, region.rank) | {"input": end - first}
                        assert 0 <= region.first <= region.first + region.count <= sizes[region.buffer]
        assert raised == taken
        assert {name for _, name in raised} <= set(semaphores(setup))


def test_the_ring_sequence_of_four():
    """cce 7.4: rank 0 of 4 sends chunk 3, reduces 2 and 1, ends with its own, then receives 3, 2, 1."""
    setup = setup_of("allreduce", "ring", 4, "float32", 256)
    wanted = [
        ("send", 3), ("recv_reduce_send", 2), ("recv_reduce_send", 1), ("recv_reduce_copy", 0), ("direct_copy_send", 0),
        ("direct_recv_send", 3), ("direct_recv_send", 2), ("direct_recv", 1),
    ]  # fmt: skip
    found = steps_of(setup, 0)
    assert found.pop().primitive == "mark_end"
    assert [(step.primitive, step.half) for step in found] == [(name, half) for name, _ in wanted for half in (0, 1)]
    for step, (name, chunk) in zip(found[::2], wanted, strict=True):
        at_home = [r for d in step.dmas for r in (*d.sources, *d.dests) if r.buffer in ("input", "output")]
        assert {region.first // 64 for region in at_home} == {chunk}, name
        receives = "recv" in name
        assert [wait.semaphore for wait in step.waits] == ["recv_sema"] * receives + ["send_sema"] * ("send" in name)
        assert [(s.rank, s.semaphore) for s in step.signals] == [(1, "recv_sema")] * ("send" in name) + [
            (3, "send_sema")
        ] * receives


def test_reduction_types():
    def types(setup):
        return {step.primitive: step.reduction for step in steps_of(setup, 0) if step.reduction is not None}

    device = types(setup_of("allreduce", "ring", 4, "float32", 256))
    assert device == dict.fromkeys(("recv_reduce_send", "recv_reduce_copy"), ReductionType.RING_2R1W)
    host = types(setup_of("allreduce", "ring", 4, "float32", 256, choices={"ring_path": "host"}))
    assert host["recv_reduce_copy_send"] == ReductionType.RING_2R2W
    kangaring = types(setup_of("allreduce", "kangaring", 6, "float32", 256, group=2))
    assert kangaring == dict.fromkeys(
        ("direct_reduce_send_kangaring", "recv_reduce_send", "recv_reduce_copy"), ReductionType.KANGARING_NR1W
    )


def test_2r2w_is_one_packet_where_there_is_replication():
    def fused(generation):
        setup = setup_of("allreduce", "ring", 3, "float32", 96, generation=generation, choices={"ring_path": "host"})
        step = next(step for step in steps_of(setup, 0) if step.primitive == "recv_reduce_copy_send")
        return [(dma.reduce, len(dma.sources), len(dma.dests)) for dma in step.dmas]

    assert fused(CAYMAN) == [(True, 2, 2)]
    assert fused(SUNDA) == [(True, 2, 1), (False, 1, 1)]


def test_kangaring_sources_and_roles():
    """CHOICE-55: G sources at step 0, G + 1 later; the primary changes with the channel; peers only wait."""
    setup = setup_of("allreduce", "kangaring", 8, "float32", 512, channels=2)
    for channel in range(2):
        sources = {}
        for step in steps_of(setup, channel, channel):
            sources.setdefault(step.primitive, {len(d.sources) for d in step.dmas if d.reduce})
        assert sources["direct_reduce_send_kangaring"] == {4}
        assert sources["recv_reduce_copy"] == {5}
        assert [step.primitive for step in steps_of(setup, 3, channel)] == ["input_ready", "output_written"]
    assert [default_group(ranks) for ranks in (2, 3, 4, 5, 6, 8, 9, 12, 16)] == [2, 3, 2, 1, 3, 4, 3, 4, 4]


def test_a_kangaring_of_a_prime_number_is_a_ring_with_a_note():
    setup = setup_of("allreduce", "kangaring", 7, "float32", 512)
    assert [issue.rule for issue in setup.issues] == ["dec.D71"]
    ring = setup_of("allreduce", "ring", 7, "float32", 512)
    rows = small_integers(ring)
    assert run(setup, rows).tallies == run(ring, rows).tallies


def test_mesh_events_are_those_of_the_chapter():
    assert {name: [int(event) for event in listed] for name, listed in EVENTS.items()} == {
        "t0": [2, 8, 0], "t1": [2, 1, 7, 3, 10, 0], "t2": [2, 1, 3, 8, 10, 6, 11, 0],
    }  # fmt: skip
    for ranks, options, wanted in ((2, {}, "t0"), (3, {}, "t1"), (4, {"group": 2}, "t2"), (4, {"mesh": "t2"}, "t2")):
        setup = setup_of("allreduce", "mesh", ranks, "float32", 64, **options)
        assert setup.mesh == wanted
        assert [step.primitive for step in steps_of(setup, 0)] == [event.name for event in EVENTS[wanted]]
    assert [int(e) for e in events(setup_of("reducescatter", "mesh", 4, "float32", 64))] == [2, 1, 3, 8, 0]
    assert [int(e) for e in events(setup_of("allgather", "mesh", 4, "float32", 64))] == [2, 1, 7, 3, 0]


@given(st.integers(1, 5000), st.integers(1, 7), st.integers(1, 5), st.integers(1, 9), st.booleans())
@settings(max_examples=60, deadline=None)
def test_pieces_cover_the_vector_once(elements, parts, channels, units, regions):
    region = -(-elements // parts) if regions else 0
    geometry = Geometry(elements, parts, channels, region, 32 * units)
    seen = np.zeros(elements, int)
    for number in range(geometry.passes):
        for channel in range(channels):
            for part in range(parts):
                whole = geometry.piece(number, channel, part)
                halves = [geometry.piece(number, channel, part, half) for half in (0, 1)]
                assert sum(half.count for half in halves) == whole.count
                for half in halves:
                    seen[half.first : half.end] += 1
    assert (seen == 1).all()


# descriptors


def test_counts_are_those_of_the_built_packets():
    """8 ranks, bf16, 2^20 elements: 7 reduces of two halves of 32 packets, 2 sources each; copies of 64 KiB BDs."""
    setup = setup_of("allreduce", "ring", 8, "bfloat16", 1 << 20)
    tallies = run(setup, small_integers(setup)).tallies
    half = 65536
    reduce = plan(0, half, 2, 6, CAYMAN, setup.choices)
    assert (reduce.packet_count, reduce.tx, reduce.rx) == (32, 64, 32)
    copies = 2 * (1 + 1 + 2 * 6 + 1)  # send, direct_copy_send, six times two of direct_recv_send, direct_recv
    wanted = {
        "steps": 2 * 16 + 1,
        "m2s": 14 * 64 + copies * 2,
        "s2m": 14 * 32 + copies * 2,
        "bytes": (14 * 2 + copies) * half * 2,
        "packets": 14 * 32 + copies * 2,
    }
    assert [tally.to_json() for tally in tallies] == [wanted] * 8


def test_packets_keep_the_granule_of_32_bytes():
    """cce 5.2: 48 fp8 elements, half a chunk, are packets of 32 and 16."""
    setup = setup_of("allreduce", "ring", 2, "float8_e5m2", 192)
    found = run(setup, small_integers(setup)).tallies[0].to_json()
    assert element_size(15) == 1
    assert (found["packets"], found["m2s"]) == (2 * 2 + 6, 2 * 2 * 2 + 6)


def test_empty_halves_send_no_packet_but_signal():
    setup = setup_of("allreduce", "ring", 4, "int32", 1)
    result = run(setup, small_integers(setup), verify=True)
    assert result.verified
    assert sum(tally.packets for tally in result.tallies) == 1 + 3 + 1 + 2 * 2 + 1
    assert {tally.steps for tally in result.tallies} == {2 * 8 + 1}


@pytest.mark.parametrize("algo", ["ring", "kangaring", "mesh"])
@pytest.mark.parametrize("kind", ["allreduce", "reducescatter", "allgather"])
def test_a_pass_keeps_to_60000_descriptors(kind, algo):
    setup = setup_of(kind, algo, 8, "float32", 1 << 40)
    bds = [preparing._pass_bds(setup, Geometry(1 << 40, setup.geometry.parts, 1, setup.geometry.region, chunk))
           for chunk in (setup.geometry.chunk, setup.geometry.chunk + 32)]  # fmt: skip
    assert bds[0] <= MAX_PASS_BDS < bds[1]

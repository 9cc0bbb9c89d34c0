import hashlib
import itertools
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgekit.cce.expand import expand as expand_all
from dgekit.cce.work import update_packet, update_work
from dgekit.core.choices import Choices
from dgekit.core.dtypes import Dtype
from dgekit.core.errors import Deadlock, DgeError, EngineError, RingError, Unmapped, Unspecified, has_errors
from dgekit.core.events import EventLog
from dgekit.core.generations import CAYMAN, GENERATIONS, SUNDA
from dgekit.descriptors.batch import PACKET_DTYPE, ChannelBatch, ChannelWork, DescriptorBatch, PacketKind
from dgekit.descriptors.expand import expand
from dgekit.descriptors.semaphore import with_semaphore
from dgekit.machine.machine import Machine
from dgekit.machine.ring import pointer_word
from dgekit.patterns.runs import Runs
from dgekit.words.enums import ComputeOp

HBM = 0x10000000
SBUF = 0x2000000000


def machine_with(generation=CAYMAN, size=1 << 16, **choices):
    machine = Machine(generation, Choices(choices))
    machine.memory.add(HBM, (np.arange(size) % 251).astype(np.uint8), "x")
    machine.memory.add(HBM + 0x100000, size, "y")
    return machine


def copy_work(src, dst, dma=0, **columns):
    return ChannelWork(dma, Runs.of(*src), Runs.of(*dst), **columns)


def expanded(*work, generation=CAYMAN, barrier_last=False, packet_bytes=65536):
    return expand(work, generation, packet_bytes, barrier_last=barrier_last)


def raw(m2s, s2m, packets, dma=0, queue=0):
    """A batch from BD rows and (m2s_first, m2s_count, s2m_first, s2m_count) rows."""
    table = np.zeros(len(packets), PACKET_DTYPE)
    for name, column in zip(
        ("m2s_first", "m2s_count", "s2m_first", "s2m_count"), zip(*packets, strict=True), strict=True
    ):
        table[name] = column
    return DescriptorBatch((ChannelBatch(dma, queue, m2s, s2m, table),))


def test_example_e18_on_sixteen_engines():
    machine = Machine(CAYMAN)
    data = np.random.default_rng(0).integers(0, 256, (128, 4096), np.uint8)
    machine.memory.add(HBM, data, "x")
    work = []
    for k in range(16):
        rows = SBUF + np.arange(8 * k, 8 * k + 8) * 0x40000
        work.append(copy_work(([HBM + 32768 * k], 32768), (rows, 4096), k))
        machine.memory.write(SBUF + 8 * k * 0x40000 + 0x37FFC, (1).to_bytes(4, "little"))
    batch = with_semaphore(
        expanded(*work, barrier_last=True),
        [(k, SBUF + 8 * k * 0x40000 + 0x37FFC, 0x2802701828) for k in range(16)],
    )
    assert machine.validate(batch) == []
    events = EventLog()
    stats = machine.execute(batch, events)
    assert (stats.packets, stats.m2s, stats.s2m, stats.bytes) == (32, 32, 144, 524288 + 64)
    assert machine.semaphores.nonzero() == {10: 16}
    assert all(machine.memory.read(SBUF + p * 0x40000, 4096) == data[p].tobytes() for p in range(128))
    bells = [event.data for event in events.named("doorbell")]
    assert [(b["leg"], b["count"]) for b in bells if b["dma"] == 5] == [("S2M", 9), ("M2S", 2)]
    assert next(b["address"] for b in bells if b["dma"] == 5) == 0x1002000000 + 0x500000 + 0x20000 + 0x1038
    assert [event.data["value"] for event in events.named("semaphore")] == list(range(1, 17))
    ring = machine.queue(5, 0).m2s.dump()
    assert ring[:16].hex(" ") == "00 80 00 0d 03 00 08 05 00 80 02 10 00 00 00 00"
    assert ring[16:32].hex(" ") == "04 00 00 0d 03 00 08 01 fc 7f a3 00 20 00 00 00"
    base = machine.queue(5, 0).m2s.base
    assert 0x2040000000 <= base < 0x2080000000
    assert machine.memory.read(base, 32) == ring[:32]  # the ring is part of memory


@pytest.mark.parametrize("size", [32, 48, 64, 4096])
def test_the_producer_waits_for_a_small_ring(size):
    machine = machine_with(ring_size=size)
    to = HBM + 0x100000 + np.arange(1000) * 40
    events = EventLog()
    stats = machine.execute(expanded(copy_work(([HBM], 20000), (to, 20)), packet_bytes=100), events)
    assert (stats.packets, stats.m2s, stats.s2m, stats.bytes) == (200, 200, 1000, 20000)
    found = machine.memory.view(HBM + 0x100000, 40000).reshape(1000, 40)
    assert (found[:, :20].ravel() == machine.memory.view(HBM, 20000)).all()
    assert not found[:, 20:].any()
    pair = machine.queue(0, 0)
    assert pair.m2s.head_word == pointer_word(200, size)
    assert stats.wraps == 1000 // size + 200 // size == len(events.named("wrap"))
    assert stats.doorbells == len(events.named("doorbell"))
    assert sum(event.data["count"] for event in events.named("doorbell")) == 1200
    assert [event.data["ring_id"] for event in events.named("wrap") if event.data["leg"] == "S2M"] == [
        (2 + i) % 4 for i in range(1000 // size)
    ]


def test_rings_are_used_on_after_a_batch():
    machine = machine_with(ring_size=32)
    batch = expanded(copy_work(([HBM], 60), (HBM + 0x100000 + np.arange(6) * 20, 10)))
    for turn in range(20):
        machine.execute(batch, EventLog())
        assert machine.queue(0, 0).s2m.head_word == pointer_word(6 * (turn + 1), 32)


def test_engines_and_queues_of_another_core():
    machine = machine_with()
    machine.execute(expanded(copy_work(([HBM], 16), ([0x3000000000], 16), 3)), EventLog(), core=1)
    assert list(machine.engines) == [19]
    assert machine.queue(3, 0, core=1).m2s.base == 0x3040000000
    assert machine.memory.read(0x3000000000, 16) == bytes(range(16))
    with pytest.raises(RingError, match="engine 16 of core 0"):
        machine.engine(16)


@pytest.mark.parametrize("generation", GENERATIONS, ids=lambda g: g.name)
def test_every_generation_moves_bytes(generation):
    machine = machine_with(generation)
    for core in (0, generation.cores - 1):
        to = generation.sbuf_base(core) + np.arange(4) * generation.partition_stride
        batch = expanded(copy_work(([HBM], 64), (to, 16), generation.engines - 1), generation=generation)
        assert machine.validate(batch) == []
        machine.execute(batch, EventLog(), core)
        assert machine.memory.read(int(to[3]), 16) == bytes(range(48, 64))


def test_increment_after_a_transfer():
    machine, events = Machine(CAYMAN), EventLog()
    machine.apply_increment(10, 3, events)
    machine.apply_increment(10, 2**31 - 1, events)
    machine.apply_increment(7, 1, events, core=2)
    assert machine.semaphores.nonzero() == {10: 2 - 2**31}
    assert machine.memory.semaphores_of(2).nonzero() == {7: 1}
    assert [event.data["wrapped"] for event in events] == [False, True, False]


def test_packets_in_order_when_one_reads_what_another_wrote():
    machine = machine_with()
    a, b, c = HBM, HBM + 0x100000, HBM + 0x100100
    work = ChannelWork(0, Runs.of([a, b, c], 64), Runs.of([b, c, b + 32], 64))
    machine.execute(expanded(work, packet_bytes=64), EventLog())
    head = bytes(range(64))
    assert machine.memory.read(c, 64) == head
    assert machine.memory.read(b, 96) == head[:32] + head


# validation


def broken_batches(packet):
    good = packet([(HBM, 8)], [(HBM + 0x100000, 8)])
    cast = {"kind": PacketKind.CAST, "in_dtype": Dtype.FP32, "out_dtype": Dtype.BFLOAT16}
    bad_cast = expanded(copy_work(([HBM], 8), ([HBM + 0x100000], 4), **cast))
    bad_cast.channels[0].packets["in_dtype"] = Dtype.FP4_EXP2
    to = Runs.of([HBM + 0x100000], 8)
    add = update_work(0, Runs.of([HBM], 8), to, update_packet(ComputeOp.ADD, Dtype.INT8))
    bad_add = expand_all([add], CAYMAN, 65536, Choices(), barrier_last=False)
    bad_add.channels[0].packets["in_dtype"] = Dtype.FP8_EXP2
    long = packet([(HBM, 1)] * 40, [(HBM + 0x100000 + i, 1) for i in range(40)])
    return {
        "memory.unmapped": expanded(copy_work(([HBM, 0x5000000], 8), ([HBM + 0x100000], 16))),
        "memory.cross_partition": expanded(copy_work(([HBM], 8), ([SBUF + 0x37FFC], 8))),
        "memory.evt_sem": expanded(copy_work(([HBM], 8), ([0x2802701828], 8))),
        "rings.4.4": expanded(copy_work(([HBM], 8), ([0x2802000000], 8))),
        "rings.3.3": expanded(copy_work(([HBM], 8), ([SBUF], 8), 16)),
        "rings.1.8": raw(*good, [(0, 1, 0, 0)]),
        "rings.1.8 mismatch": raw(good[0], packet([], [(HBM + 0x100000, 9)])[1], [(0, 1, 0, 1)]),
        "rings.1.8 last": raw(good[0] & ~np.uint32(1 << 27), good[1], [(0, 1, 0, 1)]),
        "rings.1.8 s2m": raw(good[0], good[1][:0], [(0, 1, 0, 0)]),
        "rings.2.6": raw(*long, [(0, 40, 0, 40)]),
        "dge.unsupported": bad_add,
        "rings.1.8 type": bad_cast,
    }


NAMES = list(broken_batches(lambda *_: (np.zeros((1, 4), np.uint32), np.zeros((1, 4), np.uint32))))


@pytest.mark.parametrize("name", NAMES)
def test_what_is_refused_is_found_first_and_changes_nothing(name, packet):
    machine = machine_with(ring_size=32)
    before = hashlib.sha256(machine.memory.view(HBM + 0x100000, 1 << 16)).hexdigest()
    batch = broken_batches(packet)[name]
    issues = machine.validate(batch)
    assert has_errors(issues)
    assert issues[0].rule.startswith(("rings", "memory", "dge", "numerics"))
    if " " not in name and name != "dge.unsupported":
        assert issues[0].rule == name
    assert issues[0].where.startswith("dma ")
    assert hashlib.sha256(machine.memory.view(HBM + 0x100000, 1 << 16)).hexdigest() == before
    with pytest.raises(DgeError):
        machine.execute(batch, EventLog())


def test_a_finding_names_packet_leg_and_bd():
    machine = machine_with()
    to = np.append(HBM + 0x100000 + np.arange(100) * 8, 0x7FFFFFFF0000)
    issues = machine.validate(expanded(copy_work(([HBM], 404), (to, 4)), packet_bytes=40))
    assert [issue.where for issue in issues] == ["dma 0 queue 0 packet 10 S2M BD 100"]
    assert issues[0].values["address"] == "0x7fffffff0000"


def test_watched_reads_know_what_the_batch_itself_writes():
    machine = Machine(CAYMAN, Choices({"uninitialised": "fault"}))
    machine.memory.add(HBM, b"\1" * 64, "x")
    machine.memory.add(HBM + 0x1000, 64, "y")
    machine.memory.add(HBM + 0x2000, 64, "z")
    through = ChannelWork(0, Runs.of([HBM, HBM + 0x1000], 16), Runs.of([HBM + 0x1000, HBM + 0x2000], 16))
    batch = expanded(through, packet_bytes=16)
    assert machine.validate(batch) == []
    machine.execute(batch, EventLog())
    assert machine.memory.read(HBM + 0x2000, 16) == b"\1" * 16
    unwritten = expanded(copy_work(([HBM + 0x1020], 16), ([HBM + 0x2020], 16)))
    assert [issue.rule for issue in machine.validate(unwritten)] == ["memory.uninitialised"]


# failures on the way


def test_an_engine_in_abort_refuses_until_recovery():
    machine = machine_with()
    bad = expanded(copy_work(([HBM], 8), ([0x5000000], 8)))
    good = expanded(copy_work(([HBM], 8), ([HBM + 0x100000], 8)))
    with pytest.raises(Unmapped, match="engine 0 queue 0 packet 0 S2M BD 0"):
        machine.execute(bad, EventLog())
    with pytest.raises(EngineError, match="in abort"):
        machine.execute(good, EventLog())
    machine.recover()
    assert machine.execute(good, EventLog()).packets == 1
    machine.recover()  # nothing to do: pointers stay
    assert machine.queue(0, 0).m2s.head == 1


def test_leftovers_in_a_queue_are_a_deadlock_not_a_hang(packet):
    machine = machine_with(ring_size=32)
    pair = machine.queue(0, 0)
    m2s, _ = packet([(HBM, 4)] * 20, [])
    pair.m2s.store(m2s[:-1])
    pair.m2s.doorbell(19)
    m2s, s2m = packet([(HBM, 4)] * 14, [(HBM + 0x100000, 56)])
    with pytest.raises(Deadlock, match="no engine has a packet it can finish") as caught:
        machine.execute(raw(m2s, s2m, [(0, 14, 0, 1)]), EventLog())
    assert caught.value.rule == "rings.2.10"
    assert caught.value.values["waits"][0]["dma"] == 0


def test_choices_reach_the_engines():
    assert Machine(SUNDA).engine(0).check_ring_id
    assert not Machine(CAYMAN).engine(0).check_ring_id
    assert Machine(CAYMAN, Choices({"check_ring_id": "always"})).engine(0).check_ring_id
    assert not Machine(SUNDA, Choices({"check_ring_id": "never"})).engine(0).check_ring_id


def test_ring_sizes_that_cannot_be():
    with pytest.raises(RingError, match="multiple of 16"):
        Machine(CAYMAN, Choices({"ring_size": 40}))
    machine = Machine(CAYMAN, Choices({"ring_size": (1 << 24) - 16}))
    machine.queue(0, 0)
    machine.queue(1, 0)
    with pytest.raises(RingError, match="no room for another ring") as caught:
        machine.queue(2, 0)
    assert caught.value.rule == "rings.3.4"


# RDM


def test_rdm_gives_the_same_memory_and_the_same_rings():
    to = HBM + 0x100000 + np.arange(96) * 40
    work = ChannelWork(0, Runs.of(HBM + np.arange(96) * 20, 20), Runs.of(to, 20))
    batch = expanded(work, packet_bytes=80)
    dumps = []
    for rdm in (False, True):
        machine = machine_with(rdm=rdm, ring_size=32)
        assert machine.validate(batch) == []
        stats = machine.execute(batch, EventLog())
        assert (stats.m2s, stats.s2m, stats.bytes) == (96, 96, 1920)
        pair = machine.queue(0, 0)
        dumps.append((machine.memory.read(HBM + 0x100000, 4096), pair.m2s.dump(), pair.s2m.dump(), pair.m2s.tail_word))
    assert dumps[0] == dumps[1]


def test_rdm_and_parts_of_blocks():
    machine = machine_with(rdm=True)
    batch = expanded(copy_work(([HBM], 8), ([HBM + 0x100000], 8)))
    assert [issue.rule for issue in machine.validate(batch)] == ["rings.2.12"]
    with pytest.raises(Unspecified, match="1 M2S and 1 S2M BDs are no whole blocks"):
        machine.execute(batch, EventLog())
    absolute = machine_with(rdm=True, rdm_tail="absolute")
    with pytest.raises(Unspecified, match="absolute tail index"):
        absolute.execute(expanded(), EventLog())


def test_an_rdm_serves_24_queue_pairs():
    machine = machine_with(rdm=True, ring_size=32)
    src = Runs.of(HBM + np.arange(4) * 20, 10)
    for number in range(25):
        work = ChannelWork(number % 16, src, Runs.of(HBM + 0x100000 + np.arange(4) * 20, 10), queue=number // 16)
        batch = expanded(work)
        if number == 24:
            with pytest.raises(RingError, match="24 queue pairs"):
                machine.execute(batch, EventLog())
        else:
            machine.execute(batch, EventLog())


# against numpy


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_random_grids_equal_numpy(data):
    """Rows of a random 3-D pattern, cut and packed at random, land where numpy puts them."""
    counts = [data.draw(st.integers(1, 6)) for _ in range(3)]
    run = data.draw(st.sampled_from([1, 2, 4, 7, 8, 16]))
    order = data.draw(st.permutations(range(3)))
    dims = [counts[i] for i in order]
    packet_bytes = data.draw(st.sampled_from([run, 64, 200, 65536]))
    generation = data.draw(st.sampled_from([CAYMAN, SUNDA]))
    machine = machine_with(generation, 4096, ring_size=data.draw(st.sampled_from([128, 256])))
    array = np.arange(np.prod(dims) * run).astype(np.uint8).reshape(*dims, run)
    machine.memory.write(HBM, array)
    strides = [dims[1] * dims[2] * run, dims[2] * run, run]
    back = [order.index(i) for i in range(3)]
    starts = [
        HBM + sum(i * strides[back[k]] for k, i in enumerate(index)) for index in itertools.product(*map(range, counts))
    ]
    gap = data.draw(st.integers(0, 3))
    to = HBM + 0x100000 + np.arange(len(starts)) * (run + gap)
    batch = expanded(
        ChannelWork(0, Runs.of(starts, run), Runs.of(to, run)), generation=generation, packet_bytes=packet_bytes
    )
    assert machine.validate(batch) == []
    machine.execute(batch, EventLog())
    found = machine.memory.view(HBM + 0x100000, len(starts) * (run + gap)).reshape(len(starts), run + gap)
    assert (found[:, :run] == array.transpose(*back, 3).reshape(-1, run)).all()
    assert not found[:, run:].any()


@pytest.mark.slow
def test_a_large_strided_copy_is_near_copyto():
    machine = Machine(CAYMAN)
    src = np.random.default_rng(0).integers(0, 256, 64 << 20, np.uint8)
    machine.memory.add(HBM, src, "x")
    machine.memory.add(0x20000000, np.ones(128 << 20, np.uint8), "y", copy=False)
    batch = expanded(copy_work(([HBM], 64 << 20), (0x20000000 + np.arange(32768) * 4096, 2048)))
    peer = np.ones((32768, 4096), np.uint8)

    def best(action):
        times = []
        for _ in range(5):
            begin = time.perf_counter()
            action()
            times.append(time.perf_counter() - begin)
        return min(times)

    ours = best(lambda: machine.execute(batch, EventLog()))
    theirs = best(lambda: np.copyto(peer[:, :2048], src.reshape(32768, 2048)))
    assert (machine.memory.view(0x20000000, 128 << 20).reshape(32768, 4096) == peer).all()
    assert ours < 2.5 * theirs  # 1.4 on a quiet machine

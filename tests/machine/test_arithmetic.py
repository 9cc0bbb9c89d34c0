"""Compute packets as an engine reads them from a ring: what it refuses, and which packets it runs together."""

from dataclasses import replace

import numpy as np
import pytest

from dgekit.cce.build import build
from dgekit.cce.enums import CceType, Dtype
from dgekit.cce.expand import expand
from dgekit.cce.packet import CcePacket, Constant, Gce
from dgekit.cce.work import ComputeWork, template
from dgekit.core.choices import Choices
from dgekit.core.errors import ComputeError, DgeError, EngineError, Unsupported, has_errors
from dgekit.core.events import EventLog
from dgekit.core.generations import CAYMAN
from dgekit.descriptors import bd
from dgekit.descriptors.batch import PACKET_DTYPE, ChannelBatch, DescriptorBatch, PacketKind
from dgekit.descriptors.expand import by_channel
from dgekit.machine.engine import Engine, State
from dgekit.machine.machine import Machine
from dgekit.machine.operations import group_starts
from dgekit.machine.packets import Limits, read_packets
from dgekit.patterns.runs import Runs

X, Y = 0x10000000, 0x10100000
BF16, FP32 = int(Dtype.BFLOAT16), int(Dtype.FP32)
LIMITS = Limits(0xFFFFF, 65, 2048)


@pytest.fixture
def machine():
    made = Machine(CAYMAN)
    made.memory.add(X, np.ones(1 << 16, np.uint8), "x")
    made.memory.add(Y, 1 << 16, "y")
    return made


def sum_of(count=3, elements=8, **more):
    packet = CcePacket(
        CceType.ADD, tuple(X + 64 * n for n in range(count)), (Y,), elements, BF16, FP32, BF16, **more
    )  # fmt: skip
    return batch_of(build(packet, CAYMAN, Choices(), ring_id=0), packet)


def batch_of(built, packet):
    table = np.zeros(1, PACKET_DTYPE)
    table["m2s_count"], table["s2m_count"], table["kind"] = len(built.tx), len(built.rx), PacketKind.COMPUTE
    for name in ("in_dtype", "accum_dtype", "out_dtype"):
        table[name] = getattr(packet, name)
    return DescriptorBatch((ChannelBatch(0, 0, built.tx.copy(), built.rx.copy(), table),))


def no_flush(channel):
    channel.m2s[-1, 1] &= ~np.uint32(0x80)


def early_flush(channel):
    channel.m2s[0, 1] |= 0x80


def other_accumulator(channel):
    channel.m2s[1, 1] ^= np.uint32(0x000F0000)


def stray_copy(channel):
    channel.m2s[1, 1] = bd.COPY_WORD1


def odd_source(channel):
    channel.m2s[1, 0] += 2


def copies_nowhere(channel):
    channel.m2s[2, :] = [0x08800000, 0x00A00000, 0, 0]


BROKEN = [
    (no_flush, "cce.4.10", "without a flush"),
    (early_flush, "cce.4.10", "after the flush"),
    (other_accumulator, "cce.4.3", "several types"),
    (stray_copy, "cce.3.9", "is no part of"),
    (odd_source, "cce.4.10", "have one length"),
    (copies_nowhere, "cce.CHOICE-17", "one destination at least"),
]


@pytest.mark.parametrize(("breaks", "rule", "text"), BROKEN, ids=[case[0].__name__ for case in BROKEN])
def test_broken_packets_are_found_first_and_refused_by_the_engine(breaks, rule, text, machine):
    batch = sum_of()
    breaks(batch.channels[0])
    (issue,) = machine.validate(batch)
    assert (issue.rule, issue.severity) == (rule, "error") and text in issue.message and issue.where
    with pytest.raises(DgeError, match=text) as caught:
        machine.execute(batch, EventLog())
    assert caught.value.rule == rule and isinstance(caught.value, ComputeError | EngineError)
    assert not machine.memory.view(Y, 64).any()


def test_compression_is_not_run_from_rings(machine):
    packet = CcePacket(
        CceType.ADD, (X, X + 64), (Y,), 8, BF16, FP32, BF16, gce=Gce(0x10000400, True, BF16)
    )  # fmt: skip
    batch = batch_of(build(packet, CAYMAN, Choices(), ring_id=0), packet)
    assert [issue.rule for issue in machine.validate(batch)] == ["cce.4.6"]
    with pytest.raises(Unsupported):
        machine.execute(batch, EventLog())
    assert machine.engine(0).state is State.NORMAL  # the tool's limit, not the device's


def test_a_fault_names_the_bd_and_not_the_run(machine):
    packet = CcePacket(CceType.FMA, (X, X + 0x100000 + 0x10000), (Y,), 8, FP32, FP32, FP32, scales=(1.0, 2.0))
    batch = batch_of(build(packet, CAYMAN, Choices(), ring_id=0), packet)
    (issue,) = machine.validate(batch)
    assert issue.rule == "memory.unmapped" and issue.where == "dma 0 queue 0 packet 0 M2S BD 3"
    with pytest.raises(DgeError) as caught:
        machine.execute(batch, EventLog())
    assert caught.value.where == "engine 0 queue 0 packet 0 M2S BD 3 (slot 3)"


def test_operands_may_look_like_addresses_that_do_not_exist(machine):
    packet = CcePacket(CceType.MAX, (X,), (Y,), 8, FP32, FP32, FP32, constant=Constant(0x7F800000, FP32))
    batch = batch_of(build(packet, CAYMAN, Choices(), ring_id=0), packet)
    assert not has_errors(machine.validate(batch))
    assert machine.execute(batch, EventLog()).bytes == 32
    assert (machine.memory.view(Y, 32).view("<u4") == 0x7F800000).all()


def window_of(batch):
    (channel,) = batch.channels
    return read_packets(channel.m2s, channel.s2m, lambda firsts: channel.packets[: len(firsts)], LIMITS)


def reduction(packet, lengths, packet_bytes=65536):
    sources = tuple(
        Runs.of(X + 0x1000 * n + np.arange(len(lengths)) * 256, lengths) for n in range(len(packet.sources))
    )
    work = ComputeWork(0, sources, (Runs.of(Y + np.arange(len(lengths)) * 256, lengths),), packet)
    return expand([work], CAYMAN, packet_bytes, Choices(), barrier_last=False)


def test_packets_that_compute_the_same_run_together_whatever_their_size():
    window = window_of(reduction(template(CceType.ADD, 3, 1, BF16, BF16), [16, 32, 16, 8]))
    assert group_starts(window, len(window)).tolist() == [False] * 4


def test_packets_of_other_words_or_operands_start_a_group():
    plus, minus = (replace(template(CceType.FMA, 1, 1, FP32, FP32), scales=(scale,)) for scale in (1.0, -1.0))
    parts = [
        reduction(packet, [32]).channels[0] for packet in (plus, plus, minus, template(CceType.ADD, 2, 1, FP32, FP32))
    ]
    window = window_of(by_channel(parts, barrier_last=False))
    assert group_starts(window, 4).tolist() == [False, False, True, True]


def test_every_seed_starts_a_group():
    batch = reduction(replace(template(CceType.ADD, 2, 1, FP32, FP32), seed=1), [8, 8])
    window = window_of(batch)
    assert group_starts(window, 2).tolist() == [False, True]


def test_the_state_of_rounding_is_the_queues(machine):
    """Two packets of one batch continue the draws; another queue needs its own seed."""
    values = np.full(16, 1.00390625, np.float32)
    machine.memory.write(X, values.tobytes())
    seeded = replace(template(CceType.ADD, 1, 1, FP32, BF16), seed=0x12345678)
    runs = Runs.of([X, X], 64), Runs.of([Y, Y + 32], 32)
    machine.execute(
        expand([ComputeWork(0, runs[:1], runs[1:], seeded)], CAYMAN, 65536, Choices(), barrier_last=False), EventLog()
    )
    codes = machine.memory.view(Y, 64).view("<u2")
    assert [f"{code:04X}" for code in codes[:4]] == ["3F81", "3F81", "3F80", "3F80"]  # cce 4.9
    assert [f"{code:04X}" for code in codes[16:20]] == ["3F80", "3F81", "3F81", "3F80"]
    again = replace(seeded, seed=None, stochastic=True)
    other = ComputeWork(0, runs[:1], runs[1:], again, queue=1)
    issues = machine.validate(expand([other], CAYMAN, 65536, Choices(), barrier_last=False))
    assert not has_errors(issues)
    with pytest.raises(ComputeError, match="nothing has seeded") as caught:
        machine.execute(expand([other], CAYMAN, 65536, Choices(), barrier_last=False), EventLog())
    assert caught.value.where == "engine 0 queue 1 packet 0 M2S BD 0 (slot 0)"


def test_initialising_an_engine_forgets_the_seed(machine):
    engine: Engine = machine.engine(0)
    machine.queue(0, 0).lanes.seed(5)
    engine.initialise()
    assert not machine.queue(0, 0).lanes.seeded


def test_a_rounding_count_and_findings_belong_to_the_batch(machine):
    machine.memory.write(X, np.full(8, 1.001, np.float32).tobytes())
    batch = expand(
        [ComputeWork(0, (Runs.of([X], 32),), (Runs.of([Y], 16),), template(CceType.ADD, 1, 1, FP32, BF16))],
        CAYMAN, 65536, Choices(), barrier_last=False,
    )  # fmt: skip
    assert [machine.execute(batch, EventLog()).lossy for _ in range(2)] == [8, 8]
    odd = expand(
        [ComputeWork(0, (Runs.of([X], 3),), (Runs.of([Y], 3),), template(CceType.ADD, 1, 1, Dtype.INT8, Dtype.INT8))],
        CAYMAN, 65536, Choices(), barrier_last=False,
    )  # fmt: skip
    first, second = (machine.execute(odd, EventLog()).issues for _ in range(2))
    assert [issue.rule for issue in first] == ["dec.D70"] == [issue.rule for issue in second]

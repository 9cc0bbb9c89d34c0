"""Compute work to descriptors: cuts, the chapter's golden words, seeds, replication, promotion, barriers, refusals."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgekit.cce.build import build
from dgekit.cce.decode import decode_packets
from dgekit.cce.enums import CceType, Dtype
from dgekit.cce.expand import expand
from dgekit.cce.packet import CcePacket, Constant
from dgekit.cce.work import ComputeWork, template, update_packet, update_work
from dgekit.core.choices import Choices
from dgekit.core.errors import ComputeError, RingError, Unsupported
from dgekit.core.generations import CAYMAN, MAVERICK, SUNDA
from dgekit.descriptors import bd
from dgekit.descriptors.batch import ChannelWork, PacketKind
from dgekit.descriptors.build import addresses_of, bytes_read, lengths_of
from dgekit.descriptors.semaphore import with_semaphore
from dgekit.descriptors.summary import summary
from dgekit.patterns.runs import Runs
from dgekit.words.enums import ComputeOp

S0, D0 = 0x200010000000, 0x200020000000
BF16, FP32 = Dtype.BFLOAT16, Dtype.FP32
ADD = template(CceType.ADD, 3, 1, BF16, BF16)


def channel_of(work, generation=CAYMAN, packet_bytes=65536, barrier_last=False, **choices):
    batch = expand([work], generation, packet_bytes, Choices(choices), barrier_last=barrier_last)
    (channel,) = batch.channels
    return channel


def sum_of(lengths, dests=((D0, 4096),), packet=ADD, **more):
    sources = tuple(Runs.of([S0 + 0x1000 * i], length) for i, length in enumerate(lengths))
    return ComputeWork(0, sources, tuple(Runs.of([at], n) for at, n in dests), packet, **more)


def test_the_chapters_sum_is_its_bds():
    # cce 9.1, ring ids left to the ring
    channel = channel_of(sum_of([4096] * 3))
    assert channel.m2s[:, 1].tolist() == [0x020A6000, 0x020A6000, 0x020A6080]
    assert channel.m2s[:, 0].tolist() == [0x04801000, 0x00801000, 0x08801000]
    assert addresses_of(channel.m2s).tolist() == [S0, S0 + 0x1000, S0 + 0x2000]
    assert channel.s2m.tolist() == [[0x1000, 0, 0x20000000, 0x2000]]
    assert channel.packets["kind"].tolist() == [PacketKind.COMPUTE]


@st.composite
def legs(draw):
    """Run lengths, in elements, of several legs that hold the same number of them."""
    total = draw(st.integers(1, 60))
    sides = []
    for _ in range(draw(st.integers(2, 4))):
        cuts = sorted(draw(st.sets(st.integers(1, total), max_size=4)) | {total})
        sides.append(np.diff(cuts, prepend=0).tolist())
    return sides


@settings(max_examples=40, deadline=None)
@given(legs(), st.sampled_from([3, 8, 4096]))
def test_packets_end_where_any_run_ends_or_a_packet_is_full(sides, cap):
    runs = [
        Runs.of((1 << 20) * (leg + 1) + 1000 * np.arange(len(side)), np.array(side) * 2)
        for leg, side in enumerate(sides)
    ]
    packet = template(CceType.ADD, len(runs) - 1, 1, BF16, BF16)
    channel = channel_of(ComputeWork(0, tuple(runs[:-1]), (runs[-1],), packet), packet_bytes=2 * cap)
    # element by element: a packet ends where any leg's next element is in another run, or at the cap
    places = [
        [
            (index, start + 2 * k)
            for index, (start, n) in enumerate(zip(leg.starts, leg.lengths // 2, strict=True))
            for k in range(n)
        ]
        for leg in runs
    ]
    wanted, size = [], 0
    for element in range(len(places[0])):
        same = element and all(leg[element][0] == leg[element - 1][0] for leg in places)
        if not same or size == cap:
            wanted.append(([leg[element][1] for leg in places], 0))
            size = 0
        size += 1
        wanted[-1] = (wanted[-1][0], size)
    n = len(runs) - 1
    assert addresses_of(channel.m2s).reshape(-1, n).tolist() == [[int(a) for a in where[:-1]] for where, _ in wanted]
    assert addresses_of(channel.s2m).tolist() == [int(where[-1]) for where, _ in wanted]
    assert (lengths_of(channel.s2m) // 2).tolist() == [size for _, size in wanted]


def test_packets_decode_to_what_was_asked():
    packet = CcePacket(CceType.MAX, (0,) * 2, (0,), 1, BF16, FP32, BF16, constant=Constant(0x40C00000, FP32))
    channel = channel_of(sum_of([5000, 5000], ((D0, 5000),), packet))
    first, second = decode_packets(channel.m2s, channel.s2m)
    assert (first.elements, second.elements, first.constant, second.op) == (2048, 452, packet.constant, CceType.MAX)
    assert second.sources == (S0 + 4096, S0 + 0x1000 + 4096) and second.dests == (D0 + 4096,)


def test_only_the_first_packet_carries_the_seed():
    from dataclasses import replace

    channel = channel_of(sum_of([6000] * 3, ((D0, 6000),), replace(ADD, seed=7)))
    assert channel.packets["m2s_count"].tolist() == [4, 3] and channel.packets["stochastic"].all()
    assert channel.m2s[0].tolist() == [0x04800000, 0x06000000, 0, 7]
    assert bytes_read(channel.m2s).tolist() == [0, 4096, 4096, 4096, 1904, 1904, 1904]


def test_several_destinations():
    packet = template(CceType.ADD, 3, 2, BF16, BF16)
    work = sum_of([6000] * 3, ((D0, 6000), (D0 + 0x8000, 6000)), packet)
    channel = channel_of(work)
    assert channel.packets["m2s_count"].tolist() == [5, 5] and channel.packets["s2m_count"].tolist() == [2, 2]
    assert addresses_of(channel.s2m).tolist() == [D0, D0 + 0x8000, D0 + 4096, D0 + 0x8000 + 4096]
    assert (channel.s2m[:, 0] >> 29 == 1).all()  # strong order (D68)
    with pytest.raises(ComputeError, match="replication not supported") as caught:
        channel_of(work, SUNDA)
    assert caught.value.rule == "cce.5.4"


def test_bytes_are_moved_as_uint16_where_their_number_is_even():
    work = ComputeWork(0, (Runs.of([S0, S0 + 0x1000], [6, 5]),), (Runs.of([D0], 11),), template(0, 1, 1, 2, 2))
    channel = channel_of(work)
    assert channel.packets["in_dtype"].tolist() == [Dtype.UINT16, Dtype.INT8]
    assert channel.packets["accum_dtype"].tolist() == [Dtype.UINT32, Dtype.INT32]
    assert channel.m2s[:, 1].tolist() == [0x02095080, 0x02082080]


def test_updates_are_one_packet_a_run_with_the_destination_first():
    src, dst = Runs.of([100, 200, 300], [8, 8, 8]), Runs.of([1000, 2000, 1000], [8, 8, 8])
    batch = expand(
        [update_work(3, src, dst, update_packet(ComputeOp.ADD, BF16))], CAYMAN, 65536, Choices(), barrier_last=True
    )
    (channel,) = batch.channels
    assert addresses_of(channel.m2s).tolist() == [1000, 100, 2000, 200, 1000, 300]
    assert addresses_of(channel.s2m).tolist() == [1000, 2000, 1000]
    assert channel.m2s[:, 0].tolist() == [bd.FIRST | bd.MD | 8, bd.LAST | bd.MD | 8] * 3
    assert channel.m2s[:, 1].tolist() == [0x020A6000, 0x020A6080] * 2 + [0x020A6040, 0x020A6080]
    assert summary(batch)["bytes"] == 24  # what is read back is not counted


def test_long_runs_are_cut_by_elements():
    src, dst = Runs.of([0, 1 << 20], [6000, 4]), Runs.of([1 << 30, 1 << 31], [6000, 4])
    channel = channel_of(update_work(0, src, dst, update_packet(ComputeOp.ADD, BF16)))
    assert lengths_of(channel.s2m).tolist() == [4096, 1904, 4]
    assert addresses_of(channel.m2s).tolist() == [1 << 30, 0, (1 << 30) + 4096, 4096, 1 << 31, 1 << 20]


@pytest.mark.parametrize("packet", [update_packet(ComputeOp.MULTIPLY, FP32), template(CceType.MAX, 2, 1, FP32, FP32)])
def test_the_barrier_lies_on_the_first_source_of_the_last_packet(packet):
    work = ComputeWork(0, (Runs.of([0x100], 64),) * 2, (Runs.of([0x1000], 64),), packet)
    batch = expand([work], CAYMAN, 32, Choices(), barrier_last=False)
    plain = batch.channels[0].m2s.copy()
    (after,) = with_semaphore(batch, [(0, 0x100, 0x200)]).channels
    changed = np.argwhere(after.m2s[: len(plain)] != plain).tolist()
    assert changed == [[len(plain) // 2 + len(plain) // 2 // 2 - 1 if packet.scales else len(plain) // 2, 1]]
    assert after.m2s[changed[0][0], 1] == plain[changed[0][0], 1] | bd.CCE_WRITE_BARRIER
    assert bytes_read(after.m2s)[changed[0][0]] == 32


def test_words_of_every_update():
    expected = {
        ComputeOp.MAX: [0x020A0602, 0x020A0692],  # cce 9.4
        ComputeOp.MIN: [0x020A0603, 0x020A0693],
        ComputeOp.MULTIPLY: [0x02100000, 0x021AA600, 0x06100000, 0x021AA680],  # cce 9.2 and 9.6's note
    }
    for op, words in expected.items():
        work = update_work(0, Runs.of([S0], 4096), Runs.of([D0], 4096), update_packet(op, BF16))
        channel = channel_of(work)
        assert channel.m2s[:, 1].tolist() == words
        if op is ComputeOp.MULTIPLY:  # a=1 b=2 c=0, then a=1 b=0 c=2; scales 1.0 and 0.0
            assert channel.m2s[[0, 2], 2:].tolist() == [[0x09001000, 0x3F800000], [0x21001000, 0]]


def test_copies_and_computing_go_side_by_side():
    copy = ChannelWork(1, Runs.of([0], 64), Runs.of([128], 64))
    batch = expand([sum_of([4096] * 3), copy, sum_of([4096] * 3)], CAYMAN, 65536, Choices(), barrier_last=True)
    assert [(one.dma, len(one.packets)) for one in batch.channels] == [(0, 2), (1, 1)]
    assert batch.channels[1].m2s[0, 1] == bd.COPY_WORD1 | bd.WRITE_BARRIER


@pytest.mark.parametrize(
    ("work", "generation", "error", "rule"),
    [
        (sum_of([4096, 4096, 4094]), CAYMAN, ComputeError, "cce.4.10"),
        (sum_of([4096, 4096, 4095]), CAYMAN, RingError, "rings.1.8"),
        (sum_of([4096] * 3, ((D0 + 1, 4096),)), CAYMAN, ComputeError, "cce.CHOICE-46"),
        (sum_of([4096] * 3), MAVERICK, ComputeError, "cce.5.1"),
        (sum_of([4096] * 3, packet=template(CceType.ADD, 3, 1, Dtype.FP32R, Dtype.FP32R)), CAYMAN, ComputeError, "cce.5.2"),
        (sum_of([4096] * 33, packet=template(CceType.ADD, 33, 1, BF16, BF16)), CAYMAN, ComputeError, "cce.CHOICE-04"),
        (sum_of([], packet=ADD), CAYMAN, ComputeError, "cce.CHOICE-04"),
        (ComputeWork(0, (Runs.of([], 2),), (Runs.of([D0], 2),), template(0, 1, 1, 6, 6)), CAYMAN, RingError, "rings.1.7"),
        (ComputeWork(0, (Runs.of([0], 1 << 50),), (Runs.of([D0], 1 << 50),), template(0, 1, 1, 6, 6)), CAYMAN, Unsupported, "rings.2.5"),
    ],
)  # fmt: skip
def test_work_that_no_packet_holds(work, generation, error, rule):
    with pytest.raises(error) as caught:
        expand([work], generation, 65536, Choices(), barrier_last=False)
    assert caught.value.rule == rule


def test_the_same_words_as_one_packet_at_a_time():
    packet = CcePacket(CceType.FMA, (0, 0), (0,), 1, FP32, FP32, FP32, scales=(0.5, -2.0))
    channel = channel_of(sum_of([10000, 10000], ((D0, 10000),), packet))
    rows = []
    for first, elements in ((0, 2048), (2048, 452)):
        from dataclasses import replace

        one = replace(
            packet, elements=elements, sources=(S0 + 4 * first, S0 + 0x1000 + 4 * first), dests=(D0 + 4 * first,)
        )
        rows.append(build(one, CAYMAN, Choices(), ring_id=0).tx)
    assert np.array_equal(channel.m2s, np.concatenate(rows))

"""Expansion against a plain oracle that moves one byte (or element) at a time."""

import json
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgekit.core.dtypes import Dtype
from dgekit.core.errors import RingError, Unspecified, Unsupported
from dgekit.core.generations import CAYMAN, SUNDA
from dgekit.descriptors import bd
from dgekit.descriptors.batch import ChannelWork, PacketKind
from dgekit.descriptors.build import addresses_of, lengths_of
from dgekit.descriptors.expand import expand
from dgekit.descriptors.host import packed, stamped
from dgekit.descriptors.semaphore import with_semaphore
from dgekit.descriptors.summary import summary
from dgekit.patterns.channels import split_channels
from dgekit.patterns.runs import Runs, runs
from dgekit.patterns.walk import Walk

SPEC = json.loads((Path(__file__).parent.parent / "golden" / "spec" / "rings.json").read_text())


def oracle_copy(src, dst, byte_cap, tx_cap, rx_cap):
    """Packets as lists of (address, length), byte after byte: a packet closes when the next byte breaks a cap."""
    reads = [(start + i, i == 0) for start, length in src for i in range(length)]
    writes = [(start + i, i == 0) for start, length in dst for i in range(length)]
    packets = []
    for (read, new_read), (write, new_write) in zip(reads, writes, strict=True):
        if packets:
            tx, rx, size = packets[-1]
            full = size == byte_cap or (new_read and len(tx) == tx_cap) or (new_write and len(rx) == rx_cap)
        if not packets or full:
            packets.append([[[read, 1]], [[write, 1]], 1])
            continue
        for leg, address, new in ((packets[-1][0], read, new_read), (packets[-1][1], write, new_write)):
            if new:
                leg.append([address, 1])
            else:
                leg[-1][1] += 1
        packets[-1][2] += 1
    return [([tuple(p) for p in tx], [tuple(p) for p in rx]) for tx, rx, _ in packets]


def pieces(channel):
    legs = [
        list(zip(addresses_of(b).tolist(), lengths_of(b).tolist(), strict=True)) for b in (channel.m2s, channel.s2m)
    ]
    return [
        (
            legs[0][p["m2s_first"] : p["m2s_first"] + p["m2s_count"]],
            legs[1][p["s2m_first"] : p["s2m_first"] + p["s2m_count"]],
        )
        for p in channel.packets
    ]


def as_runs(listed):
    return Runs.of([start for start, _ in listed], [length for _, length in listed])


@st.composite
def legs(draw):
    """Two lists of (start, length) of the same total, uniform or ragged."""
    total = draw(st.integers(1, 240))
    sides = []
    for base in (0, 1 << 40):
        left, listed, place = total, [], base
        size = draw(st.sampled_from([1, 2, 3, 8, 16, 240]))
        ragged = draw(st.booleans())
        while left:
            length = min(left, draw(st.integers(1, 9)) if ragged else size)
            listed.append((place, length))
            place += length + draw(st.integers(0, 3)) if ragged else length + 5
            left -= length
        sides.append(listed)
    return sides


@given(legs(), st.sampled_from([1, 7, 16, 64, 65536]), st.sampled_from([(64, 60), (3, 2), (1, 4), (5, 1)]))
@settings(max_examples=60, deadline=None)
def test_copies_against_the_byte_oracle(sides, packet_bytes, caps):
    src, dst = sides
    generation = _with_caps(*caps)
    (channel,) = expand(
        [ChannelWork(2, as_runs(src), as_runs(dst))], generation, packet_bytes, barrier_last=True
    ).channels
    assert pieces(channel) == oracle_copy(src, dst, packet_bytes, *caps)
    _check_framing(channel, bd.COPY_WORD1, 1 << 26)


def _with_caps(tx, rx):
    from dataclasses import replace

    return replace(CAYMAN, tx_cap=tx, rx_cap=rx)


def _check_framing(channel, word1, barrier):
    for number, packet in enumerate(channel.packets):
        first, count = packet["m2s_first"], packet["m2s_count"]
        words = channel.m2s[first : first + count]
        for place, (word0, meta, _, _) in enumerate(words.tolist()):
            assert bool(word0 & bd.FIRST) == (place == 0)
            assert bool(word0 & bd.LAST) == (place == count - 1)
            assert bool(word0 & bd.CONCAT) == (place > 0)
            last = barrier if number == len(channel.packets) - 1 else 0
            assert meta == (word1 | last if place == 0 else 0)
    assert not (channel.s2m[:, 0] & ~np.uint32(0xFFFF)).any()
    assert not channel.s2m[:, 1].any()


def test_e18_load_over_sixteen_engines():
    src, dst = Walk(0x10000000, ((4096, 128),), 4096), Walk(0x2000000000, ((0x40000, 128),), 4096)
    parts = split_channels(src, dst, False, True, 0x40000, range(16))
    work = [ChannelWork(dma, runs(a), runs(b)) for dma, a, b in parts]
    batch = expand(work, CAYMAN, 65536, barrier_last=True)
    targets = [(k, 0x2000000000 + 8 * k * 0x40000 + 0x37FFC, 0x2802701828) for k in range(16)]
    batch = with_semaphore(batch, targets)
    expected = SPEC["examples_extra"]["fanout_engine5"]
    rows = {leg: "".join(r["bytes"] for r in expected["rows"] if r["label"].startswith(leg)) for leg in ("M2S", "S2M")}
    channel = batch.channels[5]
    one = np.uint32(1)
    assert packed(stamped(channel.m2s, one)) == bytes.fromhex(rows["M2S"])
    assert packed(stamped(channel.s2m, one)) == bytes.fromhex(rows["S2M"])
    counts = summary(batch)
    assert (counts["m2s"], counts["s2m"]) == (expected["m2s_total"], expected["s2m_total"]) == (32, 144)
    assert counts["bytes"] == expected["bytes_total"]
    assert counts["per_engine"][5] == {"engine": 5, "m2s": 2, "s2m": 9, "bytes": 32768}
    assert [row["engine"] for row in counts["per_engine"]] == list(range(16))


def test_the_seeds_copy_of_512_bytes():
    (channel,) = expand(
        [ChannelWork(0, Runs.of([0x100000000], 512), Runs.of([0x2000000000], 512))], CAYMAN, 65536, barrier_last=False
    ).channels
    one = np.uint32(1)
    assert packed(stamped(channel.m2s, one)).hex(" ") == "00 02 00 0d 03 00 08 01 00 00 00 00 01 00 00 00"
    assert packed(stamped(channel.s2m, one)).hex(" ") == "00 02 00 01 00 00 00 00 00 00 00 00 20 00 00 00"


def test_packet_bytes_never_exceed_64_kib():
    work = ChannelWork(0, Runs.of([0], 1 << 20), Runs.of([1 << 30], 1 << 20))
    (channel,) = expand([work], CAYMAN, 1 << 20, barrier_last=False).channels
    assert lengths_of(channel.m2s).tolist() == [65536] * 16
    assert channel.m2s[:, 0].tolist() == [bd.FIRST | bd.LAST] * 16


def test_64_mib_over_rows_of_2_kib_is_exact_and_fast():
    src, dst = Runs.of([0], 64 << 20), Runs.of(np.arange(32768) * 4096 + (1 << 40), 2048)
    best = 1.0
    for _ in range(4):
        begin = time.perf_counter()
        (channel,) = expand([ChannelWork(0, src, dst)], CAYMAN, 65536, barrier_last=True).channels
        best = min(best, time.perf_counter() - begin)
    assert (len(channel.m2s), len(channel.s2m), len(channel.packets)) == (1024, 32768, 1024)
    assert set(channel.packets["m2s_count"]) == {1}
    assert set(channel.packets["s2m_count"]) == {32}
    assert (addresses_of(channel.m2s) == np.arange(1024) * 65536).all()
    assert best < 0.02  # the target is 5 ms; the margin is for a busy machine


def oracle_cast(src, in_size, dst, out_size, cap):
    reads = [(s + i * in_size, i == 0) for s, n in src for i in range(n // in_size)]
    writes = [(s + i * out_size, i == 0) for s, n in dst for i in range(n // out_size)]
    packets = []
    for (read, a), (write, b) in zip(reads, writes, strict=True):
        if packets and not a and not b and packets[-1][2] < cap:
            packets[-1][2] += 1
        else:
            packets.append([read, write, 1])
    return [([(r, n * in_size)], [(w, n * out_size)]) for r, w, n in packets]


@given(legs(), st.sampled_from([4, 7, 2048]))
@settings(max_examples=40, deadline=None)
def test_casts_against_the_element_oracle(sides, cap):
    from dataclasses import replace

    src = [(start * 4, length * 4) for start, length in sides[0]]
    dst = [(start * 2, length * 2) for start, length in sides[1]]
    work = ChannelWork(1, as_runs(src), as_runs(dst), PacketKind.CAST, Dtype.FP32, 0, Dtype.BFLOAT16)
    (channel,) = expand([work], replace(CAYMAN, cce_elements=cap), 65536, barrier_last=True).channels
    assert pieces(channel) == oracle_cast(src, 4, dst, 2, cap)
    assert set((channel.m2s[:, 0] & ~np.uint32(0xFFFF)).tolist()) == {bd.FIRST | bd.LAST | bd.MD}
    assert channel.m2s[:, 1].tolist() == [0x020A6080] * (len(channel.m2s) - 1) + [0x020A60C0]
    assert set(channel.packets["accum_dtype"].tolist()) == {int(Dtype.FP32)}
    assert set(channel.packets["out_dtype"].tolist()) == {int(Dtype.BFLOAT16)}


def test_cast_caps_follow_the_generation_and_the_packet_size():
    work = ChannelWork(
        0, Runs.of([0], 4 * 5000), Runs.of([1 << 20], 2 * 5000), PacketKind.CAST, Dtype.FP32, 0, Dtype.FP16
    )
    for generation, packet_bytes, sizes in [
        (CAYMAN, 65536, [2048, 2048, 904]),
        (SUNDA, 65536, [1024] * 4 + [904]),
        (CAYMAN, 4096, [1024] * 4 + [904]),
        (CAYMAN, 1, [1] * 5000),
    ]:
        (channel,) = expand([work], generation, packet_bytes, barrier_last=False).channels
        assert (lengths_of(channel.m2s) // 4).tolist() == sizes


def transpose_work(rows=16, cols=128, tiles=2, size=2, drop=0):
    src = Runs.of(np.arange(rows * tiles) * 1024, cols * size)
    dst = Runs.of((1 << 40) + np.arange(cols * tiles - drop) * 0x40000, rows * size)
    return ChannelWork(0, src, dst, PacketKind.TRANSPOSE, Dtype.BFLOAT16, 0, Dtype.BFLOAT16, rows, cols)


def test_transposes_have_a_packet_a_tile_over_the_receive_cap():
    (channel,) = expand([transpose_work()], CAYMAN, 64, barrier_last=True).channels
    assert channel.packets["m2s_count"].tolist() == [16, 16]
    assert channel.packets["s2m_count"].tolist() == [128, 128]
    assert set(lengths_of(channel.s2m).tolist()) == {32}
    assert channel.packets["tile_rows"].tolist() == [16, 16]
    _check_framing(channel, 0x00900000, 1 << 26)


@pytest.mark.parametrize(
    ("work", "rule"),
    [
        (transpose_work(drop=1), "rings.1.8"),
        (transpose_work(rows=65), "rings.2.5"),
        (ChannelWork(0, Runs.of([0], 2), Runs.of([9], 2), PacketKind.TRANSPOSE), "rings.1.8"),
        (ChannelWork(0, Runs.of([0, 8], 4), Runs.of([9, 99], 8), PacketKind.TRANSPOSE, tile_rows=1, tile_cols=1), "rings.1.8"),
        (ChannelWork(0, Runs.of([0], 4), Runs.of([9], 5)), "rings.1.8"),
        (ChannelWork(0, Runs.of([], 4), Runs.of([], 4)), "rings.1.7"),
        (ChannelWork(0, Runs.of([0, 8], [4, 0]), Runs.of([9], 4)), "rings.1.7"),
        (ChannelWork(0, Runs.of([0], 8), Runs.of([9], 8), PacketKind.CAST, Dtype.FP32, 0, Dtype.FP16), "rings.1.8"),
        (ChannelWork(0, Runs.of([0], 6), Runs.of([9], 4), PacketKind.CAST, Dtype.FP32, 0, Dtype.FP16), "rings.1.8"),
    ],
)  # fmt: skip
def test_work_that_does_not_pair_is_refused(work, rule):
    with pytest.raises(RingError) as caught:
        expand([work], CAYMAN, 65536, barrier_last=False)
    assert caught.value.rule == rule
    assert "DMA 0" in str(caught.value) or "run 0" in str(caught.value)


def test_other_refusals():
    copy = ChannelWork(0, Runs.of([0], 4), Runs.of([9], 4))
    with pytest.raises(RingError) as caught:
        expand([copy], CAYMAN, 0, barrier_last=False)
    assert caught.value.rule == "dec.D32"
    narrow = ChannelWork(0, Runs.of([0], 4), Runs.of([9], 4), PacketKind.CAST, Dtype.FP4_EXP2, 0, Dtype.FP8_EXP4)
    wide = ChannelWork(0, Runs.of([0], 4), Runs.of([9], 4), PacketKind.CAST, Dtype.SFP8_E8, 0, Dtype.FP8_EXP4)
    for work in (narrow, wide):
        with pytest.raises(Unspecified) as caught:
            expand([work], CAYMAN, 65536, barrier_last=False)
        assert caught.value.rule == "rings.1.5"
    huge = ChannelWork(0, Runs.of([0], 1 << 50), Runs.of([9], 1 << 50))
    with pytest.raises(Unsupported) as caught:
        expand([huge], CAYMAN, 65536, barrier_last=False)
    assert caught.value.rule == "rings.2.5"


def test_several_works_of_one_channel_follow_one_another():
    works = [
        ChannelWork(1, Runs.of([0], 100), Runs.of([1 << 20, 1 << 21], 50)),
        ChannelWork(0, Runs.of([500], 10), Runs.of([600], 10)),
        ChannelWork(1, Runs.of([200], 8), Runs.of([1 << 22], 8)),
        ChannelWork(1, Runs.of([300], 8), Runs.of([1 << 23], 8), queue=4),
    ]
    batch = expand(works, CAYMAN, 65536, barrier_last=True)
    assert [(channel.dma, channel.queue) for channel in batch.channels] == [(1, 0), (0, 0), (1, 4)]
    first = batch.channels[0]
    assert pieces(first) == [([(0, 100)], [(1 << 20, 50), (1 << 21, 50)]), ([(200, 8)], [(1 << 22, 8)])]
    assert first.m2s[:, 1].tolist() == [bd.COPY_WORD1, bd.COPY_WORD1 | bd.WRITE_BARRIER]
    assert expand([], CAYMAN, 65536, barrier_last=True).channels == ()


def test_semaphores_behind_data_and_on_idle_engines():
    batch = expand([ChannelWork(3, Runs.of([0], 8), Runs.of([64], 8), queue=2)], CAYMAN, 65536, barrier_last=False)
    plain = batch.channels[0].m2s.copy()
    marked = with_semaphore(batch, [(3, 0x100, 0x200), (4, 0x104, 0x200), (3, 0x108, 0x204)], queue=7)
    assert (batch.channels[0].m2s == plain).all()
    busy, idle = marked.channels
    assert (busy.dma, busy.queue, idle.dma, idle.queue) == (3, 2, 4, 7)
    assert busy.m2s[:, 1].tolist() == [bd.COPY_WORD1 | bd.WRITE_BARRIER, bd.COPY_WORD1, bd.COPY_WORD1]
    assert busy.packets["kind"].tolist() == [PacketKind.COPY, PacketKind.SEMAPHORE, PacketKind.SEMAPHORE]
    assert idle.packets["kind"].tolist() == [PacketKind.SEMAPHORE]
    assert summary(marked)["per_engine"][1] == {"engine": 4, "m2s": 1, "s2m": 1, "bytes": 0}
    twice = type(batch).joined([batch, batch])
    follows = with_semaphore(twice, [(3, 0x100, 0x200)])
    assert [len(channel.m2s) for channel in follows.channels] == [1, 2]

"""The builder against the six worked packets, bit for bit; profiles, promotion, many packets, refusals."""

from dataclasses import replace

import numpy as np
import pytest
from cce_spec import BF16, D0, D1, EXAMPLES, FP32, PACKETS, S0, S1, rows

from dgekit.cce.build import build, build_many, promoted
from dgekit.cce.enums import CceType, Dtype
from dgekit.cce.packet import CcePacket, Constant, Gce
from dgekit.core.choices import Choices
from dgekit.core.errors import ComputeError
from dgekit.core.generations import CAYMAN, MARIANA, SUNDA

PLAIN = Choices()


def bytes_of(words):
    return [row.astype("<u4").tobytes() for row in words]


@pytest.mark.parametrize("name", PACKETS)
@pytest.mark.parametrize("generation", [CAYMAN, MARIANA], ids=lambda g: g.name)
def test_the_worked_packets_bit_for_bit(name, generation):
    built = build(EXAMPLES[name], generation, PLAIN)
    assert bytes_of(built.tx) == rows(name, "tx")
    assert bytes_of(built.rx) == rows(name, "rx")
    assert built.encode() == b"".join(bytes.fromhex(row["bytes"]) for row in PACKETS[name])


@pytest.mark.parametrize("name", PACKETS)
def test_the_words_of_the_tables_are_their_bytes(name):
    for row in PACKETS[name]:
        assert b"".join(int(word, 16).to_bytes(4, "little") for word in row["words"]).hex() == row["bytes"]


def test_v2_builds_the_same_words_up_to_its_size():
    packet = replace(EXAMPLES["add_3src_bf16"], elements=1024)
    assert build(packet, SUNDA, PLAIN).encode() == build(packet, CAYMAN, PLAIN).encode()


@pytest.mark.parametrize("ring_id", range(4))
def test_ring_id_is_in_every_bd(ring_id):
    built = build(EXAMPLES["ext_gce"], CAYMAN, PLAIN, ring_id=ring_id)
    for words in (built.tx, built.rx):
        assert set((words[:, 0] >> 24 & 3).tolist()) == {ring_id}


@pytest.mark.parametrize("ring_id", [-1, 4])
def test_a_ring_id_beyond_two_bits(ring_id):
    with pytest.raises(ComputeError) as caught:
        build(EXAMPLES["ext_gce"], CAYMAN, PLAIN, ring_id=ring_id)
    assert caught.value.rule == "cce.3.2"


def test_strict_meta_clears_the_bit_on_source_bds_only():
    for name in PACKETS:
        plain, strict = (build(EXAMPLES[name], CAYMAN, Choices({"strict_meta": flag})) for flag in (False, True))
        sources = [index in plain.source_rows for index in range(len(plain.tx))]
        assert (plain.tx[:, 0] & 0x800000 != 0).all()
        assert (strict.tx[:, 0] & 0x800000 == 0).tolist() == sources
        assert (strict.tx[:, 0] | 0x800000).tolist() == plain.tx[:, 0].tolist()
        assert (strict.tx[:, 1:] == plain.tx[:, 1:]).all()


def test_unified_minmax_words():
    unified = Choices({"unified_minmax": True})
    low = build(EXAMPLES["min_const_2src_bf16"], CAYMAN, unified).tx[:, 1].tolist()
    # [22:20] is the type, [15:12] the constant's type, on the constant's BD too
    assert [f"{word:08x}" for word in low] == ["06300000", "023aa623", "023aa6b3"]
    high = build(EXAMPLES["max_noconst_2src_bf16"], CAYMAN, unified).tx[:, 1].tolist()
    assert [f"{word:08x}" for word in high] == ["022a0602", "022a0692"]


def test_barrier_stands_on_the_first_source():
    for name, row in (("add_3src_bf16", 0), ("fma_2src_fp32", 1), ("min_const_2src_bf16", 1)):
        plain = build(EXAMPLES[name], CAYMAN, PLAIN).tx[:, 1]
        barred = build(replace(EXAMPLES[name], write_barrier=True), CAYMAN, PLAIN).tx[:, 1]
        assert (plain ^ barred).tolist() == [64 if index == row else 0 for index in range(len(plain))]


def test_strong_order_is_asked_or_combined():
    packet = EXAMPLES["add_3src_bf16"]
    assert build(replace(packet, strong_order=True), CAYMAN, PLAIN).rx[0, 0] == 0x21001000
    assert build(packet, CAYMAN, PLAIN).rx[0, 0] == 0x01001000


def test_compression_alone():
    header = 0x200030000000
    packed = CcePacket(CceType.GCE, (S0,), (D0,), 1024, FP32, FP32, FP32, gce=Gce(header, True, BF16))
    built = build(packed, CAYMAN, PLAIN)
    assert [f"{word:08x}" for word in built.tx[:, 1]] == ["26500001", "025aaa80"]
    assert built.tx[:, 0].tolist() == [0x05800000, 0x09801000]
    assert built.rx[0, 0] == 0x01000800  # the payload's size
    unpacked = replace(packed, gce=Gce(header, False, BF16))
    built = build(unpacked, CAYMAN, PLAIN)
    assert [f"{word:08x}" for word in built.tx[:, 1]] == ["06500001", "025aa680"]
    assert built.tx[1, 0] == 0x09800800


def test_32_sources_of_fma_with_a_seed_fill_the_cap():
    packet = CcePacket(
        CceType.FMA, tuple(S0 + 64 * i for i in range(32)), (D0,), 16, FP32, FP32, FP32, scales=(1.0,) * 32, seed=1
    )
    assert len(build(packet, CAYMAN, PLAIN).tx) == 65
    with pytest.raises(ComputeError, match="CCE concatenation not supported") as caught:
        build(replace(packet, dests=(D0, D1)), CAYMAN, PLAIN)
    assert caught.value.values == {"tx": 67, "limit": 65, "text": "CCE concatenation not supported"}


@pytest.mark.parametrize("dtype", [Dtype.INT8, Dtype.UINT8, Dtype.FP8_EXP3, Dtype.FP8_EXP4, Dtype.FP8_EXP5])
def test_a_lone_byte_source_is_moved_as_uint16(dtype):
    packet = CcePacket(CceType.ADD, (S0,), (D0,), 64, dtype, FP32, dtype)
    moved = promoted(packet)
    assert (moved.in_dtype, moved.out_dtype, moved.elements) == (Dtype.UINT16, Dtype.UINT16, 32)
    word = int(build(packet, CAYMAN, PLAIN).tx[0, 1])
    assert word >> 12 & 0xF == Dtype.UINT16
    assert int(build(packet, CAYMAN, PLAIN).tx[0, 0]) & 0xFFFF == 64


@pytest.mark.parametrize(
    "packet",
    [
        CcePacket(CceType.ADD, (S0,), (D0,), 63, Dtype.INT8, FP32, Dtype.INT8),
        CcePacket(CceType.ADD, (S0, S1), (D0,), 64, Dtype.INT8, FP32, Dtype.INT8),
        CcePacket(CceType.ADD, (S0,), (D0, D1), 64, Dtype.INT8, FP32, Dtype.INT8),
        CcePacket(CceType.ADD, (S0,), (D0,), 64, Dtype.INT8, FP32, Dtype.UINT8),
        CcePacket(CceType.ADD, (S0,), (D0,), 64, BF16, FP32, BF16),
        CcePacket(CceType.ADD, (S0,), (D0,), 64, Dtype.INT8, FP32, Dtype.INT8, seed=1),
        CcePacket(CceType.ADD, (S0,), (D0,), 64, Dtype.FP8_EXP4, FP32, Dtype.FP8_EXP4, in_fn=True),
        CcePacket(CceType.FMA, (S0,), (D0,), 64, Dtype.INT8, FP32, Dtype.INT8, scales=(1.0,)),
        CcePacket(CceType.MAX, (S0,), (D0,), 64, Dtype.INT8, FP32, Dtype.INT8, constant=Constant(0, FP32)),
    ],
)
def test_no_other_packet_is_promoted(packet):
    assert promoted(packet) is packet


@pytest.mark.parametrize("name", PACKETS)
def test_many_packets_are_each_packet(name):
    packet = EXAMPLES[name]
    sources = np.array(packet.sources)[None] + np.arange(5)[:, None] * 0x10000
    dests = np.array(packet.dests)[None] + np.arange(5)[:, None] * 0x40000
    tx, rx = build_many(packet, sources, dests, CAYMAN, PLAIN)
    for index in range(5):
        own = replace(packet, sources=tuple(sources[index].tolist()), dests=tuple(dests[index].tolist()))
        one = build(own, CAYMAN, PLAIN)
        assert (tx[index] == one.tx).all()
        assert (rx[index] == one.rx).all()


@pytest.mark.parametrize(
    ("sources", "dests", "rule", "where"),
    [
        ([[S0, S1]], [[D0]], "cce.CHOICE-04", "sources"),
        ([[S0, S1, S1]], [[D0, D0]], "cce.CHOICE-04", "dests"),
        ([[S0, S1, S1], [S0, S1 + 1, S1]], [[D0], [D0]], "cce.CHOICE-46", "packet 1, sources[1]"),
        ([[S0, S1, S1]], [[-2]], "cce.CHOICE-46", "packet 0, dests[0]"),
    ],
)
def test_addresses_of_many_packets_are_checked(sources, dests, rule, where):
    with pytest.raises(ComputeError) as caught:
        build_many(EXAMPLES["add_3src_bf16"], np.array(sources), np.array(dests), CAYMAN, PLAIN)
    assert (caught.value.rule, caught.value.where) == (rule, where)

"""Packets read back from BDs: what was built, the worked packets, and everything that cannot be a packet."""

from dataclasses import replace

import numpy as np
import pytest
from cce_packets import packets
from cce_spec import BF16, D0, D1, EXAMPLES, FP32, PACKETS, S0, S1, rows
from hypothesis import given, settings
from hypothesis import strategies as st

from dgekit.cce.build import build, promoted
from dgekit.cce.decode import RawPacket, decode_packet, decode_packets
from dgekit.cce.enums import DEFAULT_SELECTORS, CceType, Dtype
from dgekit.cce.packet import CcePacket, Constant
from dgekit.cce.text import bd_from_json
from dgekit.core.choices import Choices
from dgekit.core.errors import ComputeError
from dgekit.core.generations import CAYMAN
from dgekit.descriptors.bd import COPY_WORD1

PLAIN = Choices()


def words(data):
    return np.frombuffer(b"".join(data), dtype="<u4").reshape(-1, 4)


def built(packet, choices=PLAIN):
    one = build(packet, CAYMAN, choices)
    return one.tx, one.rx


@pytest.mark.parametrize("name", PACKETS)
def test_the_worked_packets(name):
    packet = EXAMPLES[name]
    (read,) = decode_packets(words(rows(name, "tx")), words(rows(name, "rx")))
    assert read == replace(packet, strong_order=packet.is_combo)


def normal(packet):
    """What the words say of a packet: the promoted move, no selectors where all are the default ones."""
    packet = promoted(packet)
    plain = all(one == DEFAULT_SELECTORS for one in packet.selectors)
    return replace(packet, selectors=() if plain else packet.selectors)


def is_ambiguous(packet):
    """The last source's operands are the bits of a MIN constant (decision D66)."""
    return packet.op == CceType.FMA and packet.selectors_of(len(packet.sources) - 1) == (2, 0, 0)


@given(st.lists(packets().filter(lambda p: not is_ambiguous(p)), min_size=1, max_size=4), st.booleans(), st.booleans())
@settings(max_examples=60, deadline=None)
def test_a_stream_of_packets_comes_back(stream, strict_meta, unified):
    choices = Choices({"strict_meta": strict_meta, "unified_minmax": unified})
    legs = [built(packet, choices) for packet in stream]
    tx, rx = (np.concatenate([leg[side] for leg in legs]) for side in (0, 1))
    assert decode_packets(tx, rx, choices) == [normal(packet) for packet in stream]


@given(st.binary(max_size=160), st.binary(max_size=80))
@settings(max_examples=60, deadline=None)
def test_any_bytes_decode(tx, rx):
    tx, rx = tx[: len(tx) // 16 * 16], rx[: len(rx) // 16 * 16]
    read = decode_packets(words([tx]), words([rx]))
    raw = [packet for packet in read if isinstance(packet, RawPacket)]
    assert all(packet.issues for packet in raw)


def test_types_that_the_words_leave_out_are_given():
    packet = CcePacket(CceType.FMA, (S0,), (D0,), 16, BF16, FP32, FP32, scales=(2.0,))
    tx, rx = built(packet)
    assert decode_packet(tx, rx, PLAIN, out_dtype=FP32) == packet
    with pytest.raises(ComputeError, match="destination of 64 bytes") as caught:
        decode_packet(tx, rx, PLAIN)
    assert caught.value.rule == "cce.4.10"
    cast = CcePacket(CceType.ADD, (S0,), (D0,), 16, FP32, FP32, BF16)
    tx, rx = built(cast)
    assert decode_packet(tx, rx, PLAIN, in_dtype=FP32, out_dtype=BF16) == cast


def test_a_copy_is_raw_and_takes_its_buffers():
    copy = words([bd_from_json({"kind": "copy", "fields": {"len_ctrl": {"length": 128, "first": 1, "last": 1}}})])
    assert copy[0, 1] == COPY_WORD1
    halves = words([bd_from_json({"kind": "buffer", "fields": {"len_ctrl": {"length": 64}}})] * 2)
    tx, rx = built(EXAMPLES["add_3src_bf16"])
    read = decode_packets(np.concatenate([copy, tx]), np.concatenate([halves, rx]))
    assert isinstance(read[0], RawPacket)
    assert (len(read[0].tx), len(read[0].rx)) == (1, 2)
    assert read[0].issues[0].rule == "cce.3.9"
    assert read[1] == EXAMPLES["add_3src_bf16"]


def test_buffers_left_over():
    tx, rx = built(EXAMPLES["add_3src_bf16"])
    *_, last = decode_packets(tx, np.concatenate([rx, rx]))
    assert isinstance(last, RawPacket)
    assert (last.tx, len(last.rx), last.issues[0].rule) == ((), 1, "cce.4.10")


def test_a_packet_without_its_buffer():
    tx, rx = built(EXAMPLES["add_3src_bf16"])
    (read,) = decode_packets(tx, rx[:0])
    assert isinstance(read, RawPacket)
    assert "0 rx BDs for 1 destinations" in read.issues[0].message


def row(kind, **fields):
    """One BD of a kind, with meta-control fields by name."""
    operands = {"operands": fields.pop("operands")} if "operands" in fields else {}
    length = fields.pop("length", 64 if kind in ("add", "fma", "max", "min", "gce") else 0)
    if kind == "add":
        fields = {"out_dt": 6, "accum_dt": 10, **fields}
    elif kind in ("fma", "max", "min", "gce"):
        fields = {"in_dt": 6, "accum_dt": 10, **fields}
    return bd_from_json({"kind": kind, "fields": {"meta_ctrl": fields, "len_ctrl": {"length": length}, **operands}})


LAST = row("add", last=1)
OPERANDS = row("fma_parameter")
HEADER = row("gce_parameter")
CONSTANT = row("minmax_constant", const_dt=2)


@pytest.mark.parametrize(
    ("tx", "rule", "part"),
    [
        ([], "cce.4.10", "no source"),
        ([row("seed")], "cce.4.10", "no source"),
        ([row("add")], "cce.4.10", "without a flush bit"),
        ([row("add"), row("add")], "cce.4.10", "without a flush bit"),
        ([row("min", notif=1)], "cce.4.10", "without a flush bit"),
        ([LAST, row("add")], "cce.4.10", "after the flush bit"),
        ([LAST, OPERANDS], "cce.4.10", "after the flush bit"),
        ([LAST, row("seed")], "cce.3.4", "first of its packet"),
        ([row("seed"), CONSTANT, row("max", use_const=1, last=1)], "cce.3.4", "first of its packet"),
        ([OPERANDS, OPERANDS], "cce.3.4", "two operand BDs"),
        ([row("fma", f4_last=1)], "cce.3.4", "without FMA operands"),
        ([OPERANDS, LAST], "cce.3.4", "after FMA operands"),
        ([OPERANDS], "cce.4.10", "no source"),
        ([OPERANDS, row("fma"), OPERANDS], "cce.3.4", "operands without their source"),
        ([row("gce", last=1)], "cce.4.6", "without a header"),
        ([row("add"), HEADER], "cce.3.4", "compression header"),
        ([LAST, HEADER], "cce.3.4", "without its stage"),
        ([HEADER, HEADER], "cce.3.4", "compression header"),
        ([row("ext"), LAST], "cce.CHOICE-19", "after the last source"),
        ([row("replication"), LAST], "cce.3.4", "one replication BD"),
        ([LAST, row("replication"), row("replication")], "cce.3.4", "one replication BD"),
        ([LAST, row("replication", count=0)], "cce.CHOICE-17", "no destination"),
        ([row("min"), row("max", last=1)], "cce.3.9", "several operations"),
        ([bytes.fromhex("00018000 03000801 00000000 00000000")], "cce.3.9", "no part of a compute packet"),
        ([row("max", last=1, use_const=1)], "cce.3.6", "disagree"),
        ([CONSTANT, row("max", last=1)], "cce.3.6", "disagree"),
        ([CONSTANT, row("max", last=1, use_const=1, const_dt=3)], "cce.CHOICE-15", "two constant types"),
        ([row("add"), row("add", length=32, last=1)], "cce.4.10", "unequal sizes"),
        ([row("add", length=63, last=1)], "cce.4.10", "no whole elements"),
        ([row("add", out_dt=0, last=1)], "cce.1.2", "no element type"),
        ([row("add", out_dt=11, last=1)], "cce.5.2", "FP32R has no size"),
        ([row("add"), row("add", accum_dt=6, last=1)], "cce.4.3", "several types as accum_dt"),
    ],
)
def test_what_is_no_packet(tx, rule, part):
    rx = words([bd_from_json({"kind": "buffer", "fields": {"len_ctrl": {"length": 64}}})])
    with pytest.raises(ComputeError, match=part) as caught:
        decode_packet(words(tx), rx, PLAIN)
    assert caught.value.rule == rule


def test_a_switched_off_parameter_changes_nothing():
    rx = words([bd_from_json({"kind": "buffer", "fields": {"len_ctrl": {"length": 64}}})])
    for first in ("seed_disabled", "minmax_parameter"):
        read = decode_packet(words([row(first), row("max", last=1, notif=1)]), rx, PLAIN)
        assert (read.op, read.seed, read.constant, read.elements) == (CceType.MAX, None, None, 32)


def test_unified_words_name_the_constants_type():
    unified = Choices({"unified_minmax": True})
    packet = CcePacket(CceType.MIN, (S0, S1), (D0, D1), 16, BF16, FP32, BF16, constant=Constant(5, Dtype.FP16))
    tx, rx = built(packet, unified)
    assert decode_packet(tx, rx, unified) == replace(packet, strong_order=True)

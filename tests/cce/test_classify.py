"""Kinds: the worked BDs, every BD that the builder emits, any 16 bytes; decode then encode is the identity."""

import json

import pytest
from cce_packets import packets
from cce_spec import EXAMPLES, PACKETS
from hypothesis import given, settings
from hypothesis import strategies as st

from dgekit.cce.build import build, promoted
from dgekit.cce.classify import BUFFER, DEFAULTS, KINDS, RAW, classify, decode_bd
from dgekit.cce.enums import CceType
from dgekit.cce.text import bd_from_json, bd_line, bd_to_json
from dgekit.core.choices import Choices
from dgekit.core.errors import DecodeError, EncodeError, InputError
from dgekit.core.generations import CAYMAN

NAMES = {
    "D": {"add_3src_bf16": "add", "fma_2src_fp32": "fma", "min_const_2src_bf16": "min"},
    "P": {"fma_2src_fp32": "fma_parameter", "min_const_2src_bf16": "minmax_constant"},
}
NAMES["D"] |= {"max_noconst_2src_bf16": "max", "ext_gce": "add", "add_replicate": "add"}
STAGES = {
    "seed": "seed",
    "EXT": "ext",
    "GCE parameter": "gce_parameter",
    "GCE word": "gce",
    "replication": "replication",
}


def golden():
    for packet, rows in PACKETS.items():
        for row in rows:
            name = row["bd"]
            kind = next((kind for start, kind in STAGES.items() if name.startswith(start)), None)
            kind = kind or (BUFFER if name[0] == "R" else NAMES[name[0]][packet])
            yield pytest.param(bytes.fromhex(row["bytes"]), kind, id=f"{packet}-{name}")


@pytest.mark.parametrize(("data", "kind"), list(golden()))
def test_the_worked_bds(data, kind):
    assert classify(data) == kind
    line = bd_to_json(data)
    assert (line["kind"], line["issues"]) == (kind, [])
    assert line["leg"] == ("s2m" if kind == BUFFER else "m2s")
    assert bd_from_json(json.loads(json.dumps(line))) == data


def expected_kinds(packet):
    """The tx kinds of a packet by cce 3.4, written down again."""
    op = CceType(packet.op).name.lower()
    yield from ["seed"] * (packet.seed is not None)
    yield from ["minmax_constant"] * (packet.constant is not None)
    yield from ["gce_parameter"] * (packet.op == CceType.GCE)
    for _ in packet.sources:
        yield from ["fma_parameter"] * (packet.op == CceType.FMA)
        yield op
    stage = packet.gce is not None and packet.op != CceType.GCE
    copies = len(packet.dests) > 1
    yield from ["ext"] * (stage or copies)
    yield from ["gce_parameter", "gce"] * stage
    yield from ["replication"] * copies


def is_the_ambiguous_one(packet, kind, row):
    """Operands a=2, b=0, c=0 of the last source are the bits of a constant (decision D66)."""
    last = len(packet.sources) - 1
    return kind == "fma_parameter" and packet.selectors_of(last) == (2, 0, 0) and row[7] & 4


@given(packets(), st.booleans(), st.booleans())
@settings(max_examples=60, deadline=None)
def test_every_bd_the_builder_emits_has_its_kind(packet, strict_meta, unified):
    choices = Choices({"strict_meta": strict_meta, "unified_minmax": unified})
    built = build(packet, CAYMAN, choices)
    kinds = list(expected_kinds(promoted(packet)))
    assert len(kinds) == len(built.tx)
    for words, kind in zip(built.tx, kinds, strict=True):
        row = words.astype("<u4").tobytes()
        if not is_the_ambiguous_one(packet, kind, row):
            assert classify(row, choices=choices) == kind
    for words in built.rx:
        assert classify(words.astype("<u4").tobytes()) == BUFFER


FEW = st.sampled_from([0, 1 << 23, 1 << 26, 1 << 31, 0x05800000])
WORD0 = st.builds(lambda a, b: a | b, FEW, st.integers(0, (1 << 32) - 1))
WORD1 = st.one_of(
    st.integers(0, (1 << 32) - 1),
    st.sampled_from([0, 0x01080003, 0x06000000, 0x46000000, 0x02100000, 0x00A00002]),
    st.builds(
        lambda op, kind, low: op << 23 | kind << 20 | low, st.integers(0, 15), st.integers(0, 7), st.integers(0, 255)
    ),
)
WORD2 = st.sampled_from([0, 0x02000000, 0x09001000]) | st.integers(0, (1 << 32) - 1)


@given(
    st.tuples(WORD0, WORD1, WORD2, st.integers(0, (1 << 32) - 1)),
    st.sampled_from(["auto", "m2s", "s2m"]),
    st.booleans(),
)
@settings(max_examples=200, deadline=None)
def test_decoding_is_total_and_encoding_its_inverse(words, leg, strict_meta):
    data = b"".join(word.to_bytes(4, "little") for word in words)
    choices = Choices({"strict_meta": strict_meta})
    kind, bd = decode_bd(data, leg, choices)
    assert kind in KINDS
    assert bd.encode() == data
    line = json.loads(json.dumps(bd_to_json(data, 32, leg, choices)))
    assert bd_from_json(line) == data
    assert line["hex"] == data.hex()
    assert kind in bd_line(data, leg, choices)


@pytest.mark.parametrize("kind", KINDS)
def test_the_default_bd_of_a_kind_is_of_that_kind(kind):
    data = bd_from_json({"kind": kind})
    assert data == DEFAULTS[kind].encode()
    if kind not in (RAW, BUFFER):
        assert classify(data, "m2s") == kind


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        ("00008000 00000000 00000000 78563412", "seed_disabled"),
        ("00008000 00000000 00100002 00000000", "minmax_parameter"),
        ("00008000 00001006 00100002 0000803f", "minmax_constant"),  # or FMA operands 2, 0, 0 of a last source
        ("0001000c 00009000 00000000 00000000", "transpose"),
        ("00010000 0200a000 00000000 00000000", "raw"),  # a replication without the metadata bit
        ("00018000 03000801 00000000 00000000", "raw"),
        ("00018000 00006002 00000000 00000000", "raw"),
    ],
)
def test_named_corners(data, kind):
    raw = bytes.fromhex(data)
    assert classify(raw) == kind
    assert decode_bd(raw)[1].encode() == raw


def test_the_leg_decides_where_it_is_given():
    row = build(EXAMPLES["add_3src_bf16"], CAYMAN, Choices()).rx[0].astype("<u4").tobytes()
    assert (classify(row, "auto"), classify(row, "s2m"), classify(row, "m2s")) == (BUFFER, BUFFER, "copy")


@pytest.mark.parametrize("size", [0, 15, 17])
def test_a_bd_is_16_bytes(size):
    with pytest.raises(DecodeError) as caught:
        classify(bytes(size))
    assert caught.value.rule == "layout.size"


def test_fields_decide_and_the_rest_is_the_kinds_own():
    data = bd_from_json({"kind": "max", "hex": "00", "fields": {"meta_ctrl": {"in_dt": "BFLOAT16"}, "buf_ptr": "0x40"}})
    assert data.hex() == "00008000020600024000000000000000"


@pytest.mark.parametrize(
    ("obj", "error", "rule"),
    [
        ([], InputError, "cce.json"),
        ({}, InputError, "cce.json"),
        ({"kind": "adder"}, InputError, "cce.json"),
        ({"kind": 3}, InputError, "cce.json"),
        ({"kind": "add", "field": {}}, InputError, "cce.json"),
        ({"kind": "add", "fields": []}, InputError, "cce.json"),
        ({"kind": "add", "fields": {"nothing": 1}}, EncodeError, "layout.field"),
        ({"kind": "add", "fields": {"meta_ctrl": {"last": 2}}}, EncodeError, "layout.range"),
        ({"kind": "add", "fields": {"meta_ctrl": 3}}, EncodeError, "layout.type"),
    ],
)
def test_refused_objects(obj, error, rule):
    with pytest.raises(error) as caught:
        bd_from_json(obj)
    assert caught.value.rule == rule

"""Each word's bits against the published tables, and the words the chapter works out."""

import pytest
from cce_spec import SPEC

from dgekit.cce import bds, words
from dgekit.core.errors import EncodeError
from dgekit.descriptors import bd

META = {
    "fma": words.FmaMeta,
    "min_max": words.MinMaxMeta,
    "add": words.AddMeta,
    "gce": words.GceMeta,
    "ext": words.ExtMeta,
}
MODES = {"a8", "a6_mode", "mode"}  # three bits in the builder; the middle one is `more`, the top one never set
PARAMETERS = [
    ("fma", "W1", words.FmaParameterWord),
    ("fma", "W2", words.FmaOperands),
    ("min_max", "W1_use_constant", words.ConstantWord),
    ("min_max", "W2", words.MinMaxOperands),
    ("gce", "W1", words.GceParameterWord),
    ("replication", "W1", words.ReplicationWord),
    ("replication", "W1_mode_nonzero", words.ReplicationWord),
    ("W0_common", None, bd.M2SControl),
]
NAMES = {"sema_or_length": "length", "meta": "md", "int": "int_en", "strong_order_rx_only": "no_snoop"}


def check_fields(struct, rows):
    for row in rows:
        field = struct.layout.field(NAMES.get(row["name"], row["name"]))
        assert field.start == row["lsb"], row["name"]
        assert field.bits == (1 if row["name"] in MODES else row["width"]), row["name"]
        assert field.doc
        assert field.evidence.level in "HML"


@pytest.mark.parametrize("name", META)
def test_meta_control_words(name):
    table = SPEC["meta_ctrl"][name]
    check_fields(META[name], table["fields"])
    fixed = {row["name"]: row["fixed"] for row in table["fields"] if "fixed" in row}
    plain = META[name](**{key: 0 for key in ("scale_dt",) if key in {f.name for f in META[name].layout.fields}})
    assert plain.number == int(table["const"], 16)
    for key, value in fixed.items():
        assert getattr(META[name](), key) == value


@pytest.mark.parametrize("name", META)
def test_what_the_table_does_not_name_is_reserved(name):
    named = {row["name"] for row in SPEC["meta_ctrl"][name]["fields"]} | {"op_type", "ssmae_op"}
    for field in META[name].layout.fields:
        assert (field.name in named) == (field.role != "reserved"), field.name


@pytest.mark.parametrize(("descriptor", "word", "struct"), PARAMETERS)
def test_parameter_words(descriptor, word, struct):
    table = SPEC["descriptors"][descriptor]
    check_fields(struct, (table[word] if word else table)["fields"])


def test_parameter_constants():
    table = SPEC["descriptors"]
    assert words.FmaParameterWord().number == int(table["fma"]["W1"]["const"], 16)
    selectors = {row["name"]: row["default"] for row in table["fma"]["W2"]["fields"] if "default" in row}
    assert {name: getattr(words.FmaOperands(), name) for name in selectors} == selectors
    assert words.FmaOperands().number == 0x09000000
    assert words.ConstantWord().number == int(table["min_max"]["W1_use_constant"]["const"], 16)
    assert words.EmptyWord().number == int(table["min_max"]["W1_no_constant"], 16)
    assert words.MinMaxOperands().number == int(table["min_max"]["W2"]["const"], 16)
    assert words.SeedWord().number == int(table["seed_init"]["W1_enabled"], 16)
    assert words.EmptyWord().number == int(table["seed_init"]["W1_disabled"], 16)
    assert words.ReplicationWord().number == int(table["replication"]["W1"]["const"], 16)
    moded = words.ReplicationWord(param=1, mode=1).number
    assert moded == int(table["replication"]["W1_mode_nonzero"]["or_const"], 16) | 1 << 29
    assert words.GceParameterWord().number == int(table["gce"]["W1"]["const"], 16)
    assert bds.SeedBd(seed=1).encode()[12:] == (1).to_bytes(4, "little")
    assert bds.AddBd().encode()[:4] == int(table["W0_common"]["const"], 16).to_bytes(4, "little")


def test_masks():
    masks = {key: int(value, 16) for key, value in SPEC["masks"].items()}
    assert (masks["w0_meta"], masks["w0_first_combo_member"], masks["w0_last"]) == (bd.MD, bd.FIRST, bd.LAST)
    assert (masks["w0_dmb"], masks["w0_concat"], masks["w1_more"]) == (bd.DMB, bd.CONCAT, bd.MORE)
    assert bd.mask(bd.S2MControl, "strong_order_wr") == masks["w0_strong_order_rx"]
    assert bd.mask(words.SeedWord, "param") == masks["w1_param"]
    assert bd.mask(words.AddMeta, "more") == masks["w1_more"]
    assert words.AddMeta().number & masks["w1_cce_valid"]


def test_selector_fields():
    for row in SPEC["meta_ctrl"]["selector"]:
        for struct in (words.AddMeta, words.FmaMeta, words.GceMeta, words.ExtMeta, words.ReplicationWord):
            field = struct.layout.field(row["name"])
            assert (field.start, field.bits) == (row["lsb"], row["width"])


def test_flush_bits():
    flush = {"ADD": (words.AddMeta, "last"), "FMA": (words.FmaMeta, "f4_last"), "GCE": (words.GceMeta, "last")}
    flush |= {"MAX": (words.MinMaxMeta, "last"), "MIN": (words.MinMaxMeta, "last")}
    for op, bit in SPEC["meta_ctrl"]["flush_bit"].items():
        struct, name = flush[op]
        assert struct.layout.field(name).start == bit


def test_worked_words():
    assert words.FmaMeta(in_dt=6, accum_dt=10).number == 0x021AA600
    assert words.FmaMeta(in_dt=6, accum_dt=10, f4_last=1).number == 0x021AA680
    assert words.AddMeta(out_dt=6, accum_dt=10, last=1).number == bd.add_word1(6, 10, last=True)
    assert words.ReplicationWord(count=2, param=1, mode=1).number == 0x24A00002


@pytest.mark.parametrize(
    "make",
    [
        lambda: words.AddMeta(out_dt=16),
        lambda: words.MinMaxMeta(const_dt=8),
        lambda: words.ReplicationWord(count=1 << 16),
        lambda: words.FmaOperands(length=1 << 24),
        lambda: words.FmaParameterWord(a8=2),
    ],
)
def test_nothing_is_masked_away(make):
    with pytest.raises(EncodeError) as caught:
        make()
    assert caught.value.rule == "layout.range"

"""Words as JSON, as assignments, as differences and as tables."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgekit.core.errors import DgeError, EncodeError, InputError, Issue, UsageError
from dgekit.words.codec import decode_word
from dgekit.words.structs import (
    Addr4Reg,
    Addr8Immediate,
    Addr8Reg,
    Addr8TblImm,
    Addr8TblReg,
    BoundCheckReg,
    DmaAddrStruct,
    DmaDirect2D,
    Dtype,
    Events,
    Header,
    PseudoAddr8Var,
    PseudoDmaTrigger,
    WaitMode,
    word_classes,
)
from dgekit.words.text import diff_words, format_word, word_from_assignments, word_from_json, word_to_json

SPEC = json.loads((Path(__file__).parents[1] / "golden" / "spec" / "isa-words.json").read_text())
EXAMPLES = {name: bytes.fromhex(text) for name, text in SPEC["examples"].items()}


@pytest.mark.parametrize("name", list(EXAMPLES))
def test_json_objects_are_an_identity(name) -> None:
    word = decode_word(EXAMPLES[name])
    obj = json.loads(json.dumps(word_to_json(word, 128)))
    assert list(obj) == ["offset", "kind", "opcode", "fields", "hex", "issues"]
    assert (obj["offset"], obj["kind"], obj["hex"], obj["issues"]) == (128, word.kind, EXAMPLES[name].hex(), [])
    assert SPEC["enums"]["OPCODE"][obj["opcode"]] == EXAMPLES[name][0]
    assert word_from_json(obj) == word
    assert word_from_json({**obj, "hex": "ignored"}) == word
    assert {"kind", "fields"} <= set(obj) and word_from_json({"kind": obj["kind"], "fields": obj["fields"]}) == word


def test_json_holds_names_integers_lists_and_hex_addresses() -> None:
    fields = word_to_json(decode_word(EXAMPLES["B resolved 0xb8, same copy"]))["fields"]
    assert fields["in_dtype"] == "FP32" and fields["compute_op"] == "NONE"
    assert fields["header"] == {"opcode": "DMAMEMCPY", "inst_word_len": 16, "debug_cmd": "NONE", "debug_hint": 0}
    assert fields["src_step_elem"] == [1, 128]
    assert fields["src_start_addr"] == {"arm": "ADDR8_IMMEDIATE", "address": "0x100000000", "marker_bits": 0}


def test_json_of_opaque_words_and_issues() -> None:
    word = decode_word(b"\x01" + bytes(63))
    obj = word_to_json(word, issues=[Issue("isa.x", "warning", "told")])
    assert (obj["kind"], obj["opcode"], obj["fields"]) == ("OPAQUE", 1, {"raw": "01" + "00" * 63})
    assert obj["issues"][0]["rule"] == "isa.x"
    assert word_from_json(obj) == word


def test_json_takes_names_or_integers_and_fills_defaults() -> None:
    word = word_from_json(
        {"kind": "dma_memcpy", "fields": {"in_dtype": 10, "events": {"wait_mode": "wait_for_sem_ge_imm"}}}
    )
    assert word == DmaDirect2D(in_dtype=Dtype.FP32, events=Events(wait_mode=WaitMode.WAIT_FOR_SEM_GE_IMM))
    assert word_from_json({"kind": "DMA_DIRECT2D", "fields": {"header": {"debug_hint": 3}}}).header.opcode == 0xB8


@pytest.mark.parametrize(
    ("obj", "error", "message"),
    [
        ([], InputError, "a word is an object with kind and fields, not list"),
        ("x", InputError, "not str"),
        ({"kind": "DMA_DIRECT2D"}, InputError, "needs 'fields'"),
        ({"fields": {}}, InputError, "needs 'kind'"),
        ({"kind": 5, "fields": {}}, InputError, "needs 'kind'"),
        ({"kind": "DMA_DIRECT2D", "fields": [], "hex": ""}, InputError, "needs 'fields'"),
        ({"kind": "DMA_DIRECT2D", "feilds": {}}, InputError, "no key 'feilds'"),
        ({"kind": "DMA_DIRECT2", "fields": {}}, UsageError, "there is no word 'DMA_DIRECT2'"),
        ({"kind": "DMA_DIRECT2D", "fields": {"semaphore": 256}}, EncodeError, "semaphore: 256 does not fit u8"),
        ({"kind": "DMA_DIRECT2D", "fields": {"semaphore": 1.0}}, EncodeError, "semaphore: 1.0 is no integer"),
        ({"kind": "DMA_DIRECT2D", "fields": {"header": {"opcode": 1}}}, EncodeError, "opcode 0x01 belongs to OPAQUE"),
    ],
)
def test_wrong_json_is_refused(obj, error, message) -> None:
    with pytest.raises(error, match=message):
        word_from_json(obj)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
FIELDS = sorted(
    {field.name for cls in word_classes() for field in cls.layout.fields} | {"arm", "raw", "address", "bc_reg"}
)


@given(st.sampled_from(word_classes()), st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=4))
@settings(max_examples=60, deadline=None)
def test_any_json_gives_a_word_or_a_named_error(cls, fields) -> None:
    try:
        word = word_from_json({"kind": cls.kind, "fields": fields})
    except DgeError as fault:
        assert fault.message
    else:
        assert decode_word(word.encode()) == word


def test_assignments_of_the_design_example() -> None:
    word = word_from_assignments(
        "DMA_DIRECT2D",
        [
            "semaphore=10",
            "src_elem_size=4",
            "src_step_elem=1,128",
            "src_start_addr=0x100000000",
            "src_bound_reg.bc_reg=5",
            "events.wait_mode=WAIT_FOR_SEM_GE_IMM",
            "in_dtype=FP32",
        ],
    )
    assert word == DmaDirect2D(
        semaphore=10,
        src_elem_size=4,
        src_step_elem=(1, 128),
        src_start_addr=Addr8Immediate(0x100000000),
        src_bound_reg=BoundCheckReg(bc_reg=5),
        events=Events(wait_mode=WaitMode.WAIT_FOR_SEM_GE_IMM),
        in_dtype=Dtype.FP32,
    )


@pytest.mark.parametrize(
    ("kind", "text", "path", "value"),
    [
        ("DMA_DIRECT2D", "src_start_addr=reg:4,5", "src_start_addr", Addr8Reg(reg_lo=4, reg_hi=5)),
        ("DMA_DIRECT2D", "src_start_addr=table:7", "src_start_addr", Addr8TblImm(table_entry_id=7)),
        ("DMA_DIRECT2D", "src_start_addr=table:7+0x100", "src_start_addr", Addr8TblImm(offset=256, table_entry_id=7)),
        ("DMA_DIRECT2D", "src_start_addr=table:7+reg:5", "src_start_addr", Addr8TblReg(offset_reg=5, table_entry_id=7)),
        (
            "DMA_DIRECT2D",
            "src_start_addr=table:7+wide:5",
            "src_start_addr",
            Addr8TblReg(offset_reg=5, table_entry_id=7, marker=0x2C),
        ),
        ("PSEUDO_DMA_DIRECT2D", "src_start_addr=var:3+0x10", "src_start_addr", PseudoAddr8Var(offset=16, var_id=3)),
        ("PSEUDO_DMA_DIRECT2D", "src_start_addr=var:3", "src_start_addr", PseudoAddr8Var(var_id=3)),
        ("PSEUDO_DMA_DIRECT2D", "src_start_addr=reg:1,2", "src_start_addr", Addr8Reg(reg_lo=1, reg_hi=2)),
        ("DMA_INDIRECT", "src_idx_start_addr=reg:9", "src_idx_start_addr", Addr4Reg(regnum=9)),
        ("DMA_INDIRECT", "src_idx_start_addr=0x100", "src_idx_start_addr.addr_immediate", 256),
        ("DMA_DIRECT2D", "src_start_addr.reg_lo=4", "src_start_addr", Addr8Reg(reg_lo=4)),
        ("DMA_DIRECT2D", "src_start_addr.arm=ADDR8_TBL_IMM", "src_start_addr", Addr8TblImm()),
        ("DMA_DIRECT2D", "dst_num_elem[1]=0b11", "dst_num_elem", (0, 3)),
        ("DMA_DIRECT2D", "dst_num_elem.0=7", "dst_num_elem", (7, 0)),
        ("DMA_DIRECT2D", "src_step_elem=-1, -128", "src_step_elem", (-1, -128)),
        ("DMA_DIRECT2D", "in_dtype=0x1f", "in_dtype", Dtype.CPTC7),
        ("DMA_DIRECT2D", "in_dtype=Dtype.FP32", "in_dtype", Dtype.FP32),
        ("DMA_DIRECT2D", "header.debug_cmd=START", "header", Header(opcode=0xB8, debug_cmd=3)),
        ("DMA_IMMEDIATE", "descriptor_imm.1.bytes=" + "ab" * 16, "descriptor_imm.1.bytes", b"\xab" * 16),
        ("PSEUDO_DMATRIGGER", "queue_name=q=a,b", "queue_name", "q=a,b"),
        ("SB2SB_COLLECTIVE", "src_mem_pattern.step_elem=1,-2,3", "src_mem_pattern.step_elem", (1, -2, 3)),
        ("OPAQUE", "raw=" + "01" * 64, "raw", b"\x01" * 64),
    ],
)
def test_assignment_forms(kind, text, path, value) -> None:
    word = word_from_assignments(kind, [text])
    assert word.at(path) == value
    assert decode_word(word.encode()) == word


def test_assignments_to_a_selected_union_follow_the_mode() -> None:
    word = word_from_assignments("DMA_MEMCPY2", ["addr_mode.src_addr_mode=REG_PAIR", "src_start_addr.base_reg=3"])
    assert word.src_start_addr == DmaAddrStruct(base_reg=3)


@pytest.mark.parametrize(
    ("texts", "error", "message", "fix"),
    [
        (["semaphor=1"], EncodeError, "DMA_DIRECT2D has no field 'semaphor'", "write semaphore"),
        (["events.wiat_mode=1"], EncodeError, "events: EVENTS has no field 'wiat_mode'", "write wait_mode"),
        (["in_dtype=FP33"], EncodeError, "in_dtype: DTYPE has no value 'FP33'", "write FP32"),
        (["src_elem_size=70000"], EncodeError, r"src_elem_size: 70000 does not fit u16 \(0..65535\)", ""),
        (["src_elem_size=4k"], EncodeError, "src_elem_size: '4k' is no integer", ""),
        (["src_step_elem=1"], EncodeError, "src_step_elem: 1 values where 2 belong", ""),
        (["src_step_elem[2]=1"], EncodeError, r"src_step_elem\[2\]: there are elements 0..1", ""),
        (["src_start_addr=var:1"], EncodeError, "src_start_addr: 'var:1' is no address form", "write an integer"),
        (["src_start_addr=reg:1"], EncodeError, "src_start_addr: reg:1 names 1 registers where 2 belong", "reg:LO,HI"),
        (["src_start_addr=reg:1,x"], EncodeError, "'x' is no register number", "reg:LO,HI"),
        (["src_start_addr=reg:300,1"], EncodeError, "src_start_addr.reg_lo: 300 does not fit u8", ""),
        (["src_start_addr=table:1+heap:2"], EncodeError, "'table:1\\+heap:2' is no address form", "write an integer"),
        (["src_start_addr=0x1" + "0" * 16], EncodeError, "src_start_addr.address: .* does not fit u58", ""),
        (["src_start_addr.foo=1"], EncodeError, "src_start_addr: ADDR8_IMMEDIATE has no field 'foo'", "one of address"),
        (["semaphore"], UsageError, "'semaphore' is no assignment", "write FIELD=VALUE"),
        (["=1"], UsageError, "'=1' is no assignment", "write FIELD=VALUE"),
        (["semaphore=1", "semaphore=2"], UsageError, "semaphore is given twice", ""),
        (["events=1", "events.wait_idx=2"], UsageError, "events.wait_idx is inside a field that is already given", ""),
        (["events=1"], EncodeError, "events: EVENTS is an object of fields", ""),
        (["semaphore.x=1"], EncodeError, "semaphore: .* is no integer", ""),
    ],
)
def test_wrong_assignments_name_the_field_and_the_nearest_right_one(texts, error, message, fix) -> None:
    with pytest.raises(error, match=message) as fault:
        word_from_assignments("DMA_DIRECT2D", texts)
    assert fix in fault.value.fix
    is_form = any(words in message for words in ("address form", "register number", "registers where"))
    assert (fault.value.rule == "words.assignment") == (error is UsageError)
    assert (fault.value.rule == "words.shorthand") == is_form


def test_on_chip_addresses_have_their_own_forms() -> None:
    with pytest.raises(EncodeError, match="'table:1' is no address form"):
        word_from_assignments("DMA_INDIRECT1D", ["src_idx_start_addr=table:1"])


def test_differences_are_leaf_fields() -> None:
    left = DmaDirect2D(semaphore=10, src_step_elem=(1, 128), in_dtype=Dtype.FP32, src_start_addr=Addr8Immediate(16))
    right = left.replace(
        semaphore=11,
        src_step_elem=(1, 64),
        in_dtype=0x77,
        src_start_addr=Addr8Immediate(32),
        dst_start_addr=Addr8Reg(reg_lo=1),
        events=Events(wait_idx=1),
    )
    assert diff_words(left, left) == []
    assert diff_words(left, right) == [
        ("events.wait_idx", 0, 1),
        ("semaphore", 10, 11),
        ("src_start_addr.address", "0x10", "0x20"),
        ("src_step_elem[1]", 128, 64),
        (
            "dst_start_addr",
            {"arm": "ADDR8_IMMEDIATE", "address": "0x0", "marker_bits": 0},
            {"arm": "ADDR8_REG", "reg_lo": 1, "reg_hi": 0, "reserved": 0, "marker": "ADDR_REG"},
        ),
        ("in_dtype", "FP32", 0x77),
    ]


def test_words_of_two_kinds_differ_in_kind_and_bytes() -> None:
    left, right = DmaDirect2D(), PseudoDmaTrigger()
    assert diff_words(left, right) == [
        ("kind", "DMA_DIRECT2D", "PSEUDO_DMA_TRIGGER"),
        ("bytes", left.encode().hex(), right.encode().hex()),
    ]


def test_the_table_shows_place_name_value_and_unit() -> None:
    lines = format_word(decode_word(EXAMPLES["B resolved 0xb8, same copy"]), 64).splitlines()
    assert lines[0] == "0x40: DMA_DIRECT2D (0xb8 DMAMEMCPY)"
    rows = {line.split()[1]: line for line in lines[1:]}
    assert rows["src_elem_size"].startswith("36 ") and " 4 bytes " in rows["src_elem_size"]
    assert " FP32 (0xa) " in rows["in_dtype"]
    assert rows["src_bound_reg.bc_enabled"].startswith("38[7] ")
    assert " 0x100000000 " in rows["src_start_addr.address"]
    assert " 1, 128 " in rows["src_step_elem"]
    unknown = format_word(DmaDirect2D(in_dtype=0x77))
    assert "0x77 (no DTYPE)" in unknown and unknown.startswith("DMA_DIRECT2D (0xb8")
    assert format_word(decode_word(b"\x01" + bytes(63))).startswith("OPAQUE (0x01)")


@pytest.mark.parametrize("cls", word_classes(), ids=lambda cls: cls.kind)
def test_every_word_has_a_table_and_lists_reserved_bytes_briefly(cls) -> None:
    lines = format_word(cls()).splitlines()
    assert len(lines) == 2 + len(list(cls().leaves()))
    assert all(len(line) < 200 for line in lines)


@pytest.mark.parametrize(
    "fields",
    [
        {"semaphore": "9" * 200_000},
        {"semaphore": "0x" + "f" * 200_000},
        {"semaphore": [[]] * 50_000},
        {"in_dtype": "A" * 200_000},
        {"s" * 200_000: 1},
        {"src_start_addr": "var:" + "7" * 200_000},
        {"src_start_addr": {"arm": "x" * 200_000}},
        {"src_step_elem": "1," * 50_000},
    ],
)
def test_faults_stay_short_whatever_the_input(fields) -> None:
    with pytest.raises(DgeError) as fault:
        word_from_json({"kind": "DMA_DIRECT2D", "fields": fields})
    assert len(json.dumps(fault.value.as_issue().to_json())) < 1000

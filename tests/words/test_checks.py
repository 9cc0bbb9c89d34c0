"""Checks as a whole: the chapter's words, generations, streams, the look ahead, and arbitrary bytes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgekit.core.choices import Choices
from dgekit.core.generations import GENERATIONS
from dgekit.words.checks import check_stream, check_word
from dgekit.words.codec import decode_word
from dgekit.words.enums import Opcode
from dgekit.words.stream import split_stream
from dgekit.words.structs import Addr8Immediate

EXAMPLES = json.loads((Path(__file__).parents[1] / "golden" / "spec" / "isa-words.json").read_text())["examples"]
WORDS = {name.split()[0]: bytes.fromhex(text) for name, text in EXAMPLES.items()}
KNOWN = ("SUNDA", "CAYMAN", "MARIANA", "MARIANA_PLUS", "MAVERICK")


def word(letter: str) -> Any:
    return decode_word(WORDS[letter])


def findings(subject: Any, gen: str = "CAYMAN", **choices: object) -> list[tuple[str, str]]:
    """(severity, rule) of everything but the predicates that nobody knows."""
    issues = check_word(subject, gen, Choices(choices))
    return [(issue.severity, issue.rule) for issue in issues if issue.severity != "unspecified"]


@pytest.mark.parametrize("unit", ["bytes", "elements"])
@pytest.mark.parametrize("letter", list("ABCEGJK"))
@pytest.mark.parametrize("gen", ["CAYMAN", "MARIANA", "MARIANA_PLUS", "MAVERICK"])
def test_examples_are_clean(letter: str, gen: str, unit: str) -> None:
    assert findings(word(letter), gen, step_unit=unit) == []


@pytest.mark.parametrize("letter", list("HI"))
def test_v5_examples_are_clean_on_maverick_only(letter: str) -> None:
    assert findings(word(letter), "MAVERICK") == []
    for gen in KNOWN[:4]:
        assert findings(word(letter), gen) == [("error", "isa.7.word")]


def test_scatter_add_needs_element_steps() -> None:
    assert findings(word("F"), step_unit="elements") == []
    assert findings(word("F")) == [("warning", "isa.C14"), ("warning", "isa.C14")]


def test_scatter_add_with_flags_09_is_rejected() -> None:
    silent = word("F").replace(flags=word("F").flags.replace(idx_bound_is_err=0))
    assert silent.flags.encode() == b"\x09"
    assert findings(silent, step_unit="elements") == [("error", "isa.C10")]


@pytest.mark.parametrize(("error", "silent"), [(0, 0), (1, 0), (1, 1)])
def test_the_other_three_notification_settings_are_legal(error: int, silent: int) -> None:
    flags = word("F").flags.replace(idx_bound_is_err=error)
    bound = word("F").dst_idx_bound_reg.replace(bc_disable_oob_error_notif=silent)
    assert findings(word("F").replace(flags=flags, dst_idx_bound_reg=bound), step_unit="elements") == []


def test_enabled_bound_with_register_0_follows_the_formula() -> None:
    bound = word("B").src_bound_reg.replace(bc_enabled=1)
    assert findings(word("B").replace(src_bound_reg=bound)) == []


def test_sunda_has_no_transposes_and_two_kinds() -> None:
    assert findings(word("E"), "SUNDA") == [("error", "isa.7.word")]
    assert findings(word("G"), "SUNDA")[0] == ("error", "isa.7.word")
    issues = check_word(word("D1"), "trn1", Choices(), word("D2"))
    assert [issue.rule for issue in issues if issue.severity == "error"] == ["isa.4.6.dge_op"]


def test_the_sbuf_of_every_core_counts_up_to_its_active_bytes() -> None:
    for gen, core, partition, byte, legal in [
        ("CAYMAN", 0, 127, 224 * 1024 - 32, True),
        ("CAYMAN", 0, 0, 224 * 1024, False),
        ("CAYMAN", 7, 5, 64, True),
        ("CAYMAN", 0, 128, 0, False),
        ("MARIANA", 3, 0, 224 * 1024, True),
    ]:
        record = next(g for g in GENERATIONS if g.name == gen)
        address = record.sbuf_base(core) + partition * record.partition_stride + byte
        found = findings(word("E").replace(dst_start_addr=Addr8Immediate(address=address)), gen)
        assert found == ([] if legal else [("error", "isa.4.4.sbuf")]), (gen, core, partition, byte)


def test_a_register_address_is_not_judged() -> None:
    shaped = Addr8Immediate(address=0x1, marker_bits=0x10)
    subject = word("B").replace(src_start_addr=shaped, src_step_elem=(3, 0), src_num_elem=(0, 0))
    assert findings(subject) == []  # the total-byte equality is waived on a leg shaped by a register


def test_cast_takes_the_cce_arm() -> None:
    cast = word("C").replace(in_dtype=10, src_elem_size=4)
    assert "isa.4.2.total_bytes" not in {rule for _, rule in findings(cast)}
    assert ("warning", "isa.C14") in findings(cast)
    assert findings(cast, step_unit="elements") == []


def test_sixty_four_by_128_as_tiles_is_legal() -> None:
    tiles = word("E").replace(src_num_elem=(4, 1), src_step_elem=(4096, 1), dst_num_elem=(4, 1), dst_step_elem=(32, 1))
    assert findings(tiles) == []


# predicates that nobody knows (D7)


def unknown(letter: str, gen: str = "CAYMAN", **choices: object) -> set[str]:
    issues = check_word(word(letter), gen, Choices(choices))
    return {issue.rule.removeprefix("isa.8.23.") for issue in issues if issue.severity == "unspecified"}


def test_unknown_predicates_are_reported_and_never_fail() -> None:
    assert unknown("B") == {"is_valid_addr8", "is_valid_dge_compute_op", "events_consistency"}
    assert unknown("F") == {
        "is_valid_addr8", "is_valid_dge_compute_op", "events_consistency", "are_valid_memcpy_dtypes",
        "is_valid_register_read_with_marker", "is_aligned_step", "cce_element_size",
        "has_dma_indirect_valid_idx_start_addr",
    }  # fmt: skip
    assert "is_aligned_step" not in unknown("F", step_unit="elements")
    assert "isa.C15" in unknown("B", "MAVERICK")


# pseudo words


def test_pseudo_words_are_looked_at_as_what_they_become() -> None:
    issues = check_word(word("D1"), "CAYMAN", Choices(), word("D2"))
    found = [issue for issue in issues if issue.severity != "unspecified"]
    assert [(issue.severity, issue.rule) for issue in found] == [("warning", "isa.4.4.step32")]
    assert found[0].where.startswith("resolved") and "once resolved" in found[0].message
    assert found[0].values == {"step_bytes": 1, "alignment": 32, "count": 64}


def test_an_extension_is_checked_with_its_pseudo() -> None:
    broken = word("D2").replace(tile_src_rows=3)
    issues = check_word(word("D1"), "CAYMAN", Choices(), broken)
    assert ("extension . tile_src_rows", "error") in {(issue.where, issue.severity) for issue in issues}


def test_a_lone_pseudo_is_judged_only_where_the_stream_says_so() -> None:
    assert findings(word("D1")) == []
    issues = check_word(word("D1"), "CAYMAN", Choices(), extension_missing=True)
    assert [issue.rule for issue in issues if issue.severity == "error"] == ["isa.4.6.extension"]


# streams


def test_stream_issues_carry_offset_and_kind() -> None:
    stream = split_stream(WORDS["B"] + WORDS["D1"] + WORDS["D2"] + WORDS["D1"] + WORDS["E"])
    issues = check_stream(stream, "CAYMAN", Choices())
    errors = [(issue.where, issue.rule) for issue in issues if issue.severity == "error"]
    assert errors == [("0xc0 PSEUDO_DMA_DIRECT2D . dge_op", "isa.4.6.extension")]
    assert ("0x40 PSEUDO_DMA_DIRECT2D . resolved . dst_step_elem[0]", "isa.4.4.step32") in {
        (i.where, i.rule) for i in issues
    }


def test_stream_tells_an_unknown_predicate_once_a_kind() -> None:
    issues = check_stream(split_stream(WORDS["B"] * 5 + WORDS["E"] * 2), "CAYMAN", Choices())
    addr8 = [issue.where for issue in issues if issue.rule == "isa.8.23.is_valid_addr8"]
    assert addr8 == ["0x0 DMA_DIRECT2D", "0x140 DMA_DIRECT2D_XPOSE"]


def test_stream_keeps_what_could_not_be_placed() -> None:
    issues = check_stream(split_stream(WORDS["B"] + b"\0" * 7), "CAYMAN", Choices())
    assert [issue.rule for issue in issues if issue.severity == "error"] == ["isa.stream.partial"]


def test_the_extension_of_a_collective_is_left_alone() -> None:
    other = b"\xd9\x10" + bytes(62) + b"\xda" + b"\xff" * 63
    rules = {issue.rule for issue in check_stream(split_stream(other), "CAYMAN", Choices())}
    assert "isa.0.reserved" not in rules and "isa.stream.other_extension" in rules


# arbitrary bytes


@settings(max_examples=60, deadline=None)
@given(
    opcode=st.sampled_from([int(opcode) for opcode in Opcode] + [0x00, 0x11, 0xC0]),
    body=st.binary(min_size=63, max_size=63),
    sub=st.integers(0, 10),
    gen=st.sampled_from(KNOWN),
    unit=st.sampled_from(["bytes", "elements"]),
    walk=st.sampled_from(["tiles", "elements"]),
    ext=st.none() | st.binary(min_size=63, max_size=63),
)
def test_any_body_is_checked_without_raising(
    opcode: int, body: bytes, sub: int, gen: str, unit: str, walk: str, ext: bytes | None
) -> None:
    data = bytearray([opcode]) + body
    if opcode == Opcode.EXTENDED_INST:
        data[12] = sub
    choices = Choices({"step_unit": unit, "xpose_walk": walk})
    extension = None if ext is None else decode_word(b"\xda" + ext)
    for issue in check_word(decode_word(bytes(data)), gen, choices, extension, ext is None):
        json.dumps(issue.to_json())
        assert issue.rule.startswith("isa.") and issue.message and issue.source


@settings(max_examples=30, deadline=None)
@given(data=st.binary(max_size=400), gen=st.sampled_from(KNOWN))
def test_any_stream_is_checked_without_raising(data: bytes, gen: str) -> None:
    check_stream(split_stream(data), gen, Choices())


def test_every_opcode_with_all_ones_and_all_zeros() -> None:
    for opcode in range(256):
        for fill in (b"\0", b"\xff"):
            for gen in KNOWN:
                check_word(decode_word(bytes([opcode]) + fill * 63), gen, Choices())


@pytest.mark.parametrize("letter", sorted(set(WORDS) - {"H", "I"}))
def test_every_single_bit_flip_is_checked(letter: str) -> None:
    data = WORDS[letter]
    for bit in range(8, 512):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        check_word(decode_word(bytes(flipped)), "CAYMAN", Choices())

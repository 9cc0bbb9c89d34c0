"""Pseudo to resolved: the chapter's example, byte 15, the field map, refusals, and what has no place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgekit.core.choices import Choices
from dgekit.core.errors import DgeError, IllegalWord, LoweringError, Unspecified
from dgekit.words.codec import decode_word
from dgekit.words.resolve import LOWERING_RULES, resolve
from dgekit.words.structs import (
    Addr4Immediate,
    Addr8Reg,
    Addr8TblImm,
    AddrRaw,
    BoundCheckReg,
    DmaConfigs,
    DmaIndirectFlags,
    Events,
    PseudoAddr8Var,
    PseudoDmaExt,
)

EXAMPLES = json.loads((Path(__file__).parents[1] / "golden" / "spec" / "isa-words.json").read_text())["examples"]
WORDS = {name.split()[0]: bytes.fromhex(text) for name, text in EXAMPLES.items()}
TABLE = {0: 0x100000000, 2: 0x2000000000, 3: 0x2000000000}


def word(letter: str) -> Any:
    return decode_word(WORDS[letter])


def go(pseudo: Any, ext: Any = None, table: dict[int, int] | None = None, **choices: object) -> Any:
    return resolve(pseudo, ext, TABLE if table is None else table, Choices(choices))


def test_the_copy_of_the_chapter_byte_for_byte() -> None:
    resolved = go(word("A"))
    assert resolved.word.encode() == WORDS["B"]
    assert resolved.sem_increment == 1 and resolved.issues == ()


def test_the_transpose_of_the_chapter_field_by_field() -> None:
    resolved = go(word("D1"), word("D2"))
    target = resolved.word
    assert target.kind == "DMA_DIRECT2D_XPOSE" and resolved.sem_increment == 1
    assert target.src_start_addr.address == 0x100000000 and target.dst_start_addr.address == 0x2000000000
    assert (target.src_step_elem, target.src_num_elem) == ((1, 128), (128, 64))
    assert (target.dst_step_elem, target.dst_num_elem) == ((1, 64), (64, 128))
    assert (target.tile_src_row_step, target.tile_src_rows, target.tile_src_cols) == (128, 16, 128)
    assert (target.in_dtype, target.out_dtype, target.semaphore) == (6, 6, 20)
    assert target.encode()[15] == 6  # byte 15 is out_dtype


EXT = PseudoDmaExt(
    flags=DmaIndirectFlags(indirect_mode=1, idx_bound_is_err=1, non_unique_dst_idx=1, gather_dim=1),
    idx_num_active_channels=128,
    compute_op=1,
    src_idx_start_addr=Addr4Immediate(addr_immediate=0x40),
    dst_idx_start_addr=Addr4Immediate(addr_immediate=0x80),
)


def pseudo(kind: int) -> Any:
    return word("A").replace(
        dge_op=kind,
        events=Events(wait_mode=5, wait_idx=7, semaphore_value=1),
        dma_configs=DmaConfigs(priority_class=3, reserved_bitfield=0x1F),
        src_step_elem=(11, 12),
        src_num_elem=(21, 1),
        src_elem_size=31,
        dst_step_elem=(4, 42),
        dst_num_elem=(51, 1),
        dst_elem_size=61,
        src_bound_reg=BoundCheckReg(bc_reg=1, bc_enabled=1),
        dst_bound_reg=BoundCheckReg(bc_reg=2, bc_enabled=1),
        sem_increment=9,
    )


def test_indirect_takes_the_first_dimension_and_the_extension() -> None:
    resolved = go(pseudo(1), EXT)
    target = resolved.word
    assert target.kind == "DMA_INDIRECT1D" and target.encode()[15] == EXT.encode()[1]
    assert (target.src_step_elem, target.src_num_elem, target.src_elem_size) == (11, 21, 31)
    assert (target.dst_step_elem, target.dst_num_elem, target.dst_elem_size) == (4, 51, 61)
    assert (target.src_idx_start_addr, target.dst_idx_start_addr) == (EXT.src_idx_start_addr, EXT.dst_idx_start_addr)
    assert (target.src_idx_bound_reg.bc_reg, target.dst_idx_bound_reg.bc_reg) == (1, 2)
    assert (target.compute_op, target.idx_num_active_channels) == (1, 128)
    assert (target.semaphore, target.sem_increment, resolved.sem_increment) == (10, 9, 9)
    assert target.reserved == (0, 0) and resolved.issues == ()


def test_gather_transpose_packs_dtypes_and_one_step() -> None:
    resolved = go(pseudo(3), EXT.replace(compute_op=0))
    target = resolved.word
    assert target.kind == "DMA_GATHER_XPOSE" and target.encode()[15] == pseudo(3).src_bound_reg.encode()[0]
    assert (target.dtype.dtype_lo, target.dtype.dtype_hi) == (10, 10)
    assert (target.src_step_elem, target.src_num_elem) == ((11, 12), (21, 1))
    assert (target.dst_step_elem_1, target.dst_num_elem, target.elem_size) == (42, (51, 1), 61)
    assert target.flags.encode() == b"\x01" and target.dst_bound_reg.bc_reg == 2
    assert resolved.sem_increment == 9 and resolved.issues == ()
    assert go(pseudo(3), EXT, gather_elem_size="src").word.elem_size == 31


@pytest.mark.parametrize(("kind", "byte"), [(0, 12), (1, 61), (2, 63), (3, 13)])
def test_priority_class_is_carried_and_the_upper_bits_stay_zero(kind: int, byte: int) -> None:
    data = go(pseudo(kind), EXT).word.encode()
    assert data[byte] == 3
    assert data[4:12] == pseudo(kind).events.encode() and data[1] == 0x10


@pytest.mark.parametrize("letter", ["A", "D1"])
def test_the_header_is_the_targets_own(letter: str) -> None:
    source = word(letter)
    noisy = source.replace(header=source.header.replace(debug_cmd=1, debug_hint=0x55, inst_word_len=0x40))
    target = go(noisy, word("D2")).word
    assert target.header.opcode == target.code and target.header.inst_word_len == 0x10
    assert (target.header.debug_cmd, target.header.debug_hint) == (1, 0x55)


# addresses


def test_a_variable_adds_its_offset_and_keeps_the_shape_bit() -> None:
    shaped = word("A").replace(src_start_addr=PseudoAddr8Var(var_id=0x12345, offset=0x678, marker=0x50))
    address = go(shaped, table={0x12345: 0x4000000000, 3: 0}).word.src_start_addr
    assert address.address == 0x4000000678 and address.marker_value == 0x40
    assert address.encode() == bytes.fromhex("7806000040000040")


@pytest.mark.parametrize(
    "address", [Addr8Reg(reg_lo=1, reg_hi=2), Addr8TblImm(offset=4, table_entry_id=9, marker=0x60)]
)
def test_other_address_forms_keep_their_meaning(address: Any) -> None:
    assert go(word("A").replace(dst_start_addr=address)).word.dst_start_addr == address


def test_an_unknown_variable_names_itself_and_the_known_ones() -> None:
    with pytest.raises(LoweringError) as caught:
        go(word("A"), table={0: 0x1000, 7: 0})
    error = caught.value
    assert error.rule == "isa.5.1.var" and error.where == "dst_start_addr"
    assert error.values == {"var_id": 3, "known": [0, 7]} and "0, 7" in error.fix


@pytest.mark.parametrize("base", [(1 << 58) - 3, 1 << 60, -1])
def test_an_address_past_58_bits_is_refused(base: int) -> None:
    far = word("A").replace(src_start_addr=PseudoAddr8Var(var_id=0, offset=3 if base > 0 else 0))
    with pytest.raises(LoweringError) as caught:
        go(far, table={0: base, 3: 0})
    assert caught.value.rule == "isa.5.1.address" and caught.value.values["base"] == base
    near = word("A").replace(src_start_addr=PseudoAddr8Var(var_id=0, offset=2))
    assert go(near, table={0: (1 << 58) - 3, 3: 0}).word.src_start_addr.address == (1 << 58) - 1


def test_an_address_form_without_layout_is_unspecified() -> None:
    with pytest.raises(Unspecified) as caught:
        go(word("A").replace(src_start_addr=AddrRaw(raw=bytes(7) + b"\x90")))
    assert caught.value.rule == "isa.5.1.form" and caught.value.values == {"marker": 0x90}


# refusals


@pytest.mark.parametrize("kind", [1, 2, 3])
def test_kinds_1_to_3_need_an_extension(kind: int) -> None:
    with pytest.raises(IllegalWord) as caught:
        go(pseudo(kind))
    assert caught.value.rule == "isa.4.6.extension" and caught.value.values == {"dge_op": kind}


@pytest.mark.parametrize("kind", [4, 0x80, 0xFF])
def test_other_kinds_are_unsupported_opcodes(kind: int) -> None:
    with pytest.raises(IllegalWord) as caught:
        go(pseudo(kind), EXT)
    assert caught.value.rule == "isa.4.6.dge_op" and "unsupported dynamic DMA opcode" in caught.value.message


def test_a_dtype_that_does_not_fit_the_pair_is_refused() -> None:
    with pytest.raises(IllegalWord) as caught:
        go(pseudo(3).replace(out_dtype=0x10), EXT)
    assert caught.value.rule == "isa.1.9.dtype_pair" and caught.value.values == {"dtype": 16, "maximum": 15}


# notices


def notices(resolved: Any) -> list[tuple[str, str, str]]:
    return [(issue.rule, issue.severity, issue.where) for issue in resolved.issues]


def test_the_compute_op_of_a_plain_copy_is_an_open_question() -> None:
    resolved = go(word("A"), EXT)
    assert resolved.word.compute_op == 1
    assert notices(resolved) == [("isa.5.2.compute_op", "unspecified", "extension.compute_op")]
    assert go(word("A"), EXT, kind0_compute_op="none").word.compute_op == 0
    assert go(word("A"), EXT.replace(compute_op=0)).issues == ()


def test_bound_sizes_in_bytes_are_an_open_question() -> None:
    resolved = go(word("D1"), word("D2").replace(src_bound_size_bytes=7, src_bound_size_bytes_upper=1))
    assert notices(resolved) == [("isa.5.3.bound_bytes", "unspecified", "extension")]
    assert resolved.issues[0].values == {"src": (1 << 32) + 7, "dst": 0}


def test_what_has_no_place_is_said() -> None:
    outer = pseudo(1).replace(src_num_elem=(4, 2), dst_num_elem=(4, 3))
    assert notices(go(outer, EXT)) == [
        ("isa.5.3.no_place", "warning", "src_num_elem[1]"),
        ("isa.5.3.no_place", "warning", "dst_num_elem[1]"),
    ]
    assert notices(go(pseudo(2), EXT)) == [("isa.5.3.no_place", "warning", "extension.compute_op")]
    stepped = pseudo(3).replace(dst_step_elem=(8, 42))
    assert notices(go(stepped, EXT.replace(compute_op=0))) == [("isa.5.3.no_place", "warning", "dst_step_elem[0]")]
    unit = pseudo(3).replace(dst_step_elem=(1, 42))
    assert go(unit, EXT.replace(compute_op=0), step_unit="elements").issues == ()


def test_rule_ids_are_declared() -> None:
    used = {"isa.5.1.var", "isa.5.1.address", "isa.5.1.form", "isa.1.9.dtype_pair", "isa.5.2.compute_op"}
    assert set(LOWERING_RULES) == used | {"isa.5.3.bound_bytes", "isa.5.3.no_place"}


@settings(max_examples=60, deadline=None)
@given(
    body=st.binary(min_size=63, max_size=63),
    ext=st.none() | st.binary(min_size=63, max_size=63),
    kind=st.integers(0, 4),
)
def test_any_pseudo_resolves_or_is_refused_by_name(body: bytes, ext: bytes | None, kind: int) -> None:
    data = bytearray(b"\xd4" + body)
    data[15] = kind
    extension: Any = None if ext is None else decode_word(b"\xda" + ext)
    try:
        resolved = resolve(decode_word(bytes(data)), extension, TABLE, Choices())  # type: ignore[arg-type]
    except DgeError as error:
        assert error.rule.startswith("isa.")
        return
    assert decode_word(resolved.word.encode()) == resolved.word
    assert resolved.word.code == {0: 0xB8, 1: 0xBB, 2: 0xBD, 3: 0xF1}[kind]

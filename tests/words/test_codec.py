"""Decode and encode: the worked examples, the anchors, arbitrary bodies, single-bit flips, range errors."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgekit.core.choices import Choices
from dgekit.core.errors import DecodeError, EncodeError
from dgekit.words import structs
from dgekit.words.checks import check_word
from dgekit.words.codec import decode_word, encode_word
from dgekit.words.structs import *  # noqa: F403 - `repr` must evaluate with exactly this
from dgekit.words.structs import (
    Addr4Immediate,
    Addr4Raw,
    Addr4Reg,
    Addr8Immediate,
    Addr8Reg,
    Addr8TblImm,
    Addr8TblReg,
    AddrMode,
    AddrRaw,
    BoundCheckReg,
    ComputeOp,
    DmaAddrImm64,
    DmaAddrModePair,
    DmaAddrStruct,
    DmaCopy2D,
    DmaDirect2D,
    Dtype,
    Events,
    Extended,
    ExtendedOpcode,
    ExtendedRdmaDescGen,
    ExtendedRdmaDescStart,
    Header,
    OpaqueWord,
    Opcode,
    PseudoAddr8Var,
    PseudoDmaExt,
    PseudoDmaTrigger,
    SemBaseOffset,
    UpdateMode,
    WaitMode,
    word_classes,
)

SPEC = json.loads((Path(__file__).parents[1] / "golden" / "spec" / "isa-words.json").read_text())
EXAMPLES = {name: bytes.fromhex(text) for name, text in SPEC["examples"].items()}
CODES = sorted({cls.code for cls in word_classes()})


def example(letter: str):
    return decode_word(next(data for name, data in EXAMPLES.items() if name.split()[0] == letter))


def assert_identities(data: bytes) -> None:
    word = decode_word(data)
    assert encode_word(word) == data
    assert eval(repr(word)) == word
    assert type(word).from_json(json.loads(json.dumps(word.to_json()))) == word
    assert decode_word(bytearray(data)) == decode_word(memoryview(data)) == word


@pytest.mark.parametrize("name", list(EXAMPLES))
def test_worked_examples_survive_every_form(name) -> None:
    assert len(EXAMPLES) == 12
    assert_identities(EXAMPLES[name])
    assert reserved(decode_word(EXAMPLES[name])) == {}


def test_example_fields_are_those_of_the_chapter() -> None:
    # isa-words 6.1 to 6.6: the values the text states, not what a decode once printed.
    pseudo, copy, row = example("A"), example("B"), example("C")
    assert (pseudo.src_start_addr, pseudo.dst_start_addr) == (PseudoAddr8Var(var_id=0), PseudoAddr8Var(var_id=3))
    assert (copy.src_start_addr, copy.dst_start_addr) == (Addr8Immediate(0x100000000), Addr8Immediate(0x2000000000))
    for word in (pseudo, copy):
        assert (word.semaphore, word.sem_increment, word.src_elem_size, word.in_dtype) == (10, 1, 4, Dtype.FP32)
        assert word.src_num_elem == word.dst_num_elem == (128, 1)
        assert word.src_step_elem == word.dst_step_elem == (1, 128)
    assert (row.dma_configs.priority_class, row.out_dtype, row.compute_op) == (3, Dtype.BFLOAT16, ComputeOp.NONE)
    transpose, extension, tile = example("D1"), example("D2"), example("E")
    assert (transpose.dge_op, transpose.src_num_elem, transpose.dst_step_elem) == (2, (128, 64), (1, 64))
    assert (extension.tile_src_rows, extension.tile_src_cols, extension.tile_src_row_step) == (16, 128, 128)
    assert (tile.tile_src_row_step, tile.semaphore, tile.dst_start_addr.address) == (256, 20, 0x2000008000)
    scatter, gather = example("F"), example("G")
    assert (scatter.flags.encode(), scatter.compute_op, scatter.src_num_elem) == (b"\x0d", ComputeOp.ADD, 4)
    assert scatter.dst_idx_bound_reg == BoundCheckReg(bc_reg=5, bc_disable_oob_error_notif=1, bc_enabled=1)
    assert scatter.dst_idx_start_addr == Addr4Immediate(0x100)
    assert (gather.elem_size, gather.dst_step_elem_1, gather.dtype.dtype_hi, gather.flags.gather_dim) == (
        256,
        128,
        6,
        1,
    )
    inline, v5 = example("H"), example("I")
    assert (inline.descriptor_flags.num_descriptors, inline.dma_flags.queue_id) == (1, 3)
    assert inline.descriptor_imm[0].bytes[:4] == (512).to_bytes(4, "little")
    assert (v5.wait_sema_idx, v5.wait_sema_value, v5.wait_sema_mode) == (7, 1, WaitMode.WAIT_FOR_SEM_GE_IMM)
    assert (v5.dma_engines.start_id, v5.dma_engines.engine_count.name, v5.wr_done_sema_update_idx) == (2, "TWO", 10)
    assert v5.src_start_addr == DmaAddrImm64(0x100000000)
    generate, start = example("J"), example("K")
    assert (generate.dma_engine_mask, generate.free_dim_bytes, generate.local_sem, generate.remote_sem) == (
        15,
        512,
        20,
        21,
    )
    assert start.events == Events(wait_mode=WaitMode.WAIT_FOR_SEM_GE_IMM, wait_idx=20, semaphore_value=4)


def test_events_anchor_of_a_real_neff() -> None:
    slot = bytes.fromhex("c81000000 40a13160000 0000".replace(" ", ""))
    header, events = Header.decode(slot[:4]), Events.decode(slot[4:])
    assert header == Header(opcode=Opcode.PSEUDO_TRIGGER_COLLECTIVE)
    assert (events.wait_mode, events.wait_idx, events.semaphore_value) == (WaitMode.WAIT_FOR_SEM_GT_IMM, 10, 0)
    assert (events.update_mode, events.update_idx) == (UpdateMode.SEM_INC_COMPLETE, 22)


def test_addr8_anchor_of_a_register_addressed_transpose() -> None:
    raw = bytes.fromhex("050000000700006c")
    word = decode_word(b"\xbd\x10" + bytes(14) + raw + bytes(40))
    assert word.src_start_addr == Addr8TblReg(offset_reg=5, table_entry_id=7, marker=0x6C)
    assert word.src_start_addr.marker_value == 0x6C
    assert word.src_start_addr.encode() == raw


def test_a_dumped_trigger_word_has_its_queue_name_at_offset_12() -> None:
    word = decode_word((bytes.fromhex("c1100000") + bytes(8) + b"q_gradient_in").ljust(64, b"\0"))
    assert isinstance(word, PseudoDmaTrigger) and word.queue_name == "q_gradient_in"


@pytest.mark.parametrize("name", list(EXAMPLES))
def test_every_single_bit_flip_survives(name) -> None:
    for bit in range(512):
        flipped = bytearray(EXAMPLES[name])
        flipped[bit // 8] ^= 1 << bit % 8
        word = decode_word(bytes(flipped))
        assert word.encode() == flipped
        assert word != decode_word(EXAMPLES[name])


@given(code=st.sampled_from(CODES), body=st.binary(min_size=63, max_size=63))
@settings(max_examples=60, deadline=None)
def test_arbitrary_bodies_survive_every_form(code, body) -> None:
    assert_identities(bytes([code]) + body)


@pytest.mark.parametrize("code", CODES)
def test_extreme_bodies_survive(code) -> None:
    for fill in (0x00, 0xFF, 0x7F, 0x80, 0x55):
        assert_identities(bytes([code]) + bytes([fill]) * 63)


@pytest.mark.parametrize("sub", range(256))
def test_extended_words_dispatch_on_byte_12(sub) -> None:
    data = b"\xf0\x10" + bytes(10) + bytes([sub]) + bytes(range(51))
    expected = {8: ExtendedRdmaDescGen, 9: ExtendedRdmaDescStart}.get(sub, Extended)
    assert type(decode_word(data)) is expected
    assert_identities(data)


@pytest.mark.parametrize("code", [code for code in range(256) if code not in CODES])
def test_unknown_opcodes_are_kept(code) -> None:
    data = bytes([code]) + bytes(range(63))
    word = decode_word(data)
    assert isinstance(word, OpaqueWord) and word.opcode == code and word.kind == "OPAQUE"
    assert isinstance(word.opcode, Opcode) == (code in SPEC["enums"]["OPCODE"].values())
    assert_identities(data)


@pytest.mark.parametrize("marker", range(256))
def test_every_marker_byte_picks_the_arm_of_the_table(marker) -> None:
    arms = SPEC["unions"]["ADDR8"]["arms"]
    raw = bytes([1, 2, 3, 4, 5, 6, 7, marker])
    for code, more in ((0xB8, {}), (0xD4, {"0x10": "PSEUDO_ADDR8_VAR", "0x50": "PSEUDO_ADDR8_VAR"})):
        arm = decode_word(bytes([code]) + bytes(15) + raw + bytes(40)).src_start_addr
        assert arm.layout.name == (arms | more).get(f"{marker & 0xFC:#04x}", "ADDR_RAW")
        assert (arm.encode(), arm.marker_value) == (raw, marker & 0xFC)


@pytest.mark.parametrize("marker", range(256))
def test_every_addr4_marker_byte(marker) -> None:
    raw = bytes([9, 0x80, 0x40, marker])
    arm = decode_word(b"\xbb" + bytes(47) + raw + bytes(12)).src_idx_start_addr
    expected = {0x00: Addr4Immediate, 0x40: Addr4Immediate, 0x80: Addr4Reg, 0xC0: Addr4Reg}
    assert type(arm) is expected.get(marker & 0xE0, Addr4Raw)
    assert (arm.encode(), arm.marker_value) == (raw, marker & 0xE0)


def test_on_chip_immediate_takes_its_bits_apart() -> None:
    place = Addr4Immediate(0x4000_0000 | 1 << 25 | 2 << 23 | 3 << 18 | 0x2ABCD)
    assert (place.partition_offset, place.must_be_zero, place.quadrant, place.is_psum) == (0x2ABCD, 3, 2, True)
    assert (place.address, place.marker_value) == (1 << 25 | 2 << 23 | 3 << 18 | 0x2ABCD, 0x40)


def test_the_low_bits_of_byte_7_belong_to_the_immediate_address() -> None:
    arm = Addr8Immediate.decode(bytes.fromhex("00000000000000 43"))
    assert (arm.address, arm.marker_bits, arm.marker_value) == (3 << 56, 0x10, 0x40)
    with pytest.raises(EncodeError, match=r"address: .* does not fit u58"):
        Addr8Immediate(address=1 << 58)


@pytest.mark.parametrize("mode", range(16))
def test_v5_modes_pick_the_address_form(mode) -> None:
    raw = bytes.fromhex("0102030405060708")
    data = b"\xb9\x10" + bytes(10) + bytes([mode | 0xC0]) + bytes(3) + raw + bytes(16) + raw + bytes(16)
    word = decode_word(data)
    form = DmaAddrImm64 if mode == 0 else DmaAddrStruct if mode < 12 else AddrRaw
    assert type(word.src_start_addr) is form and type(word.dst_start_addr) is AddrRaw
    assert_identities(data)


def test_v5_struct_fields() -> None:
    word = DmaCopy2D(addr_mode=DmaAddrModePair(src_addr_mode=AddrMode.REG_IMM_OFFSET32))
    word = word.replace(src_start_addr=DmaAddrStruct(base_reg=1, offset_reg=2, inc_reg=3, offset_imm=0x11223344))
    assert word.encode()[16:24].hex(" ") == "01 02 03 00 44 33 22 11"
    with pytest.raises(EncodeError, match="src_start_addr: the selector is 0x2, which means DmaAddrStruct"):
        word.replace(src_start_addr=DmaAddrImm64(5))


def test_register_offset_waits_read_the_semaphore_value_in_two_parts() -> None:
    assert SemBaseOffset.of(0x00000507) == SemBaseOffset(reg=7, off=5)


def test_constructors_set_opcode_and_length() -> None:
    for cls in word_classes():
        data = cls().encode()
        assert data[0] == cls.code
        assert cls is PseudoDmaExt or data[1] == 0x10
        assert cls.sub_code is None or data[12] == cls.sub_code
        assert type(decode_word(data)) is cls
        assert data == bytes([cls.code, 0 if cls is PseudoDmaExt else 0x10]) + bytes(10) + bytes([data[12]]) + bytes(51)


def test_names_with_any_bytes_are_lossless() -> None:
    name = bytes(range(1, 33))[:30] + b"\xff\x80"
    data = b"\xc2\x10" + bytes(10) + name + bytes(20)
    assert decode_word(data).queue_name == name.decode("latin-1")
    assert_identities(data)
    assert_identities(b"\xc2\x10" + bytes(10) + b"a\0b".ljust(32, b"\0") + bytes(20))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DmaDirect2D(src_elem_size=70000), r"src_elem_size: 70000 does not fit u16 \(0..65535\)"),
        (lambda: DmaDirect2D(src_step_elem=(1 << 31, 0)), r"src_step_elem\[0\]: 2147483648 does not fit i32"),
        (lambda: DmaDirect2D(semaphore=256), r"semaphore: 256 does not fit u8 \(0..255\)"),
        (lambda: BoundCheckReg(bc_reg=64), r"bc_reg: 64 does not fit u6 \(0..63\)"),
        (lambda: DmaDirect2D(header=Header(opcode=0xB9)), "opcode 0xb9 belongs to DMA_COPY2D, not DMA_DIRECT2D"),
        (lambda: PseudoDmaExt(opcode=0xD4), "belongs to PSEUDO_DMA_DIRECT2D, not PSEUDO_DMA_EXT"),
        (lambda: Extended(extended_opcode=ExtendedOpcode.EXTENDED_RDMA_DESC_GEN), "belongs to EXTENDED_RDMA_DESC_GEN"),
        (lambda: OpaqueWord(b"\xb8" + bytes(63)), "opcode 0xb8 belongs to DMA_DIRECT2D, not OPAQUE"),
        (lambda: OpaqueWord(bytes(63)), "raw: 63 bytes do not fit 64 bytes"),
        (lambda: DmaDirect2D(src_start_addr=PseudoAddr8Var()), "src_start_addr: .* is no ADDR8"),
        (lambda: DmaDirect2D(src_start_addr=Addr8Reg(marker=0x20)), "marker 0x20 belongs to ADDR8_TBL_IMM"),
        (lambda: DmaDirect2D(src_start_addr=AddrRaw(bytes(8))), "marker 0x00 belongs to ADDR8_IMMEDIATE, not ADDR_RAW"),
        (lambda: DmaDirect2D(src_start_addr=Addr8TblImm(marker=0x2C)), "belongs to ADDR8_TBL_REG"),
    ],
)
def test_what_cannot_be_encoded_is_refused_when_made(make, message) -> None:
    with pytest.raises(EncodeError, match=message):
        make()


@pytest.mark.parametrize("length", [0, 1, 63, 65, 128])
def test_a_word_has_64_bytes(length) -> None:
    with pytest.raises(DecodeError, match=f"a word has 64 bytes, not {length}") as fault:
        decode_word(bytes(length))
    assert fault.value.rule == "isa.size"
    with pytest.raises(DecodeError, match=f"DMA_DIRECT2D takes 64 bytes, not {length}"):
        DmaDirect2D.decode(bytes(length))


def test_a_class_decodes_only_its_own_opcode() -> None:
    with pytest.raises(DecodeError, match="opcode 0xb9 is DMA_COPY2D, not DMA_DIRECT2D") as fault:
        DmaDirect2D.decode(b"\xb9" + bytes(63))
    assert fault.value.rule == "isa.opcode"
    assert DmaDirect2D.decode(b"\xb8" + bytes(63)) == decode_word(b"\xb8" + bytes(63))


def reserved(word) -> dict[str, int]:
    return {path: value for path, field, value in word.leaves() if field.role == "reserved" and value != field.default}


def test_reserved_bits_of_every_word_are_kept_and_reported() -> None:
    for cls in word_classes():
        data = bytes([cls.code]) + b"\xff" * 11 + bytes([cls.sub_code or 0xFF]) + b"\xff" * 51
        word = decode_word(data)
        found = reserved(word)
        assert set(found) == {path for path, field, _ in word.leaves() if field.role == "reserved"}
        assert word.encode() == data
        told = {issue.where for issue in check_word(word, "trn2", Choices()) if issue.rule == "isa.0.reserved"}
        assert told == set(found) - {"dma_configs.reserved_bitfield"}  # a rule of its own
    arm = decode_word(b"\xb8" + bytes(15) + bytes.fromhex("0405ff0000000080") + bytes(40))
    assert reserved(arm) == {"src_start_addr.reserved": 255}


def test_star_import_offers_every_class_that_repr_can_print() -> None:
    names = {cls.__name__ for cls in vars(structs).values() if isinstance(cls, type)}
    assert names <= set(structs.__all__)


def test_importing_the_words_needs_no_numpy() -> None:
    code = "import sys, dgekit.words.codec, dgekit.words.text, dgekit.words.stream; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"

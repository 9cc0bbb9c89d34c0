"""The anchors against the chapter's bytes, and the decoder against the disassembly that the public pages print."""

from __future__ import annotations

import random

import pytest
from synthetic_images import GROUPS

from dgekit.images.anchor_table import ANCHORS
from dgekit.images.anchors import (
    ABSENT,
    DECODED,
    DIFFERS,
    MATCH,
    OUTSIDE,
    UNSEEN,
    check_anchors,
    check_image,
    failed,
)
from dgekit.images.xtensa import decode, signed

# address, bytes, text: as the pages of the sources print them (notation of registers and numbers kept)
PRINTED = """
3394 366100 entry a1, 48
3397 240900 const16 a2, 9
340a 447c08 const16 a4, 0x87c
340d 4033a0 addx4 a3, a3, a4
3410 3803 l32i.n a3, a3, 0
3412 a00300 jx a3
3538 a40800 const16 a10, 8
353b b0eb03 rsr.prid a11
353e a40c0e const16 a10, 0xe0c
3541 a54e15 call8 0x18a2c
3544 e50810 call8 0x135d4
3547 067200 j 0x3713
3572 a56e10 call8 0x13c5c
36af e55910 call8 0x13c4c
36b2 461700 j 0x3713
3742 25ab12 call8 0x161f4
161f4 36814a entry a1, 9536
ac81 240800 const16 a2, 8
ac87 29a1 s32i.n a2, a1, 40
ac89 2871 l32i.n a2, a1, 28
ac8b 22020d l8ui a2, a2, 13
ac8e 8ce2 beqz.n a2, 0xaca0
ac99 a65203 blti a2, 5, 0xaca0
f544 44a05d const16 a4, 0x5da0
f54a 0c06 movi.n a6, 0
f54c 3804 l32i.n a3, a4, 0
f54e 16d304 beqz a3, 0xf59f
f551 a56a09 call8 0x18bfc
f5a8 62622f s32i a6, a2, 188
f9ba 16f307 beqz a3, 0xfa3d
f9bd 25d309 call8 0x196f0
17392 e00500 callx8 a5
1739b 3904 s32i.n a3, a4, 0
1739d 060a00 j 0x173c9
0 067600 j 0x1dc
6 867700 j 0x1e8
"""
# pipeline 8.7 in words: targets and meanings without a printed instruction
IN_WORDS = [
    (0x17373, "679775", "bne", 0x173EC),
    (0x17376, "ac66", "beqz.n", 0x173A0),
    (0x13E23, "2015f3", "wur", None),
    (0x17370, "707004", "extui", None),
]


def number(text: str) -> str:
    return str(int(text, 0)) if text[:1].isdigit() else text


@pytest.mark.parametrize("line", PRINTED.strip().splitlines())
def test_the_printed_disassembly(line):
    address, code, text = line.split(" ", 2)
    found = decode(bytes.fromhex(code), 0, int(address, 16))
    assert found is not None
    assert found.size == len(code) // 2
    assert [number(part) for part in found.text.replace(",", "").split()] == [
        number(part) for part in text.replace(",", "").split()
    ]


@pytest.mark.parametrize(("address", "code", "name", "target"), IN_WORDS)
def test_what_the_chapter_says_in_words(address, code, name, target):
    found = decode(bytes.fromhex(code), 0, address)
    assert (found.name, found.target) == (name, target)


def test_registers_of_words():
    assert decode(bytes.fromhex("2015f3"), 0).operands == ("a2", "21")  # latch UR 21
    assert decode(bytes.fromhex("707004"), 0).operands == ("a7", "a7", "0", "1")  # bit 0
    assert decode(bytes.fromhex("360102"), 0).operands == ("a1", "256")  # frame 0x100


def test_numbers_below_zero():
    assert signed(0b1111, 4) == -1
    assert decode(bytes.fromhex("7c f6"), 0).text == "movi.n a6, -1"
    assert decode(bytes.fromhex("16 d3 ff"), 0, 0x100).target == 0x101
    assert decode(bytes.fromhex("cc e2"), 0, 0x10).text == "bnez.n a2, 0x22"


def test_every_row_of_the_table_decodes_to_its_text():
    for anchor in ANCHORS:
        if anchor.hex:
            found = decode(bytes.fromhex(anchor.hex), 0, anchor.address)
            assert found is not None
            assert (found.text, found.size) == (anchor.text, len(anchor.hex) // 2)


def test_the_table_holds_every_byte_group_of_the_chapter():
    for name, groups in GROUPS.items():
        rows = sorted(
            (a for a in ANCHORS if a.image == f"img_{name}_POOL_DEBUG_IRAM" and a.hex), key=lambda a: a.address
        )
        bytes_of = {a.address + i: byte for a in rows for i, byte in enumerate(bytes.fromhex(a.hex))}
        quoted = {
            at + i: byte for at, group in groups.items() for i, byte in enumerate(bytes.fromhex(group.replace(" ", "")))
        }
        assert bytes_of == quoted


def split(payloads):
    code = {name: data for name, data in payloads.items() if name.endswith("IRAM")}
    return code, {name: payloads[name.replace("IRAM", "DRAM")] for name in code}


def test_all_anchors_that_have_bytes_are_found(payloads):
    checks = check_anchors(*split(payloads))
    assert not failed(checks)
    quoted = [check for check in checks if check.anchor.hex and "MAVERICK" not in check.anchor.image]
    assert len(quoted) == 77
    assert {check.status for check in quoted} == {MATCH}
    assert {check.status for check in checks if not check.anchor.hex} == {UNSEEN, ABSENT}


def test_strings_that_a_const16_loads(payloads):
    loaded = {check.anchor.address: check.string for check in check_anchors(*split(payloads)) if check.string}
    assert loaded[0xF547] == "S: DGE: Select backend Pool"
    assert loaded[0xF9B3] == "S: DGE: Select backend Pool"
    assert loaded[0xF5A2] == "S: DGE: NO BACKEND FOUND, doing nothing"
    assert loaded[0x353E] == "P%i: DGE DIRECT2D"
    assert loaded[0x36A9] == "P%i: DGE INDIRECT"
    assert loaded[0x173B1] == "P%i: Q7: rdma_desc_start [RX] Signaling TX to proceed (right_push)"
    assert loaded[0xAC84] == "dge_shape"
    assert loaded[0x1565A] == "tensor_reshape_transpose"


def test_other_bytes_and_short_images(payloads):
    name = "img_CAYMAN_NX_POOL_DEBUG_IRAM"
    code = bytearray(payloads[name])
    code[0xF54E] ^= 1
    code[0xF1E0:0xF1E3] = call8(0xF1E0, 0xA2F8)
    by_address = {check.anchor.address: check for check in check_image(name, bytes(code))}
    assert by_address[0xF54E].status == DIFFERS
    assert by_address[0xF1E0].status == DECODED
    assert by_address[0xF1E0].text == "call8 0xa2f8"
    short = check_image(name, payloads[name][:0xF545])
    assert failed(short)
    assert {check.status for check in short if check.anchor.address >= 0xF544} == {OUTSIDE}
    assert {check.status for check in check_anchors({}, {})} == {ABSENT}


def call8(pc: int, target: int) -> bytes:
    return ((((target - 4 - (pc & ~3)) // 4) & 0x3FFFF) << 6 | 0x25).to_bytes(3, "little")


def test_calls_made_by_the_rule_decode_to_their_target():
    rng = random.Random(1)
    for _ in range(500):
        pc, target = rng.randrange(1 << 17), rng.randrange(1 << 15) * 4
        assert decode(call8(pc, target), 0, pc).target == target


def test_any_bytes_decode_or_do_not():
    rng = random.Random(2)
    for _ in range(5000):
        data = rng.randbytes(rng.randrange(4))
        found = decode(data, 0, rng.randrange(1 << 17))
        assert found is None or found.size <= len(data)

"""Two images: strings lost, gained, moved."""

from __future__ import annotations

import random

import pytest
from synthetic_images import dram, strings_of, with_moved_line

from dgekit.core.errors import UsageError
from dgekit.images.cstrings import c_strings
from dgekit.images.difference import diff_images, pair_images
from dgekit.images.source import Image

NAME = "img_CAYMAN_NX_POOL_DEBUG_DRAM"


def test_a_shift_is_a_move_and_not_a_loss(payloads):
    found = diff_images(Image(NAME, "", payloads[NAME]), Image(NAME, "", with_moved_line()))
    assert (found.lost, found.gained) == ((), ())
    (move,) = found.moved
    assert (move.old.offset, move.new.offset, move.distance) == (0x388E, 0x38CE, 0x40)
    assert move.new.line == "S: Setting up DGE"
    assert found.to_json()["moved"] == [
        {"text": "S: Setting up DGE\n", "format": "setup.start", "from": "0x388e", "to": "0x38ce", "distance": 64}
    ]


def test_equal_images_do_not_differ(payloads):
    found = diff_images(Image(NAME, "", payloads[NAME]), Image(NAME, "", payloads[NAME]))
    assert not found


def test_what_the_fast_path_generation_lost_and_gained(payloads):
    plus = "img_MARIANA_PLUS_NX_POOL_DEBUG_DRAM"
    found = diff_images(Image(NAME, "", payloads[NAME]), Image(plus, "", payloads[plus]))
    assert "S: push REGWRITE to DMA[%d]\n" in [string.text for string in found.lost]
    assert {"wait_for_credit", "dge_decode_fast.cpp"} <= {string.text for string in found.gained}
    select = {move.new.line: move.distance for move in found.moved}
    assert select["S: DGE: Select backend Pool"] == select["S: DGE: NO BACKEND FOUND, doing nothing"] == 0x40
    assert found.distances[0x40] >= 3


def test_repeated_strings_are_paired_in_order():
    left = Image("a", "", b"\0same\0" + bytes(10) + b"same\0")
    right = Image("b", "", b"\0same\0" + bytes(20) + b"same\0\0same\0")
    found = diff_images(left, right)
    assert [(m.old.offset, m.new.offset) for m in found.moved] == [(16, 26)]
    assert [s.offset for s in found.gained] == [32]


def test_a_difference_explains_every_string():
    rng = random.Random(3)
    words = [b"alpha", b"beta", b"gamma", b"delta"]
    for _ in range(100):
        left, right = (b"\0" + b"\0\0".join(rng.choices(words, k=6)) + b"\0" for _ in range(2))
        found = diff_images(Image("a", "", left), Image("b", "", right))
        old, new = ({(s.offset, s.text) for s in c_strings(d, "x", 4)} for d in (left, right))
        gone = {(s.offset, s.text) for s in (*found.lost, *(m.old for m in found.moved))}
        come = {(s.offset, s.text) for s in (*found.gained, *(m.new for m in found.moved))}
        assert (gone, come) == (old - new, new - old)
        assert not {s.text for s in found.lost} & {s.text for s in found.gained}


def test_which_images_are_compared():
    a, b, c = (Image(name, "", b"") for name in "abc")
    assert pair_images({"a": a}, {"b": b}) == ([(a, b)], [], [])
    assert pair_images({"a": a, "b": b}, {"b": b, "c": c}) == ([(b, b)], ["a"], ["c"])
    with pytest.raises(UsageError) as caught:
        pair_images({"a": a, "b": b}, {"c": c})
    assert caught.value.rule == "images.pairs"


def test_lost_strings(payloads):
    kept = [(at, text) for at, text in strings_of("CAYMAN_NX") if not text.startswith(b"S: NOTIFY")]
    found = diff_images(Image(NAME, "", payloads[NAME]), Image(NAME, "", dram("CAYMAN_NX", kept)))
    assert [(s.offset, s.text) for s in found.lost] == [(0x2286, "S: NOTIFY\n")]
    assert found.to_json()["lost"][0]["va"] == "0x82286"

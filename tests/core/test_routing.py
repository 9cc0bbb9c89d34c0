"""Routing bits of the addresses of other devices: example E13 of the ring chapter, and every bit on its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dgekit.core.errors import LoweringError
from dgekit.core.routing import chip_view, neighbour_view

EXAMPLES = json.loads((Path(__file__).parents[1] / "golden" / "spec" / "rings.json").read_text())["examples_extra"]
DIE_1 = 1 << 47


def test_the_chapters_three_addresses():
    routing = EXAMPLES["routing"]
    assert chip_view(0x100000 | DIE_1, 0x12) == int(routing["chip_id_recomputed"], 16) == 0x0052_8000_0010_0000
    assert neighbour_view(0x100000 | DIE_1) == 0x0058_8000_0010_0000
    assert neighbour_view(0x2000100000 | DIE_1) == int(routing["neighbor_full_sbuf"], 16) == 0x0058_8020_0010_0000


@pytest.mark.parametrize("chip_id", range(64))
def test_an_id_lies_in_bits_48_to_53_and_bit_54_is_set(chip_id):
    assert chip_view(0, chip_id) == chip_id * 2**48 + 2**54
    assert chip_view(0x7000000123 | DIE_1, chip_id) % 2**48 == 0x7000000123 | DIE_1


@pytest.mark.parametrize("chip_id", [-1, 64, 1 << 32])
def test_other_ids_are_refused(chip_id):
    with pytest.raises(LoweringError) as refused:
        chip_view(0, chip_id)
    assert refused.value.rule == "dec.D77.routing"
    assert refused.value.values["maximum"] == 63

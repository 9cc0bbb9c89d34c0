import itertools
import json
from pathlib import Path

import pytest

from dgekit.core.errors import RingError
from dgekit.core.generations import CAYMAN, GENERATIONS, MAVERICK, SUNDA
from dgekit.descriptors.doorbell import (
    LEGS,
    QUEUE_BANK,
    QUEUE_STRIDE,
    TAIL_INC,
    Doorbell,
    doorbell_address,
    doorbell_at,
    engine_count,
    unit_base,
)

RINGS = json.loads((Path(__file__).parents[1] / "golden" / "spec" / "rings.json").read_text())


def test_the_register_window_of_a_queue():
    ring = RINGS["ring"]
    assert int(ring["queue_stride"], 16) == QUEUE_STRIDE
    assert int(ring["queue0_base"], 16) == QUEUE_BANK
    assert int(ring["doorbell_offset"], 16) == TAIL_INC
    for unit, name in (("m2s_q", "TDRTP_inc"), ("s2m_q", "RDRTP_inc")):
        (row,) = (row for row in RINGS["registers"][unit] if row["name"] == name)
        assert int(row["offset"], 16) == TAIL_INC
    assert ring["doorbell_order"].startswith("S2M")  # D29; the machine rings LEGS backwards
    assert LEGS == ("M2S", "S2M")


def test_example_e11():
    for row in RINGS["examples_extra"]["doorbells"]:
        assert doorbell_address(CAYMAN, row["engine"], row["queue"], row["leg"]) == int(row["address"], 16)


def test_every_doorbell_is_found_again():
    for generation in GENERATIONS:
        seen = set()
        for engine, queue, leg in itertools.product(range(0, engine_count(generation), 7), range(16), LEGS):
            address = doorbell_address(generation, engine, queue, leg)
            assert doorbell_at(generation, address) == Doorbell(engine, queue, leg)
            seen.add(address)
        assert len(seen) == len(range(0, engine_count(generation), 7)) * 32


def test_second_core_of_v2_has_its_own_engines():
    assert unit_base(SUNDA, 16, "M2S") == 0xFFFF0700000
    assert unit_base(MAVERICK, 0, "S2M") - unit_base(MAVERICK, 0, "M2S") == 0x40000


@pytest.mark.parametrize("address", [0, 0x1002001039, 0x1002000038, 0x1002011038, 0x1002001034])
def test_other_addresses_are_no_doorbell(address):
    assert doorbell_at(CAYMAN, address) is None


def test_what_does_not_exist_is_refused():
    for engine, queue, text in ((128, 0, "engine 128 does not exist"), (0, 16, "queue 16 does not exist")):
        with pytest.raises(RingError, match=text) as caught:
            doorbell_address(CAYMAN, engine, queue, "M2S")
        assert caught.value.rule == "rings.2.1"

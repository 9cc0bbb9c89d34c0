import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgekit.core.errors import RingError
from dgekit.descriptors.batch import PACKET_DTYPE
from dgekit.machine.ring import NO_KIND, Ring, check_geometry

BASE = 0x2040000000


def blank(count):
    return np.zeros((count, 4), np.uint32)


def test_example_e19(rings):
    ring = Ring("M2S", BASE, 32)
    steps = [lambda: None, lambda: ring.doorbell(32), lambda: ring.fetch(8), lambda: ring.fetch(24)]
    for step, row in zip(steps, rings["examples_extra"]["pointers"], strict=True):
        step()
        verdict = "full" if ring.full else "empty" if ring.empty else "partly used"
        assert (ring.head_word, ring.tail_word) == (int(row["head"], 16), int(row["tail"], 16))
        assert (ring.used, verdict) == (row["used"], row["verdict"])


def test_limits_are_the_specs(rings):
    spec = rings["ring"]
    for length in (spec["min_entries"], spec["max_entries"]):
        check_geometry(0, length)
    for length in (spec["min_entries"] - 16, spec["max_entries"] + 16, spec["min_entries"] + 8):
        with pytest.raises(RingError):
            check_geometry(0, length)
    check_geometry(256, 48)  # no power of two needed
    with pytest.raises(RingError, match="256-byte aligned"):
        check_geometry(128, 32)


def test_ring_ids_of_the_slots_follow_the_published_sequence(rings):
    ring = Ring("S2M", BASE, 32)
    seen = []
    for _ in range(6):
        ring.store(blank(32))
        ring.doorbell(32)
        seen.append(int(ring.pending(1)[0, 0]) >> 24 & 3)
        ring.fetch(32)
        ring.retire(32)
    assert seen == rings["ring"]["ring_id_sequence"]


def test_example_e7_slots_and_ring_ids():
    ring = Ring("M2S", BASE, 32)
    ring.store(blank(30))
    ring.doorbell(30)
    ring.fetch(30)
    ring.retire(30)
    rows = np.array([[0x0C000000, 0x01080003, 0x03000000 + i * 65536, 0] for i in range(4)], np.uint32)
    rows[3, 0] |= 0xD40
    rows[3, 1] |= 1 << 26
    ring.store(rows)
    slots = [ring.dump()[slot * 16 : slot * 16 + 16].hex(" ") for slot in (30, 31, 0, 1)]
    assert slots == [
        "00 00 00 0d 03 00 08 01 00 00 00 03 00 00 00 00",
        "00 00 00 0d 03 00 08 01 00 00 01 03 00 00 00 00",
        "00 00 00 0e 03 00 08 01 00 00 02 03 00 00 00 00",
        "40 0d 00 0e 03 00 08 05 00 00 03 03 00 00 00 00",
    ]


def test_a_full_ring_takes_nothing():
    ring = Ring("M2S", BASE, 32)
    ring.store(blank(30))
    with pytest.raises(RingError, match="3 BDs do not fit into the 2 free slots"):
        ring.store(blank(3))
    ring.doorbell(30)
    ring.fetch(30)
    assert ring.free == 2  # fetched, not retired
    ring.retire(30)
    assert ring.free == 32


@pytest.mark.parametrize("count", [0, -1, 23, 33])
def test_doorbells_outside_the_room_are_refused(count):
    ring = Ring("M2S", BASE, 32)
    ring.doorbell(10)
    with pytest.raises(RingError, match="doorbell") as caught:
        ring.doorbell(count)
    assert caught.value.rule == "rings.2.7"
    assert caught.value.values == {"count": count, "length": 32, "used": 10}


def test_pointers_do_not_pass_each_other():
    ring = Ring("M2S", BASE, 32)
    ring.doorbell(4)
    with pytest.raises(RingError, match="passes the tail") as caught:
        ring.fetch(5)
    assert caught.value.rule == "rings.2.8"
    ring.fetch(4)
    with pytest.raises(RingError, match="retiring 5"):
        ring.retire(5)
    assert (ring.head_word, ring.current_word) == (0x40000004, 0x40000000)


def test_status_register():
    ring = Ring("M2S", BASE, 32)
    ring.doorbell(32)
    assert ring.status_word() == 0x80000020


def test_side_rows_stay_with_their_slots():
    ring = Ring("M2S", BASE, 32)
    side = np.zeros(2, PACKET_DTYPE)
    side["m2s_first"], side["kind"] = [0, 3], [1, 2]
    ring.store(blank(28))
    ring.doorbell(28)
    ring.fetch(28)
    ring.retire(28)
    ring.store(blank(6), side)
    assert ring.side(np.arange(28, 34))["kind"].tolist() == [1, NO_KIND, NO_KIND, 2, NO_KIND, NO_KIND]
    ring.doorbell(6)
    ring.fetch(6)
    ring.retire(6)
    ring.store(blank(32))
    assert set(ring.side(np.arange(34, 66))["kind"].tolist()) == {NO_KIND}


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 4), st.lists(st.integers(1, 40), max_size=12))
def test_what_is_stored_comes_back_in_order(sixteens, counts):
    length = sixteens * 16
    ring = Ring("S2M", BASE, length)
    number = 0
    for count in counts:
        count = min(count, length)
        rows = blank(count)
        rows[:, 2] = np.arange(number, number + count)
        ring.store(rows)
        ring.doorbell(count)
        found = ring.pending()
        assert found[:, 2].tolist() == list(range(number, number + count))
        assert [w >> 24 & 3 for w in found[:, 0].tolist()] == [(1 + (number + i) // length) % 4 for i in range(count)]
        ring.fetch(count)
        ring.retire(count)
        number += count

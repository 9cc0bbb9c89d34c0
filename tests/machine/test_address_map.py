import itertools

import pytest

from dgekit.core.generations import CAYMAN, GENERATIONS, MARIANA, MAVERICK, SUNDA
from dgekit.machine.address_map import (
    PSUM_ACTIVE,
    PSUM_SIZE,
    PSUM_STRIDE,
    describe,
    region_of,
    regions,
    ring_region,
    routing,
    sbuf_size,
)

SHARED = {"STATE_BUF": "SBUF", "STATE_BUF_SCRATCH_RAM": "SBUF scratch RAM", "PSUM_BUF": "PSUM"}


def test_tpb_regions_are_the_specs(rings):
    for entry in rings["memory_map"]["v3"]["tpb_regions"]:
        if entry["name"] == "reserved" or "core n" in entry["name"]:
            continue
        for core, base in enumerate(rings["memory_map"]["v3"]["tpb_bases"]):
            found = region_of(CAYMAN, int(base, 16) + int(entry["offset"], 16))
            assert found.name == SHARED.get(entry["name"], entry["name"])
            assert (found.size, found.core) == (int(entry["size"], 16), core)


def test_q7_regions_are_the_specs():
    assert region_of(CAYMAN, 0x2000000000 + 0x803100000 + 7 * 0x100000).name == "Q7 core 7 IRAM"
    assert region_of(CAYMAN, 0x2000000000 + 0x803180000 + 3 * 0x100000).size == 0x40000


def test_hbm_stacks(rings):
    v3 = rings["memory_map"]["v3"]["hbm"]
    for stack, base in enumerate(int(text, 16) for text in v3["bases"]):
        reserved = int(v3["reserved_low"], 16)
        assert region_of(CAYMAN, base).name == f"HBM {stack} firmware reserve"
        assert region_of(CAYMAN, base + reserved - 1).name == f"HBM {stack} firmware reserve"
        assert region_of(CAYMAN, base + reserved).name == f"HBM {stack}"
        assert region_of(CAYMAN, base + int(v3["active"], 16) - 1).name == f"HBM {stack}"
        assert region_of(CAYMAN, base + int(v3["active"], 16)) is None
    assert region_of(SUNDA, int(rings["memory_map"]["v2"]["hbm"]["size"], 16)) is None
    assert region_of(MARIANA, 36 * 2**30 - 1).name == "HBM 0"  # D45


def test_regions_of_a_generation_do_not_meet():
    for generation in GENERATIONS:
        if generation is MAVERICK:  # its map is borrowed from v4, with a larger SBUF window over it
            continue
        ordered = sorted(regions(generation), key=lambda r: r.base)
        for one, other in itertools.pairwise(ordered):
            assert one.end <= other.base, (generation.name, one, other)


def test_psum_geometry(rings):
    spec = rings["psum_geometry"]
    assert (spec["partition_stride"], spec["active_bytes"]) == (PSUM_STRIDE, PSUM_ACTIVE)
    assert int(spec["size"], 16) == PSUM_SIZE == spec["partitions"] * PSUM_STRIDE
    for generation, version in ((SUNDA, "v2"), (CAYMAN, "v3"), (MARIANA, "v4")):
        assert spec["banks"][version] * spec["bank_bytes"][version] == PSUM_ACTIVE
        psum = next(region for region in regions(generation) if region.name == "PSUM")
        assert psum.base == generation.address_map.tpb_bases[0] + generation.address_map.psum_offset


def test_soc_address_bits(rings):
    """Each routing bit on its own, by both views of rings 4.1."""
    assert routing(1 << 46).local == 1 << 46
    names = {
        "DIE": "die", "EXIT_SENG": "exit_seng", "EXIT_DIE": "exit_die", "NEIGHBOR_ROUTE": "neighbor_route",
        "PEB": "peb", "ID_VALID": "id_valid", "RELAXED_ORDERING": "relaxed_ordering", "OK_TO_FAIL": "may_fail",
        "CAYMAN_ID_VALID": "id_valid",
    }  # fmt: skip
    for view in ("soc_address_bits", "soc_address_bits_neighbor"):
        for name, high, low in rings["memory_map"][view]:
            if name in names:
                assert high == low and getattr(routing(1 << low), names[name])
                assert not getattr(routing(~(1 << low) & (1 << 58) - 1), names[name])
    (_, high, low) = next(row for row in rings["memory_map"]["soc_address_bits"] if row[0] == "CAYMAN_ID")
    assert routing(0b101101 << low).chip_id == 0b101101 and high - low == 5


def test_sbuf_window_is_partitions_times_stride():
    assert [sbuf_size(g) for g in (SUNDA, CAYMAN, MARIANA, MAVERICK)] == [0x2000000, 0x2000000, 0x2000000, 0x8000000]
    assert "PSUM" not in {region.name for region in regions(MAVERICK)}


@pytest.mark.parametrize(
    ("address", "text"),
    [
        (0x20000C0400, "SBUF of core 0, partition 3, byte 0x400"),
        (0x2802008000 + 4, "PSUM of core 0, partition 1, byte 0x4"),
        (0x2802701828, "EVT_SEM of core 0, byte 0x1828"),
        (0x2040000000, "DGE_MEMORY of core 0, byte 0x0"),
        (0x1002100038, "SDMA engine 1, byte 0x38"),
        (0x400012345000, "host, byte 0x12345000"),
        (0x2002000000, "no known region"),
        (0x0052000000100000, "another device: routing bits 0x52 above bit 47"),
    ],
)
def test_describe(address, text):
    assert describe(CAYMAN, address) == text


def test_rings_live_in_dge_memory_or_host():
    assert ring_region(CAYMAN, 1).base == 0x3040000000
    assert ring_region(SUNDA, 1).name == "host"


def test_routing_reads_both_views(rings):
    examples = rings["examples_extra"]["routing"]
    neighbour = routing(int(examples["neighbor_full_sbuf"], 16))
    assert (neighbour.local, neighbour.die) == (0x2000100000, 1)
    assert (neighbour.exit_die, neighbour.neighbor_route, neighbour.id_valid) == (True, True, True)
    assert not (neighbour.exit_seng or neighbour.peb or neighbour.relaxed_ordering or neighbour.may_fail)
    chip = routing(int(examples["chip_id_recomputed"], 16))
    assert (chip.local, chip.die, chip.chip_id, chip.id_valid) == (0x100000, 1, 0x12, True)
    assert routing(3 << 56).relaxed_ordering and routing(3 << 56).may_fail

"""The record of every generation against the tables of the specification."""

import json
from pathlib import Path

import pytest

from dgekit.core.dtypes import Dtype
from dgekit.core.errors import UsageError
from dgekit.core.generations import (
    CAYMAN,
    DEFAULT,
    GENERATIONS,
    MARIANA,
    MARIANA_PLUS,
    MAVERICK,
    SUNDA,
    generation_named,
)

SPEC = Path(__file__).parents[1] / "golden" / "spec"
ISA = json.loads((SPEC / "isa-words.json").read_text())
RINGS = json.loads((SPEC / "rings.json").read_text())
FROM_CAYMAN = (CAYMAN, MARIANA, MARIANA_PLUS, MAVERICK)
V3 = RINGS["memory_map"]["v3"]
V2 = RINGS["memory_map"]["v2"]


def number(text):
    return int(text, 16)


def numbers(texts):
    return tuple(map(number, texts))


def of(table, generation):
    """The entry of a generation in a table with keys such as v3 or "v3 cayman"; None when it has none."""
    return next((value for key, value in table.items() if key.split(" ")[0] == f"v{generation.nc}"), None)


def test_names_and_default():
    assert [(g.name, g.nc) for g in GENERATIONS] == [
        ("SUNDA", 2), ("CAYMAN", 3), ("MARIANA", 4), ("MARIANA_PLUS", 4), ("MAVERICK", 5),
    ]  # fmt: skip
    assert DEFAULT is CAYMAN
    for name in ("trn2", "nc-v3", "V3", " cayman ", CAYMAN):
        assert generation_named(name) is CAYMAN
    for name, generation in (
        ("trn1", SUNDA),
        ("inf2", SUNDA),
        ("trn3", MARIANA),
        ("v4+", MARIANA_PLUS),
        ("v5", MAVERICK),
    ):
        assert generation_named(name) is generation
    every = [alias for g in GENERATIONS for alias in (g.name.lower(), *g.aliases)]
    assert len(every) == len(set(every))


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(UsageError, match="trn9") as caught:
        generation_named("trn9")
    assert caught.value.rule == "dge.generation"
    assert all(g.name in caught.value.fix for g in GENERATIONS)


@pytest.mark.parametrize("generation", GENERATIONS, ids=lambda g: g.name)
def test_sbuf_geometry(generation):
    spec = of(RINGS["sbuf_geometry"], generation)
    assert generation.partitions == spec["partitions"]
    assert generation.partition_stride == spec["partition_stride"]
    assert generation.active_bytes == spec["active_bytes"]
    last = (generation.partitions - 1) * generation.partition_stride + generation.active_bytes - 1
    assert last == number(spec["last_active_offset"])


def test_ring_caps():
    """rings 2.5: the driver's 65 is 64 data BDs and one for metadata; the table of receive caps holds v2 to v4."""
    for generation in GENERATIONS:
        rx = of(RINGS["ring"]["max_rx_desc_per_packet"], generation)
        assert generation.tx_cap == RINGS["ring"]["max_tx_desc_per_packet"]["v3"] - 1
        if rx is not None:
            assert generation.rx_cap == rx
        cap = of(RINGS["qos"]["cce_max_elements"], generation)
        if cap is not None:
            assert generation.cce_elements == cap
        assert generation.queues_per_engine == RINGS["ring"]["queues_per_engine"]
    assert [g.max_packet_bytes for g in GENERATIONS] == [RINGS["ring"]["max_packet_bytes"]["reset_v3"]] * 4 + [
        256 << 10
    ]


def test_engines_and_windows():
    assert [g.engines for g in GENERATIONS] == [16, 16, 16, 16, 8]  # rings 3.3
    for generation in GENERATIONS:
        window = RINGS["engine_window"]["v5" if generation.nc == 5 else "v2_v4"]
        assert f"size {generation.m2s_size:#x}" in window["M2S"]
        assert number(window["S2M"].split(" ")[0]) == generation.m2s_size


def test_v3_and_v4_address_map():
    for generation, hbm in ((CAYMAN, number(V3["hbm"]["active"])), (MARIANA, 36 << 30), (MARIANA_PLUS, 36 << 30)):
        found = generation.address_map
        assert found.tpb_bases == numbers(V3["tpb_bases"])
        assert found.tpb_size == number(V3["tpb_size"])
        assert found.hbm_bases == numbers(V3["hbm"]["bases"])
        assert (found.hbm_size, found.hbm_reserved_low) == (hbm, number(V3["hbm"]["reserved_low"]))
        assert found.host_base == number(V3["host"])
        assert found.engine_first == numbers(V3["sdma_first"])
        assert found.engine_stride == number(V3["sdma_stride"])
        assert generation.cores == 8
        offsets = {
            region["name"]: number(region["offset"]) for region in V3["tpb_regions"] if " + " not in region["offset"]
        }
        assert found.sbuf_offset == offsets["STATE_BUF"]
        assert found.psum_offset == offsets["PSUM_BUF"]
        assert found.evt_sem_offset == offsets["EVT_SEM"]
        assert found.dge_memory_offset == offsets["DGE_MEMORY"]
        assert generation.sbuf_base(3) == number(V3["tpb_bases"][3])


def test_v2_address_map():
    found = SUNDA.address_map
    assert found.tpb_bases == numbers(V2["tpb_bases"])
    assert found.tpb_size == number(V2["tpb_size"])
    assert found.evt_sem_offset == number(V2["evt_sem_offset"])
    assert found.psum_offset == number(RINGS["psum_geometry"]["offset"])
    assert found.hbm_bases == numbers(V2["hbm"]["bases"])
    assert (found.hbm_size, found.hbm_reserved_low) == (number(V2["hbm"]["size"]), number(V2["hbm"]["reserved_low"]))
    assert found.host_base == number(V2["host"])
    for base in found.engine_first:
        assert f"{base:#x}" in V2["udma_eng"]
    assert f"stride {found.engine_stride:#x}" in V2["udma_eng"]
    assert (found.engines_per_pair, SUNDA.cores, found.dge_memory_offset) == (
        16,
        2,
        0,
    )  # rings 8: 32 engines for 2 cores


def test_doorbell_windows_hold_the_engines_of_every_core():
    for generation in (SUNDA, CAYMAN, MARIANA):
        found = generation.address_map
        assert len(found.engine_first) * found.engines_per_pair == generation.cores * generation.engines
    assert CAYMAN.address_map.engines_per_pair == 32


def test_element_types():
    """isa-words 2.5: MAVERICK has them all, CAYMAN what no later generation added."""
    later = ISA["enum_generations"]["DTYPE"]
    on_v5 = {Dtype[name] for name in later["MAVERICK"]}
    on_v4 = {Dtype[name] for name in later["MARIANA"]}
    everything = set(Dtype)
    assert MAVERICK.dtypes == everything
    assert MARIANA.dtypes == MARIANA_PLUS.dtypes == everything - on_v5
    assert SUNDA.dtypes == CAYMAN.dtypes == everything - on_v5 - on_v4
    assert [len(g.dtypes) for g in GENERATIONS] == [16, 16, 24, 24, 30]  # isa-words 7


def test_opcodes_and_kinds():
    absent = ISA["enum_generations"]["OPCODE"]
    v5_only, on_sunda = set(absent["MAVERICK only"]), set(absent["absent on SUNDA"])
    assert SUNDA.opcodes_absent == on_sunda | v5_only
    for generation in (CAYMAN, MARIANA, MARIANA_PLUS):
        assert generation.opcodes_absent == v5_only
    assert MAVERICK.opcodes_absent == frozenset()
    kinds = ISA["enum_generations"]["DGE_OPCODE"]
    assert SUNDA.dge_kinds == len(kinds["SUNDA"])
    assert {g.dge_kinds for g in FROM_CAYMAN} == {len(kinds["CAYMAN and later"])}


MATRIX = {  # pipeline 9 and rings 8, one column a generation
    "has_selector": (0, 1, 1, 1, 1),
    "has_push_model": (0, 1, 1, 1, 0),
    "has_regwrite": (0, 1, 1, 0, 0),
    "has_fast_path": (0, 0, 0, 1, 0),
    "has_inline_descriptors": (0, 0, 0, 0, 1),
    "has_event_modes": (1, 1, 1, 1, 0),
    "has_offset_waits": (0, 0, 0, 0, 1),
    "has_feature_flags": (0, 1, 1, 1, 1),
    "has_psum": (1, 1, 1, 1, 0),
    "check_ring_id": (1, 0, 0, 0, 0),
    "strong_order_write": (0, 1, 1, 1, 1),
    "cce_max_bytes": (4096, 8192, 8192, 8192, 8192),  # cce 5.1, CHOICE-42; MAVERICK has no compute path
    "cce_tx_cap": (128, 65, 65, 65, 65),
    "has_cce": (1, 1, 1, 1, 0),
    "has_combo": (0, 1, 1, 1, 1),
    "has_notification_mask": (0, 0, 1, 1, 0),
    "has_cce_registers": (0, 0, 1, 1, 0),
    "availability_base": (0, 0x5DA0, 0x5FE0, 0x5FE0, 0),
}


@pytest.mark.parametrize("fact", MATRIX)
def test_matrix(fact):
    assert tuple(int(getattr(g, fact)) for g in GENERATIONS) == MATRIX[fact]


def test_modes():
    assert [g.modes for g in GENERATIONS] == [
        ("none",), *[("none", "unknown", "swdge", "hwdge")] * 3, ("none",),
    ]  # fmt: skip

"""Times against the published measurements, and laws that any estimate must keep."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgekit.advise.cost import Band, Cost, cost_of, path_of
from dgekit.advise.facts import facts_of, has_facts
from dgekit.api import Device
from dgekit.core.errors import Unspecified
from dgekit.core.generations import CAYMAN, GENERATIONS, MARIANA, MAVERICK, SUNDA
from dgekit.firmware.values import Backend

WITHIN = 0.20  # what the published points must be met within
POINTS = 13  # percentage points for the curve
# relative throughput by bytes a partition, 128 partitions (nki-dma 8, read off an unlabelled figure)
CURVE = {
    32: 1.6, 64: 2.8, 128: 5.3, 256: 10.4, 512: 21, 1024: 42, 2048: 81.5, 4096: 96.5, 8192: 98, 16384: 99, 32768: 100,
}  # fmt: skip


def load_cost(shape: tuple[int, int], dtype: str = "bfloat16", mode: str = "none", chip: str = "trn2") -> Cost:
    """The cost of a load from HBM to SBUF that has been carried out."""
    device = Device(chip)
    done = device.copy(device.sbuf(shape, dtype), device.hbm(shape=shape, dtype=dtype), mode=mode)
    assert done.ok, done.issues
    return done.cost


@pytest.mark.parametrize(
    ("shape", "engines", "measure", "published"),
    [
        ((4, 4096), 1, "data_ns", 1416),
        ((128, 128), 16, "data_ns", 97),
        ((128, 128), 16, "after_trigger_ns", 468),
    ],
)
def test_published_measurements(shape: tuple[int, int], engines: int, measure: str, published: float) -> None:
    """nki-dma 8, [D] Introduction to DMA with NKI: the same 32 KiB on one engine and on all (D87)."""
    cost = load_cost(shape)
    band = getattr(cost, measure)
    assert cost.engines == engines
    assert band.estimate == pytest.approx(published, rel=WITHIN)
    assert band.low <= published <= band.high


def test_published_curve() -> None:
    """Throughput back to back, as a share of the best; the curve doubles up to 2 KiB and is flat behind 4 KiB."""
    rates = {size: 128 * size / load_cost((128, size), "uint8").interval_ns.estimate for size in CURVE}
    best = max(rates.values())
    for size, published in CURVE.items():
        assert abs(100 * rates[size] / best - published) <= POINTS, size


def test_one_engine_is_no_faster_than_the_theoretical_rate() -> None:
    cost = load_cost((4, 65536), "uint8")
    assert 4 * 65536 / cost.data_ns.low <= 27.2
    assert cost.bound_by == "data"


def test_issue_by_mode() -> None:
    """hwdge: about 600 ns an instruction; swdge: 0.65 to 1.1 us of GpSimd; static: next to nothing (nki-dma 8)."""
    costs = {mode: load_cost((128, 128), mode=mode) for mode in ("none", "hwdge", "swdge")}
    issue = {mode: cost.latency_ns.estimate - cost.after_trigger_ns.estimate for mode, cost in costs.items()}
    assert issue["hwdge"] == pytest.approx(600) and issue["none"] == pytest.approx(0)
    assert 650 <= issue["swdge"] <= 1100
    assert [costs[mode].path for mode in costs] == ["static", "hardware", "software"]
    assert costs["swdge"].interval_ns.estimate == pytest.approx(issue["swdge"])
    assert (costs["swdge"].bound_by, costs["hwdge"].bound_by) == ("issue", "fixed")


def test_the_generations_have_their_rates() -> None:
    """17, 23 and 33 B/ns an engine, 1.14 us between DMAs of v2 and 0.85 of v3 (nki-dma 8)."""
    times = {chip: load_cost((4, 65536), "uint8", chip=chip) for chip in ("trn1", "trn2", "trn3")}
    rows = 4 * facts_of(CAYMAN).descriptor.value
    assert [round(4 * 65536 / (cost.data_ns.estimate - rows)) for cost in times.values()] == [17, 23, 33]
    assert [load_cost((128, 64), chip=chip).interval_ns.estimate for chip in ("trn1", "trn2")] == [1140, 850]


def test_transposes_and_compute_are_slower_than_copies() -> None:
    """90 % from HBM, 50 % from SBUF (nki-dma 4); half through the compute path before v4 (M6)."""
    device = Device("trn2")
    rate = facts_of(CAYMAN).rate.value

    def data(done: object) -> float:
        cost = done.cost  # type: ignore[attr-defined]
        used = max(sum(int(n) for n in channel.packets["m2s_count"]) for channel in done.descriptors.channels)  # type: ignore[attr-defined]
        written = max(sum(int(n) for n in channel.packets["s2m_count"]) for channel in done.descriptors.channels)  # type: ignore[attr-defined]
        return float(cost.data_ns.estimate) - max(used, written) * facts_of(CAYMAN).descriptor.value

    tile = device.sbuf((128, 512), "bfloat16")
    source = device.hbm(shape=(512, 128), dtype="bfloat16")
    chip = device.sbuf((64, 128), "bfloat16")
    turned = device.sbuf((128, 64), "bfloat16")
    whole = 512 * 128 * 2 / 16
    # tiles take the larger leg's descriptors one by one: columns on the S2M side
    assert data(device.transpose(tile, source, mode="hwdge")) >= whole / rate / 0.9 * 0.99
    assert device.transpose(turned, chip, mode="hwdge").cost.data_ns.estimate > 64 * 128 * 2 / 16 / rate / 0.5 * 0.99
    cast = device.copy(device.sbuf((128, 512), "float32"), device.hbm(shape=(128, 512), dtype="float32"), mode="none")
    half = device.copy(device.sbuf((128, 512), "bfloat16"), device.hbm(shape=(128, 512), dtype="float32"), mode="none")
    assert data(half) == pytest.approx(2 * data(cast))


def test_updates_run_at_full_rate_from_v4_on() -> None:
    def cost(chip: str, dtype: str) -> float:
        device = Device(chip)
        a = (
            device.hbm(np.ones((128, 512), np.float32))
            if dtype == "float32"
            else device.hbm(np.ones((128, 512), np.int32))
        )
        done = device.copy(
            device.sbuf((128, 512), dtype, contents=np.ones((128, 512), dtype)), a, accumulate="add", mode="swdge"
        )
        assert done.ok, done.issues
        facts = facts_of(device.generation)
        return float(done.cost.data_ns.estimate * facts.rate.value)

    assert cost("trn2", "float32") > 1.8 * cost("trn3", "float32") * 0.9
    assert cost("trn3", "int32") > 1.5 * cost("trn3", "float32")


def test_hbm_to_hbm_is_one_engine() -> None:
    device = Device("trn2")
    done = device.copy(
        device.hbm(shape=(1 << 20,), dtype="uint8"), device.hbm(shape=(1 << 20,), dtype="uint8"), mode="none"
    )
    assert done.cost.engines == 1
    assert done.cost.data_ns.estimate == pytest.approx((1 << 20) / 23, rel=0.01)


def test_no_public_number_no_time() -> None:
    assert not has_facts(MAVERICK)
    with pytest.raises(Unspecified) as problem:
        facts_of(MAVERICK)
    assert problem.value.rule == "advise.rate"
    with pytest.raises(Unspecified):
        cost_of([], path_of(Backend.STATIC), MAVERICK)


@pytest.mark.parametrize("generation", [g for g in GENERATIONS if has_facts(g)], ids=lambda g: g.name)
def test_every_fact_has_a_source_and_a_band(generation: object) -> None:
    for fact in facts_of(generation).listed():  # type: ignore[arg-type]
        assert fact.evidence.source.startswith("nki-dma")
        low, high = sorted((fact.fast, fact.slow))
        assert low <= fact.value <= high and fact.about and fact.unit in ("ns", "B/ns")


def test_facts_name_their_page() -> None:
    by_name = {fact.name: fact for fact in facts_of(MARIANA).listed()}
    assert by_name["rate"].value == 33 and "high, documentation" in str(by_name["rate"].to_json()["evidence"])
    assert {g.nc: facts_of(g).fixed.value for g in (SUNDA, CAYMAN)} == {2: 1140, 3: 850}


def test_bands_add() -> None:
    assert (Band(1, 2, 3) + Band(10, 20, 30)).to_json() == {"low": 11, "estimate": 22, "high": 33}


@settings(max_examples=40, deadline=None)
@given(
    partitions=st.sampled_from([1, 4, 16, 32, 128]),
    columns=st.integers(1, 4000),
    more=st.integers(1, 2000),
    mode=st.sampled_from(["none", "hwdge", "swdge"]),
)
def test_more_bytes_never_take_less_time(partitions: int, columns: int, more: int, mode: str) -> None:
    small = load_cost((partitions, columns), "uint8", mode)
    large = load_cost((partitions, columns + more), "uint8", mode)
    for name in ("latency_ns", "interval_ns", "data_ns", "after_trigger_ns"):
        before, after = getattr(small, name), getattr(large, name)
        assert before.low <= after.low and before.estimate <= after.estimate and before.high <= after.high
        assert before.low <= before.estimate <= before.high


@settings(max_examples=20, deadline=None)
@given(partitions=st.sampled_from([8, 16, 32, 64, 128]), columns=st.integers(1, 2000))
def test_more_engines_never_take_longer(partitions: int, columns: int) -> None:
    """The same bytes on fewer partitions use fewer engines."""
    few, many = load_cost((partitions // 8, columns * 8), "uint8"), load_cost((partitions, columns), "uint8")
    assert many.data_ns.estimate <= few.data_ns.estimate + 8 * facts_of(CAYMAN).descriptor.value

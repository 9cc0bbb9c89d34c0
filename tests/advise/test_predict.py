"""Predictions against runs, ring memory against the published counts, schedules against sums by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgekit.advise.advice import advice_for
from dgekit.advise.cost import Speeds
from dgekit.advise.predict import CHOSEN_MODES, Prediction, predict
from dgekit.advise.report import advise
from dgekit.advise.rings import neff_rings
from dgekit.advise.timeline import Step, schedule
from dgekit.api import load, run
from dgekit.core.choices import Choices
from dgekit.core.generations import CAYMAN
from dgekit.descriptors.summary import summary
from dgekit.frontends import toml_file
from dgekit.frontends.neff.opened import open_neff
from dgekit.machine.session import run_workload
from dgekit.transfers.transfer import MODES, Wait

EXAMPLES = Path(__file__).parents[2] / "examples"
PROGRAMS = sorted(path.name for path in [*EXAMPLES.glob("*.toml"), EXAMPLES / "gradient.neff"])


def program(text: str) -> Prediction:
    return predict(toml_file.loads(text, None, name="test.toml"), modes=CHOSEN_MODES)


# a prediction is what a run does


@pytest.mark.parametrize("name", PROGRAMS)
def test_predicted_descriptors_are_those_of_the_run(name: str) -> None:
    """Two ways: lowered on a device where nothing moves, and run."""
    workload = load(EXAMPLES / name)
    found = predict(workload)
    result, _ = run_workload(workload)
    assert [row.name for row in found.transfers] == [transfer.name for transfer in result.transfers]
    for row, transfer in zip(found.transfers, result.transfers, strict=True):
        counts = summary(transfer.descriptors)
        assert (row.status, row.backend) == (transfer.status, transfer.backend)
        assert [use.to_json() for use in row.engines] == counts["per_engine"]
        assert (row.nbytes, row.descriptors) == (counts["bytes"], counts["m2s"] + counts["s2m"])


def test_indices_that_another_transfer_loads_are_seen(tmp_path: Path) -> None:
    """Index values decide how many rows move; nothing else is moved to predict them."""
    text = """
generation = "trn2"
[tensors.table]
space = "hbm"
shape = [8, 16]
dtype = "float32"
[tensors.host]
space = "hbm"
shape = [1, 16]
dtype = "uint32"
init = "arange"
[tensors.idx]
space = "sbuf"
shape = [1, 16]
dtype = "uint32"
[tensors.rows]
space = "sbuf"
shape = [16, 16]
dtype = "float32"
[[transfers]]
name = "indices"
src = "host"
dst = "idx"
[[transfers]]
name = "gather"
op = "gather"
src = "table"
dst = "rows"
indices = "idx"
oob = "skip"
"""
    (tmp_path / "gather.toml").write_text(text)
    row = program(text).transfers[1]
    assert row.nbytes == 8 * 64  # indices 0 to 7 of 16 are inside
    assert row.nbytes == summary(run(tmp_path / "gather.toml").transfers[1].descriptors)["bytes"]


# ring memory

COPIES = """
generation = "trn2"
[tensors.a]
space = "hbm"
shape = [4096]
dtype = "uint8"
[tensors.b]
space = "hbm"
shape = [4096]
dtype = "uint8"
[[transfers]]
name = "one"
src = { tensor = "a", pattern = [[1, 256]] }
dst = { tensor = "b", pattern = [[1, 256]] }
mode = "none"
[[transfers]]
name = "rows"
src = { tensor = "a", offset = 1024, pattern = [[128, 8], [1, 64]] }
dst = { tensor = "b", offset = 1024, pattern = [[256, 8], [1, 64]] }
mode = "none"
"""


def test_the_published_ring_count() -> None:
    """Copies of sizes [256] and [64, 8]: 82 descriptors, 1312 bytes by estimate A (neff 3b, D86)."""
    found = program(COPIES)
    assert [row.rings.estimate_a // 16 for row in found.transfers] == [1 + 16 + 1 + 16, 8 + 16 + 8 + 16]
    assert (found.rings.estimate_a // 16, found.rings.estimate_a) == (82, 1312)
    assert found.rings.estimate_b == 32 * (1 + 8)
    # expanded: runs of both legs, and a semaphore BD of both legs on each of the 16 engines
    assert found.rings.exact == 16 * (2 + 32) + 16 * (16 + 32)


@pytest.mark.parametrize("mode", ["none", "swdge", "hwdge", "unknown"])
def test_ring_bytes_do_not_depend_on_the_mode(mode: str) -> None:
    """D86: always by static expansion; with a semaphore the writes are counted once."""
    text = COPIES.replace('"none"', f'"{mode}"')
    plain, signalled = program(text), program(text.replace("mode =", "semaphore = 5\nmode ="))
    assert plain.rings == signalled.rings == program(COPIES).rings


def test_queues_by_name_and_the_fullest_ring() -> None:
    """D84: names by engine and mode; one engine's M2S ring of the two static copies."""
    found = program(COPIES)
    (queue,) = found.queues
    assert (queue.name, queue.transfers, queue.nbytes) == ("qStatic", 2, 256 + 512)
    assert queue.largest_ring == 1 + 8 + 2
    mixed = program(COPIES.replace('mode = "none"', 'mode = "hwdge"\nengine = "sp"', 1))
    assert [queue.name for queue in mixed.queues] == ["qSyncDynamicHW", "qStatic"]


def test_small_descriptors_and_sizes() -> None:
    """D85: the threshold is a parameter."""
    workload = toml_file.loads(COPIES, None, name="t")
    assert predict(workload).sizes.histogram == {64: 16, 256: 2}
    assert predict(workload).sizes.small == 18
    assert predict(workload, Choices({"small_bytes": 100})).sizes.small == 16
    assert predict(workload).sizes.to_json()[0] == {"bytes": 64, "descriptors": 16}


def test_a_ring_over_the_limit_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    from dgekit.advise import ring_use

    monkeypatch.setattr(ring_use, "QUEUE_LIMIT", 10)
    (issue,) = program(COPIES).issues
    assert (issue.rule, issue.severity, issue.values["descriptors"]) == ("rings.queue_limit", "error", 11)


def test_carveout() -> None:
    """Register 39, where a program sets it: the descriptors that it sets aside."""
    text = COPIES.replace('"none"', '"unknown"')
    assert program(text).carveout == 0
    found = program(text + "\n[local_registers]\n39 = 0x00400000\n")
    assert found.carveout >> 16 == 0x40
    assert max(row.carveout for row in found.transfers) == 16


def test_refused_transfers_are_rows_without_descriptors() -> None:
    row = program(COPIES.replace("[[128, 8], [1, 64]]", "[[128, 8], [1, 63]]")).transfers[1]
    assert (row.status, row.descriptors, row.cost, row.works) == ("refused", 0, None, False)
    assert row.issues[0].severity == "error"


def test_maverick_has_descriptors_but_no_times() -> None:
    found = program(COPIES.replace("trn2", "trn4"))
    assert found.time_ns is None and found.transfers[0].cost is None
    assert found.rings.exact > 0 and advice_for(found, Choices()) == ()


# NEFF


def test_neff_rings_agree_with_the_counter() -> None:
    report = advise(EXAMPLES / "gradient.neff")
    counted = neff_rings(open_neff(EXAMPLES / "gradient.neff"))
    assert report.rings.exact == 16 * sum(queue.exact for queue in counted.queues)
    assert report.rings.estimate_a == 16 * sum(queue.estimate_a for queue in counted.queues)
    assert [row.mode for row in report.prediction.transfers][:2] == ["none", "none"]  # type: ignore[union-attr]


def test_of_many_entries_only_totals_are_counted() -> None:
    whole = advise(EXAMPLES / "gradient.neff")
    totals = advise(EXAMPLES / "gradient.neff", most=1)
    assert totals.prediction is None and "2 movements are more than 1" in totals.notes[0]
    assert totals.rings == whole.rings
    assert totals.nbytes == 256 and totals.descriptors == 8
    time = totals.time_ns
    assert time is not None and time.low <= time.estimate <= time.high
    assert time.estimate == CAYMAN_FIXED  # one entry a queue: the time of a DMA, data is nothing beside it


CAYMAN_FIXED = 850


# the schedule, with round numbers

SPEEDS = Speeds(1.0, 100.0, 0.0, 10.0, {"static": 0.0, "hardware": 50.0, "software": 70.0}, 30.0)


def load_on(engine: int, nbytes: int) -> tuple:  # type: ignore[type-arg]
    from dgekit.advise.cost import Load

    return (Load(engine, nbytes, nbytes, 0),)


def test_one_step() -> None:
    (span,) = schedule([Step("sp", "hardware", "q", (load_on(0, 200),))], SPEEDS)
    assert (span.start, span.end) == (0, 50 + 10 + 200)


def test_a_queue_starts_dmas_a_fixed_time_apart() -> None:
    spans = schedule([Step("sp", "static", "q", (load_on(n, 1),)) for n in range(3)], SPEEDS)
    assert [span.end for span in spans] == [11, 111, 211]


def test_queues_and_blocks_run_side_by_side() -> None:
    """Sync and Scalar have a DGE block each; GpSimd is alone."""
    hardware = [Step(engine, "hardware", f"q{engine}", (load_on(n, 1),)) for n, engine in enumerate(("sp", "act"))]
    assert [span.end for span in schedule(hardware, SPEEDS)] == [61, 61]
    software = [Step(engine, "software", f"q{engine}", (load_on(n, 1),)) for n, engine in enumerate(("sp", "act"))]
    assert [span.end for span in schedule(software, SPEEDS)] == [81, 151]


def test_an_engine_moves_one_transfer_at_a_time() -> None:
    steps = [Step(engine, "static", f"q{engine}", (load_on(0, 500),)) for engine in ("sp", "act")]
    assert [span.end for span in schedule(steps, SPEEDS)] == [510, 1010]


def test_waits_start_a_semaphore_later() -> None:
    first = Step("sp", "static", "a", (load_on(0, 100),), signals=((4, 1),))
    wait = (Wait(4, 1),)
    second = Step("act", "static", "b", (load_on(1, 100),), waits=wait)
    assert [span.end for span in schedule([second, first], SPEEDS)] == [110 + 30 + 100, 110]
    assert schedule([second], SPEEDS, {4: 1})[0].end == 110  # met from the start
    assert schedule([second], SPEEDS)[0].end == 110  # never met: behind everything else
    needs = Step("sp", "static", "a", (load_on(1, 100),), after=(0,))
    assert schedule([first, needs], SPEEDS)[1].end == 110 + 30 + 100


def test_a_decrement_takes_what_it_waited_for() -> None:
    signal = Step("sp", "static", "", signals=((4, 1),))
    take = Step("act", "static", "", waits=(Wait(4, 1, decrement=True),))
    again = Step("act", "static", "b", (load_on(0, 100),), waits=(Wait(4, 1),))
    late = Step("sp", "static", "a", (load_on(1, 1000),), signals=((4, 1),))
    spans = schedule([signal, late, take, again], SPEEDS)
    assert spans[3].start == spans[1].end == 1010


def test_the_program_of_the_example_by_hand() -> None:
    """wait_chain: a load, and a store that waits for it: 600 + 371 + data, 1300, data."""
    found = predict(load(EXAMPLES / "wait_chain.toml"))
    data = found.transfers[0].cost.data_ns.estimate  # type: ignore[union-attr]
    assert data == pytest.approx(65536 / 16 / 23 + 8)
    assert found.time_ns.estimate == pytest.approx(600 + 371 + data + 1300 + data)  # type: ignore[union-attr]
    assert found.generation is CAYMAN


# transfers that are alike are lowered once

PATTERNS = ([[512, 64], [1, 128]], [[512, 128], [2, 64]], [[512, 16], [64, 4], [1, 32]], [[512, 24], [1, 256]])


@settings(max_examples=15, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(PATTERNS), st.integers(0, 256), st.integers(0, 256), st.sampled_from(MODES)),
        min_size=2,
        max_size=6,
    )
)
def test_what_is_alike_is_lowered_the_same(drawn: list[tuple[list[list[int]], int, int, str]]) -> None:
    """A program's rows, of which like ones are looked up, and each of them in a program of its own."""
    head = 'generation = "trn2"\n' + "".join(
        f'[tensors.{name}]\nspace = "{space}"\nshape = [128, 512]\ndtype = "bfloat16"\n'
        for name, space in (("h", "hbm"), ("t", "sbuf"))
    )
    blocks = [
        f'[[transfers]]\nname = "t{n}"\nmode = "{mode}"\n'
        f'src = {{ tensor = "h", offset = {at}, pattern = {pattern} }}\n'
        f'dst = {{ tensor = "t", offset = {to}, pattern = {pattern} }}\n'
        for n, (pattern, at, to, mode) in enumerate(drawn)
    ]
    together = program(head + "".join(blocks)).transfers
    for row, block in zip(together, blocks, strict=True):
        (alone,) = program(head + block).transfers
        assert (row.engines, row.sizes, row.words, row.cost) == (alone.engines, alone.sizes, alone.words, alone.cost)
        assert (row.status, row.backend, row.signals, row.rings) == (
            alone.status,
            alone.backend,
            alone.signals,
            alone.rings,
        )
        assert [issue.rule for issue in row.issues] == [issue.rule for issue in alone.issues]


def test_bounds_are_found_at_each_place() -> None:
    """61 like transfers inside, and the one that is not."""
    blocks = COPIES.split("[[transfers]]")
    one = '[[transfers]]\nname = "n{n}"\nsrc = {{ tensor = "a", offset = {n}, pattern = [[1, 256]] }}\n'
    one += 'dst = {{ tensor = "b", offset = {n}, pattern = [[1, 256]] }}\n'
    found = program(blocks[0] + "".join(one.format(n=64 * n) for n in range(62)))
    assert [row.status for row in found.transfers] == ["done"] * 61 + ["refused"]
    assert found.transfers[61].issues[0].rule == "transfers.bounds"

"""Advice: what is proposed, in which order, and that a change made gives the time that was told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dgekit
from dgekit.advise.advice import Advice
from dgekit.advise.predict import predict
from dgekit.advise.report import Report, report_on
from dgekit.advise.whatif import COLUMNS, table, what_if
from dgekit.core.choices import Choices
from dgekit.frontends import toml_file
from dgekit.frontends.nki.script import trace
from dgekit.machine.session import run_workload

FEW_PARTITIONS = """
generation = "trn2"
[tensors.x]
space = "hbm"
shape = [4, 4096]
dtype = "bfloat16"
[tensors.y]
space = "sbuf"
shape = [4, 4096]
dtype = "bfloat16"
[[transfers]]
name = "load"
src = "x"
dst = "y"
mode = "none"
"""
COLUMN_MAJOR = """
generation = "trn2"
[tensors.w]
space = "hbm"
shape = [2048, 128]
dtype = "bfloat16"
[tensors.wt]
space = "sbuf"
shape = [128, 2048]
dtype = "bfloat16"
[[transfers]]
name = "turned"
src = { tensor = "w", pattern = [[1, 128], [128, 2048]] }
dst = "wt"
mode = "none"
"""
HBM_TO_HBM = """
generation = "trn2"
[tensors.a]
space = "hbm"
shape = [1048576]
dtype = "uint8"
[tensors.b]
space = "hbm"
shape = [1048576]
dtype = "uint8"
[[transfers]]
name = "big"
src = "a"
dst = "b"
mode = "none"
semaphore = 7
"""


def tiles(count: int, width: int, mode: str = "none") -> str:
    """Column blocks of one tensor, each a transfer of its own."""
    head = """
generation = "trn2"
[tensors.h]
space = "hbm"
shape = [128, 4096]
dtype = "bfloat16"
[tensors.t]
space = "sbuf"
shape = [128, 4096]
dtype = "bfloat16"
"""
    block = """[[transfers]]
name = "t{n}"
src = {{ tensor = "h", offset = {at}, pattern = [[4096, 128], [1, {width}]] }}
dst = {{ tensor = "t", offset = {at}, pattern = [[4096, 128], [1, {width}]] }}
mode = "{mode}"
"""
    return head + "".join(block.format(n=n, at=n * width, width=width, mode=mode) for n in range(count))


def several(count: int, mode: str, engine: str = "") -> str:
    """Transfers that have nothing to do with each other."""
    text = 'generation = "trn2"\n'
    for n in range(count):
        text += f'[tensors.x{n}]\nspace = "hbm"\nshape = [128, 64]\ndtype = "float32"\n'
        text += f'[tensors.y{n}]\nspace = "sbuf"\nshape = [128, 64]\ndtype = "float32"\n'
    for n in range(count):
        text += f'[[transfers]]\nname = "c{n}"\nsrc = "x{n}"\ndst = "y{n}"\nmode = "{mode}"\n'
        text += f'engine = "{engine}"\n' if engine else ""
    return text


def report(text: str, **choices: object) -> Report:
    return report_on(toml_file.loads(text, None, name="test.toml"), Choices(choices))


def of_kind(found: Report, kind: str) -> Advice:
    return next(advice for advice in found.advice if advice.kind == kind)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (FEW_PARTITIONS, "partitions"),
        (COLUMN_MAJOR, "coalesce"),
        (COLUMN_MAJOR, "transpose"),
        (HBM_TO_HBM, "split"),
        (tiles(8, 128), "merge"),
        (several(6, "swdge"), "alternate"),
        (several(6, "hwdge", "sp"), "alternate"),
        (several(1, "swdge"), "mode"),
    ],
)
def test_a_change_made_gives_the_time_that_was_told(text: str, kind: str) -> None:
    found = report(text)
    advice = of_kind(found, kind)
    workload = toml_file.loads(text, None, name="test.toml")
    changed = predict(advice.applied(workload))
    assert changed.time_ns == advice.after
    assert found.time_ns is not None
    assert advice.gain_ns == pytest.approx(found.time_ns.estimate - changed.time_ns.estimate) and advice.gain_ns > 0  # type: ignore[union-attr]
    assert all(row.works for row in changed.transfers)
    assert run_workload(advice.applied(workload))[0].ok


def test_advice_is_ranked_by_its_gain() -> None:
    for text in (FEW_PARTITIONS, COLUMN_MAJOR, HBM_TO_HBM, tiles(8, 128, "swdge"), several(6, "swdge")):
        gains = [advice.gain_ns for advice in report(text).advice]
        assert gains and gains == sorted(gains, reverse=True) and min(gains) > 0


def test_what_the_model_says_about_few_partitions() -> None:
    """32 KiB on one engine and on all 16: the two published loads, told as advice."""
    advice = of_kind(report(FEW_PARTITIONS), "partitions")
    assert "use 128 partitions" in advice.message and "keep 16 DMA engines busy instead of 1" in advice.message
    assert advice.gain_ns == pytest.approx(1416 - 97, rel=0.2)
    assert [tensor.shape for tensor in advice.change.tensors] == [(128, 128)]


def test_merged_tiles_move_the_same_bytes() -> None:
    text = tiles(8, 128)
    workload = toml_file.loads(text.replace('dtype = "bfloat16"\n', 'dtype = "bfloat16"\ninit = "arange"\n', 1), None)
    advice = of_kind(report_on(workload, Choices()), "merge")
    assert "rows of 2048 bytes instead of 256" in advice.message
    before, after = (run_workload(program)[1] for program in (workload, advice.applied(workload)))
    assert (before.tensor_bytes("t") == after.tensor_bytes("t")).all()
    assert len(advice.applied(workload).items) == 1


def test_split_through_sbuf_moves_the_same_bytes() -> None:
    workload = toml_file.loads(HBM_TO_HBM.replace('dtype = "uint8"\n', 'dtype = "uint8"\ninit = "random"\n', 1), None)
    advice = of_kind(report_on(workload, Choices()), "split")
    result, session = run_workload(advice.applied(workload))
    assert result.ok and (session.tensor_bytes("b") == session.tensor_bytes("a")).all()
    assert result.semaphores[7] == 16  # what waited for the copy still waits for the same


def test_long_rows_are_not_merged() -> None:
    assert "merge" not in [advice.kind for advice in report(tiles(2, 1024)).advice]


def test_order_by_a_common_queue_is_not_broken() -> None:
    """Alternating engines would let a transfer overtake what it needs."""
    text = several(2, "swdge") + '[[transfers]]\nname = "back"\nsrc = "y0"\ndst = "x1"\nmode = "swdge"\n'
    assert "alternate" not in [advice.kind for advice in report(text).advice]


def test_no_mode_that_a_rule_forbids() -> None:
    """A cast in hwdge is nki.C5's; a gather has no mode but swdge."""
    cast = several(1, "swdge").replace('dtype = "float32"', 'dtype = "bfloat16"', 1)
    found = report(cast)
    assert "hwdge" not in " ".join(advice.message for advice in found.advice)
    cases = {case.mode: case for case in what_if(found.prediction)[0].cases}  # type: ignore[arg-type]
    assert not cases["hwdge"].legal and "nki.C5" in cases["hwdge"].rules
    assert cases["none"].legal and cases["swdge"].legal


KERNEL = """
import nki
import nki.isa as nisa
import nki.language as nl

@nki.jit
def copy(a):
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    for i in range(8):
        t = nl.ndarray((128, 64), dtype=a.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=t, src=a[0:128, i * 64:(i + 1) * 64])
        nisa.dma_copy(dst=out[0:128, i * 64:(i + 1) * 64], src=t)
    return out
"""


def test_a_loop_of_small_tiles() -> None:
    """Loads and stores by turns through one tile: eight of each become one of each."""
    workload = trace(KERNEL.encode(), "k.py", "copy", {"a": np.zeros((128, 512), np.float32)})
    found = report_on(workload, Choices())
    assert len(found.prediction.transfers) == 16  # type: ignore[union-attr]
    advice = found.advice[0]
    assert advice.kind == "merge" and len(advice.transfers) == 16
    assert len(advice.applied(workload).items) == 2
    # a load and a store of 2 KiB rows, one behind the other
    load, store = predict(advice.applied(workload)).transfers
    assert load.nbytes == store.nbytes == 128 * 2048
    assert load.cost is not None and store.cost is not None
    chain = load.cost.latency_ns.estimate + 1300 + store.cost.data_ns.estimate
    assert advice.after.estimate == pytest.approx(chain)
    assert found.prediction.transfers[0].where == "k.py:11"  # type: ignore[union-attr]


def test_a_kernels_data_dependencies_count_as_waits() -> None:
    """D53: a store of what was loaded starts a semaphore's latency after the load."""
    text = KERNEL.replace("range(8)", "range(1)")
    workload = trace(text.encode(), "k.py", "copy", {"a": np.zeros((128, 512), np.float32)})
    load, store = report_on(workload, Choices()).prediction.spans  # type: ignore[union-attr]
    assert store.end - load.end == pytest.approx(1300 + (load.end - 600 - 371))


def test_what_if_has_every_mode_of_every_transfer() -> None:
    found = report(tiles(2, 128, "swdge"))
    rows = what_if(found.prediction)  # type: ignore[arg-type]
    assert [row.requested for row in rows] == ["swdge", "swdge"]
    assert [[case.mode for case in row.cases] for row in rows] == [["none", "swdge", "hwdge"]] * 2
    none, swdge, hwdge = rows[0].cases
    assert none.rings.exact == 16 * (2 * 128 + 32) and swdge.rings.exact == hwdge.rings.exact == 0
    assert none.latency_ns.estimate < hwdge.latency_ns.estimate < swdge.latency_ns.estimate  # type: ignore[union-attr]
    records = list(table(rows))
    assert len(records) == 6 and set(records[0]) == set(COLUMNS)
    assert records[0]["time_ns"] == pytest.approx(none.latency_ns.estimate, abs=0.1)  # type: ignore[union-attr]


def test_the_package_is_the_function(tmp_path: Path) -> None:
    """`dgekit.advise` is a package and takes the call, whichever was imported first."""
    import dgekit.advise.rings

    path = tmp_path / "few.toml"
    path.write_text(FEW_PARTITIONS)
    found = dgekit.advise(path, generation="trn3")
    assert found.generation.name == "MARIANA" and found.advice[0].kind == "partitions"
    assert dgekit.advise.rings.QUEUE_LIMIT == 16_777_200  # type: ignore[attr-defined]
    assert dgekit.advise(dgekit.load(path), choices={"small_bytes": 16}).small_bytes == 16
    with pytest.raises(dgekit.DgeError) as problem:
        dgekit.advise(tmp_path / "none.toml")
    assert problem.value.rule == "input.file"


def test_the_cost_of_a_finished_transfer_is_the_predicted_one() -> None:
    device = dgekit.Device("trn2")
    source, tile = device.hbm(shape=(4, 4096), dtype="bfloat16"), device.sbuf((4, 4096), "bfloat16")
    done = device.copy(tile, source, mode="none")
    assert done.cost == predict(toml_file.loads(FEW_PARTITIONS, None)).transfers[0].cost
    assert {fact.name for fact in done.cost.sources} >= {"rate", "start", "descriptor", "semaphore"}

"""What users reported, judged with the right value and the way out (users 2 and 3, nki-dma 3)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from nki_calls import copy, hbm, index, sbuf, scalar, transpose, view

from dgekit.advise.engine_patterns import engine_issues
from dgekit.advise.rules import MODES
from dgekit.advise.verdict import judge_call
from dgekit.core.generations import generation_named
from dgekit.frontends.nki.versions import VERSIONS

F32 = "float32"


def test_report_1253_has_the_numbers_and_the_way_out() -> None:
    ragged = scalar(sbuf(24, 1536, dtype=F32), hbm(24, 1536, dtype=F32, dynamic="scalar"))
    verdict = judge_call(replace(ragged, dge_mode="hwdge"), generation_named("trn2"))
    assert not verdict.legal
    (told,) = [issue for issue in verdict.issues if issue.rule == "nki.C20"]
    assert (told.values["partitions"], told.values["multiple"], told.values["padded"]) == (24, 16, 32)
    assert "pad to 32" in told.fix and "split" in told.fix and "swdge" in told.fix
    assert verdict.modes["swdge"].legal
    assert judge_call(ragged, generation_named("trn2")).picked == "swdge"


@pytest.mark.parametrize("space", ["hbm", "sbuf"])
@pytest.mark.parametrize("version", VERSIONS)
def test_report_1301_a_2d_transpose_is_legal_when_the_mode_is_open(space: str, version: str) -> None:
    call = transpose(view(space, (128, 128)))
    assert judge_call(call, generation_named("trn2"), version).legal
    (rows, *_) = judge_call(call, generation_named("trn2"), version, requested="hwdge").issues
    assert rows.values == {"rows": 128, "want": 16}
    wide = transpose(view(space, (16, 128), F32))
    told = judge_call(wide, generation_named("trn2"), version, requested="hwdge").issues
    assert {"bytes": 4, "want": 2} in [issue.values for issue in told]


def test_report_1281_counts_decide_not_shapes() -> None:
    """AS[:, m, :] of (128, 2, 512) fp16 from AH[m, :, :]: 65536 elements on both sides."""
    half = "float16"
    dst = sbuf(128, 1, 512, dtype=half, base_shape=(128, 2, 512))
    src = hbm(1, 128, 512, dtype=half, base_shape=(2, 128, 512))
    assert judge_call(copy(dst, src), generation_named("trn2")).issues == ()
    assert judge_call(copy(dst, src), generation_named("trn2"), "0.2.0").issues[0].rule == "nki.C2"
    (short,) = judge_call(copy(sbuf(128, 512), hbm(128, 511)), generation_named("trn2")).issues
    assert short.values == {"src": 65408, "dst": 65536}


def test_report_1373_a_run_time_part_of_sbuf_gets_a_message() -> None:
    """SBUF (4, 4) fp32, pattern [[4, 2], [1, 2]], scalar offset along dimension 1, to HBM (2, 2)."""
    part = sbuf(2, 2, dtype=F32, base_shape=(4, 4), pattern=((4, 2), (1, 2)), dynamic="scalar", indirect_dim=1)
    call = copy(hbm(2, 2, dtype=F32), part, indices=index(1, 1, dtype="int32"))
    verdict = judge_call(call, generation_named("trn2"))
    assert verdict.legal and "nki.C24" in {issue.rule for issue in verdict.issues}
    static = copy(hbm(2, 2, dtype=F32), replace(part, dynamic=""))
    assert judge_call(static, generation_named("trn2"), requested="none").issues == ()


@pytest.mark.parametrize(
    "operand",
    [
        # 600: 36 partitions from 48, fp32 (84, 1624 bytes = 406 elements); 695: 8 partitions from 48
        sbuf(36, 1, 203, dtype=F32, base_shape=(84, 406), pattern=((406, 36), (1, 1), (1, 203)), offset=19488, partitions=36, start_partition=48),
        sbuf(8, 64, dtype=F32, base_shape=(128, 64), pattern=((64, 8), (1, 64)), offset=3072, partitions=8, start_partition=48),
    ],
)  # fmt: skip
@pytest.mark.parametrize("mode", MODES)
def test_reports_600_and_695_partition_starts_are_no_dma_rule(operand: Any, mode: str) -> None:
    call = copy(hbm(*operand.shape, dtype=F32), operand, dge_mode=mode)
    assert judge_call(call, generation_named("trn2")).issues == ()


@pytest.mark.parametrize("step", [46208, -48528])
@pytest.mark.parametrize("mode", MODES)
def test_reports_280_and_284_steps_beyond_16_bits_are_no_dma_rule(step: int, mode: str) -> None:
    source = hbm(64, 8, base_shape=(64, 60000), pattern=((step, 64), (1, 8)), offset=max(0, -step * 63))
    assert judge_call(copy(sbuf(64, 8), source, dge_mode=mode), generation_named("trn2")).issues == ()


def test_the_same_reports_as_operands_of_a_compute_engine() -> None:
    """Where those rules do count, the numbers are those of the reports (nki-dma 3)."""
    for partitions, start, fires in ((36, 48, True), (8, 48, True), (36, 64, False), (8, 96, False), (65, 64, True)):
        operand = sbuf(partitions, 64, base_shape=(128, 64), start_partition=start)
        told = [issue for issue in engine_issues(operand, "k.py:1") if issue.rule == "nki.3.start"]
        assert bool(told) is fires
        assert not fires or (told[0].values["partitions"], told[0].values["start"]) == (partitions, start)
    for step, fires in ((46208, True), (-48528, True), (32767, False), (-32768, False)):
        told = engine_issues(hbm(64, 8, pattern=((step, 64), (1, 8))))
        assert [issue.rule for issue in told] == ["nki.3.step"] * fires
        assert not fires or told[0].values == {"step": step, "minimum": -32768, "maximum": 32767}
    assert [issue.rule for issue in engine_issues(hbm(1, 65536, pattern=((1, 65536),)))] == ["nki.3.count"]
    assert engine_issues(hbm(1, 65535, pattern=((1, 65535),))) == []

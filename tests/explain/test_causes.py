"""Failures get a cause, the numbers that the log has, and the next thing to look at."""

from __future__ import annotations

import numpy as np
import pytest

from dgekit.api import Device
from dgekit.core.choices import Choices
from dgekit.core.generations import CAYMAN
from dgekit.explain.explain import explain
from dgekit.explain.show import explanation_lines, explanation_to_json
from dgekit.logs.parse import parse_line
from dgekit.words.structs import Addr8Immediate, BoundCheckReg, DmaDirect2D, Dtype


def explained(log, **choices):
    return explain((parse_line(text, n) for n, text in enumerate(log, 1)), CAYMAN, Choices(choices))


def only(found, rule, severity="error"):
    (issue,) = [issue for issue in found.all_issues if (issue.rule, issue.severity) == (rule, severity)]
    assert issue.where.startswith("line ")
    assert issue.fix
    return issue


def bounded_copy(**choices):
    device = Device("CAYMAN", choices)
    device.hbm(shape=(8, 16), dtype="float32")
    device.hbm(shape=(8, 16), dtype="float32")
    device.set_registers({6: 0x100000FF})
    word = DmaDirect2D(
        semaphore=9, sem_increment=1, in_dtype=Dtype.FP32, out_dtype=Dtype.FP32,
        src_start_addr=Addr8Immediate(address=0x10000000), dst_start_addr=Addr8Immediate(address=0x10001000),
        src_step_elem=(64, 1), dst_step_elem=(64, 1), src_num_elem=(8, 1), dst_num_elem=(8, 1),
        src_elem_size=64, dst_elem_size=64, src_bound_reg=BoundCheckReg.decode(b"\x86"),
    )  # fmt: skip
    assert device.run_words(word.encode()).status == "skipped"
    return device.log


def test_a_failed_bound_before_the_pushes():
    found = explained(bounded_copy())
    (card,) = found.cards
    assert card.status == "skipped"
    issue = only(found, "pipeline.6.1")
    assert "semaphore 9, increment 1" in issue.message
    assert "not notified" in issue.message
    assert issue.values["src_base_low32"] == "0x10000000"
    assert issue.values["src_elements"] == 8
    assert "bits 5:0 of src_bound_reg" in issue.fix


def test_a_failed_bound_behind_the_pushes_has_the_numbers_of_the_dump():
    found = explained(bounded_copy(check_position="after_push"))
    (card,) = found.cards
    assert (card.status, card.backend.value) == ("skipped", "pool")
    issue = only(found, "pipeline.6.1")
    assert (issue.values["src_addr"], issue.values["src_limit"]) == ("0x100001c0", "0x100000ff")


def test_a_notified_failure():
    log = bounded_copy()
    found = explained([*log, "S: DGE: Dispatched error notificatio"])
    assert "the host was notified" in only(found, "pipeline.6.1").message
    assert explanation_to_json(found, CAYMAN)["cards"][0]["notified"] is True


def test_shape_registers_in_the_dollar():
    log = ["S: DGE: Failed bounds check. $S[2]+=4096."]
    assert "semaphore 2, increment 4096" in only(explained(log), "pipeline.6.1").message
    assert "shape register 2, offset 4096" in only(explained(log, dump_index="shape_register"), "pipeline.6.1").message


def gather(oob, mode="unknown"):
    device = Device("CAYMAN")
    picks = device.sbuf(contents=np.array([[3, 99, 2, 40]], np.uint32), shape=(1, 4), dtype="uint32")
    table, out = device.hbm(shape=(40, 16), dtype="float32"), device.sbuf((4, 16), "float32")
    device.gather(out, table, picks, semaphore=7, oob=oob, mode=mode)
    return device.log


def test_rows_that_are_dropped():
    issue = only(explained(gather("skip")), "dec.D25", "advice")
    assert issue.values == {"dropped": 2, "srx_idx_max": 39, "dst_idx_max": 0}
    assert "at most 39" in issue.fix


def test_an_index_that_ends_the_word():
    found = explained(gather("error"))
    issue = only(found, "pipeline.6.1")
    assert "an index is above its limit" in issue.message
    assert "index vector" in issue.fix
    assert found.cards[0].status == "skipped"


def test_no_backend():
    indexed = only(explained(gather("skip", "hwdge")), "pipeline.4.2")
    assert "INDIRECT" in indexed.message
    assert "0x85da0" in indexed.fix
    device = Device("CAYMAN")
    src, dst = device.hbm(shape=(8, 16), dtype="float32"), device.hbm(shape=(8, 16), dtype="bfloat16")
    assert device.copy(dst, src, mode="hwdge").status == "refused"
    found = explained(device.log)
    assert "cast" in only(found, "pipeline.4.2").message
    assert found.cards[0].status == "refused"


def test_an_illegal_word():
    found = explained(["S: Dispatch opcode=0xb8", "S: ErrorHandler : Illegal Instruction(0xb8)"])
    issue = only(found, "pipeline.6.2")
    assert (issue.values, found.cards[0].status) == ({"opcode": "0xb8"}, "refused")
    assert found.other_formats == {"seq.dispatch": 1}


@pytest.mark.parametrize(
    ("ring", "wrote", "expected", "cause"),
    [(64, 60, 70, "ring was too short"), (64, 60, 62, "dropped after they had been counted"), (64, 62, 62, "role bit")],
)
def test_descriptor_counts(ring, wrote, expected, cause):
    log = [
        "P3: DGE DIRECT2D",
        "P3: gen_spray_info: reshape_kind=0, do_indirection=0, is_our_tensor=1, hbm_to_hbm=1, ndma=1",
        f"P3: Generating {expected} descriptors; ring_ndesc = {ring}",
        f"P3: ERROR: DescriptorStream wrote {wrote} descriptors, expected {expected}",
    ]
    found = explained(log)
    issue = next(i for i in found.all_issues if "DescriptorStream" in i.message)
    assert (issue.rule, issue.where) == ("pipeline.6.1", "line 4")
    assert (issue.values["wrote"], issue.values["expected"], issue.values["ring_ndesc"]) == (wrote, expected, ring)
    assert cause in issue.message
    assert issue.fix


def test_errors_that_belong_to_no_word():
    log = [
        "S: ErrorHandler : FP Error(3)",
        "S: ErrorHandler : Int Div Zero Error",
        "S: Assertion failure! n < 5(dge_ctx_num:3)",
        "P1: UNKNOWN OPCODE=0x77",
    ]
    found = explained(log)
    assert [issue.rule for issue in found.issues] == ["pipeline.6.6"] * 4
    assert found.cards == []


def test_a_bad_opcode_is_a_word_of_its_own():
    found = explained(["S: DGE: Select backend Pool", "S: ErrorHandler : Bad Opcode(0x12)"])
    assert [card.status for card in found.cards] == ["open", "refused"]
    (issue,) = [issue for issue in found.all_issues if issue.rule == "pipeline.6.6"]
    assert issue.values["opcode"] == "0x12" and issue.where == "line 2" and issue.fix


def test_a_kind_that_no_line_tells():
    dump = next(line for line in gather("skip") if "dmacomplete" in line)
    (issue,) = [
        i for i in explained([dump.replace("reshape_kind=0x1", "reshape_kind=0x9")]).all_issues if i.rule == "logs.kind"
    ]
    assert issue.severity == "warning"


def test_everything_can_be_shown():
    logs = [bounded_copy(), gather("skip"), gather("error"), gather("skip", "hwdge"), ["S: Halt", "S: zork", "text"]]
    found = explained([line for log in logs for line in log])
    text = "\n".join(explanation_lines(found))
    assert "INDIRECT, backend software, done" in text
    assert "lines that belong to no word: 1 x seq.halt" in text
    assert "1 that no format fits, 1 others" in text
    counts = explanation_to_json(found, None)["lines"]
    assert counts["lines"] == counts["understood"] + counts["unknown"] + counts["others"]

"""Where words begin and end: several hosts at once, orders that are not settled, logs that lack stages."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgekit.api import Device
from dgekit.core.choices import Choices
from dgekit.explain.beside import first_difference
from dgekit.explain.explain import explain
from dgekit.explain.rebuild import rebuild
from dgekit.explain.words import rebuild_word
from dgekit.logs.formats import FORMATS
from dgekit.logs.parse import parse_line
from dgekit.logs.render import render_log
from dgekit.words.codec import decode_word


def cards(log):
    return rebuild(parse_line(text, n) for n, text in enumerate(log, 1)).cards


def device_log(semaphore, generation="CAYMAN", **choices):
    device = Device(generation, choices)
    src, dst = device.hbm(shape=(16, 8), dtype="float32"), device.sbuf((16, 8), "float32")
    assert device.copy(dst, src, semaphore=semaphore).ok
    assert device.copy(src, dst, semaphore=semaphore + 1).ok
    return device.log


WORKED_COPY = [  # spec/README, "The seeds' two programs, worked"
    "S: DGE: Select backend Pool",
    "S: DGE $S[10]+=1@dmacomplete src=[0x0]@0x100000000[0x1,0x80][128,1] dst=[0x0]@0x2000000000[0x1,0x80][128,1] "
    "cast:0xa->0xa bounds:(0 0x100000000<=0x0, 0 0x2000000000<=0x0) compute_op: 0x0",
    "S: push GENERATE to DMA[0]: RD : addr=0x100000000, elem_size=4, sem_num=10",
    "S: push DIMPUSH to DMA[0]: [128,128][1,1]",
    "S: push DIMPUSH to DMA[0]: [1,1][128,128]",
]
WORD_B = (  # isa-words 6.1, B
    "b8100000000000000000000000 0a0100 0000000001000000 01000000 80000000 80000100 0400 0000 0000000020000000"
    "01000000 80000000 80000100 0400 0a0a"
).replace(" ", "")


def test_the_worked_copy_gives_its_word():
    found = explain(
        (parse_line(text, n) for n, text in enumerate(WORKED_COPY, 1)), None, Choices({"step_unit": "elements"})
    )
    assert [issue.rule for issue in found.all_issues if issue.severity != "advice"] == []
    rebuilt = rebuild_word(found.cards[0], Choices())
    assert rebuilt.word.encode().hex() == WORD_B
    assert rebuilt.word == decode_word(bytes.fromhex(WORD_B))
    assert rebuilt.derived == {"dst_elem_size"}
    notes = {(issue.rule, issue.severity) for issue in rebuilt.issues()}
    assert notes == {("logs.derived", "advice"), ("logs.not_carried", "advice")}
    assert {i.where for i in rebuilt.issues() if i.rule == "logs.derived"} == {"dst_elem_size"}
    assert "dma_configs.priority_class" in {i.where for i in rebuilt.issues() if i.rule == "logs.not_carried"}


@pytest.mark.parametrize("place", range(4))
def test_the_dump_may_stand_anywhere_among_the_pushes(place):
    select, dump, *pushes = WORKED_COPY
    order = [*pushes[:place], dump, *pushes[place:]]
    for times in (1, 2, 3):
        assert [card.semaphore() for card in cards([select, *order] * times)] == [(10, 1)] * times


def test_interleaved_hosts_and_processors():
    """Each host name is a device of its own, however the lines are mixed."""
    logs = {f"nc{n}": device_log(n * 10, generate_pairing="pair") for n in range(3)}
    alone = {name: cards(log) for name, log in logs.items()}
    rng = random.Random(5)
    queues = {name: list(log) for name, log in logs.items()}
    mixed = []
    while any(queues.values()):
        name = rng.choice([name for name, left in queues.items() if left])
        mixed.append(f"[ 1.25] {name}: {queues[name].pop(0)}")
        if rng.random() < 0.2:
            mixed.append("kernel: something else")
    found = rebuild(parse_line(text, n) for n, text in enumerate(mixed, 1))
    assert found.counts["others"] == mixed.count("kernel: something else")
    for name, own in alone.items():
        theirs = [card for card in found.cards if card.host == name]
        assert [card.semaphore() for card in theirs] == [card.semaphore() for card in own]
        assert [len(card.lines) for card in theirs] == [len(card.lines) for card in own]
    assert [card.number for card in found.cards] == list(range(1, len(found.cards) + 1))
    assert sorted({host for host, _ in found.contexts}) == ["nc0", "nc1", "nc2"]


def test_contexts_are_those_of_the_tier():
    device = Device("CAYMAN")
    src, dst = device.hbm(shape=(8, 8), dtype="float32"), device.sbuf((8, 8), "float32")
    device.copy(dst, src, mode="swdge")
    device.copy(dst, src)
    found = cards(device.log)
    assert [card.context.sw for card in found] == [1, 0]
    assert [card.context.rx for card in found] == [0, 2]
    assert found[0].context.rx_base and found[0].context.tx_base


def test_a_log_from_the_selection_on():
    device = Device("CAYMAN", {"log_stages": "select"})
    src, dst = device.hbm(shape=(16, 8), dtype="float32"), device.sbuf((16, 8), "float32")
    for semaphore in (1, 2, 3):
        assert device.copy(dst, src, semaphore=semaphore, mode="swdge" if semaphore == 2 else "unknown").ok
    found = cards(device.log)
    assert [card.semaphore() for card in found] == [(1, 1), (2, 1), (3, 1)]
    full = render_log(device.session.events, device.generation, Choices())
    assert first_difference(full, found) is None


def test_an_illegal_word_is_a_card_of_its_own():
    log = [*WORKED_COPY, "S: ErrorHandler : Illegal Instruction(0xb8)", *WORKED_COPY]
    assert [card.status for card in cards(log)] == ["done", "refused", "done"]


def test_q7_work_without_a_word():
    log = ["P3: DGE DIRECT2D", "P3: Generating 8 descriptors; ring_ndesc = 64"]
    (card,) = cards(log)
    assert (card.kind.name, card.backend.value, card.status) == ("DIRECT2D", "software", "open")
    assert rebuild_word(card, Choices()) is None
    assert cards(["P3: DGE DIRECT2D"]) == []


def test_first_difference_names_word_line_and_field():
    log = list(device_log(4))
    at = next(n for n, line in enumerate(log) if "DIMPUSH" in line)
    changed = [*log[:at], log[at].replace("]: [", "]: [9", 1), *log[at + 1 :]]
    difference = first_difference(log, cards(changed))
    assert (difference.word, difference.log.line, difference.names) == (1, at + 1, ("num",))
    assert difference.to_json()["log"]["format"] == FORMATS["push.dimpush"].text
    assert difference.lines()[0] == f"first difference: word 1, line {at + 1}, in num"
    shorter = first_difference(log, cards(log)[:1])
    assert (shorter.word, shorter.log, shorter.names) == (2, None, ())
    assert shorter.to_json()["log"] is None
    assert "(no such line)" in shorter.lines()[2]
    longer = first_difference(log[:3], cards(log))
    assert (longer.word, longer.program) == (1, None)
    assert first_difference(log, cards(log)) is None


LINES = [
    *WORKED_COPY,
    *device_log(3),
    "S: DGE: Failed bounds check. $S[3]+=1.",
    "S: DGE: NO BACKEND FOUND, doing nothing",
    "S: ErrorHandler : Illegal Instruction(0xbd)",
    "S: dge_shape[1].step = [ 0x0001, 0x0080, 0x0001, 0x0001 ]",
    "S: dge_shape[1].num  = [ 0x0001, 0x0080, 0x0001, 0x0001 ]",
    "S: tensor_reshape_indirect_transpose BEFORE: elem_size=2 num_elem=[1,2,3,4] step_elem=[1,2,3,4] is_src=1",
    "S: tensor_reshape_indirect_transpose AFTER: elem_size=2 num_elem=[1,2,3,4] step_elem=[1,2,3,4]",
    "S: DGE RTL backend: $S[3]+=2@dmacomplete src=[0x4]@0x10[0x5,0x6,0x7,0x8,0x9|0x1,0x2][5,6,7,8,9|1,2] "
    "dst=[0x4]@0x20[0x0,0x0,0x0,0x0,0x0|0x1,0x2][1,1,1,1,1|1,2]",
    "S: DGE software backend: $S[3]+=2@dmacomplete src=[0x1ff]@0x10[0x5,0x6,0x7,0x8][5,0,7,8] "
    "dst=[0x4]@0x20[0x0,0x1,0x2,0x3][1,2,3,4] cast:0xff->0x6, indirection_dim=0x77, reshape_kind=0x3",
    "S: push GENERATE to DMA[-1]: WR : addr=0xffffffffffffffff, elem_size=-7, sem_num=-10",
    "S: push DIMPUSH to DMA[2147483647]: [4294967295,0][-2147483648,1]",
    "P0: DGE GATHER TRANSPOSE", "P0: DGE INDIRECT", "P0: Generating -8 descriptors; ring_ndesc = -1",
    "P0: gen_spray_info: reshape_kind=7, do_indirection=1, is_our_tensor=1, hbm_to_hbm=0, ndma=8",
    "P0: IndirectionInfo constructor: indices=0xffffffff",
    "P0: tensor_reshape_indirect_transpose: tile_src_rows=16 tile_src_cols=-24 dtype_size=2",
    "P0: Trigger DMA; sdma_bcast_base = 0x02020000, trigger addr = 0x02021038, mask = 0xffffffff n_desc=-3",
    "P0: ERROR: DescriptorStream wrote 1 descriptors, expected 2",
]  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(LINES), max_size=40), st.sampled_from(["", "host: "]))
def test_lines_in_any_order_are_explained_without_a_fault(lines, host):
    from dgekit.core.generations import GENERATIONS
    from dgekit.explain.show import explanation_lines, explanation_to_json
    from dgekit.words.text import word_to_json

    log = [host * (n % 2) + line for n, line in enumerate(lines)]
    for generation, switches in itertools.product(
        (None, GENERATIONS[0], GENERATIONS[3]),
        ({}, {"step_unit": "elements", "bound_address": "last_byte", "dump_bracket": "elem_size"}),
    ):
        choices = Choices(switches)
        found = explain((parse_line(text, n) for n, text in enumerate(log, 1)), generation, choices)
        assert sum(len(card.lines) for card in found.cards) <= len(log)
        explanation_to_json(found, generation)
        list(explanation_lines(found))
        first_difference(WORKED_COPY, found.cards)
        for card in found.cards:
            rebuilt = rebuild_word(card, choices)
            if rebuilt is not None:
                word_to_json(rebuilt.word, 0, rebuilt.issues())

import numpy as np
import pytest

import dgekit
from dgekit.core.generations import CAYMAN, MAVERICK, SUNDA
from dgekit.core.state import StateView
from dgekit.descriptors.notification import DgeCompletion, ErrorRecord, NotificType
from dgekit.firmware import notify

LIMIT = 5
FLAG = 0b010


def failing(words, *, silent=False):
    return words.direct(src_bound_reg=words.bound(LIMIT, silent=silent))


def state(flags):
    return StateView(registers={LIMIT: 1}, feature_flags=flags)


@pytest.mark.parametrize(
    ("flags", "silent", "sent"),
    [(0, False, 0), (0b101, False, 0), (FLAG, False, 1), (0b111, False, 1), (FLAG, True, 0)],
)
def test_both_gates(words, send, flags, silent, sent):
    run = send(failing(words, silent=silent), state=state(flags))
    assert len(run.outcome.notifications) == sent
    assert run.log.count("S: DGE: Dispatched error notification") == sent


def test_the_worked_bounds_example(words, send):
    """pipeline 10.3: two lines, no push, one record, the word is skipped."""
    run = send(failing(words), state=state(FLAG), log_stages="select")
    assert run.log[1:] == ["S: DGE: Failed bounds check. $S[10]+=1.", "S: DGE: Dispatched error notification"]
    (record,) = run.outcome.notifications
    assert len(record) == 16
    assert (record[0], record[3] & 0x1F) == (0x09, 0x1F)
    assert record[1:3] + record[4:] == bytes(14)


def test_type_and_id_are_choices(words, send):
    run = send(failing(words), state=state(FLAG), notif_type="0x03", error_id="0x0a")
    record = ErrorRecord.decode(run.outcome.notifications[0])
    assert (record.error_id, record.header.notific_type) == (0x0A, 0x03)


@pytest.mark.parametrize(("flags", "switch", "sent"), [(0, "flag", 0), (FLAG, "flag", 1), (FLAG, "never", 0)])
def test_no_backend(words, send, flags, switch, sent):
    run = send(
        words.indirect(), mode="hwdge", state=StateView(feature_flags=flags, memory=words.indices(0, 1, 2, 3)),
        no_backend_notify=switch,
    )  # fmt: skip
    assert run.outcome.status == "refused"
    assert len(run.outcome.notifications) == sent
    lines = ["S: DGE: NO BACKEND FOUND, doing nothing"] + ["S: DGE: Dispatched error notification"] * sent
    assert run.log[-len(lines) :] == lines


@pytest.mark.parametrize(("flags", "sent"), [(0, 0), (FLAG, 1)])
def test_an_illegal_word_has_the_fatal_record(words, send, flags, sent):
    run = send(words.direct(src_num_elem=(5, 1)), state=StateView(feature_flags=flags))
    assert [record[0] for record in run.outcome.notifications] == [0x0A] * sent


ON = StateView(feature_flags=FLAG)


def test_a_word_that_moved_sends_a_record_for_every_packet_count():
    records = notify.completed({0: 3, 1: 3, 5: 1}, "act", 0, ON, CAYMAN)
    found = [DgeCompletion.decode(record) for record in records]
    assert [(r.dma.dma_map, r.dma.num_packets, r.dma.dma_group_id) for r in found] == [(0b100000, 1, 0), (0b11, 3, 0)]
    assert {(r.head.debug_hint, r.head.program_counter, r.dma.infer_program_counter) for r in found} == {(1, 0, 1)}
    assert {r.head.notific_type for r in found} == {NotificType.ACT_EXPLICIT}


def test_success_has_the_same_gate_as_failure():
    assert notify.completed({0: 1}, "pool", 0, StateView(feature_flags=0b101), CAYMAN) == ()
    assert notify.completed({0: 1}, "pool", 0, ON, SUNDA) == ()
    assert notify.completed({}, "pool", 0, ON, CAYMAN) == notify.completed({3: 0}, "pool", 0, ON, CAYMAN) == ()


@pytest.mark.parametrize(
    ("generation", "core", "group", "dma_map"),
    [
        (CAYMAN, 0, 0, 1 << 2),
        (CAYMAN, 1, 1, 1 << 2),
        (CAYMAN, 4, 0, 1 << 2),
        (MAVERICK, 1, 0, 1 << 10),
        (MAVERICK, 7, 1, 1 << 10),
    ],
)
def test_engines_count_within_their_group_of_16(generation, core, group, dma_map):
    (record,) = notify.completed({2: 1}, "pool", core, ON, generation)
    dma = DgeCompletion.decode(record).dma
    assert (dma.dma_group_id, dma.dma_map) == (group, dma_map)


def test_4096_packets_are_stored_as_0_and_more_take_further_records():
    counts = [DgeCompletion.decode(r).dma.num_packets for r in notify.completed({0: 4096 * 2 + 5}, "sp", 0, ON, CAYMAN)]
    assert counts == [0, 0, 5]


@pytest.mark.parametrize(("flags", "records"), [(0, 0), (FLAG, 1)])
@pytest.mark.parametrize("mode", ["unknown", "hwdge", "swdge", "none"])
def test_a_device_that_asked_is_told(flags, records, mode):
    """128 partitions over 16 engines, 8 rows and one packet each; the host's own path has no DGE to tell of it."""
    device = dgekit.Device("trn2")
    device.set_local_registers({38: flags})
    source = device.hbm(np.zeros((128, 64), np.uint8), name="x")
    target = device.sbuf((128, 64), "uint8", name="y")
    device.copy(target, source, mode=mode)
    found = [DgeCompletion.decode(record) for record in device.session.notifications]
    assert len(found) == (0 if mode == "none" else records)
    for record in found:
        assert (record.dma.dma_map, record.dma.num_packets) == (0xFFFF, 1)
        assert (record.head.notific_type, record.head.phase) == (NotificType.POOL_EXPLICIT, 1)

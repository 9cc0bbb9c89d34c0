import pytest

from dgekit.core.state import StateView
from dgekit.descriptors.notification import ErrorRecord

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

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgekit.core.errors import InputError, RingError
from dgekit.machine.notify import NotificationQueue, Overflow

RECORD = bytes.fromhex("2301100effff08005544332211000000")


def numbered(number):
    return bytes([number % 256]) + RECORD[1:]


def test_example_e14(rings):
    queue = NotificationQueue(0x400000000000, 64)
    assert queue.push(RECORD)
    assert queue.pop().hex(" ") == rings["examples_extra"]["dge_notification"]
    assert queue.pop() is None


@pytest.mark.parametrize("size", [0, 16, 48, 100])
def test_sizes_that_are_no_queue(size):
    with pytest.raises(RingError, match="power of two") as caught:
        NotificationQueue(0, size)
    assert caught.value.rule == "rings.6.4"


def test_a_record_has_16_bytes():
    with pytest.raises(InputError, match="16 bytes, not 15"):
        NotificationQueue(0, 64).push(RECORD[:15])


def test_the_phase_flips_at_each_wrap():
    queue = NotificationQueue(0, 32)
    phases = []
    for number in range(8):
        queue.push(numbered(number))
        record = queue.pop()
        assert record[0] == number
        phases.append(record[3] >> 7)
    assert phases == [1, 1, 0, 0, 1, 1, 0, 0]
    assert (queue.head, queue.tail) == (0, 0)


def test_backpressure_loses_nothing():
    queue = NotificationQueue(0, 64)
    assert [queue.push(numbered(n)) for n in range(6)] == [True] * 4 + [False] * 2
    assert [record[0] for record in queue.drain()] == [0, 1, 2, 3]


def test_overwriting_marks_what_was_lost():
    queue = NotificationQueue(0, 64, Overflow.OVERWRITE)
    for number in range(6):
        assert queue.push(numbered(number))
    records = queue.drain()
    assert [record[0] for record in records] == [2, 3, 4, 5]
    assert [record[3] >> 5 & 1 for record in records] == [0, 0, 1, 1]
    assert queue.overwritten == 2


def test_a_disabled_queue_drops_and_interrupts():
    queue = NotificationQueue(0, 64)
    queue.enabled = False
    assert not queue.push(RECORD)
    assert (queue.dropped, queue.interrupt, queue.drain()) == (1, True, [])


@settings(max_examples=40, deadline=None)
@given(st.lists(st.booleans(), max_size=60))
def test_records_come_out_in_order(moves):
    queue, pushed, popped = NotificationQueue(0, 64), 0, 0
    for push in moves:
        if push:
            pushed += queue.push(numbered(pushed))
        else:
            record = queue.pop()
            assert (record is None) == (pushed == popped)
            if record is not None:
                assert record[0] == popped
                popped += 1
    assert queue.full == (pushed - popped == 4)

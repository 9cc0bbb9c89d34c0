import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgekit.core.errors import RingError
from dgekit.machine.completion import CompletionRing, HostAccounting, host_ring_length


def test_example_e9():
    ring = CompletionRing("M2S", 0, 32)
    ring.complete(3)
    assert ring.entry(0)[:4].hex(" ") == "00 00 00 0d"
    assert ring.entry(1) == bytes(16)


def test_polling_by_ring_id_over_a_wrap():
    ring = CompletionRing("M2S", 0, 32)
    assert not ring.poll()
    for turn in range(100):
        ring.complete(1)
        assert ring.poll()
        assert ring.entry(turn % 32)[3] & 3 == (1 + turn // 32) % 4
        ring.acknowledge(1)
        assert not ring.poll()
    assert ring.head_word == 0x00000004  # 100 entries: pass 3, ring id 0, offset 4


def test_the_writer_does_not_pass_the_reader():
    ring = CompletionRing("S2M", 0, 32)
    ring.complete(30)
    with pytest.raises(RingError, match="3 completion entries do not fit: 30 of 32") as caught:
        ring.complete(3)
    assert caught.value.rule == "rings.2.11"
    with pytest.raises(RingError, match="acknowledging 31"):
        ring.acknowledge(31)
    ring.acknowledge(30)
    ring.complete(3)


def test_host_keeps_16_free():
    host = HostAccounting(64)
    assert host.take(48) == 0
    assert host.free == 0
    with pytest.raises(RingError, match="1 BDs do not fit: 0 of 64"):
        host.take(1)
    with pytest.raises(RingError, match="acknowledging 49"):
        host.acknowledge(49)
    host.acknowledge(20)
    assert (host.free, host.take(20)) == (20, 48)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 60)), max_size=20))
def test_free_is_the_drivers_formula(moves):
    host = HostAccounting(64)
    for take, count in moves:
        if take:
            host.take(min(count, host.free))
        else:
            host.acknowledge(min(count, host.queued - host.completed))
        assert host.free == (host.completed - host.queued - 16) % 64 or host.queued == host.completed
        assert host.free == 48 - (host.queued - host.completed)


def test_example_e17(rings):
    rows = rings["ring"]["doubling_rule"]
    for row in rows:
        values = list(row.values()) if isinstance(row, dict) else list(row)
        assert host_ring_length(int(values[0])) == int(values[1])
    with pytest.raises(RingError):
        host_ring_length(0)
    with pytest.raises(RingError):
        host_ring_length(1 << 24)

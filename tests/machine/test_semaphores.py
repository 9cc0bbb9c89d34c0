import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgekit.core.errors import MemoryFault, Unspecified, UsageError
from dgekit.core.evt_sem import EVENT, REGISTER_BYTES, SEM_DEC, SEM_INC, SEM_READ, SEM_SET
from dgekit.core.state import NUM_SEMAPHORES
from dgekit.machine.semaphores import Change, Semaphores, window_error


def test_windows_are_the_specs(rings):
    spec = rings["memory_map"]["v3"]["evt_sem"]
    names = {"event": EVENT, "sem_read": SEM_READ, "sem_set": SEM_SET, "sem_inc": SEM_INC, "sem_dec": SEM_DEC}
    assert {name: int(spec[name], 16) for name in names} == names
    assert (spec["count"], spec["stride"]) == (NUM_SEMAPHORES, REGISTER_BYTES)


def test_set_add_read_and_list():
    semaphores = Semaphores()
    assert [semaphores.read(255), semaphores.event(0), semaphores.event(255)] == [0, 0, 0]
    semaphores.set(10, 5)
    assert semaphores.add(10, -7) == Change(10, 5, -2)
    assert semaphores.read(10) == -2
    assert semaphores.nonzero() == {10: -2}


def test_a_sum_over_31_bits_wraps_and_says_so():
    semaphores = Semaphores()
    semaphores.set(0, 2**31 - 1)
    assert semaphores.add(0, 1) == Change(0, 2**31 - 1, -(2**31), wrapped=True)


def test_windows_act():
    semaphores = Semaphores()
    semaphores.write_window(SEM_SET + 4 * 3, 7)
    semaphores.write_window(SEM_INC + 4 * 3, 5)
    semaphores.write_window(SEM_DEC + 4 * 3, 2)
    assert semaphores.read_window(SEM_READ + 4 * 3) == semaphores.read(3) == 10
    semaphores.write_window(SEM_INC + 4 * 3, 0xFFFFFFFF)  # adds the written value, signed
    assert semaphores.read(3) == 9
    assert semaphores.write_window(EVENT + 4 * 200, 1) is None
    assert semaphores.event(200) == semaphores.read_window(EVENT + 4 * 200) == 1


def test_unknown_numbers_and_windows_are_refused():
    with pytest.raises(UsageError, match="semaphore 256") as caught:
        Semaphores().read(256)
    assert caught.value.rule == "dec.D42"
    with pytest.raises(Unspecified, match="inc window of semaphore 2") as unknown:
        Semaphores().read_window(SEM_INC + 8)
    assert unknown.value.rule == "rings.4.2"
    with pytest.raises(MemoryFault, match="read window of semaphore 2 takes no writes"):
        Semaphores().write_window(SEM_READ + 8, 1)


@pytest.mark.parametrize(("offset", "size"), [(SEM_INC + 2, 4), (SEM_INC, 8), (SEM_INC, 1), (0x400, 4), (0x2000, 4)])
def test_other_accesses_are_refused(offset, size):
    assert window_error(offset, size, reading=False).rule == "memory.evt_sem"


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-(2**32), 2**32), max_size=10))
def test_adding_is_modulo_two_to_the_32(amounts):
    semaphores = Semaphores()
    for amount in amounts:
        semaphores.add(1, amount)
    assert (semaphores.read(1) - sum(amounts)) % 2**32 == 0
    assert -(2**31) <= semaphores.read(1) < 2**31

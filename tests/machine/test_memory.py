import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgekit.core.choices import Choices
from dgekit.core.errors import CrossPartition, MemoryFault, Overlap, Uninitialised, Unmapped, Unspecified, Unsupported
from dgekit.core.generations import CAYMAN, GENERATIONS, SUNDA
from dgekit.machine.memory import Memory
from dgekit.machine.segments import Segment

HBM = 0x10000000
SBUF = 0x2000000000
SEM_INC_10 = 0x2802701828  # rings E5


def test_bytes_go_in_and_come_out():
    memory = Memory(CAYMAN)
    memory.add(HBM, b"hello world", "x")
    memory.write(HBM + 6, b"there")
    assert memory.read(HBM, 11) == b"hello there"
    memory.view(HBM, 5)[:] = 0x2A
    assert memory.read(HBM, 6) == b"***** "


def test_contents_are_copied_unless_asked_otherwise():
    memory = Memory(CAYMAN)
    given_array = np.zeros(8, np.uint16)
    memory.add(HBM, given_array, "copied")
    memory.add(HBM + 64, given_array, "shared", copy=False)
    memory.write(HBM, b"\xff")
    assert given_array[0] == 0
    memory.write(HBM + 64, b"\xff")
    assert given_array[0] == 0xFF


def test_a_size_reads_as_zeros():
    memory = Memory(CAYMAN)
    memory.add(HBM, 1 << 34, "large")  # never touched as a whole
    assert memory.read(HBM + 100, 4) == bytes(4)


@pytest.mark.parametrize("base", [HBM - 4, HBM, HBM + 8, HBM + 15])
def test_overlapping_allocations_are_refused(base):
    memory = Memory(CAYMAN)
    memory.add(HBM, 16, "first")
    with pytest.raises(Overlap, match=r"second at .* meets first") as caught:
        memory.add(base, 16, "second")
    assert "0x10000010" in caught.value.fix


def test_neighbours_that_touch_are_no_overlap():
    memory = Memory(CAYMAN)
    memory.add(HBM + 16, 16)
    memory.add(HBM, 16)
    memory.add(HBM + 32, 16)
    with pytest.raises(Unmapped):  # a run over two blocks is no run
        memory.read(HBM + 8, 16)


@pytest.mark.parametrize(
    ("address", "size", "text", "rule"),
    [
        (0, 16, "HBM 0 firmware reserve", "memory.region"),
        (0x600000000 - 8, 16, "past the end", "memory.region"),
        (SBUF, 16, "lies in SBUF of core 0", "memory.region"),
        (1 << 50, 16, "another device", "memory.region"),
        (HBM, 0, "has 0 bytes", "memory.size"),
    ],
)
def test_memory_cannot_be_added_elsewhere(address, size, text, rule):
    with pytest.raises(MemoryFault, match=text) as caught:
        Memory(CAYMAN).add(address, size, "x")
    assert caught.value.rule == rule


def test_host_memory_can_be_added():
    memory = Memory(CAYMAN)
    memory.add(0x400012345000, bytes.fromhex("01efcdab"), "marker")  # rings E4
    assert memory.read(0x400012345000, 4).hex() == "01efcdab"


def test_unmapped_names_address_region_and_neighbours():
    memory = Memory(CAYMAN)
    memory.add(HBM, 0x100, "x")
    with pytest.raises(Unmapped) as caught:
        memory.read(HBM + 0x180, 4)
    text = str(caught.value)
    assert "4 bytes at 0x10000180" in text
    assert "HBM 0" in text
    assert "x ends 128 bytes before" in text
    assert "memory.unmapped" in text
    assert caught.value.fix


def test_a_run_over_the_end_is_unmapped():
    memory = Memory(CAYMAN)
    memory.add(HBM, 0x100, "x")
    with pytest.raises(Unmapped, match="x ends 4 bytes into it"):
        memory.read(HBM + 0xFC, 8)


@pytest.mark.parametrize("address", [-1, 1 << 63, 1 << 64])
def test_numbers_that_are_no_address(address):
    with pytest.raises(MemoryFault, match="no SoC address") as caught:
        Memory(CAYMAN).read(address, 1)
    assert caught.value.rule == "memory.address"


def test_runs_at_the_end_of_the_address_space_do_not_wrap():
    fault = Memory(CAYMAN).first_fault(np.array([2**63 - 1, -5]), np.array([65536, 4]), reading=True)
    assert fault[0] == 0
    assert isinstance(fault[1], Unmapped)
    assert "0x7fffffffffffffff" in str(fault[1])


def test_zero_bytes_are_no_run():
    with pytest.raises(Unmapped):
        Memory(CAYMAN).read(SBUF, 0)


@pytest.mark.parametrize("generation", GENERATIONS, ids=lambda g: g.name)
def test_partitions_have_their_active_bytes(generation):
    memory = Memory(generation)
    base, stride, active = generation.sbuf_base(0), generation.partition_stride, generation.active_bytes
    for partition in (0, 1, 127):
        last = base + partition * stride + active
        memory.write(last - 4, b"last")
        assert memory.read(last - 4, 4) == b"last"
        with pytest.raises(MemoryFault) as caught:
            memory.write(last - 4, b"12345")
        if partition == 127 and active == stride:
            continue  # past the last byte of the SBUF altogether
        assert isinstance(caught.value, CrossPartition)
        assert caught.value.values == {
            "partition": partition, "offset": active - 4, "size": 5, "active_bytes": active,
        }  # fmt: skip


def test_last_active_offsets_are_the_specs(rings):
    names = {"SUNDA": "v2 sunda", "CAYMAN": "v3 cayman", "MARIANA": "v4 mariana", "MAVERICK": "v5 maverick"}
    for generation in GENERATIONS:
        if generation.name in names:
            spec = rings["sbuf_geometry"][names[generation.name]]
            assert generation.partition_stride in [int(str(v), 0) for v in spec.values() if not isinstance(v, list)]
            last = 127 * generation.partition_stride + generation.active_bytes - 1
            assert last in [int(str(v), 0) for v in spec.values() if not isinstance(v, list)]


def test_cores_have_their_own_sbuf_and_semaphores():
    memory = Memory(CAYMAN)
    memory.write(SBUF, b"zero")
    memory.write(0x3000000000, b"one!")
    assert (memory.read(SBUF, 4), memory.read(0x3000000000, 4)) == (b"zero", b"one!")
    memory.write(SEM_INC_10 + 0x1000000000, (3).to_bytes(4, "little"))
    assert (memory.semaphores_of(1).nonzero(), memory.semaphores.nonzero()) == ({10: 3}, {})


def test_psum_is_refused_unless_chosen():
    psum = 0x2802000000
    with pytest.raises(MemoryFault, match="PSUM") as caught:
        Memory(CAYMAN).write(psum, b"x")
    assert "allow_psum" in caught.value.fix
    memory = Memory(CAYMAN, Choices({"allow_psum": True}))
    memory.write(psum + 32768 + 16383, b"x")
    assert memory.read(psum + 32768 + 16383, 1) == b"x"
    with pytest.raises(CrossPartition, match="16384 usable bytes"):
        memory.write(psum + 16383, b"xy")


def test_semaphore_windows_are_served():
    memory = Memory(CAYMAN)
    memory.write(SEM_INC_10, (5).to_bytes(4, "little"))
    memory.write(SEM_INC_10, (6).to_bytes(4, "little"))
    assert memory.semaphores.nonzero() == {10: 11}
    assert memory.read(SEM_INC_10 - 0x800, 4) == (11).to_bytes(4, "little")
    assert [change.after for change in memory.changes] == [5, 11]
    with pytest.raises(MemoryFault, match="aligned 4-byte"):
        memory.write(SEM_INC_10, bytes(8))
    with pytest.raises(Unspecified):
        memory.read(SEM_INC_10, 4)
    with pytest.raises(MemoryFault, match="no bytes to view"):
        memory.view(SEM_INC_10, 4)


def test_gather_mixes_segments_in_order():
    memory = Memory(CAYMAN)
    memory.add(HBM, b"abcdefgh", "x")
    memory.write(SBUF, b"12345678")
    memory.semaphores.set(10, 0x01020304)
    starts = np.array([SBUF + 4, HBM + 1, SEM_INC_10 - 0x800, SBUF])
    assert memory.gather(starts, np.array([2, 3, 4, 1])).tobytes() == b"56bcd\x04\x03\x02\x011"


def test_a_later_run_wins_in_scatter():
    memory = Memory(CAYMAN)
    memory.add(HBM, 8, "x")
    memory.scatter(np.array([HBM + 2, HBM]), np.array([4, 4]), np.frombuffer(b"firstXYZ", np.uint8))
    assert memory.read(HBM, 8) == b"tXYZrs\0\0"


def test_the_first_bad_run_is_named_whatever_its_segment():
    memory = Memory(CAYMAN)
    memory.add(HBM, 64, "x")
    starts = np.array([HBM, SBUF + 0x37FFE, HBM + 100, SBUF])
    assert memory.first_fault(starts, np.full(4, 4), reading=True)[0] == 1
    assert memory.first_fault(starts[[0, 2, 1]], np.full(3, 4), reading=True)[0] == 1
    assert memory.first_fault(starts[[0, 3]], np.full(2, 4), reading=True) is None
    assert memory.first_fault(starts[:0], starts[:0], reading=True) is None


def test_a_refused_copy_changes_nothing():
    memory = Memory(CAYMAN)
    memory.add(HBM, b"\1" * 64, "x")
    memory.add(HBM + 0x1000, 64, "y")
    to = np.array([HBM + 0x1000, HBM + 0x1040])
    with pytest.raises(Unmapped):
        memory.copy_stream(np.array([HBM, HBM + 8]), np.full(2, 8), to, np.full(2, 8))
    assert memory.read(HBM + 0x1000, 64) == bytes(64)


def test_uninitialised_reads_on_request():
    memory = Memory(CAYMAN, Choices({"uninitialised": "fault"}))
    memory.add(HBM, 64, "x")
    memory.add(HBM + 64, b"\1" * 64, "y")
    memory.add(HBM + 128, 64, "z", initialised=True)
    memory.write(HBM, bytes(8))
    assert memory.read(HBM, 8) == bytes(8)
    assert memory.read(HBM + 64, 64) == b"\1" * 64
    assert memory.read(HBM + 128, 64) == bytes(64)
    with pytest.raises(Uninitialised, match=r"byte 0x10000008 of x") as caught:
        memory.read(HBM + 4, 8)
    assert caught.value.values["unwritten"] == 4
    assert memory.peek(np.array([HBM + 4]), np.array([8])).tobytes() == bytes(8)
    with pytest.raises(Uninitialised, match="SBUF of core 0"):
        memory.read(SBUF, 1)
    memory.copy_stream(np.array([HBM + 64]), np.array([16]), np.array([SBUF]), np.array([16]))
    assert memory.read(SBUF, 16) == b"\1" * 16
    with pytest.raises(Unmapped):
        memory.peek(np.array([0]), np.array([8]))


def test_memory_that_the_computer_does_not_have_is_a_clear_error(monkeypatch):
    def exhausted(*_):
        raise MemoryError

    segment = Segment(HBM, 1 << 40, "huge")
    monkeypatch.setattr(np, "zeros", exhausted)
    with pytest.raises(Unsupported, match="huge of 1099511627776 bytes") as caught:
        _ = segment.data
    assert caught.value.rule == "memory.host"


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_streams_with_unequal_cuts_agree_with_bytes(data):
    total = data.draw(st.integers(1, 120))

    def cuts():
        ends = sorted(data.draw(st.sets(st.integers(1, total), max_size=8)) | {total})
        return [b - a for a, b in zip([0, *ends], ends, strict=False)]

    src_lengths, dst_lengths = cuts(), cuts()
    gaps = data.draw(st.lists(st.integers(0, 3), min_size=len(dst_lengths), max_size=len(dst_lengths)))
    order = data.draw(st.permutations(range(len(dst_lengths))))
    places, at = [0] * len(dst_lengths), 0
    for i in order:
        places[i] = at + gaps[i]
        at = places[i] + dst_lengths[i]
    src_places = [data.draw(st.integers(0, 255 - n)) for n in src_lengths]
    memory = Memory(SUNDA)
    contents = bytes(range(256))
    memory.add(HBM, contents, "x")
    memory.add(HBM + 0x1000, 512, "y")
    memory.copy_stream(
        np.array(src_places) + HBM, np.array(src_lengths), np.array(places) + HBM + 0x1000, np.array(dst_lengths)
    )
    stream = b"".join(contents[p : p + n] for p, n in zip(src_places, src_lengths, strict=True))
    expected, done = bytearray(512), 0
    for place, n in zip(places, dst_lengths, strict=True):
        expected[place : place + n] = stream[done : done + n]
        done += n
    assert memory.read(HBM + 0x1000, 512) == bytes(expected)

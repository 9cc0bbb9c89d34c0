"""Machine state that a program sets (D41): how words read it, and what it lets them do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from dgekit.api import Device
from dgekit.core.errors import LoweringError
from dgekit.core.state import Mailbox, ShapeRegister
from dgekit.descriptors.notification import ErrorRecord
from dgekit.frontends.toml_file import loads
from dgekit.machine.session import run_workload
from dgekit.transfers.transfer import Bound, MachineInit
from dgekit.words.structs import Addr8Immediate, Addr8Reg, Addr8TblImm, Addr8TblReg, DmaDirect2D, Dtype

SRC, DST = 0x1000_0000, 0x1000_1000
SHAPED = 0x40  # marker bit 6: the shape is in a register (isa-words 1.3)
NOTIFY = 1 << 1  # bit 1 of local register 38 (pipeline 1.6)

TENSORS = """
[tensors.x]
space = "hbm"
shape = [1024]
dtype = "uint8"
init = "random"
[tensors.y]
space = "hbm"
shape = [1024]
dtype = "uint8"
init = "zeros"
"""


def direct(**fields: Any) -> DmaDirect2D:
    """Four runs of 16 bytes, 64 apart, to four in a row; semaphore 10."""
    base: dict[str, Any] = {
        "src_start_addr": Addr8Immediate(address=SRC), "dst_start_addr": Addr8Immediate(address=DST),
        "src_step_elem": (64, 1), "dst_step_elem": (16, 1), "src_num_elem": (4, 1), "dst_num_elem": (4, 1),
        "src_elem_size": 16, "dst_elem_size": 16, "in_dtype": Dtype.UINT8, "out_dtype": Dtype.UINT8,
        "semaphore": 10, "sem_increment": 1,
    }  # fmt: skip
    return DmaDirect2D(**{**base, **fields})


def carried(text: str, word: DmaDirect2D) -> tuple[bytes, bytes, Any]:
    """(x, y, result) after a program with that state and one raw word."""
    program = text + TENSORS + f'[[transfers]]\nname = "w"\nword = "{word.encode().hex()}"\n'
    result, session = run_workload(loads(program))
    return session.tensor_bytes("x").tobytes(), session.tensor_bytes("y").tobytes(), result


def rows(data: bytes, first: int = 0, step: int = 64, count: int = 4) -> bytes:
    return b"".join(data[first + k * step :][:16] for k in range(count))


REGISTERS = f"[registers]\n4 = {SRC}\n5 = 0\n6 = 128\n7 = 0\n"
TABLE = '[[address_table]]\nentry = 3\ntensor = "x"\n[[address_table]]\nentry = 9\naddress = 0x10000040\n'
SHAPE = "[[shape_registers]]\nindex = 2\nnum = [2, 2]\nstep = [64, 128]\n"

ADDRESSES = [
    pytest.param("", Addr8Immediate(address=SRC), 0, id="immediate"),
    pytest.param(REGISTERS, Addr8Reg(reg_lo=4, reg_hi=5), 0, id="register pair"),
    pytest.param(TABLE, Addr8TblImm(table_entry_id=3, offset=192), 192, id="table and immediate"),
    pytest.param(TABLE, Addr8TblImm(table_entry_id=9, offset=16), 80, id="table of an address"),
    pytest.param(
        REGISTERS + TABLE, Addr8TblReg(table_entry_id=3, offset_reg=6, marker=0x28), 128, id="table and register"
    ),
    pytest.param(REGISTERS + TABLE, Addr8TblReg(table_entry_id=3, offset_reg=6, marker=0x2C), 128, id="table and pair"),
]


@pytest.mark.parametrize(("state", "address", "first"), ADDRESSES)
def test_every_form_of_address(state: str, address: Any, first: int) -> None:
    x, y, result = carried(state, direct(src_start_addr=address))
    assert result.ok, result.transfers[0].issues
    assert y == rows(x, first) + bytes(1024 - 64) and result.semaphores == {10: 1}


@pytest.mark.parametrize(
    ("state", "address", "first"),
    [
        ("", Addr8Immediate(address=SRC, marker_bits=SHAPED >> 2), 0),
        (REGISTERS, Addr8Reg(reg_lo=4, reg_hi=5, marker=0x80 | SHAPED), 0),
        (TABLE, Addr8TblImm(table_entry_id=3, offset=16, marker=0x20 | SHAPED), 16),
        (REGISTERS + TABLE, Addr8TblReg(table_entry_id=3, offset_reg=6, marker=0x28 | SHAPED), 128),
    ],
)
def test_a_shape_register_replaces_counts_and_steps(state: str, address: Any, first: int) -> None:
    """The first step holds the register's number; its four counts and steps are fastest first (pipeline 2.4)."""
    word = direct(src_start_addr=address, src_step_elem=(2, 0), src_num_elem=(0, 0))
    x, y, result = carried(state + SHAPE, word)
    assert result.ok, result.transfers[0].issues
    assert y[:64] == rows(x, first)  # 2 x 2 at 64 and 128 is 4 at 64


def test_a_shape_step_must_fit_the_register_file() -> None:
    device = Device("trn2")
    with pytest.raises(LoweringError) as caught:
        device.set_shape_register(0, (1, 1, 1, 1), (1 << 16, 1, 1, 1))
    assert caught.value.rule == "pipeline.2.4"
    Device("trn2", {"shape_reg_width": 32}).set_shape_register(0, (1, 1, 1, 1), (1 << 16, 1, 1, 1))


def test_state_that_is_missing_refuses_the_word() -> None:
    for address in (Addr8Reg(reg_lo=4, reg_hi=5), Addr8TblImm(table_entry_id=3)):
        _, y, result = carried("", direct(src_start_addr=address))
        assert result.transfers[0].status == "refused" and result.transfers[0].issues[0].rule
        assert not any(y) and result.semaphores == {}


@pytest.mark.parametrize(
    ("set_it", "rule", "number"),
    [
        (lambda device: device.set_local_registers({41: 1}), "pipeline.1.6", 41),
        (lambda device: device.set_registers({64: 1}), "isa.1.5", 64),
        (lambda device: device.set_shape_register(4, (1, 1, 1, 1), (1, 1, 1, 1)), "pipeline.2.4", 4),
    ],
)
def test_a_register_that_does_not_exist(set_it: Any, rule: str, number: int) -> None:
    with pytest.raises(LoweringError) as caught:
        set_it(Device("trn2"))
    assert (caught.value.rule, caught.value.values["number"]) == (rule, number)


@pytest.mark.parametrize(
    ("state", "rule"),
    [
        (MachineInit(registers={1: 1 << 32}), "isa.1.5"),
        (MachineInit(registers={1: -1}), "isa.1.5"),
        (MachineInit(registers={1: "x"}), "isa.1.5"),  # type: ignore[dict-item]
        (MachineInit(registers={"a": 1}), "isa.1.5"),  # type: ignore[dict-item]
        (MachineInit(local_registers={40: 1 << 32}), "pipeline.1.6"),
        (MachineInit(shape_registers={0: ShapeRegister(num=(1 << 16, 1, 1, 1))}), "pipeline.2.4"),
        (MachineInit(shape_registers={0: ShapeRegister(num=(-1, 1, 1, 1))}), "pipeline.2.4"),
        (MachineInit(address_table={1 << 16: 0}), "isa.1.3.table"),
        (MachineInit(address_table={0: 1 << 64}), "isa.1.3.table"),
        (MachineInit(mailboxes=(Mailbox(),) * 5), "pipeline.1.5"),
        (MachineInit(mailboxes=(Mailbox(priority=256),)), "pipeline.1.5"),
        (MachineInit(mailboxes=(Mailbox(mask=1 << 16),)), "pipeline.1.5"),
        (MachineInit(priority_bytes=(1,) * 5), "pipeline.1.5"),
        (MachineInit(priority_bytes=(0,)), "pipeline.1.5"),
        (MachineInit(semaphores={256: 1}), "dec.D42"),
        (MachineInit(semaphores={3: 1 << 31}), "dec.D42"),
    ],
)
def test_state_that_does_not_fit_sets_nothing(state: MachineInit, rule: str) -> None:
    device = Device("trn2")
    before = device.session.state_for(0, {})
    with pytest.raises(LoweringError) as caught:
        device.session.set_state(replace(state, registers={2: 7, **state.registers}))
    assert caught.value.rule == rule
    assert device.session.state_for(0, {}) == before and device.semaphores == {}


def test_whole_numbers_of_numpy_become_plain_ones() -> None:
    device = Device("trn2")
    device.set_registers({1: np.uint32(5)})
    assert type(device.session.state_for(0, {}).registers[1]) is int


# notifications (pipeline 6.4, 6.5)


def bounded(device: Device, *, limit: int, notify: bool = True) -> Any:
    """A copy whose source is bounded by register 5."""
    src, dst = device.hbm(np.ones(64, np.uint8)), device.hbm(np.zeros(64, np.uint8))
    done = device.copy(dst, src, semaphore=10, src_bound=Bound(5, limit, notify))
    assert not dst.numpy().any() or done.ok
    return done


def unserved(device: Device) -> Any:
    """A cast that RTL does not take (D16)."""
    src, dst = device.hbm(np.ones(64, np.float32)), device.hbm(shape=(64,), dtype="bfloat16")
    return device.copy(dst, src, semaphore=10, mode="hwdge")


def test_a_bound_failure_is_skipped_and_told() -> None:
    device = Device("trn2")
    device.set_local_registers({38: NOTIFY})
    done = bounded(device, limit=1)
    assert done.status == "skipped" and device.semaphores == {}
    assert [line for line in done.log if "ispatched" in line] == ["S: DGE: Dispatched error notification"]
    (record,) = device.session.notifications
    # id 0x09, metadata 0, header: type 0x1f and the phase of the first pass; the split is pipeline 6.5's
    assert record[:8].hex() == "0900009f00000000" and len(record) == 16


def test_no_backend_is_told_too() -> None:
    device = Device("trn2")
    device.set_local_registers({38: NOTIFY})
    done = unserved(device)
    assert done.status == "refused" and device.semaphores == {}
    assert [record[:8].hex() for record in device.session.notifications] == ["0900009f00000000"]


@pytest.mark.parametrize(("name", "value", "byte"), [("notif_type", "0x03", 3), ("error_id", "0x0a", 0)])
def test_what_no_source_settles_about_the_record_is_a_choice(name: str, value: str, byte: int) -> None:
    device = Device("trn2", {name: value})
    device.set_local_registers({38: NOTIFY})
    bounded(device, limit=1)
    record = device.session.notifications[0]
    assert record[byte] & 0x1F == int(value, 16)


@pytest.mark.parametrize("flags", [0, 0xFFFF_FFFF ^ NOTIFY])
def test_without_the_flag_nothing_is_told(flags: int) -> None:
    device = Device("trn2")
    device.set_local_registers({38: flags})
    bounded(device, limit=1)
    unserved(device)
    assert device.session.notifications == []


def test_a_silent_bound_tells_nothing() -> None:
    device = Device("trn2")
    device.set_local_registers({38: NOTIFY})
    bounded(device, limit=1, notify=False)
    assert device.session.notifications == []


def test_no_backend_may_be_kept_quiet_by_choice() -> None:
    device = Device("trn2", {"no_backend_notify": "never"})
    device.set_local_registers({38: NOTIFY})
    assert unserved(device).status == "refused"
    assert device.session.notifications == []


def test_an_illegal_word_is_a_fatal_record() -> None:
    device = Device("trn2")
    device.set_local_registers({38: NOTIFY})
    done = device.run_words(direct(src_num_elem=(5, 1)).encode())
    assert done.status == "refused" and "ErrorHandler : Illegal Instruction" in "\n".join(done.log)
    (record,) = [ErrorRecord.decode(data) for data in device.session.notifications]
    assert (int(record.error_id), int(record.header.notific_type)) == (0x0A, 0x1F)


def test_a_bound_that_holds_moves_everything() -> None:
    device = Device("trn2")
    done = bounded(device, limit=SRC + 0x10000)
    assert done.ok and device.semaphores == {10: 1}


# what the host allows (pipeline 1.5, 1.6)


def load(device: Device, **options: Any) -> tuple[Any, bool]:
    """128 rows of 64 bytes to 128 partitions: (what happened, whether the bytes are there)."""
    values = np.random.default_rng(5).integers(1, 256, (128, 64), np.uint8)
    src, dst = device.hbm(values), device.sbuf(contents=np.zeros((128, 64), np.uint8))
    done = device.copy(dst, src, semaphore=10, **options)
    assert done.ok or not dst.numpy().any()
    return done, bool((dst.numpy() == values).all())


def queues(done: Any) -> list[tuple[int, int]]:
    return [(channel.dma, channel.queue) for channel in done.descriptors.channels]


def test_register_40_names_the_dmas_and_the_queue() -> None:
    device = Device("trn2")
    assert queues(load(device)[0]) == [(dma, 0) for dma in range(16)]
    device.set_local_registers({40: 1 << (16 + 5) | 0b0000_1100_0000_0010})
    done, moved = load(device)
    assert moved and queues(done) == [(1, 5), (10, 5), (11, 5)]


@pytest.mark.parametrize("value", [0x0001_0000, 0x0000_FFFF])
def test_register_40_may_allow_nothing(value: int) -> None:
    device = Device("trn2")
    device.set_local_registers({40: value})
    done, moved = load(device)
    assert done.status == "refused" and not moved
    assert [issue.rule for issue in done.issues if issue.severity == "error"] == ["pipeline.1.6"]


def test_a_carveout_caps_the_descriptors_of_a_copy() -> None:
    """Register 39: size in its high half, offset in its low (pipeline 1.6); 16 source runs and 128 destination runs."""
    device = Device("trn2")
    device.set_local_registers({39: 143 << 16})
    done, moved = load(device)
    (issue,) = [issue for issue in done.issues if issue.severity == "error"]
    assert done.status == "refused" and not moved and device.semaphores == {}
    assert (issue.rule, issue.values) == ("pipeline.6.1", {"descriptors": 144, "allowed": 143})
    device.set_local_registers({39: 144 << 16})
    assert load(device)[1]
    device.set_local_registers({39: 144 << 16 | 2})
    assert [issue.rule for issue in load(device)[0].issues if issue.severity == "error"] == ["pipeline.1.6"]


def test_some_descriptors_of_the_carveout_may_be_kept_back() -> None:
    device = Device("trn2", {"carveout_reserved": 1})
    device.set_local_registers({39: 144 << 16})
    assert load(device)[0].status == "refused"


def test_mailboxes_mask_the_classes_above_them() -> None:
    device = Device("trn2")
    device.set_mailboxes([(2, 0x0030), (3, 0x0010)])
    assert [queues(load(device, priority=p)[0]) for p in (2, 3, 4)] == [
        [(dma, 0) for dma in range(16)], [(4, 0), (5, 0)], [(4, 0)]
    ]  # fmt: skip


@pytest.mark.parametrize(("priority", "packets"), [(0, 1), (1, 8), (2, 1), (3, 1)])
def test_the_bytes_of_a_class_cap_its_packets(priority: int, packets: int) -> None:
    """Class 1 prefers 64 bytes; class 2 prefers more than there is; class 3 is not in the map."""
    device = Device("trn2")
    device.set_priority_bytes([64, 1 << 20])
    done, moved = load(device, priority=priority)
    assert moved and {len(channel.packets) for channel in done.descriptors.channels} == {packets}


# completion (D5, D33) and raw words


def transposed(**more: Any) -> tuple[Any, Device, Any, Any]:
    """A device with a 32 x 64 BF16 matrix, room for its transpose, and the pseudo words of the transpose."""
    values = np.arange(32 * 64, dtype=np.float32).reshape(32, 64).astype(ml_dtypes.bfloat16)
    devices = [Device("trn2") for _ in range(2)]
    ends = [
        (d.sbuf((64, 32), "bfloat16", contents=np.zeros((64, 32), ml_dtypes.bfloat16)), d.hbm(values)) for d in devices
    ]
    made = devices[0].transpose(*ends[0], semaphore=20, **more)
    assert made.ok, made.issues
    return made.result, devices[1], ends[1][0], values.T


def test_a_raw_transpose_increments_by_one_with_a_warning() -> None:
    made, device, dst, wanted = transposed(increment=3)
    assert made.resolved[0][0] == 0xBD
    done = device.run_words(made.resolved[0])
    assert done.ok and [(issue.rule, issue.severity) for issue in done.issues] == [("dec.D5", "warning")]
    assert device.semaphores == {20: 1} and np.array_equal(dst.numpy(), wanted)


def test_a_pseudo_word_brings_its_increment() -> None:
    """Two slots, the variables looked up among the device's tensors."""
    made, device, dst, wanted = transposed(increment=3)
    assert (made.pseudo[0][0], made.pseudo[1][0]) == (0xD4, 0xDA)
    done = device.run_words(made.pseudo[0] + made.pseudo[1])
    assert done.ok and done.issues == ()
    assert device.semaphores == {20: 3} and np.array_equal(dst.numpy(), wanted)


def test_a_raw_gather_transpose_increments_by_one_with_a_warning() -> None:
    table = np.arange(20 * 8, dtype=np.uint16).reshape(20, 8)
    picks = np.arange(16, dtype=np.uint32)[None, ::-1].copy()
    devices = [Device("trn2") for _ in range(2)]
    ends = [(d.sbuf(contents=np.zeros((8, 16), np.uint16)), d.hbm(table), d.sbuf(contents=picks)) for d in devices]
    made = devices[0].gather_transpose(*ends[0], semaphore=20, increment=3)
    (word,) = made.result.resolved
    assert word[0] == 0xF1 and devices[0].semaphores == {20: 3}
    devices[1].set_registers(dict(made_registers(word)))
    done = devices[1].run_words(word)
    assert done.ok and ("dec.D5", "warning") in [(issue.rule, issue.severity) for issue in done.issues]
    assert devices[1].semaphores == {20: 1}
    assert np.array_equal(ends[1][0].numpy(), table[picks[0]].T)


def made_registers(word: bytes) -> list[tuple[int, int]]:
    """The register that bounds the indices of a 0xf1 word, with the highest row."""
    from dgekit.words.codec import decode_word

    return [(int(decode_word(word).src_idx_bound_reg.bc_reg), 19)]


def test_an_increment_beside_a_word_without_the_field() -> None:
    made, _, _, wanted = transposed()
    program = f"""
    [tensors.s]
    space = "sbuf"
    shape = [64, 32]
    dtype = "bfloat16"
    [tensors.h]
    space = "hbm"
    shape = [32, 64]
    dtype = "bfloat16"
    init = "arange"
    [[transfers]]
    word = "{made.resolved[0].hex()}"
    semaphore = 20
    increment = 5
    """
    result, session = run_workload(loads(program))
    assert result.ok and result.semaphores == {20: 5} and result.transfers[0].issues == []
    assert np.array_equal(session.tensor_array("s"), wanted)


@pytest.mark.parametrize("beside", ["semaphore = 11", "increment = 2", "semaphore = 10\nincrement = 2"])
def test_what_is_said_beside_a_word_must_not_contradict_it(beside: str) -> None:
    result, session = run_workload(loads(TENSORS + f'[[transfers]]\nword = "{direct().encode().hex()}"\n{beside}\n'))
    assert [(issue.rule, issue.severity) for issue in result.transfers[0].issues] == [("dec.D41", "error")]
    assert result.transfers[0].status == "refused" and not session.tensor_bytes("y").any()
    agreed = f'[[transfers]]\nword = "{direct().encode().hex()}"\nsemaphore = 10\nincrement = 1\n'
    assert run_workload(loads(TENSORS + agreed))[0].ok

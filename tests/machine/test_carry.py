"""Items carried through a session: streams and waits, completion, the descriptors as rings store them, contents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from dgekit.api import Device
from dgekit.cli.main import run_cli
from dgekit.core.generations import generation_named
from dgekit.frontends.toml_file import load, loads
from dgekit.machine.session import Session, run_workload
from dgekit.transfers.transfer import SemaphoreStep, Update, Wait

EXAMPLES = Path(__file__).parents[2] / "examples"

THREE = """
[tensors.x]
space = "hbm"
shape = [16, 8]
dtype = "uint16"
init = "arange"
[tensors.tile]
space = "sbuf"
shape = [16, 8]
dtype = "uint16"
[tensors.y]
space = "hbm"
shape = [16, 8]
dtype = "uint16"
init = "zeros"
"""


def transfer(name: str, src: str, dst: str, *lines: str) -> str:
    return "\n".join([f'[[transfers]]\nname = "{name}"\nsrc = "{src}"\ndst = "{dst}"', *lines, ""])


def test_a_store_waits_for_the_load_of_another_engine() -> None:
    """The store stands first in the program; its engine is held up until the load has signalled (D53)."""
    program = THREE + transfer(
        "store", "tile", "y", 'engine = "act"', "semaphore = 5", "wait = [{ semaphore = 4, at_least = 2, decrement = true }]"
    ) + transfer("load", "x", "tile", "semaphore = 4", "increment = 3")  # fmt: skip
    result, session = run_workload(loads(program))
    assert result.ok and [entry.name for entry in result.transfers] == ["store", "load"]
    assert np.array_equal(session.tensor_array("y"), session.tensor_array("x"))
    assert result.semaphores == {4: 1, 5: 1}  # 3 - 2, and the store's own
    order = list(dict.fromkeys(event.transfer for event in result.events if event.transfer >= 0))
    assert order == [1, 0]


def test_streams_that_wait_for_each_other_move_nothing() -> None:
    program = THREE + transfer(
        "left", "x", "tile", "semaphore = 1", "wait = [{ semaphore = 2, at_least = 1 }]"
    ) + transfer("right", "tile", "y", 'engine = "sp"', "semaphore = 2", "wait = [{ semaphore = 1, at_least = 1 }]")  # fmt: skip
    result, session = run_workload(loads(program))
    (issue,) = result.issues
    assert (issue.rule, issue.severity) == ("run.deadlock", "error") and not result.ok
    assert {(edge["item"], edge["semaphore"]) for edge in issue.values["waits"]} == {("left", 2), ("right", 1)}
    assert [entry.status for entry in result.transfers] == ["skipped", "skipped"]
    assert all(entry.issues[-1].rule == "run.not_reached" for entry in result.transfers)
    assert not session.tensor_array("y").any() and result.semaphores == {}


def test_start_values_of_semaphores_open_a_wait() -> None:
    program = THREE + "[semaphores]\n9 = 4\n" + transfer("t", "x", "y", "wait = [{ semaphore = 9, at_least = 4 }]")
    result, _ = run_workload(loads(program))
    assert result.ok and result.semaphores == {9: 4}


def test_steps_that_move_nothing_update_semaphores_and_are_no_transfers() -> None:
    session = Session(generation_named("trn2"))
    steps = [
        SemaphoreStep("b", (Wait(1, 7, decrement=True),), (Update(2, "sub", 3),), "act"),
        SemaphoreStep("a", (), (Update(1, "write", 9), Update(3, "add", 2))),
    ]
    assert session.run_items(steps) == []
    result = session.finish()
    assert result.ok and result.transfers == () and result.semaphores == {1: 2, 2: -3, 3: 2}


def test_a_program_of_which_one_transfer_cannot_be_lowered_runs_not_at_all() -> None:
    program = THREE + transfer("fine", "x", "y", "semaphore = 1") + (
        '[[transfers]]\nname = "wide"\nsrc = { tensor = "x", offset = 120, pattern = [[1, 16]] }\n'
        'dst = { tensor = "tile", pattern = [[1, 16]] }\n'
    )  # fmt: skip
    result, session = run_workload(loads(program))
    fine, wide = result.transfers
    assert (fine.status, wide.status) == ("skipped", "refused") and result.semaphores == {}
    assert [issue.rule for issue in wide.issues] == ["transfers.bounds"]
    assert not session.tensor_array("y").any()


@pytest.mark.parametrize("mode", ["unknown", "none"])
def test_reading_what_nobody_wrote_is_a_fault_on_request(mode: str) -> None:
    for choice, status in (("allow", "done"), ("fault", "refused")):
        device = Device("trn2", {"uninitialised": choice})
        src, dst = device.hbm(shape=(32,), dtype="uint8"), device.hbm(np.full(32, 7, np.uint8))
        done = device.copy(dst, src, mode=mode, semaphore=3)
        assert done.status == status
        if choice == "fault":
            assert [issue.rule for issue in done.issues] == ["memory.uninitialised"]
            assert (dst.numpy() == 7).all() and device.semaphores == {}


def test_written_bytes_count_as_written() -> None:
    device = Device("trn2", {"uninitialised": "fault"})
    x, tile, y = (
        device.hbm(np.arange(32, dtype=np.uint8)),
        device.sbuf((1, 32), "uint8"),
        device.hbm(np.zeros(32, np.uint8)),
    )
    assert device.copy(tile, x).ok and device.copy(y, tile).ok
    assert y.numpy().tolist() == list(range(32))


# descriptors as the rings store them


def rows(bds: Any) -> list[str]:
    """BDs as hex, 16 bytes in memory order."""
    return [row.astype("<u4").tobytes().hex(" ") for row in bds]


def test_example_e7_through_a_device() -> None:
    """200000 bytes at slot 30 of a 32-entry ring: the ring id goes up at the wrap, the last packet has the barrier."""
    device = Device("trn2", {"ring_size": 32, "sem_mode": "per_engine"})
    small = [device.hbm(np.zeros(64, np.uint8)) for _ in range(2)]
    for _ in range(30):
        assert device.copy(*small).ok
    values = np.random.default_rng(7).integers(0, 256, 200000, np.uint8)
    src = device.hbm(values, address=0x3000000)
    dst = device.hbm(np.zeros(200000, np.uint8), address=0x5000000)
    done = device.copy(dst, src, semaphore=10)
    assert done.ok and np.array_equal(dst.numpy(), values)
    m2s = [row for batch in done.result.batches for channel in batch.channels for row in rows(channel.m2s)]
    s2m = [row for batch in done.result.batches for channel in batch.channels for row in rows(channel.s2m)]
    assert m2s[:4] == [
        "00 00 00 0d 03 00 08 01 00 00 00 03 00 00 00 00",
        "00 00 00 0d 03 00 08 01 00 00 01 03 00 00 00 00",
        "00 00 00 0e 03 00 08 01 00 00 02 03 00 00 00 00",
        "40 0d 00 0e 03 00 08 05 00 00 03 03 00 00 00 00",
    ]
    assert s2m[:4] == [
        "00 00 00 01 00 00 00 00 00 00 00 05 00 00 00 00",
        "00 00 00 01 00 00 00 00 00 00 01 05 00 00 00 00",
        "00 00 00 02 00 00 00 00 00 00 02 05 00 00 00 00",
        "40 0d 00 02 00 00 00 00 00 00 03 05 00 00 00 00",
    ]
    assert (len(m2s), len(s2m)) == (5, 5) and device.semaphores == {10: 1}  # one channel, one semaphore pair


def test_example_e18_of_the_program_file() -> None:
    """Engine 5 of the load over 16 engines, as its rings hold it."""
    result, _ = run_workload(load(EXAMPLES / "load_e18.toml"))
    (batch,) = result.transfers[0].batches
    (channel,) = [channel for channel in batch.channels if channel.dma == 5]
    assert rows(channel.m2s) == [
        "00 80 00 0d 03 00 08 05 00 80 02 10 00 00 00 00",
        "04 00 00 0d 03 00 08 01 fc 7f a3 00 20 00 00 00",
    ]
    assert rows(channel.s2m) == [
        *(f"00 10 00 01 00 00 00 00 00 00 {4 * k:02x} 00 20 00 00 00" for k in range(40, 48)),
        "04 00 00 01 00 00 00 00 28 18 70 02 28 00 00 00",
    ]


def test_ring_ids_go_on_over_transfers() -> None:
    """Ids start at 1 and go up by one modulo 4 at every wrap (D28)."""
    device = Device("trn2", {"ring_size": 32})
    ends = [device.hbm(np.zeros(64, np.uint8)) for _ in range(2)]
    ids = []
    for _ in range(160):
        done = device.copy(*ends)
        ids.append(int(done.descriptors.channels[0].m2s[0, 0]) >> 24 & 3)
    assert ids == [1] * 32 + [2] * 32 + [3] * 32 + [0] * 32 + [1] * 32


# contents, in and out

D54 = [
    "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16", "float32", "bfloat16",
    "float8_e3m4", "float8_e4m3", "float8_e4m3fn", "float8_e5m2",
]  # fmt: skip


@pytest.mark.parametrize("dtype", D54)
@pytest.mark.parametrize("given", ["init", "--in"])
def test_npy_round_trip_of_every_dtype(dtype: str, given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Types numpy lacks are stored as uint8 or uint16 (D54); every bit pattern survives a load and a store."""
    monkeypatch.chdir(tmp_path)
    values = np.dtype(getattr(ml_dtypes, dtype, dtype))
    bits = np.random.default_rng(3).integers(0, 256, 4 * 6 * values.itemsize, np.uint8)
    stored = values if values.isbuiltin == 1 else np.dtype(f"u{values.itemsize}")
    np.save("x.npy", bits.view(stored).reshape(4, 6))
    init = 'init = "x.npy"' if given == "init" else ""
    Path("p.toml").write_text(
        f'generation = "trn3"\n[tensors.x]\nspace = "hbm"\nshape = [4, 6]\ndtype = "{dtype}"\n{init}\n'
        f'[tensors.y]\nspace = "sbuf"\nshape = [4, 6]\ndtype = "{dtype}"\n' + transfer("t", "x", "y")
    )
    inputs = [] if given == "init" else ["--in", "x=x.npy"]
    assert run_cli(["run", "p.toml", *inputs, "--out", "y=y.npy", "--json"]) == 0
    out = np.load("y.npy", allow_pickle=False)
    assert (out.dtype, out.shape, out.tobytes()) == (stored, (4, 6), bits.tobytes())


def test_void_storage_is_accepted_and_another_type_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """numpy saves ml_dtypes arrays as V1 and V2; float32 where bfloat16 is declared is refused (D54)."""
    monkeypatch.chdir(tmp_path)
    Path("p.toml").write_text(
        '[tensors.x]\nspace = "hbm"\nshape = [8]\ndtype = "bfloat16"\n'
        '[tensors.y]\nspace = "hbm"\nshape = [8]\ndtype = "bfloat16"\n' + transfer("t", "x", "y")
    )
    values = np.arange(8, dtype=np.float32)
    np.save("v.npy", values.astype(ml_dtypes.bfloat16))
    assert np.load("v.npy").dtype == np.dtype("V2")
    assert run_cli(["run", "p.toml", "--in", "x=v.npy", "--out", "y=y.npy"]) == 0
    assert np.load("y.npy").view(ml_dtypes.bfloat16).astype(np.float32).tolist() == values.tolist()
    np.save("f.npy", values)
    capsys.readouterr()
    assert run_cli(["run", "p.toml", "--in", "x=f.npy", "--out", "z=y.npy"]) == 2
    assert run_cli(["run", "p.toml", "--in", "x=f.npy"]) == 3
    assert "dec.D54" in capsys.readouterr().err

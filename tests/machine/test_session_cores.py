"""Semaphores are one set for a program, whichever core executes (D42): both paths bump it, waits see it."""

from __future__ import annotations

import numpy as np
import pytest

from dgekit.api import Device
from dgekit.core.dtypes import dtype_named
from dgekit.core.generations import CAYMAN
from dgekit.machine.session import run_workload
from dgekit.transfers.transfer import Access, Tensor, Transfer, Wait, Workload


@pytest.mark.parametrize(("mode", "total"), [("unknown", 1), ("none", 16)])
def test_a_wait_sees_what_another_core_counted(mode, total):
    u8 = dtype_named("uint8")
    tensors = (
        Tensor("x", "hbm", (4, 64), u8, init="arange"),
        Tensor("y", "sbuf", (4, 64), u8, core=1),
        Tensor("z", "hbm", (4, 64), u8),
    )
    first = Transfer("first", "copy", Access("x"), Access("y"), mode, semaphore=9)
    second = Transfer("second", "copy", Access("y"), Access("z"), mode, wait=(Wait(9, total),), engine="act")
    result, session = run_workload(Workload(CAYMAN, tensors, (second, first)))
    assert result.ok, result.issues
    assert dict(result.semaphores) == {9: total}
    assert np.array_equal(session.tensor_array("z"), session.tensor_array("x"))


@pytest.mark.parametrize("mode", ["unknown", "swdge", "none"])
@pytest.mark.parametrize(
    ("core", "m2s", "s2m"),  # rings E11: engine 0 of a core, queue 0
    [(0, 0x1002001038, 0x1002021038), (1, 0x1003001038, 0x1003021038)],
)
def test_the_engines_are_those_of_the_core_that_executes(mode, core, m2s, s2m):
    """D41: the SBUF leg's core executes; its own engines are rung, and its Q7 line names the same doorbells."""
    device = Device("trn2")
    x = device.hbm(np.arange(32, dtype=np.uint8).reshape(8, 4))
    done = device.copy(device.sbuf((8, 4), "uint8", core=core), x, mode=mode)
    assert done.status == "done"
    rung = [(event.data["leg"], event.data["address"]) for event in done.events if event.name == "doorbell"]
    assert set(rung) == {("S2M", s2m), ("M2S", m2s)} or (mode == "none" and rung[:2] == [("S2M", s2m), ("M2S", m2s)])
    lines = [line.partition("trigger addr = ")[2][:10] for line in device.log if "trigger addr" in line]
    assert lines == ([f"{s2m & 0xFFFFFFFF:#010x}", f"{m2s & 0xFFFFFFFF:#010x}"] if mode == "swdge" else [])


def test_each_core_has_its_own_contexts():
    """Slots, ids and rings are counted core by core; the rings lie in the core's own DGE_MEMORY (rings 4.2)."""
    device = Device("trn2")
    x = device.hbm(np.zeros((1, 4), np.uint8))
    for core in (0, 1, 1):
        device.copy(device.sbuf((1, 4), "uint8", core=core), x)
    lines = [line for line in device.log if "contexts" in line or "rx.base" in line]
    contexts = "S: DGE contexts 0x0/0x1 init sw=0 engine=0 queue_idx=0 queue_num=16"
    bases = [f"S: rx.base={base + 0x10000:#x}, tx.base={base:#x}" for base in (0x2040000000, 0x3040000000)]
    assert lines == [contexts, bases[0], contexts, bases[1]]

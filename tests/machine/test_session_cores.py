"""Semaphores are one set for a program, whichever core executes (D42): both paths bump it, waits see it."""

from __future__ import annotations

import numpy as np
import pytest

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

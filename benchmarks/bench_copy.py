"""64 MiB from HBM to HBM in rows of 2 KiB, destination pitch 4 KiB, through every stage, against `np.copyto`."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from measuring import Measure, best_of_both

from dgekit import Device

ROWS, ROW, PITCH = 32768, 2048, 4096


def measures(tries: int = 7) -> Iterator[Measure]:
    source = np.random.default_rng(0).integers(0, 256, (ROWS, ROW), dtype=np.uint8)
    plain = np.zeros((ROWS, PITCH), np.uint8)
    device = Device("trn2")
    src = device.hbm(source, name="src")
    dst = device.hbm(shape=(ROWS, PITCH), dtype="uint8", name="dst")
    part = dst.at([[PITCH, ROWS], [1, ROW]])

    def through_every_stage() -> None:
        done = device.copy(part, src)
        assert done.ok and done.words and done.program and done.descriptors.channels

    theirs, ours = best_of_both(lambda: np.copyto(plain[:, :ROW], source), through_every_stage, tries)
    assert (dst.numpy()[:, :ROW] == source).all()
    yield Measure("np.copyto, 64 MiB in 2 KiB rows", 1000 * theirs, "ms")
    yield Measure("the same copy through every stage", 1000 * ours, "ms")
    yield Measure("ratio", ours / theirs, "x copyto", floor=3.0)

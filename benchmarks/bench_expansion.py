"""Runs to 16-byte descriptors: 32768 runs of 2 KiB, the shape of the 64 MiB copy, and unequal cuts of both legs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from measuring import Measure, best

from dgekit.core.generations import generation_named
from dgekit.descriptors.batch import ChannelWork
from dgekit.descriptors.expand import expand
from dgekit.patterns.runs import Runs

BASE = 0x1000_0000


def measures(tries: int = 7) -> Iterator[Measure]:
    chip = generation_named("trn2")
    rows = Runs.of(2 * BASE + 4096 * np.arange(32768), 2048)
    uniform = ChannelWork(0, Runs.of([BASE], 64 << 20), rows)
    lengths = np.random.default_rng(2).integers(1, 4096, 20_000)
    starts = BASE + np.concatenate(([0], np.cumsum(lengths + 64)[:-1]))
    ragged = ChannelWork(0, Runs.of(starts, lengths), Runs.of([1 << 31], int(lengths.sum())))
    for name, work, floor in (("32768 runs of 2 KiB", uniform, 5.0), ("20000 runs of random length", ragged, None)):
        batch = expand([work], chip, 65536, barrier_last=False)
        took = best(lambda work=work: expand([work], chip, 65536, barrier_last=False), tries)
        yield Measure(f"expansion of {name}", 1000 * took, "ms", floor=floor)
        yield Measure("  descriptors of both legs", (batch.m2s_count + batch.s2m_count) / took / 1e6, "million/s")

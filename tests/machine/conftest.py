"""What the machine tests share: the spec's data, a small memory, and BDs built by hand from the documented bits."""

import json
from pathlib import Path

import numpy as np
import pytest

from dgekit.core.generations import CAYMAN
from dgekit.machine.engine import Engine
from dgekit.machine.memory import Memory
from dgekit.machine.ring import Ring

GOLDEN = Path(__file__).parents[1] / "golden" / "spec" / "rings.json"
HBM = 0x10000000


@pytest.fixture(scope="session")
def rings():
    return json.loads(GOLDEN.read_text())


def _bds(rows):
    """(n, 4) u32 from (word0, word1, address)."""
    return np.array([[w0, w1, a & 0xFFFFFFFF, a >> 32] for w0, w1, a in rows], np.uint32).reshape(-1, 4)


def _packet(src, dst, word1=0x01080003, flags=0):
    """M2S and S2M columns of one copy packet: lists of (address, length); FIRST is bit 26, LAST bit 27, CONCAT 31."""
    m2s = []
    for i, (address, length) in enumerate(src):
        word0 = length % 65536 | (1 << 26 if i == 0 else 1 << 31) | (1 << 27 if i == len(src) - 1 else 0) | flags
        m2s.append((word0, word1 if i == 0 else 0, address))
    return _bds(m2s), _bds([(length % 65536, 0, address) for address, length in dst])


@pytest.fixture(scope="session")
def bds():
    return _bds


@pytest.fixture(scope="session")
def packet():
    return _packet


@pytest.fixture
def memory():
    """CAYMAN with 4 KiB of HBM at 0x10000000 that hold 0, 1, 2, ... modulo 251."""
    made = Memory(CAYMAN)
    made.add(HBM, (np.arange(4096) % 251).astype(np.uint8), "block")
    return made


@pytest.fixture(scope="session")
def make_engine():
    def make(memory, *, length=32, queues=(0,), **options):
        engine = Engine(0, memory.generation, memory, **options)
        for queue in queues:
            engine.add_queue(queue, Ring("M2S", 0x2040000000, length), Ring("S2M", 0x2040010000, length))
        engine.arm()
        return engine

    return make


@pytest.fixture(scope="session")
def push():
    def push(engine, packet, queue=0, side=None):
        pair = engine.queues[queue]
        m2s, s2m = packet
        if len(s2m):
            pair.s2m.store(s2m)
            pair.s2m.doorbell(len(s2m))
        if len(m2s):
            pair.m2s.store(m2s, side)
            pair.m2s.doorbell(len(m2s))

    return push

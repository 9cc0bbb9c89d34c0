"""A ring of 32 under random packets, partial doorbells, steps and drains: two engines and a plain oracle agree."""

from collections import deque

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from dgekit.core.generations import SUNDA
from dgekit.machine.engine import Engine
from dgekit.machine.memory import Memory
from dgekit.machine.ring import Ring

HBM = 0x10000000
SIZE = 96
LENGTH = 32


def built():
    memory = Memory(SUNDA)  # checks ring ids
    memory.add(HBM, bytes(range(SIZE)), "block")
    engine = Engine(0, SUNDA, memory)
    engine.add_queue(0, Ring("M2S", 0, LENGTH), Ring("S2M", 0, LENGTH))
    engine.arm()
    return engine


def cut(draw, total):
    """A list of 1 to 4 lengths with that sum."""
    ends = sorted(draw(st.sets(st.integers(1, total), max_size=3)) | {total})
    return [b - a for a, b in zip([0, *ends], ends, strict=False)]


class RingMachine(RuleBasedStateMachine):
    """`slow` steps packet by packet, `fast` drains; the oracle moves bytes of a bytearray as the text of 2.10 says."""

    def __init__(self):
        super().__init__()
        self.slow, self.fast = built(), built()
        self.bytes = bytearray(range(SIZE))
        self.unrung = {"M2S": 0, "S2M": 0}
        self.stored = deque()  # packets that are not executed yet: runs of both legs
        self.done = {"M2S": 0, "S2M": 0}

    def rings(self, leg):
        return [engine.queues[0].ring(leg) for engine in (self.slow, self.fast)]

    @rule(data=st.data())
    def store(self, data):
        total = data.draw(st.integers(1, 12))
        src, dst = cut(data.draw, total), cut(data.draw, total)
        if any(len(cuts) > ring.free for leg, cuts in (("M2S", src), ("S2M", dst)) for ring in self.rings(leg)):
            return
        places = [[data.draw(st.integers(0, SIZE - n)) for n in cuts] for cuts in (src, dst)]
        word0 = [n | (i == 0) << 26 | (i == len(src) - 1) << 27 for i, n in enumerate(src)]
        m2s = np.array([[w, 0x01080003, HBM + a, 0] for w, a in zip(word0, places[0], strict=True)], np.uint32)
        s2m = np.array([[n, 0, HBM + a, 0] for n, a in zip(dst, places[1], strict=True)], np.uint32)
        for leg, bds in (("M2S", m2s), ("S2M", s2m)):
            for ring in self.rings(leg):
                ring.store(bds)
            self.unrung[leg] += len(bds)
        self.stored.append((list(zip(places[0], src, strict=True)), list(zip(places[1], dst, strict=True))))

    @precondition(lambda self: any(self.unrung.values()))
    @rule(data=st.data(), leg=st.sampled_from(["M2S", "S2M"]))
    def doorbell(self, data, leg):
        if not self.unrung[leg]:
            return
        count = data.draw(st.integers(1, self.unrung[leg]))
        for ring in self.rings(leg):
            ring.doorbell(count)
        self.unrung[leg] -= count

    @rule()
    def run(self):
        while self.slow.step().packets:
            pass
        self.fast.drain(0)
        self.oracle()

    @rule()
    def one_step(self):
        moved = self.slow.step(0).packets
        if moved:
            self.run()

    def oracle(self):
        """Execute every stored packet whose BDs are all announced on both legs."""
        announced = {leg: self.rings(leg)[0].tail - self.done[leg] for leg in self.done}
        while self.stored:
            src, dst = self.stored[0]
            if len(src) > announced["M2S"] or len(dst) > announced["S2M"]:
                return
            self.stored.popleft()
            for leg, runs in (("M2S", src), ("S2M", dst)):
                announced[leg] -= len(runs)
                self.done[leg] += len(runs)
            payload = b"".join(bytes(self.bytes[a : a + n]) for a, n in src)
            for a, n in dst:
                self.bytes[a : a + n], payload = payload[:n], payload[n:]

    @invariant()
    def pointers_agree(self):
        for leg in ("M2S", "S2M"):
            for ring in self.rings(leg):
                assert ring.current <= ring.head <= ring.tail <= ring.produced <= ring.current + LENGTH
                assert ring.full == (ring.used == LENGTH)
                assert ring.empty == (ring.head_word == ring.tail_word)

    def teardown(self):
        self.run()
        for engine in (self.slow, self.fast):
            assert engine.memory.read(HBM, SIZE) == bytes(self.bytes)
            pair = engine.queues[0]
            assert (pair.m2s.head, pair.s2m.head) == (self.done["M2S"], self.done["S2M"])


RingMachine.TestCase.settings = settings(max_examples=40, stateful_step_count=40, deadline=None)
TestRing = RingMachine.TestCase

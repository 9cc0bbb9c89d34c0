"""Legs between cores on a device: bytes, semaphores, rings, refusals (pipeline 3.7, rings 7, decision D77)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from dgekit.api import Device
from dgekit.core.generations import CAYMAN, MARIANA_PLUS, MAVERICK
from dgekit.machine.fabric import Fabric
from dgekit.transfers.transfer import MachineInit
from dgekit.words.structs import (
    Addr4Immediate,
    Addr4Reg,
    Events,
    ExtendedRdmaDescGen,
    ExtendedRdmaDescStart,
    UpdateMode,
    WaitMode,
)
from dgekit.words.word import Word

WORDS = json.loads((Path(__file__).parents[1] / "golden" / "spec" / "isa-words.json").read_text())["examples"]
J, K = (bytes.fromhex(next(text for name, text in WORDS.items() if name.startswith(letter))) for letter in ("J ", "K "))
START = ExtendedRdmaDescStart()


def generate(**fields: object) -> ExtendedRdmaDescGen:
    """A leg from core 0 to core 1 over one engine, unless told otherwise."""
    base = {
        "local_sem": 20,
        "remote_sem": 21,
        "remote_core_id": 1,
        "dma_engine_mask": 1,
        "src_addr": 0x1000,
        "dst_addr": 0x2000,
        "free_dim_bytes": 64,
    } | fields
    for name in ("src_addr", "dst_addr"):
        if isinstance(base[name], int):
            base[name] = Addr4Immediate(addr_immediate=base[name])
    return ExtendedRdmaDescGen(**base)


def both(*words: Word) -> bytes:
    return b"".join(word.encode() for word in words)


@dataclass
class Sbuf:
    """The SBUF of one core of a device as (128, active bytes)."""

    device: Device
    core: int

    def _runs(self) -> tuple[np.ndarray, np.ndarray]:
        generation = self.device.generation
        starts = generation.sbuf_base(self.core) + np.arange(128) * generation.partition_stride
        return starts, np.full(128, generation.active_bytes)

    def rows(self) -> np.ndarray:
        return self.device.session.machine.memory.peek(*self._runs()).reshape(128, -1)

    def fill(self, seed: int) -> None:
        data = np.random.default_rng(seed).integers(0, 256, 128 * self.device.generation.active_bytes, np.uint8)
        self.device.session.machine.memory.scatter(*self._runs(), data)

    def semaphores(self) -> dict[int, int]:
        return self.device.session.machine.memory.semaphores_of(self.core).nonzero()


def filled(device: Device, core: int, seed: int = 1) -> Sbuf:
    """An SBUF with random bytes everywhere."""
    found = Sbuf(device, core)
    found.fill(seed)
    return found


def refused(device: Device, words: bytes, **options: object) -> tuple[str, ...]:
    done = device.run_words(words, **options)
    assert done.status == "refused", done.status
    return tuple(issue.rule for issue in done.issues if issue.severity == "error")


@pytest.mark.parametrize("engines", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("nbytes", [0, 1, 64, 4096, 65536, 65537, 150_000])
def test_the_bytes_of_all_partitions_arrive_and_nothing_else_changes(engines, nbytes):
    device = Device("trn2")
    source, target = filled(device, 0), filled(device, 1, seed=2)
    expected = target.rows().copy()
    expected[:, 0x2000 : 0x2000 + nbytes] = source.rows()[:, 0x1000 : 0x1000 + nbytes]
    before = source.rows()[:, : CAYMAN.active_bytes - 64].copy()
    mask = sum(1 << dma for dma in range(0, 16, 16 // engines))
    done = device.run_words(both(generate(dma_engine_mask=mask, free_dim_bytes=nbytes), START))
    assert done.ok, done.issues
    assert np.array_equal(target.rows(), expected)
    assert np.array_equal(source.rows()[:, : CAYMAN.active_bytes - 64], before)
    assert (source.semaphores(), target.semaphores()) == ({20: engines}, {21: engines})
    # one BD a partition and chunk of 64 KiB on both legs, then the two semaphore BDs of each engine
    chunks = -(-nbytes // 65536)
    assert done.descriptors.m2s_count == done.descriptors.s2m_count == 128 * chunks + 2 * engines
    assert [channel.dma for channel in done.descriptors.channels] == list(range(0, 16, 16 // engines))


def test_engines_take_contiguous_blocks_in_the_order_of_the_mask():
    device = Device("trn2")
    done = device.run_words(both(generate(dma_engine_mask=0b1010_0000_0000_0101, free_dim_bytes=70_000), START))
    for block, channel in enumerate(done.descriptors.channels):
        low, high = (channel.m2s[:, column].astype(np.int64) for column in (2, 3))
        starts = (low | high << 32)[:-2]
        partitions = np.arange(32 * block, 32 * block + 32) * 0x40000
        first, second = 0x2000001000 + partitions, 0x2000001000 + 65536 + partitions
        assert starts.tolist() == [*first.tolist(), *second.tolist()]
        assert (channel.m2s[:-2, 0] & 0xFFFF).tolist() == [0] * 32 + [70_000 - 65536] * 32  # 0 stands for 65536


def test_destinations_carry_the_routing_bits_and_the_last_data_packet_a_barrier():
    device = Device("trn2", chip_id=5)
    done = device.run_words(both(generate(remote_core_id=6, remote_routing_id=5, free_dim_bytes=16), START))
    (channel,) = done.descriptors.channels
    addresses = [int(low) | int(high) << 32 for low, high in channel.s2m[:, 2:].tolist()]
    routed = 1 << 54 | 5 << 48
    assert addresses[0] == routed | 0x806000002000
    assert addresses[-2:] == [0x2802701800 + 4 * 20, routed | 0x806000000000 + 0x802701800 + 4 * 21]
    starts = channel.packets["m2s_first"]
    barriers = channel.m2s[starts, 1] >> 26 & 1
    assert barriers.tolist() == [*([0] * (len(starts) - 3)), 1, 0, 0]


def test_all16_counts_the_local_semaphore_on_every_engine():
    device = Device("trn2", {"rdma_local_sem": "all16"})
    done = device.run_words(both(generate(dma_engine_mask=0xF0), START))
    assert done.ok
    assert (Sbuf(device, 0).semaphores(), Sbuf(device, 1).semaphores()) == ({20: 16}, {21: 4})
    assert len(done.descriptors.channels) == 16


def test_a_leg_runs_from_any_core_and_counts_on_that_core():
    device = Device("trn2")
    source, target = filled(device, 6), Sbuf(device, 3)
    done = device.run_words(both(generate(remote_core_id=3), START), core=6)
    assert done.ok
    assert np.array_equal(target.rows()[:, 0x2000:0x2040], source.rows()[:, 0x1000:0x1040])
    assert source.semaphores() == {20: 1} and target.semaphores() == {21: 1}
    assert device.session.finish().core_semaphores == {3: {21: 1}, 6: {20: 1}}
    assert device.semaphores == {}


def test_golden_words_between_two_devices():
    fabric = Fabric()
    here, there = Device("trn2", fabric=fabric), Device("trn2", chip_id=2, fabric=fabric)
    source, target = filled(here, 0), Sbuf(there, 1)
    here.session.set_state(MachineInit(semaphores={20: 4}))  # the buffer is free: an earlier leg's reads are done
    assert here.run_words(J).ok and here.run_words(K).ok
    assert np.array_equal(target.rows()[:, 0x2000:0x2200], source.rows()[:, 0x1000:0x1200])
    assert (source.semaphores(), target.semaphores()) == ({20: 8}, {21: 4})
    assert Sbuf(here, 1).semaphores() == {} and not Sbuf(here, 1).rows()[:, 0x2000:0x2200].any()


def test_a_start_waits_as_its_events_say():
    device = Device("trn2", chip_id=2)
    assert device.run_words(J).ok
    assert device.run_words(K).status == "skipped"
    assert device.session.issues[-1].rule == "run.deadlock"
    device.session.set_state(MachineInit(semaphores={20: 4}))
    assert device.run_words(K).ok


def test_later_words_of_one_call_wait_and_update_too():
    device = Device("trn2", chip_id=2)
    assert refused(device, J + K) == ("run.wait",)
    device = Device("trn2")
    update = Events(update_mode=UpdateMode.SEM_ADD_IMM_COMPLETE, update_idx=30, semaphore_value=5)
    done = device.run_words(both(generate(), ExtendedRdmaDescStart(events=update)), core=2)
    assert done.ok and Sbuf(device, 2).semaphores() == {20: 1, 30: 5}


def test_events_of_a_word_name_the_semaphores_of_its_core():
    device = Device("trn2")
    device.session.set_state(MachineInit(semaphores={20: 9}))
    wait = Events(wait_mode=WaitMode.WAIT_FOR_SEM_GE_IMM, wait_idx=20, semaphore_value=1)
    word = generate(events=wait)
    assert device.run_words(both(word)).ok
    assert device.run_words(both(word), core=1).status == "skipped"
    assert "semaphore 20 of core 1" in device.session.issues[-1].message


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        ({"dma_engine_mask": 0b111}, "pipeline.3.7.mask"),
        ({"dma_engine_mask": 0}, "pipeline.3.7.mask"),
        ({"dma_engine_mask": 1 << 16}, "pipeline.3.7.mask"),
        ({"remote_core_id": 8}, "pipeline.3.7.core"),
        ({"remote_routing_id": 64}, "dec.D77.routing"),
        ({"remote_routing_id": 1}, "fabric.unknown"),
        ({"is_bidirectional": 1}, "isa.4.8.bidirectional"),
        ({"src_addr": 1 << 25}, "pipeline.3.7.sbuf"),
        ({"dst_addr": 1 << 18}, "pipeline.3.7.sbuf"),
        ({"src_addr": 1 << 26}, "pipeline.3.7.sbuf"),
        ({"src_addr": 1 << 23}, "pipeline.3.7.partition"),
        ({"src_addr": 1 << 30}, "pipeline.3.7.address"),
        ({"src_addr": 0x37FC1, "free_dim_bytes": 64, "dst_addr": 0}, "pipeline.3.7.bytes"),
        ({"dst_addr": 0x37F81}, "pipeline.3.7.bytes"),
        ({"src_addr": Addr4Reg(regnum=64)}, "isa.1.5.reg_num"),
        ({"remote_core_id": 0, "dst_addr": 0x1020}, "pipeline.3.7.overlap"),
    ],
)
def test_what_a_leg_refuses(fields, rule):
    device = Device("trn2")
    assert rule in refused(device, both(generate(**fields)))
    assert not Sbuf(device, 1).semaphores() and device.semaphores == {}
    assert refused(device, START.encode()) == ("pipeline.3.7.start",)


def test_the_last_bytes_of_a_partition_are_kept_for_semaphore_words():
    device = Device("trn2")
    source, target = filled(device, 0), Sbuf(device, 1)
    done = device.run_words(both(generate(src_addr=0x37FC0, dst_addr=0x37F80), START))
    assert done.ok and np.array_equal(target.rows()[1:8, 0x37F80:0x37FC0], source.rows()[1:8, 0x37FC0:0x38000])


def test_a_leg_within_one_core_copies_beside_itself():
    device = Device("trn2")
    source = filled(device, 0)
    expected = source.rows()[:, 0x1000:0x1040].copy()
    assert device.run_words(both(generate(remote_core_id=0, dst_addr=0x1040), START)).ok
    assert np.array_equal(source.rows()[:, 0x1040:0x1080], expected)
    assert device.semaphores == {20: 1, 21: 1}


def test_addresses_and_operands_come_from_registers():
    device = Device("trn2", {"imm_val_field": "register"})
    device.set_registers({3: 4, 4: 0, 5: 0xFFFF, 6: 0x3000})
    source, target = filled(device, 0), Sbuf(device, 4)
    word = generate(remote_core_id=3, remote_routing_id=4, dma_engine_mask=5, src_addr=Addr4Reg(regnum=6))
    assert device.run_words(both(word, START)).ok
    assert np.array_equal(target.rows()[:, 0x2000:0x2040], source.rows()[:, 0x3000:0x3040])
    assert target.semaphores() == {21: 16}


def test_an_operand_names_a_register_that_exists():
    device = Device("trn2", {"imm_val_field": "register"})
    assert "isa.C8" in refused(device, both(generate(remote_core_id=64)))


def test_one_generated_leg_a_core():
    device = Device("trn2")
    assert device.run_words(both(generate())).ok
    assert refused(device, both(generate())) == ("pipeline.3.7.pending",)
    assert device.run_words(both(generate()), core=1).ok
    assert device.run_words(START.encode()).ok and device.run_words(START.encode(), core=1).ok
    assert Sbuf(device, 1).semaphores() == {20: 1, 21: 2}
    assert refused(device, START.encode()) == ("pipeline.3.7.start",)


def test_a_ring_that_is_too_short_is_a_count_mismatch_and_stops_the_stream():
    device = Device("trn2", {"ring_size": 32})
    target = Sbuf(device, 1)
    words = both(generate(dma_engine_mask=0xF), START)
    done = device.run_words(words)
    assert done.status == "refused" and "pipeline.3.7.count" in {issue.rule for issue in done.issues}
    text = "ERROR: DescriptorStream wrote 32 descriptors, expected 34"
    assert done.log[-1] == f"P0: {text}" and sum(text in line for line in done.log) == 1
    assert not target.rows().any() and target.semaphores() == {} and device.semaphores == {}
    # nothing is left in the rings: a shorter leg goes through
    assert device.run_words(both(generate(dma_engine_mask=0xFF), START)).ok
    assert target.semaphores() == {21: 8}


def test_an_odd_processor_for_the_receive_rings_is_a_role_mismatch():
    device = Device("trn2", {"rdma_prid": 1})
    done = device.run_words(both(generate(), START))
    assert done.status == "refused" and "pipeline.3.7.role" in {issue.rule for issue in done.issues}
    assert done.log[-1] == "P1: ERROR: DescriptorStream wrote 130 descriptors, expected 130"
    assert done.result.outcomes[-1].fatal and device.semaphores == {}


def test_an_even_processor_further_up_is_fine():
    device = Device("trn2", {"rdma_prid": 6})
    done = device.run_words(both(generate(), START))
    assert done.ok and {line[:3] for line in done.log} == {"P6:", "P7:"}


def test_rings_wrap_and_legs_follow_one_another():
    device = Device("trn2", {"ring_size": 144})
    source, target = filled(device, 0), Sbuf(device, 1)
    for turn in range(5):
        done = device.run_words(both(generate(src_addr=0x1000 + 64 * turn, dst_addr=64 * turn), START))
        assert done.ok, done.issues
    assert np.array_equal(target.rows()[:, :320], source.rows()[:, 0x1000 : 0x1000 + 320])
    assert target.semaphores() == {21: 5}
    assert any(event.name == "wrap" for event in device.session.events)


def test_the_descriptors_lie_in_the_rings_from_generate_on():
    device = Device("trn2")
    assert device.run_words(both(generate())).ok
    pair = device.session.machine.queue(0, 15)
    assert (pair.m2s.tail, pair.s2m.tail) == (0, 0)
    stored = np.frombuffer(pair.m2s.dump(), "<u4").reshape(-1, 4)[:130].copy()
    done = device.run_words(START.encode())
    assert stored[:, 2:].any(axis=1).all() and done.ok and (pair.m2s.tail, pair.m2s.head) == (130, 130)
    assert np.array_equal(np.frombuffer(pair.m2s.dump(), "<u4").reshape(-1, 4)[:130], stored)
    doorbells = [event.data for event in done.events if event.name == "doorbell"]
    assert [(bell["leg"], bell["count"]) for bell in doorbells] == [("S2M", 130), ("M2S", 130)]


def test_sunda_refuses_and_other_generations_run():
    assert refused(Device("trn1"), both(generate())) == ("dec.D77",)
    assert refused(Device("trn1"), START.encode()) == ("dec.D77",)
    for generation in (MARIANA_PLUS, MAVERICK):
        device = Device(generation)
        source, target = filled(device, 0), Sbuf(device, 1)
        done = device.run_words(both(generate(dma_engine_mask=0xFF), START))
        assert done.ok, done.issues
        assert np.array_equal(target.rows()[:, 0x2000:0x2040], source.rows()[:, 0x1000:0x1040])
        assert bool(done.log) is (generation is MARIANA_PLUS)
    assert "pipeline.3.7.mask" in refused(Device(MAVERICK), both(generate(dma_engine_mask=0x100)))


def test_with_the_rdm_model_the_processors_still_write_their_rings():
    device = Device("trn2", {"rdm": True})
    assert device.run_words(both(generate(), START)).ok


def test_a_read_of_unwritten_bytes_is_found_when_the_leg_starts():
    device = Device("trn2", {"uninitialised": "fault"})
    done = device.run_words(both(generate(), START))
    assert done.status == "refused" and "memory.uninitialised" in {issue.rule for issue in done.issues}
    assert device.run_words(both(generate(free_dim_bytes=0), START)).ok


def test_a_word_that_breaks_a_header_rule_is_illegal():
    device = Device("trn2")
    done = device.run_words(bytes([0xF0, 0x11]) + generate().encode()[2:])
    assert done.status == "refused" and done.result.outcomes[-1].fatal
    assert done.log[-1] == "S: ErrorHandler : Illegal Instruction(0xf0)"


def test_a_core_that_does_not_exist_is_refused():
    assert "dec.D41" in refused(Device("trn2"), both(generate()), core=8)


def test_the_rings_lie_in_the_queue_of_choice():
    device = Device("trn2", {"rdma_ring": 3})
    done = device.run_words(both(generate(), START))
    assert done.ok and {channel.queue for channel in done.descriptors.channels} == {3}
    assert any("ring_num=3" in line for line in done.log)
    assert refused(Device("trn2", {"rdma_ring": 16}), both(generate(), START)) == ("rings.2.1",)


def test_a_leg_shares_a_queue_with_other_transfers():
    """Words of the DGE use queue 0: what lies there unannounced goes behind them at the start."""
    device = Device("trn2", {"rdma_ring": 0})
    source, target = filled(device, 0), Sbuf(device, 1)
    assert device.run_words(both(generate())).ok
    x = device.hbm(np.arange(512, dtype=np.uint8).reshape(4, 128))
    y = device.hbm(shape=(4, 128), dtype="uint8")
    assert device.copy(y, x).ok and np.array_equal(y.numpy(), x.numpy())
    assert device.run_words(START.encode()).ok
    assert np.array_equal(target.rows()[:, 0x2000:0x2040], source.rows()[:, 0x1000:0x1040])

"""SB2SB words as legs: which bytes move for LNC1 and LNC2, what is refused, the lines (pipeline 3.7, 7.3; D77)."""

from __future__ import annotations

import numpy as np
import pytest

from dgekit.api import Device
from dgekit.core.generations import CAYMAN, MARIANA, MAVERICK
from dgekit.words.structs import Addr4Immediate, Dtype, S3D3Collective, Tensor3D

ROW = 0x4_0000


def pattern(start: int = 0, *dims: tuple[int, int]) -> Tensor3D:
    """A pattern of (step in bytes, count) pairs, fastest first."""
    full = (*dims, *((1, 1),) * (3 - len(dims)))
    return Tensor3D(
        start_addr=Addr4Immediate(addr_immediate=start),
        step_elem=tuple(step for step, _ in full),
        num_elem=tuple(count for _, count in full),
    )


def collective(**fields: object) -> S3D3Collective:
    """64 BF16 of every partition, from byte 0x100 to byte 0x800 of the other core of the pair."""
    base = {
        "in_dtype": Dtype.BFLOAT16,
        "out_dtype": Dtype.BFLOAT16,
        "src_mem_pattern": pattern(0x100, (2, 64)),
        "dst_mem_pattern": pattern(0x800, (2, 64)),
        "lnc_size_fmt": 2,
        "num_active_channels": 128,
    }
    return S3D3Collective(**(base | fields))


class Cores:
    """A device whose first KiBs of every partition of every core hold random bytes."""

    BYTES = 8192

    def __init__(self, generation=CAYMAN, choices=None, **options) -> None:
        self.device = Device(generation, choices, **options)
        self.memory = self.device.session.machine.memory
        self.before = [np.random.default_rng(core).integers(0, 256, (128, self.BYTES), np.uint8) for core in range(8)]
        for core, rows in enumerate(self.before):
            self.memory.scatter(*self._runs(core), rows.reshape(-1))

    def _runs(self, core: int) -> tuple[np.ndarray, np.ndarray]:
        stride = self.device.generation.partition_stride
        return self.device.generation.sbuf_base(core) + np.arange(128) * stride, np.full(128, self.BYTES)

    def now(self, core: int) -> np.ndarray:
        return self.memory.peek(*self._runs(core)).reshape(128, -1)

    def semaphores(self) -> dict[int, dict[int, int]]:
        found = {core: self.memory.semaphores_of(core).nonzero() for core in range(8)}
        return {core: values for core, values in found.items() if values}

    def expect(self, target: int, rows: slice, places: np.ndarray, data: np.ndarray) -> None:
        """`data` lies at `places` of `rows` of core `target`, all else is as it was."""
        wanted = [one.copy() for one in self.before]
        wanted[target][rows, places] = data
        for core in range(8):
            assert np.array_equal(self.now(core), wanted[core]), core


@pytest.mark.parametrize(
    ("core", "choices", "lnc", "target"),
    [
        (0, {}, 2, 1),
        (1, {}, 2, 0),
        (6, {}, 2, 7),
        (5, {"sb2sb_peer": "xor2"}, 2, 7),
        (3, {}, 1, 3),
        (2, {"lnc_size_fmt": "index"}, 1, 3),
        (2, {"lnc_size_fmt": "index"}, 0, 2),
    ],
)
def test_the_peer_gets_the_bytes(core, choices, lnc, target):
    cores = Cores(choices=choices)
    done = cores.device.run_words(collective(lnc_size_fmt=lnc).encode(), core=core)
    assert done.ok, done.issues
    cores.expect(target, slice(0, 128), np.arange(0x800, 0x880), cores.before[core][:, 0x100:0x180])
    counts = {core: {254: 16}} | {target: {255: 16}} if core != target else {core: {254: 16, 255: 16}}
    assert cores.semaphores() == counts


def test_strided_patterns_of_some_channels_in_a_quadrant():
    """24 channels from partition 32 on to partitions from 96 on; 2 x 3 x 4 FP32, their steps in any order."""
    cores = Cores()
    src = pattern(1 << 23 | 0x40, (64, 4), (4, 3), (1024, 2))
    dst = pattern(3 << 23 | 0x1000, (-8, 4), (32, 3), (512, 2))
    word = collective(
        in_dtype=Dtype.FP32, out_dtype=Dtype.FP32, src_mem_pattern=src,
        dst_mem_pattern=pattern(3 << 23 | 0x1020, (-8, 4), (32, 3), (512, 2)), num_active_channels=24,
    )  # fmt: skip
    assert dst.num_elem == src.num_elem
    done = cores.device.run_words(word.encode())
    assert done.ok, done.issues
    reads = [0x40 + 64 * x + 4 * y + 1024 * z for z in range(2) for y in range(3) for x in range(4)]
    writes = [0x1020 - 8 * x + 32 * y + 512 * z for z in range(2) for y in range(3) for x in range(4)]
    from_bytes, to_bytes = ([at + k for at in places for k in range(4)] for places in (reads, writes))
    data = cores.before[0][32:56][:, from_bytes]
    wanted = cores.before[1].copy()
    for row in range(24):
        wanted[96 + row, to_bytes] = data[row]
    assert np.array_equal(cores.now(1), wanted)
    assert cores.semaphores() == {0: {254: 8}, 1: {255: 8}}  # 8 engines divide 24 channels


@pytest.mark.parametrize(
    ("channels", "choices", "engines"),
    [(1, {}, 1), (2, {}, 2), (96, {}, 16), (100, {}, 4), (127, {}, 1), (128, {"sb2sb_engines": 5}, 4)],
)
def test_engines_divide_the_channels(channels, choices, engines):
    cores = Cores(choices=choices)
    done = cores.device.run_words(collective(num_active_channels=channels).encode())
    assert done.ok and cores.semaphores()[1] == {255: engines}
    cores.expect(1, slice(0, channels), np.arange(0x800, 0x880), cores.before[0][:channels, 0x100:0x180])


def test_only_engines_that_register_40_allows():
    cores = Cores()
    cores.device.set_local_registers({40: 0x1_00F0})
    done = cores.device.run_words(collective().encode())
    assert done.ok and {channel.dma for channel in done.descriptors.channels} == {4, 5, 6, 7}


def test_steps_in_elements():
    cores = Cores(choices={"step_unit": "elements"})
    word = collective(src_mem_pattern=pattern(0x100, (1, 64)), dst_mem_pattern=pattern(0x800, (2, 64)))
    assert cores.device.run_words(word.encode()).ok
    places = [0x800 + 4 * n + k for n in range(64) for k in range(2)]
    cores.expect(1, slice(0, 128), np.array(places), cores.before[0][:, 0x100:0x180])


def test_semaphores_of_choice():
    cores = Cores(choices={"sb2sb_sems": 30})
    assert cores.device.run_words(collective().encode()).ok
    assert cores.semaphores() == {0: {30: 16}, 1: {31: 16}}


@pytest.mark.parametrize(
    ("fields", "choices", "rule"),
    [
        ({"lnc_size_fmt": 4}, {}, "sb2sb.lnc"),
        ({"lnc_size_fmt": 0}, {}, "sb2sb.lnc"),
        ({"num_active_channels": 0}, {}, "isa.3.17.channels"),
        ({"num_active_channels": 129}, {}, "isa.3.17.channels"),
        ({"out_dtype": Dtype.FP16}, {}, "isa.3.17.no_cast"),
        ({"src_mem_pattern": pattern(0, (2, 257)), "dst_mem_pattern": pattern(0x800, (2, 257))}, {}, "sb2sb.elements"),
        ({"src_mem_pattern": pattern(0, (2, 0)), "dst_mem_pattern": pattern(0x800, (2, 0))}, {}, "sb2sb.elements"),
        ({"dst_mem_pattern": pattern(0x800, (2, 128))}, {}, "sb2sb.reduce"),
        ({"src_mem_pattern": pattern(1 << 23, (2, 64))}, {}, "sb2sb.place"),
        ({"src_mem_pattern": pattern(0x10, (-2, 64))}, {}, "sb2sb.place"),
        ({"dst_mem_pattern": pattern(1 << 25, (2, 64))}, {}, "pipeline.3.7.sbuf"),
        ({"dst_mem_pattern": pattern(0x37F80, (2, 64))}, {}, "pipeline.3.7.bytes"),
        ({"lnc_size_fmt": 1, "dst_mem_pattern": pattern(0x140, (2, 64))}, {}, "pipeline.3.7.overlap"),
        ({}, {"sb2sb_sems": 255}, "sb2sb.semaphores"),
        ({"in_dtype": Dtype.FP4_EXP2, "out_dtype": Dtype.FP4_EXP2}, {}, "sb2sb.dtype"),
    ],
)
def test_what_is_refused(fields, choices, rule):
    cores = Cores(MARIANA if rule == "sb2sb.dtype" else CAYMAN, choices)
    done = cores.device.run_words(collective(**fields).encode())
    assert done.status == "refused"
    assert rule in [issue.rule for issue in done.issues], done.issues
    assert not cores.semaphores() and np.array_equal(cores.now(1), cores.before[1])


def test_generations():
    done = Device("trn1").run_words(collective().encode())
    assert done.status == "refused" and "isa.7.word" in [issue.rule for issue in done.issues]
    said = {}
    for generation in (CAYMAN, MARIANA, MAVERICK):
        done = Device(generation).run_words(collective(num_active_channels=8).encode())
        assert done.ok, done.issues
        said[generation.name] = [line for line in done.log if "rdma_desc" not in line and "Q7: " not in line]
    assert len(said["CAYMAN"]) == 10 and said["MARIANA"] == ["S: SB2SB_Collective"] and said["MAVERICK"] == []


def test_the_lines_before_the_leg():
    log = Cores().device.run_words(collective().encode(), core=6).log
    low, mask = "0xffffff", "0xffffffffff000000"
    assert list(log[:10]) == [
        "S: SB2SB_Collective",
        "P0: Decode : Sbuf2Sbuf",
        "P0: Decode : SB2SB_Collective",
        "P0: SB2SB_Collective: num_chans=128, tpb_idx=6",
        "P0: SB2SB_Collective : total_src_nelem = 64, total_dst_nelem = 64, dtype=6, dst_nc=7, src_nc=6, mask=0xffff",
        "P0: engine_base_addr=805004000000 tpb_base_addr=806000000000 -> is_tpb=1 is_die_0=0 engine_idx=6",
        f"R: program_window: num=0, vld=1, xt_addr=0x7000000, soc_addr=0x807803000000, u_mask={mask}, l_mask={low}",
        f"R: program_window: num=0, mask={mask}, match=0x7000000, replace=0x807803000000",
        "P0: SB2SB Pre-sync: This TPB (NC 6) is letting NC 7 know that we are ready to receive data.",
        "P0: SB2SB Pre-sync: remote_pool_xt_addr=0x7000000, remote_q7_xt_addr=0x7180000, "
        "sb2sb_ready_to_receive_remote=0x7180000",
    ]
    assert log[10] == "P0: Q7: rdma_desc_gen [RX] Start, cpu_id=0" and len(log) == 10 + 24 + 18


def test_unexplained_arguments_can_be_zero_and_lnc1_has_no_peer_to_tell():
    log = Cores(choices={"rdma_log_args": "zero"}).device.run_words(collective(lnc_size_fmt=1).encode()).log
    assert log[5] == "P0: engine_base_addr=0 tpb_base_addr=2000000000 -> is_tpb=0 is_die_0=1 engine_idx=0"
    assert log[6] == "R: program_window: num=0, vld=0, xt_addr=0x0, soc_addr=0x0, u_mask=0x0, l_mask=0x0"
    assert log[8].startswith("P0: Q7: rdma_desc_gen")


def test_the_routing_id_is_the_devices_own():
    cores = Cores(chip_id=9)
    done = cores.device.run_words(collective().encode())
    assert done.ok and any("after remote_routing_id=$9, dst_addr=0x49003000000800" in line for line in done.log)

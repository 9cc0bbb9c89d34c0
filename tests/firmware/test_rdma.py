"""The log of a leg between cores, line for line, and what its two processors check (pipeline 3.7, 7.3)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dgekit.api import Device
from dgekit.core.choices import Choices
from dgekit.core.events import EventLog
from dgekit.core.generations import CAYMAN, MARIANA, MARIANA_PLUS, MAVERICK
from dgekit.core.state import StateView
from dgekit.firmware import rdma
from dgekit.firmware.rdma import Role, Stream, StreamMismatch
from dgekit.firmware.remote import read_generate
from dgekit.logs.formats import FORMATS
from dgekit.logs.parse import parse_line
from dgekit.logs.render import render_log
from dgekit.transfers.transfer import MachineInit
from dgekit.words.codec import decode_word

SPEC = Path(__file__).parents[1] / "golden" / "spec"
WORDS = json.loads((SPEC / "isa-words.json").read_text())["examples"]
J, K = (bytes.fromhex(next(text for name, text in WORDS.items() if name.startswith(letter))) for letter in ("J ", "K "))


def gen_lines(processor: int, role: str, base: str, windows: list[str]) -> list[str]:
    """Word J on core 0: 4 engines, 512 bytes a partition, core 1 of device 2, semaphores 20 and 21."""
    head = f"P{processor}: Q7: rdma_desc_gen [{role}]"
    ids = ", ".join(str(slot) for slot in range(16))
    return [
        f"{head} Start, cpu_id={processor}",
        f"{head} ring_num=15, tpb_idx=0, free_dim_bytes=512, remote_tpb_idx=1, routing_id=2, dma_mask=0xf",
        f"{head} dma_mask=0x000f, n_active_dmas=4",
        f"{head} src_addr=0x2000001000, dst_addr=0x3000002000",
        f"{head} after remote_routing_id=$2, dst_addr=0x42003000002000, n_active_dmas=4",
        f"{head} Starting descriptor loop, num_indices=1, num_dma_descs=32",
        f"{head} Loop iter 0/1: base_addr={base}, n_active_dmas=4, bytes_per_P=512",
        f"P{processor}: Q7:   shuffled_sbuf_swizzle[16] = [{ids}]",
        f"P{processor}: Q7:   xt_addrs[16] = [{', '.join([*windows, *['0x' + '0' * 16] * 12])}]",
        f"{head} Pushing local semaphore descriptor, tpb_idx=0, sem=20",
        f"{head} Pushing remote semaphore descriptor, remote_tpb=1, routing_id=2, sem=21",
        f"{head} End",
    ]


def start_lines(processor: int, role: str, unit: str, base: str, address: str, stores: list[str]) -> list[str]:
    head = f"P{processor}: Q7: rdma_desc_start [{role}]"
    return [
        f"{head} Start, cpu_id={processor}",
        f"{head} ring_num=15, num_descriptors=34, sdma_bcast_base={base}",
        f"{head} Trigger {unit} DMA; addr={address}, mask=0x000f, n_desc=34",
        f"{head} Draining descriptor writes",
        f"{head} Descriptor writes drained",
        *(f"{head} {store}" for store in stores),
        f"{head} End",
    ]


GEN = [
    *gen_lines(0, "RX", "0x3000002000", [f"0x00000030{place}2000" for place in ("0000", "0080", "0100", "0180")]),
    *gen_lines(1, "TX", "0x2000001000", [f"0x00000020{place}1000" for place in ("0000", "0080", "0100", "0180")]),
]
RX = ["Writing tail pointer increment", "Signaling TX to proceed (right_push)", "TX signaled"]
TX = ["Waiting for RX sync (left_pop)", "Writing tail pointer increment", "Tail pointer increment written"]
START = [
    *start_lines(0, "RX", "S2M", "0x02020000", "0x02030038", RX),
    *start_lines(1, "TX", "M2S", "0x02000000", "0x02010038", TX),
]


def ready(generation=CAYMAN, choices=None) -> Device:
    device = Device(generation, choices, chip_id=2)
    device.session.set_state(MachineInit(semaphores={20: 4}))
    return device


@pytest.mark.parametrize("generation", [CAYMAN, MARIANA, MARIANA_PLUS], ids=lambda one: one.name)
def test_every_line_of_a_pair_of_words_in_order(generation):
    device = ready(generation)
    assert list(device.run_words(J).log) == GEN
    assert list(device.run_words(K).log) == START


def test_maverick_has_lost_the_lines_and_still_runs():
    device = ready(MAVERICK)
    assert device.run_words(J).ok and device.run_words(K).ok
    assert device.log == []
    gone = {event.line for event in device.session.events if event.line}
    assert gone and not any(MAVERICK.name in FORMATS[key].generations for key in gone)


def test_no_line_of_the_leg_is_left_out():
    device = ready()
    device.run_words(J)
    device.run_words(K)
    said = {event.line for event in device.session.events}
    spec = json.loads((SPEC / "log-strings.json").read_text())
    wanted = {
        row["format"]
        for row in spec
        if row["stage"] in ("rdma_gen", "rdma_start", "doorbell") and "Q7: " in row["format"]
    }
    assert len(wanted) == 24 and wanted == {FORMATS[key].text for key in said if key.split(".")[0] != "seq" and key}


def test_the_lines_parse_back():
    for line in (*GEN, *START):
        parsed = parse_line(line)
        assert parsed.row is not None and parsed.row.stage in ("rdma_gen", "rdma_start", "doorbell"), line


def test_arguments_that_no_source_explains_can_be_zero():
    device = ready(choices={"rdma_log_args": "zero"})
    lines = [*device.run_words(J).log, *device.run_words(K).log]
    assert "num_indices=0, num_dma_descs=0" in lines[5] and "Loop iter 0/0: base_addr=0x3000002000" in lines[6]
    assert lines[8].endswith(", ".join(["0x" + "0" * 16] * 16) + "]")
    assert lines[25].endswith("ring_num=15, num_descriptors=34, sdma_bcast_base=0x00000000")
    assert lines[26].endswith("addr=0x00000000, mask=0x000f, n_desc=34")


def test_a_leg_of_signals_alone_has_no_turns():
    device = ready()
    word = decode_word(J).replace(free_dim_bytes=0)
    log = device.run_words(word.encode()).log
    assert len(log) == 18 and "num_indices=0, num_dma_descs=0" in log[5]
    assert "num_descriptors=2" in device.run_words(K).log[1]


def test_a_turn_for_each_64_kib_of_a_partition():
    device = ready()
    log = device.run_words(decode_word(J).replace(free_dim_bytes=150_000).encode()).log
    turns = [line for line in log if "[TX] Loop iter" in line]
    assert [line.split("Loop iter ")[1] for line in turns] == [
        "0/3: base_addr=0x2000001000, n_active_dmas=4, bytes_per_P=65536",
        "1/3: base_addr=0x2000011000, n_active_dmas=4, bytes_per_P=65536",
        "2/3: base_addr=0x2000021000, n_active_dmas=4, bytes_per_P=18928",
    ]
    assert "num_dma_descs=96" in log[5]


@pytest.mark.parametrize(
    ("streams", "rule", "text"),
    [
        ((Stream(0, Role.RX, 33, 34), Stream(1, Role.TX, 34, 34)), "pipeline.3.7.count", "P0: {} wrote 33 descriptors, expected 34"),
        ((Stream(0, Role.RX, 34, 34), Stream(1, Role.TX, 30, 34)), "pipeline.3.7.count", "P1: {} wrote 30 descriptors, expected 34"),
        ((Stream(3, Role.RX, 34, 34),), "pipeline.3.7.role", "P3: {} wrote 34 descriptors, expected 34"),
        ((Stream(4, Role.TX, 34, 34),), "pipeline.3.7.role", "P4: {} wrote 34 descriptors, expected 34"),
    ],
)  # fmt: skip
def test_the_two_checks_of_start(streams, rule, text):
    choices, events = Choices(), EventLog()
    leg = read_generate(decode_word(J), StateView(), CAYMAN, choices)
    with pytest.raises(StreamMismatch) as found:
        rdma.start(leg, streams, CAYMAN, choices, events)
    assert found.value.rule == rule
    log = render_log(events, CAYMAN, choices)
    assert log[-1] == text.format("ERROR: DescriptorStream")
    last = f"P{streams[-1].processor}: " if len(streams) == 1 or streams[0].written == 34 else "P0: "
    assert not any(line.startswith(last) and "tail pointer" in line for line in log)

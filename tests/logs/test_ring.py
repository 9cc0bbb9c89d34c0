"""The device log ring against a device that writes one: records, wrap, damage; and notification queues."""

from __future__ import annotations

import random
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgekit.core.errors import DgeError, InputError
from dgekit.descriptors.notification import NotificType, dge_completion, sequencer_error
from dgekit.logs.ring import ControlBlock, notifications, open_ring, ring_records

LINES = ["S: Setting up DGE\n", "P3: DGE INDIRECT\n", "S: DGE: NO BACKEND FOUND, doing nothing", "other text\n"]


class Device:
    """What the firmware does: severity, C string, NUL, sometimes more NULs, round and round."""

    def __init__(self, size: int) -> None:
        self.ring, self.written = bytearray(size), 0

    def log(self, severity: int, text: str, more_nuls: int = 0) -> None:
        for byte in bytes([severity]) + text.encode() + bytes(1 + more_nuls):
            self.ring[self.written % len(self.ring)] = byte
            self.written += 1

    @property
    def head(self) -> int:
        return self.written % len(self.ring)

    def dump(self) -> bytes:
        block = struct.pack("<IIQII", 0x1234, len(self.ring), 0x2000001000, self.head, 4).ljust(0x48, b"\0")
        return block + bytes(self.ring)


def texts(ring):
    return [(record.severity, record.parsed.text) for record in ring_records(ring)]


def test_the_control_block_is_where_the_host_keeps_it():
    block = ControlBlock.decode(Device(0x100).dump()[:0x48])
    assert (block.magic, block.log_size, block.log_address, block.log_head, block.max_log_level) == (
        0x1234, 0x100, 0x2000001000, 0, 4,
    )  # fmt: skip


def test_a_ring_that_has_not_wrapped():
    device = Device(0x100)
    for severity, (line, nuls) in enumerate(zip(LINES, (0, 2, 0, 5), strict=True), 1):
        device.log(severity, line, nuls)
    ring = open_ring(device.dump())
    assert not ring.wrapped
    records = list(ring_records(ring))
    assert texts(ring) == [(n, line.removesuffix("\n")) for n, line in enumerate(LINES, 1)]
    assert [record.offset for record in records] == [0, 20, 41, 82]
    assert [record.parsed.key for record in records] == ["setup.start", "decode.indirect", "select.none", ""]
    assert not any(record.parsed.cut for record in records)
    first = records[0].to_json()
    assert (first["severity"], first["level"], first["dialect"], first["line"]) == (1, "error", "S", 1)
    assert records[1].to_json()["level"] is None  # no source names levels 2 and 3
    assert texts(open_ring(bytes(device.ring), head=device.head, size=0x100)) == texts(ring)
    assert texts(open_ring(b"xyz" + bytes(device.ring), head=device.head, size=0x100, at=3)) == texts(ring)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 60), st.integers(0, 1 << 16))
def test_a_wrapped_ring_gives_the_youngest_records_that_are_whole(count, seed):
    rng = random.Random(seed)
    device = Device(0x140)
    written = []
    for _ in range(count):
        severity, line = rng.randint(1, 4), f"S: Dispatch opcode={rng.randrange(256):#x}\n"
        device.log(severity, line, rng.choice((0, 0, 1)))
        written.append((severity, line.removesuffix("\n")))
    ring = open_ring(device.dump())
    found = texts(ring)
    assert found == written[len(written) - len(found) :]
    if device.written < 0x140:
        assert found == written
    else:
        assert sum(len(text) + 3 for _, text in found) > 0x140 - 3 * 26


def test_an_unfinished_record_is_marked():
    device = Device(0x100)
    device.log(4, "S: Dispatch opcode=0x12\n")
    device.written -= 3  # its last letter, line feed and NUL are still to come
    (record,) = ring_records(open_ring(device.dump()))
    assert record.parsed.text == "S: Dispatch opcode=0x1"
    assert record.parsed.cut is False or record.parsed.row is not None
    assert record.parsed.cut


def test_a_text_without_severity():
    (record,) = ring_records(open_ring(b"S: Halt\n\0".ljust(64, b"\0"), head=9, size=64))
    assert (record.severity, record.parsed.key) == (0, "seq.halt")
    assert record.to_json()["severity"] is None


@pytest.mark.parametrize(
    ("data", "more"),
    [
        (b"short", {}),
        (struct.pack("<IIQII", 1, 0, 0, 0, 4).ljust(0x148, b"\0"), {}),
        (struct.pack("<IIQII", 1, 0x101, 0, 0, 4).ljust(0x149, b"\0"), {}),
        (struct.pack("<IIQII", 1, 0x100, 0, 0x101, 4).ljust(0x148, b"\0"), {}),
        (struct.pack("<IIQII", 1, 0x100, 0, 0, 4).ljust(0x147, b"\0"), {}),
        (struct.pack("<IIQII", 1, 0x100, 0, 0, 4).ljust(0x149, b"\0"), {}),
        (bytes(64), {"head": 65, "size": 64}),
        (bytes(64), {"head": -1, "size": 64}),
        (bytes(64), {"head": 0, "size": 65}),
        (bytes(64), {"head": 0, "size": -1}),
        (bytes(64), {"head": 0, "size": 64, "at": -1}),
        (bytes(64), {"head": 0, "size": 64, "at": 1}),
    ],
)
def test_dumps_that_are_none(data, more):
    with pytest.raises(InputError) as caught:
        open_ring(data, **more)
    assert caught.value.rule == "logs.ring"
    assert caught.value.fix


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=400), st.integers(0, 400), st.integers(1, 400))
def test_random_bytes_give_records_or_an_input_error(data, head, size):
    for more in ({}, {"head": head, "size": size}):
        try:
            ring = open_ring(data, **more)
        except DgeError:
            continue
        for record in ring_records(ring):
            record.to_json()


def test_notification_records():
    completion = dge_completion(0x123, range(16), 8, 77).encode()
    failure = sequencer_error(0x09, 0x1F, 5, 0xB8).encode()
    old = sequencer_error(0x04, 0x03).encode()
    other = dge_completion(1, [0], 1, notific_type=NotificType.DMA).encode()
    found = list(notifications(completion + bytes(16) + failure + old + other))
    assert [(one.offset, one.kind) for one in found] == [
        (0, "completion"), (32, "error"), (48, "error"), (64, "other"),
    ]  # fmt: skip
    assert found[0].to_json()["fields"]["dma"]["num_packets"] == 8
    assert found[1].to_json()["fields"]["error_id"] == "SEQUENCER_NONFATAL"
    assert found[3].to_json() == {"offset": 64, "kind": "other", "fields": {}, "hex": other.hex()}
    with pytest.raises(InputError) as caught:
        list(notifications(completion[:-1]))
    assert caught.value.rule == "logs.records"

"""Worked examples E1 to E7 of the rings chapter, byte for byte."""

import json
from pathlib import Path

import numpy as np
import pytest

from dgekit.core.errors import RingError, Unsupported
from dgekit.core.generations import CAYMAN
from dgekit.descriptors.batch import ChannelWork, DescriptorBatch
from dgekit.descriptors.build import addresses_of, columns, lengths_of
from dgekit.descriptors.expand import expand
from dgekit.descriptors.host import host_chunks, packed, ring_slots, stamped
from dgekit.descriptors.semaphore import semaphore_packet
from dgekit.patterns.runs import Runs, runs
from dgekit.patterns.walk import Walk

SPEC = json.loads((Path(__file__).parent.parent / "golden" / "spec" / "rings.json").read_text())
EXAMPLES = {example["id"]: example["rows"] for example in SPEC["examples"]}


def golden(name, leg):
    return b"".join(bytes.fromhex(row["bytes"]) for row in EXAMPLES[name] if leg in row["label"])


def in_ring(channel, ring_id, first_slot=0, ring_length=4096):
    def leg(bds):
        return packed(stamped(bds, ring_slots(len(bds), first_slot, ring_length, ring_id)[1]))

    return leg(channel.m2s), leg(channel.s2m)


@pytest.mark.parametrize(
    ("name", "ring_id", "arguments", "options"),
    [
        ("E1", 1, (0x1000000, 0x2000000000 + 3 * 0x40000 + 0x400, 65536), {"barrier": "none"}),
        ("E2", 2, (0x1010000, 0x20000C1000, 0x1234), {"barrier": "write"}),
        ("E3", 3, (0x1020000, 0x2000100000, 256), {"barrier": "dmb", "rx_interrupt": True}),
        ("E4", 1, (0x400012345000, 0x400012345004, 4), {"barrier": "none"}),
    ],
)
def test_single_chunk_examples(name, ring_id, arguments, options):
    assert (host_chunks(*arguments, **options).dma, host_chunks(*arguments, **options).queue) == (0, 0)
    assert in_ring(host_chunks(*arguments, **options), ring_id) == (golden(name, "M2S"), golden(name, "S2M"))


def test_e5_semaphore_pair():
    packet = semaphore_packet(0, 0x2000037FFC, 0x2802701828)
    assert in_ring(packet, 1) == (golden("E5", "M2S"), golden("E5", "S2M"))


def test_e6_three_rows_into_one_buffer():
    rows = runs(Walk(0x2000000100, ((0x40000, 3),), 256))
    work = ChannelWork(0, rows, Runs.of([0x2000000], 768))
    (channel,) = expand([work], CAYMAN, 65536, barrier_last=False).channels
    assert in_ring(channel, 1) == (golden("E6", "M2S"), golden("E6", "S2M"))


def test_e7_chunks_over_the_end_of_a_ring():
    channel = host_chunks(0x3000000, 0x5000000, 200000)
    assert in_ring(channel, 1, first_slot=30, ring_length=32) == (golden("E7", "M2S"), golden("E7", "S2M"))
    slots, ids = ring_slots(4, 30, 32)
    labels = [row["label"] for row in EXAMPLES["E7"] if "M2S" in row["label"]]
    assert labels == [f"slot {slot} ring id {ring} M2S" for slot, ring in zip(slots, ids, strict=True)]
    assert lengths_of(channel.m2s).tolist() == [65536, 65536, 65536, 3392]
    assert len(DescriptorBatch((channel,)).channels[0].packets) == 4


def test_ring_ids_count_modulo_four():
    assert ring_slots(160, 0, 32)[1][::32].tolist() == [1, 2, 3, 0, 1]
    written = stamped(stamped(host_chunks(0, 64, 8).m2s, np.array([3], np.uint32)), np.array([2], np.uint32))
    assert written[0, 0] >> 24 & 3 == 2


def test_length_64k_is_stored_as_zero_and_read_back():
    bds = columns(Runs.of([0x1_2345_6789], 65536))
    assert bds[0, 0] == 0
    assert lengths_of(bds).tolist() == [65536]
    assert addresses_of(bds).tolist() == [0x1_2345_6789]


def test_lengths_that_no_bd_holds():
    assert len(columns(Runs.of([], 1))) == 0
    for length in (0, 65537):
        with pytest.raises(RingError) as caught:
            columns(Runs.of([0], length))
        assert caught.value.rule == "rings.1.7"


def test_zero_and_huge_copies_are_refused():
    with pytest.raises(RingError) as caught:
        host_chunks(0, 64, 0)
    assert caught.value.rule == "rings.1.7"
    with pytest.raises(Unsupported):
        host_chunks(0, 0, 1 << 50)

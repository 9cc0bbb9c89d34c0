"""Devices under their routing ids: memory and semaphores of a peer under routed addresses."""

from __future__ import annotations

import numpy as np
import pytest

from dgekit.core.choices import Choices
from dgekit.core.errors import CrossPartition, LoweringError, Uninitialised, Unmapped
from dgekit.core.evt_sem import SEM_INC, SEM_READ, register_address
from dgekit.core.generations import CAYMAN
from dgekit.machine.fabric import Fabric
from dgekit.machine.machine import Machine

VALID, ID_3 = 1 << 54, 3 << 48
SBUF_5 = CAYMAN.sbuf_base(5)  # on the second die


@pytest.fixture
def pair():
    fabric = Fabric()
    machines = {0: Machine(CAYMAN), 3: Machine(CAYMAN)}
    for chip_id, machine in machines.items():
        fabric.add(chip_id, machine)
    assert fabric.reach(machines[0], 3, 5) is machines[3]
    return machines[0], machines[3]


def test_bytes_written_under_the_routed_address_are_the_peers(pair):
    own, peer = pair
    own.memory.write(SBUF_5 | VALID | ID_3, b"abc")
    assert peer.memory.read(SBUF_5, 3) == b"abc"
    assert own.memory.read(SBUF_5, 3) == bytes(3)
    peer.memory.write(SBUF_5, b"xyz")
    assert own.memory.read(SBUF_5 | VALID | ID_3, 3) == b"xyz"


def test_semaphores_of_the_peer_count_and_say_whose_they_are(pair):
    own, peer = pair
    address = register_address(CAYMAN, 5, SEM_INC, 40) | VALID | ID_3
    own.memory.write(address, (7).to_bytes(4, "little"))
    assert peer.memory.semaphores_of(5).nonzero() == {40: 7}
    assert own.memory.semaphores_of(5).nonzero() == {}
    (change,) = own.memory.changes
    assert (change.core, change.device, change.semaphore, change.after) == (5, 3, 40, 7)
    read = register_address(CAYMAN, 5, SEM_READ, 40) | VALID | ID_3
    assert own.memory.read(read, 4) == (7).to_bytes(4, "little")


def test_only_the_core_that_was_reached_is_there(pair):
    own, _ = pair
    with pytest.raises(Unmapped, match="another device"):
        own.memory.write(CAYMAN.sbuf_base(4) | VALID | ID_3, b"a")
    with pytest.raises(Unmapped):
        own.memory.write(SBUF_5 | VALID, b"a")


def test_the_peers_partitions_end_where_its_own_do(pair):
    own, _ = pair
    with pytest.raises(CrossPartition):
        own.memory.write((SBUF_5 | VALID | ID_3) + CAYMAN.active_bytes - 1, b"ab")


def test_unwritten_bytes_of_a_peer_are_watched_as_its_own():
    watching = Choices({"uninitialised": "fault"})
    fabric = Fabric()
    own, peer = Machine(CAYMAN, watching), Machine(CAYMAN, watching)
    fabric.add(0, own)
    fabric.add(3, peer)
    fabric.reach(own, 3, 0)
    routed = CAYMAN.sbuf_base(0) | VALID | ID_3
    with pytest.raises(Uninitialised):
        own.memory.read(routed, 4)
    own.memory.write(routed, np.arange(4, dtype=np.uint8))
    assert peer.memory.read(CAYMAN.sbuf_base(0), 4) == bytes(range(4))


def test_ids_are_taken_once_and_must_be_known():
    fabric = Fabric()
    fabric.add(9, Machine(CAYMAN))
    with pytest.raises(LoweringError) as taken:
        fabric.add(9, Machine(CAYMAN))
    assert taken.value.rule == "fabric.taken"
    with pytest.raises(LoweringError) as unknown:
        fabric[8]
    assert (unknown.value.rule, unknown.value.values["devices"]) == ("fabric.unknown", [9])
    with pytest.raises(LoweringError) as beyond:
        fabric.add(64, Machine(CAYMAN))
    assert beyond.value.rule == "dec.D77.routing"

"""EVENTS as waits and updates: every mode of both enums, against the tables of isa-words 2.8 and 2.9."""

from __future__ import annotations

import pytest

from dgekit.core.errors import Unspecified, Unsupported
from dgekit.transfers.events import read_events, word_events
from dgekit.transfers.transfer import Update, Wait
from dgekit.words.structs import Events

WAITS = {0x01: "eq", 0x02: "lt", 0x03: "le", 0x04: "gt", 0x05: "ge"}
UPDATES = {
    0x03: ("add", 1), 0x04: ("sub", 1), 0x05: ("add", 9), 0x07: ("sub", 9), 0x09: ("write", 9),
    0x13: ("add", 1), 0x14: ("sub", 1), 0x15: ("add", 9), 0x17: ("sub", 9), 0x19: ("write", 9),
}  # fmt: skip
EVENT_WAITS = {0x06, 0x07, 0x0E, 0x0F}
EVENT_UPDATES = {0x01, 0x02, 0x11, 0x12}


@pytest.mark.parametrize("mode", range(256))
def test_every_wait_mode(mode: int) -> None:
    events = Events(wait_mode=mode, wait_idx=7, semaphore_value=9)
    if mode in (0x00, 0xFE):
        assert read_events(events, "w") == ((), ())
    elif mode in WAITS:
        assert read_events(events, "w") == ((Wait(7, 9, WAITS[mode]),), ())
    else:
        with pytest.raises(Unsupported if mode in EVENT_WAITS else Unspecified) as caught:
            read_events(events, "w")
        assert caught.value.where == "w" and caught.value.values == {"mode": mode} and caught.value.rule == "isa.EVENTS"


@pytest.mark.parametrize("mode", range(256))
def test_every_update_mode(mode: int) -> None:
    events = Events(update_mode=mode, update_idx=3, semaphore_value=9)
    if mode == 0:
        assert read_events(events, "w") == ((), ())
    elif mode in UPDATES:
        op, value = UPDATES[mode]
        assert read_events(events, "w") == ((), (Update(3, op, value),))
    else:
        with pytest.raises(Unsupported if mode in EVENT_UPDATES else Unspecified) as caught:
            read_events(events, "w")
        assert caught.value.exit_code == 4


def test_the_published_collective_word() -> None:
    """`$S[10]>0 $S[22]++@complete` (isa-words 6)."""
    events = Events.decode(bytes.fromhex("040a131600000000"))
    assert read_events(events, "w") == ((Wait(10, 0, "gt"),), (Update(22, "add", 1),))


def test_words_without_the_block_have_no_events() -> None:
    assert word_events(b"\xda" + bytes(range(63)), "w") == ((), ())
    assert word_events(bytes.fromhex("b9100000 0100000007 05".replace(" ", "")) + bytes(54), "w") == ((), ())

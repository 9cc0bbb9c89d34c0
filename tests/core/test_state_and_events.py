"""Snapshots of machine state, the event stream, and evidence tags."""

import json
from pathlib import Path

import pytest

from dgekit.core import state
from dgekit.core.events import EventLog
from dgekit.core.evidence import Evidence
from dgekit.core.state import StateView

CONSTANTS = json.loads((Path(__file__).parents[1] / "golden" / "spec" / "isa-words.json").read_text())["constants"]


def test_numbers_of_the_specification():
    assert CONSTANTS["NUM_DGE_SHAPE_REGISTERS"] == state.NUM_SHAPE_REGISTERS
    assert CONSTANTS["NUM_REGISTERS"] == state.NUM_REGISTERS
    assert CONSTANTS["NUM_SEMAPHORES"] == state.NUM_SEMAPHORES
    assert (state.REG_FEATURE_FLAGS, state.REG_CARVEOUT, state.REG_DMA_CONFIG) == (38, 39, 40)  # pipeline 1.6


def test_registers_nobody_set_hold_zero():
    view = StateView(registers={4: 0x89ABCDEF, 5: 0x12})
    assert (view.register(4), view.register(6)) == (0x89ABCDEF, 0)
    assert (view.register_pair(4), view.register_pair(5)) == (0x12_89ABCDEF, 0x12)


def test_register_40_starts_with_all_dmas_and_queue_0():
    """Decision D41."""
    assert (StateView().dma_mask, StateView().queue_mask) == (0xFFFF, 1)
    assert (StateView(dma_config=0x80030FF0).dma_mask, StateView(dma_config=0x80030FF0).queue_mask) == (0x0FF0, 0x8003)


def test_events_are_stamped_with_transfer_and_word():
    log = EventLog()
    log.emit("select", "pool", "select.pool")
    log.transfer, log.word = 2, 1
    log.emit("push", "generate", args=(3,), dma=4)
    first, second = log
    assert (first.transfer, first.word, first.line) == (-1, -1, "select.pool")
    assert (second.transfer, second.word, second.args, second.data) == (2, 1, (3,), {"dma": 4})
    assert len(log) == 2 and log.named("generate") == [second]


@pytest.mark.parametrize("level", "HML")
@pytest.mark.parametrize("way", "OICDSX")
def test_evidence_tags_survive_the_round_trip(level, way):
    evidence = Evidence.parse(f"{level}/{way}", "rings 1.2")
    assert (evidence.tag, evidence.source) == (f"{level}/{way}", "rings 1.2")
    assert "(rings 1.2)" in evidence.describe()


def test_no_evidence():
    assert Evidence.parse("-").tag == "-"
    assert Evidence.parse("-").describe() == "none, no source"
    for wrong in ("", "H", "H/", "Q/O", "H/Z", "O/H"):
        with pytest.raises(ValueError, match="evidence tag"):
            Evidence.parse(wrong)

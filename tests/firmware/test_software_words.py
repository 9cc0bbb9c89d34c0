"""The worked indirect words of isa-words 6.4 and 6.5 from their bytes through the software backend."""

import struct

import numpy as np
import pytest

from dgekit.core.choices import Choices
from dgekit.core.events import EventLog
from dgekit.core.generations import CAYMAN
from dgekit.core.state import Availability, StateView
from dgekit.descriptors.batch import PacketKind
from dgekit.firmware.pipeline import run_word
from dgekit.firmware.values import Backend, Generate
from dgekit.logs.render import render_log
from dgekit.words.codec import decode_word

SCATTER_ADD = """
bb 10 00 00 00 00 00 00 00 00 00 00 0c 01 80 0d
00 00 00 00 01 00 00 00 01 00 00 00 04 00 04 00
00 00 00 00 20 00 00 00 01 00 00 00 04 00 04 00
00 00 00 00 00 01 00 00 08 08 00 c5 01 00 00 00
"""
GATHER_TRANSPOSE = """
f1 10 00 00 00 00 00 00 00 00 00 00 0c 00 80 00
00 00 00 00 01 00 00 00 01 00 00 00 80 00 00 00
80 00 40 00 00 01 00 00 00 00 00 00 20 00 00 00
00 00 00 00 80 00 00 00 40 00 80 00 00 01 66 01
"""
ELEMENTS = Choices({"step_unit": "elements"})  # both words count steps in elements (isa-words 6.4)


class IndexMemory:
    """Memory that holds one index vector at SBUF offset 0x100."""

    def __init__(self, indices):
        self.data = struct.pack(f"<{len(indices)}I", *indices)

    def read(self, address, size):
        assert (address, size) == (0x2000000100, len(self.data))
        return self.data


def run(text, indices, **state):
    events = EventLog()
    view = StateView(memory=IndexMemory(indices), **state)
    available = Availability(pool=True, rtl=True, sw=True)
    outcome = run_word(decode_word(bytes.fromhex(text)), view, available, CAYMAN, ELEMENTS, events, sem_increment=1)
    return outcome, events


def test_scatter_add_from_its_bytes():
    outcome, events = run(SCATTER_ADD, [5, 5, 200, 5], registers={5: 256})
    assert (outcome.status, outcome.backend) == ("done", Backend.SOFTWARE)
    bins = np.zeros(256, np.int32)
    for part in outcome.work:
        assert part.kind is PacketKind.COMPUTE
        for start in part.dests[0].starts:
            bins[(int(start) - 0x2000000000) // 4] += 1
    assert (bins[5], bins[200], bins.sum()) == (3, 1, 4)
    lines = render_log(events, CAYMAN, ELEMENTS)
    assert any(line.startswith("S: DGE software backend: $S[12]+=1@dmacomplete") for line in lines)
    assert "P0: Generating 8 descriptors; ring_ndesc = 4096" in lines  # two sources an addition (cce CHOICE-01)


def test_scatter_add_over_the_limit_register():
    outcome, events = run(SCATTER_ADD, [5, 257, 200, 5], registers={5: 256})
    assert (outcome.status, outcome.work, outcome.notifications) == ("skipped", (), ())
    assert [issue.values["lane"] for issue in outcome.issues if issue.rule == "dec.D25"] == [1]
    assert [event.line for event in events if event.stage in ("bounds", "dump", "push") and event.line] == [
        "bounds.failed"
    ]


def test_gather_transpose_from_its_bytes():
    outcome, _ = run(GATHER_TRANSPOSE, list(range(63, -1, -1)))
    assert outcome.status == "done"
    (part,) = outcome.work
    assert (part.tile_rows, part.tile_cols, len(part.src) // part.tile_rows) == (16, 128, 4)
    assert part.src.starts[:2].tolist() == [0x100000000 + 63 * 256, 0x100000000 + 62 * 256]
    assert set(part.src.lengths.tolist()) == {256} and set(part.dst.lengths.tolist()) == {32}
    rows = [op for op in outcome.program.ops if isinstance(op, Generate) and op.dir == "RD"]
    assert [op.addr for op in rows] == [0x100000000 + 256 * i for i in range(63, -1, -1)]


@pytest.mark.parametrize("indices", [[5, 5, 200, 5]])
def test_the_flag_without_error_and_notification_is_illegal(indices):
    # isa-words 6.4: the same word with flags 0x09 must be rejected (C10)
    outcome, _ = run(SCATTER_ADD.replace("80 0d", "80 09"), indices, registers={5: 256})
    assert outcome.status == "refused"

"""The formats that the mission texts quote in full, as they quote them: each parses, with its values in place."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from dgekit.logs.formats import FORMATS
from dgekit.logs.parse import parse_line

SEEDS = Path(__file__).parents[3] / "shared" / "seeds"
# the text of the mission, wrapped there over lines; S: and P%i: stand where the mission leaves them out
QUOTED = [
    "S: Setting up DGE",
    "S: DGE contexts 0x%x/0x%x init sw=%d engine=%u queue_idx=%u queue_num=%u",
    "S: rx.base=0x%llx, tx.base=0x%llx",
    "P%i: DGE DIRECT2D",
    "P%i: DGE INDIRECT",
    "P%i: DGE GATHER TRANSPOSE",
    "S: DGE Reshape: Analyzed tensor (nelem_target = %u, step_target = 0x%X (%dP), base = 0x%X (%dP)): Reshape Strategy "
    "= %d, Requested Reshape Kind = %d, Partition Range = %d, Num Partitions = %d",
    "S: DGE Reshape: Assessed tensor pair params (Requested Reshape Kind = %d, Min Num Partitions = %u, #DMA Avail = "
    "%u): Reshape Kind = %d, #DMA = %u",
    "S: DGE: Select backend Pool",
    "S: DGE: NO BACKEND FOUND, doing nothing",
    "S: DGE $S[%i]+=%i@dmacomplete src=[0x%x]@0x%llx[0x%x,0x%x][%u,%u] dst=[0x%x]@0x%llx[0x%x,0x%x][%u,%u] "
    "cast:0x%x->0x%x bounds:(%1d 0x%llx<=0x%llx, %1d 0x%llx<=0x%llx) compute_op: 0x%x",
    "S: DGE RTL backend: $S[%i]+=%i@dmacomplete "
    "src=[0x%x]@0x%llx[0x%x,0x%x,0x%x,0x%x,0x%x|0x%x,0x%x][%u,%u,%u,%u,%u|%u,%u] "
    "dst=[0x%x]@0x%llx[0x%x,0x%x,0x%x,0x%x,0x%x|0x%x,0x%x][%u,%u,%u,%u,%u|%u,%u]",
    "S: DGE software backend: $S[%i]+=%i@dmacomplete src=[0x%x]@0x%llx[0x%x,0x%x,0x%x,0x%x][%u,%u,%u,%u] "
    "dst=[0x%x]@0x%llx[0x%x,0x%x,0x%x,0x%x][%u,%u,%u,%u] cast:0x%x->0x%x, indirection_dim=0x%x, reshape_kind=0x%x",
    "S: push GENERATE to DMA[%d]: %s : addr=0x%llx, elem_size=%d, sem_num=%i",
    "S: push DIMPUSH to DMA[%d]: [%u,%u][%d,%d]",
    "S: push REGWRITE to DMA[%d]",
    "S: DGE: Failed bounds check. $S[%i]+=%i.",
    "S: DGE: Dispatched error notification",
    "P%i: Generating %i descriptors; ring_ndesc = %i",
    "P%i: ERROR: DescriptorStream wrote %d descriptors, expected %d",
    "P%i: Descriptor generation loop index: [%d, %d, %d, %d, %d]",
    "P%i: iDMA channel %d failed to initialize!",
    "S: DramRingDMA::allocate(%zu) submit=%llu comp=%llu first_slot=%zu min_comp=%llu",
]  # fmt: skip
_CONVERSION = re.compile(r"%(?:1|0|04|08)?(?:ll|z)?[diuxXs]")


def filled(text, rng):
    """The text with a small number for every conversion, by simple substitution, and the numbers in order."""
    values = []

    def one(match):
        letter = match[0][-1]
        values.append(rng.choice(["RD", "WR"]) if letter == "s" else rng.randrange(1000))
        return format(values[-1], letter if letter in "xX" else "d") if letter != "s" else values[-1]

    return _CONVERSION.sub(one, text), tuple(values)


@pytest.mark.parametrize("text", QUOTED)
def test_each_quoted_format_parses_with_its_values(text):
    rng = random.Random(text)
    for _ in range(20):
        line, values = filled(text, rng)
        parsed = parse_line(line)
        assert parsed.row.text == text
        assert (values[1:] if text.startswith("P%i") else values) == parsed.args


@pytest.mark.skipif(not SEEDS.exists(), reason="the mission texts are not beside the repository")
def test_these_are_the_formats_that_the_mission_quotes():
    mission = re.sub(r"\s+", " ", " ".join(path.read_text() for path in sorted(SEEDS.glob("*.txt"))))
    quoted = {
        row.text
        for row in FORMATS.values()
        if row.is_line and not row.is_elided and re.sub(r"\s+", " ", row.text) in mission
    }
    assert quoted <= set(QUOTED)

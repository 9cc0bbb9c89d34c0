"""What both processors print of a transpose: the tile, and the shape before and after (pipeline 3.1, 3.4).

The sequencer and the Q7 cores have the same four texts, each with its own prefix; which of them runs the reshape of a
transpose is open (`transpose_log`). Which permutation AFTER shows is not published: the model swaps the first two
dimensions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dgekit.core.choices import Choices
from dgekit.core.events import EventLog
from dgekit.firmware.values import DgeShape, Kind, ShapePair

_SWAPPED = (1, 0, 2, 3)


@dataclass(frozen=True, slots=True)
class _Lines:
    """The keys of one processor's four lines, and who it is."""

    processor: str
    transpose: str
    indirect: str
    before: str
    after: str


_LINES: Mapping[str, _Lines] = {
    "reshape": _Lines(
        "sequencer", "reshape.transpose", "reshape.indirect_transpose", "reshape.before", "reshape.after"
    ),
    "spray": _Lines("q7", "spray.transpose", "spray.indirect_transpose", "spray.before", "spray.after"),
}


def emit_transpose(stage: str, pair: ShapePair, shape: DgeShape, choices: Choices, events: EventLog) -> None:
    """The lines of one side of a transpose, nothing for another word; `stage` is reshape (NX) or spray (Q7)."""
    lines = _LINES[stage]
    if pair.tile is None or choices.text("transpose_log") not in ("both", lines.processor):
        return
    tile = (pair.tile.rows, pair.tile.cols, pair.tile.size)
    if pair.kind is Kind.TRANSPOSE:
        events.emit(stage, "tile", lines.transpose, tile)
        return
    num, step = padded(shape, len(_SWAPPED))
    events.emit(stage, "tile", lines.indirect, tile)
    events.emit(stage, "before", lines.before, (shape.elem_size, *num, *step, int(shape.is_src)))
    after = (shape.elem_size, *(num[k] for k in _SWAPPED), *(step[k] for k in _SWAPPED))
    events.emit(stage, "after", lines.after, after)


def padded(shape: DgeShape, dims: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Counts and steps (in the word's unit) in `dims` dimensions; those the shape lacks count 1, step 0 (D3)."""
    lacking = dims - len(shape.num)
    return (*shape.num, *(1,) * lacking), (*shape.word_step, *(0,) * lacking)

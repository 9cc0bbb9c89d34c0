"""The fast path of MARIANA_PLUS: an SBUF to SBUF transpose tile by tile under ring credits (pipeline 3.8).

Analysis, pair assessment, selection and REGWRITE are skipped. The credit mechanics are not published: credits are
free ring slots, and a tile waits until it has its own.
"""

from __future__ import annotations

from dataclasses import replace

from dgekit.core.choices import Choices
from dgekit.core.events import EventLog
from dgekit.core.generations import Generation
from dgekit.core.state import Availability
from dgekit.firmware.emit import FORMS, emit_program, share_ops
from dgekit.firmware.reshape import Strategy, walks_tiles
from dgekit.firmware.values import Backend, DgeShape, Kind, MicroOp, Plan, Program, ShapePair, Share, Tile
from dgekit.patterns.channels import row_blocks
from dgekit.words.enums import LINE_BYTES

MAX_TILES = 1 << 16  # far more than an SBUF holds; a larger word takes the ordinary way


def takes(pair: ShapePair, availability: Availability, generation: Generation, choices: Choices) -> bool:
    """Whether the word goes this way: a tiled SBUF to SBUF transpose without cast and without irregular strides."""
    if not generation.has_fast_path or availability.sw or pair.tile is None:
        return False
    direct = pair.kind is Kind.TRANSPOSE and walks_tiles(pair, choices) and not pair.is_cast
    direct = direct and pair.src.walk().count <= MAX_TILES
    return direct and pair.src.on_chip and pair.dst.on_chip and _is_tiled(pair, pair.tile)


def _is_tiled(pair: ShapePair, tile: Tile) -> bool:
    """Tile rows do not overlap, no step runs backward, both sides count the same tiles, columns keep their lines."""
    steps = _moving(pair.src) + _moving(pair.dst)
    lines = all(step % LINE_BYTES == 0 for step in _moving(pair.dst))
    return (
        tile.row_step >= tile.cols * tile.size and min(steps, default=0) >= 0 and lines and pair.src.num == pair.dst.num
    )


def _moving(shape: DgeShape) -> list[int]:
    return [step for step, count in zip(shape.step, shape.num, strict=True) if count > 1]


def plan(pair: ShapePair, dmas: tuple[int, ...]) -> Plan:
    """Whole tiles to each channel: blocks of the dimension with most tiles, over as many channels as there are."""
    dim = max(range(len(pair.src.num)), key=lambda index: pair.src.num[index])
    blocks = row_blocks(pair.src.num[dim], len(dmas))
    shares = tuple(
        Share(dma, _block(pair.src, dim, lo, hi), _block(pair.dst, dim, lo, hi), pair.tile)
        for dma, (lo, hi) in zip(dmas, blocks, strict=False)
    )
    return Plan(Kind.SB2SB, int(Strategy.TRANSPOSE), pair.tile.cols if pair.tile else 0, shares)


def _block(shape: DgeShape, dim: int, lo: int, hi: int) -> DgeShape:
    num = (*shape.num[:dim], hi - lo, *shape.num[dim + 1 :])
    return replace(shape, start=shape.start + lo * shape.step[dim], num=num)


def push_tiles(pair: ShapePair, plan: Plan, leg: str, choices: Choices, events: EventLog) -> Program:
    """For each tile of each channel: wait for credit, then one GENERATE a leg and its dimensions."""
    credits = _Credits(choices, events)
    ops: list[MicroOp] = []
    for share in plan.shares:
        for tile in _tiles(share):
            credits.wait(tile)
            group = tuple(share_ops(tile, pair, FORMS[Backend.FAST], choices))
            emit_program(Program(group), leg, choices, events)
            ops.extend(group)
    return Program(tuple(ops))


def _tiles(share: Share) -> list[Share]:
    """Every tile of a share alone, in the order of the walk."""
    ones = (1,) * len(share.src.num)
    starts = zip(share.src.walk().addresses(), share.dst.walk().addresses(), strict=True)
    return [
        replace(share, src=replace(share.src, start=src, num=ones), dst=replace(share.dst, start=dst, num=ones))
        for src, dst in starts
    ]


class _Credits:
    """Free slots of every channel's ring; a tile takes the larger of its two legs, and a full ring drains first."""

    def __init__(self, choices: Choices, events: EventLog) -> None:
        self._size = choices.number("ring_size") if choices.text("credits") == "free_slots" else 0
        self._free: dict[int, int] = {}
        self._events = events

    def wait(self, tile: Share) -> None:
        """Take the credits of one tile; nothing to do when credits are switched off."""
        if not self._size or tile.tile is None:
            return
        needed = min(self._size, max(tile.tile.rows, tile.tile.cols))
        free = self._free.get(tile.dma, self._size)
        waited = free < needed
        self._free[tile.dma] = (self._size if waited else free) - needed
        self._events.emit("push", "credit", dma=tile.dma, needed=needed, free=free, waited=waited)

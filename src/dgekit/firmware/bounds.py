"""Stage 5, bounds: three independent layers, address, bytes and count (pipeline 6.1, D24).

A failed address skips the word whole: nothing is pushed, nothing moves, no semaphore is bumped. Unequal totals are
structural and end in the illegal-instruction path. The count layer caps what one word may write.
"""

from __future__ import annotations

from dataclasses import dataclass

from dgekit.core.choices import Choices
from dgekit.core.dtypes import dtype_info
from dgekit.core.errors import IllegalWord, Issue
from dgekit.core.events import EventLog
from dgekit.core.generations import Generation
from dgekit.core.state import StateView
from dgekit.descriptors.batch import DescriptorBatch
from dgekit.firmware import transposes
from dgekit.firmware.emit import dollar_s
from dgekit.firmware.reshape import walks_tiles
from dgekit.firmware.values import Backend, DgeShape, Kind, ShapePair
from dgekit.patterns.walk import Walk

CARVEOUT_ALIGNMENT = 4  # descriptors: the region is 64-byte aligned (pipeline 1.6)


@dataclass(frozen=True, slots=True)
class AddressFailure:
    """The leg whose effective address is over its limit."""

    shape: DgeShape
    effective: int
    limit: int

    def as_issue(self) -> Issue:
        """The finding, with the numbers on both sides."""
        side = "source" if self.shape.is_src else "destination"
        return Issue(
            "pipeline.6.1",
            "error",
            f"{side} address {self.effective:#x} is above the limit {self.limit:#x}",
            f"{'src' if self.shape.is_src else 'dst'}_bound_reg",
            {"effective": hex(self.effective), "limit": hex(self.limit), "register": self.shape.bound.register},
            "pipeline 6.1, dec.D24",
            f"raise general register {self.shape.bound.register}, or shorten the walk",
        )


def effective_addresses(pair: ShapePair, generation: Generation, choices: Choices) -> tuple[int, int]:
    """What the checks compare, source then destination; a disabled bound gives the start address (D24)."""
    return (
        effective_address(pair, pair.src, generation, choices),
        effective_address(pair, pair.dst, generation, choices),
    )


def effective_address(pair: ShapePair, shape: DgeShape, generation: Generation, choices: Choices) -> int:
    """Start of the highest element, the start of the walk, or its last byte, by `bound_address` (D24)."""
    rule = choices.text("bound_address")
    if not shape.bound.enabled or rule == "start":
        return shape.start
    walk = _elements(pair, shape, generation, choices)
    highest = walk.start + sum(max(0, step * (count - 1)) for step, count in walk.dims if count)
    return highest + walk.elem - 1 if rule == "last_byte" else highest


def check_addresses(
    pair: ShapePair, effective: tuple[int, int], choices: Choices, events: EventLog
) -> AddressFailure | None:
    """Compare both legs with their limits (`<=` passes), source first; log the first that fails.

    The bound of an indirect leg guards its indices, not its address, and is left to the software backend.
    """
    for shape, address in zip((pair.src, pair.dst), effective, strict=True):
        if not shape.bound.enabled or _guards_index(pair.kind, shape):
            continue
        if address > shape.bound.limit:
            args = dollar_s(pair, choices, overrun=address - shape.bound.limit)
            side = "src" if shape.is_src else "dst"
            values = {"effective": address, "limit": shape.bound.limit}
            events.emit("bounds", "failed", "bounds.failed", args, side=side, **values)
            return AddressFailure(shape, address, shape.bound.limit)
    events.emit("bounds", "passed", effective=list(effective))
    return None


def check_totals(pair: ShapePair, choices: Choices) -> None:
    """Both legs hold the same amount: bytes of a copy, elements of a cast, tiles of a transpose; else IllegalWord."""
    if pair.kind is Kind.GATHER_TRANSPOSE:
        return  # its counts are tied by isa-words 4.5
    if walks_tiles(pair, choices) or pair.kind is Kind.TRANSPOSE:
        _require_equal("tiles" if walks_tiles(pair, choices) else "elements", pair, *_counts(pair))
    elif pair.is_cast:
        _require_equal("elements", pair, _elements_of(pair.src), _elements_of(pair.dst))
    else:
        _require_equal("bytes", pair, pair.src.walk().nbytes, pair.dst.walk().nbytes)


def check_count(
    batch: DescriptorBatch, backend: Backend, state: StateView, choices: Choices, events: EventLog
) -> Issue | None:
    """The carveout layer: register 39, where set, caps the descriptors of one Pool copy (pipeline 1.6, D34)."""
    if backend is not Backend.POOL or not state.carveout:
        return None
    offset, size = state.carveout & 0xFFFF, state.carveout >> 16
    allowed = max(0, size - choices.number("carveout_reserved"))
    emitted = batch.m2s_count + batch.s2m_count
    events.emit("bounds", "carveout", emitted=emitted, allowed=allowed, offset=offset)
    if offset % CARVEOUT_ALIGNMENT:
        return Issue(
            "pipeline.1.6", "error",
            f"the carveout starts at descriptor {offset}, which is not 64-byte aligned",
            "register 39", {"offset": offset, "multiple": CARVEOUT_ALIGNMENT}, "pipeline 1.6",
            "make its low half a multiple of 4",
        )  # fmt: skip
    if emitted > allowed:
        return Issue(
            "pipeline.6.1", "error",
            f"the word needs {emitted} descriptors, the carveout holds {allowed}",
            "register 39", {"descriptors": emitted, "allowed": allowed}, "pipeline 1.6, 6.1",
            "enlarge the carveout or cut the transfer",
        )  # fmt: skip
    return None


def _guards_index(kind: Kind, shape: DgeShape) -> bool:
    return kind is Kind.INDIRECT or (kind is Kind.GATHER_TRANSPOSE and shape.is_src)


def _elements(pair: ShapePair, shape: DgeShape, generation: Generation, choices: Choices) -> Walk:
    """The elements of a leg; those of a tile are single elements, so the highest one is the last of the last tile."""
    tile = pair.tile
    if tile is None or not walks_tiles(pair, choices):
        return shape.walk()
    if shape.is_src:
        walk = transposes.source_footprint(shape, tile)
        return Walk(walk.start, ((tile.size, tile.cols), *walk.dims), tile.size)
    walk = transposes.destination_footprint(shape, tile, generation.partition_stride)
    return Walk(walk.start, ((tile.size, tile.rows), *walk.dims), tile.size)


def _counts(pair: ShapePair) -> tuple[int, int]:
    return pair.src.walk().count, pair.dst.walk().count


def _elements_of(shape: DgeShape) -> int:
    """Elements of the leg's dtype; a size that holds no whole number of them is illegal."""
    size = dtype_info(shape.dtype).size
    if not size or shape.elem_size % size:
        raise IllegalWord(
            f"{'src' if shape.is_src else 'dst'} element of {shape.elem_size} bytes holds no whole {shape.dtype.name}",
            rule="pipeline.6.1",
            values={"elem_size": shape.elem_size, "dtype_size": size},
            source="isa-words 4.2",
            fix="make the element size a multiple of the dtype's",
        )
    return shape.walk().nbytes // size


def _require_equal(what: str, pair: ShapePair, src: int, dst: int) -> None:
    if src != dst:
        raise IllegalWord(
            f"the source has {src} {what}, the destination {dst}",
            rule="pipeline.6.1",
            where=pair.kind.name,
            values={"src": src, "dst": dst, "unit": what},
            source="pipeline 6.1, isa-words 4.2",
            fix="make both legs move the same amount",
        )

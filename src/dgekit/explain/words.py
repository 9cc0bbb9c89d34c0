"""A card back to its 64-byte word: what the log carries, what follows from it, and what it does not say (D96)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dgekit.core.choices import Choices
from dgekit.core.dtypes import Dtype
from dgekit.core.errors import EncodeError, Issue
from dgekit.explain.cards import Card, Side
from dgekit.firmware.values import Kind
from dgekit.words.enums import ELEM_SIZE_ZERO_MEANS, PARTITION_OFFSET_BITS, POOLING_NUM_CHANNELS, IndirectMode
from dgekit.words.legs import dtype_bits
from dgekit.words.structs import (
    Addr4Immediate,
    Addr8Immediate,
    BoundCheckReg,
    DmaDirect2D,
    DmaDirect2DXpose,
    DmaGatherTransposeFlags,
    DmaGatherXpose,
    DmaIndirect1D,
    DmaIndirectFlags,
    DtypePair,
    Word,
)

_PARTITION = (1 << PARTITION_OFFSET_BITS) - 1  # index vectors lie in partition 0 (isa-words 1.5)
_SHAPE_BIT = 0x10  # marker bit 6, as marker_bits holds it
_U16 = 0xFFFF


@dataclass(frozen=True, slots=True)
class RebuiltWord:
    """A word that would produce the card's lines.

    `carried` are the paths that the log prints, `derived` those that follow from them; all others hold a default.
    """

    word: Word
    carried: frozenset[str]
    derived: frozenset[str]

    def not_carried(self) -> tuple[str, ...]:
        """The paths of all fields whose value the log does not tell."""
        known = self.carried | self.derived
        return tuple(
            path
            for path, field, _, _ in self.word.placed_leaves()
            if field.role != "reserved" and not path.startswith("header.") and not _is_under(path, known)
        )

    def issues(self) -> list[Issue]:
        """One note a field that the log does not print, so that `dge decode`'s form can carry it."""
        notes = [
            Issue("logs.derived", "advice", "follows from other lines; not printed", path, {}, "D96")
            for path in sorted(self.derived)
        ]
        return notes + [
            Issue("logs.not_carried", "advice", "the log does not say; the default stands here", path, {}, "D96")
            for path in self.not_carried()
        ]


def rebuild_word(card: Card, choices: Choices) -> RebuiltWord | None:
    """The word of a card that has a dump, or was pushed on the fast path.

    None for every other card, and for one whose values no word can hold (its checks name them).
    """
    draft = _Draft(card, choices)
    try:
        match card.kind:
            case Kind.INDIRECT:
                return draft.indirect()
            case Kind.TRANSPOSE | Kind.SB2SB:
                return draft.transpose()
            case Kind.GATHER_TRANSPOSE:
                return draft.gather_transpose()
            case Kind.DIRECT2D:
                return draft.direct()
    except EncodeError:
        return None
    return None


class _Draft:
    """The fields of one word as they are found."""

    def __init__(self, card: Card, choices: Choices) -> None:
        self._card = card
        self._choices = choices
        self._sides = {side.name: side for side in card.sides or ()}
        self._values: dict[str, Any] = {}
        self._carried: set[str] = set()
        self._derived: set[str] = set()

    def direct(self) -> RebuiltWord | None:
        """0xb8."""
        if not self._sides:
            return None
        self._semaphore(with_increment=True)
        for name in ("src", "dst"):
            self._leg(name, 2, self._sides[name])
            self._bound(name, f"{name}_bound_reg")
        self._elem_sizes()
        self._dtypes()
        dump = self._dump()
        if "compute_op" in dump:
            self._put("compute_op", dump["compute_op"])
        return self._built(DmaDirect2D)

    def indirect(self) -> RebuiltWord | None:
        """0xbb."""
        if not self._sides:
            return None
        self._semaphore(with_increment=True)
        for name in ("src", "dst"):
            self._leg(name, 1, self._sides[name])
            self._bound(name, f"{name}_idx_bound_reg")
        self._elem_sizes()
        self._dtypes()
        flags: dict[str, int] = {}
        vectors = self._vectors()
        if vectors:
            mode = IndirectMode.SRC_DST_INDIRECTION if len(vectors) == 2 else None
            mode = mode or (IndirectMode.SRC_INDIRECTION if "src" in vectors else IndirectMode.DST_INDIRECTION)
            flags["indirect_mode"] = mode
            flags["gather_dim" if "src" in vectors else "scatter_dim"] = self._dump().get("indirection_dim", 0)
            for name, address in vectors.items():
                self._put(f"{name}_idx_start_addr", Addr4Immediate(addr_immediate=address & _PARTITION))
        self._values["flags"] = DmaIndirectFlags(**flags)
        self._carried |= {f"flags.{name}" for name in flags}
        self._derive("idx_num_active_channels", POOLING_NUM_CHANNELS)
        return self._built(DmaIndirect1D)

    def transpose(self) -> RebuiltWord | None:
        """0xbd, also as the fast path pushes it: without a dump, tile by tile."""
        if not self._sides and not self._card.groups:
            return None
        self._semaphore(with_increment=False)
        for name in ("src", "dst"):
            if name in self._sides:
                self._leg(name, 2, self._sides[name])
                self._bound(name, f"{name}_bound_reg")
            else:
                self._fast_leg(name)
        self._dtypes()
        if self._card.tile:
            self._put("tile_src_rows", self._card.tile["tile_src_rows"])
            self._put("tile_src_cols", self._card.tile["tile_src_cols"])
        return self._built(DmaDirect2DXpose)

    def gather_transpose(self) -> RebuiltWord | None:
        """0xf1."""
        if not self._sides:
            return None
        self._semaphore(with_increment=False)
        self._leg("src", 2, self._sides["src"])
        self._leg("dst", 2, self._sides["dst"])
        steps = self._values.pop("dst_step_elem", None)
        if steps is not None:  # its first destination step is implicit
            self._carried.discard("dst_step_elem")
            self._put("dst_step_elem_1", steps[1])
        self._bound("src", "src_idx_bound_reg")
        self._bound("dst", "dst_bound_reg")
        cast = self._dump().get("cast")
        if cast:
            self._put("dtype", DtypePair(dtype_lo=_dtype(cast[0]), dtype_hi=_dtype(cast[1])))
        if self._card.tile:
            self._derive("elem_size", self._card.tile["tile_src_cols"] * self._card.tile["dtype_size"])
        self._put("flags", DmaGatherTransposeFlags(gather_dim=self._dump().get("indirection_dim", 0)))
        if "src" in (vectors := self._vectors()):
            self._put("src_idx_start_addr", Addr4Immediate(addr_immediate=vectors["src"] & _PARTITION))
        self._derive("idx_num_active_channels", POOLING_NUM_CHANNELS)
        return self._built(DmaGatherXpose)

    # the parts

    def _put(self, name: str, value: Any) -> None:
        self._values[name] = value
        self._carried.add(name)

    def _derive(self, name: str, value: Any) -> None:
        self._values[name] = value
        self._derived.add(name)

    def _dump(self) -> dict[str, Any]:
        return self._card.dump.fields if self._card.dump is not None else {}

    def _semaphore(self, *, with_increment: bool) -> None:
        """The number from a GENERATE, which is the semaphore under every reading of `$S[..]` (D22)."""
        printed = self._card.semaphore()
        generate = next((entry for entry in self._card.pushes if entry.key == "push.generate"), None)
        is_semaphore = self._choices.text("dump_index") == "semaphore"
        if generate is not None:
            self._put("semaphore", generate.args[4])
        elif printed is not None and is_semaphore:
            self._put("semaphore", printed[0])
        if with_increment and printed is not None:
            self._put("sem_increment", printed[1])

    def _leg(self, name: str, rank: int, side: Side) -> None:
        """Address, steps and counts; a leg that came from a shape register names it instead."""
        register = self._shape_register(side)
        bits = 0 if register is None else _SHAPE_BIT
        self._values[f"{name}_start_addr"] = Addr8Immediate(address=side.addr, marker_bits=bits)
        self._carried.add(f"{name}_start_addr.address")
        if register is not None:
            self._carried.add(f"{name}_start_addr.marker_bits")
        steps = [step for step, _ in side.dims[:rank]]
        counts = [count for _, count in side.dims[:rank]]
        if register is not None:
            steps, counts = [register] + [0] * (rank - 1), [0] * rank
        self._put(f"{name}_step_elem", tuple(steps) if rank > 1 else steps[0])
        self._put(f"{name}_num_elem", tuple(counts) if rank > 1 else counts[0])

    def _fast_leg(self, name: str) -> None:
        """A leg of the fast path: its first tile, if its GENERATE is shown, and the steps from tile to tile."""
        which = 0 if name == "src" else 1
        first = self._card.groups[0]
        shown = first.generated("RD" if name == "src" else "WR")
        if shown:
            self._values[f"{name}_start_addr"] = Addr8Immediate(address=shown[0].args[2])
            self._carried.add(f"{name}_start_addr.address")
        if len(first.steps) == 2:
            order = -1 if self._choices.text("dimpush_order") == "outer_first" else 1
            self._put(f"{name}_step_elem", tuple(pair[which] for pair in first.steps[::order]))

    def _shape_register(self, side: Side) -> int | None:
        """The register whose counts and steps the leg has; its two lines come before the analysis."""
        steps = {entry.args[0]: entry.args[1:] for entry in self._card.lines.all("shape.step")}
        for entry in self._card.lines.all("shape.num"):
            index, counts = entry.args[0], entry.args[1:]
            wanted = list(zip(steps.get(index, ()), counts, strict=False))[: len(side.dims)]
            found = [(step & _U16, count) for step, count in side.dims[: len(wanted)]]
            if wanted and wanted == found:
                return int(index)
        return None

    def _bound(self, leg: str, name: str) -> None:
        raw = self._sides[leg].bracket
        if self._choices.text("dump_bracket") == "bound_byte" and raw <= 0xFF:
            self._put(name, BoundCheckReg.decode(bytes([raw])))

    def _elem_sizes(self) -> None:
        """The shown leg's size; the other's follows from equal bytes, or from equal counts of a cast."""
        sizes = self._card.elem_sizes()
        for name, size in sizes.items():
            self._put(f"{name}_elem_size", size & _U16)
        for name, other in (("src", "dst"), ("dst", "src")):
            if name not in sizes and other in sizes and (size := self._other_size(name, other, sizes[other])):
                self._derive(f"{name}_elem_size", size & _U16)

    def _other_size(self, name: str, other: str, size: int) -> int:
        total = self._sides[other].count * size
        cast = self._dump().get("cast")
        if cast and cast[0] != cast[1]:
            codes = {"src": cast[0], "dst": cast[1]}
            widths = {leg: _width(code) for leg, code in codes.items()}
            total = total * widths[name] // widths[other] if widths[other] else 0
        count = self._sides[name].count
        return total // count if count and total % count == 0 and total // count <= ELEM_SIZE_ZERO_MEANS else 0

    def _dtypes(self) -> None:
        cast = self._dump().get("cast")
        if cast:
            self._put("in_dtype", _dtype(cast[0]))
            self._put("out_dtype", _dtype(cast[1]))

    def _vectors(self) -> dict[str, int]:
        """The index vectors by leg: the spray lines say which leg has one, the constructors where they lie."""
        for job in self._card.jobs:
            addresses = [entry.args[0] for entry in job.lines.all("indirection.constructor")]
            legs = [
                "src" if entry.fields["is_our_tensor"] else "dst"
                for entry in job.lines.all("spray.info")
                if entry.fields["do_indirection"]
            ]
            if legs and len(legs) == len(addresses):
                return dict(zip(legs, addresses, strict=True))
        return {}

    def _built(self, cls: type[Word]) -> RebuiltWord:
        return RebuiltWord(cls(**self._values), frozenset(self._carried), frozenset(self._derived))


def _is_under(path: str, known: frozenset[str]) -> bool:
    parts = path.split(".")
    return any(".".join(parts[:end]) in known for end in range(1, len(parts) + 1))


def _dtype(code: int) -> int:
    return Dtype(code) if code in list(Dtype) else code


def _width(code: int) -> int:
    return (dtype_bits(code) or 0) // 8

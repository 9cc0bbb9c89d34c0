"""A transfer with its names looked up: walks, places and types of both legs, checked as far as they go without words.

Every way of lowering (words, or the host's own expansion) starts from a `Request`.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from dgekit.core.choices import Choices
from dgekit.core.dtypes import Dtype, DtypeInfo, dtype_info
from dgekit.core.errors import Issue, LoweringError
from dgekit.core.generations import Generation
from dgekit.core.state import NUM_SEMAPHORES
from dgekit.patterns.walk import Walk
from dgekit.transfers.access import access_walk, element_type
from dgekit.transfers.placement import Placed, Placement
from dgekit.transfers.transfer import ENGINES, OOB, OPS, UPDATES, Access, Transfer
from dgekit.words.enums import MAX_PRIORITY_CLASS

MAX_INCREMENT = 255
_WIDE_INTEGERS = (Dtype.INT64, Dtype.UINT64)


@dataclass(frozen=True, slots=True)
class Leg:
    """One side: where its tensor lies, the walk over SoC addresses, and the type of one element."""

    name: str
    placed: Placed
    walk: Walk
    dtype: DtypeInfo

    @property
    def in_sbuf(self) -> bool:
        """True when this side is in SBUF."""
        return self.placed.in_sbuf


@dataclass(frozen=True, slots=True)
class Request:
    """A transfer ready for lowering; `src` and `dst` walks count dtype elements, in order."""

    transfer: Transfer
    placement: Placement
    generation: Generation
    choices: Choices
    src: Leg
    dst: Leg

    @property
    def where(self) -> str:
        """The place an error names."""
        return self.transfer.where or self.transfer.name

    @property
    def is_cast(self) -> bool:
        """True when the two sides have different element types."""
        return self.src.dtype.code != self.dst.dtype.code

    @property
    def core(self) -> int:
        """The NeuronCore that executes: the SBUF side's (the destination's first), else the indices', else 0 (D41)."""
        transfer = self.transfer
        accesses = [transfer.dst, *transfer.dsts, transfer.src, *transfer.srcs, transfer.indices]
        for access in accesses:
            if access is not None and self.placement.find(access.tensor, self.where).in_sbuf:
                return self.placement[access.tensor].tensor.core
        return 0

    def refuse(
        self, message: str, rule: str, values: dict[str, object], fix: str = "", source: str = ""
    ) -> LoweringError:
        """The error for something this transfer cannot be lowered to."""
        return LoweringError(message, rule=rule, where=self.where, values=values, fix=fix, source=source)


def open_request(transfer: Transfer, placement: Placement, generation: Generation, choices: Choices) -> Request:
    """Look up both legs of a transfer; raises LoweringError, CrossPartition or Unsupported saying what is wrong."""
    where = transfer.where or transfer.name
    src = open_leg("src", transfer.src, placement, generation, where)
    dst = open_leg("dst", transfer.dst, placement, generation, where)
    request = Request(transfer, placement, generation, choices, src, dst)
    _check_numbers(request)
    _check_words(request)
    for leg in (src, dst):
        check_dtype(leg, request)
    if src.dtype.code == dst.dtype.code and src.dtype.fn != dst.dtype.fn:
        raise request.refuse(
            f"{src.dtype.name} and {dst.dtype.name} share one code, so nothing converts between them",
            "dec.D54",
            {"dtype": int(src.dtype.code)},
            "cast through bfloat16 in two transfers, or declare one form to move the bytes",
            "decision D54, isa-words 2.5",
        )
    return request


def check_dtype(leg: Leg, request: Request) -> None:
    """Raise LoweringError `isa.2.5` for a leg whose type the generation does not have."""
    if leg.dtype.code not in request.generation.dtypes:
        raise request.refuse(
            f"{leg.name} is {leg.dtype.name}, which {request.generation.name} does not have",
            "isa.2.5",
            {"dtype": int(leg.dtype.code)},
            "use a type of this generation, or move the bytes as uint8",
        )


def open_leg(name: str, access: Access, placement: Placement, generation: Generation, where: str) -> Leg:
    """One side looked up; raises as `open_request` does."""
    placed = placement.find(access.tensor, where)
    return Leg(name, placed, access_walk(access, placement, generation, where), element_type(access, placed))


def _check_numbers(request: Request) -> None:
    transfer = request.transfer
    ranges: tuple[tuple[str, int, Collection[int]], ...] = (
        ("semaphore", transfer.semaphore or 0, range(NUM_SEMAPHORES)),
        ("increment", transfer.increment, range(MAX_INCREMENT + 1)),
        ("priority", transfer.priority, range(MAX_PRIORITY_CLASS + 1)),
    )
    for name, value, legal in ranges:
        if value not in legal:
            raise request.refuse(
                f"{name} {value} is outside 0..{max(legal)}",
                f"transfers.{name}",
                {name: value, "maximum": max(legal)},
            )


def _check_words(request: Request) -> None:
    """Options that are one of a few words; a transfer file's have been checked when it was read."""
    transfer = request.transfer
    for name, value, legal in (
        ("op", transfer.op, OPS),
        ("oob", transfer.oob, OOB),
        ("accumulate", transfer.accumulate, ("", *UPDATES)),
        ("engine", transfer.engine, ENGINES),
    ):
        if value not in legal:
            raise request.refuse(
                f"{name} {value!r} is none of {', '.join(filter(None, legal))}",
                f"transfers.{name}",
                {name: value, "legal": list(legal)},
            )


def check_same_count(request: Request) -> None:
    """Both legs of a copy visit as many elements; raises LoweringError `transfers.shape`."""
    src, dst = request.src.walk.count, request.dst.walk.count
    if src != dst:
        raise request.refuse(
            f"the source has {src} elements, the destination {dst}",
            "transfers.shape",
            {"src": src, "dst": dst},
            "give both patterns the same number of elements",
        )


def copy_dtypes(request: Request) -> tuple[DtypeInfo, DtypeInfo, tuple[Issue, ...]]:
    """The types a copy's word names, and a note where a plain copy moves its bytes under another type (D30).

    Raises LoweringError `isa.4.2.dtype` for a cast from or to a type that no copy may name.
    """
    src, dst = request.src.dtype, request.dst.dtype
    if not request.is_cast:
        stand_in = _stand_in(src, request.generation)
        if stand_in is None:
            return src, dst, ()
        return stand_in, stand_in, (_moved_as(src, stand_in, request),)
    for leg in (request.src, request.dst):
        if _stand_in(leg.dtype, request.generation) is not None and not (
            leg.name == "dst" and leg.dtype.code == Dtype.FP32R
        ):
            raise request.refuse(
                f"no cast may have {leg.dtype.name} as its {leg.name} type",
                "isa.4.2.dtype",
                {leg.name: int(leg.dtype.code)},
                "cast between types of at most 32 bits among the codes 0x0 to 0xf, FP32R never as the source",
                "isa-words 4.2",
            )
    return src, dst, ()


def _stand_in(dtype: DtypeInfo, generation: Generation) -> DtypeInfo | None:
    """The type a plain copy names in place of one that copies may not name (isa-words 4.2, D30); None: itself."""
    if dtype.code in _WIDE_INTEGERS:
        return dtype_info(Dtype.UINT32)
    if dtype.code == Dtype.FP32R:
        return dtype_info(Dtype.FP32)
    if generation.nc >= 4 and dtype.code > Dtype.FP8_EXP5:
        return dtype_info(Dtype.UINT8)
    return None


def _moved_as(dtype: DtypeInfo, stand_in: DtypeInfo, request: Request) -> Issue:
    return Issue(
        "dec.D30",
        "advice",
        f"a copy may not name {dtype.name}; its bytes move as {stand_in.name}",
        request.where,
        {"dtype": int(dtype.code), "moved_as": int(stand_in.code)},
        "decision D30, isa-words 4.2",
    )

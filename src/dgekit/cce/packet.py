"""`CcePacket`: one compute packet as a value, between what a user asks and the descriptors that carry it.

A packet is a pure description; whether it is legal is asked with `dgekit.cce.validate`, its descriptors come from
`dgekit.cce.build`, its result from `dgekit.cce.execute`.
"""

from __future__ import annotations

from dataclasses import dataclass

from dgekit.cce.enums import DEFAULT_SELECTORS, CceType

Selectors = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Constant:
    """The constant of MIN or MAX: its raw 32 `bits` and its element type (SDMA code)."""

    bits: int
    dtype: int


@dataclass(frozen=True, slots=True)
class Gce:
    """A compression stage: SoC address of its header, direction, and the payload's element type (SDMA code)."""

    header: int
    compress: bool
    payload_dtype: int


@dataclass(frozen=True, slots=True)
class CcePacket:
    """One packet: `elements` from each of `sources`, combined by `op` in source order, written to each of `dests`.

    Addresses are SoC byte addresses, element types SDMA codes. `scales` (FMA) and `selectors` (FMA, operands a, b, c)
    hold one entry a source; absent selectors mean input x scale + stored. `seed` makes the packet set the stochastic
    rounding state first; `stochastic` rounds with the state the queue has. `in_fn` and `out_fn` name the FN form of
    E4M3, which shares its code with the IEEE-like form (decision D54). Source: cce 3.4, 4.1.
    """

    op: CceType
    sources: tuple[int, ...]
    dests: tuple[int, ...]
    elements: int
    in_dtype: int
    accum_dtype: int
    out_dtype: int
    scales: tuple[float, ...] = ()
    selectors: tuple[Selectors, ...] = ()
    constant: Constant | None = None
    seed: int | None = None
    gce: Gce | None = None
    strong_order: bool = False
    write_barrier: bool = False
    in_fn: bool = False
    out_fn: bool = False
    stochastic: bool = False

    def selectors_of(self, source: int) -> Selectors:
        """The operand selectors of one source."""
        return self.selectors[source] if self.selectors else DEFAULT_SELECTORS

    @property
    def source_dtype(self) -> int:
        """Element type of the bytes that are read: `in_dtype`, or the payload's when decompressing."""
        return self.gce.payload_dtype if self.gce is not None and not self.gce.compress else self.in_dtype

    @property
    def dest_dtype(self) -> int:
        """Element type of the bytes that are written: `out_dtype`, or the payload's when compressing."""
        return self.gce.payload_dtype if self.gce is not None and self.gce.compress else self.out_dtype

    @property
    def has_stage(self) -> bool:
        """True when a sum is compressed on its way out."""
        return self.gce is not None and self.op != CceType.GCE

    @property
    def is_combo(self) -> bool:
        """True when the packet needs the combined form: several destinations or a compression stage (cce 3.4)."""
        return len(self.dests) > 1 or self.has_stage

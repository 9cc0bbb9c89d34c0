"""The BDs of one packet, read in order: who may stand where (cce 3.4, 4.10)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dgekit.cce.classify import decode_bd
from dgekit.cce.enums import CceType
from dgekit.cce.host import fp32_of
from dgekit.cce.packet import Selectors
from dgekit.core.choices import Choices
from dgekit.core.errors import ComputeError
from dgekit.layout.struct import Struct

OPS = {"add": CceType.ADD, "fma": CceType.FMA, "max": CceType.MAX, "min": CceType.MIN, "gce": CceType.GCE}
_FLUSH = {"add": "last", "fma": "f4_last", "max": "last", "min": "last", "gce": "last"}  # bit 7; MIN and MAX bit 4


@dataclass(slots=True)
class Parts:
    """What the tx BDs of one packet said, in order."""

    sources: list[Struct] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    scales: list[float] = field(default_factory=list)
    selectors: list[Selectors] = field(default_factory=list)
    operands: Struct | None = None  # an FMA parameter whose source is still to come
    constant: Struct | None = None
    seed: int | None = None
    header: Struct | None = None
    compressed: bool = False  # the stage after the sum has been met
    flushed: bool = False
    dest_count: int = 1
    replicated: bool = False

    @classmethod
    def of(cls, rows: Sequence[bytes], choices: Choices) -> Parts:
        """Read the BDs in order; raises ComputeError for the first that does not belong where it stands."""
        parts = cls()
        for index, row in enumerate(rows):
            kind, bd = decode_bd(row, "m2s", choices)
            take = _TAKERS.get(kind)
            if take is None:
                raise fault("cce.3.9", f"a {kind} BD is no part of a compute packet", f"tx[{index}]", kind=kind)
            take(parts, kind, bd, f"tx[{index}]")
        parts.finish()
        return parts

    def first_slot(self, kind: str, bd: Struct, where: str) -> None:
        """A seed or a constant stands before everything else."""
        if self.sources or self.operands or self.header or self.seed is not None or self.constant is not None:
            raise fault("cce.3.4", f"a {kind} BD is the first of its packet", where)
        if kind == "seed":
            self.seed = bd.at("seed")
        elif kind == "minmax_constant":
            self.constant = bd

    def parameter(self, kind: str, bd: Struct, where: str) -> None:
        """The operands of the FMA source that follows."""
        self._before_flush(where)
        if self.operands is not None:
            raise fault("cce.3.4", "two operand BDs before one source", where)
        self.operands = bd

    def source(self, kind: str, bd: Struct, where: str) -> None:
        """A source; a gce BD after the flush is the compression stage."""
        if kind == "gce" and self.flushed and self.header is not None and not self.compressed:
            self.compressed = True
            return
        self._before_flush(where)
        if (kind == "fma") != (self.operands is not None):
            raise fault("cce.3.4", f"a {kind} source {'without' if kind == 'fma' else 'after'} FMA operands", where)
        if kind == "gce" and self.header is None:
            raise fault("cce.4.6", "a compression source without a header", where)
        if self.operands is not None:
            self.scales.append(fp32_of(self.operands.at("scale")))
            chosen = self.operands.at("operands")
            self.selectors.append((chosen.at("a_sel"), chosen.at("b_sel"), chosen.at("c_sel")))
            self.operands = None
        self.sources.append(bd)
        self.kinds.append(kind)
        self.flushed = bool(bd.at(f"meta_ctrl.{_FLUSH[kind]}"))

    def gce_header(self, kind: str, bd: Struct, where: str) -> None:
        """A header: before the sources of a compression packet, or after the flush."""
        if self.header is not None or (self.sources and not self.flushed):
            raise fault("cce.3.4", "a compression header stands before the sources or after the flush", where)
        self.header = bd

    def ext(self, kind: str, bd: Struct, where: str) -> None:
        """The word between the sources and the stages."""
        if not self.flushed:
            raise fault("cce.CHOICE-19", "the EXT word comes after the last source", where)

    def replication(self, kind: str, bd: Struct, where: str) -> None:
        """The last stage."""
        if not self.flushed or self.replicated:
            raise fault("cce.3.4", "one replication BD comes after the last source", where)
        self.replicated = True
        self.dest_count = bd.at("meta_ctrl.count")

    def finish(self) -> None:
        """What must have happened by the end of the packet."""
        if not self.sources:
            raise fault("cce.4.10", "the packet has no source", "tx")
        if self.operands is not None:
            raise fault("cce.3.4", "FMA operands without their source", "tx")
        if not self.flushed:
            raise fault("cce.4.10", "the sources end without a flush bit", "tx", fix="set it on the last source")
        if self.kinds[0] != "gce" and self.header is not None and not self.compressed:
            raise fault("cce.3.4", "a compression header without its stage", "tx")
        if self.dest_count < 1:
            raise fault("cce.CHOICE-17", "a replication to no destination", "tx", count=self.dest_count)
        if len(set(self.kinds)) > 1:
            names = ", ".join(sorted(set(self.kinds)))
            raise fault("cce.3.9", f"sources of several operations ({names}) in one packet", "tx")

    def _before_flush(self, where: str) -> None:
        if self.flushed:
            raise fault("cce.4.10", "a source after the flush bit", where, fix="set it on the last source only")


_Taker = Callable[[Parts, str, Struct, str], None]
_TAKERS: Mapping[str, _Taker] = {
    **dict.fromkeys(("seed", "seed_disabled", "minmax_constant", "minmax_parameter"), Parts.first_slot),
    **dict.fromkeys(OPS, Parts.source),
    "fma_parameter": Parts.parameter,
    "gce_parameter": Parts.gce_header,
    "ext": Parts.ext,
    "replication": Parts.replication,
}


def fault(rule: str, message: str, where: str, fix: str = "", **values: Any) -> ComputeError:
    """An error of decoding: the rule, what is wrong and where."""
    source = "cce " + rule.removeprefix("cce.")
    return ComputeError(message, rule=rule, where=where, values=values, source=source, fix=fix)

"""The BDs of compute packets as structures: sources, parameters and stages (cce 3.4 to 3.7)."""

from __future__ import annotations

from typing import Any

from dgekit.cce.words import (
    AddMeta,
    ConstantWord,
    EmptyWord,
    ExtMeta,
    FmaMeta,
    FmaOperands,
    FmaParameterWord,
    GceMeta,
    GceParameterWord,
    MinMaxMeta,
    MinMaxOperands,
    ReplicationWord,
    SeedWord,
    Word,
)  # fmt: skip
from dgekit.descriptors.bd import BD_BYTES, M2SCompute, M2SControl, M2SParameter
from dgekit.layout.fields import Field, like, reserved, sub, u32, u32s
from dgekit.layout.struct import Struct


def _control() -> Field[M2SControl]:
    return sub(0, M2SControl, "length, ring id, packet bits", default=M2SControl(md=1))


def _word1(struct: type[Word]) -> Field[Any]:
    return sub(4, struct, "operation")


def _pointer() -> Field[int]:
    return like(M2SCompute.buf_ptr, "SoC address the engine reads", "M/I")


def _nothing(offset: int) -> Field[int]:
    return reserved(32, offset, "zero in every known word", "M/I")


class AddBd(Struct, name="BD_CCE_ADD", size=BD_BYTES, source="cce 3.4"):
    """One ADD source."""

    len_ctrl = _control()
    meta_ctrl = _word1(AddMeta)
    buf_ptr = _pointer()


class FmaBd(Struct, name="BD_CCE_FMA", size=BD_BYTES, source="cce 3.4"):
    """One FMA source."""

    len_ctrl = _control()
    meta_ctrl = _word1(FmaMeta)
    buf_ptr = _pointer()


class MinMaxBd(Struct, name="BD_CCE_MIN_MAX", size=BD_BYTES, source="cce 3.4"):
    """One MIN or MAX source."""

    len_ctrl = _control()
    meta_ctrl = _word1(MinMaxMeta)
    buf_ptr = _pointer()


class GceBd(Struct, name="BD_CCE_GCE", size=BD_BYTES, source="cce 3.7"):
    """One compression source; as a stage after a sum its length and address are 0."""

    len_ctrl = _control()
    meta_ctrl = _word1(GceMeta)
    buf_ptr = _pointer()


class ExtBd(Struct, name="BD_CCE_EXT", size=BD_BYTES, source="cce 3.7"):
    """The word between the sources and the stages of a combined packet."""

    len_ctrl = _control()
    meta_ctrl = _word1(ExtMeta)
    word2 = _nothing(8)
    word3 = _nothing(12)


class FmaParameterBd(Struct, name="BD_CCE_FMA_PARAMETER", size=BD_BYTES, source="cce 3.5"):
    """The operands of the FMA source that follows."""

    len_ctrl = _control()
    meta_ctrl = _word1(FmaParameterWord)
    operands = sub(8, FmaOperands, "operand selectors")
    scale = like(M2SParameter.meta2, "fp32 scale of this source, raw bits")


class ConstantBd(Struct, name="BD_CCE_MIN_MAX_CONSTANT", size=BD_BYTES, source="cce 3.6"):
    """The constant of MIN or MAX."""

    len_ctrl = _control()
    meta_ctrl = _word1(ConstantWord)
    operands = sub(8, MinMaxOperands, "length and operand")
    constant = like(M2SParameter.meta2, "the constant, raw bits (CHOICE-14)", "M/I")


class NoConstantBd(Struct, name="BD_CCE_MIN_MAX_PARAMETER", size=BD_BYTES, source="cce 3.6"):
    """The same descriptor when no constant is used."""

    len_ctrl = _control()
    meta_ctrl = _word1(EmptyWord)
    operands = sub(8, MinMaxOperands, "length and operand")
    constant = like(M2SParameter.meta2, "unused", "M/I")


class SeedBd(Struct, name="BD_CCE_SEED", size=BD_BYTES, source="cce 3.7"):
    """Sets the state of stochastic rounding."""

    len_ctrl = _control()
    meta_ctrl = _word1(SeedWord)
    word2 = _nothing(8)
    seed = u32(12, "32-bit seed (CHOICE-16)", "M/I", base=16)


class NoSeedBd(Struct, name="BD_CCE_SEED_OFF", size=BD_BYTES, source="cce 3.7"):
    """The same descriptor when stochastic rounding is off."""

    len_ctrl = _control()
    meta_ctrl = _word1(EmptyWord)
    word2 = _nothing(8)
    seed = u32(12, "unused", "M/I", base=16)


class ReplicationBd(Struct, name="BD_CCE_REPLICATION", size=BD_BYTES, source="cce 3.7"):
    """Writes the result to several destinations."""

    len_ctrl = _control()
    meta_ctrl = _word1(ReplicationWord)
    word2 = _nothing(8)
    word3 = _nothing(12)


class GceParameterBd(Struct, name="BD_CCE_GCE_PARAMETER", size=BD_BYTES, source="cce 3.7"):
    """The header of a compression stage."""

    len_ctrl = _control()
    meta_ctrl = _word1(GceParameterWord)
    header = like(M2SCompute.buf_ptr, "SoC address of the header (CHOICE-18)", "M/I")


class RawBd(Struct, name="BD_RAW", size=BD_BYTES, source="dec.D66"):
    """A BD that nothing explains."""

    words = u32s(4, 0, "the four words", "-", base=16)

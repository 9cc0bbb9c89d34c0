"""The words of compute BDs under their own names: five meta-control words, the parameter words, the operands (cce 3).

The places of the bits are those of the general compute view (`descriptors.bd.ComputeMeta`); each operation names them
differently. Base constants are the defaults of the fields, so a word is encoded by naming what differs:

>>> hex(AddMeta(out_dt=6, accum_dt=10, last=1).number)
'0x20a6080'

W1 [31:29] of a parameter word is its builder's mode argument; the bit in the middle is `more` (CHOICE-10), so only
modes 0 and 1 exist.
"""

from __future__ import annotations

from typing import Any

from dgekit.cce.enums import CceType, Dtype
from dgekit.descriptors.bd import EXT_BIT, MORE_BIT, ComputeMeta, DreOptype, Operands, SdmaOp
from dgekit.layout.fields import Field, like, reserved, uint
from dgekit.layout.kinds import EnumKind, IntKind
from dgekit.layout.struct import Struct

SOURCE = "cce 3.8"
LOW = "L/O"  # the position is observed, the name is not
_DTYPE = EnumKind(Dtype, 4)
_THREE_BITS = IntKind(3)
_FOUR_BITS = IntKind(4)


class Word(Struct):
    """A one-word view."""

    @property
    def number(self) -> int:
        """The word as a 32-bit number."""
        return int.from_bytes(self.encode(), "little")


def _zero(other: Field[Any]) -> Field[int]:
    return like(other, "zero in every known word", "M/I", role="reserved")


def _zeros(bits: int, bit: int) -> Field[int]:
    return reserved(bits, 0, "zero in every known word", "M/I", bit=bit)


def _dtype(other: Field[Any], doc: str, default: int = 0) -> Field[int]:
    return like(other, doc, kind=_DTYPE, default=_DTYPE.member(default))


def _op(default: SdmaOp = SdmaOp.CCE) -> Field[Any]:
    return like(ComputeMeta.op, "engine operation class", default=default)


def _type(default: CceType) -> Field[Any]:
    return like(ComputeMeta.optype, "compute type", default=default)


def _sub(default: int = 0) -> Field[int]:
    return like(ComputeMeta.block_attr_sub, "2 marks MAX, 3 MIN, 0 the others (CHOICE-23)", LOW, default=default)


def _more() -> Field[int]:
    return uint(1, 0, "more descriptors of a combined packet follow (CHOICE-10)", "H/I", bit=MORE_BIT)


def _mode(doc: str) -> Field[int]:
    return uint(1, 0, doc, "H/O", bit=EXT_BIT)


def _param() -> Field[int]:
    return like(ComputeMeta.write_barrier, "parameter flag", default=1)


class AddMeta(Word, name="META_CTRL_CCE_ADD", size=4, source=SOURCE):
    """W1 of one ADD source."""

    sub = _sub()
    zero_3 = _zero(ComputeMeta.rsvd3)
    f = like(ComputeMeta.flag4, "unnamed flag, ignored (CHOICE-22)", LOW)
    zero_5 = _zero(ComputeMeta.use_const)
    wrbar = like(ComputeMeta.wrbar, "write barrier", LOW)
    last = like(ComputeMeta.flag7, "last source: flush the accumulator (CHOICE-21)", LOW)
    zero_11_8 = like(ComputeMeta.in_dtype, "zero", "M/I", role="reserved", kind=_FOUR_BITS)
    out_dt = _dtype(ComputeMeta.out_dtype, "input and output element type (CHOICE-24)")
    accum_dt = _dtype(ComputeMeta.accum_dtype, "accumulator element type")
    op_type = _type(CceType.ADD)
    ssmae_op = _op()
    zero_26 = _zero(ComputeMeta.write_barrier)
    zero_29_27 = _zeros(3, 27)
    more = _more()
    zero_31 = _zeros(1, 31)


class FmaMeta(Word, name="META_CTRL_CCE_FMA", size=4, source=SOURCE):
    """W1 of one FMA source."""

    sub = _sub()
    zero_3 = _zero(ComputeMeta.rsvd3)
    f6 = like(ComputeMeta.flag4, "unnamed flag, ignored (CHOICE-22)", LOW)
    zero_5 = _zero(ComputeMeta.use_const)
    f5 = like(ComputeMeta.wrbar, "write barrier by analogy with ADD", LOW)
    f4_last = like(ComputeMeta.flag7, "last source by analogy with ADD (CHOICE-21)", LOW)
    in_dt = _dtype(ComputeMeta.in_dtype, "input element type")
    scale_dt = _dtype(ComputeMeta.out_dtype, "element type of the scale: always fp32", Dtype.FP32)
    accum_dt = _dtype(ComputeMeta.accum_dtype, "accumulator element type")
    op_type = _type(CceType.FMA)
    ssmae_op = _op()
    zero_26 = _zero(ComputeMeta.write_barrier)
    zero_29_27 = _zeros(3, 27)
    more = _more()
    zero_31 = _zeros(1, 31)


class MinMaxMeta(Word, name="META_CTRL_CCE_MIN_MAX", size=4, source=SOURCE):
    """W1 of one MIN or MAX source, as the builder names it; the other reading is switch `unified_minmax` (D67)."""

    sub = _sub()
    zero_3 = _zero(ComputeMeta.rsvd3)
    last = like(ComputeMeta.flag4, "last source: flush the accumulator (CHOICE-21)", LOW)
    use_const = like(ComputeMeta.use_const, "a constant is folded in", LOW)
    wrbar = like(ComputeMeta.wrbar, "write barrier", LOW)
    notif = like(ComputeMeta.flag7, "notify; set on the last source too", LOW)
    in_dt = _dtype(ComputeMeta.in_dtype, "input element type")
    out_dt = _dtype(ComputeMeta.out_dtype, "output element type if a constant is used, else 0: out = in")
    accum_dt = _dtype(ComputeMeta.accum_dtype, "accumulator element type")
    const_dt = like(ComputeMeta.optype, "code of the constant's element type (CHOICE-15)", LOW, kind=_THREE_BITS)
    ssmae_op = _op()
    zero_26 = _zero(ComputeMeta.write_barrier)
    zero_29_27 = _zeros(3, 27)
    more = _more()
    zero_31 = _zeros(1, 31)


class GceMeta(Word, name="META_CTRL_CCE_GCE", size=4, source=SOURCE):
    """W1 of a compression source, or of the compression stage of a combined packet."""

    sub = _sub()
    zero_3 = _zero(ComputeMeta.rsvd3)
    f = like(ComputeMeta.flag4, "unnamed flag, ignored (CHOICE-22)", LOW)
    zero_5 = _zero(ComputeMeta.use_const)
    wrbar = like(ComputeMeta.wrbar, "write barrier", LOW)
    last = like(ComputeMeta.flag7, "last source: flush the accumulator (CHOICE-21)", LOW)
    in_dt = _dtype(ComputeMeta.in_dtype, "input element type")
    scale_dt = _dtype(ComputeMeta.out_dtype, "element type of the scale", Dtype.FP32)
    accum_dt = _dtype(ComputeMeta.accum_dtype, "accumulator element type")
    op_type = _type(CceType.GCE)
    ssmae_op = _op()
    zero_26 = _zero(ComputeMeta.write_barrier)
    zero_29_27 = _zeros(3, 27)
    more = _more()
    zero_31 = _zeros(1, 31)


class ExtMeta(Word, name="META_CTRL_CCE_EXT", size=4, source=SOURCE):
    """W1 of the word that closes the sources of a combined packet (CHOICE-19)."""

    sub = _sub()
    zero_3 = _zero(ComputeMeta.rsvd3)
    zero_4 = _zero(ComputeMeta.flag4)
    zero_5 = _zero(ComputeMeta.use_const)
    zero_6 = _zero(ComputeMeta.wrbar)
    zero_7 = _zero(ComputeMeta.flag7)
    zero_11_8 = like(ComputeMeta.in_dtype, "zero", "M/I", role="reserved", kind=_FOUR_BITS)
    mid_dt = _dtype(ComputeMeta.out_dtype, "element type between the sum and the stages after it")
    accum_dt = _dtype(ComputeMeta.accum_dtype, "accumulator element type")
    op_type = _type(CceType.EXT)
    ssmae_op = _op()
    zero_26 = _zero(ComputeMeta.write_barrier)
    zero_29_27 = _zeros(3, 27)
    more = _more()
    zero_31 = _zeros(1, 31)


class FmaParameterWord(Word, name="FMA_PARAMETER_W1", size=4, source="cce 3.5"):
    """W1 of the operands of one FMA source."""

    a9_sub = like(ComputeMeta.block_attr_sub, "builder argument a9", LOW)
    zero_19_3 = _zeros(17, 3)
    op_type = _type(CceType.FMA)
    ssmae_op = _op()
    a10 = like(ComputeMeta.write_barrier, "builder argument a10: last source (CHOICE-12)", LOW)
    zero_28_27 = _zeros(2, 27)
    a8 = _mode("builder argument a8, 0 (CHOICE-12)")
    more = _more()
    zero_31 = _zeros(1, 31)


class ConstantWord(Word, name="MIN_MAX_CONSTANT_W1", size=4, source="cce 3.6"):
    """W1 of the constant of MIN or MAX."""

    zero_19_0 = _zeros(20, 0)
    const_dt = like(ComputeMeta.optype, "code of the constant's element type (CHOICE-15)", kind=_THREE_BITS)
    ssmae_op = _op()
    param = _param()
    zero_29_27 = _zeros(3, 27)
    more = _more()
    zero_31 = _zeros(1, 31)


class SeedWord(Word, name="SEED_INIT_W1", size=4, source="cce 3.7"):
    """W1 of a seed that takes effect."""

    zero_22_0 = _zeros(23, 0)
    ssmae_op = _op()
    param = _param()
    zero_28_27 = _zeros(2, 27)
    ext = _mode("mode argument, 0")
    more = _more()
    zero_31 = _zeros(1, 31)


class EmptyWord(Word, name="PARAMETER_W1_OFF", size=4, source="cce 3.6, 3.7"):
    """W1 of a parameter that is switched off: zero but for `more`."""

    zero_29_0 = _zeros(30, 0)
    more = _more()
    zero_31 = _zeros(1, 31)


class ReplicationWord(Word, name="REPLICATION_W1", size=4, source="cce 3.7"):
    """W1 of the word that writes one result to several destinations; `mode` 1 comes with `param` 1."""

    count = uint(16, 0, "destinations (CHOICE-17)")
    zero_19_16 = _zeros(4, 16)
    op_type = like(ComputeMeta.optype, "reshape type", kind=EnumKind(DreOptype, 3), default=DreOptype.REPLICATION)
    ssmae_op = _op(SdmaOp.DRE)
    param = like(ComputeMeta.write_barrier, "parameter flag, set when mode is not 0")
    zero_28_27 = _zeros(2, 27)
    mode = _mode("1 when there are several destinations (CHOICE-17)")
    more = _more()
    zero_31 = _zeros(1, 31)


class GceParameterWord(Word, name="GCE_PARAMETER_W1", size=4, source="cce 3.7"):
    """W1 of the header address of a compression stage."""

    one = uint(1, 0, "1 in every known word", default=1)
    zero_19_1 = _zeros(19, 1)
    op_type = _type(CceType.GCE)
    ssmae_op = _op()
    param = _param()
    zero_28_27 = _zeros(2, 27)
    a6_mode = _mode("1 compress, 0 decompress (CHOICE-18)")
    more = _more()
    zero_31 = _zeros(1, 31)


class MinMaxOperands(Word, name="MIN_MAX_W2", size=4, source="cce 3.6"):
    """W2 of a MIN or MAX parameter: the constant is applied to the stored buffer."""

    length = like(Operands.length, "source length in bytes")
    a_sel = like(Operands.a_sel, "2 in every known word: the operand in W3", "M/I", default=2)
    b_sel = like(Operands.b_sel, "0", "M/I")
    c_sel = like(Operands.c_sel, "0", "M/I")
    unnamed = _zero(Operands.unnamed)


class FmaOperands(Word, name="FMA_W2", size=4, source="cce 3.5"):
    """W2 of an FMA parameter: which operands the multiply-add takes."""

    length = like(Operands.length, "source length in bytes (CHOICE-13)")
    a_sel = like(Operands.a_sel, "multiply operand A: 0 stored, 1 input, 2 scale", default=1)
    b_sel = like(Operands.b_sel, "multiply operand B: 0 stored, 1 input, 2 scale", default=2)
    c_sel = like(Operands.c_sel, "add operand: 0 stored, 1 input, 2 scale")
    unnamed = _zero(Operands.unnamed)

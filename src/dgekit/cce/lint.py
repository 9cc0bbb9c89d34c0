"""What is odd about one BD: bits that no builder sets, types that the runtime refuses, flags that disagree."""

from __future__ import annotations

from dgekit.cce.bds import FmaParameterBd, MinMaxBd, ReplicationBd
from dgekit.cce.classify import PARAMETERS, RAW, SOURCES
from dgekit.cce.enums import Dtype, FmaOperand
from dgekit.cce.faults import finding
from dgekit.core.errors import Issue
from dgekit.layout.struct import Struct

_STREAMS = ("in_dt", "out_dt")


def bd_issues(kind: str, bd: Struct) -> list[Issue]:
    """The findings on a BD of that kind, decoded."""
    if kind == RAW:
        return [Issue("cce.3.9", "unspecified", "no rule of the compute path names this BD", source="cce 3.9")]
    issues = bd.reserved_issues()
    if kind in (*SOURCES, *PARAMETERS, "ext"):
        issues += _control_issues(kind, bd)
    if kind in SOURCES:
        issues += _dtype_issues(kind, bd)
    if isinstance(bd, MinMaxBd) and bd.meta_ctrl.last != bd.meta_ctrl.notif:
        issues.append(
            _warning(
                "cce.CHOICE-21",
                f"bit 4 is {bd.meta_ctrl.last} and bit 7 is {bd.meta_ctrl.notif}: on the last source both are set, and "
                "bit 4 flushes",
                last=bd.meta_ctrl.last,
                notif=bd.meta_ctrl.notif,
            )
        )
    if isinstance(bd, FmaParameterBd):
        issues += _selector_issues(bd)
    if isinstance(bd, ReplicationBd) and bd.meta_ctrl.param != bd.meta_ctrl.mode:
        issues.append(
            _warning(
                "cce.3.7",
                f"mode is {bd.meta_ctrl.mode} and the parameter flag {bd.meta_ctrl.param}: they come together",
                mode=bd.meta_ctrl.mode,
                param=bd.meta_ctrl.param,
            )
        )
    return issues


def _control_issues(kind: str, bd: Struct) -> list[Issue]:
    issues = [
        _warning("cce.3.2", f"word0 [22:16] is zero in a compute BD, {name} is set", field=name)
        for name in ("netag0_meta", "dummy")
        if bd.at(f"len_ctrl.{name}")
    ]
    length = bd.at("len_ctrl.length")
    if length and kind not in SOURCES:
        issues.append(
            _warning("cce.CHOICE-07", f"a {kind} BD has length 0 in word0, not {length}", length=length, expected=0)
        )
    return issues


def _dtype_issues(kind: str, bd: Struct) -> list[Issue]:
    """Element types of a source: none may be FP32R where bytes are counted, the scale is fp32."""
    meta = bd.at("meta_ctrl")
    names = {field.name for field in meta.layout.fields}
    issues = []
    for name in _STREAMS:
        code = meta.at(name) if name in names else None
        if code == Dtype.FP32R:
            issues.append(
                finding("dtype_size_zero", rule="cce.5.2", message=f"{name} is FP32R, which has no size", where=name)
            )
        if code == Dtype.INVALID and not (name == "out_dt" and isinstance(bd, MinMaxBd)):
            issues.append(_warning("cce.1.2", f"{name} is 0, which is no element type", dtype=0))
    if kind == "fma" and meta.at("scale_dt") != Dtype.FP32:
        issues.append(
            finding(
                "scale_assert",
                rule="cce.2.3",
                message=f"the scale is of type {int(meta.at('scale_dt'))}, only fp32 (10) is accepted",
                dtype=int(meta.at("scale_dt")),
            )
        )
    return issues


def _selector_issues(bd: FmaParameterBd) -> list[Issue]:
    undefined = max(FmaOperand) + 1
    return [
        Issue(
            "cce.CHOICE-12",
            "error",
            f"{name} is {undefined}, which selects nothing",
            where=f"operands.{name}",
            values={"selector": undefined},
            source="cce 4.1",
            fix="0 stored, 1 input or 2 scale",
        )
        for name in ("a_sel", "b_sel", "c_sel")
        if bd.operands.at(name) == undefined
    ]


def _warning(rule: str, message: str, **values: object) -> Issue:
    return Issue(rule, "warning", message, values=values, source="cce " + rule.removeprefix("cce."))

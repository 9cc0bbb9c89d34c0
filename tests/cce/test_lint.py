"""Findings on single BDs."""

import pytest

from dgekit.cce.classify import decode_bd
from dgekit.cce.lint import bd_issues
from dgekit.cce.text import bd_from_json


def issues(kind, **meta):
    """Findings on the default BD of a kind with some fields changed."""
    base = {"in_dt": 6, "accum_dt": 10} if kind in ("fma", "max", "min", "gce") else {}
    base = {"out_dt": 6, "accum_dt": 10} if kind == "add" else base
    operands = meta.pop("operands", {})
    control = meta.pop("len_ctrl", {})
    fields = {"meta_ctrl": {**base, **meta}, "len_ctrl": control}
    if operands:
        fields["operands"] = operands
    data = bd_from_json({"kind": kind, "fields": fields})
    found, bd = decode_bd(data, "m2s")
    assert found == kind
    return [(issue.rule, issue.severity) for issue in bd_issues(found, bd)]


@pytest.mark.parametrize(
    "kind",
    [
        "add",
        "fma",
        "max",
        "min",
        "gce",
        "ext",
        "fma_parameter",
        "minmax_constant",
        "minmax_parameter",
        "seed",
        "seed_disabled",
        "replication",
        "gce_parameter",
    ],
)
def test_a_plain_bd_has_no_finding(kind):
    assert issues(kind) == []


@pytest.mark.parametrize(
    ("kind", "fields", "rule", "severity"),
    [
        ("add", {"zero_3": 1}, "layout.reserved", "warning"),
        ("add", {"zero_31": 1}, "layout.reserved", "warning"),
        ("add", {"len_ctrl": {"dummy": 1}}, "cce.3.2", "warning"),
        ("fma", {"len_ctrl": {"netag0_meta": 5}}, "cce.3.2", "warning"),
        ("seed", {"len_ctrl": {"length": 4}}, "cce.CHOICE-07", "warning"),
        ("ext", {"len_ctrl": {"length": 4}}, "cce.CHOICE-07", "warning"),
        ("min", {"last": 1}, "cce.CHOICE-21", "warning"),
        ("max", {"notif": 1}, "cce.CHOICE-21", "warning"),
        ("fma", {"scale_dt": 6}, "cce.2.3", "error"),
        ("add", {"out_dt": 11}, "cce.5.2", "error"),
        ("fma", {"in_dt": 11}, "cce.5.2", "error"),
        ("max", {"in_dt": 0}, "cce.1.2", "warning"),
        ("add", {"out_dt": 0}, "cce.1.2", "warning"),
        ("fma_parameter", {"operands": {"a_sel": 3}}, "cce.CHOICE-12", "error"),
        ("fma_parameter", {"operands": {"c_sel": 3}}, "cce.CHOICE-12", "error"),
        ("replication", {"mode": 0}, "cce.3.7", "warning"),
    ],
)
def test_each_finding(kind, fields, rule, severity):
    assert issues(kind, **fields) == [(rule, severity)]


def test_a_raw_bd_is_unspecified():
    found = bd_issues(*decode_bd(b"\xff" * 16))
    assert [(issue.rule, issue.severity) for issue in found] == [("cce.3.9", "unspecified")]

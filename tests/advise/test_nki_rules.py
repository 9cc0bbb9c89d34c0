"""Every rule of calls fires and passes, by mode, generation and NKI version (nki-dma 2 to 5)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from nki_calls import (
    compute,
    copy,
    gather,
    gather_transpose,
    hbm,
    index,
    psum,
    sbuf,
    scalar,
    scatter_add,
    transpose,
)

from dgekit.advise.rulebook import ALL_RULES, CALL_RULES
from dgekit.advise.rules import EVIDENCE, severity_of
from dgekit.advise.verdict import Verdict, judge_call
from dgekit.core.dtypes import dtype_named
from dgekit.core.errors import Issue
from dgekit.core.generations import generation_named
from dgekit.frontends.nki.versions import VERSIONS
from dgekit.transfers.call import Call

F32 = "float32"
LOAD = copy(sbuf(128, 512), hbm(128, 512))
CAST = copy(sbuf(128, 512, dtype=F32), hbm(128, 512))
BAR = Call("core_barrier", hbm(1), (), cores=(0, 1))
SEND = Call("sendrecv", sbuf(128, 256, dtype=F32), (sbuf(128, 256, dtype=F32),), dma_engine="gpsimd_dma")


def issues(call: Call, mode: str, gen: str = "trn2", version: str = "0.6.0", **more: Any) -> list[Issue]:
    """What the author of the call is told in this mode."""
    asked = call if mode == "" else replace(call, dge_mode=mode)
    return list(judge_call(asked, generation_named(gen), version, **more).issues)


def found(rule: str, call: Call, mode: str, gen: str = "trn2", version: str = "0.6.0", **more: Any) -> set[str]:
    """The severities of a rule's issues."""
    return {issue.severity for issue in issues(call, mode, gen, version, **more) if issue.rule == rule}


# (rule, severity or "" for none, call, mode, generation, version, further options)
Row = tuple[str, str, Call, str, str, str]
TABLE: list[Row] = [
    # C1
    ("nki.C1", "error", copy(sbuf(128, 8), psum(128, 8)), "none", "trn2", "0.3.0"),
    ("nki.C1", "", copy(sbuf(128, 8), psum(128, 8)), "none", "trn2", "0.2.0"),
    ("nki.C1", "error", copy(psum(128, 8), hbm(128, 8)), "none", "trn2", "0.2.0"),
    ("nki.C1", "", LOAD, "none", "trn2", "0.6.0"),
    # C2
    ("nki.C2", "error", copy(sbuf(128, 512), hbm(128, 511)), "unknown", "trn2", "0.6.0"),
    ("nki.C2", "", copy(sbuf(128, 1, 512), hbm(128, 512)), "unknown", "trn2", "0.3.0"),
    ("nki.C2", "warning", copy(sbuf(128, 1, 512), hbm(128, 512)), "unknown", "trn2", "0.2.0"),
    # C3
    ("nki.C3", "advice", copy(sbuf(128, 8, dtype="bfloat16"), hbm(128, 8, dtype="int32")), "swdge", "trn2", "0.6.0"),
    ("nki.C3", "", copy(sbuf(128, 8, dtype="int32"), hbm(128, 8, dtype="int32")), "swdge", "trn2", "0.6.0"),
    ("nki.C3", "", CAST, "swdge", "trn2", "0.6.0"),
    # C4
    ("nki.C4", "error", copy(sbuf(128, 8), hbm(128, 8, dtype="float4_e2m1")), "swdge", "trn3", "0.6.0"),
    ("nki.C4", "", copy(sbuf(128, 8), hbm(128, 8, dtype="float8_e4m3")), "swdge", "trn3", "0.6.0"),
    # C5
    ("nki.C5", "error", CAST, "hwdge", "trn2", "0.3.0"),
    ("nki.C5", "", CAST, "hwdge", "trn2", "0.2.0"),
    ("nki.C5", "", CAST, "swdge", "trn2", "0.6.0"),
    ("nki.C5", "", LOAD, "hwdge", "trn2", "0.6.0"),
    # C6
    ("nki.C6", "error", LOAD, "hwdge", "trn1", "0.6.0"),
    ("nki.C6", "error", gather(), "swdge", "trn1", "0.6.0"),
    ("nki.C6", "", LOAD, "swdge", "trn1", "0.6.0"),
    ("nki.C6", "", LOAD, "hwdge", "trn2", "0.6.0"),
    # C7
    ("nki.C7", "error", replace(LOAD, engine="gpsimd"), "hwdge", "trn2", "0.6.0"),
    ("nki.C7", "error", replace(LOAD, engine="sync"), "swdge", "trn2", "0.6.0"),
    ("nki.C7", "error", replace(LOAD, engine="scalar"), "unknown", "trn2", "0.6.0"),
    ("nki.C7", "", replace(LOAD, engine="scalar"), "hwdge", "trn2", "0.6.0"),
    # C8
    ("nki.C8", "error", replace(LOAD, priority=2), "hwdge", "trn2", "0.6.0"),
    ("nki.C8", "warning", replace(LOAD, priority=3), "hwdge", "trn3", "0.6.0"),
    ("nki.C8", "", LOAD, "hwdge", "trn3", "0.6.0"),
    # C9
    ("nki.C9", "", scalar(), "hwdge", "trn2", "0.6.0"),
    ("nki.C9", "", scalar(), "swdge", "trn2", "0.6.0"),
    ("nki.C9", "", LOAD, "none", "trn2", "0.6.0"),
    # C10
    ("nki.C10", "error", gather(), "none", "trn2", "0.6.0"),
    ("nki.C10", "error", gather(), "hwdge", "trn2", "0.6.0"),
    ("nki.C10", "", gather(), "swdge", "trn2", "0.6.0"),
    ("nki.C10", "", gather(), "unknown", "trn2", "0.6.0"),
    # C12
    ("nki.C12", "error", replace(LOAD, rmw_op="add"), "none", "trn2", "0.3.0"),
    ("nki.C12", "error", replace(LOAD, unique_indices=False), "none", "trn2", "0.3.0"),
    ("nki.C12", "error", replace(LOAD, rmw_op="max"), "none", "trn2", "0.2.0"),
    ("nki.C12", "error", replace(LOAD, rmw_op="add", oob_mode="skip"), "none", "trn2", "0.2.0"),
    ("nki.C12", "warning", replace(LOAD, rmw_op="add", unique_indices=False), "none", "trn2", "0.2.0"),
    ("nki.C12", "", replace(LOAD, rmw_op="add"), "none", "trn2", "0.2.0"),
    ("nki.C12", "", LOAD, "none", "trn2", "0.6.0"),
    # C13
    ("nki.C13", "advice", copy(sbuf(128, 8), sbuf(128, 8)), "hwdge", "trn2", "0.6.0"),
    ("nki.C13", "", LOAD, "hwdge", "trn2", "0.6.0"),
    # C20: report 1253
    ("nki.C20", "error", scalar(sbuf(24, 1536, dtype=F32), hbm(24, 1536, dtype=F32, dynamic="scalar")), "hwdge", "trn2", "0.6.0"),
    ("nki.C20", "", scalar(sbuf(24, 1536, dtype=F32), hbm(24, 1536, dtype=F32, dynamic="scalar")), "swdge", "trn2", "0.6.0"),
    ("nki.C20", "", scalar(sbuf(24, 1536, dtype=F32), hbm(24, 1536, dtype=F32)), "hwdge", "trn2", "0.6.0"),
    *(
        ("nki.C20", "", scalar(sbuf(n, 1536, dtype=F32), hbm(n, 1536, dtype=F32, dynamic="scalar")), "hwdge", "trn2", "0.6.0")
        for n in (1, 16, 32, 128)
    ),
    ("nki.C20", "warning", gather(24), "swdge", "trn2", "0.6.0"),
    ("nki.C20", "", gather(64), "swdge", "trn2", "0.6.0"),
    # C21
    ("nki.C21", "advice", scalar(sbuf(24, 1536, dtype=F32), hbm(24, 1536, dtype=F32, dynamic="scalar")), "unknown", "trn2", "0.6.0"),
    ("nki.C21", "", scalar(), "unknown", "trn2", "0.6.0"),
    ("nki.C21", "", scalar(sbuf(24, 8), hbm(24, 8, dynamic="scalar")), "swdge", "trn2", "0.6.0"),
    # C22
    ("nki.C22", "warning", scalar(sbuf(32, 3, 512, dtype=F32)), "hwdge", "trn2", "0.6.0"),
    ("nki.C22", "", scalar(), "hwdge", "trn2", "0.6.0"),
    ("nki.C22", "", copy(sbuf(128, 1, 512), hbm(128, 512)), "hwdge", "trn2", "0.6.0"),
    # C23
    ("nki.C23", "warning", copy(hbm(64, 8, dynamic="vector"), hbm(64, 8), indices=index(64, 1)), "swdge", "trn2", "0.6.0"),
    ("nki.C23", "", copy(hbm(64, 8, dynamic="vector"), sbuf(64, 8), indices=index(64, 1)), "swdge", "trn2", "0.6.0"),
    # C24: report 1373
    ("nki.C24", "warning", copy(hbm(2, 2), sbuf(2, 2, base_shape=(4, 4), dynamic="scalar", indirect_dim=1)), "swdge", "trn2", "0.6.0"),
    ("nki.C24", "", copy(hbm(2, 2), sbuf(2, 2, base_shape=(4, 4))), "swdge", "trn2", "0.6.0"),
    # C25
    ("nki.C25", "advice", copy(sbuf(64, 8), hbm(64, 8)), "hwdge", "trn2", "0.2.0"),
    ("nki.C25", "", copy(sbuf(64, 8), hbm(64, 8)), "hwdge", "trn2", "0.3.0"),
    ("nki.C25", "", copy(sbuf(128, 8), hbm(128, 8)), "hwdge", "trn2", "0.2.0"),
    # C26
    ("nki.C26", "advice", copy(sbuf(128, 8), hbm(128, 8, pattern=((16, 128), (2, 8)))), "hwdge", "trn2", "0.6.0"),
    ("nki.C26", "", copy(sbuf(128, 8), hbm(128, 8, pattern=((16, 128), (2, 8)))), "none", "trn2", "0.6.0"),
    ("nki.C26", "", copy(sbuf(128, 8), hbm(128, 8, pattern=((16, 128), (1, 8)))), "hwdge", "trn2", "0.6.0"),
    ("nki.C26", "advice", copy(sbuf(2, 32768), hbm(2, 32768, pattern=((32768, 2), (1, 32768)))), "hwdge", "trn2", "0.6.0"),
    ("nki.C26", "advice", transpose(hbm(16, 128)), "hwdge", "trn2", "0.6.0"),
    ("nki.C26", "", transpose(hbm(16, 1, 1, 128)), "hwdge", "trn2", "0.6.0"),
    ("nki.C26", "advice", transpose(hbm(16, 1, 1, 128, dynamic="scalar")), "hwdge", "trn2", "0.6.0"),
    ("nki.C26", "advice", gather(src=hbm(64, 8, 64, dtype=F32, dynamic="vector", pattern=((512, 64), (64, 8), (1, 64)))), "swdge", "trn2", "0.6.0"),
    # A1
    ("nki.A1", "error", gather(src=sbuf(64, 512, dtype=F32, dynamic="vector")), "swdge", "trn2", "0.6.0"),
    ("nki.A1", "error", gather(src=hbm(64, 512, dtype=F32, dynamic="vector", indirect_dim=1)), "swdge", "trn2", "0.6.0"),
    ("nki.A1", "error", gather(indices=hbm(64, 1, dtype="uint32")), "swdge", "trn2", "0.6.0"),
    ("nki.A1", "error", gather(indices=index(64, 1, dtype="int16")), "swdge", "trn2", "0.6.0"),
    ("nki.A1", "error", gather(indices=index(32, 2)), "swdge", "trn2", "0.6.0"),
    ("nki.A1", "error", gather(256), "swdge", "trn2", "0.6.0"),
    ("nki.A1", "", gather(indices=index(64, 1, dtype="int32")), "swdge", "trn2", "0.6.0"),
    # A2
    ("nki.A2", "warning", gather(src=hbm(64, 512, dtype=F32, base_shape=(128, 512), dynamic="vector", pattern=((1024, 64), (1, 512)))), "swdge", "trn2", "0.6.0"),
    ("nki.A2", "", gather(src=hbm(64, 512, dtype=F32, base_shape=(128, 512), dynamic="vector", pattern=((512, 64), (1, 512)))), "swdge", "trn2", "0.6.0"),
    # A3
    ("nki.A3", "error", scalar(src=hbm(32, 1536, dtype=F32, base_shape=(1024, 1536), dynamic="scalar", indirect_dim=2)), "swdge", "trn2", "0.6.0"),
    ("nki.A3", "error", scalar(indices=index(4, 1)), "swdge", "trn2", "0.6.0"),
    ("nki.A3", "", scalar(indices=index(1, 1)), "swdge", "trn2", "0.6.0"),
    # A4
    ("nki.A4", "error", copy(hbm(64, 8, dynamic="vector", tensor="d"), hbm(64, 8, dynamic="vector"), indices=index(64, 1)), "swdge", "trn2", "0.6.0"),
    ("nki.A4", "", gather(), "swdge", "trn2", "0.6.0"),
    ("nki.A4", "", scatter_add(), "swdge", "trn2", "0.6.0"),
    # A5
    ("nki.A5", "error", copy(hbm(2, 2), sbuf(2, 2, dynamic="scalar", indirect_dim=0)), "swdge", "trn2", "0.6.0"),
    ("nki.A5", "", copy(hbm(2, 2), sbuf(2, 2, dynamic="scalar", indirect_dim=1)), "swdge", "trn2", "0.6.0"),
    ("nki.A5", "", scalar(), "swdge", "trn2", "0.6.0"),
    # patterns
    ("nki.3.partition", "error", copy(hbm(64, 8), sbuf(64, 8, base_shape=(128, 8), pattern=((16, 64), (1, 8)))), "none", "trn2", "0.6.0"),
    ("nki.3.partition", "", copy(hbm(64, 8), sbuf(64, 8, base_shape=(128, 8), pattern=((8, 64), (1, 8)))), "none", "trn2", "0.6.0"),
    ("nki.3.partition", "", copy(hbm(1, 8), sbuf(1, 8, base_shape=(128, 8), pattern=((99, 1), (1, 8)))), "none", "trn2", "0.6.0"),
    ("nki.3.dims", "error", copy(hbm(2, 2, 2, 2, 2, 2), sbuf(2, 2, 2, 2, 2, 2, pattern=((32, 2), (16, 2), (8, 2), (4, 2), (2, 2), (1, 2)))), "none", "trn2", "0.6.0"),
    ("nki.3.dims", "", copy(hbm(2, 2, 2, 2, 2), sbuf(2, 2, 2, 2, 2, pattern=((16, 2), (8, 2), (4, 2), (2, 2), (1, 2)))), "none", "trn2", "0.6.0"),
    # T1
    ("nki.T1", "error", transpose(hbm(16, 128), axes=(0, 1)), "hwdge", "trn2", "0.6.0"),
    ("nki.T1", "error", transpose(hbm(16), sbuf(16, 1)), "hwdge", "trn2", "0.6.0"),
    ("nki.T1", "", transpose(hbm(16, 4, 128)), "hwdge", "trn2", "0.6.0"),
    ("nki.T1", "", transpose(hbm(16, 128), axes=None), "hwdge", "trn2", "0.6.0"),
    # T2
    ("nki.T2", "error", transpose(hbm(16, 128), hbm(128, 16)), "hwdge", "trn2", "0.6.0"),
    ("nki.T2", "error", transpose(psum(16, 128), sbuf(128, 16)), "hwdge", "trn2", "0.6.0"),
    ("nki.T2", "error", transpose(hbm(16, 128), sbuf(128, 16, dtype="float16")), "hwdge", "trn2", "0.6.0"),
    ("nki.T2", "", transpose(sbuf(16, 128)), "hwdge", "trn2", "0.6.0"),
    # T3
    ("nki.T3", "error", transpose(hbm(16, 128), sbuf(128, 8)), "hwdge", "trn2", "0.6.0"),
    ("nki.T3", "error", transpose(hbm(16, 1, 128), sbuf(128, 16)), "hwdge", "trn2", "0.4.0"),
    ("nki.T3", "warning", transpose(hbm(16, 1, 128), sbuf(128, 16)), "hwdge", "trn2", "0.3.0"),
    ("nki.T3", "", transpose(hbm(16, 1, 128)), "hwdge", "trn2", "0.6.0"),
    # T4
    ("nki.T4", "error", transpose(hbm(16, 128)), "swdge", "trn2", "0.6.0"),
    ("nki.T4", "error", transpose(hbm(128, 128)), "hwdge", "trn2", "0.6.0"),
    ("nki.T4", "error", transpose(hbm(16, 128, dtype=F32)), "hwdge", "trn2", "0.6.0"),
    ("nki.T4", "", transpose(hbm(128, 128)), "unknown", "trn2", "0.6.0"),
    ("nki.T4", "", transpose(hbm(128, 128, dtype=F32)), "unknown", "trn2", "0.6.0"),
    ("nki.T4", "", transpose(hbm(16, 128)), "hwdge", "trn2", "0.6.0"),
    ("nki.T4", "error", transpose(hbm(3, 16, 128)), "hwdge", "trn2", "0.6.0"),
    ("nki.T4", "error", transpose(hbm(2, 4, 128)), "hwdge", "trn2", "0.6.0"),
    ("nki.T4", "", transpose(hbm(16, 1, 1, 128)), "hwdge", "trn2", "0.6.0"),
    ("nki.T4", "", transpose(hbm(16, 128)), "hwdge", "trn2", "0.5.0"),
    ("nki.T4", "error", transpose(hbm(16, 64)), "hwdge", "trn2", "0.5.0"),
    ("nki.T4", "warning", transpose(hbm(16, 256)), "hwdge", "trn2", "0.5.0"),
    ("nki.T4", "warning", transpose(hbm(16, 64)), "hwdge", "trn2", "0.6.0"),
    # T5
    ("nki.T5", "error", gather_transpose(), "none", "trn2", "0.6.0"),
    ("nki.T5", "error", gather_transpose(), "hwdge", "trn2", "0.6.0"),
    ("nki.T5", "", gather_transpose(), "swdge", "trn2", "0.6.0"),
    ("nki.T5", "", gather_transpose(), "unknown", "trn2", "0.6.0"),
    # G1
    ("nki.G1", "error", gather_transpose(space="sbuf"), "swdge", "trn2", "0.6.0"),
    ("nki.G1", "error", gather_transpose(dtype=F32), "swdge", "trn2", "0.6.0"),
    ("nki.G1", "error", gather_transpose(128, 256), "swdge", "trn2", "0.6.0"),
    ("nki.G1", "error", gather_transpose(128, 64), "swdge", "trn2", "0.3.0"),
    ("nki.G1", "", gather_transpose(128, 64), "swdge", "trn2", "0.4.0"),
    ("nki.G1", "", gather_transpose(), "swdge", "trn2", "0.3.0"),
    # G2
    ("nki.G2", "error", gather_transpose(24, 128, indices=index(32, 1)), "swdge", "trn2", "0.6.0"),
    ("nki.G2", "", gather_transpose(32, 128), "swdge", "trn2", "0.6.0"),
    # G3
    ("nki.G3", "error", gather_transpose(128, 2, 2, 128), "swdge", "trn2", "0.6.0"),
    ("nki.G3", "", gather_transpose(128, 1, 8, 128), "swdge", "trn2", "0.6.0"),
    # G4
    ("nki.G4", "error", gather_transpose(indices=index(128, 1, dtype="int32")), "swdge", "trn2", "0.6.0"),
    ("nki.G4", "error", gather_transpose(indices=hbm(128, 1, dtype="uint32")), "swdge", "trn2", "0.6.0"),
    ("nki.G4", "error", gather_transpose(indices=index(128)), "swdge", "trn2", "0.6.0"),
    ("nki.G4", "error", gather_transpose(8, 128, indices=index(8, 1)), "swdge", "trn2", "0.6.0"),
    ("nki.G4", "error", gather_transpose(indices=index(64, 2)), "swdge", "trn2", "0.6.0"),
    ("nki.G4", "", gather_transpose(256, 128, indices=index(128, 2)), "swdge", "trn2", "0.6.0"),
    # G5
    ("nki.G5", "error", gather_transpose(256, 128, indices=index(128, 1)), "swdge", "trn2", "0.6.0"),
    ("nki.G5", "", gather_transpose(), "swdge", "trn2", "0.6.0"),
    # G6
    ("nki.G6", "advice", gather_transpose(256, 128, indices=index(128, 2)), "swdge", "trn2", "0.6.0"),
    ("nki.G6", "", gather_transpose(), "swdge", "trn2", "0.6.0"),
    # G7
    ("nki.G7", "error", transpose(hbm(16, 128), oob_mode="skip"), "hwdge", "trn2", "0.6.0"),
    ("nki.G7", "error", transpose(hbm(16, 128, dynamic="scalar"), oob_mode="skip"), "hwdge", "trn2", "0.4.0"),
    ("nki.G7", "", transpose(hbm(16, 128, dynamic="scalar"), oob_mode="skip"), "hwdge", "trn2", "0.5.0"),
    ("nki.G7", "", gather_transpose(oob_mode="skip"), "swdge", "trn2", "0.4.0"),
    # M1
    ("nki.M1", "error", compute(sbuf(128, 8), sbuf(128, 8), rmw_op="max"), "none", "trn2", "0.6.0"),
    ("nki.M1", "error", compute(sbuf(128, 8), sbuf(128, 8), scales=(0.5,)), "none", "trn2", "0.6.0"),
    ("nki.M1", "error", compute(sbuf(128, 8), *([hbm(128, 8)] * 17)), "none", "trn2", "0.6.0"),
    ("nki.M1", "error", compute(sbuf(128, 8), hbm(128, 7)), "none", "trn2", "0.6.0"),
    ("nki.M1", "", compute(sbuf(128, 8), *([hbm(128, 8)] * 16), scales=(1.0,) * 16), "none", "trn2", "0.6.0"),
    # M2
    ("nki.M2", "error", compute(hbm(128, 8), hbm(128, 8)), "swdge", "trn2", "0.6.0"),
    ("nki.M2", "error", compute(hbm(128, 8), hbm(128, 8)), "hwdge", "trn2", "0.6.0"),
    ("nki.M2", "error", compute(hbm(128, 8), hbm(128, 8, dynamic="scalar")), "none", "trn2", "0.6.0"),
    ("nki.M2", "", compute(hbm(128, 8), hbm(128, 8)), "none", "trn2", "0.6.0"),
    # M3
    ("nki.M3", "error", scatter_add(), "hwdge", "trn2", "0.6.0"),
    ("nki.M3", "error", scatter_add(), "none", "trn2", "0.6.0"),
    ("nki.M3", "error", scatter_add(srcs=(sbuf(64, 512, dtype=F32),)), "swdge", "trn2", "0.6.0"),
    ("nki.M3", "error", scatter_add(unique_indices=False), "swdge", "trn2", "0.6.0"),
    ("nki.M3", "", scatter_add(), "swdge", "trn2", "0.6.0"),
    # M4
    ("nki.M4", "advice", scatter_add(srcs=(hbm(64, 512, dtype=F32, dynamic="vector", tensor="acc"), hbm(64, 512, dtype=F32))), "swdge", "trn2", "0.6.0"),
    ("nki.M4", "", scatter_add(), "swdge", "trn2", "0.6.0"),
    # M5
    ("nki.M5", "error", scatter_add(oob_mode="skip"), "swdge", "trn2", "0.3.0"),
    ("nki.M5", "error", compute(hbm(128, 8), hbm(128, 8), oob_mode="skip"), "none", "trn2", "0.6.0"),
    ("nki.M5", "", scatter_add(oob_mode="skip"), "swdge", "trn2", "0.4.0"),
    # M6
    ("nki.M6", "advice", compute(sbuf(128, 8), sbuf(128, 8), hbm(128, 8)), "none", "trn2", "0.6.0"),
    ("nki.M6", "advice", compute(sbuf(128, 8, dtype="float16"), sbuf(128, 8, dtype="float16")), "none", "trn3", "0.6.0"),
    ("nki.M6", "", compute(sbuf(128, 8), sbuf(128, 8), hbm(128, 8)), "none", "trn3", "0.6.0"),
    # M7, M8
    ("nki.M7", "", SEND, "", "trn2", "0.6.0"),
    ("nki.M7", "error", SEND, "", "trn1", "0.6.0"),
    ("nki.M7", "error", replace(SEND, dst=sbuf(128, 257, dtype=F32)), "", "trn2", "0.6.0"),
    ("nki.M7", "", replace(SEND, dst=sbuf(128, 4096, dtype=F32), dma_engine="dma"), "", "trn2", "0.6.0"),
    ("nki.M8", "", BAR, "", "trn2", "0.6.0"),
    ("nki.M8", "error", BAR, "", "trn1", "0.6.0"),
    ("nki.M8", "error", replace(BAR, cores=(0, 2)), "", "trn2", "0.6.0"),
    # modes of a generation
    ("dec.D47", "advice", LOAD, "swdge", "trn1", "0.6.0"),
    ("dec.D47", "error", LOAD, "hwdge", "trn4", "0.6.0"),
    ("dec.D47", "", LOAD, "none", "trn4", "0.6.0"),
]  # fmt: skip


@pytest.mark.parametrize(
    "row", TABLE, ids=lambda row: f"{row[0]}-{row[3] or 'call'}-{row[4]}-{row[5]}-{row[1] or 'passes'}"
)
def test_a_rule_fires_and_passes(row: Row) -> None:
    rule, severity, call, mode, gen, version = row
    assert found(rule, call, mode, gen, version) == ({severity} if severity else set())


def test_every_rule_of_calls_is_in_the_table_both_ways() -> None:
    fires = {row[0] for row in TABLE if row[1]} | {"nki.C9", "nki.C11"}
    passes = {row[0] for row in TABLE if not row[1]} | {"nki.C11"}
    assert fires == passes == set(CALL_RULES)


# two official pages


def test_none_with_a_scalar_offset_names_both_pages() -> None:
    """C9: an error by the API page, and a warning for the table that would allow it."""
    told = [issue for issue in issues(scalar(), "none") if issue.rule == "nki.C9"]
    assert [issue.severity for issue in told] == ["error", "warning"]
    assert "dma_copy API page" in told[0].source
    assert "DGE) Reference" in told[1].message and "dma_copy API page" in told[1].message


def test_16_by_256_passes_one_page_and_fails_the_other() -> None:
    call = transpose(hbm(16, 256))
    told = [issue for issue in issues(call, "hwdge") if issue.rule == "nki.T4"]
    assert [issue.severity for issue in told] == ["error", "warning"]
    assert told[0].source == "nki.isa.dma_transpose API page, NKI 0.6.0 [D]"
    assert told[0].values == {"columns": 256, "maximum": 128}
    assert "DGE) Reference" in told[1].message and "NKI 0.6.0" in told[1].message
    assert judge_call(call, generation_named("trn2"), "0.5.0", requested="hwdge").legal
    assert not judge_call(call, generation_named("trn2"), "0.6.0", requested="hwdge").legal


@pytest.mark.parametrize("version", VERSIONS)
def test_shapes_of_a_hwdge_transpose_by_version(version: str) -> None:
    """Legal shapes, worked out from the two tables of nki-dma 4."""
    shapes = [(16, 128), (16, 64), (16, 256), (8, 128), (8, 2, 128), (4, 3, 128), (1, 16, 8), (32, 128), (2, 1, 8, 100)]
    new = {(16, 128), (16, 64), (8, 2, 128), (1, 16, 8), (2, 1, 8, 100)}
    old = {(16, 128), (16, 256)}
    legal = {
        shape
        for shape in shapes
        if judge_call(transpose(hbm(*shape)), generation_named("trn2"), version, requested="hwdge").legal
    }
    assert legal == (new if version == "0.6.0" else old)


def test_none_for_a_direct_transpose_is_for_the_compiler() -> None:
    """T4: the API page lists no `none`, the DGE page does; `unknown` may still end there."""
    call = transpose(hbm(128, 128))
    named = judge_call(call, generation_named("trn2"), requested="none")
    left = judge_call(call, generation_named("trn2"), requested="unknown")
    assert [(issue.rule, issue.severity) for issue in named.issues] == [("nki.T4", "error"), ("nki.T4", "warning")]
    assert "dma_transpose API page" in named.issues[0].source and "DGE) Reference" in named.issues[1].source
    assert (left.legal, left.picked, left.issues) == (True, "none", ())
    assert not any(mode.legal for mode in left.modes.values())


def test_priority_out_of_range_is_an_error_beside_the_other_pages_word() -> None:
    told = [issue for issue in issues(replace(LOAD, priority=4), "hwdge", "trn3") if issue.rule == "nki.C8"]
    assert [issue.severity for issue in told] == ["error", "warning"]
    assert "Trainium3 architecture guide" in told[1].source


# known indices


def test_the_public_out_of_bounds_example() -> None:
    """Index 3i into 128 rows of 512: first failing lane 43, element 66048 of 65536 (nki-dma 3)."""
    values = tuple(3 * i for i in range(64))
    (told,) = [each for each in issues(gather(), "swdge", indices=values, rows=128) if each.rule == "nki.C11"]
    assert told.severity == "warning"
    assert told.values == {"lane": 43, "index": 129, "rows": 128, "lanes": 21, "element": 66048, "elements": 65536}
    (told,) = [
        each for each in issues(gather(oob_mode="skip"), "swdge", indices=values, rows=128) if each.rule == "nki.C11"
    ]
    assert told.severity == "advice"
    inside = tuple(2 * i for i in range(64))
    assert found("nki.C11", gather(), "swdge", indices=inside, rows=128) == set()
    assert found("nki.C11", gather(), "swdge") == set()


def test_repeated_rows_of_a_read_modify_write() -> None:
    """Only rows in bounds count, and the lanes are named."""
    values = (5, 7, 5, 0xFFFFFFFF, 0xFFFFFFFF, 5)
    (told,) = [each for each in issues(scatter_add(6), "swdge", indices=values, rows=128) if each.rule == "nki.M3"]
    assert told.severity == "warning"
    assert told.values == {"index": 5, "times": 3, "lanes": [0, 2, 5], "repeated": 1}
    assert found("nki.M3", scatter_add(6), "swdge", indices=(1, 2, 3, 4, 5, 6), rows=128) == set()
    assert found("nki.M3", scatter_add(6), "swdge", indices=values, rows=128, authored=False, marked=True) == {"advice"}
    assert found("nki.M3", gather(6), "swdge", indices=values, rows=128) == set()


def test_mixed_lanes_of_an_indirect_transpose_warn() -> None:
    """The open report 1390: valid and invalid lanes together; all valid or all invalid are no mix."""
    call = gather_transpose(16, 128, oob_mode="skip")
    for values, severity in (((0,) * 15 + (999,), {"warning"}), ((0,) * 16, set()), ((999,) * 16, set())):
        assert found("nki.G7", call, "swdge", indices=values, rows=128) == severity


# the table itself


@pytest.mark.parametrize("rule", ALL_RULES.values(), ids=lambda rule: rule.id)
def test_declarations_are_whole(rule: Any) -> None:
    assert rule.sources and all(letter in EVIDENCE and page for letter, page in rule.sources)
    assert (rule.statement.endswith(".") and rule.fix) or rule.id == "nki.C20"
    told_only = {"nki.C3", "nki.C11", "nki.C13", "nki.C21", "nki.C25", "nki.G6", "nki.M4", "nki.M6"}
    if rule.id in told_only:
        assert rule.severity == "advice"  # decision D52
    elif rule.id not in {"nki.A2", "nki.6.scratch", "nki.7.queues"}:
        assert rule.severity == severity_of(rule.sources)


def test_every_rule_of_the_chapter_is_declared() -> None:
    chapter = [
        *(f"nki.C{n}" for n in (*range(1, 14), *range(20, 27))),
        *(f"nki.T{n}" for n in range(1, 6)),
        *(f"nki.A{n}" for n in range(1, 7)),
        *(f"nki.G{n}" for n in range(1, 8)),
        *(f"nki.M{n}" for n in range(1, 9)),
    ]
    assert set(chapter) <= set(ALL_RULES)


def test_versions_of_the_rules_that_changed() -> None:
    """Decision D82: which rules change at which version."""
    changes = {
        "0.3.0": {"nki.C1", "nki.C2", "nki.C5", "nki.C12", "nki.C25"},
        "0.4.0": {"nki.T3", "nki.G1", "nki.M5"},
        "0.5.0": {"nki.G7"},
        "0.6.0": {"nki.T4"},
    }
    for version, rules in changes.items():
        found_here = {
            rule.id
            for rule in CALL_RULES.values()
            if version in (rule.since, rule.before, *(each for each, _ in rule.changes))
        }
        assert found_here == rules


def test_unknown_is_legal_if_one_mode_is() -> None:
    """Decision D80, over calls of every kind but the direct transpose, whose `none` only the author may not write."""
    for row in TABLE:
        call = row[2]
        if call.function in ("sendrecv", "core_barrier") or (call.function == "dma_transpose" and not row[2].indices):
            continue
        verdict: Verdict = judge_call(
            replace(call, engine="unknown"), generation_named(row[4]), row[5], requested="unknown"
        )
        assert verdict.legal == any(mode.legal for mode in verdict.modes.values()), row


def test_dtypes_of_the_helpers_are_real() -> None:
    assert dtype_named("float4_e2m1").bits == 4

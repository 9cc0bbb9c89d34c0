"""Verdicts of whole programs: calls derived from transfers, index values that are known, rules of the program."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nki_calls import copy, gather, hbm, psum, sbuf

import dgekit
from dgekit.advise.calls import call_of_transfer
from dgekit.advise.contents import index_values
from dgekit.advise.rules_memory import PROGRAM_RULES, Program, program_issues
from dgekit.advise.verdict import Report, report, verdicts
from dgekit.core.dtypes import dtype_named
from dgekit.core.errors import DgeError, LoweringError, UsageError
from dgekit.core.generations import CAYMAN, GENERATIONS, KIB, MARIANA, SUNDA, Generation
from dgekit.frontends.toml_file import loads
from dgekit.transfers.call import Call
from dgekit.transfers.transfer import (
    Access,
    Item,
    MachineInit,
    RawWords,
    SemaphoreStep,
    Tensor,
    Transfer,
    Wait,
    Workload,
    Write,
)
from dgekit.words.structs import DmaDirect2D

ROOT = Path(__file__).parents[2]
F32, BF16, U32 = (dtype_named(name) for name in ("float32", "bfloat16", "uint32"))
TENSORS = {
    tensor.name: tensor
    for tensor in (
        Tensor("x", "hbm", (128, 512), F32),
        Tensor("half", "hbm", (64, 128), BF16),
        Tensor("tile", "sbuf", (64, 512), F32, partition=32),
        Tensor("turned", "sbuf", (128, 64), BF16),
        Tensor("rows", "sbuf", (1, 64), U32),
    )
}


def move(op: Any, src: str, dst: str, **more: Any) -> Transfer:
    return Transfer(more.pop("name", "t"), op, Access(src), Access(dst), **more)


def derived(transfer: Transfer, generation: Generation = CAYMAN) -> Call:
    call = call_of_transfer(transfer, TENSORS, generation)
    assert call is not None
    return call


# calls derived from transfers


def test_a_copy_becomes_a_dma_copy() -> None:
    rows = Access("x", 512, ((1024, 32), (1, 512)))
    call = derived(Transfer("t", "copy", rows, Access("tile", 512, ((512, 32), (1, 512))), mode="hwdge", priority=2))
    assert (call.function, call.dge_mode, call.priority) == ("dma_copy", "hwdge", 1)  # D83: class 2 is priority 1
    src, dst = call.srcs[0], call.dst
    assert (src.shape, src.base_shape, src.pattern, src.offset) == ((32, 512), (128, 512), rows.pattern, 512)
    assert (dst.space, dst.partitions, dst.start_partition) == ("sbuf", 32, 33)


def test_a_gather_has_one_row_an_index_and_its_indices_one_a_partition() -> None:
    call = derived(move("gather", "x", "tile", indices=Access("rows"), oob="skip"))
    assert (call.function, call.oob_mode, call.srcs[0].dynamic) == ("dma_copy", "skip", "vector")
    assert call.srcs[0].shape == (64, 512)
    assert call.indices is not None and call.indices.shape == (64, 1)  # D26
    pattern = derived(
        Transfer("t", "gather", Access("x", 0, ((1024, 64), (1, 512))), Access("tile"), indices=Access("rows"))
    )
    assert pattern.srcs[0].pattern == ((1024, 64), (1, 512))


def test_sums_are_dma_compute() -> None:
    scatter = derived(move("scatter", "tile", "x", indices=Access("rows"), accumulate="add"))
    assert (scatter.function, scatter.rmw_op, len(scatter.srcs)) == ("dma_compute", "add", 2)
    assert scatter.dst.dynamic == "vector" and scatter.srcs[0] == scatter.dst
    reduce = derived(move("reduce", "x", "x", srcs=(Access("x"), Access("x")), compute="fma", scales=(1.0, 0.5)))
    assert (reduce.function, reduce.rmw_op, reduce.scales) == ("dma_compute", "fma", (1.0, 0.5))


def test_transposes_are_two_dimensional() -> None:
    call = derived(move("transpose", "half", "turned"))
    assert (call.function, call.axes, call.srcs[0].shape, call.dst.shape) == (
        "dma_transpose", (1, 0), (64, 128), (128, 64),
    )  # fmt: skip
    indirect = derived(move("gather_transpose", "half", "turned", indices=Access("rows")))
    assert indirect.srcs[0].dynamic == "vector" and indirect.indices is not None
    assert indirect.indices.shape == (64, 1)


def test_a_neff_state_buffer_is_counted_in_partitions() -> None:
    known = {"sb": Tensor("sb", "sbuf", (1 << 25,), dtype_named("uint8"), linear=True, partition=0)}
    pattern = ((0x40000, 24), (1, 64))
    call = call_of_transfer(Transfer("t", "copy", Access("sb", 0x80000, pattern), Access("sb")), known, CAYMAN)
    assert call is not None and (call.srcs[0].partitions, call.srcs[0].start_partition) == (24, 2)


def test_what_names_nothing_has_no_call() -> None:
    assert call_of_transfer(move("copy", "x", "nowhere"), TENSORS, CAYMAN) is None
    odd = {**TENSORS, "tile": replace(TENSORS["tile"], dtype=dtype_named("int4"))}
    assert call_of_transfer(move("copy", "x", "tile"), odd, CAYMAN) is None
    authored = gather()
    assert call_of_transfer(move("copy", "x", "tile", call=authored), {}, CAYMAN) is authored


# index values


def values(items: tuple[Item, ...], tensors: tuple[Tensor, ...], **more: Any) -> dict[int, tuple[int, ...]]:
    return index_values(Workload(CAYMAN, tensors, items, **more))


IDX = Tensor("idx", "sbuf", (4, 1), U32)
TABLE, OUT = Tensor("table", "hbm", (8, 4), F32), Tensor("out", "sbuf", (4, 4), F32)
GATHER = Transfer("g", "gather", Access("table"), Access("out"), indices=Access("idx"))


def test_index_values_follow_contents_copies_and_writes() -> None:
    held = np.array([[7], [1], [0xFFFFFFFF], [3]], np.uint32)
    assert values((GATHER,), (TABLE, OUT, IDX), arrays={"idx": held}) == {0: (7, 1, 0xFFFFFFFF, 3)}
    source = Tensor("source", "hbm", (4, 1), U32)
    load = Transfer("load", "copy", Access("source"), Access("idx"))
    assert values((load, GATHER), (TABLE, OUT, IDX, source), arrays={"source": held}) == {1: (7, 1, 0xFFFFFFFF, 3)}
    iota = SemaphoreStep("iota", writes=(Write(Access("idx"), np.arange(4, dtype="<u4").tobytes()),))
    assert values((iota, GATHER), (TABLE, OUT, IDX)) == {1: (0, 1, 2, 3)}
    fill = SemaphoreStep("fill", writes=(Write(Access("idx"), (5).to_bytes(4, "little")),))
    part = SemaphoreStep("part", writes=(Write(Access("idx", 2, ((1, 1),)), (9).to_bytes(4, "little")),))
    assert values((fill, part, GATHER), (TABLE, OUT, IDX)) == {2: (5, 5, 9, 5)}


def test_index_values_that_nobody_knows() -> None:
    held = np.arange(4, dtype=np.uint32)[:, None]
    spoilt = [
        (Transfer("cast", "copy", Access("table", 0, ((1, 4),)), Access("idx")), GATHER),
        (Transfer("self", "gather", Access("idx"), Access("idx"), indices=Access("idx")), GATHER),
        (RawWords("w", DmaDirect2D().encode()), GATHER),
    ]
    for items in spoilt:
        known = values(items, (TABLE, OUT, IDX), arrays={"idx": held})
        assert len(items) - 1 not in known
    assert values((GATHER,), (TABLE, OUT, IDX)) == {}
    missing = replace(IDX, init="missing.npy")
    assert values((GATHER,), (TABLE, OUT, missing)) == {}
    outside = replace(GATHER, indices=Access("idx", 3, ((1, 4),)))
    assert values((outside,), (TABLE, OUT, IDX), arrays={"idx": held}) == {}


# rules of whole programs

BIG = Tensor("big", "hbm", (1 << 20, 1 << 20), BF16)  # 2 TiB
Z = Access("big", 0, ((2, 1 << 29), (1, 1)))


def program(**more: Any) -> Program:
    options: dict[str, Any] = {"generation": CAYMAN, "tensors": (), "items": (), **more}
    calls, dynamic = options.pop("calls", ()), options.pop("dynamic", False)
    return Program(Workload(**options), calls, dynamic)


WIDE = Tensor("wide", "sbuf", (128, 50 * KIB), F32)  # 200 KiB a partition
FIRES: list[tuple[str, str, Program, Program]] = [
    ("nki.6.partitions", "error", program(tensors=(Tensor("t", "sbuf", (129, 4), F32),)), program(tensors=(WIDE,))),
    ("nki.6.sbuf", "error", program(generation=SUNDA, tensors=(WIDE,)), program(tensors=(WIDE,))),
    (
        "nki.6.sbuf",
        "error",
        program(tensors=(Tensor("t", "sbuf", (8, 60 * KIB), F32),)),
        program(generation=MARIANA, tensors=(Tensor("t", "sbuf", (8, 60 * KIB), F32),)),
    ),
    (
        "nki.6.scratch",
        "advice",
        program(tensors=(WIDE, Tensor("t", "sbuf", (8, 3 * KIB), F32)), dynamic=True),
        program(tensors=(WIDE, Tensor("t", "sbuf", (8, 3 * KIB), F32))),
    ),
    ("nki.6.scratch", "advice", program(tensors=(replace(WIDE, offset=16 * KIB),), dynamic=True), program(tensors=(WIDE,), dynamic=True)),
    (
        "nki.6.psum",
        "error",
        program(calls=(copy(sbuf(128, 4097, dtype="float32"), psum(128, 4097, dtype="float32")),)),
        program(calls=(copy(sbuf(128, 4096, dtype="float32"), psum(128, 4096, dtype="float32")),)),
    ),
    ("nki.6.hbm", "error", program(tensors=(BIG,)), program(tensors=(TABLE,))),
    (
        "nki.A6",
        "error",
        program(state=MachineInit(registers={64: 1})),
        program(state=MachineInit(registers=dict.fromkeys(range(64), 1))),
    ),
    (
        "nki.7.queues",
        "warning",
        program(items=tuple(move("copy", "x", "y", queue=f"q{n}") for n in range(17))),
        program(items=tuple(move("copy", "x", "y", queue=f"q{n}") for n in range(16))),
    ),
    (
        "nki.7.semaphores",
        "error",
        program(items=(move("copy", "x", "y", wait=(Wait(256, 1),)),)),
        program(items=(move("copy", "x", "y", semaphore=255),)),
    ),
    (
        "nki.7.queue_limit",
        "error",
        program(tensors=(BIG,), items=(Transfer("t", "copy", Z, Z, mode="none"),)),
        program(tensors=(BIG,), items=(Transfer("t", "copy", Z, Z, mode="hwdge"),)),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "severity", "breaks", "keeps"), FIRES)
def test_a_program_rule_fires_and_passes(rule: str, severity: str, breaks: Program, keeps: Program) -> None:
    told = [issue for issue in program_issues(breaks) if issue.rule == rule]
    assert {issue.severity for issue in told} == {severity}
    assert all(len(issue.values) >= 2 and issue.source and issue.fix for issue in told)
    assert rule not in {issue.rule for issue in program_issues(keeps)}


def test_every_program_rule_is_tried() -> None:
    assert {row[0] for row in FIRES} == set(PROGRAM_RULES)


@pytest.mark.parametrize(("generation", "kib"), [("trn1", 192), ("trn2", 224), ("trn3", 256)])
def test_sbuf_bytes_by_generation(generation: str, kib: int) -> None:
    chip = next(each for each in GENERATIONS if generation in each.aliases)
    for size, fires in ((kib * KIB, False), (kib * KIB + 1, True)):
        tensor = Tensor("t", "sbuf", (128, size), dtype_named("uint8"))
        assert ("nki.6.sbuf" in {i.rule for i in program_issues(program(generation=chip, tensors=(tensor,)))}) is fires


# reports

PROGRAM = """
generation = "trn2"
[tensors.x]
space = "hbm"
shape = [128, 512]
dtype = "float32"
[tensors.narrow]
space = "sbuf"
shape = [128, 512]
dtype = "bfloat16"
[tensors.tile]
space = "sbuf"
shape = [128, 512]
dtype = "float32"
"""


def judged(transfers: str, **more: Any) -> Report:
    return report(loads(PROGRAM + transfers, name="p.toml"), **more)


def test_a_table_of_modes_for_each_transfer() -> None:
    found = judged(
        """
[[transfers]]
name = "load"
src = "x"
dst = "tile"
mode = "none"
[[transfers]]
name = "cast"
src = "x"
dst = "narrow"
mode = "hwdge"
[[transfers]]
name = "open"
src = "x"
dst = "narrow"
"""
    )
    load, cast, free = found.verdicts
    assert [mode.legal for mode in load.modes.values()] == [True, True, True] and list(load.modes) == [
        "none", "swdge", "hwdge",
    ]  # fmt: skip
    assert (cast.legal, cast.requested, cast.picked, cast.modes["swdge"].legal) == (False, "hwdge", "hwdge", True)
    assert [issue.rule for issue in cast.modes["hwdge"].issues] == ["nki.C5"]
    assert cast.issues[0].where == "p.toml: transfers[1]"
    assert (free.legal, free.requested, free.picked) == (True, "unknown", "swdge")
    assert not found.ok
    assert not judged(
        '[[transfers]]\nsrc = "x"\ndst = "tile"\nmode = "hwdge"\n', generation=SUNDA
    ).ok  # D47 from the words, C6 from the rules


def test_versions_count() -> None:
    text = '[[transfers]]\nsrc = "x"\ndst = "narrow"\nmode = "hwdge"\n'
    assert judged(text, nki_version="0.2.0").verdicts[0].legal
    assert judged(text, nki_version="0.2").nki_version == "0.2.0"
    with pytest.raises(UsageError) as problem:
        judged(text, nki_version="9.9")
    assert problem.value.rule == "nki.version"


def test_what_lowering_refuses_is_in_the_transfer() -> None:
    found = judged('[[transfers]]\nsrc = "x"\ndst = { tensor = "tile", pattern = [[512, 64], [1, 512]] }\n')
    (verdict,) = found.verdicts
    assert {"nki.C2", "transfers.shape"} <= {issue.rule for issue in verdict.issues}
    assert not found.ok


def test_a_transfer_without_a_call_and_words_have_no_modes() -> None:
    items = (move("copy", "x", "nowhere"), RawWords("w", DmaDirect2D(semaphore=1).encode()))
    found = report(Workload(CAYMAN, (TENSORS["x"],), items))
    assert [verdict.modes for verdict in found.verdicts] == [{}, {}]
    assert not found.ok  # the tensor that is not there


def test_check_only_calls_are_judged() -> None:
    """D81."""
    call = Call("core_barrier", hbm(1), (), cores=(0, 3), line="k.py:7")
    (verdict,) = verdicts(Workload(CAYMAN, (), (), calls=(call,)))
    assert (verdict.name, verdict.where, verdict.legal, verdict.modes) == ("core_barrier", "k.py:7", False, {})
    assert verdict.issues[0].rule == "nki.M8"


def test_tensors_without_a_place() -> None:
    """Where a rule of memory says why, a report; otherwise the placement's own error."""
    wide = Tensor("wide", "sbuf", (128, 60 * KIB), F32)
    found = report(Workload(CAYMAN, (wide,), ()))
    assert [issue.rule for issue in found.issues] == ["nki.6.sbuf", "dec.D39"] and not found.ok
    twice = tuple(Tensor(name, "hbm", (8,), F32, address=0x10000000) for name in ("a", "b"))
    with pytest.raises(DgeError):
        report(Workload(CAYMAN, twice, ()))
    with pytest.raises(LoweringError):
        report(Workload(CAYMAN, tuple(Tensor(n, "sbuf", (8, 40 * KIB), F32) for n in ("a", "b")), ()))


def test_hazards_are_in_the_later_transfer() -> None:
    text = '[[transfers]]\nname = "load"\nsrc = "x"\ndst = "tile"\nengine = "sp"\n'
    text += '[[transfers]]\nname = "store"\nsrc = "tile"\ndst = "x"\nengine = "act"\n'
    load, store = judged(text).verdicts
    assert "dec.D53" not in {issue.rule for issue in load.issues}
    told = [issue for issue in store.issues if issue.rule == "dec.D53"]
    assert told and "load (p.toml: transfers[0])" in told[0].message and judged(text).ok


@pytest.mark.parametrize("name", sorted(p.name for p in (ROOT / "examples").glob("*.toml")))
def test_the_examples_are_legal(name: str) -> None:
    assert report(dgekit.load(ROOT / "examples" / name)).ok


def test_the_public_gather_example() -> None:
    """examples/gather_oob.toml is the public case: lane 43, element 66048 of 65536."""
    skipped, refused = report(dgekit.load(ROOT / "examples" / "gather_oob.toml")).verdicts
    for verdict, severity in ((skipped, "advice"), (refused, "warning")):
        (told,) = [issue for issue in verdict.issues if issue.rule == "nki.C11"]
        assert (told.severity, told.values["lane"], told.values["element"]) == (severity, 43, 66048)


def test_a_thousand_transfers_of_one_kind_are_judged_once() -> None:
    items = tuple(
        Transfer(f"t{n}", "copy", Access("x", 0, ((512, 64), (1, 512))), Access("tile"), mode="none")
        for n in range(1000)
    )
    found = report(Workload(CAYMAN, tuple(TENSORS.values()), items))
    assert len(found.verdicts) == 1000 and found.verdicts[7].name == "t7" and found.ok

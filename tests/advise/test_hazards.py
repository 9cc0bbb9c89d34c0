"""Hazards against a plain oracle, their words, and a program of a thousand transfers."""

from __future__ import annotations

import itertools
import time
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from nki_calls import copy, hbm, sbuf

from dgekit.advise import hazards
from dgekit.advise.hazards import Hazard, find_hazards
from dgekit.core.dtypes import dtype_named
from dgekit.core.generations import CAYMAN
from dgekit.transfers.access import access_walk
from dgekit.transfers.placement import place
from dgekit.transfers.transfer import Access, Item, SemaphoreStep, Tensor, Transfer, Wait, Workload, Write

F32 = dtype_named("float32")
TENSORS = (
    Tensor("x", "hbm", (128, 64), F32),
    Tensor("y", "hbm", (128, 64), F32),
    Tensor("tile", "sbuf", (128, 64), F32),
    Tensor("idx", "sbuf", (1, 16), dtype_named("uint32")),
)
PLACED = place(TENSORS, CAYMAN)


def find(*items: Item) -> tuple[Hazard, ...]:
    return find_hazards(Workload(CAYMAN, TENSORS, items), PLACED).found


def move(name: str, src: Any, dst: Any, engine: str, **more: Any) -> Transfer:
    legs = [Access(leg) if isinstance(leg, str) else leg for leg in (src, dst)]
    return Transfer(name, more.pop("op", "copy"), *legs, engine=engine, where=f"p.toml: {name}", **more)


def test_a_load_and_a_store_without_order_are_reported_with_both_places_and_the_bytes() -> None:
    (hazard,) = find(move("load", "x", "tile", "sp"), move("store", "tile", "y", "act"))
    assert (hazard.first, hazard.second, hazard.kind, hazard.tensor) == (0, 1, "read after write", "tile")
    base = PLACED["tile"].address
    assert (hazard.low, hazard.high, hazard.nbytes) == (base, base + 256, 128 * 256)
    issue = hazard.issue((move("load", "x", "tile", "sp"), move("store", "tile", "y", "act")))
    assert (issue.rule, issue.severity, issue.where) == ("dec.D53", "warning", "p.toml: store")
    assert "load (p.toml: load)" in issue.message and "store (p.toml: store)" in issue.message
    assert issue.values["low"] == hex(base) and issue.values["bytes"] == 32768


def test_the_same_with_a_semaphore_or_on_one_queue_is_none() -> None:
    load = move("load", "x", "tile", "sp", semaphore=1)
    assert find(load, move("store", "tile", "y", "act", wait=(Wait(1, 1),))) == ()
    assert find(load, move("store", "tile", "y", "sp")) == ()
    assert len(find(load, move("store", "tile", "y", "sp", queue="other"))) == 1


def test_kinds() -> None:
    kinds = [
        hazard.kind
        for pair in (
            (move("a", "tile", "y", "sp"), move("b", "x", "tile", "act")),
            (move("a", "x", "tile", "sp"), move("b", "x", "tile", "act")),
            (move("a", "x", "tile", "sp"), move("b", "x", "y", "act")),
        )
        for hazard in find(*pair)
    ]
    assert kinds == ["write after read", "write after write"]  # two readers are none


def test_rows_that_do_not_meet_are_none() -> None:
    """Interleaved columns of one tile: the spans overlap, no byte does."""
    halves = [Access("tile", 32 * n, ((64, 128), (1, 32))) for n in (0, 1)]
    source = Access("x", 0, ((64, 128), (1, 32)))
    assert find(move("a", source, halves[0], "sp"), move("b", source, halves[1], "act")) == ()
    over = Access("tile", 31, ((64, 128), (1, 32)))
    (hazard,) = find(move("a", source, halves[0], "sp"), move("b", source, over, "act"))
    assert (hazard.high - hazard.low, hazard.nbytes) == (4, 4 * 128)


def test_indices_and_writes_of_compute_engines_count() -> None:
    fill = SemaphoreStep("iota", engine="dve", writes=(Write(Access("idx"), bytes(4)),))
    gather = move("gather", "x", Access("tile", 0, ((64, 16), (1, 64))), "sp", op="gather", indices=Access("idx"))
    (hazard,) = find(fill, gather)
    assert (hazard.tensor, hazard.kind, hazard.nbytes) == ("idx", "read after write", 64)
    reduce = move("sum", "x", "y", "act", op="reduce", srcs=(Access("x"), Access("tile")))
    assert [hazard.tensor for hazard in find(gather, reduce)] == ["tile"]
    two = move("sums", "x", "y", "act", op="reduce", srcs=(Access("x"),), dsts=(Access("y"), Access("tile")))
    assert [hazard.tensor for hazard in find(gather, two)] == ["tile"]


def test_kernels_have_none_for_the_compiler_orders_their_data() -> None:
    """D53."""
    call = copy(sbuf(128, 64), hbm(128, 64))
    assert find(move("a", "x", "tile", "sp", call=call), move("b", "tile", "y", "act", call=call)) == ()


def test_what_cannot_be_looked_at_is_told(monkeypatch: Any) -> None:
    beyond = Access("x", 0, ((64, 999), (1, 64)))
    items = (move("a", beyond, "tile", "sp"), move("b", "tile", "y", "act"))
    found = find_hazards(Workload(CAYMAN, TENSORS, items), PLACED)
    assert (len(found.found), found.skipped) == (1, 1)
    monkeypatch.setattr(hazards, "MAX_RUNS", 200)
    found = find_hazards(Workload(CAYMAN, TENSORS, items), PLACED)
    assert (found.found, found.skipped) == ((), 2)
    (note,) = found.notes("p.toml")
    assert (note.rule, note.severity, note.values["skipped"]) == ("hazards.skipped", "advice", 2)


def test_a_long_list_is_cut_and_says_so(monkeypatch: Any) -> None:
    monkeypatch.setattr(hazards, "SHOWN", 3)
    items = [move(f"t{n}", "x", "tile", "sp", queue=f"q{n}") for n in range(5)]
    found = find_hazards(Workload(CAYMAN, TENSORS, tuple(items)), PLACED)
    assert (len(found.found), found.more) == (3, 7)  # five items, ten pairs
    (note,) = found.notes("p.toml")
    assert (note.rule, note.values["more"]) == ("dec.D53", 7)
    monkeypatch.setattr(hazards, "MAX_PAIRS", 1)
    monkeypatch.setattr(hazards, "MAX_LOOSE", 5)
    found = find_hazards(Workload(CAYMAN, TENSORS, tuple(items)), PLACED)
    assert (len(found.found), found.more) == (
        3,
        4,
    )  # four pairs of the first item, three of the second, then it is enough


# against a plain oracle: byte sets

ACCESSES = st.builds(
    lambda tensor, offset, dims: Access(tensor, offset, tuple(dims)),
    st.sampled_from(["x", "y"]),
    st.integers(0, 40),
    st.lists(st.tuples(st.integers(0, 9), st.integers(1, 4)), min_size=1, max_size=3),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(ACCESSES, ACCESSES), min_size=2, max_size=6), st.integers(1, 9))
def test_pairs_bytes_and_first_addresses(legs: list[tuple[Access, Access]], chunk: int) -> None:
    items = tuple(move(f"t{n}", src, dst, "sp", queue=f"q{n}") for n, (src, dst) in enumerate(legs))
    wide, hazards.MAX_PAIRS = hazards.MAX_PAIRS, chunk
    try:
        found = {(one.first, one.second): one for one in find(*items)}
    finally:
        hazards.MAX_PAIRS = wide
    for a, b in itertools.combinations(range(len(items)), 2):
        reads, writes = [[touched(leg) for leg in column] for column in zip(*legs, strict=True)]
        shared = (writes[a] & writes[b]) | (writes[a] & reads[b]) | (reads[a] & writes[b])
        assert bool(shared) == ((a, b) in found)
        if shared:
            assert found[a, b].low == min(shared)
            assert set(range(found[a, b].low, found[a, b].high)) <= shared


def touched(access: Access) -> set[int]:
    walk = access_walk(access, PLACED, CAYMAN)
    return {start + byte for start in walk.addresses() for byte in range(walk.elem)}


# speed


def test_a_thousand_transfers_are_quick() -> None:
    """Ordered, all in conflict, and interleaved without meeting: 128 runs each."""
    whole = Access("tile")
    columns = [Access("tile", n % 64, ((64, 128), (1, 1))) for n in range(1000)]
    source = Access("x", 0, ((64, 128), (1, 1)))
    programs = [
        [move(f"t{n}", "x", whole, "sp") for n in range(1000)],
        [move(f"t{n}", "x", whole, ("sp", "act")[n % 2]) for n in range(1000)],
        [move(f"t{n}", source, columns[n], "sp", queue=f"q{n % 64}") for n in range(1000)],
        [
            move(f"t{n}", "x", whole, ("sp", "act")[n % 2], semaphore=1, wait=(Wait(1, n),) if n else ())
            for n in range(1000)
        ],
    ]
    for items, expected in zip(programs, (0, 250_000, 0, 0), strict=True):
        start = time.perf_counter()
        found = find_hazards(Workload(CAYMAN, TENSORS, tuple(items)), PLACED)
        assert len(found.found) + found.more == expected
        assert time.perf_counter() - start < 20  # about a second on a quiet machine

"""Every call that means nothing raises at the call, with its rule and the author's line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dgekit.core.errors import DgeError, Unsupported, UsageError
from dgekit.frontends.nki.versions import version_named
from dgekit.nki import isa as nisa
from dgekit.nki import jit, simulate
from dgekit.nki import language as nl

A = np.arange(64 * 32, dtype=np.float32).reshape(64, 32)
MODES, OOB = nisa.dge_mode, nisa.oob_mode


def tile(*shape: int, dtype: Any = nl.float32, **options: Any) -> Any:
    return nl.ndarray(shape, dtype, **options)


def rows(count: int = 64, dtype: Any = nl.uint32, **options: Any) -> Any:
    return nl.full((count, 1), 0, dtype, **options)


def view(a: Any, **offsets: Any) -> Any:
    return a.ap([[32, 64], [1, 32]], **offsets)


def rmw(a: Any, sources: int = 2, **options: Any) -> None:
    to = view(a, vector_offset=rows())
    nisa.dma_compute(to, [to, tile(64, 32), tile(64, 32)][:sources], nl.add, **options)


CALLS: list[tuple[str, Callable[[Any], Any]]] = [
    ("nki.dtype", lambda a: tile(2, 2, dtype="float64")),
    ("nki.dtype", lambda a: tile(2, 2, dtype="int4")),
    ("nki.buffer", lambda a: tile(2, 2, buffer="l2")),
    ("nki.shape", lambda a: tile(2, 0)),
    ("nki.shape", lambda a: nl.ndarray("ab", nl.int8)),
    ("nki.memory", lambda a: tile(1 << 40, buffer=nl.shared_hbm)),
    ("nki.unsupported", lambda a: nl.exp(a)),
    ("nki.unsupported", lambda a: nisa.nc_matmul(a, a)),
    ("nki.unsupported", lambda a: nl.add(a, a)),
    ("nki.unsupported", lambda a: nisa.memset(shape=(2, 2), value=0, dtype=nl.int8, mask=True)),
    ("nki.unsupported", lambda a: nl.ndarray((2, 2), nl.float128)),
    ("nki.unsupported", lambda a: nl.ndarray((2, 2), nl.int8, address=0)),
    ("nki.unsupported", lambda a: a.rearrange("a b -> b a")),
    ("nki.unsupported", lambda a: nisa.dma_copy(nl.cos, a)),
    ("nki.operand", lambda a: nisa.dma_copy(tile(64, 32), A)),
    ("nki.operand", lambda a: nisa.dma_copy(a, a)),
    ("nki.operand", lambda a: nisa.memset(None, 0)),
    ("nki.operand", lambda a: nisa.iota(np.arange(4))),
    ("nki.operand", lambda a: nl.affine_range("x")),
    ("nki.enum", lambda a: nisa.dma_copy(tile(64, 32), a, dge_mode=2)),
    ("nki.enum", lambda a: nisa.dma_copy(tile(64, 32), a, oob_mode="skip")),
    # views
    ("nki.index", lambda a: a[64]),
    ("nki.index", lambda a: a[0:65]),
    ("nki.index", lambda a: a[5:5]),
    ("nki.index", lambda a: a[0, 0, 0]),
    ("nki.index", lambda a: a[nl.ds(60, 8)]),
    ("nki.index", lambda a: a["x"]),
    ("nki.index", lambda a: a[np.array([0, 1, 4])[:, None], nl.arange(32)[None, :]]),
    ("nki.index", lambda a: a[nl.arange(4), nl.arange(3)]),
    ("nki.index", lambda a: a[nl.arange(4)[:, None] * 1.0, nl.arange(3)]),
    ("nki.index", lambda a: a[nl.arange(4), 0:2]),
    ("nki.view", lambda a: a.reshape((64, 31))),
    ("nki.view", lambda a: a[:, 0:4].reshape((256,))),
    ("nki.view", lambda a: tile(64, 32).reshape((32, 64))),
    ("nki.view", lambda a: a.permute((0, 0))),
    ("nki.view", lambda a: a.squeeze_dim(0)),
    ("nki.view", lambda a: a[:, 0:3].view("uint64")),
    ("nki.ap", lambda a: a.ap([])),
    ("nki.ap", lambda a: a.ap([[32, 0]])),
    ("nki.ap", lambda a: a[1].ap([[1, 32]])),
    ("nki.bounds", lambda a: nisa.dma_copy(tile(64, 32), a.ap([[32, 64], [1, 32]], offset=1))),
    ("nki.bounds", lambda a: nisa.dma_copy(tile(64, 32), view(a, vector_offset=rows()).storage and
                                           a.ap([[32, 64], [1, 32]], offset=64 * 32 - 1, vector_offset=rows()))),
    ("nki.mask", lambda a: nl.load(a, mask=np.ones((3, 32), bool))),
    ("nki.mask", lambda a: nisa.dma_copy(tile(32, 64), a, mask=True)),
    ("nki.mask", lambda a: nisa.dma_copy(tile(64, 32), view(a, vector_offset=rows()), mask=nl.arange(64)[:, None] < 9)),
    # addressing
    ("nki.A1", lambda a: view(a, vector_offset=7)),
    ("nki.A1", lambda a: tile(64, 32).ap([[32, 64], [1, 32]], vector_offset=rows())),
    ("nki.A1", lambda a: view(a, vector_offset=rows(), indirect_dim=1)),
    ("nki.A1", lambda a: view(a, vector_offset=rows(dtype=nl.int16))),
    ("nki.A1", lambda a: view(a, vector_offset=rows(buffer=nl.shared_hbm))),
    ("nki.A1", lambda a: view(a, vector_offset=rows(32))),
    ("nki.A1", lambda a: nisa.dma_copy(tile(64, 32), view(a, vector_offset=rows(100)))),
    ("nki.A1", lambda a: nisa.dma_copy(tile(64, 32), view(a, vector_offset=nl.full((64, 2), 0, nl.uint32)))),
    ("nki.A3", lambda a: view(a, scalar_offset=rows(2))),
    ("nki.A3", lambda a: view(a, scalar_offset=1, indirect_dim=2)),
    ("nki.A4", lambda a: view(a, scalar_offset=1, vector_offset=rows())),
    ("nki.A4", lambda a: view(a, vector_offset=rows())[0]),
    ("nki.A4", lambda a: view(a, vector_offset=rows()).permute((1, 0))),
    ("nki.A4", lambda a: nisa.dma_copy(view(tile(64, 32, buffer=nl.hbm), vector_offset=rows()),
                                       view(a, vector_offset=rows()))),
    ("nki.A5", lambda a: tile(64, 32).ap([[32, 1], [1, 32]], scalar_offset=1, indirect_dim=0)),
    # copies
    ("nki.C1", lambda a: nisa.dma_copy(a, tile(64, 32, buffer=nl.psum))),
    ("nki.C1", lambda a: nisa.memset(tile(64, 32, buffer=nl.psum), 0)),
    ("nki.C2", lambda a: nisa.dma_copy(tile(64, 31), a)),
    ("nki.C11", lambda a: nisa.dma_copy(tile(1, 32), a.ap([[32, 1], [1, 32]], scalar_offset=64))),
    ("nki.C12", lambda a: nisa.dma_copy(a, tile(64, 32), dst_rmw_op=nl.add)),
    ("nki.C12", lambda a: nisa.dma_copy(a, tile(64, 32), unique_indices=False)),
    # transposes
    ("nki.T1", lambda a: nisa.dma_transpose(tile(64, 32), a, axes=(0, 1))),
    ("nki.T1", lambda a: nisa.dma_transpose(tile(32, 64), a[0])),
    ("nki.T2", lambda a: nisa.dma_transpose(tile(32, 64, buffer=nl.shared_hbm), a)),
    ("nki.T2", lambda a: nisa.dma_transpose(tile(32, 64, dtype=nl.int32), a)),
    ("nki.T3", lambda a: nisa.dma_transpose(tile(64, 32), a)),
    # sums
    ("nki.M1", lambda a: nisa.dma_compute(tile(64, 32), [a], nl.multiply)),
    ("nki.M1", lambda a: nisa.dma_compute(tile(64, 32), [a, a], np.add, scales=[1.0, 2.0])),
    ("nki.M1", lambda a: nisa.dma_compute(tile(64, 32), [a, a], nl.add, scales=[1.0])),
    ("nki.M1", lambda a: nisa.dma_compute(tile(64, 32), [a] * 17, nl.add)),
    ("nki.M1", lambda a: nisa.dma_compute(tile(64, 32), [], nl.add)),
    ("nki.M1", lambda a: nisa.dma_compute(tile(64, 32), [a, a[0:1]], nl.add)),
    ("nki.M3", lambda a: rmw(a, 3)),
    ("nki.M3", lambda a: rmw(a, unique_indices=False)),
    ("nki.M3", lambda a: nisa.dma_compute(view(a, vector_offset=rows()), [tile(64, 32), tile(64, 32)], nl.add)),
    ("nki.M5", lambda a: nisa.dma_compute(tile(64, 32), [a, a], nl.add, oob_mode=OOB.skip)),
    # compute engines
    ("nki.iota", lambda a: nisa.iota(tile(4, 4, dtype=nl.int32), [[1, 3]])),
    ("nki.iota", lambda a: nisa.iota(tile(4, 4, dtype=nl.int32))),
    ("nki.value", lambda a: nl.full((2, 2), 256, nl.uint8)),
    ("nki.value", lambda a: nl.full((2, 2), 0.5, nl.int32)),
    ("nki.assign", lambda a: tile(4, 4).__setitem__(0, tile(4, 3))),
    ("nki.assign", lambda a: tile(64, 32).__setitem__(..., a)),
    ("nki.assign", lambda a: tile(4, 4).__setitem__(0, "x")),
    ("nki.register", lambda a: nisa.register_load(nisa.register_alloc(), a)),
    ("nki.register", lambda a: nisa.register_load(5, a[0, 0])),
    ("nki.register", lambda a: nisa.register_store(tile(2, 2), nisa.register_alloc(1))),
    ("nki.register", lambda a: a[nisa.register_alloc()]),
    ("nki.grid", lambda a: jit(lambda b: b)[2](a)),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "call"), CALLS, ids=[f"{n}-{rule}" for n, (rule, _) in enumerate(CALLS)])
def test_a_call_that_means_nothing_raises(rule, call) -> None:
    def kernel(a):
        call(a)

    with pytest.raises(DgeError) as caught:
        simulate(kernel)(A)
    assert caught.value.rule == rule
    assert caught.value.where.startswith("test_refusals.py:")


def test_rules_of_older_versions() -> None:
    def rmw_skip(a):
        nisa.dma_copy(view(a, vector_offset=rows()), tile(64, 32), dst_rmw_op=nl.add, oob_mode=OOB.skip)

    def rmw_times(a):
        nisa.dma_copy(view(a, vector_offset=rows()), tile(64, 32), dst_rmw_op=nl.multiply)

    def sum_skip(a):
        rmw(a, oob_mode=OOB.skip)

    def psum(a):
        nisa.dma_copy(a, tile(64, 32, buffer=nl.psum))

    def lower_rank(a):
        nisa.dma_transpose(tile(32, 64), a.reshape((64, 1, 1, 32)))

    for kernel, version, rule in (
        (rmw_skip, "0.2.0", "nki.C12"),
        (rmw_times, "0.2.0", "nki.C12"),
        (sum_skip, "0.3.0", "nki.M5"),
        (psum, "0.2.0", "nki.C1"),
        (lower_rank, "0.4.0", "nki.T3"),
    ):
        with pytest.raises(DgeError) as caught:
            simulate(kernel, nki_version=version)(A)
        assert caught.value.rule == rule
    simulate(lower_rank, nki_version="0.3.0")(A)
    simulate(sum_skip, nki_version="0.4.0")(A)


def test_versions_are_known() -> None:
    assert version_named("0.6") == "0.6.0"
    with pytest.raises(UsageError) as caught:
        version_named("1.0")
    assert caught.value.rule == "nki.version"


def test_a_skipped_scalar_offset_moves_nothing() -> None:
    def kernel(a):
        held = nl.full((1, 32), -1, nl.float32)
        nisa.dma_copy(held, a.ap([[32, 1], [1, 32]], scalar_offset=64), oob_mode=OOB.skip)
        out = nl.ndarray((1, 32), nl.float32, buffer=nl.shared_hbm)
        nl.store(out, held)
        return out

    run = simulate(kernel)
    assert (run(A) == -1).all()
    assert run.run is not None
    assert [(issue.rule, issue.severity) for issue in run.run.issues] == [("nki.C11", "advice")]


def test_outside_a_kernel_nothing_runs() -> None:
    with pytest.raises(UsageError) as caught:
        nl.ndarray((2, 2), nl.int8)
    assert caught.value.rule == "nki.outside"


def test_arguments_must_fit() -> None:
    with pytest.raises(UsageError, match="missing a required argument") as caught:
        simulate(lambda a, b: None)(A)
    assert caught.value.rule == "nki.arguments" and "a, b" in caught.value.fix
    with pytest.raises(DgeError) as wrong:
        simulate(lambda a: None)(A.astype(np.float64))
    assert wrong.value.rule == "nki.dtype" and wrong.value.where == "argument a"


def test_mode_rules_do_not_stop_a_run() -> None:
    """D81: C8 (priority before v4) and C7 (engine without hwdge) are the checker's."""

    def kernel(a):
        held = tile(64, 32)
        nisa.dma_copy(held, a, priority=2, engine=nisa.engine.gpsimd)
        out = nl.ndarray((64, 32), nl.float32, buffer=nl.shared_hbm)
        nl.store(out, held)
        return out

    run = simulate(kernel)
    assert np.array_equal(run(A), A)
    assert run.run is not None
    first = run.run.items[0]
    assert first.priority == 3 and first.call.priority == 2 and first.engine == "pool"  # D83


def test_other_names_stay_missing() -> None:
    with pytest.raises(AttributeError):
        nl.__wrapped__  # noqa: B018
    with pytest.raises(Unsupported):
        nl.some.thing()

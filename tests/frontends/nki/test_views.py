"""Views against numpy: indexing, shapes, element types, masks; memory, loops and what calls carry."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgekit.core.choices import Choices
from dgekit.frontends.nki.kernel_run import KernelRun
from dgekit.frontends.nki.layout import dense_strides, reshaped
from dgekit.frontends.nki.masks import boxes
from dgekit.machine.session import run_workload
from dgekit.nki import isa as nisa
from dgekit.nki import jit, simulate
from dgekit.nki import language as nl

A = np.arange(6 * 8 * 10, dtype=np.int32).reshape(6, 8, 10)
VIEWS = {
    "number": lambda a: a[2],
    "negative": lambda a: a[-1, :, -2],
    "slices": lambda a: a[1:5, 2:8:3, 4],
    "ellipsis": lambda a: a[..., 3],
    "new": lambda a: a[1, None, 2:4],
    "tiles": lambda a: a[np.arange(4)[:, None], 2, np.arange(5)[None, :] * 2],
}


def seen(make: Any) -> Any:
    """What a view holds, moved out by a copy."""

    def kernel(a):
        view = make(a)
        out = nl.ndarray(view.shape or (1,), view.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(out, view)
        return out

    return simulate(kernel)(A)


@pytest.mark.parametrize("name", VIEWS)
def test_indexing_is_numpys(name) -> None:
    assert np.array_equal(seen(VIEWS[name]), VIEWS[name](A))


def test_other_views() -> None:
    assert np.array_equal(seen(lambda a: a[nl.ds(2, 3)]), A[2:5])
    assert np.array_equal(seen(lambda a: a.reshape((48, 10))[40:]), A.reshape(48, 10)[40:])
    assert np.array_equal(seen(lambda a: a.reshape(6, -1)), A.reshape(6, 80))
    assert np.array_equal(seen(lambda a: a.permute((2, 0, 1))), A.transpose(2, 0, 1))
    assert np.array_equal(seen(lambda a: a.slice(1, 2, 6, 2).select(0, 3)), A[3, 2:6:2])
    assert np.array_equal(seen(lambda a: a[0].expand_dim(1).squeeze_dim(1)), A[0])
    assert np.array_equal(seen(lambda a: a.view(nl.int16)), A.view(np.int16))
    assert np.array_equal(seen(lambda a: a.view("uint32")), A.view(np.uint32))
    assert np.array_equal(seen(lambda a: a.ap([[80, 6], [2, 5]], offset=11)), A.reshape(6, 80)[:, 11:21:2])
    assert np.array_equal(seen(lambda a: a.ap([[1, 9]]).ap([[1, 3]])), A.ravel()[:3])  # the last one counts
    assert np.array_equal(seen(lambda a: a.ap([[20, 3]], dtype=nl.int16)), A.view(np.int16).ravel()[:60:20])


def test_run_time_numbers_choose() -> None:
    def with_tile(a):
        offset = nl.full((1, 1), 3, nl.int32)
        return a[offset]

    def with_register(a):
        register, spare = nisa.register_alloc(), nisa.register_alloc(4)
        nisa.register_move(register, spare)
        nisa.register_move(spare, imm=1)
        held = nl.zeros((1, 1), nl.int32)
        nisa.register_store(held, spare)
        nisa.register_load(spare, held)
        return a[nl.ds(register, 2), spare]

    assert np.array_equal(seen(with_tile), A[3])
    assert np.array_equal(seen(with_register), A[4:6, 1])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from([1, 2, 3, 4]), min_size=1, max_size=4), st.permutations(range(4)), st.data())
def test_reshaped_agrees_with_numpy(extents, order, data) -> None:
    dims = [dim for dim in order if dim < len(extents)]
    array = np.arange(int(np.prod(extents))).reshape(extents).transpose(dims)
    left, wanted = array.size, []
    while left > 1:
        extent = data.draw(st.sampled_from([n for n in range(2, left + 1) if left % n == 0]))
        wanted.append(extent)
        left //= extent
    strides = tuple(stride // array.itemsize for stride in array.strides)
    found = reshaped(array.shape, strides, tuple(wanted))
    view = array.view()
    try:
        view.shape = tuple(wanted)
    except AttributeError:
        assert found is None
    else:
        assert found is not None
        flat = sum(np.indices(wanted)[d] * s for d, s in enumerate(found)) if wanted else np.zeros(())
        base = np.arange(array.size)
        assert np.array_equal(base[flat.astype(int)], view)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.booleans(), min_size=3, max_size=3), min_size=1, max_size=6))
def test_boxes_cover_a_mask_once(rows) -> None:
    mask = np.array(rows, bool)
    covered = np.zeros(mask.shape, int)
    for box in boxes(mask):
        covered[tuple(slice(low, high) for low, high in box)] += 1
    assert np.array_equal(covered, mask.astype(int))


def test_partition_dimensions_may_stand_anywhere() -> None:
    a = np.random.default_rng(0).standard_normal((4, 128, 32)).astype(np.float32)

    @jit(mode="trace")
    def kernel(a):
        tile = nl.ndarray((4, nl.par_dim(128), 32), a.dtype)
        for i in nl.static_range(4):
            nisa.dma_copy(tile[i], a[i])
        out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(out, tile)
        return {"all": out, "sizes": (len(tile), nl.tile_size.pmax, nl.program_id(0), nl.num_programs(0))}

    got = kernel[1](a)
    assert np.array_equal(got["all"], a) and got["sizes"] == (4, 128, 0, 1)


def test_iota_memset_and_assignment() -> None:
    def kernel():
        up = nl.ndarray((16, 2, 4), nl.int32)
        nisa.iota(up, [[100, 2], [2, 4]], offset=1, channel_multiplier=1000)
        old = nisa.iota(nl.arange(4)[None, :] + nl.arange(8)[:, None], dtype=nl.int16)
        filled = nisa.memset(shape=(8, 4), value=2.5, dtype=nl.bfloat16)
        nisa.memset(filled[:, 1:3], value=-1)
        copied = nl.zeros((8, 4), nl.bfloat16)
        copied[0:4] = filled[4:8]
        copied[5, 2] = 7
        outs = []
        for one in (up, old, filled, copied):
            out = nl.ndarray(one.shape, one.dtype, buffer=nl.shared_hbm)
            nisa.dma_copy(out, one)
            outs.append(out)
        return tuple(outs)

    up, old, filled, copied = simulate(kernel)()
    p, i, j = np.ogrid[0:16, 0:2, 0:4]
    assert np.array_equal(up, 1 + 1000 * p + 100 * i + 2 * j)
    assert np.array_equal(old, np.add.outer(np.arange(8), np.arange(4)))
    assert filled.astype(float)[0].tolist() == [2.5, -1, -1, 2.5]
    assert copied.astype(float)[:4].tolist() == [[2.5, -1, -1, 2.5]] * 4 and float(copied[5, 2]) == 7


def test_a_loop_needs_the_sbuf_it_holds_at_a_time() -> None:
    def kernel(a):
        out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
        for i in nl.sequential_range(0, 64):
            tile = nl.load(a[0:128])
            nisa.dma_copy(out[0:128], tile)
            assert i >= 0
        return out

    a = np.arange(128 * 2048, dtype=np.float32).reshape(128, 2048)  # 8 KiB a partition, 64 rounds: 512 KiB
    run = simulate(kernel)
    assert np.array_equal(run(a), a)
    assert run.run is not None and len(run.run.session.placement.placed) <= 4


def test_written_arguments_come_back() -> None:
    def kernel(a, out):
        nl.store(out, nl.load(a))

    a, out = np.arange(32, dtype=np.int8).reshape(4, 8), np.zeros((4, 8), np.int8)
    assert simulate(kernel)(a, out) is None
    assert np.array_equal(a, out)


def test_the_program_of_a_kernel_runs_to_the_same_bytes() -> None:
    """What a trace keeps is enough: transfers, writes of compute engines, contents."""

    def kernel(a):
        rows = nl.ndarray((8, 1), nl.uint32)
        nisa.iota(rows, [[0, 1]], offset=1, channel_multiplier=3)
        tile = nl.ndarray((8, 16), a.dtype)
        nisa.dma_copy(tile, a.ap([[16, 8], [1, 16]], vector_offset=rows))
        out = nl.ndarray((8, 16), a.dtype, buffer=nl.shared_hbm, name="picked")
        nisa.dma_copy(out, tile)
        return out

    a = np.arange(32 * 16, dtype=np.uint16).reshape(32, 16)
    run = simulate(kernel)
    assert np.array_equal(run(a), a[1:24:3])
    assert run.run is not None
    result, session = run_workload(run.run.workload())
    assert result.ok and np.array_equal(session.tensor_array("picked"), a[1:24:3])
    assert {name: entry.sha256 for name, entry in result.tensors.items()} == {
        name: entry.sha256 for name, entry in run.run.result().tensors.items()
    }


def test_calls_carry_what_the_author_wrote() -> None:
    def kernel(a):
        tile = nl.ndarray((64, 2, 8), nl.bfloat16)
        nisa.dma_copy(tile[32:, 1], a.ap([[8, 32], [1, 8]], offset=8), dge_mode=nisa.dge_mode.swdge, name="mine")
        nisa.sendrecv(tile, tile, send_to_rank=1, recv_from_rank=1, dma_engine=nisa.dma_engine.gpsimd_dma)
        nisa.core_barrier(a, cores=(0, 1))

    run = simulate(kernel, generation="trn3", nki_version="0.5")
    run(np.zeros((64, 8), np.float32))
    assert run.run is not None
    (transfer,) = run.run.items
    call = transfer.call
    assert (transfer.name, transfer.op, transfer.mode, transfer.queue) == ("mine", "copy", "swdge", "qPoolDynamic")
    assert transfer.where == call.line and call.line.startswith("test_views.py:")
    assert call.srcs[0].pattern == ((8, 32), (1, 8)) and call.srcs[0].offset == 8 and call.srcs[0].space == "hbm"
    dst = call.dst
    assert (dst.shape, dst.base_shape, dst.partitions, dst.start_partition) == ((32, 8), (64, 2, 8), 32, 32)
    assert dst.dtype.name == "bfloat16" and dst.pattern is None and call.nki_version == "0.5.0"
    exchange, barrier = run.run.workload().calls
    assert exchange.function == "sendrecv" and exchange.dma_engine == "gpsimd_dma" and exchange.cores == (1, 1)
    assert barrier.function == "core_barrier" and barrier.cores == (0, 1)


def test_names_and_types() -> None:
    run = KernelRun(choices=Choices())
    with run.active():
        first, second = (nl.ndarray((2, 2), "float32", name="x") for _ in range(2))
        assert (first.name, second.name) == ("x", "x_1")
        assert first.dtype == nl.float32 == "float32" and first.dtype != nl.bfloat16 and first.dtype != 3
        assert np.zeros(2, nl.bfloat16).dtype.itemsize == nl.bfloat16.itemsize == 2
        assert first.buffer is nl.sbuf and first.ndim == 2 and first.size == 4 and first.offset == 0
        assert repr(first) == "<x: sbuf (2, 2) float32>" and repr(nl.add) == "nki.language.add"
        assert nisa.get_nc_version() is nisa.nc_version.gen3
        with pytest.raises(TypeError):
            np.zeros((2, 2)) + first
        with pytest.raises(TypeError):
            iter(first)
    assert dense_strides(()) == ()

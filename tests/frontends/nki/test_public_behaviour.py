"""The published results and reports: gathers, scatters, sentinels, transposes, shapes, old-style loads."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from dgekit.frontends.nki.faults import KernelError
from dgekit.nki import isa as nisa
from dgekit.nki import language as nl
from dgekit.nki import simulate

BF16 = np.dtype(ml_dtypes.bfloat16)
ROWS, LANES, WIDTH = 128, 64, 512
ERROR, SKIP = nisa.oob_mode.error, nisa.oob_mode.skip


def table() -> Any:
    return np.arange(ROWS * WIDTH, dtype=np.float32).reshape(ROWS, WIDTH)


def column(values: Any, dtype: Any = np.int32) -> Any:
    return np.asarray(values).astype(dtype)[:, None]


def every(step: int) -> Any:
    return column(np.arange(LANES) * step)


def gather(a, idx, oob=ERROR):
    rows = nl.load(idx)
    tile = nl.full((LANES, WIDTH), -1, a.dtype)
    view = a.ap(pattern=[[WIDTH, LANES], [1, WIDTH]], offset=0, vector_offset=rows, indirect_dim=0)
    nisa.dma_copy(dst=tile, src=view, oob_mode=oob)
    out = nl.ndarray((LANES, WIDTH), dtype=a.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=tile)
    return out


def scatter(values, idx, oob=ERROR):
    rows, tile = nl.load(idx), nl.load(values)
    out = nl.full((ROWS, WIDTH), -1, nl.float32, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out.ap([[WIDTH, LANES], [1, WIDTH]], vector_offset=rows), src=tile, oob_mode=oob)
    return out


def add_rows(values, idx, oob=ERROR):
    rows, tile = nl.load(idx), nl.load(values)
    out = nl.full((ROWS, WIDTH), 1, nl.float32, buffer=nl.shared_hbm)
    view = out.ap([[WIDTH, LANES], [1, WIDTH]], vector_offset=rows)
    nisa.dma_compute(dst=view, srcs=[view, tile], reduce_op=nl.add, oob_mode=oob)
    return out


def add_gathered(a, idx, base):
    rows, tile = nl.load(idx), nl.load(base)
    nisa.dma_compute(dst=tile, srcs=[tile, a.ap([[WIDTH, LANES], [1, WIDTH]], vector_offset=rows)], reduce_op=nl.add)
    out = nl.ndarray((LANES, WIDTH), dtype=a.dtype, buffer=nl.shared_hbm)
    nl.store(out, tile)
    return out


def issues_of(run: Any, rule: str) -> list[Any]:
    return [issue for result in run.session.results for issue in result.issues if issue.rule == rule]


def test_every_second_row_is_gathered() -> None:
    assert np.array_equal(simulate(gather)(table(), every(2)), table()[::2])


@pytest.mark.parametrize(("kernel", "given"), [(gather, table()), (scatter, table()[:LANES])])
def test_every_third_row_fails_at_lane_43(kernel, given) -> None:
    run = simulate(kernel)
    with pytest.raises(KernelError, match=r"lane 43: .*129 .*element 66048 of 65536") as caught:
        run(given, every(3))
    assert caught.value.rule == "dec.D25" and caught.value.where.startswith("test_public_behaviour.py:")
    assert caught.value.values["lane"] == 43
    assert run.run is not None and run.run.session.results[-1].status == "skipped"


def test_skipped_rows_keep_their_bytes() -> None:
    got = simulate(gather)(table(), every(3), SKIP)
    assert np.array_equal(got[:43], table()[::3]) and (got[43:] == -1).all()


def test_a_scatter_mirrors_the_gather() -> None:
    values = table()[:LANES]
    got = simulate(scatter)(values, every(3), SKIP)
    assert np.array_equal(got[::3], values[:43])
    untouched = np.delete(np.arange(ROWS), np.arange(0, ROWS, 3))
    assert (got[untouched] == -1).all()


@pytest.mark.parametrize(
    ("sentinel", "dtype"), [(-1, np.int32), (0xFFFF_FFFF, np.uint32), (2147483647, np.int32), (99999, np.uint32)]
)
def test_sentinels_skip(sentinel, dtype) -> None:
    rows = column(np.where(np.arange(LANES) % 4 == 1, sentinel, np.arange(LANES)), dtype)
    got = simulate(gather)(table(), rows, SKIP)
    expected = table()[:LANES].copy()
    expected[1::4] = -1
    assert np.array_equal(got, expected)
    with pytest.raises(KernelError, match="lane 1: "):
        simulate(gather)(table(), rows)


def test_an_index_of_99999_is_an_error() -> None:
    def kernel(a):
        rows, tile = nl.full((128, 1), 99999, nl.uint32), nl.ndarray((128, 1), nl.float32)
        nisa.dma_copy(tile, a.ap([[512, 128], [1, 1]], vector_offset=rows))

    with pytest.raises(KernelError, match="index 99999 is above the limit 127"):
        simulate(kernel)(table())


def test_rows_are_added() -> None:
    values = table()[:LANES]
    expected = np.ones((ROWS, WIDTH), np.float32)
    expected[::2] += values
    run = simulate(add_rows)
    assert np.array_equal(run(values, every(2)), expected)
    assert not issues_of(run.run, "nki.M3")


def test_repeated_rows_are_flagged() -> None:
    rows = every(2)
    rows[5] = rows[4]
    values = table()[:LANES]
    expected = np.ones((ROWS, WIDTH), np.float32)
    np.add.at(expected, rows[:, 0], values)
    run = simulate(add_rows)
    assert np.array_equal(run(values, rows), expected)  # in lane order (D65)
    (flag,) = issues_of(run.run, "nki.M3")
    assert flag.severity == "warning" and flag.values["lanes"] == [4, 5] and flag.values["index"] == 8


def test_gathered_rows_are_added_to_a_tile() -> None:
    assert np.array_equal(simulate(add_gathered)(table(), every(2), table()[:LANES]), table()[::2] + table()[:LANES])


def test_a_static_sum() -> None:
    def kernel(a, b, c):
        out = nl.ndarray(a.shape, a.dtype, buffer=nl.shared_hbm)
        nisa.dma_compute(out, [a, b, c], nl.add, scales=[1.0, 1.0, 1.0])
        return out

    a = np.arange(64, dtype=np.float32).reshape(4, 16)
    run = simulate(kernel)
    assert np.array_equal(run(a, 2 * a, 4 * a), 7 * a)
    assert run.run is not None and run.run.session.results[-1].mode == "none"


# indirect transposes


def paged(cache, idx, block, oob=ERROR):
    rows = nl.load(idx)
    tile = nl.zeros((128, 1, block, 128), nl.bfloat16)
    pattern = [[block * 128, 128], [1, 1], [128, block], [1, 128]]
    nisa.dma_transpose(
        tile, cache.ap(pattern, vector_offset=rows), axes=(3, 1, 2, 0), dge_mode=nisa.dge_mode.swdge, oob_mode=oob
    )
    out = nl.ndarray(tile.shape, nl.bfloat16, buffer=nl.shared_hbm)
    nisa.dma_copy(out, tile)
    return out


def paged_case() -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(7)
    cache = rng.integers(-128, 128, (256, 8 * 128)).astype(BF16)
    rows = rng.permutation(256)[:128]
    expected = cache.reshape(256, 8, 128)[rows].transpose(2, 1, 0)[:, None]
    return cache, rows, expected


def test_the_paged_cache_pattern() -> None:
    cache, rows, expected = paged_case()
    assert np.array_equal(simulate(paged)(cache, column(rows, np.uint32), 8), expected)


def test_mixed_lanes_of_an_indirect_transpose_move_the_valid_ones_and_warn() -> None:
    cache, rows, expected = paged_case()
    rows = rows.astype(np.int64)
    rows[[5, 9, 127]] = 0xFFFF_FFFF, 2147483647, 256
    expected[..., [5, 9, 127]] = 0
    run = simulate(paged)
    assert np.array_equal(run(cache, column(rows, np.uint32), 8, SKIP), expected)
    (warning,) = issues_of(run.run, "nki.G7")
    assert warning.severity == "warning" and warning.values == {"lanes": 128, "out_of_bounds": 3}
    with pytest.raises(KernelError, match="lane 5: "):
        simulate(paged)(cache, column(rows, np.uint32), 8)


def test_indices_of_several_columns_go_column_by_column() -> None:
    """nki.G6: [128, 2] indices, 192 rows: a whole column and half of the next."""

    def kernel(a, idx):
        tile = nl.ndarray((16, 192), a.dtype)
        nisa.dma_transpose(tile, a.ap([[16, 192], [1, 16]], vector_offset=nl.load(idx)), axes=(1, 0))
        out = nl.ndarray((16, 192), a.dtype, buffer=nl.shared_hbm)
        nl.store(out, tile)
        return out

    rng = np.random.default_rng(3)
    a = rng.integers(-99, 99, (500, 16)).astype(np.float16)
    idx = rng.integers(0, 500, (128, 2)).astype(np.uint32)
    flat = idx.T.ravel()[:192]
    assert np.array_equal(simulate(kernel)(a, idx), a[flat].T)


# shapes from public reports


@pytest.mark.parametrize("dtype", [BF16, np.float32, np.int8])
@pytest.mark.parametrize("through", ["hbm", "sbuf"])
def test_a_square_transpose_with_mode_unknown(dtype, through) -> None:
    """Report 1301: 128 x 128, HBM to SBUF and SBUF to SBUF; what no word can do is left to the host."""

    def kernel(a):
        src = a if through == "hbm" else nl.load(a)
        tile = nl.ndarray((128, 128), a.dtype)
        nisa.dma_transpose(tile, src, axes=(1, 0))
        out = nl.ndarray((128, 128), a.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(out, tile)
        return out

    a = np.random.default_rng(1).integers(-100, 100, (128, 128)).astype(dtype)
    run = simulate(kernel)
    assert np.array_equal(run(a), a.T)
    assert bool(issues_of(run.run, "nki.T4")) == (np.dtype(dtype).itemsize == 1)


@pytest.mark.parametrize("shape", [(16, 3, 128), (16, 2, 3, 64)])
def test_transposes_of_more_dimensions(shape) -> None:
    axes = {3: (2, 1, 0), 4: (3, 1, 2, 0)}[len(shape)]

    def kernel(a):
        tile = nl.ndarray(tuple(shape[axis] for axis in axes), a.dtype)
        nisa.dma_transpose(tile, a)
        out = nl.ndarray(tile.shape, a.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(out, tile)
        return out

    a = np.arange(np.prod(shape)).astype(np.uint16).reshape(shape)
    assert np.array_equal(simulate(kernel)(a), a.transpose(axes))


def test_a_slice_with_a_middle_index_takes_a_flat_row() -> None:
    """Report 1281: (128, 2, 512)[:, m, :] <- (128, 512); NKI 0.2 refused it, which is a warning there."""

    def kernel(a):
        tile = nl.ndarray((128, 2, 512), nl.float16)
        for m in nl.affine_range(2):
            nisa.dma_copy(dst=tile[:, m, :], src=a[m, :, :])
        out = nl.ndarray((128, 2, 512), nl.float16, buffer=nl.shared_hbm)
        nisa.dma_copy(out, tile.reshape((128, 1024)))
        return out

    a = np.random.default_rng(2).standard_normal((2, 128, 512)).astype(np.float16)
    for version in ("0.2.0", "0.6.0"):
        run = simulate(kernel, nki_version=version)
        assert np.array_equal(run(a), a.transpose(1, 0, 2))
        assert len(issues_of(run.run, "nki.C2")) == (version == "0.2.0")


def test_unequal_counts_are_refused() -> None:
    def kernel(a):
        nisa.dma_copy(nl.ndarray((128, 512), a.dtype), a[:, 0:511])

    with pytest.raises(KernelError, match=r"65536 elements, src .* has 65408") as caught:
        simulate(kernel)(table())
    assert caught.value.rule == "nki.C2"


@pytest.mark.parametrize("column_index", [0, 2])
def test_a_run_time_column_of_an_sbuf_tile(column_index) -> None:
    """Report 1373: SBUF (4, 4), pattern [[4, 2], [1, 2]], scalar offset along dimension 1, to HBM (2, 2)."""

    def kernel(a, at):
        tile, offset = nl.load(a), nl.load(at)
        out = nl.ndarray((2, 2), a.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(out, tile.ap([[4, 2], [1, 2]], scalar_offset=offset, indirect_dim=1))
        return out

    a = np.arange(16, dtype=np.float32).reshape(4, 4)
    run = simulate(kernel)
    got = run(a, np.array([[column_index]], np.int32))
    assert np.array_equal(got, a[:2, column_index : column_index + 2])
    call = run.run.items[-1].call
    assert call.srcs[0].dynamic == "scalar" and call.srcs[0].partitions == 2 and call.srcs[0].indirect_dim == 1


def test_24_partitions_run_and_carry_what_the_checker_needs() -> None:
    """Report 1253: 24 x 1536 with a scalar offset by hwdge; the rule is the checker's (C20), the copy is right."""

    def kernel(a):
        tile = nl.ndarray((24, 1536), nl.float32)
        row = nisa.register_alloc(1)
        view = a.ap([[1536, 24], [1, 1536]], scalar_offset=row, indirect_dim=0)
        nisa.dma_copy(tile, view, dge_mode=nisa.dge_mode.hwdge, engine=nisa.engine.sync)
        out = nl.ndarray((24, 1536), nl.float32, buffer=nl.shared_hbm)
        nisa.dma_copy(out, tile)
        return out

    a = np.random.default_rng(4).standard_normal((48, 1536)).astype(np.float32)
    run = simulate(kernel)
    assert np.array_equal(run(a), a[1:25])
    load = run.run.items[0]
    assert (load.mode, load.queue, load.engine) == ("hwdge", "qSyncDynamicHW", "sp")
    assert load.call.dst.partitions == 24 and load.call.srcs[0].dynamic == "scalar"


# old-style scripts


def test_index_tiles_under_a_mask() -> None:
    def kernel(a):
        out = nl.ndarray((100, 300), a.dtype, buffer=nl.shared_hbm)
        for i in nl.affine_range(2):
            ip, jf = nl.mgrid[0:64, 0:512]
            inside = (i * 64 + ip < 100) & (jf < 300)
            tile = nl.load(a[i * 64 + ip, jf], mask=inside)
            nl.store(out[i * 64 + ip, jf], tile, mask=inside)
        return out

    a = np.random.default_rng(5).standard_normal((100, 300)).astype(np.float32)
    assert np.array_equal(simulate(kernel)(a), a)


def test_a_row_is_chosen_by_an_index_tile() -> None:
    def kernel(a, idx):
        ip, jf = nl.arange(LANES)[:, None], nl.arange(WIDTH)[None, :]
        rows = nl.load(idx[ip, 0])
        tile = nl.load(a[rows[ip, 0], jf])
        out = nl.ndarray((LANES, WIDTH), a.dtype, buffer=nl.shared_hbm)
        nl.store(out[ip, jf], value=tile[ip, jf])
        return out

    assert np.array_equal(simulate(kernel)(table(), every(2)), table()[::2])


def test_read_modify_write_of_older_versions() -> None:
    def kernel(values, idx):
        rows, tile = nl.load(idx), nl.load(values)
        out = nl.zeros((ROWS, WIDTH), nl.float32, buffer=nl.shared_hbm)
        view = out.ap([[WIDTH, LANES], [1, WIDTH]], vector_offset=rows)
        nisa.dma_copy(view, tile, dst_rmw_op=np.add, unique_indices=True, dge_mode=1)
        return out

    expected = np.zeros((ROWS, WIDTH), np.float32)
    expected[::2] = table()[:LANES]
    assert np.array_equal(simulate(kernel, nki_version="0.2.0")(table()[:LANES], every(2)), expected)
    with pytest.raises(KernelError) as caught:
        simulate(kernel)(table()[:LANES], every(2))
    assert caught.value.rule == "nki.enum"

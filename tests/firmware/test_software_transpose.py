"""Gather-transposes of the software backend against plain loops: tiles, channels, dropped lanes, refusals."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from software_cases import IDX, SBUF, STRIDE, go, indirect, leg, limit, move

from dgekit.core.choices import Choices
from dgekit.core.dtypes import Dtype
from dgekit.core.errors import LoweringError, Unspecified
from dgekit.core.generations import CAYMAN
from dgekit.descriptors.batch import PacketKind
from dgekit.firmware.values import (
    BoundCheck,
    DimPush,
    Generate,
    Indices,
    Kind,
    Tile,
)
from dgekit.logs.render import render_log


def gather_transpose(indices, *, columns=128, error=True, bound=None, src_step=None, dst_num=None):
    n, size = len(indices), 2
    src = leg(0x10000, (columns, n), (src_step or size, 512), size, Dtype.BFLOAT16, True, bound or limit(511))
    dst = leg(0x80000, dst_num or (n, columns), (size, n * size), size, Dtype.BFLOAT16, False)
    tile = Tile(16, columns, size, 512)
    flags = Indices(src=tuple(indices), src_address=IDX, error_policy=error, src_dim=1)
    return indirect(src, dst, flags, kind=Kind.GATHER_TRANSPOSE, tile=tile)


def transposed(memory, indices, columns, limit_, step=2):
    """Destination image by plain loops; places of dropped lanes keep their bytes."""
    n = len(indices)
    out = memory[0x80000 : 0x80000 + n * columns * 2].view("<u2").reshape(columns, n).copy()
    for lane, index in enumerate(indices):
        if index <= limit_:
            for c in range(columns):
                at = 0x10000 + 512 * index + step * c
                out[c, lane] = int.from_bytes(memory[at : at + 2].tobytes(), "little")
    return out


def test_the_worked_gather_transpose_is_four_tiles():
    # isa-words 6.5: BF16, 64 indices, 128 columns: 4 tiles of 16 rows
    indices = [(i * 37) % 512 for i in range(64)]
    result, events = go(gather_transpose(indices))
    (part,) = result.work
    assert (part.kind, part.tile_rows, part.tile_cols) == (PacketKind.TRANSPOSE, 16, 128)
    assert (len(part.src), len(part.dst)) == (4 * 16, 4 * 128)
    memory = np.random.default_rng(9).integers(0, 256, 0x100000, dtype=np.uint8)
    want = transposed(memory, indices, 128, 511)
    move(result, memory)
    assert np.array_equal(memory[0x80000 : 0x80000 + want.nbytes].view("<u2").reshape(128, 64), want)
    assert sum(isinstance(op, Generate) for op in result.program.ops) == 128
    assert result.program.ops[-4:-2] == (DimPush(0, (128, 64), (2, 2)), DimPush(0, (64, 128), (512, 128)))
    lines = render_log(events, CAYMAN, Choices())
    assert "P0: tensor_reshape_indirect_transpose: tile_src_rows=16 tile_src_cols=128 dtype_size=2" in lines
    before = lines.index(
        "P0: tensor_reshape_indirect_transpose BEFORE: elem_size=2 num_elem=[128,64,1,1] step_elem=[2,512,0,0] is_src=1"
    )
    assert lines[before + 1] == (
        "P0: tensor_reshape_indirect_transpose AFTER: elem_size=2 num_elem=[64,128,1,1] step_elem=[512,2,0,0]"
    )


def test_gather_transpose_over_channels_splits_columns():
    n, size = 32, 2
    src = leg(0x10000, (64, n), (size, 512), size, Dtype.FP16, True, limit(100))
    dst = leg(SBUF + 0x400, (n, 64), (size, STRIDE), size, Dtype.FP16, False)
    pair = indirect(
        src, dst, Indices(src=tuple(range(n)), src_dim=1), kind=Kind.GATHER_TRANSPOSE, tile=Tile(16, 64, size, 512)
    )
    result, _ = go(pair)
    assert [part.dma for part in result.work] == list(range(8))
    for part in result.work:
        assert part.tile_cols == 8 and part.tile_rows == 16
        assert part.src.starts[0] == 0x10000 + 16 * part.dma
        assert part.dst.starts[0] == SBUF + 0x400 + 8 * part.dma * STRIDE


@settings(max_examples=30, deadline=None)
@given(
    indices=st.lists(st.integers(0, 700), min_size=16, max_size=16)
    | st.lists(st.integers(0, 700), min_size=48, max_size=48),
    columns=st.sampled_from([1, 7, 128]),
    strided=st.booleans(),
)
def test_mixed_lanes_drop_columns_only(indices, columns, strided):
    step = 4 if strided and columns < 128 else 2
    result, _ = go(gather_transpose(indices, columns=columns, error=False, src_step=step))
    memory = np.random.default_rng(10).integers(0, 256, 0x100000, dtype=np.uint8)
    want = transposed(memory, indices, columns, 511, step)
    outside = np.concatenate([memory[:0x80000], memory[0x80000 + want.nbytes :]])
    move(result, memory)
    assert np.array_equal(memory[0x80000 : 0x80000 + want.nbytes].view("<u2").reshape(columns, -1), want)
    assert np.array_equal(np.concatenate([memory[:0x80000], memory[0x80000 + want.nbytes :]]), outside)
    assert result.status == "done"


def test_gather_transpose_errors():
    assert go(gather_transpose([1] * 15 + [512]))[0].status == "skipped"
    with pytest.raises(Unspecified, match="do not mirror each other") as caught:
        go(gather_transpose([1] * 16, dst_num=(16, 1)))
    assert caught.value.rule == "isa.8.30"
    with pytest.raises(LoweringError, match="leave the address space"):
        pair = gather_transpose([0xFFFFFFFF] * 16, bound=BoundCheck())
        far = leg(1 << 62, pair.src.num, (2, 0x7FFFFFFF), 2, Dtype.BFLOAT16, True)
        go(indirect(far, pair.dst, pair.indices, kind=Kind.GATHER_TRANSPOSE, tile=pair.tile))

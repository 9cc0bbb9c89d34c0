"""The software backend against plain numpy: rows moved, micro-ops, bounds policies, duplicates, the Q7 log."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from software_cases import FLAGS_ON, IDX, SBUF, STRIDE, TYPES, go, indirect, leg, limit, move

from dgekit.core.choices import Choices
from dgekit.core.dtypes import Dtype
from dgekit.core.errors import LoweringError, Unspecified, Unsupported
from dgekit.core.events import EventLog
from dgekit.core.generations import CAYMAN, MARIANA_PLUS
from dgekit.core.state import StateView
from dgekit.descriptors.batch import PacketKind
from dgekit.firmware import software
from dgekit.firmware.reshape import reshape
from dgekit.firmware.values import (
    BoundCheck,
    DimPush,
    Generate,
    Indices,
    Kind,
    RegWrite,
    ShapePair,
)
from dgekit.logs.render import render_log
from dgekit.words.enums import ComputeOp


def table_gather(indices, *, rows=128, row=2048, error=True, base=0x1000, out=0x80000, bound=None, non_unique=False):
    """Gather rows of 512 fp32 from a table of `rows` into consecutive rows."""
    n = len(indices)
    src = leg(base, (n,), (row,), row, Dtype.FP32, True, bound or limit(rows - 1))
    dst = leg(out, (n,), (row,), row, Dtype.FP32, False)
    return indirect(src, dst, Indices(src=tuple(indices), src_address=IDX, error_policy=error, non_unique=non_unique))


def test_gather_moves_the_indexed_rows():
    indices = [2 * i for i in range(64)]
    result, _ = go(table_gather(indices))
    assert result.status == "done" and result.issues == () and result.notifications == ()
    memory = np.zeros(0x100000, np.uint8)
    table = np.random.default_rng(1).integers(0, 256, (128, 2048), dtype=np.uint8)
    memory[0x1000 : 0x1000 + 128 * 2048] = table.ravel()
    move(result, memory)
    assert np.array_equal(memory[0x80000 : 0x80000 + 64 * 2048].reshape(64, 2048), table[indices])


def test_the_published_gather_fails_at_lane_43_element_66048():
    # nki-dma 3: (128, 512) fp32, 64 lanes of index 3i: lane 43, element 66048 of 65536
    result, events = go(table_gather([3 * i for i in range(64)]))
    assert result.status == "skipped"
    assert result.work == () and result.program.ops == () and result.notifications == ()
    (issue,) = result.issues
    assert issue.rule == "dec.D25" and issue.severity == "error"
    assert issue.message.startswith("lane 43: src index 129 is above the limit 127 (element 66048 of 65536)")
    assert issue.values == {
        "lane": 43, "index": 129, "limit": 127, "element": 66048, "elements": 65536, "leg": "src", "failed_lanes": 21,
    }  # fmt: skip
    assert render_log(events, CAYMAN, Choices()) == ["S: DGE: Failed bounds check. $S[12]+=1."]


def test_the_published_gather_with_skip_keeps_rows_0_to_42():
    indices = [3 * i for i in range(64)]
    result, events = go(table_gather(indices, error=False))
    assert result.status == "done"
    memory = np.full(0x100000, 0xFF, np.uint8)
    table = np.random.default_rng(2).integers(0, 255, (128, 2048), dtype=np.uint8)
    memory[0x1000 : 0x1000 + 128 * 2048] = table.ravel()
    move(result, memory)
    out = memory[0x80000 : 0x80000 + 64 * 2048].reshape(64, 2048)
    assert np.array_equal(out[:43], table[indices[:43]])
    assert (out[43:] == 0xFF).all()
    (issue,) = result.issues
    assert issue.severity == "advice" and issue.values["dropped"] == 21 and issue.values["rows"] == 64
    assert len(events.named("failed")) == 21
    assert [
        len(go(table_gather(indices, error=False), oob_skip_log=s)[1].named("failed")) for s in ("word", "none")
    ] == [1, 0]


@pytest.mark.parametrize("sentinel", [-1, 0xFFFFFFFF, 2147483647, 99999, 128])
def test_sentinels_are_just_out_of_range(sentinel):
    result, _ = go(table_gather([5, sentinel, 7], error=False))
    assert [int(s) for part in result.work for s in part.src.starts] == [0x1000 + 5 * 2048, 0x1000 + 7 * 2048]
    assert go(table_gather([5, sentinel, 7]))[0].status == "skipped"


def test_the_limit_itself_passes_and_no_bound_means_no_check():
    assert go(table_gather([127]))[0].status == "done"
    result, _ = go(table_gather([128], bound=BoundCheck()))
    assert result.work[0].src.starts.tolist() == [0x1000 + 128 * 2048]


def test_all_rows_dropped_leaves_nothing_but_is_done():
    result, events = go(table_gather([500, 501], error=False))
    assert (result.status, result.work, result.program.ops) == ("done", (), ())
    assert "P0: Generating 0 descriptors; ring_ndesc = 4096" in render_log(events, CAYMAN, Choices())


def test_notifications_need_both_gates():
    indices = [1, 500, 2, 501]
    on = go(table_gather(indices), state=FLAGS_ON)[0].notifications
    assert [len(record) for record in on] == [16]
    assert len(go(table_gather(indices, error=False), state=FLAGS_ON)[0].notifications) == 2
    assert len(go(table_gather(indices, error=False), state=FLAGS_ON, oob_skip_log="word")[0].notifications) == 1
    assert go(table_gather(indices, bound=limit(127, notify=False)), state=FLAGS_ON)[0].notifications == ()
    assert go(table_gather(indices))[0].notifications == ()


def test_micro_ops_one_generate_a_row_and_four_pushes():
    result, _ = go(table_gather([9, 500, 3], error=False), dmas=(4, 5))
    rd = [op for op in result.program.ops if isinstance(op, Generate) and op.dir == "RD"]
    wr = [op for op in result.program.ops if isinstance(op, Generate) and op.dir == "WR"]
    assert [(op.dma, op.addr, op.elem_size, op.sem_num) for op in rd] == [
        (4, 0x1000 + 9 * 2048, 2048, 12), (4, 0x1000 + 3 * 2048, 2048, 12),
    ]  # fmt: skip
    assert [op.addr for op in wr] == [0x80000, 0x80000 + 2 * 2048]
    assert result.program.ops[4:] == (
        DimPush(4, (2, 2), (2048, 2048)), DimPush(4, (1, 1), (0, 0)), DimPush(4, (1, 1), (0, 0)), DimPush(4, (1, 1), (0, 0)),
    )  # fmt: skip
    outer = go(table_gather([9, 3], error=False), dimpush_order="outer_first")[0].program.ops
    assert outer[-1] == DimPush(0, (2, 2), (2048, 2048))


def sbuf_gather(n, **kw):
    src = leg(0x1000, (n,), (64,), 64, Dtype.FP32, True, limit(4095))
    dst = leg(SBUF + 0x200, (n,), (STRIDE,), 64, Dtype.FP32, False)
    return indirect(src, dst, Indices(src=tuple(kw.get("indices", range(n))), src_address=IDX, error_policy=False))


def test_lanes_are_spread_over_channels_in_blocks():
    indices = [(7 * i) % 128 for i in range(128)]
    indices[8:16] = [5000] * 8  # channel 1 loses all its lanes
    result, events = go(sbuf_gather(128, indices=indices))
    by_channel = {part.dma: part for part in result.work}
    assert sorted(by_channel) == [0, *range(2, 16)]
    for dma, part in by_channel.items():
        assert part.src.starts.tolist() == [0x1000 + 64 * i for i in indices[8 * dma : 8 * dma + 8]]
        assert part.dst.starts.tolist() == [SBUF + 0x200 + STRIDE * lane for lane in range(8 * dma, 8 * dma + 8)]
        ops = result.program.channel(dma)
        assert isinstance(ops[0], RegWrite) and len(ops) == 1 + 16 + 4
        assert ops[17] == DimPush(dma, (8, 8), (64, STRIDE))
    assert not any(isinstance(op, RegWrite) for op in go(sbuf_gather(128), generation=MARIANA_PLUS)[0].program.ops)
    assert len(events.named("loop")) == 120


def histogram(indices, *, dtype=Dtype.INT32, compute=1, non_unique=True, bins=256, error=True):
    n = len(indices)
    src = leg(0x100, (n,), (4,), 4, dtype, True)
    dst = leg(0x8000, (n,), (4,), 4, dtype, False, limit(bins, notify=False))
    flags = Indices(dst=tuple(indices), dst_address=IDX, error_policy=error, non_unique=non_unique)
    return indirect(src, dst, flags, compute)


def test_the_worked_scatter_add():
    # isa-words 6.4: indices [5, 5, 200, 5], four ones: bin 5 = 3, bin 200 = 1
    result, _ = go(histogram([5, 5, 200, 5]))
    assert result.status == "done" and result.issues == ()
    memory = np.zeros(0x10000, np.uint8)
    memory[0x100:0x110].view("<i4")[:] = 1
    move(result, memory)
    bins = memory[0x8000 : 0x8000 + 1024].view("<i4")
    assert {int(i): int(bins[i]) for i in np.flatnonzero(bins)} == {5: 3, 200: 1}
    (part,) = result.work
    (dst,), packet = part.dests, part.packet
    assert part.sources[0] is dst and dst.starts.tolist() == [0x8000 + 4 * i for i in (5, 5, 200, 5)]
    assert (packet.in_dtype, packet.accum_dtype, packet.out_dtype) == (Dtype.INT32,) * 3


def test_repeated_destinations_without_the_flag_are_a_warning_with_the_same_result():
    with_flag, _ = go(histogram([5, 5, 200, 5]))
    without, _ = go(histogram([5, 5, 200, 5], non_unique=False))
    (issue,) = without.issues
    assert (issue.rule, issue.severity, issue.values) == ("dec.D65", "warning", {"index": 5, "times": 3})
    assert without.program == with_flag.program
    assert np.array_equal(without.work[0].dests[0].starts, with_flag.work[0].dests[0].starts)
    assert go(histogram([5, 6], non_unique=False))[0].issues == ()


@pytest.mark.parametrize(
    ("compute", "dtype", "expected"),
    [
        (ComputeOp.MULTIPLY, Dtype.INT32, {5: 7 * 2 * 3 * 5, 200: 4 * 7}),
        (ComputeOp.MAX, Dtype.INT32, {5: 7, 200: 7}),
        (ComputeOp.MIN, Dtype.FP32, {5: 2.0, 200: 4.0}),
    ],
)
def test_every_op_updates_repeated_rows_in_lane_order(compute, dtype, expected):
    result, _ = go(histogram([5, 5, 200, 5], dtype=dtype, compute=compute))
    memory = np.zeros(0x10000, np.uint8)
    kind = TYPES[dtype]
    memory[0x100:0x110].view(kind)[:] = [2, 3, 4, 5]
    bins = memory[0x8000 : 0x8000 + 1024].view(kind)
    bins[:] = 7
    move(result, memory)
    assert {i: bins[i].item() for i in (5, 200)} == expected
    assert (np.delete(bins, [5, 200]) == 7).all()


@pytest.mark.parametrize(("dtype", "compute"), [(Dtype.FP4_EXP2, 1), (Dtype.INT32, 9)])
def test_computing_that_nothing_defines_is_unsupported(dtype, compute):
    events = EventLog()
    pair = histogram([1], dtype=dtype, compute=compute)
    plan = reshape(pair, (0,), CAYMAN, Choices(), EventLog())
    with pytest.raises(Unsupported, match=dtype.name):
        software.run(pair, plan, StateView(), CAYMAN, Choices(), events)
    assert len(events) == 0


def test_scatter_error_names_the_destination():
    result, _ = go(histogram([1, 300]))
    assert result.status == "skipped"
    assert result.issues[0].where == "dst_idx_bound_reg"
    assert result.issues[0].values["lane"] == 1 and result.issues[0].values["element"] == 300


def test_gather_and_scatter_in_one_word():
    src = leg(0x1000, (4,), (8,), 8, Dtype.FP32, True, limit(15))
    dst = leg(0x4000, (4,), (16,), 8, Dtype.FP32, False, limit(7))
    flags = Indices(src=(3, 99, 2, 1), dst=(7, 1, 50, 0), error_policy=False)
    result, _ = go(indirect(src, dst, flags))
    (part,) = result.work
    assert part.src.starts.tolist() == [0x1000 + 24, 0x1000 + 8]
    assert part.dst.starts.tolist() == [0x4000 + 112, 0x4000]
    assert result.issues[0].values["dropped"] == 2


def test_vectors_of_unequal_length_have_no_meaning():
    src = leg(0x1000, (2,), (8,), 8, Dtype.FP32, True)
    dst = leg(0x4000, (4,), (4,), 4, Dtype.FP32, False)
    with pytest.raises(Unspecified, match="2 source indices and 4 destination indices"):
        go(indirect(src, dst, Indices(src=(0, 1), dst=(0, 1, 2, 3))))


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_random_rows_equal_numpy(data):
    """Rows and elements of any size ratio, negative steps, dropped lanes, one to four channels."""
    n = data.draw(st.integers(1, 12))
    row = data.draw(st.sampled_from([2, 6, 8, 12, 64]))
    piece = data.draw(st.sampled_from([d for d in (1, 2, 3, 4, row) if n * row % d == 0]))
    indices = data.draw(st.lists(st.integers(0, 40), min_size=n, max_size=n))
    back = data.draw(st.booleans())
    src = leg(0x1000, (n,), (72,), row, Dtype.UINT8, True, limit(31))
    count = n * row // piece
    start, step = (0x8000 + (count - 1) * (piece + 1), -(piece + 1)) if back else (0x8000, piece + 1)
    dst = leg(start, (count,), (step,), piece, Dtype.UINT8, False)
    result, _ = go(
        indirect(src, dst, Indices(src=tuple(indices), error_policy=False)), dmas=range(data.draw(st.integers(1, 4)))
    )
    memory = np.random.default_rng(5).integers(0, 256, 0x10000, dtype=np.uint8)
    want = memory.copy()
    stream = [(i, memory[0x1000 + 72 * index + b], index <= 31) for i, index in enumerate(indices) for b in range(row)]
    for k, (_, value, kept) in enumerate(stream):
        if kept:
            want[start + (k // piece) * step + k % piece] = value
    assert np.array_equal(move(result, memory), want)


def test_a_shape_register_leg_takes_its_index_in_any_dimension():
    # source 3-D by shape register: X 4 elements of 4 bytes, Y indexed, Z 2 planes
    src = leg(0x1000, (4, 3, 2), (4, 16, 0x400), 4, Dtype.FP32, True, limit(20))
    dst = leg(0x8000, (24,), (4,), 4, Dtype.FP32, False)
    result, events = go(indirect(src, dst, Indices(src=(9, 77, 2), error_policy=False, src_dim=1)))
    memory = np.random.default_rng(6).integers(0, 256, 0x10000, dtype=np.uint8)
    want = memory.copy()
    place = 0x8000
    for z in range(2):
        for index in (9, 77, 2):
            if index <= 20:
                at = 0x1000 + 16 * index + 0x400 * z
                want[place : place + 16] = memory[at : at + 16]
            place += 16
    assert np.array_equal(move(result, memory), want)
    rows = [op.addr for op in result.program.ops if isinstance(op, Generate) and op.dir == "RD"]
    assert rows == [0x1000 + 16 * 9, 0x1000 + 16 * 2]
    assert result.program.ops[4] == DimPush(0, (4, 24), (4, 4)) and result.program.ops[5].num == (2, 1)
    assert [event.args for event in events.named("loop")] == [(0, 0, 0, 0, 0), (0, 2, 0, 0, 0)]


def test_gather_with_a_cast():
    src = leg(0x1000, (3,), (16,), 8, Dtype.FP32, True, limit(9))
    dst = leg(0x8000, (3,), (4,), 4, Dtype.BFLOAT16, False)
    result, _ = go(indirect(src, dst, Indices(src=(4, 0, 2))))
    memory = np.zeros(0x10000, np.uint8)
    memory[0x1000 : 0x1000 + 160].view("<f4")[:] = np.arange(40) + 0.5
    move(result, memory)
    got = (memory[0x8000 : 0x8000 + 12].view("<u2").astype(np.uint32) << 16).view(np.float32)
    assert got.tolist() == [16.5, 17.5, 0.5, 1.5, 8.5, 9.5]
    assert result.work[0].kind is PacketKind.CAST and result.work[0].accum_dtype == Dtype.FP32


def test_a_cast_of_part_elements_is_refused():
    src = leg(0x1000, (2,), (6,), 6, Dtype.FP32, True)
    dst = leg(0x8000, (2,), (4,), 4, Dtype.BFLOAT16, False)
    with pytest.raises(LoweringError, match="6 bytes holds no whole float32") as caught:
        go(indirect(src, dst, Indices(src=(0, 1))))
    assert caught.value.rule == "dec.D30"


def test_unequal_legs_are_refused():
    src = leg(0x1000, (2,), (8,), 8, Dtype.FP32, True)
    dst = leg(0x8000, (3,), (8,), 8, Dtype.FP32, False)
    with pytest.raises(LoweringError, match="the source has 16 bytes, the destination 24") as caught:
        go(indirect(src, dst, Indices(src=(0, 1))))
    assert caught.value.rule == "pipeline.6.1"


def test_addresses_never_wrap():
    far = leg(1 << 40, (2,), (0x7FFFFFFF,), 8, Dtype.FP32, True)
    dst = leg(0x8000, (2,), (8,), 8, Dtype.FP32, False)
    with pytest.raises(LoweringError, match="leave the address space") as caught:
        go(indirect(far, dst, Indices(src=(0xFFFFFFFF, 0))))
    assert caught.value.rule == "patterns.address"
    with pytest.raises(LoweringError, match="leave the address space"):
        go(indirect(leg(16, (2,), (-8,), 8, Dtype.FP32, True), dst, Indices(src=(9, 0))))


def test_more_pieces_than_the_tool_expands():
    src = leg(0, (0xFFFF, 0xFFFF), (1, 1), 1, Dtype.UINT8, True)
    dst = leg(0, (0xFFFF, 0xFFFF), (1, 1), 1, Dtype.UINT8, False)
    with pytest.raises(Unsupported, match="pieces of an indirect word"):
        go(indirect(src, dst, Indices(src=(0,) * 0xFFFF)))


def test_a_plain_word_goes_the_same_way_in_four_dimensions():
    src = leg(0x1000, (8, 4), (4, 64), 4, Dtype.FP32, True)
    dst = leg(0x8000, (8, 4), (4, 32), 4, Dtype.FP32, False)
    result, events = go(ShapePair(Kind.DIRECT2D, src, dst, 3, 2, 0, 0, opcode=0xB8))
    memory = np.random.default_rng(8).integers(0, 256, 0x10000, dtype=np.uint8)
    want = memory[0x1000 : 0x1000 + 256].reshape(4, 64)[:, :32].ravel().copy()
    move(result, memory)
    assert np.array_equal(memory[0x8000 : 0x8000 + 128], want)
    assert [type(op) for op in result.program.ops] == [Generate, Generate, *[DimPush] * 4]
    lines = render_log(events, CAYMAN, Choices())
    assert lines[0].startswith(
        "S: DGE software backend: $S[3]+=2@dmacomplete src=[0x0]@0x1000[0x4,0x40,0x0,0x0][8,4,1,1]"
    )
    assert "P0: DGE DIRECT2D" in lines and "P0: Descriptor generation loop index: [0, 0, 0, 0, 0]" in lines
    assert not any("ndirection" in line and "skipping" not in line and "do_ind" not in line for line in lines[1:])


def test_the_dump_may_follow_the_pushes():
    events = go(table_gather([1]), dump_position="after_push")[1]
    stages = [event.stage for event in events if event.stage in ("dump", "push")]
    assert stages[-1] == "dump" and stages.count("dump") == 1

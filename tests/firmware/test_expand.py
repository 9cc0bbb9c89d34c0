"""The work of a word, run on a flat memory by a plain executor, against numpy on the same pattern."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgekit.cce.enums import CceType
from dgekit.core.choices import Choices
from dgekit.core.dtypes import Dtype
from dgekit.core.errors import ComputeError, Unspecified, Unsupported
from dgekit.core.events import EventLog
from dgekit.core.generations import CAYMAN
from dgekit.core.state import Availability, StateView
from dgekit.descriptors.batch import PacketKind
from dgekit.firmware.expand import compute_packet, paired_runs
from dgekit.firmware.pipeline import run_word
from dgekit.patterns.walk import Walk
from dgekit.words.structs import Addr8Immediate, DmaDirect2D

ROW = 0x4_0000


class Sparse:
    """Bytes by address; what nobody wrote is a function of the address."""

    def __init__(self):
        self.bytes = {}

    def get(self, address):
        return self.bytes.get(address, (address * 7 + (address >> 9)) & 0xFF)

    def read(self, start, length):
        return [self.get(start + i) for i in range(length)]

    def write(self, start, data):
        self.bytes.update({start + i: value for i, value in enumerate(data)})


def pieces(memory, runs):
    return [memory.read(s, n) for s, n in zip(runs.starts.tolist(), runs.lengths.tolist(), strict=True)]


def scatter(memory, runs, data):
    for start, length in zip(runs.starts.tolist(), runs.lengths.tolist(), strict=True):
        memory.write(start, data[:length])
        data = data[length:]
    assert not data


def execute(work, memory):
    """Copies and transposes, straight from the definition of ChannelWork."""
    for part in work:
        rows = pieces(memory, part.src)
        if part.kind is PacketKind.COPY:
            scatter(memory, part.dst, [b for row in rows for b in row])
            continue
        assert part.kind is PacketKind.TRANSPOSE
        size = len(rows[0]) // part.tile_cols
        columns = []
        for tile in range(0, len(rows), part.tile_rows):
            block = rows[tile : tile + part.tile_rows]
            for c in range(part.tile_cols):
                columns += [b for row in block for b in row[c * size : (c + 1) * size]]
        scatter(memory, part.dst, columns)


def test_shares_together_move_what_the_word_says(words, send):
    outcome = send(words.load()).outcome
    assert [part.dma for part in outcome.work] == list(range(16))
    for k, part in enumerate(outcome.work):
        assert (part.src.starts.tolist(), part.src.lengths.tolist()) == ([words.HBM + 2048 * k], [2048])
        assert part.dst.starts.tolist() == [words.SBUF + row * ROW for row in range(8 * k, 8 * k + 8)]
        assert set(part.dst.lengths.tolist()) == {256}


steps = st.integers(-96, 96)
counts = st.integers(1, 6)


@given(st.tuples(counts, counts), st.tuples(steps, steps), st.tuples(steps, steps), st.sampled_from([1, 4, 12]))
@settings(max_examples=60, deadline=None)
def test_any_copy_equals_the_walk(num, src_step, dst_step, elem):
    """Reads come first, then writes in order: what the plain walk does with a snapshot of the source."""
    src, dst = 0x1000_2000, 0x1100_2000
    word = DmaDirect2D(
        src_start_addr=Addr8Immediate(address=src), dst_start_addr=Addr8Immediate(address=dst),
        src_step_elem=src_step, dst_step_elem=dst_step, src_num_elem=num, dst_num_elem=num, src_elem_size=elem,
        dst_elem_size=elem, in_dtype=Dtype.UINT8, out_dtype=Dtype.UINT8,
    )  # fmt: skip
    outcome = run_word(word, StateView(), Availability(), CAYMAN, Choices(), EventLog())
    got, want = Sparse(), Sparse()
    execute(outcome.work, got)
    for y in range(num[1]):
        for x in range(num[0]):
            data = want.read(src + x * src_step[0] + y * src_step[1], elem)
            want.write(dst + x * dst_step[0] + y * dst_step[1], data)
    assert got.bytes == want.bytes


@pytest.mark.parametrize(("dtype", "cols"), [(Dtype.BFLOAT16, 128), (Dtype.FP32, 64), (Dtype.FP16, 5)])
@pytest.mark.parametrize("gen", ["CAYMAN", "MARIANA_PLUS"])
@pytest.mark.parametrize("space", ["HBM", "SBUF"])
def test_tiles_land_transposed(words, send, dtype, cols, gen, space):
    """D10: element (r, c) of tile (x, y) lands in partition c, at byte x*dst_step[0] + y*dst_step[1] + r*size."""
    size = 4 if dtype is Dtype.FP32 else 2
    pitch = cols * size * 2
    src = {"HBM": words.HBM, "SBUF": words.SBUF + 0x8000}[space]
    word = words.transpose(
        src_start_addr=src, src_step_elem=(16 * pitch, cols * size), src_num_elem=(3, 2), dst_num_elem=(3, 2),
        dst_step_elem=(64, 256), tile_src_row_step=pitch, tile_src_cols=cols, in_dtype=dtype, out_dtype=dtype,
    )  # fmt: skip
    outcome = send(word, gen=gen, sem_increment=1).outcome
    assert outcome.status == "done"
    memory = Sparse()
    execute(outcome.work, memory)
    want = Sparse()
    for x, y, r, c in np.ndindex(3, 2, 16, cols):
        data = want.read(src + x * 16 * pitch + y * cols * size + r * pitch + c * size, size)
        want.write(words.SBUF + c * ROW + x * 64 + y * 256 + r * size, data)
    assert memory.bytes == want.bytes


def element_form(words, rows, cols, dtype=Dtype.BFLOAT16, **fields):
    return words.transpose(
        **{
            "src_start_addr": words.SBUF, "dst_start_addr": words.SBUF + 0x1_0000, "src_step_elem": (1, cols),
            "src_num_elem": (cols, rows), "dst_num_elem": (rows, cols), "dst_step_elem": (1, rows),
            "tile_src_row_step": cols, "in_dtype": dtype, "out_dtype": dtype, **fields,
        }
    )  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "cols", "fields", "kinds"),
    [
        (64, 128, {}, [PacketKind.TRANSPOSE]),
        (32, 200, {}, [PacketKind.TRANSPOSE, PacketKind.TRANSPOSE]),  # 128 columns and a rest of 72
        (16, 256, {}, [PacketKind.TRANSPOSE]),
        (10, 12, {}, [PacketKind.COPY]),  # no whole tile of 16 rows
        (16, 12, {"src_step_elem": (3, 40)}, [PacketKind.COPY]),  # rows are not contiguous
        (16, 12, {"dst_step_elem": (2, 40)}, [PacketKind.COPY]),
    ],
)
def test_the_element_form_transposes(words, send, rows, cols, fields, kinds):
    """D11: dst[c][r] == src[r][c]."""
    word = element_form(words, rows, cols, **fields)
    outcome = send(word, step_unit="elements", xpose_walk="elements", sem_increment=1).outcome
    assert [part.kind for part in outcome.work] == kinds
    memory, want = Sparse(), Sparse()
    execute(outcome.work, memory)
    for r, c in np.ndindex(rows, cols):
        sx, sy = word.src_step_elem
        dr, dc = word.dst_step_elem
        data = want.read(words.SBUF + 2 * (c * sx + r * sy), 2)
        want.write(words.SBUF + 0x1_0000 + 2 * (r * dr + c * dc), data)
    assert memory.bytes == want.bytes


def test_the_element_form_needs_mirrored_counts(words, send):
    with pytest.raises(Unspecified) as caught:
        send(element_form(words, 16, 12, dst_num_elem=(12, 16)), step_unit="elements", xpose_walk="elements")
    assert caught.value.rule == "dec.D11"


def test_a_cast_counts_elements(words, send):
    word = words.direct(elem=64, dst_elem_size=32, out_dtype=Dtype.BFLOAT16)
    (part,) = send(word).outcome.work
    assert (part.kind, part.in_dtype, part.accum_dtype, part.out_dtype) == (
        PacketKind.CAST, Dtype.FP32, Dtype.FP32, Dtype.BFLOAT16
    )  # fmt: skip
    assert (part.src.nbytes, part.dst.nbytes) == (256, 128)


def test_an_accumulating_copy_pairs_its_runs(words, send):
    word = words.direct(compute_op=1, src_num_elem=(2, 4), src_step_elem=(8, 100), dst_num_elem=(4, 1), src_elem_size=8)
    (part,) = send(word).outcome.work
    assert part.kind is PacketKind.COMPUTE and part.packet.op is CceType.ADD
    (old, new), (dst,) = part.sources, part.dests  # cce CHOICE-01
    assert old is dst and new.lengths.tolist() == dst.lengths.tolist()
    assert new.starts.tolist() == [words.HBM + 100 * y for y in range(4)]
    assert dst.starts.tolist() == [words.HBM + 0x10_0000 + 32 * y for y in range(4)]
    assert (part.packet.in_dtype, part.packet.out_dtype) == (Dtype.FP32, Dtype.FP32)


@pytest.mark.parametrize(("dtype", "accum"), [(Dtype.BFLOAT16, Dtype.FP32), (Dtype.INT16, Dtype.INT32)])
def test_sums_have_the_accumulator_of_their_class(words, send, dtype, accum):
    (part,) = send(words.direct(compute_op=1, dtype=dtype)).outcome.work
    assert (part.packet.in_dtype, part.packet.accum_dtype, part.packet.out_dtype) == (dtype, accum, dtype)


@pytest.mark.parametrize(
    ("compute_op", "op", "accum"),
    [(2, CceType.FMA, Dtype.FP32), (3, CceType.MAX, Dtype.INT32), (4, CceType.MIN, Dtype.INT32)],
)
def test_other_ops_have_their_packets(words, send, compute_op, op, accum):
    (part,) = send(words.direct(compute_op=compute_op, dtype=Dtype.INT16)).outcome.work
    packet = part.packet
    assert (packet.op, packet.accum_dtype, packet.constant) == (op, accum, None)
    # cce CHOICE-02: B with scale 1.0, then a = input, b = stored, c = scale 0.0
    product = ((1.0, 0.0), ((1, 2, 0), (1, 0, 2)))
    assert (packet.scales, packet.selectors) == (product if op is CceType.FMA else ((), ()))


@pytest.mark.parametrize(
    "fields",
    [{"dst_step_elem": (130, 1)}, {"src_elem_size": 6, "dst_elem_size": 6}],
)
def test_a_computing_word_is_aligned_to_its_elements(words, send, fields):
    with pytest.raises(ComputeError) as caught:
        send(words.direct(compute_op=1, dtype=Dtype.FP32, **fields))
    assert caught.value.rule == "cce.CHOICE-46" and caught.value.where in ("src", "dst")


def test_addresses_from_registers_are_aligned_too(words, send):
    pair = send(words.direct(compute_op=1)).outcome.pair
    with pytest.raises(ComputeError, match=r"src start 0x10000002 .* 4 bytes"):
        compute_packet(replace(pair, src=replace(pair.src, start=words.HBM + 2)))


def test_computing_with_a_cast_is_not_run(words, send):
    with pytest.raises(Unsupported) as caught:
        send(words.direct(compute_op=1, dtype=Dtype.BFLOAT16, out_dtype=Dtype.FP16))
    assert caught.value.rule == "pipeline.compute"


def test_pieces_of_legs_that_do_not_nest():
    src, dst = paired_runs(Walk(0, ((8, 4), (100, 3)), 6), Walk(1000, ((10, 6), (100, 2)), 6))
    assert src.lengths.tolist() == dst.lengths.tolist() == [6] * 12
    assert src.starts.tolist()[:5] == [0, 8, 16, 24, 100]


def test_the_queue_is_the_lowest_that_register_40_allows(words, send):
    outcome = send(words.direct(), state=StateView(dma_config=0x0008_0004)).outcome
    assert [(part.dma, part.queue) for part in outcome.work] == [(2, 3)]


def test_an_empty_word_moves_nothing(words, send):
    outcome = send(words.direct(src_num_elem=(0, 1), dst_num_elem=(0, 1))).outcome
    assert (outcome.status, outcome.work) == ("done", ())

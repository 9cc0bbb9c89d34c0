"""Gather, scatter and gather-transpose words against the rows that the index values name."""

import itertools
import struct
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgekit.core.choices import Choices
from dgekit.core.dtypes import dtype_named
from dgekit.core.errors import LoweringError, Unsupported
from dgekit.core.generations import CAYMAN, MAVERICK, SUNDA
from dgekit.transfers import gather, gather_transpose, shapes
from dgekit.transfers.build import build_words
from dgekit.transfers.placement import place
from dgekit.transfers.transfer import Access, Bound, Tensor, Transfer

FP32, BF16, U8, U32, I32 = (dtype_named(n) for n in ("float32", "bfloat16", "uint8", "uint32", "int32"))
BASE = 0x2000000000


def build(op, tensors, src, dst, indices="idx", choices=None, generation=CAYMAN, used=(), **more):
    placement = place(tensors, generation)
    access = Access(indices) if isinstance(indices, str) else indices
    transfer = Transfer("t", op, src, dst, indices=access, **more)
    return build_words(transfer, placement, generation, Choices(choices), used_registers=used), placement


def side(word, at, table):
    offset, var = struct.unpack_from("<IH", word, at)
    steps, counts = struct.unpack_from("<2i", word, at + 8), struct.unpack_from("<2H", word, at + 16)
    return table[var] + offset, steps, counts, struct.unpack_from("<H", word, at + 20)[0] or 65536


def rows_moved(built, placement, values, scatter, sizes):
    """(destination element, source element) pairs of INDIRECT1D words for the given index values."""
    table = placement.relocations()
    for built_word in built.words:
        word = built_word.encode()
        sides = [side(word, 16, table), side(word, 40, table)]
        (indexed, direct) = (1, 0) if scatter else (0, 1)
        (index_at,) = struct.unpack_from("<I", word, 64 + (8 if scatter else 4))
        count = sides[indexed][2][0]
        assert sides[direct][2][0] == count <= 4096
        first = (index_at - (placement["idx"].address - BASE)) // 4
        for lane in range(count):
            start = {indexed: sides[indexed][0] + values[first + lane] * sides[indexed][1][0]}
            start[direct] = sides[direct][0] + lane * sides[direct][1][0]
            legs = (range(0, sides[n][3], sizes[n]) for n in (0, 1))
            for s, d in zip(*legs, strict=True):
                yield start[1] + d, start[0] + s


def test_a_gather_of_rows():
    tensors = [
        Tensor("table", "hbm", (300, 64), FP32),
        Tensor("idx", "sbuf", (1, 128), U32),
        Tensor("out", "sbuf", (128, 64), FP32),
    ]
    built, placement = build("gather", tensors, Access("table"), Access("out"), semaphore=12, oob="skip", priority=1)
    (word,) = (w.encode() for w in built.words)
    table = placement.relocations()
    assert side(word, 16, table) == (0x10000000, (256, 1), (128, 1), 256)
    assert side(word, 40, table) == (placement["out"].address, (262144, 1), (128, 1), 256)
    assert word[12:16] == bytes([1, 12, 1, 1])
    assert (word[38], word[39]) == (0x80, 0)
    # flags: SRC mode, no error; 128 channels; no compute; index vector at byte 0 of partition 0
    assert word[64:76] == bytes([0xDA, 0x00, 128, 0]) + bytes(8)
    assert built.registers == {0: 299}
    assert built.stagings == ()


def test_a_scatter_add_as_worked_in_the_specification():
    """isa-words 6.4: mode DST, non-unique, ADD, error policy: flags 0x0d; 256 bins of int32, four indices."""
    tensors = [
        Tensor("ones", "hbm", (1, 4), I32),
        Tensor("bins", "sbuf", (1, 256), I32),
        Tensor("idx", "sbuf", (1, 4), U32, offset=0x400),
    ]
    built, _ = build(
        "scatter",
        tensors,
        Access("ones", 0, ((1, 4),)),
        Access("bins", 0, ((1, 256),)),
        choices={"step_unit": "elements"},
        accumulate="add",
        non_unique=True,
        semaphore=12,
        dst_bound=Bound(5, 256, notify=False),
    )
    word = built.words[0].encode()
    assert word[15] == 1 and struct.unpack_from("<2i2HH", word, 24) == (1, 1, 4, 1, 4)
    assert struct.unpack_from("<2i2HH", word, 48) == (1, 1, 4, 1, 4)
    assert (word[38], word[39], word[65], word[66], word[67]) == (0, 0xC5, 0x0D, 128, 1)
    assert struct.unpack_from("<2I", word, 68) == (0, 0x400)
    assert built.registers == {5: 256}


def test_the_bound_takes_the_lowest_register_the_program_leaves():
    tensors = [Tensor("table", "hbm", (9, 4), U8), Tensor("idx", "sbuf", (1, 4), U32), Tensor("out", "hbm", (4, 4), U8)]
    sides = Access("table"), Access("out")
    assert build("gather", tensors, *sides, used={0, 1, 3})[0].registers == {2: 8}
    with pytest.raises(LoweringError, match="sets all 62 general registers"):
        build("gather", tensors, *sides, used=range(62))
    kept, _ = build("gather", tensors, *sides, src_bound=Bound(9))
    assert (kept.registers, kept.words[0].encode()[38]) == ({}, 0x89)


def test_more_than_4096_indices_are_further_words():
    count = 2 * 4096 + 10
    tensors = [
        Tensor("table", "hbm", (50, 8), U8),
        Tensor("idx", "sbuf", (1, count), U32),
        Tensor("out", "hbm", (count, 8), U8),
    ]
    built, placement = build("gather", tensors, Access("table"), Access("out"), semaphore=1)
    table, out = placement.relocations(), placement["out"].address
    words = [w.encode() for w in built.words]
    assert [side(w, 40, table)[::2] for w in words] == [
        (out, (4096, 1)),
        (out + 32768, (4096, 1)),
        (out + 65536, (10, 1)),
    ]
    assert [struct.unpack_from("<I", w, 68)[0] for w in words] == [0, 16384, 32768]
    assert [w.sem_increment for w in built.words] == [0, 0, 1]


def test_rows_over_64_kib_are_several_words():
    tensors = [
        Tensor("table", "hbm", (3, 100000), U8),
        Tensor("idx", "sbuf", (1, 2), U32),
        Tensor("out", "hbm", (2, 100000), U8),
    ]
    built, placement = build("gather", tensors, Access("table"), Access("out"))
    table = placement.relocations()
    assert [side(w.encode(), 16, table) for w in built.words] == [
        (0x10000000, (100000, 1), (2, 1), 65536),
        (0x10010000, (100000, 1), (2, 1), 34464),
    ]


def test_indices_one_a_partition_are_restaged():
    tensors = [
        Tensor("table", "hbm", (9, 4), U8),
        Tensor("idx", "sbuf", (64, 1), U32),
        Tensor("out", "sbuf", (64, 4), U8),
    ]
    built, placement = build("gather", tensors, Access("table"), Access("out"))
    (staging,) = built.stagings
    assert list(staging.source.addresses()) == [placement["idx"].address + 0x40000 * i for i in range(64)]
    assert staging.address == BASE + 128
    assert struct.unpack_from("<I", built.words[0].encode(), 68) == (128,)
    assert [(i.rule, i.severity) for i in built.issues] == [("dec.D26", "advice")]


def test_int32_indices_are_noted():
    tensors = [Tensor("table", "hbm", (9, 4), U8), Tensor("idx", "sbuf", (1, 4), I32), Tensor("out", "hbm", (4, 4), U8)]
    built, _ = build("gather", tensors, Access("table"), Access("out"))
    assert [i.rule for i in built.issues] == ["isa.4.3.indices"]


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_words_move_the_rows_the_indices_name(data):
    scatter = data.draw(st.booleans())
    lanes, inner = data.draw(st.integers(1, 9)), data.draw(st.integers(1, 3))
    width, rows = data.draw(st.integers(1, 6)), data.draw(st.integers(2, 7))
    table_type, data_type = data.draw(st.sampled_from([(U8, U8), (FP32, BF16)]))
    pads = [data.draw(st.integers(0, 2)) for _ in range(2)]
    spaces = [data.draw(st.sampled_from(["hbm", "sbuf"])) for _ in range(2)]
    tensors = [
        Tensor("table", spaces[0], (rows, inner * (width + pads[0])), table_type),
        Tensor("data", spaces[1], (lanes, inner * (width + pads[1])), data_type),
        Tensor("idx", "sbuf", (1, lanes), U32),
    ]
    accesses = [
        Access(t.name, 0, ((t.row_elements, n), (width + pad, inner), (1, width)))
        for t, n, pad in zip(tensors, (rows, lanes), pads, strict=False)
    ]
    src, dst = accesses[::-1] if scatter else accesses
    most, run = data.draw(st.sampled_from([2, 4096])), data.draw(st.sampled_from([8, 65536]))
    with mock.patch.multiple(gather, MAX_INDICES_PER_LEG=most, MAX_ELEM=run):
        built, placement = build("scatter" if scatter else "gather", tensors, src, dst)
    values = data.draw(st.lists(st.integers(0, rows - 1), min_size=lanes, max_size=lanes, unique=lanes <= rows))
    sizes = (data_type.size, table_type.size) if scatter else (table_type.size, data_type.size)
    found = list(rows_moved(built, placement, values, scatter, sizes))
    wanted = []
    for lane, i, k in itertools.product(range(lanes), range(inner), range(width)):
        at = []
        for name, row, pad in (("table", values[lane], pads[0]), ("data", lane, pads[1])):
            placed = placement[name]
            pitch = CAYMAN.partition_stride if placed.in_sbuf else placed.tensor.row_elements * placed.tensor.dtype.size
            at.append(placed.address + row * pitch + (i * (width + pad) + k) * placed.tensor.dtype.size)
        wanted.append((at[0], at[1]) if scatter else (at[1], at[0]))
    assert sorted(found) == sorted(wanted)


def test_a_flat_direct_leg_is_cut_into_rows():
    tensors = [
        Tensor("table", "hbm", (9, 4), U8),
        Tensor("idx", "sbuf", (1, 6), U32),
        Tensor("out", "hbm", (24,), U8),
    ]
    built, placement = build("gather", tensors, Access("table"), Access("out"))
    (word,) = (w.encode() for w in built.words)
    assert side(word, 40, placement.relocations()) == (placement["out"].address, (4, 1), (6, 1), 4)


def test_rows_beyond_a_32_bit_index_are_refused():
    rows = (1 << 32) + 1
    tensors = [
        Tensor("table", "hbm", (rows, 1), U8),
        Tensor("idx", "sbuf", (1, 2), U32),
        Tensor("out", "hbm", (2,), U8),
    ]
    with pytest.raises(LoweringError, match=f"{rows} rows are more than a 32-bit index reaches"):
        build("gather", tensors, Access("table"), Access("out"))


# gather-transpose


def test_gather_transpose_as_worked_in_the_specification():
    """isa-words 6.5: BF16, counts [128, 64], elem_size 256, gather_dim Y, 64 indices."""
    tensors = [
        Tensor("table", "hbm", (500, 128), BF16),
        Tensor("idx", "sbuf", (1, 64), U32, offset=0x100),
        Tensor("out", "sbuf", (128, 64), BF16),
    ]
    built, _ = build(
        "gather_transpose",
        tensors,
        Access("table"),
        Access("out"),
        choices={"step_unit": "elements"},
        semaphore=12,
        src_bound=Bound(1, 499),
        dst_bound=Bound(2),
    )
    (word,) = (w.encode() for w in built.words)
    assert word[15] == 3 and struct.unpack_from("<2i2HH", word, 24) == (1, 128, 128, 64, 256)
    assert struct.unpack_from("<2i2HH", word, 48) == (1, 131072, 64, 128, 256)
    assert (word[38], word[39], word[62], word[63]) == (0x81, 0x82, 6, 6)
    assert (word[65], word[66]) == (0x10, 128)
    assert struct.unpack_from("<I", word, 68) == (0x100,)


def test_skip_silences_the_bound_of_a_gather_transpose():
    tensors = [
        Tensor("table", "hbm", (5, 4), BF16),
        Tensor("idx", "sbuf", (1, 16), U32),
        Tensor("out", "sbuf", (4, 16), BF16, offset=64),
    ]
    for oob, byte in (("error", 0x80), ("skip", 0xC0)):
        built, _ = build("gather_transpose", tensors, Access("table"), Access("out"), oob=oob)
        assert built.words[0].encode()[38] == byte


@settings(max_examples=25, deadline=None)
@given(
    st.integers(1, 5).map(lambda n: 16 * n), st.integers(1, 11), st.integers(2, 9), st.sampled_from([8, 256]), st.data()
)
def test_gather_transpose_words_move_columns(lanes, cols, rows, widest, data):
    tensors = [
        Tensor("table", "hbm", (rows, cols + 1), BF16),
        Tensor("idx", "sbuf", (1, lanes), U32),
        Tensor("out", "sbuf", (cols, lanes), BF16),
    ]
    src, dst = Access("table", 0, ((cols + 1, rows), (1, cols))), Access("out")
    with mock.patch.multiple(gather_transpose, MAX_INDICES_PER_LEG=32, GATHER_ELEM_SIZE=range(2, widest + 1)):
        built, placement = build("gather_transpose", tensors, src, dst)
    values = data.draw(st.lists(st.integers(0, rows - 1), min_size=lanes, max_size=lanes))
    table, found = placement.relocations(), {}
    for built_word in built.words:
        word = built_word.encode()
        at, steps, (width, count), elem = side(word, 16, table)
        to, dst_steps, dst_counts, _ = side(word, 40, table)
        assert dst_counts == (count, width) and elem == 2 * width <= widest and count % 16 == 0
        first = (struct.unpack_from("<I", word, 68)[0] - (placement["idx"].address - BASE)) // 4
        for i, c in itertools.product(range(count), range(width)):
            found[to + 2 * i + c * dst_steps[1]] = at + values[first + i] * steps[1] + 2 * c
    out = placement["out"].address
    assert found == {
        out + 0x40000 * c + 2 * i: 0x10000000 + values[i] * 2 * (cols + 1) + 2 * c
        for i, c in itertools.product(range(lanes), range(cols))
    }


# refusals


def gather_tensors(n=4, row=4, out=None, **idx):
    kind = {"space": "sbuf", "shape": (1, n), "dtype": U32, **idx}
    return [
        Tensor("table", "hbm", (9, row), U8),
        Tensor("idx", **kind),
        Tensor("out", "hbm", out or (n, row), U8),
    ]


WHOLE = {"src": Access("table"), "dst": Access("out")}
REFUSED = [
    ("gather", gather_tensors(), {"indices": None}, "transfers.indices", "a gather needs indices"),
    ("gather", gather_tensors(dtype=BF16), {}, "transfers.indices", "32-bit integers, not bfloat16"),
    ("gather", gather_tensors(space="hbm"), {}, "dec.D26", "lie in HBM"),
    (
        "gather",
        gather_tensors(out=(5, 4)),
        {},
        "transfers.shape",
        "4 indices times rows of 4 elements are 16, .* has 20",
    ),
    ("gather", gather_tensors(), {"dst_bound": Bound(3)}, "isa.3.2", "dst_bound has no place"),
    ("gather", gather_tensors(), {"src": Access("table", 0, ())}, "transfers.shape", "the src is one element"),
    ("gather", gather_tensors(), {"src_bound": Bound(64)}, "isa.C8", "bound register 64 is outside 0..63"),
    ("gather", gather_tensors(), {"src_bound": Bound(4, 1 << 32)}, "isa.1.6", "does not fit the 32 bits"),
    (
        "gather",
        gather_tensors(6, 4, (4, 100)),
        {"dst": Access("out", 0, ((100, 4), (1, 6))), "src": Access("table")},
        "dec.D2",
        "no boundary after a row of 4",
    ),
    (
        "gather",
        [*gather_tensors(2)[:2], Tensor("table2", "hbm", (9, 100), U8), Tensor("out", "hbm", (600,), U8)],
        {"src": Access("table2", 0, ((100, 9), (40, 2), (2, 6))), "dst": Access("out", 0, ((300, 2), (90, 3), (3, 4)))},
        "dec.D2",
        "do not nest",
    ),
]


@pytest.mark.parametrize(("op", "tensors", "more", "rule", "message"), REFUSED, ids=lambda v: str(v)[:24])
def test_refusals(op, tensors, more, rule, message):
    sides = {**WHOLE, **more}
    with pytest.raises(LoweringError, match=message) as caught:
        build(op, tensors, **sides)
    assert caught.value.rule == rule and caught.value.where


def test_indices_of_another_core_are_refused():
    tensors = [
        Tensor("table", "hbm", (9, 4), U8),
        Tensor("idx", "sbuf", (1, 4), U32, core=1),
        Tensor("out", "sbuf", (4, 4), U8),
    ]
    with pytest.raises(LoweringError, match="lie in core 1"):
        build("gather", tensors, Access("table"), Access("out"))


def test_a_scatter_with_a_source_bound_is_refused():
    tensors = [Tensor("x", "hbm", (4, 4), U8), Tensor("idx", "sbuf", (1, 4), U32), Tensor("y", "hbm", (9, 4), U8)]
    with pytest.raises(LoweringError, match="src_bound has no place"):
        build("scatter", tensors, Access("x"), Access("y"), src_bound=Bound(1))


def test_index_offsets_must_fit_18_bits():
    tensors = gather_tensors(offset=0x50000)
    with pytest.raises(LoweringError, match="18 bits of offset") as caught:
        build("gather", tensors, **WHOLE, generation=MAVERICK)
    assert caught.value.rule == "isa.1.5"


def test_rows_in_too_many_pieces_are_unsupported():
    tensors = [
        Tensor("table", "hbm", (9, 40000), U8),
        Tensor("idx", "sbuf", (1, 2), U32),
        Tensor("out", "hbm", (2, 20000), U8),
    ]
    with pytest.raises(Unsupported, match=f"20000 words, more than the {shapes.MAX_WORDS}"):
        build("gather", tensors, Access("table", 0, ((40000, 9), (2, 20000))), Access("out"))


def transpose_tensors(n=16, cols=4, dtype=BF16, out=None, **pins):
    return [
        Tensor("table", "hbm", (9, cols), dtype),
        Tensor("idx", "sbuf", (1, n), U32, offset=0),
        Tensor("out", "sbuf", out or (cols, n), dtype, **pins),
    ]


XPOSE_REFUSED = [
    (transpose_tensors(n=8), {}, "isa.4.5.index_multiple", "a multiple of 16; it has 8"),
    (transpose_tensors(dtype=FP32), {}, "isa.C12", "2 bytes; it has 4"),
    (transpose_tensors(offset=66), {}, "isa.4.5.dst_align", "a multiple of 32"),
    (transpose_tensors(out=(5, 16)), {}, "transfers.shape", "give 4 x 16, but the destination is 5 x 16"),
    (transpose_tensors(), {"accumulate": "add"}, "isa.3.4", "no accumulate"),
    (
        transpose_tensors(out=(1, 80)),
        {"dst": Access("out", 0, ((20, 4), (1, 16)))},
        "isa.4.5.step32",
        "a multiple of 32 bytes; it has 40",
    ),
    (transpose_tensors(out=(4, 32)), {"dst": Access("out", 0, ((32, 4), (2, 16)))}, "isa.3.4", "2 bytes; it has 4"),
    (
        transpose_tensors(cols=8, out=(4, 16)),
        {"src": Access("table", 0, ((8, 9), (2, 4)))},
        "isa.4.5.elem_size",
        "2 bytes; it has 4",
    ),
    (transpose_tensors(), {"src": Access("table", 0, ((1, 36),))}, "transfers.shape", "not 1 and 2 dimensions"),
    (
        [*transpose_tensors()[:2], Tensor("out", "sbuf", (4, 16), dtype_named("float16"))],
        {},
        "isa.4.5.no_cast",
        "equal types",
    ),
    ([Tensor("table", "hbm", (9, 4), BF16, address=0x10000001), *transpose_tensors()[1:]], {}, "isa.4.5.src_align", "of 2"),
]  # fmt: skip


@pytest.mark.parametrize(("tensors", "more", "rule", "message"), XPOSE_REFUSED, ids=lambda v: str(v)[:24])
def test_gather_transpose_refusals(tensors, more, rule, message):
    with pytest.raises(LoweringError, match=message) as caught:
        build("gather_transpose", tensors, **{**WHOLE, **more})
    assert caught.value.rule == rule


def test_sunda_has_no_gather_transpose():
    with pytest.raises(LoweringError, match="SUNDA has no DMA_GATHER_TRANSPOSE"):
        build("gather_transpose", transpose_tensors(), **WHOLE, generation=SUNDA)

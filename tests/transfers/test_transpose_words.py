"""Transposes: the worked words and numbers, D10's and D11's formulas against dst[c][r] == src[r][c]."""

import itertools
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgekit.core.choices import Choices
from dgekit.core.dtypes import dtype_named
from dgekit.core.errors import LoweringError, Unsupported
from dgekit.core.generations import CAYMAN, MARIANA, MAVERICK, SUNDA
from dgekit.transfers.build import build_words
from dgekit.transfers.placement import place
from dgekit.transfers.transfer import Access, Bound, Tensor, Transfer

BF16, FP32, U8 = dtype_named("bfloat16"), dtype_named("float32"), dtype_named("uint8")
BY_ELEMENTS = {"xpose_walk": "elements"}

# isa-words 6.3, words D1 and D2
WORDS_D = bytes.fromhex(
    "d4 10 00 00 00 00 00 00 00 00 00 00 00 14 01 02 00 00 00 00 00 00 00 10 01 00 00 00 80 00 00 00"
    "80 00 40 00 02 00 00 00 00 00 00 00 02 00 00 10 01 00 00 00 40 00 00 00 40 00 80 00 02 00 06 06"
    "da 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 80 00 00 00 10 80 00 00 00 00 00 00"
) + bytes(32)


def build(tensors, src, dst, choices=None, generation=CAYMAN, **more):
    placement = place(tensors, generation)
    transfer = Transfer("t", "transpose", src, dst, **more)
    return build_words(transfer, placement, generation, Choices(choices)), placement


def fields(built_word, table):
    """(src, dst) as (start, steps, counts), then (row step, rows, columns), read from the bytes."""
    word = built_word.encode()
    sides = []
    for at in (16, 40):
        offset, var = struct.unpack_from("<IH", word, at)
        steps, counts = struct.unpack_from("<2i", word, at + 8), struct.unpack_from("<2H", word, at + 16)
        sides.append((table[var] + offset, steps, counts))
    return (*sides, struct.unpack_from("<iBB", word, 64 + 20))


def test_words_d1_and_d2():
    tensors = [Tensor("a", "sbuf", (1, 8192), BF16, var_id=0), Tensor("b", "sbuf", (1, 8192), BF16, var_id=2)]
    sides = Access("a", 0, ((128, 64), (1, 128))), Access("b", 0, ((64, 128), (1, 64)))
    choices = {"step_unit": "elements", "xpose_walk": "elements"}
    built, _ = build(tensors, *sides, choices, semaphore=20)
    assert [word.encode() for word in built.words] == [WORDS_D]
    assert built.words[0].sem_increment == 1


def test_64_by_128_bf16_is_four_tiles():
    tensors = [Tensor("x", "hbm", (64, 128), BF16), Tensor("y", "sbuf", (128, 64), BF16)]
    built, placement = build(tensors, Access("x"), Access("y"))
    src, dst, tile = fields(built.words[0], placement.relocations())
    assert src == (0x10000000, (4096, 1), (4, 1))
    assert dst == (0x2000000000, (32, 1), (4, 1))
    assert tile == (256, 16, 128)


def test_4_byte_columns_over_64_walk_along_y():
    tensors = [Tensor("x", "hbm", (32, 100), FP32), Tensor("y", "sbuf", (100, 32), FP32)]
    built, placement = build(tensors, Access("x"), Access("y"))
    table = placement.relocations()
    assert [fields(word, table) for word in built.words] == [
        ((0x10000000, (6400, 1), (2, 1)), (0x2000000000, (64, 1), (2, 1)), (400, 16, 64)),
        ((0x10000100, (6400, 1), (2, 1)), (0x2000000000 + 64 * 0x40000, (64, 1), (2, 1)), (400, 16, 36)),
    ]


def test_bounds_are_address_bounds():
    tensors = [Tensor("x", "hbm", (16, 8), BF16), Tensor("y", "sbuf", (8, 16), BF16)]
    built, _ = build(tensors, Access("x"), Access("y"), src_bound=Bound(3, 77), dst_bound=Bound(4, 78), priority=2)
    word = built.words[0].encode()
    assert (word[12], word[38], word[39]) == (2, 0x83, 0x84)
    assert built.registers == {3: 77, 4: 78}


def pairs_of_tiles(built_word, table, size, stride):
    """D10: (destination, source) of every element."""
    (src, src_step, (down, along)), (dst, dst_step, _), (row_step, rows, cols) = fields(built_word, table)
    for y, x, r, c in itertools.product(range(along), range(down), range(rows), range(cols)):
        source = src + x * src_step[0] + y * src_step[1] + r * row_step + c * size
        yield dst + x * dst_step[0] + y * dst_step[1] + c * stride + r * size, source


def pairs_of_elements(built_word, table):
    """D11: (destination, source) of every element."""
    (src, src_step, (nx, ny)), (dst, dst_step, (mx, my)), _ = fields(built_word, table)
    assert (mx, my) == (ny, nx)
    for y, x in itertools.product(range(ny), range(nx)):
        yield dst + y * dst_step[0] + x * dst_step[1], src + x * src_step[0] + y * src_step[1]


def wanted(placement, generation, rows, cols, src_pattern, dst_offset, size):
    (row_step, _), (col_step, _) = src_pattern
    src, dst = placement["x"], placement["y"]
    found = {}
    for r, c in itertools.product(range(rows), range(cols)):
        e = r * row_step + c * col_step
        p, col = divmod(e, src.tensor.row_elements) if src.in_sbuf else (0, e)
        source = src.address + p * generation.partition_stride + col * size
        found[dst.address + c * generation.partition_stride + (dst_offset + r) * size] = source
    return found


@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 4).map(lambda n: 16 * n),
    st.integers(1, 128),
    st.integers(0, 3),
    st.sampled_from(["hbm", "sbuf"]),
    st.sampled_from([BF16, FP32]),
    st.sampled_from([CAYMAN, MARIANA, MAVERICK]),
    st.sampled_from(["bytes", "elements"]),
)
def test_tiles_transpose(rows, cols, pad, space, dtype, generation, unit):
    tensors = [
        Tensor("x", space, (rows, cols + pad), dtype),
        Tensor("y", "sbuf", (cols, rows + 32), dtype),
    ]
    src_pattern = ((cols + pad, rows), (1, cols))
    dst_offset = 32 // dtype.size
    sides = Access("x", 0, src_pattern), Access("y", dst_offset, ((rows + 32, cols), (1, rows)))
    built, placement = build(tensors, *sides, {"step_unit": unit}, generation)
    if unit == "elements":
        by_bytes, _ = build(tensors, *sides, {}, generation)
        table = placement.relocations()
        for one, other in zip(built.words, by_bytes.words, strict=True):
            for (_, steps, counts), (_, in_bytes, _) in zip(
                fields(one, table)[:2], fields(other, table)[:2], strict=True
            ):
                assert all(
                    count == 1 or step * dtype.size == byte_step
                    for step, byte_step, count in zip(steps, in_bytes, counts, strict=True)
                )
        return
    table, stride = placement.relocations(), generation.partition_stride
    found = [pair for word in built.words for pair in pairs_of_tiles(word, table, dtype.size, stride)]
    assert len(found) == rows * cols
    assert dict(found) == wanted(placement, generation, rows, cols, src_pattern, dst_offset, dtype.size)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 20), st.integers(1, 20), st.sampled_from([BF16, FP32]))
def test_elements_transpose(rows, cols, dtype):
    tensors = [Tensor("x", "hbm", (rows, cols), dtype), Tensor("y", "sbuf", (cols, rows), dtype)]
    built, placement = build(tensors, Access("x"), Access("y"), BY_ELEMENTS)
    found = [pair for word in built.words for pair in pairs_of_elements(word, placement.relocations())]
    assert dict(found) == wanted(placement, CAYMAN, rows, cols, ((cols, rows), (1, cols)), 0, dtype.size)


def test_elements_over_65535_are_several_words():
    rows, cols = 65537, 3
    tensors = [Tensor("x", "hbm", (rows, cols), BF16), Tensor("y", "hbm", (cols, rows), BF16)]
    built, placement = build(tensors, Access("x"), Access("y"), BY_ELEMENTS, semaphore=1)
    parts = [fields(word, placement.relocations()) for word in built.words]
    y = placement["y"].address
    assert [part[0] for part in parts] == [
        (0x10000000, (2, 6), (3, 65535)),
        (0x10000000 + 65535 * 6, (2, 6), (3, 2)),
    ]
    assert [part[1] for part in parts] == [
        (y, (2, 131074), (65535, 3)),
        (y + 131070, (2, 131074), (2, 3)),
    ]
    assert [word.sem_increment for word in built.words] == [0, 1]


def tile_tensors(rows=16, cols=8, dtype=BF16, space="sbuf", **pins):
    return [Tensor("x", "hbm", (rows, cols), dtype), Tensor("y", space, (cols, rows), dtype, **pins)]


WHOLE = (Access("x"), Access("y"))
REFUSED = [
    (tile_tensors(rows=24), WHOLE, {}, "isa.4.4.tile_rows", "source rows a multiple of 16; it has 24"),
    (tile_tensors(dtype=U8), WHOLE, {}, "isa.C12", "an element of"),
    (tile_tensors(dtype=FP32), WHOLE, {"xpose_dtype": "two"}, "isa.C12", r"\[2\] bytes; it has 4"),
    (tile_tensors(space="hbm"), WHOLE, {}, "isa.4.4.sbuf", "sbuf; it has hbm"),
    (tile_tensors(offset=2), WHOLE, {}, "isa.4.4.dst_align", "a multiple of 32"),
    (
        [Tensor("x", "hbm", (16, 16), BF16), Tensor("y", "sbuf", (8, 16), BF16)],
        (Access("x", 0, ((16, 16), (2, 8))), Access("y")),
        {},
        "dec.D10",
        "a source column step of 2 bytes; it has 4",
    ),
    (
        [Tensor("x", "hbm", (16, 8), BF16), Tensor("y", "sbuf", (8, 32), BF16)],
        (Access("x"), Access("y", 0, ((32, 8), (2, 16)))),
        {},
        "dec.D10",
        "a destination column step of 2 bytes; it has 4",
    ),
    (
        [Tensor("x", "hbm", (16, 8), BF16), Tensor("y", "sbuf", (1, 128), BF16)],
        (Access("x"), Access("y", 0, ((16, 8), (1, 16)))),
        {},
        "dec.D10",
        "a destination row step of 262144 bytes; it has 32",
    ),
    (
        [Tensor("x", "hbm", (16, 8), BF16), Tensor("y", "sbuf", (16, 8), BF16)],
        WHOLE,
        {},
        "transfers.shape",
        "the source is 16 x 8, so the destination must be 8 x 16, not 16 x 8",
    ),
    (
        [Tensor("x", "hbm", (16, 8), BF16), Tensor("y", "sbuf", (8, 16), dtype_named("float16"))],
        WHOLE,
        {},
        "isa.4.4.no_cast",
        "cannot cast bfloat16 to float16",
    ),
    (tile_tensors(dtype=U8), WHOLE, BY_ELEMENTS, "isa.C12", "not 1"),
]


@pytest.mark.parametrize(("tensors", "sides", "choices", "rule", "message"), REFUSED, ids=lambda v: str(v)[:24])
def test_refusals(tensors, sides, choices, rule, message):
    with pytest.raises(LoweringError, match=message) as caught:
        build(tensors, *sides, choices)
    assert caught.value.rule == rule


def test_other_ranks_are_unsupported():
    tensors = [Tensor("x", "hbm", (4, 4, 4), BF16), Tensor("y", "sbuf", (4, 16), BF16)]
    src = Access("x", 0, ((16, 4), (4, 4), (1, 4)))
    with pytest.raises(Unsupported, match=r"counts \[4, 4, 4\], and two dimensions"):
        build(tensors, src, Access("y"))


def test_sunda_has_no_transpose_word():
    with pytest.raises(LoweringError, match="SUNDA has no DMA_TRANSPOSE word") as caught:
        build(tile_tensors(), *WHOLE, generation=SUNDA)
    assert caught.value.rule == "isa.7"

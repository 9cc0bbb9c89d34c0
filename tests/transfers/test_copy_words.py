"""Copies and casts as words: the worked words, the splitting rules, and equality with an itertools oracle."""

import itertools
import struct
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgekit.core.choices import Choices
from dgekit.core.dtypes import dtype_named
from dgekit.core.errors import LoweringError, Unspecified, Unsupported
from dgekit.core.generations import CAYMAN, MARIANA, MAVERICK
from dgekit.transfers import shapes
from dgekit.transfers.build import build_words
from dgekit.transfers.placement import place
from dgekit.transfers.transfer import Access, Bound, Tensor, Transfer

FP32, BF16, U8, I64 = (dtype_named(n) for n in ("float32", "bfloat16", "uint8", "int64"))
ELEMENTS = Choices({"step_unit": "elements"})

# isa-words 6.1, word A
WORD_A = bytes.fromhex(
    "d4 10 00 00 00 00 00 00 00 00 00 00 00 0a 01 00 00 00 00 00 00 00 00 10 01 00 00 00 80 00 00 00"
    "80 00 01 00 04 00 00 00 00 00 00 00 03 00 00 10 01 00 00 00 80 00 00 00 80 00 01 00 04 00 0a 0a"
)


def leg(word, at, table):
    """(start address, (step, count) x 2 in bytes, element bytes) of one side of a pseudo word, read from its bytes."""
    offset, low, high, marker = struct.unpack_from("<IHBB", word, at)
    start = table[low | high << 16] + offset if marker == 0x10 else struct.unpack_from("<Q", word, at)[0]
    steps, counts = struct.unpack_from("<2i", word, at + 8), struct.unpack_from("<2H", word, at + 16)
    (elem,) = struct.unpack_from("<H", word, at + 20)
    return start, tuple(zip(steps, counts, strict=True)), elem or 65536


def elements(side, size):
    """Addresses of the dtype elements of one side, in order."""
    start, ((x_step, x), (y_step, y)), elem = side
    for j, i, k in itertools.product(range(y), range(x), range(0, elem, size)):
        yield start + i * x_step + j * y_step + k


def mapping(built, table, sizes):
    """Destination element address to source element address, over all words; no address is written twice."""
    found = {}
    for built_word in built.words:
        word = built_word.encode()
        src, dst = (list(elements(leg(word, at, table), size)) for at, size in zip((16, 40), sizes, strict=True))
        assert len(src) == len(dst)
        for s, d in zip(src, dst, strict=True):
            assert d not in found
            found[d] = s
    return found


def pattern_addresses(placed, access, generation):
    """What the user's pattern visits: one dtype element at a time."""
    for index in itertools.product(*(range(count) for _, count in access.pattern)):
        e = access.offset + sum(i * step for i, (step, _) in zip(index, access.pattern, strict=True))
        row, column = divmod(e, placed.tensor.row_elements) if placed.in_sbuf else (0, e)
        yield placed.address + row * generation.partition_stride + column * placed.tensor.dtype.size


def copy(tensors, src, dst, choices=None, generation=CAYMAN, **more):
    placement = place(tensors, generation)
    transfer = Transfer("t", "copy", src, dst, **more)
    return build_words(transfer, placement, generation, choices or Choices()), placement


# the worked words


def test_word_a():
    tensors = [
        Tensor("input", "hbm", (1, 128), FP32, var_id=0),
        Tensor("gradient_in", "sbuf", (1, 128), FP32, var_id=3),
    ]
    pattern = ((128, 1), (1, 128))
    sides = Access("input", 0, pattern), Access("gradient_in", 0, pattern)
    built, _ = copy(tensors, *sides, ELEMENTS, semaphore=10)
    assert [word.encode() for word in built.words] == [WORD_A]
    assert [word.sem_increment for word in built.words] == [1]


@pytest.mark.parametrize("name", ["input", "gradient_in"])
def test_whole_tensors_give_word_a_too(name):
    tensors = [
        Tensor("input", "hbm", (1, 128), FP32, var_id=0),
        Tensor("gradient_in", "sbuf", (1, 128), FP32, var_id=3),
    ]
    built, _ = copy(tensors, Access("input"), Access("gradient_in"), ELEMENTS, semaphore=10)
    assert built.words[0].encode() == WORD_A


def test_published_form_of_a_bf16_load():
    tensors = [Tensor("x", "hbm", (128, 128), BF16), Tensor("y", "sbuf", (128, 128), BF16)]
    built, placement = copy(tensors, Access("x"), Access("y"))
    (word,) = (w.encode() for w in built.words)
    assert leg(word, 16, placement.relocations()) == (0x10000000, ((256, 128), (1, 1)), 256)
    assert leg(word, 40, placement.relocations()) == (0x2000000000, ((262144, 128), (1, 1)), 256)


def test_a_contiguous_copy_is_one_element():
    tensors = [Tensor("x", "hbm", (1, 128), FP32), Tensor("y", "sbuf", (1, 128), FP32)]
    built, placement = copy(tensors, Access("x"), Access("y"))
    assert leg(built.words[0].encode(), 16, placement.relocations()) == (0x10000000, ((1, 1), (1, 1)), 512)


# splitting (D4)


def words_of(built, placement):
    table = placement.relocations()
    return [(leg(w.encode(), 16, table), leg(w.encode(), 40, table)) for w in built.words]


def test_an_element_of_65536_bytes_is_stored_as_0():
    tensors = [Tensor("x", "hbm", (1 << 16,), U8), Tensor("y", "hbm", (1 << 16,), U8)]
    built, _ = copy(tensors, Access("x"), Access("y"))
    assert struct.unpack_from("<H", built.words[0].encode(), 36) == (0,)


def test_a_long_run_is_64_kib_elements_and_a_rest():
    size = (3 << 16) + 100
    tensors = [Tensor("x", "hbm", (size,), U8), Tensor("y", "hbm", (size,), U8)]
    built, placement = copy(tensors, Access("x"), Access("y"), semaphore=7, increment=3)
    assert words_of(built, placement) == [
        ((0x10000000, ((65536, 3), (1, 1)), 65536), (0x10031000, ((65536, 3), (1, 1)), 65536)),
        ((0x10030000, ((1, 1), (1, 1)), 100), (0x10061000, ((1, 1), (1, 1)), 100)),
    ]
    assert [(w.pseudo.semaphore, w.pseudo.sem_increment, w.sem_increment) for w in built.words] == [
        (7, 0, 0),
        (7, 3, 3),
    ]


def test_counts_are_cut_in_blocks_of_65535():
    count = 2 * 65535 + 5
    tensors = [Tensor("x", "hbm", (2 * count,), U8), Tensor("y", "hbm", (3 * count,), U8)]
    built, placement = copy(tensors, Access("x", 0, ((2, count),)), Access("y", 0, ((3, count),)))
    table = words_of(built, placement)
    assert [(src[0] - 0x10000000, src[1][0]) for src, _ in table] == [
        (0, (2, 65535)),
        (131070, (2, 65535)),
        (262140, (2, 5)),
    ]
    assert [dst[1][0] for _, dst in table] == [(3, 65535), (3, 65535), (3, 5)]


def test_the_outermost_dimension_that_is_no_partition_is_unrolled():
    tensors = [Tensor("x", "hbm", (8, 2, 3, 4), U8), Tensor("y", "sbuf", (8, 200), U8)]
    src = Access("x", 0, ((24, 8), (12, 2), (4, 3), (1, 2)))
    dst = Access("y", 0, ((200, 8), (100, 2), (10, 3), (1, 2)))
    built, placement = copy(tensors, src, dst)
    assert words_of(built, placement) == [
        ((0x10000000 + 12 * i, ((4, 3), (24, 8)), 2), (0x2000000000 + 100 * i, ((10, 3), (262144, 8)), 2))
        for i in range(2)
    ]


def test_only_the_last_word_carries_the_increment():
    tensors = [Tensor("x", "hbm", (4, 4, 4, 4), U8), Tensor("y", "hbm", (4, 4, 4, 4), U8)]
    src = Access("x", 0, ((64, 4), (16, 4), (4, 4), (1, 4)))
    dst = Access("y", 0, ((1, 4), (4, 4), (16, 4), (64, 4)))
    built, _ = copy(tensors, src, dst, semaphore=5, increment=9)
    assert [w.sem_increment for w in built.words] == [0] * 15 + [9]
    assert [w.pseudo.sem_increment for w in built.words] == [0] * 15 + [9]


def test_without_a_semaphore_nothing_is_incremented():
    tensors = [Tensor("x", "hbm", (4,), U8), Tensor("y", "hbm", (4,), U8)]
    built, _ = copy(tensors, Access("x"), Access("y"))
    assert (built.words[0].pseudo.semaphore, built.words[0].sem_increment) == (0, 0)


def test_shapes_that_do_not_nest_are_folded_leg_by_leg():
    tensors = [Tensor("x", "hbm", (2, 100), U8), Tensor("y", "hbm", (3, 100), U8)]
    src, dst = Access("x", 0, ((100, 2), (2, 6))), Access("y", 0, ((100, 3), (2, 4)))
    built, placement = copy(tensors, src, dst)
    assert words_of(built, placement) == [((0x10000000, ((2, 6), (100, 2)), 1), (0x10001000, ((2, 4), (100, 3)), 1))]


# the rest of the word


def test_priority_bounds_and_their_registers():
    tensors = [Tensor("x", "hbm", (4,), U8), Tensor("y", "hbm", (4,), U8)]
    built, _ = copy(
        tensors,
        Access("x"),
        Access("y"),
        priority=3,
        src_bound=Bound(5, 0x10000004),
        dst_bound=Bound(6, None, notify=False),
    )
    word = built.words[0].encode()
    assert (word[12], word[38], word[39]) == (3, 0x85, 0xC6)
    assert built.registers == {5: 0x10000004}


def test_an_offset_over_32_bits_uses_the_immediate_arm():
    tensors = [Tensor("x", "hbm", (5 << 30,), U8), Tensor("y", "hbm", (16,), U8)]
    built, placement = copy(tensors, Access("x", (4 << 30) + 16, ((1, 16),)), Access("y"))
    word = built.words[0].encode()
    assert struct.unpack_from("<Q", word, 16)[0] == 0x10000000 + (4 << 30) + 16
    assert leg(word, 40, placement.relocations())[0] == placement["y"].address


def test_a_cast_folds_the_same_elements_on_both_sides():
    tensors = [Tensor("x", "hbm", (128, 64), FP32), Tensor("y", "sbuf", (128, 64), BF16)]
    built, placement = copy(tensors, Access("x"), Access("y"))
    assert words_of(built, placement) == [
        ((0x10000000, ((256, 128), (1, 1)), 256), (0x2000000000, ((262144, 128), (1, 1)), 128))
    ]
    assert built.words[0].encode()[62:] == bytes([0xA, 0x6])


def test_a_long_cast_caps_the_larger_side_at_64_kib():
    count = 3 * 16384 + 7
    tensors = [Tensor("x", "hbm", (count,), FP32), Tensor("y", "hbm", (count,), BF16)]
    built, placement = copy(tensors, Access("x"), Access("y"))
    y = placement["y"].address
    assert words_of(built, placement) == [
        ((0x10000000, ((65536, 3), (1, 1)), 65536), (y, ((32768, 3), (1, 1)), 32768)),
        ((0x10000000 + 3 * 65536, ((1, 1), (1, 1)), 28), (y + 3 * 32768, ((1, 1), (1, 1)), 14)),
    ]


@pytest.mark.parametrize(
    ("name", "generation", "code"), [("int64", CAYMAN, 9), ("uint64", MARIANA, 9), ("float32r", CAYMAN, 0xA), ("float8_e8m0", MAVERICK, 3)]
)  # fmt: skip
def test_types_a_copy_may_not_name_move_under_another(name, generation, code):
    dtype = dtype_named(name)
    tensors = [Tensor("x", "hbm", (6,), dtype), Tensor("y", "hbm", (6,), dtype)]
    built, _ = copy(tensors, Access("x"), Access("y"), generation=generation)
    word = built.words[0].encode()
    assert (word[62], word[63]) == (code, code)
    assert struct.unpack_from("<H", word, 36) == (6 * dtype.size,)
    assert [(i.rule, i.severity) for i in built.issues] == [("dec.D30", "advice")]


def test_an_accumulating_copy_carries_add_in_its_extension():
    tensors = [Tensor("x", "hbm", (6,), FP32), Tensor("y", "hbm", (6,), FP32)]
    built, _ = copy(tensors, Access("x"), Access("y"), accumulate="add")
    data = built.words[0].encode()
    assert (len(data), data[64], data[67]) == (128, 0xDA, 1)


def test_core_is_the_sbuf_leg_s():
    tensors = [Tensor("x", "hbm", (1, 4), U8), Tensor("y", "sbuf", (1, 4), U8, core=2), Tensor("z", "hbm", (4,), U8)]
    assert copy(tensors, Access("x"), Access("y"))[0].core == 2
    assert copy(tensors, Access("y"), Access("x"))[0].core == 2
    assert copy(tensors, Access("x"), Access("z"))[0].core == 0


# any pattern


@st.composite
def a_leg(draw, counts, name, dtype):
    """A tensor and an access of the given counts: any order in memory, padding, backward or repeated sources."""
    order = draw(st.permutations(range(len(counts))))
    stride, steps = 1, [0] * len(counts)
    for dim in order:
        steps[dim] = stride
        stride = stride * counts[dim] + draw(st.integers(0, 2))
    sbuf = draw(st.booleans())
    outer = steps[order[-1]]
    shape = (counts[order[-1]], outer) if sbuf else (counts[order[-1]] * outer + 5,)
    offset = 0
    if name == "src":
        for dim in range(len(counts)):
            kind = draw(st.sampled_from(["forward", "forward", "backward", "still"]))
            if kind == "backward":
                offset, steps[dim] = offset + steps[dim] * (counts[dim] - 1), -steps[dim]
            elif kind == "still":
                steps[dim] = 0
    pattern = tuple(zip(steps, counts, strict=True))
    return Tensor(name, "sbuf" if sbuf else "hbm", shape, dtype), Access(
        name, offset, pattern if sbuf else merged(draw, pattern)
    )


def merged(draw, pattern):
    """The pattern with some neighbouring dimensions written as one, where they are one progression."""
    listed = list(pattern)
    for dim in range(len(listed) - 2, -1, -1):
        (outer, m), (inner, n) = listed[dim : dim + 2]
        if outer == inner * n and draw(st.booleans()):
            listed[dim : dim + 2] = [(inner, m * n)]
    return tuple(listed)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_the_words_move_what_the_pattern_says(data):
    counts = data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    types = data.draw(st.sampled_from([(U8, U8), (BF16, BF16), (FP32, BF16), (BF16, FP32), (I64, I64)]))
    src_tensor, src = data.draw(a_leg(counts, "src", types[0]))
    dst_tensor, dst = data.draw(a_leg(counts, "dst", types[1]))
    choices = {"fold_element": data.draw(st.booleans()), "step_unit": data.draw(st.sampled_from(["bytes", "elements"]))}
    limits = {"MAX_COUNT": data.draw(st.sampled_from([3, 65535])), "MAX_ELEM": data.draw(st.sampled_from([16, 65536]))}
    with mock.patch.multiple(shapes, **limits):
        try:
            built, placement = copy([src_tensor, dst_tensor], src, dst, Choices(choices))
        except LoweringError as refusal:
            assert refusal.rule == "dec.D1" and choices["step_unit"] == "elements"
            assert refusal.values["step_bytes"] % refusal.values["element_bytes"] == refusal.values["remainder"] != 0
            return
    if choices["step_unit"] == "elements":
        return  # steps are no bytes: word A and the refusals above cover them
    assert all(side[2] <= limits["MAX_ELEM"] for pair in words_of(built, placement) for side in pair)
    wanted = dict(
        zip(
            pattern_addresses(placement["dst"], dst, CAYMAN),
            pattern_addresses(placement["src"], src, CAYMAN),
            strict=True,
        )
    )
    assert mapping(built, placement.relocations(), (types[0].size, types[1].size)) == wanted


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_element_steps_are_byte_steps_over_the_element(data):
    counts = data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=3))
    src_tensor, src = data.draw(a_leg(counts, "src", BF16))
    dst_tensor, dst = data.draw(a_leg(counts, "dst", BF16))
    by_unit = {}
    for unit in ("bytes", "elements"):
        choices = Choices({"fold_element": False, "step_unit": unit})
        built, placement = copy([src_tensor, dst_tensor], src, dst, choices)
        by_unit[unit] = words_of(built, placement)
    for in_bytes, in_elements in zip(by_unit["bytes"], by_unit["elements"], strict=True):
        for (start, dims, elem), (start2, dims2, elem2) in zip(in_bytes, in_elements, strict=True):
            assert (start, elem) == (start2, elem2)
            for (step, count), (step2, count2) in zip(dims, dims2, strict=True):
                assert count == count2
                assert step == step2 * elem or (count == 1 and step2 == step == 1)


# refusals


def flat(dtype=U8, size=64):
    return [Tensor("x", "hbm", (size,), dtype), Tensor("y", "hbm", (size,), dtype)]


WHOLE = {"src": Access("x"), "dst": Access("y")}
REFUSED = [
    ([flat()[0], Tensor("y", "hbm", (63,), U8)], {}, {}, CAYMAN, "transfers.shape", "64 elements, the destination 63"),
    (flat(), {"semaphore": 256}, {}, CAYMAN, "transfers.semaphore", r"semaphore 256 is outside 0\.\.255"),
    (flat(), {"increment": 256}, {}, CAYMAN, "transfers.increment", r"increment 256 is outside 0\.\.255"),
    (flat(), {"priority": 5}, {}, CAYMAN, "transfers.priority", r"priority 5 is outside 0\.\.4"),
    (flat(dtype_named("float8_e8m0")), {}, {}, CAYMAN, "isa.2.5", "float8_e8m0, which CAYMAN does not have"),
    ([flat(I64)[0], flat()[1]], {}, {}, CAYMAN, "isa.4.2.dtype", "no cast may have int64 as its src type"),
    ([flat()[0], flat(I64)[1]], {}, {}, CAYMAN, "isa.4.2.dtype", "no cast may have int64 as its dst type"),
    ([flat(dtype_named("float32r"))[0], flat()[1]], {}, {}, CAYMAN, "isa.4.2.dtype", "float32r as its src"),
    (flat(), {"src": Access("z")}, {}, CAYMAN, "transfers.tensor", "no tensor is named 'z'"),
    (flat(), {"src": Access("x", 1, ((1, 64),))}, {}, CAYMAN, "transfers.bounds", r"elements 1\.\.64 of x, which has 64"),
    (flat(), {"src_bound": Bound(2, 1), "dst_bound": Bound(2, 3)}, {}, CAYMAN, "transfers.bound", "two limits"),
    (
        flat(size=96),
        {"src": Access("x", 0, ((3, 32),)), "dst": Access("y", 0, ((48, 2), (2, 16)))},
        {"step_unit": "elements", "fold_element": True},
        CAYMAN,
        None,
        None,
    ),
    (
        [Tensor("x", "hbm", (64,), BF16), Tensor("y", "hbm", (64,), BF16)],
        {"src": Access("x", 0, ((5, 8), (1, 2))), "dst": Access("y", 0, ((4, 8), (1, 2)))},
        {"step_unit": "elements", "fold_element": True},
        CAYMAN,
        "dec.D1",
        "src step 0 of 10 bytes is no whole number of elements of 4 bytes",
    ),
    (
        [Tensor("x", "hbm", ((1 << 31) + 1,), U8), Tensor("y", "hbm", (8,), U8)],
        {"src": Access("x", 0, ((1 << 31, 2),)), "dst": Access("y", 0, ((2, 2),))},
        {},
        CAYMAN,
        "isa.3.5",
        "src step 0 2147483648 does not fit a signed 32-bit step",
    ),
    (
        [Tensor("x", "hbm", (1000,), U8), Tensor("y", "hbm", (1000,), U8)],
        {
            "src": Access("x", 0, ((300, 2), (60, 2), (2, 6))),
            "dst": Access("y", 0, ((300, 2), (60, 3), (2, 4))),
        },
        {},
        CAYMAN,
        "dec.D2",
        "do not nest, and the src leg alone still has counts",
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("tensors", "more", "choices", "generation", "rule", "message"), REFUSED, ids=lambda v: str(v)[:20]
)
def test_refusals_name_rule_and_numbers(tensors, more, choices, generation, rule, message):
    sides = {**WHOLE, **more}
    if rule is None:
        assert copy(tensors, choices=Choices(choices), generation=generation, **sides)[0].words
        return
    with pytest.raises(LoweringError, match=message) as caught:
        copy(tensors, choices=Choices(choices), generation=generation, **sides)
    assert caught.value.rule == rule and caught.value.where == "t"


def test_too_many_words_are_unsupported():
    tensors = [Tensor("x", "hbm", (64, 64, 64, 64), U8), Tensor("y", "hbm", (64, 64, 64, 128), U8)]
    src = Access("x", 0, tuple((64**i, 64) for i in range(4)))
    dst = Access("y", 0, tuple((2 * 64**i, 64) for i in (3, 2, 1, 0)))
    with mock.patch.object(shapes, "MAX_WORDS", 4095), pytest.raises(Unsupported, match="need 4096 words") as caught:
        copy(tensors, src, dst)
    assert caught.value.rule == "transfers.words"


def test_reduce_is_unsupported():
    placement = place(flat(), CAYMAN)
    with pytest.raises(Unsupported, match="reduce") as caught:
        build_words(Transfer("t", "reduce", Access("x"), Access("y")), placement, CAYMAN, Choices())
    assert caught.value.rule == "dec.D38"


def test_an_accumulating_word_without_extension_is_unspecified():
    with pytest.raises(Unspecified) as caught:
        copy(flat(FP32), **WHOLE, choices=Choices({"kind0_compute_op": "none"}), accumulate="add")
    assert caught.value.rule == "isa.5.2.compute_op"

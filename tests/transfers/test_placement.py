"""Decision D39: where tensors go, what they may not do, and the slots that stay free."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgekit.core.dtypes import dtype_named
from dgekit.core.errors import LoweringError, Overlap, Unsupported
from dgekit.core.generations import CAYMAN, GENERATIONS, MARIANA, SUNDA
from dgekit.transfers.placement import place
from dgekit.transfers.transfer import Tensor

FP32, BF16, U8 = dtype_named("float32"), dtype_named("bfloat16"), dtype_named("uint8")


def hbm(name, shape, dtype=FP32, **pins):
    return Tensor(name, "hbm", shape, dtype, **pins)


def sbuf(name, shape, dtype=FP32, **pins):
    return Tensor(name, "sbuf", shape, dtype, **pins)


def test_hbm_goes_upward_from_0x10000000_in_steps_of_4_kib():
    placed = place([hbm("a", (3,)), hbm("b", (1024,)), hbm("c", (1,))], CAYMAN)
    assert [placed[n].address for n in "abc"] == [0x10000000, 0x10001000, 0x10002000]
    pinned = place([hbm("p", (3,), address=0x10000004)], CAYMAN)["p"]
    assert [(t.partition, t.offset, t.stride) for t in (placed["a"], pinned)] == [(0, 0, 0)] * 2
    assert pinned.rows(CAYMAN.active_bytes) == ((0x10000004, 0, 12),)


def test_sbuf_goes_upward_in_every_partition_in_steps_of_64_bytes():
    placed = place([sbuf("a", (128, 3)), sbuf("b", (4, 16)), sbuf("c", (128, 1))], CAYMAN)
    assert [placed[n].address - 0x2000000000 for n in "abc"] == [0, 64, 128]
    assert [placed[n].partitions for n in "abc"] == [128, 4, 128]


def test_pins_win_and_the_others_go_around_them():
    tensors = [
        hbm("free", (4096,), U8),
        hbm("pinned", (4096,), U8, address=0x10000800),
        sbuf("low", (2, 64), U8),
        sbuf("mid", (64, 64), U8, partition=32, offset=0),
        sbuf("wide", (128, 64), U8),
        sbuf("second", (1, 8), core=1, offset=96),
    ]
    placed = place(tensors, CAYMAN)
    assert placed["pinned"].address == 0x10000800
    assert placed["free"].address == 0x10002000
    assert placed["low"].address == 0x2000000000
    assert placed["mid"].address == 0x2000000000 + 32 * 0x40000
    assert placed["wide"].address == 0x2000000040
    assert placed["second"].address == 0x3000000060


def test_variable_ids_count_up_around_pinned_ones():
    tensors = [hbm("a", (1,)), hbm("b", (1,), var_id=1), hbm("c", (1,)), hbm("d", (1,), var_id=0xFFFFFF)]
    placed = place(tensors, CAYMAN)
    assert [placed[n].var_id for n in "abcd"] == [0, 1, 2, 0xFFFFFF]
    assert placed.relocations() == {0: 0x10000000, 1: 0x10001000, 2: 0x10002000, 0xFFFFFF: 0x10003000}


def test_a_tensor_that_leaves_its_hbm_stack_goes_to_the_next():
    half = 23 << 30
    placed = place([hbm("a", (half,), U8), hbm("b", (half,), U8)], CAYMAN)
    assert placed["a"].address == 0x10000000
    assert placed["b"].address == 0x4000000000 + (16 << 20)


@pytest.mark.parametrize("generation", GENERATIONS, ids=lambda g: g.name)
def test_semaphore_words_lie_in_the_last_active_bytes(generation):
    placed = place([sbuf("t", (generation.partitions, generation.active_bytes - 64), U8)], generation)
    base = generation.sbuf_base(0)
    for engine in (0, 5, 15):
        row = base + 8 * engine * generation.partition_stride
        assert placed.semaphore_word_address(engine) == row + generation.active_bytes - 4
        assert placed.semaphore_word_address(engine, 15) == row + generation.active_bytes - 64
    with pytest.raises(LoweringError, match="at most 16 distinct") as caught:
        placed.semaphore_word_address(0, 16)
    assert caught.value.rule == "dec.D33"


def test_e18_semaphore_word():
    assert place([], CAYMAN).semaphore_word_address(5) == 0x2000A37FFC


def test_index_slot_is_above_all_tensors_of_partition_0():
    tensors = [sbuf("a", (128, 25)), sbuf("other", (4, 4096), partition=64, offset=4096), sbuf("c1", (1, 999), core=1)]
    placed = place(tensors, CAYMAN)
    assert placed.index_slot(256) == 0x2000000000 + 128
    assert placed.index_slot(256, core=1) == 0x3000000000 + 4032
    with pytest.raises(LoweringError, match="indices do not fit partition 0") as caught:
        placed.index_slot(0x38000)
    assert caught.value.values == {"bytes": 0x38000, "free": 0x38000 - 64 - 128}


def test_a_linear_tensor_takes_whole_partitions():
    placed = place([sbuf("sb", (33554432,), U8, linear=True)], CAYMAN)["sb"]
    assert (placed.address, placed.partitions, placed.row_bytes) == (0x2000000000, 128, 0x40000)
    rows = placed.rows(CAYMAN.active_bytes)
    assert len(rows) == 128 and rows[1] == (0x2000040000, 0x40000, 0x38000)


def test_a_linear_tensor_may_start_inside_a_partition():
    placed = place([sbuf("sb", (0x40000,), U8, linear=True, partition=2, offset=0x10000)], CAYMAN)["sb"]
    assert placed.partitions == 2
    assert placed.rows(0x38000) == (
        (0x2000000000 + 2 * 0x40000 + 0x10000, 0, 0x28000),
        (0x2000000000 + 3 * 0x40000, 0x30000, 0x10000),
    )


REFUSED = [
    ([hbm("a", (4,)), sbuf("a", (4, 4))], LoweringError, "a is declared twice"),
    ([hbm("a", (4,), var_id=3), hbm("b", (4,), var_id=3)], LoweringError, "b and tensor a are both pinned"),
    ([hbm("a", (4,), var_id=1 << 24)], LoweringError, "the field has 24 bits"),
    ([hbm("a", (4, 0))], LoweringError, r"shape \[4, 0\] holds no element"),
    ([hbm("a", ())], LoweringError, r"shape \[\] holds no element"),
    ([hbm("a", (4,), address=0x800000)], LoweringError, "in the 16 MiB kept for firmware"),
    ([hbm("a", (4,), address=0x2000000000)], LoweringError, "in no HBM stack"),
    ([hbm("a", (4,), address=(24 << 30) - 8)], LoweringError, "in no HBM stack"),
    ([hbm("a", (25 << 30,), U8)], LoweringError, "fits no HBM stack"),
    ([hbm("a", (4,), partition=1)], LoweringError, "lies in HBM, where partition"),
    ([hbm("a", (4,), linear=True)], LoweringError, "only an SBUF tensor can be linear"),
    ([sbuf("a", (4, 4), address=0x10000000)], LoweringError, "lies in SBUF, where address"),
    ([sbuf("a", (129, 4))], LoweringError, r"partitions 0\.\.128; there are 128"),
    ([sbuf("a", (65, 4), partition=64)], LoweringError, r"partitions 64\.\.128; there are 128"),
    ([sbuf("a", (4, 4), partition=-1)], LoweringError, "both must be 0 or more"),
    ([sbuf("a", (4, 4), core=8)], LoweringError, r"core 8; CAYMAN has cores 0\.\.7"),
    ([sbuf("a", (1, 0x38000 - 63), U8)], LoweringError, "229312 usable bytes"),
    ([sbuf("a", (1, 4), offset=0x38000 - 64)], LoweringError, "229312 usable bytes"),
    ([sbuf("a", (1, 200000), U8), sbuf("b", (1, 50000), U8)], LoweringError, "at offset 200000"),
    ([sbuf("a", (1, 4), dtype_named("int4"))], Unsupported, "4-bit elements"),
    (
        [hbm("a", (64,), U8, address=0x10000000), hbm("b", (64,), U8, address=0x10000020)],
        Overlap,
        r"a \(0x10000000..0x10000040\) and b \(0x10000020..0x10000060\)",
    ),
    (
        [sbuf("a", (8, 64), U8, offset=0), sbuf("b", (8, 64), U8, partition=4, offset=32)],
        Overlap,
        r"a \(partitions 0..7 bytes 0x0..0x40\) and b \(partitions 4..11 bytes 0x20..0x60\)",
    ),
    ([sbuf("a", (8, 64), U8, offset=0), sbuf("sb", (0x40000,), U8, linear=True)], Overlap, "a .* and sb"),
]


@pytest.mark.parametrize(("tensors", "error", "message"), REFUSED, ids=lambda v: str(v)[:40])
def test_refusals_name_tensor_and_numbers(tensors, error, message):
    with pytest.raises(error, match=message) as caught:
        place(tensors, CAYMAN)
    assert caught.value.where
    assert caught.value.rule == ("transfers.dtype" if error is Unsupported else caught.value.rule)
    if error is Overlap:
        assert caught.value.rule == "dec.D39" and set(caught.value.values) == {"first", "second"}


def test_an_unknown_tensor_names_the_nearest():
    with pytest.raises(LoweringError, match="write weights"):
        place([hbm("weights", (4,))], CAYMAN).find("weight")


SHAPES = st.tuples(st.integers(1, 128), st.integers(1, 300))


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["hbm", "sbuf"]), SHAPES, st.booleans()), max_size=12),
    st.sampled_from([SUNDA, CAYMAN, MARIANA]),
)
def test_no_two_tensors_share_a_byte(wanted, generation):
    tensors = []
    for i, (space, shape, pinned) in enumerate(wanted):
        pins = {}
        if pinned and space == "hbm":
            pins = {"address": 0x10000000 + 0x30000 * i + 5}
        elif pinned:
            pins = {"offset": 1300 * i + 3, "partition": 128 - shape[0]}
        tensors.append(Tensor(f"t{i}", space, shape, FP32, **pins))
    placed = place(tensors, generation)
    pieces = sorted(
        (address, address + size)
        for t in placed.placed.values()
        for address, _, size in t.rows(generation.active_bytes)
    )
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(pieces))
    assert sum(high - low for low, high in pieces) == sum(t.nbytes for t in tensors)

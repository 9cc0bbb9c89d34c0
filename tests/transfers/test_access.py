"""Decision D40 and the bounds rule, against an oracle that maps one element at a time."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgekit.core.dtypes import dtype_named
from dgekit.core.errors import CrossPartition, LoweringError, Unsupported
from dgekit.core.generations import CAYMAN, MAVERICK
from dgekit.transfers.access import access_walk
from dgekit.transfers.placement import place
from dgekit.transfers.transfer import Access, Tensor

BF16, FP32, U8 = dtype_named("bfloat16"), dtype_named("float32"), dtype_named("uint8")


def element_indices(access, tensor):
    pattern = access.pattern
    for index in itertools.product(*(range(count) for _, count in pattern)):
        yield access.offset + sum(i * step for i, (step, _) in zip(index, pattern, strict=True))


def oracle(access, placed, generation):
    tensor, size = placed.tensor, placed.tensor.dtype.size
    for e in element_indices(access, tensor):
        if tensor.space == "hbm":
            yield placed.address + e * size
        else:
            row, column = divmod(e, tensor.row_elements)
            yield placed.address + row * generation.partition_stride + column * size


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_walk_visits_the_bytes_of_the_pattern_or_says_why_not(data):
    generation = data.draw(st.sampled_from([CAYMAN, MAVERICK]))
    tensor = Tensor(
        "t",
        data.draw(st.sampled_from(["hbm", "sbuf"])),
        (data.draw(st.integers(1, 12)), data.draw(st.integers(1, 12))),
        data.draw(st.sampled_from([U8, BF16, FP32])),
    )
    placed = place([Tensor("pad", tensor.space, (3, 5), FP32), tensor], generation)
    pattern = tuple(data.draw(st.lists(st.tuples(st.integers(-14, 26), st.integers(1, 5)), max_size=4)))
    access = Access("t", data.draw(st.integers(0, tensor.elements - 1)), pattern)
    elements = list(element_indices(access, tensor))
    try:
        walk = access_walk(access, placed, generation)
    except LoweringError as refusal:
        assert refusal.rule == "transfers.bounds"
        assert (refusal.values["lowest"], refusal.values["highest"]) == (min(elements), max(elements))
        assert min(elements) < 0 or max(elements) >= tensor.elements
        return
    except CrossPartition:
        # a true reason: partition and column are no affine function of the pattern's indices
        rows = [e // tensor.row_elements for e in elements]
        assert tensor.space == "sbuf" and not is_affine(rows, pattern)
        return
    assert list(walk.addresses()) == list(oracle(access, placed["t"], generation))
    assert walk.counts == tuple(count for _, count in reversed(pattern))


def is_affine(values, pattern):
    counts = [count for _, count in pattern]
    table = dict(zip(itertools.product(*map(range, counts)), values, strict=True))
    origin = (0,) * len(counts)
    units = []
    for d, count in enumerate(counts):
        unit = tuple(int(i == d) for i in range(len(counts)))
        units.append(table[unit] - table[origin] if count > 1 else 0)
    return all(v == table[origin] + sum(i * u for i, u in zip(k, units, strict=True)) for k, v in table.items())


def test_whole_tensors_are_rows_then_one_row():
    placed = place([Tensor("h", "hbm", (4, 2, 3), BF16), Tensor("s", "sbuf", (8, 16), BF16)], CAYMAN)
    assert access_walk(Access("h"), placed, CAYMAN).dims == ((2, 6), (12, 4))
    assert access_walk(Access("s"), placed, CAYMAN).dims == ((2, 16), (0x40000, 8))


def test_rank_one_tensors():
    placed = place([Tensor("h", "hbm", (9,), BF16), Tensor("s", "sbuf", (9,), BF16)], CAYMAN)
    assert access_walk(Access("h"), placed, CAYMAN).dims == ((2, 9),)
    assert access_walk(Access("s"), placed, CAYMAN).dims == ((0x40000, 9),)


def test_a_step_of_count_one_is_never_mapped_to_partitions():
    placed = place([Tensor("s", "sbuf", (1, 128), FP32)], CAYMAN)
    walk = access_walk(Access("s", 0, ((128, 1), (1, 128))), placed, CAYMAN)
    assert walk.dims == ((4, 128), (512, 1))


def test_a_run_over_the_end_of_the_row_is_a_fault_with_numbers():
    placed = place([Tensor("s", "sbuf", (4, 100), U8)], CAYMAN)
    with pytest.raises(CrossPartition, match=r"reaches bytes 0\.\.400 of a partition row of 100 bytes") as caught:
        access_walk(Access("s", 0, ((1, 400),)), placed, CAYMAN, "load")
    assert caught.value.where == "load" and "step of 100 elements" in caught.value.fix
    with pytest.raises(CrossPartition):
        access_walk(Access("s", 90, ((1, 11),)), placed, CAYMAN)


def test_diagonals_and_backward_partitions_are_walks():
    placed = place([Tensor("s", "sbuf", (4, 4), U8)], CAYMAN)
    walk = access_walk(Access("s", 15, ((-5, 4),)), placed, CAYMAN)
    assert walk.start == 0x2000000000 + 3 * 0x40000 + 3
    assert walk.dims == ((-0x40001, 4),)


def test_linear_sbuf_counts_the_stride_and_stops_at_the_active_bytes():
    placed = place([Tensor("sb", "sbuf", (33554432,), U8, linear=True)], CAYMAN)
    walk = access_walk(Access("sb", 64, ((262144, 128), (1, 2048))), placed, CAYMAN)
    assert (walk.start, walk.dims) == (0x2000000040, ((1, 2048), (262144, 128)))
    with pytest.raises(CrossPartition, match="partition row of 229376 bytes"):
        access_walk(Access("sb", 0x38000 - 8, ((1, 9),)), placed, CAYMAN)


def test_linear_sbuf_that_starts_inside_a_partition():
    placed = place([Tensor("sb", "sbuf", (0x40000,), U8, linear=True, partition=2, offset=0x10000)], CAYMAN)
    walk = access_walk(Access("sb", 0x30000, ((1, 4),)), placed, CAYMAN)
    assert walk.start == 0x2000000000 + 3 * 0x40000
    with pytest.raises(CrossPartition):
        access_walk(Access("sb", 0x28000 - 2, ((1, 4),)), placed, CAYMAN)


def test_an_access_may_read_the_bytes_as_another_type():
    placed = place([Tensor("h", "hbm", (64,), U8), Tensor("s", "sbuf", (2, 6), U8)], CAYMAN)
    assert access_walk(Access("h", 2, ((2, 3),), FP32), placed, CAYMAN).dims == ((8, 3),)
    assert access_walk(Access("h", dtype=FP32), placed, CAYMAN).dims == ((4, 16),)
    with pytest.raises(LoweringError, match=r"elements 0\.\.16 of h, which has 16"):
        access_walk(Access("h", 0, ((1, 17),), FP32), placed, CAYMAN)
    with pytest.raises(LoweringError, match="holds whole elements"):
        access_walk(Access("s", dtype=FP32), placed, CAYMAN)
    with pytest.raises(Unsupported, match="elements of 4 bits"):
        access_walk(Access("h", dtype=dtype_named("int4")), placed, CAYMAN)


def test_counts_below_one_are_refused():
    placed = place([Tensor("h", "hbm", (64,), U8)], CAYMAN)
    with pytest.raises(LoweringError, match="count below 1") as caught:
        access_walk(Access("h", 0, ((1, 0),)), placed, CAYMAN)
    assert caught.value.rule == "transfers.shape"


def test_messages_stay_short():
    placed = place([Tensor("h", "hbm", (64,), U8)], CAYMAN)
    with pytest.raises(LoweringError, match=r"\.\.\. 5000 dimensions") as caught:
        access_walk(Access("h", 0, ((1, 2),) * 5000), placed, CAYMAN)
    assert len(str(caught.value)) < 500

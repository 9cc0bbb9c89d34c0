"""Legs that share bytes, against sets of addresses."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgekit.core.choices import Choices
from dgekit.core.dtypes import dtype_named
from dgekit.core.errors import Overlap
from dgekit.core.generations import CAYMAN
from dgekit.patterns.walk import Walk
from dgekit.transfers.build import build_words
from dgekit.transfers.overlap import repeated_byte, shared_byte
from dgekit.transfers.placement import place
from dgekit.transfers.static import static_work
from dgekit.transfers.transfer import Access, Tensor, Transfer

U8 = dtype_named("uint8")
WALKS = st.builds(
    Walk,
    st.integers(1000, 1040),
    st.lists(st.tuples(st.integers(-20, 20), st.integers(1, 4)), max_size=3).map(tuple),
    st.integers(1, 6),
)


def bytes_of(walk):
    return [start + i for start in walk.addresses() for i in range(walk.elem)]


@settings(max_examples=60, deadline=None)
@given(WALKS, WALKS)
def test_shared_byte(a, b):
    shared = set(bytes_of(a)) & set(bytes_of(b))
    assert shared_byte(a, b) == (min(shared) if shared else None)


@settings(max_examples=60, deadline=None)
@given(WALKS)
def test_repeated_byte(walk):
    listed = sorted(bytes_of(walk))
    twice = [x for x, y in itertools.pairwise(listed) if x == y]
    assert repeated_byte(walk) == (min(twice) if twice else None)


@pytest.mark.parametrize("lower", [build_words, static_work])
@pytest.mark.parametrize(
    ("src", "dst", "message"),
    [
        (Access("x", 0, ((1, 40),)), Access("x", 20, ((1, 40),)), "share bytes of x, the first at 0x10000014"),
        (Access("x", 0, ((1, 40),)), Access("y", 0, ((0, 2), (1, 20))), "writes the byte at 0x10001000 more than once"),
    ],
)
def test_transfers_that_overlap_are_refused(lower, src, dst, message):
    placement = place([Tensor("x", "hbm", (64,), U8), Tensor("y", "hbm", (64,), U8)], CAYMAN)
    with pytest.raises(Overlap, match=message) as caught:
        lower(Transfer("t", "copy", src, dst), placement, CAYMAN, Choices())
    assert caught.value.rule == "memory.overlap" and caught.value.where == "t"


def test_disjoint_parts_of_one_tensor_are_fine():
    placement = place([Tensor("x", "hbm", (64,), U8)], CAYMAN)
    src, dst = Access("x", 0, ((2, 32),)), Access("x", 1, ((2, 32),))
    assert build_words(Transfer("t", "copy", src, dst), placement, CAYMAN, Choices()).words

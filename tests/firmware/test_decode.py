import pytest

from dgekit.core.choices import Choices
from dgekit.core.dtypes import Dtype
from dgekit.core.errors import IllegalWord
from dgekit.core.events import EventLog
from dgekit.core.generations import CAYMAN
from dgekit.core.state import ShapeRegister, StateView
from dgekit.firmware.decode import decode, kind_of
from dgekit.firmware.values import Indices, Kind, Tile
from dgekit.logs.render import render_log
from dgekit.words.structs import (
    Addr8Immediate,
    BoundCheckReg,
    CtrlMs,
    DmaGatherTransposeFlags,
    DmaIndirectFlags,
    PseudoDmaDirect2D,
)


def pair_of(word, state=None, sem_increment=None, **switches):
    return decode(word, state or StateView(), CAYMAN, Choices(switches), EventLog(), sem_increment)


def shape_word(words, index, **fields):
    address = Addr8Immediate(address=words.HBM, marker_bits=0x10)
    return words.direct(
        src_start_addr=address, src_step_elem=(index, 0), src_num_elem=(0, 0), dst_num_elem=(4, 2), **fields
    )


def test_a_copy_in_bytes(words):
    pair, issues = pair_of(words.load(priority=3))
    assert issues == ()
    assert (pair.kind, pair.semaphore, pair.sem_increment, pair.priority_class) == (Kind.DIRECT2D, 10, 1, 3)
    assert (pair.src.start, pair.src.num, pair.src.step, pair.src.elem_size) == (words.HBM, (128, 1), (256, 1), 256)
    assert (pair.src.on_chip, pair.dst.on_chip, pair.dst.step[0]) == (False, True, words.ROW)
    assert (pair.src.dtype, pair.src.unit, pair.opcode) == (Dtype.BFLOAT16, 1, 0xB8)


def test_element_steps_count_the_element_size_of_copies(words):
    pair, _ = pair_of(words.direct(elem=4, src_step_elem=(1, -128)), step_unit="elements")
    assert (pair.src.step, pair.src.word_step, pair.src.unit) == ((4, -512), (1, -128), 4)


def test_element_steps_count_the_dtype_of_transposes(words):
    pair, _ = pair_of(words.transpose(src_step_elem=(2048, 1), tile_src_row_step=128), step_unit="elements")
    assert pair.src.step == (4096, 2)
    assert pair.tile == Tile(16, 128, 2, 256)


def test_element_size_0_is_65536(words):
    pair, _ = pair_of(words.direct(elem=65536))
    assert (pair.src.elem_size, pair.dst.elem_size) == (65536, 65536)
    assert pair.src.walk().nbytes == 4 * 65536


def test_increment_of_words_without_the_field(words):
    carried, issues = pair_of(words.transpose(), sem_increment=7)
    assert (carried.sem_increment, issues) == (7, ())
    raw, issues = pair_of(words.transpose())
    assert raw.sem_increment == 1
    assert [(i.rule, i.severity) for i in issues] == [("dec.D5", "warning")]
    assert pair_of(words.direct(sem_increment=3), sem_increment=9)[0].sem_increment == 3


def test_shape_from_a_register_has_four_dimensions_and_is_logged(words):
    state = StateView(
        shape_registers=(
            ShapeRegister(), ShapeRegister(), ShapeRegister((4, 2, 1, 1), (16, -64, 0, 0)), ShapeRegister()
        )
    )  # fmt: skip
    events = EventLog()
    pair, _ = decode(shape_word(words, 2), state, CAYMAN, Choices(), events)
    assert (pair.src.num, pair.src.step, pair.src.shape_register) == ((4, 2, 1, 1), (16, -64, 0, 0), 2)
    assert (pair.dst.num, pair.dst.shape_register) == ((4, 2), None)
    assert render_log(events, CAYMAN, Choices()) == [
        "S: dge_shape[2].step = [ 0x0010, 0xffc0, 0x0000, 0x0000 ]",
        "S: dge_shape[2].num  = [ 0x0004, 0x0002, 0x0001, 0x0001 ]",
    ]


@pytest.mark.parametrize("index", [4, 100, -1])
def test_shape_register_that_does_not_exist(words, index):
    with pytest.raises(IllegalWord) as caught:
        pair_of(shape_word(words, index))
    assert (caught.value.rule, caught.value.values["registers"]) == ("isa.C6", 4)


def test_gather_reads_its_indices(words):
    state = StateView(memory=words.indices(3, 1, 2, 0))
    pair, _ = pair_of(
        words.indirect(src_idx_bound_reg=words.bound(5)), StateView(registers={5: 9}, memory=state.memory)
    )
    assert pair.indices == Indices(src=(3, 1, 2, 0), src_address=words.SBUF + 0x100)
    assert (pair.src.num, pair.src.step, pair.src.bound.limit) == ((4,), (64,), 9)


def test_scatter_and_both(words):
    state = StateView(memory=words.indices(5, 5, 200, 5))
    scatter, _ = pair_of(words.indirect(mode=1, is_err=0, non_unique=1), state)
    assert scatter.indices == Indices(
        dst=(5, 5, 200, 5), dst_address=words.SBUF + 0x100, error_policy=False, non_unique=True
    )
    both, _ = pair_of(words.indirect(mode=2), state)
    assert both.indices is not None
    assert both.indices.src == both.indices.dst == (5, 5, 200, 5)


def test_gather_transpose(words):
    state = StateView(memory=words.indices(*range(32)))
    pair, _ = pair_of(words.gather_transpose(), state, sem_increment=2)
    assert (pair.kind, pair.tile) == (Kind.GATHER_TRANSPOSE, Tile(16, 128, 2, 256))
    assert (pair.dst.num, pair.dst.step, pair.dst.elem_size) == ((32, 128), (2, words.ROW), 2)
    assert pair.indices is not None
    assert (pair.indices.src, pair.indices.src_dim, pair.sem_increment) == (tuple(range(32)), 1, 2)


def test_gather_transpose_has_no_error_flag_but_the_bit_of_its_bound(words):
    state = StateView(memory=words.indices(*range(32)))
    loud, _ = pair_of(words.gather_transpose(src_idx_bound_reg=words.bound(1)), state)
    silent, _ = pair_of(words.gather_transpose(src_idx_bound_reg=words.bound(1, silent=True)), state)
    assert loud.indices is not None and silent.indices is not None
    assert (loud.indices.error_policy, silent.indices.error_policy) == (True, False)


@pytest.mark.parametrize("word", [PseudoDmaDirect2D(), CtrlMs()])
def test_only_resolved_words_have_a_kind(word):
    with pytest.raises(IllegalWord) as caught:
        kind_of(word)
    assert caught.value.rule == "pipeline.2.1"


def test_words_the_device_would_not_take(words):
    memory = words.indices(*range(32))
    cases = [
        (words.direct(dtype=Dtype.INVALID), "isa.DTYPE"),
        (words.direct(dtype=0x20), "isa.DTYPE"),
        (words.transpose(in_dtype=Dtype.INT4, out_dtype=Dtype.INT4), "isa.DTYPE"),
        (words.transpose(tile_src_cols=0), "isa.4.4.tile_rows"),
        (words.direct(src_bound_reg=BoundCheckReg(bc_reg=1)), "isa.C7"),
        (words.indirect(flags=DmaIndirectFlags(indirect_mode=3)), "isa.2.7"),
        (words.indirect(flags=DmaIndirectFlags(gather_dim=2)), "isa.4.3.dims"),
        (words.gather_transpose(flags=DmaGatherTransposeFlags(gather_dim=3)), "isa.4.3.dims"),
    ]
    for word, rule in cases:
        with pytest.raises(IllegalWord) as caught:
            pair_of(word, StateView(memory=memory))
        assert caught.value.rule == rule

import pytest

from dgekit.core.choices import Choices
from dgekit.core.errors import LoweringError
from dgekit.core.events import EventLog
from dgekit.core.generations import CAYMAN, generation_named
from dgekit.core.state import StateView
from dgekit.firmware.context import channels
from dgekit.firmware.decode import decode
from dgekit.firmware.reshape import Strategy, reshape
from dgekit.firmware.values import Kind, Tile


def planned(word, state=None, gen="CAYMAN", **switches):
    """(plan, events) of a word on the DMAs that the state allows."""
    generation, choices, events = generation_named(gen), Choices(switches), EventLog()
    state = state or StateView()
    pair, _ = decode(word, state, generation, choices, EventLog(), 1)
    return reshape(pair, channels(state, generation, pair.priority_class), generation, choices, events), events


def args(events, name):
    return [event.args for event in events if event.name == name]


def test_a_load_over_128_partitions_uses_16_dmas_of_8_rows(words):
    plan, events = planned(words.load())
    assert (plan.kind, plan.strategy, plan.partitions, plan.num_dma) == (Kind.DIRECT2D, Strategy.SPLIT, 128, 16)
    for k, share in enumerate(plan.shares):
        assert (share.dma, share.src.num, share.dst.num) == (k, (8, 1), (8, 1))
        assert share.src.start == words.HBM + 8 * k * 256
        assert share.dst.start == words.SBUF + 8 * k * words.ROW
    assert args(events, "analyzed") == [
        (128, 256, 0, words.HBM, words.HBM >> 18, Strategy.MERGE, Kind.DIRECT2D, 1, 1),
        (128, words.ROW, 1, 0, 0, Strategy.SPLIT, Kind.DIRECT2D, 128, 128),
    ]
    assert [e.line for e in events] == ["reshape.analyzed", "reshape.analyzed", "reshape.simple"]
    assert args(events, "assessed") == [(1, 128, 16, 0, Kind.DIRECT2D, 16)]


@pytest.mark.parametrize(
    ("rows", "mask", "blocks"),
    [
        (4, 0xFFFF, [4]),
        (9, 0xFFFF, [5, 4]),
        (17, 0xFFFF, [6, 6, 5]),
        (100, 0xFFFF, [8] * 12 + [4]),
        (128, 0x0007, [43, 43, 42]),
        (105, 0x1FFF, [9] * 11 + [6]),  # ceil leaves nothing for the 13th
    ],
)
def test_rows_of_each_channel(words, rows, mask, blocks):
    plan, events = planned(words.load(rows), StateView(dma_config=0x0001_0000 | mask))
    assert [share.src.num[0] for share in plan.shares] == blocks
    assert args(events, "assessed")[0][-1] == len(blocks)
    covered = [start for share in plan.shares for start in share.dst.walk().addresses()]
    assert covered == [words.SBUF + row * words.ROW for row in range(rows)]


def test_channels_are_the_allowed_ones(words):
    plan, _ = planned(words.load(16), StateView(dma_config=0x0001_A0A0))
    assert [share.dma for share in plan.shares] == [5, 7]


def test_two_sbuf_sides_take_the_pair_line(words):
    word = words.load(
        64, src_start_addr=words.SBUF, src_step_elem=(words.ROW, 1), dst_start_addr=words.SBUF + 0x1000,
        dst_step_elem=(2 * words.ROW, 1),
    )  # fmt: skip
    plan, events = planned(word)
    assert plan.num_dma == 8
    assert [e.line for e in events][-1] == "reshape.pair"
    assert args(events, "assessed") == [(Kind.DIRECT2D, 64, 16, Kind.DIRECT2D, 8)]
    assert args(events, "analyzed")[1][-2:] == (127, 64)  # range and number differ


def test_hbm_to_hbm(words):
    plan, events = planned(words.direct())
    assert plan.num_dma == 1
    assert args(events, "assessed") == [(1, 1, 16, 1, Kind.DIRECT2D, 1)]
    equal, _ = planned(words.direct(src_num_elem=(4, 40), dst_num_elem=(4, 40)), hbm_split="equal")
    assert [share.src.num for share in equal.shares] == [(4, 3)] * 13 + [(4, 1)]
    flat, _ = planned(words.direct(src_num_elem=(40, 1), dst_num_elem=(40, 1)), hbm_split="equal")
    assert [share.src.num for share in flat.shares] == [(3, 1)] * 13 + [(1, 1)]


def test_legs_with_different_counts_use_one_dma(words):
    word = words.load(128, src_num_elem=(64, 2), src_step_elem=(256, 64 * 256))
    plan, _ = planned(word)
    assert plan.num_dma == 1


def test_the_larger_of_two_partition_dimensions_is_split(words):
    num, step = (4, 32), (words.ROW, 4 * words.ROW)
    plan, _ = planned(words.load(src_num_elem=num, dst_num_elem=num, src_step_elem=(256, 1024), dst_step_elem=step))
    assert [share.dst.num for share in plan.shares] == [(4, 2)] * 16


def test_negative_steps_print_in_32_bits(words):
    word = words.load(
        src_start_addr=words.HBM + 127 * 256, src_step_elem=(-256, 1), dst_start_addr=words.SBUF + 127 * words.ROW,
        dst_step_elem=(-words.ROW, 1),
    )  # fmt: skip
    plan, events = planned(word)
    analyzed = args(events, "analyzed")
    assert analyzed[0][1:3] == (0xFFFF_FF00, 0)
    assert analyzed[1][1:5] == (0xFFFC_0000, -1, 127 * words.ROW, 127)
    assert plan.num_dma == 16
    assert [plan.shares[1].src.start, plan.shares[1].dst.start] == [
        words.HBM + 119 * 256,
        words.SBUF + 119 * words.ROW,
    ]


def test_strategies(words):
    merge, _ = planned(words.direct(src_step_elem=(16, 1), dst_step_elem=(16, 1)))
    identity, _ = planned(words.direct())
    assert (merge.strategy, identity.strategy) == (Strategy.MERGE, Strategy.IDENTITY)


def test_a_transpose_gives_each_channel_columns_of_every_tile(words):
    """D10: 128 columns land in 128 partitions, so 16 channels of 8 columns, tile counts kept."""
    plan, events = planned(words.transpose())
    assert (plan.partitions, plan.num_dma, plan.strategy) == (128, 16, Strategy.TRANSPOSE)
    for k, share in enumerate(plan.shares):
        assert share.tile == Tile(16, 8, 2, 256)
        assert (share.src.num, share.dst.num) == ((4, 1), (4, 1))
        assert share.src.start == words.HBM + 8 * k * 2
        assert share.dst.start == words.SBUF + 8 * k * words.ROW
    assert [e.line for e in events][-1] == "reshape.transpose"
    assert args(events, "tile") == [(16, 128, 2)]


def test_a_narrow_transpose(words):
    plan, _ = planned(words.transpose(tile_src_cols=20))
    assert [share.tile.cols for share in plan.shares] == [7, 7, 6]


def test_the_element_form_of_a_transpose_stays_on_one_channel(words):
    word = words.transpose(
        src_start_addr=words.SBUF, src_step_elem=(1, 128), src_num_elem=(128, 64), dst_num_elem=(64, 128),
        dst_start_addr=words.SBUF + 0x4000, dst_step_elem=(1, 64), tile_src_row_step=128,
    )  # fmt: skip
    plan, _ = planned(word, step_unit="elements", xpose_walk="elements")
    assert (plan.num_dma, plan.shares[0].src.num) == (1, (128, 64))


def test_a_square_element_transpose_stays_on_one_channel_too(words):
    """Equal counts say nothing there: dimension 0 of one leg is dimension 1 of the other."""
    word = words.transpose(
        src_step_elem=(2, 64), src_num_elem=(32, 32), dst_num_elem=(32, 32), dst_step_elem=(2, words.ROW),
    )  # fmt: skip
    plan, _ = planned(word, xpose_walk="elements")
    assert (plan.num_dma, plan.partitions) == (1, 32)


def test_lanes_of_a_gather(words):
    lanes = tuple(range(100, 130))
    plan, _ = planned(words.indirect(30), StateView(memory=words.indices(*lanes)))
    assert [share.lanes for share in plan.shares] == [
        tuple(range(8)), tuple(range(8, 16)), tuple(range(16, 24)), tuple(range(24, 30))
    ]  # fmt: skip
    for share in plan.shares:
        assert share.src.start == words.HBM  # the table
        assert share.dst.start == words.SBUF + share.lanes[0] * words.ROW
        assert share.src.num == share.dst.num == (len(share.lanes),)


def test_lanes_of_a_scatter(words):
    word = words.indirect(
        16, mode=1, src_start_addr=words.SBUF, src_step_elem=words.ROW, dst_start_addr=words.HBM, dst_step_elem=64
    )
    plan, _ = planned(word, StateView(memory=words.indices(*range(16))))
    assert [(share.src.start, share.dst.start) for share in plan.shares] == [
        (words.SBUF, words.HBM),
        (words.SBUF + 8 * words.ROW, words.HBM),
    ]


def test_an_indirect_leg_in_sbuf_says_nothing_about_partitions(words):
    word = words.indirect(16, mode=1, dst_step_elem=words.ROW)
    plan, _ = planned(word, StateView(memory=words.indices(*range(16))))
    assert (plan.num_dma, plan.shares[0].lanes) == (1, tuple(range(16)))


def test_columns_of_a_gather_transpose(words):
    plan, events = planned(words.gather_transpose(), StateView(memory=words.indices(*range(32))))
    assert (plan.num_dma, plan.strategy) == (16, Strategy.TRANSPOSE)
    for k, share in enumerate(plan.shares):
        assert (share.src.num, share.dst.num, share.tile.cols) == ((8, 32), (32, 8), 8)
        assert share.src.start == words.HBM + 16 * k
        assert share.dst.start == words.SBUF + 8 * k * words.ROW
        assert share.lanes == tuple(range(32))
    assert args(events, "tile") == [(16, 128, 2)]
    assert args(events, "before") == [(2, 128, 32, 1, 1, 2, 256, 0, 0, 1)]
    assert args(events, "after") == [(2, 32, 128, 1, 1, 256, 2, 0, 0)]


def test_mismatched_columns_of_a_gather_transpose_use_one_channel(words):
    word = words.gather_transpose(dst_num_elem=(32, 64))
    plan, _ = planned(word, StateView(memory=words.indices(*range(32))))
    assert plan.num_dma == 1


def test_an_empty_word_has_one_channel(words):
    plan, _ = planned(words.load(0))
    assert plan.num_dma == 1


def test_no_channel(words):
    with pytest.raises(LoweringError):
        planned(words.load(), StateView(dma_config=0x0001_0000))


def test_partitions_of_another_core(words):
    base = CAYMAN.sbuf_base(1)
    _, events = planned(words.load(dst_start_addr=base + 4 * words.ROW, src_num_elem=(8, 1), dst_num_elem=(8, 1)))
    assert args(events, "analyzed")[1][3:5] == (4 * words.ROW, 4)

"""The Q7 log of the software backend, line by line, and the functions behind its open numbers."""

from dgekit.core.choices import Choices
from dgekit.core.dtypes import Dtype
from dgekit.core.events import EventLog
from dgekit.core.generations import CAYMAN
from dgekit.core.state import StateView
from dgekit.firmware import software, spray
from dgekit.firmware.reshape import reshape
from dgekit.firmware.values import BoundCheck, DgeShape, Indices, Kind, ShapePair, Tile
from dgekit.logs.render import render_log

SBUF = CAYMAN.sbuf_base(0)


def run(pair, **choices):
    events, switches = EventLog(), Choices(choices)
    plan = reshape(pair, tuple(range(16)), CAYMAN, switches, EventLog())
    software.run(pair, plan, StateView(), CAYMAN, switches, events)
    return events, switches


def gather():
    """18 lanes of 64 bytes, HBM to HBM; lane 17 is out of range."""
    table = DgeShape(0x100001000, (18,), (64,), 64, Dtype.FP32, True, False, BoundCheck(True, 5, 0x2F, True, 0x85))
    out = DgeShape(0x100080000, (18,), (64,), 64, Dtype.FP32, False, False)
    indices = Indices(src=(*range(17), 0x30), src_address=SBUF + 0x100, error_policy=False)
    return ShapePair(Kind.INDIRECT, table, out, 10, 1, 0, 0, None, indices, 0xBB)


def test_the_log_of_a_gather_in_order():
    events, choices = run(gather())
    lines = render_log(events, CAYMAN, choices)
    nx = [line for line in lines if line.startswith("S: ")]
    q7 = [line for line in lines if line.startswith("P0: ")]
    assert lines == nx + q7
    assert nx[0] == "S: DGE: Failed bounds check. $S[10]+=1."
    assert nx[1] == (
        "S: DGE software backend: $S[10]+=1@dmacomplete src=[0x85]@0x100001000[0x40,0x0,0x0,0x0][18,1,1,1] "
        "dst=[0x0]@0x100080000[0x40,0x0,0x0,0x0][18,1,1,1] cast:0xa->0xa, indirection_dim=0x0, reshape_kind=0x1"
    )
    assert nx[2] == "S: push GENERATE to DMA[0]: RD : addr=0x100001000, elem_size=64, sem_num=10"
    assert nx[-4:] == ["S: push DIMPUSH to DMA[0]: [17,17][64,64]"] + ["S: push DIMPUSH to DMA[0]: [1,1][0,0]"] * 3
    assert len(nx) == 2 + 17 + 4
    assert q7 == [
        "P0: In dispatch, CPU ID: 0, got opcode 0xbb.",
        "P0: DGE INDIRECT",
        "P0: IndirectionInfo constructor: indices=0x100",
        "P0: gen_spray_info: reshape_kind=1, do_indirection=1, is_our_tensor=1, hbm_to_hbm=1, ndma=1",
        "P0: gen_spray_info: applying indirection reshape",
        "P0: gen_spray_info: indirection result step_port=1, step_half=0",
        "P0: gen_spray_info: applying tensor reshape for our tensor",
        "P0: gen_spray_info: tensor result step_port=1, step_half=0",
        "P0: gen_spray_info: reshape_kind=1, do_indirection=0, is_our_tensor=0, hbm_to_hbm=1, ndma=1",
        "P0: gen_spray_info: skipping reshape (not our tensor and no indirection)",
        "P0: make_gather_pattern START: reshape_kind=1, step_port=1, step_half=0, eng_mask=0x1",
        "P0: make_gather_pattern END: pattern=0x1, mask=0x1",
        "P0: shared_indirection_dim=0, replacing step with sizeof(uint32_t)=4",
        "P0: indirection_steps created: indirection_dimension=0, num_dims=1",
        "P0: gather_indices START: indices=0x100, pattern=0x1, mask=0x1",
        "P0: Indirection masks: our_indices_valid = 0xffff, other_indices_valid = 0xffff, srx_idx_max = 47, dst_idx_max = 0",
        "P0: do_indirection START: dim=0, last_indices=0xf, indirection_step=0x40",
        "P0: Before IVP_MULUSAN_2X32: address=0x1_1000, last_indices=0xf, indirection_step=0x40",
        "P0: After IVP_MULUSAN_2X32: address=0x1_13c0",
        "P0: gather_indices START: indices=0x140, pattern=0x1, mask=0x1",
        "P0: Indirection masks: our_indices_valid = 0x1, other_indices_valid = 0x3, srx_idx_max = 47, dst_idx_max = 0",
        "P0: do_indirection START: dim=0, last_indices=0x30, indirection_step=0x40",
        "P0: Before IVP_MULUSAN_2X32: address=0x1_1000, last_indices=0x30, indirection_step=0x40",
        "P0: After IVP_MULUSAN_2X32: address=0x1_1c00",
        "P0: Tensor shape before Batman: num_elem=[18,1,1,1,1] step_elem=[64,0,0,0,0]",
        "P0: shared_indirection_dim in Batman: 0",
        "P0: Generating 17 descriptors; ring_ndesc = 4096",
        *[f"P0: Descriptor generation loop index: [{lane}, 0, 0, 0, 0]" for lane in range(17)],
        # doorbells of engine 0, queue 0 (rings E11), low halves; S2M first (D29)
        "P0: Trigger DMA; sdma_bcast_base = 0x02020000, trigger addr = 0x02021038, mask = 0x00000001 n_desc=17",
        "P0: Trigger DMA; sdma_bcast_base = 0x02000000, trigger addr = 0x02001038, mask = 0x00000001 n_desc=17",
    ]


def test_lines_whose_text_is_not_known_stay_events():
    events, _ = run(gather())
    (increment,), (rewind,) = events.named("increment"), events.named("rewind")
    assert (increment.line, increment.args) == ("indirection.increment", (64, 64))
    assert (rewind.line, rewind.args) == ("indirection.rewind", (-17 * 64, -17 * 64))


def test_select_shows_the_nx_part_only():
    events, choices = run(gather(), log_stages="select", oob_skip_log="none")
    lines = render_log(events, CAYMAN, choices)
    assert lines[0].startswith("S: DGE software backend: ")
    assert all(line.startswith("S: push ") for line in lines[1:])


def test_the_pair_of_generates_can_be_shown():
    events, choices = run(gather(), generate_pairing="pair")
    pushes = [line for line in render_log(events, CAYMAN, choices) if "GENERATE" in line]
    assert [("RD" in line, "WR" in line) for line in pushes[:2]] == [(True, False), (False, True)]
    assert len(pushes) == 34


def test_a_negative_step_prints_as_two_complement_and_borrows_from_the_high_word():
    pair = gather()
    back = DgeShape(0x100000100, (2,), (-64,), 64, Dtype.FP32, True, False)
    out = DgeShape(0x100080000, (2,), (64,), 64, Dtype.FP32, False, False)
    indices = Indices(src=(0, 8), src_address=SBUF)
    events, choices = run(ShapePair(Kind.INDIRECT, back, out, 10, 1, 0, 0, None, indices, pair.opcode))
    lines = render_log(events, CAYMAN, choices)
    assert "P0: do_indirection START: dim=0, last_indices=0x8, indirection_step=0xffffffc0" in lines
    assert "P0: After IVP_MULUSAN_2X32: address=0x0_ffffff00" in lines
    masks = next(line for line in lines if "Indirection masks" in line)
    assert masks.endswith("srx_idx_max = 4294967295, dst_idx_max = 0")  # no bound


def test_channels_of_unequal_count_get_triggers_of_their_own():
    n, stride = 20, CAYMAN.partition_stride
    src = DgeShape(0x1000, (n,), (64,), 64, Dtype.FP32, True, False)
    dst = DgeShape(SBUF + 64, (n,), (stride,), 64, Dtype.FP32, False, True)
    indices = Indices(src=tuple(range(n)), src_address=SBUF)
    events, _ = run(ShapePair(Kind.INDIRECT, src, dst, 10, 1, 0, 0, None, indices, 0xBB))
    masks = [(event.data["leg"], event.args[2], event.args[3]) for event in events.named("trigger")]
    assert masks == [("S2M", 0b011, 7), ("S2M", 0b100, 6), ("M2S", 0b011, 7), ("M2S", 0b100, 6)]


def test_a_transpose_word_has_no_kind_line_but_its_tile_line():
    src = DgeShape(0x1000, (1, 1), (0, 0), 2, Dtype.BFLOAT16, True, False)
    dst = DgeShape(SBUF, (1, 1), (0, 0), 2, Dtype.BFLOAT16, False, True)
    pair = ShapePair(Kind.TRANSPOSE, src, dst, 10, 1, 0, 0, Tile(16, 128, 2, 256), None, 0xBD)
    events, choices = run(pair)
    lines = render_log(events, CAYMAN, choices)
    assert not any(line.startswith("P0: DGE ") for line in lines)
    assert "P0: tensor_reshape_transpose: tile_src_rows=16 tile_src_cols=128 dtype_size=2" in lines
    assert [event.data["kind"] for event in events.named("kind")] == ["TRANSPOSE"]


def test_gather_pattern():
    assert spray.gather_pattern(0xFFFF, 1, 0) == (0xFFFF, 0xFFFF)
    assert spray.gather_pattern(0xFFFF, 2, 0) == (0x5555, 0xFFFF)
    assert spray.gather_pattern(0xFFFF, 2, 1) == (0xAAAA, 0xFFFF)
    assert spray.gather_pattern(0x00F1, 4, 0) == (0x0011, 0x00F1)
    assert spray.gather_pattern(0x0007, 0, 0) == (0, 7)


def test_the_generation_loop_shows_the_indexed_dimension():
    assert spray.loop_index(0, 5) == (5, 0, 0, 0, 0)
    assert spray.loop_index(3, 5) == (0, 0, 0, 5, 0)

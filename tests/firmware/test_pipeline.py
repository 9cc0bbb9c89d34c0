"""Words through all stages: the worked programs, every pair of generation and mode, refusals."""

import pytest

from dgekit.core.choices import Choices
from dgekit.core.dtypes import Dtype
from dgekit.core.errors import Unspecified
from dgekit.core.events import STAGES
from dgekit.core.generations import GENERATIONS, generation_named
from dgekit.core.state import Availability, ShapeRegister, StateView
from dgekit.descriptors.batch import PacketKind
from dgekit.descriptors.expand import expand
from dgekit.firmware.values import Backend, Kind
from dgekit.words.codec import decode_word
from dgekit.words.resolve import resolve
from dgekit.words.structs import Addr8Immediate, Addr8TblImm

# isa-words 6.1 B and 6.3 D1, D2
WORD_B = bytes.fromhex(
    "b8100000000000000000000000 0a0100 00000000010000000100000080000000"
    "80000100040000000000000020000000 010000008000000080000100 04000a0a".replace(" ", "")
)
WORD_D1 = bytes.fromhex(
    "d4100000000000000000000000140102 00000000000000100100000080000000"
    "80004000020000000000000002000010 01000000400000004000800002000606".replace(" ", "")
)
WORD_D2 = bytes.fromhex("da" + "00" * 19 + "80000000" + "1080" + "00" * 38)


def test_the_copy_of_the_sample_neff(send):
    """spec README, worked: exactly these lines and these two descriptors."""
    run = send(decode_word(WORD_B), step_unit="elements", log_stages="select")
    assert run.log == [
        "S: DGE: Select backend Pool",
        "S: DGE $S[10]+=1@dmacomplete src=[0x0]@0x100000000[0x1,0x80][128,1] dst=[0x0]@0x2000000000[0x1,0x80][128,1] "
        "cast:0xa->0xa bounds:(0 0x100000000<=0x0, 0 0x2000000000<=0x0) compute_op: 0x0",
        "S: push GENERATE to DMA[0]: RD : addr=0x100000000, elem_size=4, sem_num=10",
        "S: push DIMPUSH to DMA[0]: [128,128][1,1]",
        "S: push DIMPUSH to DMA[0]: [1,1][128,128]",
    ]
    outcome = run.outcome
    assert (outcome.pair.semaphore, outcome.pair.sem_increment, outcome.issues) == (10, 1, ())
    batch = expand(outcome.work, generation_named("CAYMAN"), outcome.packet_bytes, barrier_last=False)
    (channel,) = batch.channels
    assert channel.m2s.tobytes().hex(" ") == "00 02 00 0c 03 00 08 01 00 00 00 00 01 00 00 00"  # ring id 0 in a batch
    assert channel.s2m.tobytes().hex(" ") == "00 02 00 00 00 00 00 00 00 00 00 00 20 00 00 00"


def test_the_out_queue_shows_the_destination(send):
    word = decode_word(WORD_B).replace(semaphore=11)
    run = send(word, step_unit="elements", log_stages="select", is_out_queue=True)
    assert run.log[2] == "S: push GENERATE to DMA[0]: WR : addr=0x2000000000, elem_size=4, sem_num=11"


def test_the_transpose_of_the_seed(send):
    """spec README, worked: 64 x 128 BF16, both tensors flat in partition 0."""
    choices = Choices({"step_unit": "elements", "xpose_walk": "elements"})
    places = {0: 0x2000000000, 2: 0x2000004000}
    resolved = resolve(decode_word(WORD_D1), decode_word(WORD_D2), places, choices)
    run = send(
        resolved.word, sem_increment=resolved.sem_increment, step_unit="elements", xpose_walk="elements",
        log_stages="select",
    )  # fmt: skip
    assert run.log == [
        "S: DGE: Select backend Pool",
        "S: DGE $S[20]+=1@dmacomplete src=[0x0]@0x2000000000[0x1,0x80][128,64] "
        "dst=[0x0]@0x2000004000[0x1,0x40][64,128] cast:0x6->0x6 "
        "bounds:(0 0x2000000000<=0x0, 0 0x2000004000<=0x0) compute_op: 0x0",
        "S: push GENERATE to DMA[0]: RD : addr=0x2000000000, elem_size=2, sem_num=20",
        "S: push DIMPUSH to DMA[0]: [128,64][1,1]",
        "S: push DIMPUSH to DMA[0]: [64,128][128,64]",
    ]
    assert [(issue.rule, issue.severity) for issue in run.outcome.issues] == [("isa.4.4.step32", "warning")]
    assert [part.kind for part in run.outcome.work] == [PacketKind.TRANSPOSE]


def test_the_order_of_the_stages(words, send):
    """pipeline 7.4: analyzed twice, assessed, select, bounds, dump, pushes."""
    run = send(words.load(8, priority=2))
    names = [(event.stage, event.name) for event in run.events]
    assert [name for _, name in names] == [
        "shapes", "analyzed", "analyzed", "assessed", "select", "passed", "dump", "generate", "generate", "dimpush",
        "dimpush",
    ]  # fmt: skip
    assert all(stage in STAGES for stage, _ in names)


EXPECTED = {  # D14 to D16: backend of (mode, kind)
    ("unknown", "direct"): Backend.POOL,
    ("unknown", "cast"): Backend.POOL,
    ("unknown", "transpose"): Backend.POOL,
    ("unknown", "indirect"): Backend.SOFTWARE,
    ("unknown", "gather_transpose"): Backend.SOFTWARE,
    ("hwdge", "direct"): Backend.RTL,
    ("hwdge", "cast"): Backend.NONE,
    ("hwdge", "transpose"): Backend.RTL,
    ("hwdge", "indirect"): Backend.NONE,
    ("hwdge", "gather_transpose"): Backend.NONE,
    **{("swdge", kind): Backend.SOFTWARE for kind in ("direct", "cast", "transpose", "indirect", "gather_transpose")},
}


def word_of(words, kind):
    if kind == "cast":
        return words.direct(dst_elem_size=8, out_dtype=Dtype.BFLOAT16)
    return getattr(words, kind)()


@pytest.mark.parametrize("gen", ["CAYMAN", "MARIANA", "MARIANA_PLUS"])
@pytest.mark.parametrize(("mode", "kind"), list(EXPECTED))
def test_every_pair_of_generation_and_mode(words, send, gen, mode, kind):
    state = StateView(memory=words.indices(*range(32)))
    outcome = send(word_of(words, kind), mode=mode, gen=gen, state=state, sem_increment=1).outcome
    backend = EXPECTED[mode, kind]
    assert outcome.backend is backend
    if backend is Backend.NONE:
        assert (outcome.status, outcome.work, outcome.program.ops) == ("refused", (), ())
        assert [issue.rule for issue in outcome.issues if issue.severity == "error"] == ["dec.D16"]
    else:
        assert outcome.status == "done"
        assert outcome.work and outcome.program.ops
    assert not outcome.fatal


@pytest.mark.parametrize("gen", ["SUNDA", "MAVERICK"])
def test_generations_without_a_selector_refuse_by_name(words, send, gen):
    outcome = send(words.direct(), gen=gen).outcome
    assert (outcome.status, outcome.issues[0].rule, outcome.issues[0].severity) == ("refused", "dec.D47", "error")
    assert outcome.issues[0].values == {"generation": gen, "modes": ["none"]}
    assert {g.name for g in GENERATIONS if not g.has_push_model} == {"SUNDA", "MAVERICK"}


def test_an_illegal_word_stops_the_sequencer(words, send):
    run = send(words.direct(src_step_elem=(4, 0), src_start_addr=Addr8Immediate(address=0, marker_bits=0x10)))
    assert (run.outcome.status, run.outcome.fatal) == ("refused", True)
    assert run.log == ["S: ErrorHandler : Illegal Instruction(0xb8)"]
    assert "isa.C6" in [issue.rule for issue in run.outcome.issues]


def test_decode_can_refuse_what_the_checks_let_pass(words, send):
    """The totals of a shape register are known only when it is read."""
    shape = ShapeRegister((3, 1, 1, 1), (16, 0, 0, 0))
    leg = Addr8Immediate(address=words.HBM, marker_bits=0x10)
    word = words.direct(src_start_addr=leg, src_step_elem=(0, 0), src_num_elem=(0, 0))
    run = send(word, state=StateView(shape_registers=(shape,) * 4))
    assert (run.outcome.fatal, run.outcome.issues[-1].rule) == (True, "pipeline.6.1")
    assert run.outcome.issues[-1].values == {"src": 48, "dst": 64, "unit": "bytes"}


def test_missing_state_is_refused_but_not_fatal(words, send):
    leg = Addr8TblImm(offset=0, table_entry_id=3)
    outcome = send(words.direct(src_start_addr=leg)).outcome
    assert (outcome.status, outcome.fatal, outcome.issues[0].rule) == ("refused", False, "pipeline.2.3")
    empty = send(words.direct(), state=StateView(dma_config=0)).outcome
    assert (empty.status, empty.issues[0].rule) == ("refused", "pipeline.1.6")


def test_an_indirect_word_on_pool_is_unspecified(words, send):
    with pytest.raises(Unspecified) as caught:
        send(
            words.indirect(), state=StateView(memory=words.indices(0, 1, 2, 3)),
            availability=Availability(True, False, False), capability_guard=False,
        )  # fmt: skip
    assert caught.value.rule == "dec.D16"


def test_packet_bytes_of_the_class(words, send):
    state = StateView(priority_bytes=(512, 1024))
    assert send(words.direct(priority=2), state=state).outcome.packet_bytes == 1024
    assert send(words.direct(), state=state).outcome.packet_bytes == 65536


def test_kind_line_of_q7(words, send):
    assert "P0: DGE DIRECT2D" not in send(words.direct()).log
    assert "P0: DGE DIRECT2D" in send(words.direct(), q7_kind_line="always").log
    assert "P0: DGE DIRECT2D" in send(words.direct(), mode="swdge").log


def test_no_increment_field_warns_once(words, send):
    outcome = send(words.transpose()).outcome
    assert (outcome.pair.kind, outcome.pair.sem_increment) == (Kind.TRANSPOSE, 1)
    assert [issue.rule for issue in outcome.issues] == ["dec.D5"]


def test_a_shape_register_copy_moves_four_dimensions(words, send):
    shape = ShapeRegister((2, 2, 2, 2), (16, 64, 256, 1024))
    leg = Addr8Immediate(address=words.HBM, marker_bits=0x10)
    word = words.direct(
        src_start_addr=leg, src_step_elem=(1, 0), src_num_elem=(0, 0), dst_num_elem=(16, 1), dst_step_elem=(16, 1)
    )
    state = StateView(shape_registers=(ShapeRegister(), shape, ShapeRegister(), ShapeRegister()))
    run = send(word, state=state, mode="swdge")
    (part,) = run.outcome.work
    assert part.src.starts.tolist() == [
        words.HBM + 64 * y + 256 * z + 1024 * w for w in range(2) for z in range(2) for y in range(2)
    ]
    assert part.dst.lengths.tolist() == [256]

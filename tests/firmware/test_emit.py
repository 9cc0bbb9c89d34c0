import pytest

from dgekit.core.dtypes import Dtype
from dgekit.core.errors import Unspecified
from dgekit.core.state import ShapeRegister, StateView
from dgekit.firmware.values import Backend, DimPush, Generate, RegWrite
from dgekit.words.structs import Addr8Immediate

A, B = 0x1000_0000, 0x1010_0000


def plain(words, **fields):
    """One channel: 4 x 3 elements of 16 bytes, HBM to HBM."""
    return words.direct(
        **{
            "src_num_elem": (4, 3), "dst_num_elem": (4, 3), "src_step_elem": (16, 100), "dst_step_elem": (32, -200),
            "dst_start_addr": B + 400, **fields,
        }
    )  # fmt: skip


def test_pool_pushes_two_dimensions_behind_both_legs(words, send):
    outcome = send(plain(words)).outcome
    assert outcome.backend is Backend.POOL
    assert outcome.program.ops == (
        Generate(0, "RD", A, 16, 10),
        Generate(0, "WR", B + 400, 16, 10),
        DimPush(0, (4, 4), (16, 32)),
        DimPush(0, (3, 3), (100, -200)),
    )


def test_rtl_pushes_seven_dimensions(words, send):
    outcome = send(plain(words), mode="hwdge").outcome
    assert outcome.backend is Backend.RTL
    assert outcome.program.ops[2:] == (
        DimPush(0, (4, 4), (16, 32)),
        DimPush(0, (3, 3), (100, -200)),
        *(DimPush(0, (1, 1), (0, 0)),) * 5,
    )


def test_software_pushes_four_dimensions(words, send):
    outcome = send(plain(words), mode="swdge").outcome
    assert outcome.backend is Backend.SOFTWARE
    assert outcome.program.ops[2:] == (
        DimPush(0, (4, 4), (16, 32)),
        DimPush(0, (3, 3), (100, -200)),
        *(DimPush(0, (1, 1), (0, 0)),) * 2,
    )


def test_outer_first(words, send):
    ops = send(plain(words), dimpush_order="outer_first").outcome.program.ops
    assert [op.num for op in ops[2:]] == [(3, 3), (4, 4)]
    rtl = send(plain(words), mode="hwdge", dimpush_order="outer_first").outcome.program.ops
    assert [op.num for op in rtl[2:]] == [(1, 1)] * 5 + [(3, 3), (4, 4)]


def test_single_and_pair_logging(words, send):
    """D18, D50: the program always holds both legs; the log shows one, or RD and WR before the dimensions."""
    single = send(plain(words), log_stages="select").log[2:]
    assert [line.split(": ")[1] for line in single] == [
        "push GENERATE to DMA[0]", "push DIMPUSH to DMA[0]", "push DIMPUSH to DMA[0]"
    ]  # fmt: skip
    pair = send(plain(words), log_stages="select", generate_pairing="pair").log[2:]
    assert pair[0] == f"S: push GENERATE to DMA[0]: RD : addr={A:#x}, elem_size=16, sem_num=10"
    assert pair[1] == f"S: push GENERATE to DMA[0]: WR : addr={B + 400:#x}, elem_size=16, sem_num=10"
    assert pair[2:] == single[1:]


@pytest.mark.parametrize(
    ("src", "dst", "out_queue", "leg"),
    [
        ("HBM", "HBM", False, "RD"),
        ("HBM", "SBUF", False, "RD"),
        ("SBUF", "HBM", False, "WR"),
        ("SBUF", "SBUF", False, "RD"),
        ("HBM", "HBM", True, "WR"),
    ],
)
def test_the_leg_shown_alone(words, send, src, dst, out_queue, leg):
    places = {"HBM": words.HBM, "SBUF": words.SBUF}
    word = words.direct(src_start_addr=places[src], dst_start_addr=places[dst] + 0x1000)
    run = send(word, log_stages="select", is_out_queue=out_queue)
    shown = [event.args[1] for event in run.events if event.name == "generate" and event.line]
    assert shown == [leg]


@pytest.mark.parametrize(
    ("gen", "rows", "rule", "per_channel"),
    [
        ("CAYMAN", 128, "broadcast", True),
        ("CAYMAN", 8, "broadcast", False),
        ("MARIANA", 128, "broadcast", True),
        ("MARIANA_PLUS", 128, "broadcast", False),
        ("CAYMAN", 8, "always", True),
        ("MARIANA_PLUS", 8, "always", False),
        ("CAYMAN", 128, "never", False),
    ],
)
def test_register_writes(words, send, gen, rows, rule, per_channel):
    run = send(words.load(rows), gen=gen, regwrite=rule)
    channels = run.outcome.plan.num_dma
    written = [op.dma for op in run.outcome.program.ops if isinstance(op, RegWrite)]
    assert written == (list(range(channels)) if per_channel else [])
    assert sum("REGWRITE" in line for line in run.log) == len(written)
    assert all(isinstance(run.outcome.program.channel(dma)[0], RegWrite) for dma in written)


def test_dump_shows_the_whole_and_pushes_the_shares(words, send):
    """D21: 128 rows in the dump, 8 in each channel's pushes."""
    run = send(words.load(), log_stages="select")
    assert run.log[1].startswith(
        f"S: DGE $S[10]+=1@dmacomplete src=[0x0]@{words.HBM:#x}[0x100,0x1][128,1] dst=[0x0]@{words.SBUF:#x}[0x40000,0x1][128,1]"
    )
    assert run.log[2:6] == [
        "S: push REGWRITE to DMA[0]",
        f"S: push GENERATE to DMA[0]: RD : addr={words.HBM:#x}, elem_size=256, sem_num=10",
        "S: push DIMPUSH to DMA[0]: [8,8][256,262144]",
        "S: push DIMPUSH to DMA[0]: [1,1][1,1]",
    ]
    assert len(run.log) == 2 + 16 * 4


def test_rtl_dump(words, send):
    run = send(plain(words), mode="hwdge", log_stages="select")
    pads = "0x0,0x0,0x0,0x0,0x0|"
    ones = "1,1,1,1,1|"
    assert run.log[:2] == [
        "S: DGE: Select backend RTL",
        f"S: DGE RTL backend: $S[10]+=1@dmacomplete src=[0x0]@{A:#x}[{pads}0x10,0x64][{ones}4,3] "
        f"dst=[0x0]@{B + 400:#x}[{pads}0x20,0xffffff38][{ones}4,3]",
    ]


def test_software_dump(words, send):
    run = send(plain(words), mode="swdge", log_stages="select")
    (line,) = [line for line in run.log if "software backend" in line]
    assert line == (
        f"S: DGE software backend: $S[10]+=1@dmacomplete src=[0x0]@{A:#x}[0x10,0x64,0x0,0x0][4,3,1,1] "
        f"dst=[0x0]@{B + 400:#x}[0x20,0xffffff38,0x0,0x0][4,3,1,1] cast:0xa->0xa, indirection_dim=0x0, reshape_kind=0x0"
    )


def test_cast_compute_and_bounds_in_the_pool_dump(words, send):
    word = plain(words, dst_elem_size=8, out_dtype=Dtype.BFLOAT16, src_bound_reg=words.bound(3, silent=True))
    run = send(word, state=StateView(registers={3: 0x2000_0000}))
    assert f"src=[0xc3]@{A:#x}" in run.log[-4]
    assert run.log[-4].endswith(
        f"cast:0xa->0x6 bounds:(1 {A + 248:#x}<=0x20000000, 0 {B + 400:#x}<=0x0) compute_op: 0x0"
    )
    add = send(plain(words, compute_op=1))
    assert add.log[-4].endswith("compute_op: 0x1")


def test_bracket_choice(words, send):
    run = send(words.direct(elem=65536), dump_bracket="elem_size")
    assert "src=[0x0]@" in run.log[-4]  # the u16 of 65536 (D49)
    run = send(words.direct(), dump_bracket="elem_size")
    assert "src=[0x10]@" in run.log[-4]


def test_a_65536_byte_element_logs_0(words, send):
    run = send(words.direct(elem=65536))
    assert "elem_size=0, sem_num" in run.log[-3]
    assert run.outcome.program.ops[0].elem_size == 65536


def test_dump_after_the_pushes(words, send):
    log = send(plain(words), dump_position="after_push", log_stages="select").log
    assert "dmacomplete" in log[-1]
    assert "push" in log[1]


def test_dump_index_as_shape_register(words, send):
    word = plain(
        words, src_start_addr=Addr8Immediate(address=A, marker_bits=0x10), src_step_elem=(2, 0), src_num_elem=(0, 0)
    )
    shapes = (ShapeRegister(),) * 2 + (ShapeRegister((4, 3, 1, 1), (16, 100, 0, 0)), ShapeRegister())
    run = send(word, state=StateView(shape_registers=shapes), dump_index="shape_register")
    assert run.args("dump")[0][:2] == (2, 1)


def both_from_registers(words, src, dst):
    leg = {"marker_bits": 0x10}
    word = words.direct(
        src_start_addr=Addr8Immediate(address=A, **leg), src_step_elem=(0, 0), src_num_elem=(0, 0),
        dst_start_addr=Addr8Immediate(address=B, **leg), dst_step_elem=(1, 0), dst_num_elem=(0, 0),
    )  # fmt: skip
    return word, StateView(shape_registers=(src, dst, ShapeRegister(), ShapeRegister()))


def test_dimensions_beyond_the_form_repeat_the_group(words, send):
    """pipeline 5.2: the inner two dimensions fold into one descriptor, the remaining levels iterate."""
    shape = ShapeRegister((4, 1, 2, 3), (16, 0, 100, 1000))
    word, state = both_from_registers(words, shape, ShapeRegister((4, 1, 2, 3), (16, 0, 64, 128)))
    pool = send(word, state=state).outcome
    generated = [(op.dir, op.addr) for op in pool.program.ops if isinstance(op, Generate)]
    assert generated == [
        pair
        for z in range(3)
        for y in range(2)
        for pair in (("RD", A + 100 * y + 1000 * z), ("WR", B + 64 * y + 128 * z))
    ]
    assert [op.num for op in pool.program.ops if isinstance(op, DimPush)] == [(4, 4), (1, 1)] * 6
    rtl = send(word, state=state, mode="hwdge").outcome.program.ops
    assert [op.num for op in rtl[2:]] == [(4, 4), (1, 1), (2, 2), (3, 3), (1, 1), (1, 1), (1, 1)]


def test_outer_dimensions_that_do_not_pair(words, send):
    word, state = both_from_registers(
        words, ShapeRegister((4, 1, 6, 1), (16, 0, 64, 0)), ShapeRegister((12, 1, 2, 1), (16, 0, 192, 0))
    )
    with pytest.raises(Unspecified) as caught:
        send(word, state=state)
    assert caught.value.rule == "pipeline.5.2"


def test_too_many_outer_positions(words, send):
    shape = ShapeRegister((1, 1, 60000, 2), (16, 0, 16, 0))
    word, state = both_from_registers(words, shape, shape)
    with pytest.raises(Unspecified) as caught:
        send(word, state=state)
    assert "positions" in caught.value.message

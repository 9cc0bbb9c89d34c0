import pytest

from dgekit.core.dtypes import Dtype
from dgekit.core.state import StateView
from dgekit.firmware.values import Backend, DimPush, Generate, Kind


def tiled(words, **fields):
    """Three tiles of 16 x 128 BF16, SBUF to SBUF."""
    return words.transpose(
        **{
            "src_start_addr": words.SBUF + 0x8000, "src_num_elem": (3, 1), "dst_num_elem": (3, 1), **fields,
        }
    )  # fmt: skip


def go(send, word, **more):
    return send(word, gen=more.pop("gen", "MARIANA_PLUS"), sem_increment=1, **more)


def test_one_generate_a_leg_for_each_tile_and_no_analysis(words, send):
    run = go(send, tiled(words))
    outcome = run.outcome
    assert (outcome.status, outcome.backend, outcome.plan.kind) == ("done", Backend.FAST, Kind.SB2SB)
    for tile in range(3):
        src, dst = words.SBUF + 0x8000 + 4096 * tile, words.SBUF + 32 * tile
        assert outcome.program.channel(tile) == (
            Generate(tile, "RD", src, 2, 20),
            Generate(tile, "WR", dst, 2, 20),
            DimPush(tile, (1, 1), (4096, 32)),
            DimPush(tile, (1, 1), (1, 1)),
        )
    assert all(line.startswith("S: push") for line in run.log)
    assert not any("REGWRITE" in line for line in run.log)


def test_every_tile_takes_credits(words, send):
    run = go(send, tiled(words), state=StateView(dma_config=0x0001_0001), ring_size=300)
    credits = [event.data for event in run.events if event.name == "credit"]
    assert [(c["needed"], c["free"], c["waited"]) for c in credits] == [
        (128, 300, False), (128, 172, False), (128, 44, True)
    ]  # fmt: skip
    off = go(send, tiled(words), credits="none")
    assert not off.args("credit")


def test_a_ring_smaller_than_a_tile_does_not_stall(words, send):
    run = go(send, tiled(words), ring_size=32)
    assert [event.data["needed"] for event in run.events if event.name == "credit"] == [32] * 3


@pytest.mark.parametrize(
    "change",
    [
        {"src_start_addr": 0x1000_0000},  # an HBM leg
        {"tile_src_row_step": 128},  # rows overlap
        {"tile_src_row_step": -256, "src_start_addr": 0x20_0000_0000 + 0xC000},
        {"src_step_elem": (-4096, 1), "src_start_addr": 0x20_0000_0000 + 0xC000},
        {"src_num_elem": (3, 2), "dst_num_elem": (2, 3), "dst_step_elem": (32, 64)},
    ],
)
def test_what_falls_back(words, send, change):
    outcome = go(send, tiled(words, **change)).outcome
    assert (outcome.status, outcome.backend) == ("done", Backend.POOL)


def test_other_generations_modes_and_kinds_do_not_take_it(words, send):
    assert go(send, tiled(words), gen="MARIANA").outcome.backend is Backend.POOL
    assert go(send, tiled(words), mode="swdge").outcome.backend is Backend.SOFTWARE
    assert go(send, tiled(words), mode="hwdge").outcome.backend is Backend.FAST
    assert go(send, words.direct(dtype=Dtype.BFLOAT16)).outcome.backend is Backend.POOL


def test_bounds_hold_here_too(words, send):
    run = go(send, tiled(words, src_bound_reg=words.bound(3)), state=StateView(registers={3: 0}))
    assert (run.outcome.status, run.outcome.work) == ("skipped", ())
    assert run.log == ["S: DGE: Failed bounds check. $S[20]+=1."]


def test_more_tiles_than_an_sbuf_holds_take_the_ordinary_way(words, send):
    word = tiled(words, src_num_elem=(300, 300), dst_num_elem=(300, 300), src_step_elem=(0, 0), dst_step_elem=(0, 0))
    with_limit = go(send, word, state=StateView(dma_config=0x0001_0001), mode="unknown")
    assert with_limit.outcome.backend is Backend.POOL

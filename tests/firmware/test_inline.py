import pytest

from dgekit.core.choices import Choices
from dgekit.core.errors import IllegalWord, Unspecified, Unsupported
from dgekit.core.events import EventLog
from dgekit.core.generations import generation_named
from dgekit.core.state import StateView
from dgekit.firmware import inline
from dgekit.firmware.values import Backend
from dgekit.transfers.transfer import Update, Wait
from dgekit.words.codec import decode_word
from dgekit.words.enums import AddrMode, EngineCount, SemaUpdateMode, WaitMode
from dgekit.words.structs import (
    DescFlags,
    DescriptorRaw,
    DmaAddrImm64,
    DmaAddrModePair,
    DmaAddrStruct,
    DmaCopy2D,
    DmaEngineConfig,
    DmaFlags,
    DmaImmediate,
    DmaSemaUpdates,
)

SRC, DST = 0x1_0000_0000, 0x20_0000_0000
# isa-words 6.6, word I: wait until semaphore 7 >= 1, engines 2..3, queue 3, increment semaphore 10 on write done
WORD_I = bytes.fromhex(
    "b9100000010000000705220c00100000 00000000010000000100000080000000"
    "8000010004000a000000000020000000 01000000800000008000010004000000".replace(" ", "")
)
# isa-words 6.6, word H: one descriptor, an encoding check only (D8)
WORD_H = bytes.fromhex("ba10000000000000000000 0c01000000 00020000800000000000000001000000".replace(" ", "")) + bytes(
    32
)


def bd(length, pointer, word1=0x0108_0003):
    word0 = 0x0C00_0000 | length % 65536
    return word0.to_bytes(4, "little") + word1.to_bytes(4, "little") + pointer.to_bytes(8, "little")


def immediate(*raw, **fields):
    listed = [DescriptorRaw(bytes=data) for data in raw] + [DescriptorRaw()] * (3 - len(raw))
    base = {
        "dma_engines": DmaEngineConfig(start_id=5), "dma_flags": DmaFlags(queue_id=3),
        "descriptor_flags": DescFlags(num_descriptors=len(raw)), "descriptor_imm": tuple(listed),
    }  # fmt: skip
    return DmaImmediate(**{**base, **fields})


def copy2d(**fields):
    base = {
        "addr_mode": DmaAddrModePair(), "src_start_addr": DmaAddrImm64(address=SRC),
        "dst_start_addr": DmaAddrImm64(address=DST), "src_step_elem": (64, 1024), "dst_step_elem": (128, 4096),
        "src_num_elem": (2, 8), "dst_num_elem": (2, 8), "src_elem_size": 64, "dst_elem_size": 64,
        "dma_engines": DmaEngineConfig(start_id=4, engine_count=EngineCount.FOUR),
    }  # fmt: skip
    return DmaCopy2D(**{**base, **fields})


def test_the_worked_copy(send):
    outcome = send(decode_word(WORD_I), gen="MAVERICK", step_unit="elements").outcome
    assert (outcome.status, outcome.backend) == ("done", Backend.INLINE)
    assert outcome.waits == (Wait(7, 1, "ge"),)
    assert outcome.updates == (Update(10, "add", 1),)
    assert [(p.dma, p.queue, p.src.starts[0], p.dst.starts[0], p.src.nbytes) for p in outcome.work] == [
        (2, 3, SRC, DST, 256),
        (3, 3, SRC + 256, DST + 256, 256),
    ]


def test_rows_go_round_the_engines_it_names(send):
    outcome = send(copy2d(), gen="MAVERICK").outcome
    assert [p.dma for p in outcome.work] == [4, 5, 6, 7]
    for k, part in enumerate(outcome.work):
        rows = range(2 * k, 2 * k + 2)
        assert part.src.starts.tolist() == [SRC + 1024 * y for y in rows]
        assert part.dst.starts.tolist() == [DST + 4096 * y + 128 * x for y in rows for x in range(2)]


def test_legs_of_other_counts_use_the_first_engine(send):
    outcome = send(copy2d(src_num_elem=(16, 1)), gen="MAVERICK").outcome
    assert [p.dma for p in outcome.work] == [4]


def test_register_pair_address(send):
    word = copy2d(addr_mode=DmaAddrModePair(src_addr_mode=AddrMode.REG_PAIR), src_start_addr=DmaAddrStruct(base_reg=8))
    outcome = send(word, gen="MAVERICK", state=StateView(registers={8: 0x1000, 9: 0x2})).outcome
    assert outcome.work[0].src.starts[0] == 0x2_0000_1000


@pytest.mark.parametrize("mode", [m for m in AddrMode if m not in (AddrMode.IMM64, AddrMode.REG_PAIR)])
def test_the_other_ten_modes_are_not_described(send, mode):
    word = copy2d(addr_mode=DmaAddrModePair(dst_addr_mode=mode), dst_start_addr=DmaAddrStruct(base_reg=8))
    with pytest.raises(Unspecified) as caught:
        send(word, gen="MAVERICK")
    assert (caught.value.rule, caught.value.values) == ("isa.8.33", {"addr_mode": mode})


def test_two_descriptors_are_source_and_destination(send):
    run = send(immediate(bd(512, SRC), bd(512, DST, 0)), gen="MAVERICK")
    (part,) = run.outcome.work
    assert (part.dma, part.queue) == (5, 3)
    assert (part.src.starts.tolist(), part.dst.starts.tolist()) == ([SRC], [DST])
    assert part.src.nbytes == part.dst.nbytes == 512
    raw = [event.data["raw"] for event in run.events if event.name == "inline_descriptor"]
    assert raw == [bd(512, SRC).hex(), bd(512, DST, 0).hex()]


def test_descriptors_from_registers(send):
    src, dst = bd(65536, SRC), bd(65536, DST, 0)
    registers = {20 + i: int.from_bytes(src[4 * i : 4 * i + 4], "little") for i in range(4)}
    word = immediate(
        bytes(16), dst, descriptor_flags=DescFlags(num_descriptors=2, desc0_src=1), descriptor_reg=(20, 0, 0)
    )
    (part,) = send(word, gen="MAVERICK", state=StateView(registers=registers)).outcome.work
    assert (part.src.starts.tolist(), part.src.nbytes) == ([SRC], 65536)


@pytest.mark.parametrize("count", [1, 3])
def test_one_or_three_descriptors_are_not_described(send, count):
    with pytest.raises(Unspecified) as caught:
        send(immediate(*[bd(512, SRC)] * count), gen="MAVERICK")
    assert caught.value.rule == "isa.3.11.legs"
    with pytest.raises(Unspecified):
        send(immediate(bd(512, SRC), bd(512, DST)), gen="MAVERICK", inline_legs="refuse")


def test_word_h_is_an_encoding_check_only(send):
    with pytest.raises(Unspecified):
        send(decode_word(WORD_H), gen="MAVERICK")


def test_a_compute_descriptor_is_not_run(send):
    with pytest.raises(Unsupported) as caught:
        send(immediate(bd(512, SRC, 0x0200_0000), bd(512, DST)), gen="MAVERICK")
    assert caught.value.rule == "isa.3.11.copy"


@pytest.mark.parametrize(
    ("word", "rule"),
    [
        (immediate(), "isa.4.7.num_descriptors"),
        (immediate(bd(512, SRC), bd(256, DST)), "pipeline.6.1"),
        (immediate(bd(4, 0), bd(4, 0), descriptor_flags=DescFlags(num_descriptors=2, desc0_src=1), descriptor_reg=(61, 0, 0)), "isa.C8"),
        (copy2d(src_elem_size=32), "pipeline.6.1"),
        (copy2d(dma_engines=DmaEngineConfig(start_id=6, engine_count=EngineCount.FOUR)), "isa.4.7.engines"),
        (copy2d(wait_sema_mode=WaitMode.WAIT_FOR_EVT_SET), "isa.4.7.wait_mode"),
        (copy2d(wait_sema_mode=WaitMode.INVALID), "isa.4.7.wait_mode"),
        (
            copy2d(
                sema_update_mode=DmaSemaUpdates(wr_done=SemaUpdateMode.LOCAL_SEM_INC), wr_done_sema_update_idx=256
            ),
            "isa.2.11.update",
        ),
        (
            copy2d(addr_mode=DmaAddrModePair(src_addr_mode=AddrMode.REG_PAIR), src_start_addr=DmaAddrStruct(base_reg=63)),
            "isa.C8",
        ),
    ],
)  # fmt: skip
def test_illegal_words(send, word, rule):
    outcome = send(word, gen="MAVERICK").outcome
    assert (outcome.status, outcome.fatal) == ("refused", True)
    assert rule in [issue.rule for issue in outcome.issues]


@pytest.mark.parametrize("mode", [WaitMode.WAIT_FOR_SEM_GE_REG, WaitMode.WAIT_FOR_SEM_EQ_REG_OFFSET])
def test_register_waits_are_not_described(send, mode):
    with pytest.raises(Unspecified) as caught:
        send(copy2d(wait_sema_mode=mode), gen="MAVERICK")
    assert caught.value.rule == "isa.8.33"


@pytest.mark.parametrize("mode", [m for m in SemaUpdateMode if m > SemaUpdateMode.LOCAL_SEM_INC])
def test_other_updates_are_not_described(send, mode):
    with pytest.raises(Unspecified) as caught:
        send(copy2d(sema_update_mode=DmaSemaUpdates(rd_done=mode)), gen="MAVERICK")
    assert caught.value.rule == "isa.2.11.update"


@pytest.mark.parametrize("gen", ["SUNDA", "CAYMAN", "MARIANA", "MARIANA_PLUS"])
def test_only_maverick_has_them(send, gen):
    outcome = send(copy2d(), gen=gen).outcome
    assert (outcome.status, outcome.issues[0].rule) == ("refused", "isa.7.word")


@pytest.mark.parametrize(
    ("word", "gen", "rule"), [(copy2d(), "CAYMAN", "isa.7.word"), (immediate(), "MAVERICK", "isa.4.7.num_descriptors")]
)
def test_the_stage_alone_refuses_too(word, gen, rule):
    with pytest.raises(IllegalWord) as caught:
        inline.run(word, StateView(), generation_named(gen), Choices(), EventLog())
    assert caught.value.rule == rule

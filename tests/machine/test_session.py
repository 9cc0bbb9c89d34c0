"""Programs that stop on the way: what is refused, held back, never reached, and what a word waits for."""

import numpy as np
import pytest

import dgekit
from dgekit.core.errors import LoweringError
from dgekit.frontends.toml_file import loads
from dgekit.machine.session import run_workload
from dgekit.words.enums import WaitMode
from dgekit.words.structs import DmaAddrImm64, DmaAddrModePair, DmaCopy2D, DmaDirect2D

TENSORS = """
[tensors.x]
space = "hbm"
shape = [4, 16]
dtype = "uint8"
init = "arange"
[tensors.y]
space = "sbuf"
shape = [4, 16]
dtype = "uint8"
init = "zeros"
"""
COPY = '[[transfers]]\nname = "{}"\nop = "copy"\nsrc = "x"\ndst = "y"\nsemaphore = 10\n'


def run(text):
    return run_workload(loads(text))


def rules(result):
    return [issue.rule for issue in result.issues]


def test_a_refused_program_changes_no_byte():
    text = TENSORS + COPY.format("good") + COPY.format("bad").replace('dst = "y"', 'dst = { tensor = "y", offset = 1 }')
    result, session = run(text)
    good, bad = result.transfers
    assert (good.status, bad.status) == ("skipped", "refused")
    assert rules(good) == ["run.refused"]
    assert "bad" in good.issues[0].message
    assert not session.tensor_array("y").any() and result.semaphores == {}
    assert not result.ok


def test_what_stands_behind_an_illegal_word_never_runs():
    """The sequencer stops on its illegal-instruction path (pipeline 6.2); other engines go on."""
    word = DmaDirect2D(semaphore=1, src_elem_size=4, dst_elem_size=4, src_num_elem=(5, 1)).encode().hex()
    text = TENSORS + f'[[transfers]]\nname = "w"\nword = "{word}"\n' + COPY.format("behind")
    result, session = run(text + COPY.format("elsewhere") + 'engine = "act"\n')
    word_result, behind, elsewhere = result.transfers
    assert (word_result.status, behind.status, elsewhere.status) == ("refused", "skipped", "done")
    assert rules(behind) == ["run.not_reached"]
    assert behind.issues[0].values == {"engine": "pool"}
    assert session.tensor_array("y").tolist() == session.tensor_array("x").tolist()
    assert result.semaphores == {10: 1}


def test_a_program_that_waits_for_itself():
    result, session = run(TENSORS + COPY.format("a") + "wait = [{ semaphore = 10, at_least = 1 }]\n")
    assert [issue.rule for issue in result.issues] == ["run.deadlock"]
    assert result.transfers[0].status == "skipped"
    assert not session.tensor_array("y").any()


@pytest.mark.parametrize("text", ["00" * 64 + "11", "", "b810" + "00" * 30])
def test_bytes_that_are_no_words(text):
    done = dgekit.Device("trn2").run_words(text)
    assert [issue.rule for issue in done.issues] == ["isa.stream"]
    assert done.status == "refused"


def test_a_word_that_waits_for_what_does_not_hold():
    """MAVERICK's inline words carry their own wait; nothing else runs meanwhile that could make it true."""
    device = dgekit.Device("trn4")
    x = device.hbm(np.arange(64, dtype=np.uint8), name="x")
    y = device.hbm(np.zeros(64, np.uint8), name="y", address=0x10010000)
    word = DmaCopy2D(
        wait_sema_mode=WaitMode.WAIT_FOR_SEM_GE_IMM, wait_sema_idx=3, wait_sema_value=2, addr_mode=DmaAddrModePair(),
        src_start_addr=DmaAddrImm64(address=0x10000000), dst_start_addr=DmaAddrImm64(address=0x10010000),
        src_step_elem=(1, 1), dst_step_elem=(1, 1), src_num_elem=(1, 1), dst_num_elem=(1, 1),
        src_elem_size=64, dst_elem_size=64,
    ).encode()  # fmt: skip
    held = device.run_words(word, mode="none")
    assert (held.status, [issue.rule for issue in held.issues if issue.severity == "error"]) == (
        "refused",
        ["run.wait"],
    )
    assert not y.numpy().any()
    device.session.machine.semaphores.set(3, 2)
    assert device.run_words(word, mode="none").status == "done"
    assert y.numpy().tolist() == x.numpy().tolist()


def test_steps_of_shape_registers_have_a_width():
    """pipeline 2.4: the dump prints 16 bits, the working state holds 32; which the file has is a choice."""
    shape = ((4, 1, 1, 1), (70000, 1, 1, 1))
    with pytest.raises(LoweringError, match="step 70000 does not fit the 16-bit steps of shape register 1") as caught:
        dgekit.Device("trn2").set_shape_register(1, *shape)
    assert caught.value.rule == "pipeline.2.4"
    wide = dgekit.Device("trn2", {"shape_reg_width": "32"})
    wide.set_shape_register(1, *shape)
    assert wide.session.state_for(0, {}).shape_registers[1].step[0] == 70000
    for edge in (0xFFFF, -0x8000):
        dgekit.Device("trn2").set_shape_register(1, (4, 1, 1, 1), (edge, 1, 1, 1))


@pytest.mark.parametrize(("sem_mode", "total"), [("once", 3), ("per_engine", 3 * 16)])
def test_how_often_a_transfer_increments(sem_mode, total):
    """Decision D33: 128 rows take all 16 engines."""
    device = dgekit.Device("trn2", {"sem_mode": sem_mode})
    x = device.hbm(np.ones((128, 16), np.uint8), name="x")
    y = device.sbuf((128, 16), "uint8", name="y")
    assert device.copy(y, x, semaphore=10, increment=3).status == "done"
    assert device.semaphores == {10: total}

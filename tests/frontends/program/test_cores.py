"""Cores in transfer files: which one executes a word, whose semaphores a wait names, the device's routing id."""

from __future__ import annotations

import numpy as np
import pytest

from dgekit.core.errors import InputError
from dgekit.frontends.load import load_program
from dgekit.frontends.toml_file import loads
from dgekit.machine.session import run_workload
from dgekit.transfers.transfer import Update, Wait
from dgekit.words.structs import Events, ExtendedRdmaDescGen, ExtendedRdmaDescStart, UpdateMode, WaitMode

GATED = Events(
    wait_mode=WaitMode.WAIT_FOR_SEM_GE_IMM, wait_idx=7, update_mode=UpdateMode.SEM_ADD_IMM_READ, update_idx=9,
    semaphore_value=3,
)  # fmt: skip


def word(**fields: object) -> str:
    return ExtendedRdmaDescStart(**fields).encode().hex()


@pytest.mark.parametrize(("core", "own"), [("", 0), ("core = 5\n", 5)])
def test_waits_and_updates_of_a_word_are_those_of_its_core(core, own):
    waits = "wait = [{ semaphore = 1, at_least = 2 }, { semaphore = 1, at_least = 2, core = 3 }]\n"
    (item,) = loads(f'[[transfers]]\nword = "{word(events=GATED)}"\n{core}{waits}').items
    assert item.core == (own if core else None)
    assert item.wait == (Wait(1, 2, core=own), Wait(1, 2, core=3), Wait(7, 3, core=own))
    assert item.updates == (Update(9, "add", 3, core=own),)


def test_only_words_name_a_core():
    tensors = '[tensors.x]\nspace = "hbm"\nshape = [4]\ndtype = "uint8"\n'
    with pytest.raises(InputError) as refused:
        loads(f'{tensors}[[transfers]]\nsrc = "x"\ndst = "x"\ncore = 1\n')
    assert refused.value.rule == "toml.conflict" and refused.value.where.endswith("transfers[0].core")
    item = loads(
        f'{tensors}[[transfers]]\nsrc = "x"\ndst = "x"\nwait = [{{ semaphore = 1, at_least = 2, core = 6 }}]\n'
    )
    assert item.items[0].wait == (Wait(1, 2, core=6),)


def test_the_routing_id_of_the_device():
    generate = ExtendedRdmaDescGen(remote_core_id=1, remote_routing_id=63, dma_engine_mask=1, free_dim_bytes=8)
    text = f'[[transfers]]\nword = "{generate.encode().hex()}"\n[[transfers]]\nword = "{word()}"\n'
    result, _ = run_workload(loads(f"chip_id = 63\n{text}"))
    assert result.ok and result.core_semaphores == {1: {0: 1}} and dict(result.semaphores) == {0: 1}
    result, _ = run_workload(loads(text))
    assert result.transfers[0].issues[-1].rule == "fabric.unknown"
    with pytest.raises(InputError):
        loads("chip_id = 64\n")


def test_a_wait_at_another_core_holds_a_transfer_back_until_the_leg_is_done():
    generate = ExtendedRdmaDescGen(remote_sem=21, remote_core_id=1, dma_engine_mask=3, free_dim_bytes=16)
    text = f"""
[tensors.mine]
space = "sbuf"
shape = [128, 16]
dtype = "uint8"
partition = 0
offset = 0
init = "random"
[tensors.theirs]
space = "sbuf"
core = 1
shape = [128, 16]
dtype = "uint8"
partition = 0
offset = 0
[tensors.seen]
space = "hbm"
shape = [128, 16]
dtype = "uint8"
[[transfers]]
name = "look"
engine = "act"
src = "theirs"
dst = "seen"
wait = [{{ semaphore = 21, at_least = 2, core = 1, decrement = true }}]
[[transfers]]
word = "{generate.encode().hex()}"
[[transfers]]
word = "{word()}"
"""
    result, session = run_workload(loads(text))
    assert result.ok, result.issues
    assert np.array_equal(session.tensor_array("seen"), session.tensor_array("mine"))
    assert result.core_semaphores == {}  # decremented back to 0


def test_bare_words_wait_as_their_events_say():
    loaded = load_program(bytes.fromhex(word(events=GATED)), "words.bin")
    assert loaded.items[0].wait == (Wait(7, 3),) and loaded.items[0].updates == (Update(9, "add", 3),)

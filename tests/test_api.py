"""The facade: words in and out, and a device to try things on."""

import numpy as np
import pytest

import dgekit
from dgekit.core.errors import DgeError, InputError, UsageError
from dgekit.words.structs import Addr8Immediate, Addr8Reg, Addr8TblImm, DmaDirect2D, Dtype


def refused(action):
    with pytest.raises(DgeError) as caught:
        action()
    return caught.value.rule


def test_the_public_names_are_there_and_no_other():
    assert {name for name in dir(dgekit) if not name.startswith("_")} == set(dgekit.__all__)
    for name in dgekit.__all__:
        assert getattr(dgekit, name).__doc__
    with pytest.raises(AttributeError, match="nothing"):
        _ = dgekit.nothing


def test_words_as_bytes_and_as_hex():
    word = DmaDirect2D(semaphore=10, in_dtype=Dtype.FP32)
    data = dgekit.encode(word)
    assert dgekit.decode(data) == dgekit.decode(data.hex(" ")) == word
    assert [i.rule for i in dgekit.check(data.hex())] == [i.rule for i in dgekit.check(word, "trn2")]


def test_refusals_of_the_facade(tmp_path):
    device = dgekit.Device("trn2")
    x = device.hbm(np.zeros((4, 4), np.uint8), name="x")
    assert refused(lambda: dgekit.decode("no hex")) == "input.hex"
    assert refused(lambda: device.copy(x, x, colour="red")) == "api.option"
    assert refused(lambda: device.sbuf((4, 4))) == "api.tensor"
    assert refused(lambda: device.set_shape_register(0, (1, 2, 3), (1, 1, 1, 1))) == "pipeline.2.4"
    assert refused(lambda: dgekit.run(tmp_path / "none.toml")) == "input.file"
    assert refused(lambda: dgekit.Device("trn9")) == "dge.generation"


@pytest.mark.parametrize("thing", [64, None, [1, 2]])
def test_what_is_no_word(thing):
    for action in (dgekit.decode, dgekit.encode, dgekit.check):
        assert refused(lambda action=action: action(thing)) == "api.word"
    assert refused(lambda: dgekit.encode("b810")) == "api.word"
    data = bytearray(dgekit.encode(DmaDirect2D(semaphore=10)))
    assert dgekit.decode(data) == dgekit.decode(np.frombuffer(data, np.uint8)) == DmaDirect2D(semaphore=10)
    assert dgekit.check(data) == dgekit.check(bytes(data))


def test_options_are_the_keys_of_a_transfer_file():
    device = dgekit.Device("trn2")
    x, y = device.hbm(np.arange(16, dtype=np.uint8)), device.hbm(np.zeros(16, np.uint8))
    wait = [{"semaphore": np.uint8(3), "at_least": 1, "decrement": True}]
    device.copy(y, x, semaphore=3)
    assert device.copy(y, x, wait=wait).status == "done" and device.semaphores == {}
    held = device.copy(y, x, wait=wait)
    assert held.status == "skipped"
    bounded = device.copy(y, x, dst_bound={"register": 5, "limit": 0x1000_0000})
    assert bounded.status == "skipped" and bounded.issues[0].rule == "pipeline.6.1"
    rows = device.sbuf(contents=np.array([[1, 1]], np.uint32))
    table, two = device.hbm(np.zeros((4, 8), np.uint8)), device.hbm(np.ones((2, 8), np.uint8))
    assert not device.scatter(table, two, rows, non_unique_dst_idx=True).issues


@pytest.mark.parametrize(
    ("options", "rule", "words"),
    [
        ({"wait": 5}, "api.type", "int where a list of waits"),
        ({"wait": [{"semaphore": 3}]}, "api.missing", "copy0: wait[0]: key `at_least` is missing"),
        ({"wait": [{"semaphore": 300, "at_least": 1}]}, "api.value", "copy0: wait[0].semaphore: 300"),
        ({"src_bound": 3}, "api.type", "copy0: src_bound"),
        ({"dst_bound": {"registre": 3}}, "api.key", "nearest `register`"),
    ],
)
def test_tables_that_no_transfer_file_could_hold(options, rule, words):
    device = dgekit.Device("trn2")
    x = device.hbm(np.zeros(8, np.uint8))
    with pytest.raises(InputError) as caught:
        device.copy(x, x, **options)
    assert caught.value.rule == rule and words in str(caught.value)


@pytest.mark.parametrize(
    ("option", "value", "legal"),
    [("oob", "drop", "error, skip"), ("accumulate", "sum", "add, max, min, multiply"), ("engine", "cpu", "pe, act")],
)
def test_options_that_are_one_of_a_few_words(option, value, legal):
    device = dgekit.Device("trn2")
    x, y = device.hbm(np.ones(8, np.float32)), device.hbm(np.zeros(8, np.float32))
    (issue,) = device.copy(y, x, **{option: value}).issues
    assert issue.rule == f"transfers.{option}" and legal in issue.message
    assert not y.numpy().any()
    assert [issue.rule for issue in device.transfer("move", y, x).issues] == ["transfers.op"]


def test_inputs_that_belong_to_nothing(tmp_path):
    program = tmp_path / "p.toml"
    program.write_text('[tensors.x]\nspace = "hbm"\nshape = [4]\ndtype = "uint8"\n')
    with pytest.raises(InputError) as caught:
        dgekit.load(program, inputs={"y": np.zeros(4, np.uint8)})
    assert (caught.value.rule, caught.value.fix) == ("input.tensor", "one of x")
    with pytest.raises(UsageError) as caught:
        dgekit.load(program, subgraph="sg0")
    assert caught.value.rule == "input.subgraph"
    assert refused(lambda: dgekit.lower(program, "shapes")) == "lower.stage"


def word(**more):
    """32 bytes from HBM 0x10000000 to HBM 0x10001000 unless told otherwise."""
    legs = {
        "src_start_addr": Addr8Immediate(0x10000000), "dst_start_addr": Addr8Immediate(0x10001000),
        "src_elem_size": 32, "dst_elem_size": 32, "src_num_elem": (1, 1), "dst_num_elem": (1, 1), "src_step_elem": (1, 1),
        "dst_step_elem": (1, 1), "semaphore": 4, "sem_increment": 1, "in_dtype": Dtype.UINT8, "out_dtype": Dtype.UINT8,
    }  # fmt: skip
    return DmaDirect2D(**{**legs, **more})


@pytest.fixture
def device():
    made = dgekit.Device("trn2")
    made.hbm(np.arange(4096, dtype=np.uint32).view(np.uint8)[:4096], name="x")
    made.hbm(shape=(4096,), dtype="uint8", name="y", contents=np.zeros(4096, np.uint8))
    return made


def moved(device):
    return int(np.count_nonzero(device.session.tensor_array("y")))


def test_registers_give_addresses(device):
    device.set_registers({8: 0x10000000, 9: 0})
    done = device.run_words(word(src_start_addr=Addr8Reg(reg_lo=8, reg_hi=9)).encode())
    assert done.status == "done" and moved(device) > 0
    assert device.semaphores == {4: 1}


def test_the_address_table_gives_addresses(device):
    device.set_address_table({7: 0x10000000})
    assert device.run_words(word(src_start_addr=Addr8TblImm(table_entry_id=7, offset=64)).encode()).status == "done"
    expected = device.session.tensor_array("x")[64:96].tolist()
    assert device.session.tensor_array("y")[:32].tolist() == expected


def test_priorities_and_mailboxes_limit_the_channels(device):
    target = device.sbuf((128, 16), "uint8", name="s", contents=np.zeros((128, 16), np.uint8))
    source = device.hbm(np.ones((128, 16), np.uint8), name="t")
    device.set_mailboxes([(1, 0x000F)])
    wide, narrow = device.copy(target, source, priority=0), device.copy(target, source, priority=2)
    engines = [{channel.dma for channel in done.descriptors.channels} for done in (wide, narrow)]
    assert engines == [set(range(16)), {0, 1, 2, 3}]


def test_priority_bytes_cut_packets(device):
    source, target = device.hbm(np.ones(4096, np.uint8), name="s"), device.hbm(np.zeros(4096, np.uint8), name="t")
    whole = device.copy(target, source, priority=1)
    device.set_priority_bytes([512])
    cut = device.copy(target, source, priority=1)
    assert [done.descriptors.m2s_count for done in (whole, cut)] == [1, 8]


def test_a_shape_register_gives_the_walk(device):
    """isa-words 1.3: bit 6 of the marker byte says so, the first step holds the index; 4 blocks of 32 bytes, 64 apart."""
    device.set_shape_register(2, (4, 1, 1, 1), (64, 1, 1, 1))
    marked = word(
        src_start_addr=Addr8Immediate(0x10000000, marker_bits=0x40 >> 2), src_num_elem=(0, 0), src_step_elem=(2, 0),
        dst_num_elem=(4, 1), dst_step_elem=(32, 1),
    )  # fmt: skip
    done = device.run_words(marked.encode())
    assert done.status == "done", done.issues
    source = device.session.tensor_array("x").reshape(-1, 32)
    assert device.session.tensor_array("y")[:128].tolist() == source[0:8:2].reshape(-1).tolist()

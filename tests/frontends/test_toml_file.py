"""Transfer files: what a good one becomes, and that every wrong one is refused with its place, rule and fix."""

from __future__ import annotations

import time
import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgekit.core.dtypes import Dtype
from dgekit.core.errors import DgeError, InputError
from dgekit.core.state import Mailbox, ShapeRegister
from dgekit.frontends.toml_file import MAX_BYTES, load, loads, read_document
from dgekit.transfers.transfer import Access, Bound, RawWords, Transfer, Update, Wait

EXAMPLES = Path(__file__).parents[2] / "examples"
PROGRAMS = sorted(EXAMPLES.glob("*.toml"))

TENSORS = """
[tensors.x]
space = "hbm"
shape = [4, 8]
dtype = "float32"
[tensors.y]
space = "sbuf"
shape = [4, 8]
dtype = "float32"
[tensors.idx]
space = "sbuf"
shape = [1, 4]
dtype = "uint32"
"""
TRANSFER = TENSORS + '[[transfers]]\nsrc = "x"\ndst = "y"\n'


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.name)
def test_examples_load(path: Path) -> None:
    workload = load(path)
    assert workload.items and workload.tensors
    assert workload.source == path.name and workload.base_dir == EXAMPLES


def test_seed_copy_is_the_worked_program() -> None:
    workload = load(EXAMPLES / "seed_copy.toml")
    assert workload.generation.name == "CAYMAN"
    assert workload.choices == {"step_unit": "elements", "fold_element": False, "log_stages": "select"}
    source, target = workload.tensors
    assert (source.address, source.var_id, source.dtype.code) == (0x100000000, 0, Dtype.FP32)
    assert (target.space, target.partition, target.offset, target.core, target.var_id) == ("sbuf", 0, 0, 0, 3)
    (copy,) = workload.items
    assert isinstance(copy, Transfer)
    assert copy.src.pattern == copy.dst.pattern == ((128, 1), (1, 128))
    assert (copy.op, copy.mode, copy.semaphore, copy.increment) == ("copy", "unknown", 10, 1)


def test_seed_transpose_is_the_worked_program() -> None:
    workload = load(EXAMPLES / "seed_transpose.toml")
    assert workload.choices["xpose_walk"] == "elements" and workload.choices["fold_element"] is False
    assert [tensor.shape for tensor in workload.tensors] == [(1, 8192), (1, 8192)]
    (transpose,) = workload.items
    assert isinstance(transpose, Transfer)
    assert transpose.src.pattern == ((128, 64), (1, 128))
    assert transpose.dst.pattern == ((64, 128), (1, 64))
    assert (transpose.op, transpose.semaphore) == ("transpose", 20)


def test_load_e18_is_pinned_as_the_example_has_it() -> None:
    workload = load(EXAMPLES / "load_e18.toml")
    source, target = workload.tensors
    assert source.address == 0x10000000 and source.nbytes == 524288
    assert (target.partition, target.offset) == (0, 0)
    (transfer,) = workload.items
    assert isinstance(transfer, Transfer)
    assert (transfer.mode, transfer.semaphore, transfer.increment) == ("none", 10, 1)


def test_defaults() -> None:
    workload = loads(TRANSFER)
    assert workload.generation.name == "CAYMAN" and workload.base_dir is None
    (transfer,) = workload.items
    assert transfer == Transfer("t0", "copy", Access("x"), Access("y"), where="<text>: transfers[0]")
    assert [tensor.init for tensor in workload.tensors] == ["", "", ""]


def test_every_key_of_a_transfer_arrives() -> None:
    text = TENSORS + (
        '[[transfers]]\nname = "g"\nop = "scatter"\nsrc = { tensor = "y", offset = 2, pattern = [[8, 4], [-1, 2]] }\n'
        'dst = "x"\nmode = "swdge"\nsemaphore = 255\nincrement = 0\nindices = "idx"\noob = "skip"\naccumulate = "add"\n'
        'non_unique_dst_idx = true\npriority = 4\nqueue = "q"\nengine = "act"\n'
        "src_bound = { register = 5, limit = 70, notify = false }\ndst_bound = { register = 63 }\n"
        "wait = [{ semaphore = 4, at_least = 16 }, { semaphore = 3, at_least = -1, decrement = true }]\n"
    )
    (transfer,) = loads(text, name="p.toml").items
    assert transfer == Transfer(
        name="g",
        op="scatter",
        src=Access("y", 2, ((8, 4), (-1, 2))),
        dst=Access("x"),
        mode="swdge",
        semaphore=255,
        increment=0,
        wait=(Wait(4, 16), Wait(3, -1, decrement=True)),
        indices=Access("idx"),
        oob="skip",
        accumulate="add",
        non_unique=True,
        src_bound=Bound(5, 70, False),
        dst_bound=Bound(63),
        priority=4,
        queue="q",
        engine="act",
        where="p.toml: transfers[0]",
    )


def test_a_reduce_names_its_sources() -> None:
    text = TENSORS + (
        '[[transfers]]\nop = "reduce"\nsrcs = ["x", { tensor = "x", offset = 8 }]\ndst = "y"\ncompute = "fma"\n'
        'scales = [1, 0.5]\nconstant = 2\naccum = "fp32"\n'
    )
    (transfer,) = loads(text).items
    assert isinstance(transfer, Transfer)
    assert transfer.srcs == (Access("x"), Access("x", 8)) and transfer.src == Access("x")
    assert (transfer.compute, transfer.scales, transfer.constant, transfer.accum) == ("fma", (1.0, 0.5), 2.0, "float32")
    assert (transfer.dst, transfer.dsts, transfer.seed, transfer.constant_dtype) == (Access("y"), (), None, "")


def test_a_reduce_may_have_several_destinations() -> None:
    text = TENSORS + (
        '[[transfers]]\nop = "reduce"\nsrcs = ["x"]\ndsts = ["y", { tensor = "x", offset = 8 }]\ncompute = "max"\n'
        'constant = -1\nconstant_dtype = "i32"\nseed = 7\n'
    )
    (transfer,) = loads(text.replace('"i32"', '"int32"')).items
    assert isinstance(transfer, Transfer)
    assert (transfer.dst, transfer.dsts) == (Access("y"), (Access("y"), Access("x", 8)))
    assert (transfer.constant, transfer.constant_dtype, transfer.seed) == (-1.0, "int32", 7)


def test_machine_state() -> None:
    workload = loads(
        TENSORS
        + "[registers]\n5 = 256\n63 = 0xffffffff\n[local_registers]\n38 = 2\n[semaphores]\n10 = -3\n"
        + "[[shape_registers]]\nindex = 3\nnum = [128, 2]\nstep = [1, -128]\n"
        + '[[address_table]]\nentry = 7\naddress = 0x2000000000\n[[address_table]]\nentry = 8\ntensor = "x"\n'
        + "[[mailboxes]]\npriority = 3\nmask = 0x00ff\n[[mailboxes]]\n",
    )
    state = workload.state
    assert state.registers == {5: 256, 63: 0xFFFFFFFF}
    assert state.local_registers == {38: 2}
    assert state.semaphores == {10: -3}
    assert state.shape_registers == {3: ShapeRegister((128, 2, 1, 1), (1, -128, 1, 1))}
    assert state.address_table == {7: 0x2000000000, 8: "x"}
    assert state.mailboxes == (Mailbox(3, 0xFF), Mailbox(0xFF, 0xFFFF))
    assert loads("priority_bytes = [512, 4096]").state.priority_bytes == (512, 4096)


def test_the_fn_form_of_fp8_is_kept() -> None:
    text = '[tensors.a]\nspace = "hbm"\nshape = [1]\ndtype = "float8_e4m3fn"'
    workload = loads(text)
    assert workload.tensors[0].fn_form and workload.tensors[0].dtype.code == Dtype.FP8_EXP4
    assert [(issue.rule, issue.severity, issue.where) for issue in workload.issues] == [
        ("dec.D54", "warning", "<text>: tensors.a")
    ]
    assert loads('generation = "trn3"\n' + text).issues == ()
    assert loads(text.replace("e4m3fn", "e4m3")).issues == ()


def test_a_raw_word_brings_its_events_along() -> None:
    word = bytearray.fromhex("b8100000 05070400 03000000".replace(" ", "")) + bytearray(52)
    text = f'[[transfers]]\nword = "{word.hex()}"\nwait = [{{ semaphore = 1, at_least = 2 }}]\nincrement = 4\nsemaphore = 9'
    (item,) = loads(text).items
    assert isinstance(item, RawWords)
    assert item.words == bytes(word)
    assert item.wait == (Wait(1, 2), Wait(7, 3))
    assert item.updates == (Update(0, "sub", 1),)
    assert (item.semaphore, item.increment) == (9, 4)


def test_a_pseudo_word_may_have_its_extension() -> None:
    words = bytes.fromhex("d410") + bytes(62) + b"\xda" + bytes(63)
    (item,) = loads(f'[[transfers]]\nword = "{words.hex(" ")}"').items
    assert isinstance(item, RawWords) and item.words == words


def one(key: str, base: str = TRANSFER) -> str:
    return base + key


WRONG = [
    # syntax and limits
    ("x = ", "toml.syntax", "p.toml: end of document"),
    ("a = 1\nb = @", "toml.syntax", "p.toml: line 2"),
    ("a = " + "9" * 5000, "toml.limit", "p.toml"),
    ("a = " + "[" * 100_000, "toml.limit", "p.toml"),
    ("\na" + ".a" * 30_000 + " = 1", "toml.limit", "p.toml: line 2"),
    # keys and types
    ("generatio = 'v3'", "toml.key", "p.toml"),
    (one("semaphor = 1"), "toml.key", "transfers[0]"),
    (one("wait = [{ semaphore = 1, at_lest = 1 }]"), "toml.key", "transfers[0].wait[0]"),
    ("transfers = 3", "toml.type", "transfers"),
    ("tensors = []", "toml.type", "tensors"),
    ("generation = 2026-01-01", "toml.type", "generation"),
    (one("semaphore = true"), "toml.type", "transfers[0].semaphore"),
    (one("semaphore = 1.5"), "toml.type", "transfers[0].semaphore"),
    (one("non_unique_dst_idx = 1"), "toml.type", "transfers[0].non_unique_dst_idx"),
    (TENSORS + '[[transfers]]\nsrc = ["x"]\ndst = "y"', "toml.type", "transfers[0].src"),
    ("[tensors.x]\nspace = 3", "toml.type", "tensors.x.space"),
    (one('scales = ["a"]'), "toml.type", "transfers[0].scales[0]"),
    # missing
    ("[tensors.x]\nspace = 'hbm'\nshape = [1]", "toml.missing", "tensors.x"),
    (TENSORS + "[[transfers]]\nsrc = 'x'", "toml.missing", "transfers[0]"),
    (TENSORS + "[[transfers]]\nop = 'gather'\nsrc = 'x'\ndst = 'y'", "toml.missing", "transfers[0]"),
    (TENSORS + "[[transfers]]\nop = 'reduce'\ndst = 'y'", "toml.missing", "transfers[0]"),
    (one("wait = [{ semaphore = 1 }]"), "toml.missing", "transfers[0].wait[0]"),
    # ranges
    (one("semaphore = 256"), "toml.value", "transfers[0].semaphore"),
    (one("semaphore = -1"), "toml.value", "transfers[0].semaphore"),
    (one("semaphore = 1\nincrement = 256"), "toml.value", "transfers[0].increment"),
    (one("priority = 5"), "toml.value", "transfers[0].priority"),
    (one("src_bound = { register = 64 }"), "toml.value", "transfers[0].src_bound.register"),
    (one("mode = 'fast'"), "toml.value", "transfers[0].mode"),
    (one("queue = ''"), "toml.value", "transfers[0].queue"),
    (
        TENSORS + "[[transfers]]\ndst = 'y'\nsrc = { tensor = 'x', pattern = [[1, 0]] }",
        "toml.value",
        "transfers[0].src.pattern[0]",
    ),
    (
        TENSORS + "[[transfers]]\ndst = 'y'\nsrc = { tensor = 'x', pattern = [[1]] }",
        "toml.value",
        "transfers[0].src.pattern[0]",
    ),
    (
        TENSORS + "[[transfers]]\ndst = 'y'\nsrc = { tensor = 'x', pattern = [] }",
        "toml.value",
        "transfers[0].src.pattern",
    ),
    (
        TENSORS + "[[transfers]]\ndst = 'y'\nsrc = { tensor = 'x', offset = -1 }",
        "toml.value",
        "transfers[0].src.offset",
    ),
    ("generation = 'trn9'", "toml.value", "generation"),
    ("choices = { step_unit = 'miles' }", "toml.value", "choices.step_unit"),
    ("choices = { step_units = 'bytes' }", "toml.key", "choices.step_units"),
    ("choices = { step_unit = [1] }", "toml.type", "choices.step_unit"),
    ("[tensors.x]\nspace = 'hbm'\nshape = [0]\ndtype = 'int8'", "toml.value", "tensors.x.shape[0]"),
    ("[tensors.x]\nspace = 'hbm'\nshape = []\ndtype = 'int8'", "toml.value", "tensors.x.shape"),
    ("[tensors.x]\nspace = 'hbm'\nshape = [1]\ndtype = 'float31'", "toml.value", "tensors.x.dtype"),
    ("[tensors.x]\nspace = 'hbm'\nshape = [1]\ndtype = 'int4'", "toml.value", "tensors.x.dtype"),
    ("[tensors.x]\nspace = 'hbm'\nshape = [1]\ndtype = 'int8'\ninit = 'range'", "toml.value", "tensors.x.init"),
    ("[tensors.x]\nspace = 'sbuf'\nshape = [129, 1]\ndtype = 'int8'", "toml.value", "tensors.x.shape"),
    ("[tensors.x]\nspace = 'sbuf'\nshape = [2, 1]\ndtype = 'int8'\npartition = 127", "toml.value", "tensors.x.shape"),
    (
        "generation = 'trn1'\n[tensors.x]\nspace = 'hbm'\nshape = [1]\ndtype = 'int8'\ncore = 2",
        "toml.value",
        "tensors.x.core",
    ),
    ("[tensors.'a=b']\nspace = 'hbm'\nshape = [1]\ndtype = 'int8'", "toml.value", "tensors.'a=b'"),
    ("[registers]\n64 = 1", "toml.key", "registers"),
    ("[registers]\nr5 = 1", "toml.key", "registers"),
    ("[registers]\n5 = 0x100000000", "toml.value", "registers.5"),
    ("[registers]\n5 = 1\n05 = 2", "toml.duplicate", "registers"),
    ("[local_registers]\n41 = 1", "toml.key", "local_registers"),
    ("[semaphores]\n256 = 1", "toml.key", "semaphores"),
    ("[semaphores]\n1 = 0x80000000", "toml.value", "semaphores.1"),
    ("[[shape_registers]]\nindex = 4", "toml.value", "shape_registers[0].index"),
    ("[[shape_registers]]\nindex = 0\nnum = [0]", "toml.value", "shape_registers[0].num[0]"),
    ("[[shape_registers]]\nindex = 0\nstep = [1, 1, 1, 1, 1]", "toml.value", "shape_registers[0].step"),
    ("priority_bytes = [0]", "toml.value", "priority_bytes[0]"),
    ("[[mailboxes]]\n" * 5, "toml.value", "mailboxes"),
    # words
    (one("word = 'b8'", ""), "toml.key", "p.toml"),
    ("[[transfers]]\nword = 'b810'", "toml.value", "transfers[0].word"),
    ("[[transfers]]\nword = 'xyz'", "toml.value", "transfers[0].word"),
    ("[[transfers]]\nword = '" + "b8" * 128 + "'", "toml.value", "transfers[0].word"),
    ("[[transfers]]\nword = '" + "00" * 64 + "'\nsrc = 'x'", "toml.conflict", "transfers[0].src"),
    # references and combinations
    (TENSORS + "[[transfers]]\nsrc = 'z'\ndst = 'y'", "toml.tensor", "transfers[0].src"),
    (TENSORS + "[[transfers]]\nsrc = { tensor = 'id' }\ndst = 'y'", "toml.tensor", "transfers[0].src.tensor"),
    ("[[address_table]]\nentry = 1\ntensor = 'x'", "toml.tensor", "address_table[0].tensor"),
    ("[[address_table]]\nentry = 1", "toml.conflict", "address_table[0]"),
    (
        "[[address_table]]\nentry = 1\naddress = 1\n[[address_table]]\nentry = 1\naddress = 2",
        "toml.duplicate",
        "address_table[1].entry",
    ),
    ("[[shape_registers]]\nindex = 0\n[[shape_registers]]\nindex = 0", "toml.duplicate", "shape_registers[1].index"),
    (one("indices = 'idx'"), "toml.conflict", "transfers[0].indices"),
    (one("compute = 'add'"), "toml.conflict", "transfers[0].compute"),
    (one("increment = 2"), "toml.conflict", "transfers[0].increment"),
    (
        TENSORS + "[[transfers]]\nop = 'transpose'\nsrc = 'x'\ndst = 'y'\naccumulate = 'add'",
        "toml.conflict",
        "transfers[0].accumulate",
    ),
    (TENSORS + "[[transfers]]\nop = 'reduce'\nsrc = 'x'\ndst = 'y'", "toml.conflict", "transfers[0].src"),
    (
        TENSORS + "[[transfers]]\nop = 'reduce'\nsrcs = ['x']\ndst = 'y'\ndsts = ['y']\ncompute = 'add'",
        "toml.conflict",
        "transfers[0].dsts",
    ),
    (
        TENSORS + "[[transfers]]\nop = 'reduce'\nsrcs = ['x']\ndst = 'y'\ncompute = 'add'\naccum = 'float31'",
        "toml.value",
        "transfers[0].accum",
    ),
    (
        TENSORS + "[[transfers]]\nop = 'reduce'\nsrcs = ['x']\ncompute = 'add'",
        "toml.missing",
        "transfers[0]",
    ),
    (one("seed = 1"), "toml.conflict", "transfers[0].seed"),
    (
        TENSORS + "[[transfers]]\nop = 'reduce'\nsrcs = ['x']\ndst = 'y'\ncompute = 'add'\naccum = 'fp33'",
        "toml.value",
        "transfers[0].accum",
    ),
    (one("name = 'a'\n[[transfers]]\nname = 'a'\nsrc = 'x'\ndst = 'y'"), "toml.duplicate", "transfers[1].name"),
    (one("name = 't1'\n[[transfers]]\nsrc = 'x'\ndst = 'y'"), "toml.duplicate", "transfers[1].name"),
    ("[tensors.x]\nspace = 'hbm'\nshape = [1]\ndtype = 'int8'\npartition = 0", "toml.conflict", "tensors.x.partition"),
    ("[tensors.x]\nspace = 'sbuf'\nshape = [1]\ndtype = 'int8'\naddress = 0", "toml.conflict", "tensors.x.address"),
    ("[tensors.x]\nspace = 'hbm'\nshape = [1]\ndtype = 'int8'\nseed = 1", "toml.conflict", "tensors.x.seed"),
    ("[tensors.x]\nspace = 'hbm'\nshape = [1]\ndtype = 'int8'\ninit = 'no.npy'", "toml.file", "tensors.x.init"),
    (
        "[tensors.x]\nspace = 'hbm'\nshape = [1]\ndtype = 'int8'\nvar_id = 3\n"
        "[tensors.y]\nspace = 'hbm'\nshape = [1]\ndtype = 'int8'\nvar_id = 3",
        "toml.duplicate",
        "tensors.y.var_id",
    ),
    ("[tensors.x]\nspace = 'hbm'\nshape = [1048576, 4096]\ndtype = 'int16'", "toml.memory", "tensors.x.shape"),
]


@pytest.mark.parametrize(("text", "rule", "where"), WRONG, ids=[f"{n}-{case[1]}" for n, case in enumerate(WRONG)])
def test_wrong_files_are_refused_with_place_and_rule(text: str, rule: str, where: str) -> None:
    started = time.monotonic()
    with pytest.raises(InputError) as caught:
        loads(text, name="p.toml")
    assert caught.value.rule == rule
    assert caught.value.where.startswith("p.toml") and where in caught.value.where
    assert caught.value.exit_code == 3
    assert time.monotonic() - started < 2


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("[[transfers]]\nword = 'zz'", "dec.D41"),
        ("[[transfers]]\nword = '00'", "dec.D41"),
        ("[tensors.x]\nspace = 'hbm'\nshape = [1]\ndtype = 'int8'\ninit = 'range'", "tensor.init"),
        ("[tensors.x]\nspace = 'hbm'\nshape = [1]\ndtype = 'int4'", "isa.DTYPE"),
        ("[tensors.x]\nspace = 'hbm'\nshape = [1]\ndtype = 'int33'", "dec.D54"),
    ],
)
def test_a_wrong_value_names_the_rule_behind_it(text: str, source: str) -> None:
    with pytest.raises(InputError) as caught:
        loads(text)
    assert (caught.value.rule, caught.value.source) == ("toml.value", source)


def test_an_unknown_key_names_the_nearest() -> None:
    with pytest.raises(InputError, match=r"unknown key `semaphor` in transfers\[0\]; nearest `semaphore`"):
        loads(one("semaphor = 1"))


def test_a_range_error_has_both_numbers() -> None:
    with pytest.raises(InputError) as caught:
        loads(one("semaphore = 256"))
    assert caught.value.values == {"value": 256, "minimum": 0, "maximum": 255}


def test_the_memory_limit_can_be_raised_and_lowered() -> None:
    text = "[tensors.x]\nspace = 'hbm'\nshape = [1048576, 4096]\ndtype = 'int16'"
    assert loads(text, memory_limit=1 << 40).tensors[0].nbytes == 1 << 33
    with pytest.raises(InputError, match="limit is 100"):
        loads(TENSORS, memory_limit=100)


def test_events_that_are_not_modelled_name_the_word() -> None:
    word = bytes.fromhex("b8100000 06000000".replace(" ", "")) + bytes(56)
    with pytest.raises(DgeError) as caught:
        loads(f"[[transfers]]\nword = '{word.hex()}'", name="p.toml")
    assert caught.value.rule == "isa.EVENTS" and caught.value.where == "p.toml: transfers[0].word"


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        load(tmp_path / "none.toml")
    assert caught.value.rule == "input.file"
    with pytest.raises(InputError):
        load(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b"# caf\xe9")
    with pytest.raises(InputError) as caught:
        load(tmp_path / "latin.toml")
    assert caught.value.rule == "toml.syntax" and caught.value.values == {"offset": 5}
    (tmp_path / "big.toml").write_bytes(b"#" * (MAX_BYTES + 1))
    for wrong in (lambda: load(tmp_path / "big.toml"), lambda: loads("#" * (MAX_BYTES + 1))):
        with pytest.raises(InputError) as caught:
            wrong()
        assert caught.value.rule == "toml.limit"


def test_npy_paths_start_at_the_file(tmp_path: Path) -> None:
    (tmp_path / "a.npy").write_bytes(b"")
    text = "[tensors.x]\nspace = 'hbm'\nshape = [1]\ndtype = 'int8'\ninit = 'a.npy'"
    (tmp_path / "p.toml").write_text(text)
    assert load(tmp_path / "p.toml").tensors[0].init == "a.npy"


SOURCES = [path.read_text() for path in PROGRAMS]


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(SOURCES), st.integers(0, 4000), st.integers(0, 40), st.text(max_size=12))
def test_damaged_programs_never_raise_anything_else(source: str, at: int, length: int, put: str) -> None:
    at %= len(source)
    try:
        loads(source[:at] + put + source[at + length :], EXAMPLES)
    except DgeError as refused:
        assert refused.rule and refused.where


JUNK = st.recursive(
    st.one_of(st.booleans(), st.integers(), st.floats(), st.text(max_size=6)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=6), inner, max_size=3)),
    max_leaves=6,
)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(SOURCES), st.data())
def test_any_value_anywhere_is_taken_or_refused(source: str, data: st.DataObject) -> None:
    """Replace one value of a good program by any other: the table decides, nothing else may raise."""
    document = tomllib.loads(source)
    holder: dict | list = document
    while True:
        keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        key = data.draw(st.sampled_from(keys))
        if not isinstance(holder[key], dict | list) or not holder[key] or data.draw(st.booleans()):
            break
        holder = holder[key]
    holder[key] = data.draw(JUNK)
    try:
        read_document(document, EXAMPLES, name="p.toml")
    except DgeError as refused:
        assert refused.where.startswith("p.toml")

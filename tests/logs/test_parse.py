"""Lines to events: every format both ways, every cut, every dressing that a host puts around a line."""

from __future__ import annotations

import itertools
import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgekit.core.choices import Choices
from dgekit.core.events import Event
from dgekit.core.generations import GENERATIONS, generation_named
from dgekit.logs.fields import slots
from dgekit.logs.formats import FORMATS
from dgekit.logs.matchers import dialects
from dgekit.logs.parse import ParsedLine, parse_line
from dgekit.logs.printf import printf, split_format
from dgekit.logs.render import render

RENDERED = [row for row in FORMATS.values() if row.is_line and not row.is_elided]
ELIDED = [row for row in FORMATS.values() if row.is_line and row.is_elided]
TEXTS = {
    "push.generate": [["RD", "WR"]],
    "doorbell.rdma_trigger": [["TX", "RX"], ["M2S", "S2M"]],
    "seq.assertion": [["n < 4", "dge_ctx_num", "", "f(x) (a:b)"], ["dge_backend_rtl.cpp", ""]],
}
by_key = pytest.mark.parametrize("row", RENDERED, ids=lambda row: row.key)


def strategy(row):
    """Random arguments of a format, the edges of each width among them."""
    texts = iter(TEXTS.get(row.key, [["TX", "RX"]] * 20))
    parts = []
    for conversion in split_format(row.text)[1]:
        bits = conversion.bits
        if conversion.kind == "s":
            parts.append(st.sampled_from(next(texts)))
        elif conversion.kind in "di":
            parts.append(st.integers(-(1 << bits - 1), (1 << bits - 1) - 1))
        else:
            parts.append(st.integers(0, (1 << bits) - 1))
    if row.prefix == "P%i:":
        parts[0] = st.integers(0, 15)
    return st.tuples(*parts)


def some_args(row, rng):
    texts = iter(TEXTS.get(row.key, [["TX", "RX"]] * 20))
    found = []
    for conversion in split_format(row.text)[1]:
        half = 1 << conversion.bits - 1
        if conversion.kind == "s":
            found.append(rng.choice(next(texts)))
        elif conversion.kind in "di":
            found.append(rng.choice([0, 1, -1, half - 1, -half, rng.randrange(-half, half)]))
        else:
            found.append(rng.choice([0, 1, 2 * half - 1, rng.randrange(2 * half)]))
    if row.prefix == "P%i:":
        found[0] = rng.randrange(16)
    return tuple(found)


def own_args(row, args):
    return args[1:] if row.prefix == "P%i:" else args


def test_there_are_105_lines_to_render():
    assert len(RENDERED) == 105
    assert sorted(row.key for row in ELIDED) == [
        "boot.mariana", "boot.mariana_plus", "indirection.increment", "indirection.rewind", "legacy.idma_buffer",
    ]  # fmt: skip


@by_key
@settings(max_examples=20, deadline=None)
@given(st.data())
def test_parse_of_render_gives_the_arguments(row, data):
    args = data.draw(strategy(row))
    text = printf(row.text, args)
    parsed = parse_line(text)
    assert (parsed.row, parsed.args) == (row, own_args(row, args))
    assert parsed.processor == (args[0] if row.prefix == "P%i:" else -1)
    assert parsed.cut == (row.prefix == "R:")  # its last digit may always be missing (D94)
    # and back: the event of the line renders to the line
    generation = generation_named(row.generations[0]) if row.generations else None
    if generation is not None:
        line = render(parsed.event(), generation, Choices())
        assert line is not None
        assert line.text == text


@by_key
def test_the_fields_hold_every_argument(row):
    """Each value is in the fields, in its form; nothing is overwritten by another of the same name."""
    args = own_args(row, some_args(row, random.Random(1)))
    parsed = parse_line(printf(row.text, ((3, *args) if row.prefix == "P%i:" else args)))
    leaves = list(flat(parsed.fields))
    halves = sum(slot.form in ("high", "low") for slot in slots(row.key)) // 2
    op = 1 if row.stage == "push" else 0
    assert len(leaves) == len(args) - halves + op


def flat(value):
    if isinstance(value, dict):
        for inner in value.values():
            yield from flat(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from flat(inner)
    else:
        yield value


@by_key
def test_a_line_cut_anywhere(row):
    """Cut at every byte: the whole line is a candidate, or another or the same format fits what is left (D94)."""
    rng = random.Random(row.key)
    for _ in range(3):
        text = printf(row.text, some_args(row, rng))
        start = text.index(": ") + 2
        for end in range(start, len(text)):
            parsed = parse_line(text[:end], ended=False)
            if parsed.row is not None:
                # what fits is of this format, or a shorter line that says nothing else
                assert parsed.row is row or printf_fits(parsed, text[:end]), text[:end]
                if parsed.row is row:
                    assert parsed.cut or text[:end].rstrip() == text.rstrip()
                    assert parsed.args[:-1] == parse_line(text).args[: max(0, len(parsed.args) - 1)]
            else:
                assert row in parsed.candidates, text[:end]
                assert parsed.cut
                assert parsed.to_json()["format"] is None
        for end in range(start):  # no whole token: not the firmware's, never an error
            assert parse_line(text[:end], ended=False).row is None


def printf_fits(parsed: ParsedLine, text: str) -> bool:
    args = parsed.args if parsed.dialect != "P" else (parsed.processor, *parsed.args)
    return parsed.row.text == text.strip() or printf(parsed.row.text, args) == text.rstrip()


def test_no_two_formats_fit_one_line():
    """The ambiguous pairs: there are none among whole lines, so that no rule is needed to choose."""
    rng = random.Random(7)
    found = set()
    for row in RENDERED:
        grammar = dialects()[row.prefix[:1]]
        for _ in range(12):
            body = parse_line(printf(row.text, some_args(row, rng))).text.split(": ", 1)[1]
            fits = [m.row.key for m in grammar.all if (m.match(body) is not None if m.values else m.head == body)]
            found |= set(itertools.combinations(sorted(fits), 2))
            assert row.key in fits
    assert found == set()


def test_a_whole_line_wins_over_a_cut_one():
    """`BEGIN on mariana` is a line, and the beginning of another."""
    assert parse_line("BEGIN on mariana").key == "boot.mariana"
    assert parse_line("BEGIN on mariana").cut is False
    assert parse_line("BEGIN on mariana", ended=False).cut is True
    assert parse_line("BEGIN on mariana_plus").key == "boot.mariana_plus"
    assert parse_line("S: BEGIN on mariana_plus").key == "boot.mariana_plus"


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("S: DGE: Select backend Poo", "select.pool"),
        ("S: DGE: Select backend RT", "select.rtl"),
        ("S: DGE: NO BACKEND FOUND, doing nothin", "select.none"),
        ("nrtucode_core_t@0x55d0: S: DGE: Dispatched error notificatio", "bounds.dispatched"),
        ("S: MoveShape(ShapeToReg", "seq.shape_to_reg"),
    ],
)
def test_last_letters_that_the_drain_cuts(text, key):
    parsed = parse_line(text)
    assert (parsed.key, parsed.cut, parsed.args, parsed.candidates) == (key, True, (), ())


def test_an_r_line_never_trusts_its_last_value():
    whole = "R: program_window: num=1, mask=0xfff000, match=0x2000000000, replace=0x5"
    parsed = parse_line(whole)
    assert (parsed.key, parsed.cut) == ("sb2sb.remapped_window", True)
    assert parsed.fields == {"num": 1, "mask": "0xfff000", "match": "0x2000000000", "replace": "0x5"}
    assert parse_line(whole[:-1]).fields["replace"] is None
    assert parse_line(whole[:-3]).candidates == (FORMATS["sb2sb.remapped_window"],)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("S: push REGWRITE to DMA[3] ", "push.regwrite"),
        ("S: push REGWRITE to DMA[3]\r", "push.regwrite"),
        ("P3: Trigger DMA; sdma_bcast_base = 0x02000000, trigger addr = 0x02001038, mask = 0x0000ffff n_desc=4", "doorbell.trigger"),
        ("P3: Trigger DMA; sdma_bcast_base = 0x02000000, trigger addr = 0x02001038, mask = 0x0000ffff, n_desc=4", "doorbell.trigger"),
        ("P2: After  IVP_MULUSAN_2X32: address=0x20_10", "indirection.after"),
        ("P2: After IVP_MULUSAN_2X32: address=0x20_10", "indirection.after"),
        ("P1: increment_dimension indirection_steps: dim=2, steps=[1] our_forward_step=4, other_forward_step=-5", "indirection.increment"),
        ("P1: rewind_dimension indirection_steps: x our_rewind_step=-4, other_rewind_step=0", "indirection.rewind"),
        ("P0: iDMA buffer error: status 3 descriptor: 7, src addr 0x10 dst addr 0x20", "legacy.idma_buffer"),
        ("\x00\x04S: Setting up DGE\x00", "setup.start"),
    ],
)  # fmt: skip
def test_variants(text, key):
    parsed = parse_line(text)
    assert (parsed.key, parsed.cut) == (key, False)


@pytest.mark.parametrize(
    ("before", "host"),
    [
        ("", ""),
        ("nrtucode_core_t@0x7f0012ab: ", "nrtucode_core_t@0x7f0012ab"),
        ("nc 3: ", "nc 3"),
        ("[  12.345678] nc3: ", "nc3"),
        ("Nov 30 21:17:01 ip-10-0-0-1 nrt[44]: nc3: ", "nc3"),
        ("2026-01-02T03:04:05.678901Z nc3: ", "nc3"),
        ("2026-01-02 03:04:05,678 nc3: ", "nc3"),
        ("17.25 nc3: ", "nc3"),
        ("[ts] ", ""),
        ("kernel ", ""),
        ("x" * 40 + ": ", "x" * 32),
    ],
)
def test_what_stands_in_front(before, host):
    for line in ("S: Halt", "P7: DGE INDIRECT", "R: program_window: num=1, mask=0x1, match=0x2, replace=0x3"):
        parsed = parse_line(before + line)
        assert (parsed.host, parsed.dialect, parsed.row is None) == (host, line[0], False)
        assert parsed.text == before + line


@pytest.mark.parametrize("text", ["", "S:", "S:Halt", "xS: Halt", "P: DGE INDIRECT", "P01: DGE INDIRECT", "hello P3:x"])
def test_lines_of_others(text):
    parsed = parse_line(text)
    assert (parsed.dialect, parsed.row, parsed.is_unknown) == ("", None, False)
    assert parsed.to_json() == {
        "line": 1, "dialect": None, "processor": None, "stage": None, "format": None, "fields": {}, "text": text,
    }  # fmt: skip
    assert parsed.event() == Event("memory", "text", data={"text": text})


@pytest.mark.parametrize(
    "text",
    [
        "S: zork",
        "S: push GENERATE to DMA[1]: XX : addr=0x1, elem_size=1, sem_num=1",
        "S: push DIMPUSH to DMA[01]: [1,1][1,1]",
        "S: push DIMPUSH to DMA[4294967296]: [1,1][1,1]",
        "S: rx.base=0x0123, tx.base=0x1",
        "S: rx.base=0x1FF, tx.base=0x1",
        "P1: Trigger DMA; sdma_bcast_base = 0x2000000, trigger addr = 0x02001038, mask = 0x0000ffff n_desc=4",
        "S: DGE: Select backend Pool!",
        "P1: IndirectionInfo constructor: indices=0x0",
    ],
)
def test_what_looks_like_firmware_and_is_not(text):
    parsed = parse_line(text)
    assert parsed.is_unknown
    assert (parsed.row, parsed.candidates) == (None, ())


def test_the_leftmost_token_counts():
    assert parse_line("a: P3: S: Halt").processor == 3
    assert parse_line("a: P3: S: Halt").row is None


POOL = (
    "S: DGE $S[10]+=1@dmacomplete src=[0x0]@0x100000000[0x1,0xffffff80][128,1] "
    "dst=[0x85]@0x2000000000[0x1,0x80][128,1] cast:0xa->0x6 "
    "bounds:(0 0x100000000<=0x0, 1 0x2000000000<=0x2000000fff) compute_op: 0x1 "
)
RTL = (
    "S: DGE RTL backend: $S[3]+=2@dmacomplete src=[0x4]@0x10[0x5,0x6,0x7,0x8,0x9|0x1,0x2][5,6,7,8,9|1,2] "
    "dst=[0x4]@0x20[0x0,0x0,0x0,0x0,0x0|0x1,0x2][1,1,1,1,1|1,2]"
)
SOFTWARE = (
    "S: DGE software backend: $S[3]+=2@dmacomplete src=[0x4]@0x10[0x5,0x6,0x7,0x8][5,6,7,8] "
    "dst=[0x4]@0x20[0x0,0x1,0x2,0x3][1,2,3,4] cast:0x6->0x6, indirection_dim=0x1, reshape_kind=0x3"
)


def side(bracket, addr, step, num):
    return {"bracket": bracket, "addr": addr, "step": step, "num": num}


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        (POOL, {
            "$S": 10, "increment": 1,
            "src": side(0, "0x100000000", [1, -128], [128, 1]), "dst": side(0x85, "0x2000000000", [1, 128], [128, 1]),
            "cast": [10, 6],
            "bounds": {"src": {"enabled": 0, "addr": "0x100000000", "limit": "0x0"},
                       "dst": {"enabled": 1, "addr": "0x2000000000", "limit": "0x2000000fff"}},
            "compute_op": 1,
        }),
        (RTL, {
            "$S": 3, "increment": 2,
            "src": side(4, "0x10", [5, 6, 7, 8, 9, 1, 2], [5, 6, 7, 8, 9, 1, 2]),
            "dst": side(4, "0x20", [0, 0, 0, 0, 0, 1, 2], [1, 1, 1, 1, 1, 1, 2]),
        }),
        (SOFTWARE, {
            "$S": 3, "increment": 2,
            "src": side(4, "0x10", [5, 6, 7, 8], [5, 6, 7, 8]), "dst": side(4, "0x20", [0, 1, 2, 3], [1, 2, 3, 4]),
            "cast": [6, 6], "indirection_dim": 1, "reshape_kind": 3,
        }),
        ("S: DGE Reshape: Analyzed tensor (nelem_target = 128, step_target = 0x40000 (1P), base = 0x80000 (2P)): "
         "Reshape Strategy = 2, Requested Reshape Kind = 0, Partition Range = 128, Num Partitions = 127",
         {"nelem_target": 128, "step_target": 0x40000, "step_target P": 1, "base": "0x80000", "base P": 2,
          "Reshape Strategy": 2, "Requested Reshape Kind": 0, "Partition Range": 128, "Num Partitions": 127}),
        ("S: DGE Reshape: Assessed tensor pair params (Requested Reshape Kind = 2, Min Num Partitions = 64, "
         "#DMA Avail = 16): Reshape Kind = 2, #DMA = 8",
         {"Requested Reshape Kind": 2, "Min Num Partitions": 64, "#DMA Avail": 16, "Reshape Kind": 2, "#DMA": 8}),
        ("S: DGE Reshape: Assessed simple tensor pair params (Num Partitions A = 1, Num Partitions B = 64, "
         "#DMA Avail = 16, HBM Only = 0): Reshape Kind = 0, #DMA = 8",
         {"Num Partitions A": 1, "Num Partitions B": 64, "#DMA Avail": 16, "HBM Only": 0, "Reshape Kind": 0, "#DMA": 8}),
        ("S: push GENERATE to DMA[0]: RD : addr=0x100000000, elem_size=4, sem_num=10",
         {"op": "GENERATE", "dma": 0, "dir": "RD", "addr": "0x100000000", "elem_size": 4, "sem_num": 10}),
        ("S: push GENERATE to DMA[0]: WR : addr=0x0, elem_size=0, sem_num=10",
         {"op": "GENERATE", "dma": 0, "dir": "WR", "addr": "0x0", "elem_size": 65536, "sem_num": 10}),
        ("S: push DIMPUSH to DMA[0]: [64,128][128,-64]",
         {"op": "DIMPUSH", "dma": 0, "num": [64, 128], "step": [128, -64]}),
        ("S: push REGWRITE to DMA[15]", {"op": "REGWRITE", "dma": 15}),
        ("S: DGE contexts 0x2/0x3 init sw=1 engine=4 queue_idx=5 queue_num=16",
         {"contexts": [2, 3], "sw": 1, "engine": 4, "queue_idx": 5, "queue_num": 16}),
        ("S: rx.base=0x2040010000, tx.base=0x2040000000", {"rx.base": "0x2040010000", "tx.base": "0x2040000000"}),
        ("S: dge_shape[2].step = [ 0x0001, 0x0080, 0xffff, 0x12345 ]", {"dge_shape": 2, "step": [1, 128, 65535, 0x12345]}),
        ("S: dge_shape[2].num  = [ 0x0080, 0x0001, 0x0001, 0x0001 ]", {"dge_shape": 2, "num": [128, 1, 1, 1]}),
        ("S: DGE: Failed bounds check. $S[10]+=1.", {"$S": 10, "increment": 1}),
        ("P3: ERROR: DescriptorStream wrote 7 descriptors, expected 8", {"wrote": 7, "expected": 8}),
        ("P3: Generating 8 descriptors; ring_ndesc = 64", {"Generating": 8, "ring_ndesc": 64}),
        ("P3: Descriptor generation loop index: [1, 2, 3, 4, -5]", {"index": [1, 2, 3, 4, -5]}),
        ("P0: IndirectionInfo constructor: indices=(nil)", {"indices": "0x0"}),
        ("P0: Before IVP_MULUSAN_2X32: address=0x20_fffffff0, last_indices=0x2, indirection_step=0xfffffff0",
         {"address": "0x20fffffff0", "last_indices": 2, "indirection_step": -16}),
        ("P0: Q7: rdma_desc_gen [TX] Loop iter 1/4: base_addr=0x2000000000, n_active_dmas=2, bytes_per_P=64",
         {"role": "TX", "iter": [1, 4], "base_addr": "0x2000000000", "n_active_dmas": 2, "bytes_per_P": 64}),
        ("P0: Q7: rdma_desc_start [RX] Trigger S2M DMA; addr=0x02021038, mask=0x00ff, n_desc=9",
         {"role": "RX", "ring": "S2M", "addr": "0x2021038", "mask": 255, "n_desc": 9}),
        ("S: Assertion failure! n < 4(dge_ctx_num:17)", {"assertion": "n < 4", "file": "dge_ctx_num", "line": 17}),
    ],
)  # fmt: skip
def test_golden_fields(text, fields):
    parsed = parse_line(text)
    assert parsed.fields == fields
    assert parsed.to_json()["format"] == FORMATS[parsed.key].text


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=200), st.sampled_from(RENDERED), st.booleans())
def test_random_text_never_fails(text, row, ended):
    for line in (
        text,
        "S: " + text,
        "P7: " + text,
        "R: " + text,
        row.text + text,
        row.text[: len(row.text) // 2] + text,
    ):
        parsed = parse_line(line, ended=ended)
        assert parsed.text == line
        parsed.to_json()
        assert parsed.row is None or not parsed.candidates


def test_hostile_lines_take_linear_time():
    """Twice the line is about twice the work, for every format that repeats what it may match (no backtracking)."""
    import time

    def seconds(text):
        start = time.perf_counter()
        parse_line(text)
        return time.perf_counter() - start

    for piece in ("(a:1", "S: ", "0x0_", "[1,", "descriptor: 1, src addr ", "our_forward_step=1, "):
        for head in (
            "S: Assertion failure! ",
            "P0: iDMA buffer error: ",
            "P0: increment_dimension indirection_steps: ",
            "S: DGE $S[",
        ):
            text = head + piece * (65536 // len(piece))
            assert min(seconds(text) for _ in range(2)) < 0.5, (head, piece)


def test_every_generation_has_lines_that_parse():
    assert {name for row in RENDERED for name in row.generations} == {g.name for g in GENERATIONS}


def test_the_formats_quoted_in_full_are_those_of_the_table():
    """No literal of the table is confused with a conversion: filled with zeros each one parses as itself."""
    for row in RENDERED:
        conversions = split_format(row.text)[1]
        texts = iter(TEXTS.get(row.key, [["TX"]] * 20))
        args = tuple(next(texts)[0] if c.kind == "s" else 0 for c in conversions)
        assert parse_line(printf(row.text, args)).key == row.key
    assert all(
        re.search(r"%", row.text) is None or row.text.count("%") == len(split_format(row.text)[1]) for row in RENDERED
    )

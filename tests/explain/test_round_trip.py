"""A log of a run explains back to the words that ran: every field that the log carries, and nothing to complain about."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgekit.api import Device
from dgekit.core.choices import Choices
from dgekit.core.generations import generation_named
from dgekit.explain.beside import first_difference
from dgekit.explain.explain import explain
from dgekit.explain.words import rebuild_word
from dgekit.frontends.load import load_program
from dgekit.logs.parse import parse_line
from dgekit.machine.session import run_workload
from dgekit.words.codec import decode_word

EXAMPLES = Path(__file__).parents[2] / "examples"
PROGRAMS = sorted([*EXAMPLES.glob("*.toml"), *EXAMPLES.glob("*.neff")])


def explained(log, generation, choices=None):
    lines = (parse_line(text, number) for number, text in enumerate(log, 1))
    return explain(lines, generation, choices or Choices())


def value_at(word, path):
    for name in path.split("."):
        word = getattr(word, name)
    return word


def ran(results, events):
    """(outcome, resolved word) of all words that the firmware took up, in the order in which they ran."""
    order = list(dict.fromkeys(event.transfer for event in events if event.transfer >= 0))
    by_index = {result.index: result for result in results}
    for index in order:
        result = by_index.get(index)
        if result is None:
            continue
        for outcome, word in zip(result.outcomes, result.resolved, strict=False):
            if outcome.pair is not None or outcome.fatal:
                yield outcome, decode_word(word)


def expect_same_words(results, events, found, choices):
    pairs = list(ran(results, events))
    assert len(found.cards) == len(pairs)
    for card, (outcome, word) in zip(found.cards, pairs, strict=True):
        assert card.status == outcome.status
        if outcome.fatal:
            continue
        assert card.kind in (outcome.pair.kind, None) or outcome.backend.value == "fast"
        if outcome.status == "done":
            assert card.backend is outcome.backend
        rebuilt = rebuild_word(card, choices)
        if outcome.status != "done":
            continue
        assert rebuilt is not None
        assert rebuilt.word.kind == word.kind
        for path in sorted(rebuilt.carried | rebuilt.derived):
            assert value_at(rebuilt.word, path) == value_at(word, path), path
        told = {path for path, *_ in rebuilt.word.placed_leaves()} - set(rebuilt.not_carried())
        assert "semaphore" in told
    complaints = [issue for card in found.cards if card.status == "done" for issue in card.issues]
    assert [str(issue) for issue in complaints if issue.severity in ("error", "warning")] == []


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.name)
def test_examples(path):
    workload = load_program(path.read_bytes(), path.name, base_dir=path.parent)
    if workload.choices.get("log_stages") == "select":  # D96 speaks of logs of all stages
        workload.choices["log_stages"] = "all"
    result, _ = run_workload(workload)
    choices = Choices(dict(workload.choices))
    found = explained(result.log, result.generation, choices)
    assert found.counts["understood"] == len(result.log)
    assert found.other_formats == {}
    expect_same_words(result.transfers, result.events, found, choices)
    assert first_difference(result.log, found.cards) is None


SWITCHES = {
    "fold_element": [True, False],
    "dimpush_order": ["inner_first", "outer_first"],
    "generate_pairing": ["single", "pair"],
    "regwrite": ["broadcast", "always", "never"],
    "dump_index": ["semaphore", "shape_register"],
    "dump_bracket": ["bound_byte", "elem_size"],
    "dump_position": ["before_push", "after_push"],
    "q7_kind_line": ["software", "always"],
    "xpose_walk": ["tiles", "elements"],
    "hbm_split": ["none", "equal"],
    "step_unit": ["bytes", "elements"],
}


def tensor(device, rng, space, shape, dtype):
    return (device.hbm if space == "hbm" else device.sbuf)(shape=shape, dtype=dtype)


def random_transfer(device, rng):
    """One transfer of any kind; it may be refused, which is no matter here."""
    spaces = rng.choice(["hbm", "sbuf"]), rng.choice(["hbm", "sbuf"])
    more = {
        "mode": rng.choice(["unknown", "swdge", "hwdge"]),
        "semaphore": rng.randrange(256),
        "increment": rng.randrange(1, 5),
    }
    rows, cols = rng.choice([1, 3, 16, 100]), rng.choice([1, 8, 33, 256])
    kind = rng.choice(["copy", "copy", "copy", "cast", "transpose", "gather", "scatter", "gather_transpose"])
    if kind in ("copy", "cast"):
        to = "bfloat16" if kind == "cast" else "float32"
        src = tensor(device, rng, spaces[0], (rows, cols), "float32")
        return device.copy(tensor(device, rng, spaces[1], (rows, cols), to), src, **more)
    if kind == "transpose":
        rows, cols = rng.choice([16, 32, 64]), rng.choice([8, 16, 128])
        src = tensor(device, rng, spaces[0], (rows, cols), "bfloat16")
        return device.transpose(tensor(device, rng, "sbuf", (cols, rows), "bfloat16"), src, **more)
    lanes = 32 if kind == "gather_transpose" else rng.choice([1, 5, 40])
    indices = np.array([[rng.randrange(rng.choice([40, 44])) for _ in range(lanes)]], np.uint32)
    picks = device.sbuf(contents=indices, shape=(1, lanes), dtype="uint32")
    more["oob"] = rng.choice(["skip", "error"])
    if kind == "gather_transpose":
        table, out = tensor(device, rng, "hbm", (40, 24), "bfloat16"), tensor(device, rng, "sbuf", (24, 32), "bfloat16")
        return device.gather_transpose(out, table, picks, **more)
    table = tensor(device, rng, spaces[0], (40, 8), "float32")
    data = tensor(device, rng, spaces[1], (lanes, 8), "float32")
    if kind == "gather":
        return device.gather(data, table, picks, **more)
    return device.scatter(table, data, picks, non_unique=True, **more)


def random_run(seed):
    rng = random.Random(seed)
    names = rng.sample(sorted(SWITCHES), rng.randrange(4))
    choices = {name: rng.choice(SWITCHES[name]) for name in names}
    generation = rng.choice(["CAYMAN", "MARIANA", "MARIANA_PLUS"])
    device = Device(generation, choices)
    done = [random_transfer(device, rng) for _ in range(rng.randrange(1, 5))]
    return device, done, generation_named(generation), Choices(choices)


@pytest.mark.parametrize("count", [60, pytest.param(300, marks=pytest.mark.slow)])
def test_random_programs(count):
    for seed in range(count):
        device, _, generation, choices = random_run(seed)
        session = device.session
        found = explained(device.log, generation, choices)
        try:
            expect_same_words(session.results, session.events, found, choices)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {choices.overrides()} {generation.name}") from error
        assert first_difference(device.log, found.cards) is None


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1 << 20), st.data())
def test_a_log_with_a_line_lost_is_still_explained(seed, data):
    """Never an error; what comes out is a difference to the program."""
    device, _, generation, choices = random_run(seed)
    log = list(device.log)
    if not log:
        return
    lost = data.draw(st.integers(0, len(log) - 1))
    found = explained(log[:lost] + log[lost + 1 :], generation, choices)
    if log[lost].startswith("S: ") and not any(part in log[lost] for part in ("Setting up", "contexts", "rx.base")):
        assert first_difference(log, found.cards) is not None

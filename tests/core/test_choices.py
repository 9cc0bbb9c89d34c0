"""The switches: parsing, defaults, what was asked, and their documentation."""

import re

import pytest

from dgekit.core.choices import CHOICES, Choices, choice_named
from dgekit.core.errors import UsageError


def test_every_switch_is_documented():
    for name, choice in CHOICES.items():
        assert re.fullmatch(r"[a-z0-9_]+", name)
        assert choice.question and choice.why
        for source in choice.source.split(", "):
            assert re.fullmatch(
                r"(dec\.D|isa-words |pipeline |(rings|cce|nki|neff) [A-Z]?|cce\.CHOICE-)[\d.]+", source
            ), name
        assert len(choice.values) == len(set(choice.values)) >= 1
        assert all(choice.parse(str(value)) == value for value in choice.values)


# README of the specification: the switches of its decisions, default first
DECIDED = {
    "step_unit": "bytes, elements",
    "fold_element": "true, false",
    "xpose_walk": "tiles, elements",
    "select": "two_tier, chained, visible_only",
    "neff_path": "dge, static",
    "generate_pairing": "single, pair",
    "dimpush_order": "inner_first, outer_first",
    "regwrite": "broadcast, always, never",
    "dump_index": "semaphore, shape_register",
    "hbm_split": "none, equal",
    "bound_address": "last_element, start, last_byte",
    "packet_bytes": "65536",
    "sem_mode": "once, per_engine",
    "ring_size": "4096",
    "rdm": "false, true",
    "solo_collective": "copy, refuse",
    "log_stages": "all, select",
}


@pytest.mark.parametrize("name", DECIDED)
def test_decided_values(name):
    texts = [str(v).lower() if isinstance(v, bool) else str(v) for v in CHOICES[name].values]
    assert ", ".join(texts) == DECIDED[name]


def test_what_was_asked_is_remembered():
    choices = Choices({"step_unit": "elements"})
    assert choices.used() == {}
    assert (choices.text("step_unit"), choices.flag("fold_element"), choices.number("ring_size")) == (
        "elements",
        False,
        4096,
    )
    assert choices.used() == {"fold_element": False, "ring_size": 4096, "step_unit": "elements"}
    assert choices.overrides() == {"step_unit": "elements"}
    assert list(choices) == list(CHOICES) and len(choices) == len(CHOICES)


def test_element_steps_keep_the_dimensions_unless_set():
    """Decision D2."""
    assert Choices()["fold_element"] is True
    assert Choices({"step_unit": "elements"})["fold_element"] is False
    assert Choices({"step_unit": "elements", "fold_element": "on"})["fold_element"] is True


def test_values_in_any_spelling():
    given = Choices({"rdm": "yes", "ring_size": "0x40", "notif_type": "0x03"})
    assert given.flag("rdm") and given.number("ring_size") == 64 and given.number("notif_type") == 3


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("step_unit", "words"), ("rdm", "maybe"), ("ring_size", "many"), ("ring_size", 31), ("packet_bytes", 0),
        ("packet_bytes", None), ("step_unit", ["bytes"]),
    ],
)  # fmt: skip
def test_a_value_that_is_none(name, value):
    with pytest.raises(UsageError, match=name) as caught:
        Choices({name: value})
    assert caught.value.rule == "choices.value"


def test_an_unknown_switch_offers_the_nearest():
    with pytest.raises(UsageError) as caught:
        Choices({"step_units": "bytes"})
    assert (caught.value.rule, caught.value.fix) == ("choices.name", "write step_unit")
    with pytest.raises(UsageError):
        choice_named("?")
    with pytest.raises(UsageError):
        Choices()["nothing"]

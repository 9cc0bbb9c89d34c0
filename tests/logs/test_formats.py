"""The log table against the specification's data file, entry by entry."""

import json
from pathlib import Path

import pytest

from dgekit.core.errors import InternalError
from dgekit.logs.formats import EVIDENCE, FORMATS, format_named

GOLDEN = Path(__file__).parent.parent / "golden" / "spec" / "log-strings.json"
ENTRIES = json.loads(GOLDEN.read_text())


def test_the_table_has_exactly_the_entries_of_the_specification():
    assert len(FORMATS) == len(ENTRIES) == 139


@pytest.mark.parametrize(("row", "entry"), list(zip(FORMATS.values(), ENTRIES, strict=True)), ids=list(FORMATS))
def test_each_row_equals_its_entry(row, entry):
    assert row.text == entry["format"]
    assert row.prefix == entry["prefix"]
    assert row.stage == entry["stage"]
    assert list(row.generations) == entry["generations"]
    assert row.trailing_lf is entry["trailing_lf"]
    assert row.evidence == entry["evidence"]


def test_open_texts_say_what_is_open():
    for row in FORMATS.values():
        if row.is_uncertain or row.is_elided:
            assert row.note, row.key
    assert {row.key for row in FORMATS.values() if row.is_uncertain} == {
        "dump.pool", "dump.rtl", "push.regwrite", "doorbell.trigger",
    }  # fmt: skip
    assert {row.evidence for row in FORMATS.values()} == set(EVIDENCE.values())


def test_tokens_and_symbols_are_no_lines():
    assert not format_named("token.rd").is_line
    assert not format_named("symbol.dge_shape").is_line
    assert format_named("seq.illegal").is_line


def test_an_unknown_key_names_the_nearest():
    with pytest.raises(InternalError, match="no log format has the key") as caught:
        format_named("select.poll")
    assert caught.value.rule == "logs.key"
    assert caught.value.fix == "write select.pool"

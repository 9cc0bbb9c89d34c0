"""The walk: what it leaves out it counts, and it names only what really prints the rest."""

from __future__ import annotations

from pathlib import Path

import dgekit
from dgekit.export.stages import descriptor_lines
from dgekit.export.walk import MAX_LINES, walk_lines
from dgekit.logs.render import render_log

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_left_out_lines_are_counted_and_the_hint_is_true():
    run = dgekit.run(EXAMPLES / "wait_chain.toml")
    lines = list(walk_lines(run.result))
    load = next(result for result in run.transfers if result.name == "load")
    events = [event for event in run.events if event.transfer == load.index]
    log = render_log(events, run.generation, dgekit.Choices())
    assert f"    ... {len(log) - MAX_LINES} more (--log FILE has all)" in lines
    bds = list(descriptor_lines(load.descriptors))
    assert f"    ... {len(bds) - MAX_LINES} more (dge lower --stage descriptors has all)" in lines
    assert "    ... 20 more" in lines  # 16 engines ring two doorbells each, 12 are shown


def test_a_section_without_lines_is_not_there():
    run = dgekit.run(EXAMPLES / "load_e18.toml")
    lines = list(walk_lines(run.result))
    assert "  log" not in lines and "  doorbells" in lines

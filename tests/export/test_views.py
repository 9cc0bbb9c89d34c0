"""The trace and the HTML report of a run: every event and every transfer is in them, and they are well formed."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path

from dgekit.cli.main import run_cli
from dgekit.export.html_report import run_to_html
from dgekit.export.trace import run_to_trace
from dgekit.frontends.toml_file import load, loads
from dgekit.machine.session import run_workload

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_a_trace_holds_every_event_in_order():
    result, _ = run_workload(load(EXAMPLES / "cast.toml"))
    trace = run_to_trace(result)
    slices = [entry for entry in trace["traceEvents"] if entry["ph"] == "X"]
    assert [entry["ts"] for entry in slices] == list(range(len(result.events)))
    assert [entry["name"] for entry in slices] == [event.name for event in result.events]
    bells = [entry for entry in slices if entry["cat"] == "doorbell"]
    assert {entry["tid"] for entry in bells} == set(range(8)) and {entry["pid"] for entry in bells} == {2}
    assert all(entry["args"]["transfer"] == "narrow" for entry in bells)


def test_a_report_escapes_what_the_program_says():
    text = """
        [tensors."<b>"]
        space = "hbm"
        shape = [4]
        dtype = "uint8"
        init = "arange"
        [tensors.y]
        space = "hbm"
        shape = [4]
        dtype = "uint8"
        [[transfers]]
        name = "<script>"
        op = "copy"
        src = "<b>"
        dst = "y"
    """
    result, _ = run_workload(loads(text))
    page = run_to_html(result)
    tags: list[str] = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attrs: tags.append(tag)  # type: ignore[method-assign]
    parser.feed(page)
    assert "script" not in tags and "b" not in tags and tags.count("tr") == 2
    assert "&lt;script&gt;" in page and "S: DGE: Select backend Pool" in page


def test_run_writes_both(tmp_path):
    trace, report = tmp_path / "t.json", tmp_path / "r.html"
    program = str(EXAMPLES / "seed_copy.toml")
    assert run_cli(["run", program, "-q", "--trace", str(trace), "--report", str(report)]) == 0
    assert json.loads(trace.read_text())["otherData"]["generation"] == "CAYMAN"
    assert report.read_text().startswith("<!doctype html>")
    assert run_cli(["run", program, "-q", "--trace", str(tmp_path / "none" / "t.json")]) == 3

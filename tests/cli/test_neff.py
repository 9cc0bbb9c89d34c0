"""`dge neff`: every verb on files that are right, wrong and hostile; what it prints follows the published schemas."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import pty
import random
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from neffs import copy, entry, members, neff, pack

from dgekit.export.neff_rings import COLUMNS
from dgekit.frontends.neff.folder import HEADER_FILE
from dgekit.words.structs import PseudoAddr8Var, PseudoDmaDirect2D

ROOT = Path(__file__).parents[2]
GRADIENT = ROOT / "examples" / "gradient.neff"
Dge = Callable[..., Any]
VERBS = (["info"], ["dump"], ["check"], ["rings"], ["extract", "-o", "out"], ["diff", str(GRADIENT)])


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write a file of the test's folder."""

    def file(data: bytes, name: str = "f.neff") -> Path:
        (tmp_path / name).write_bytes(data)
        return tmp_path / name

    return file


def test_info_has_verdicts_of_header_and_hash(dge: Dge, write: Callable[..., Path]) -> None:
    info = dge("neff", "info", GRADIENT, "--json").json("neff")
    assert info["hash"] == "verified"
    assert info["version"] == {"major": 2, "minor": 0, "loader": 2, "loads": True}
    path = write(pack(members([]), {"pkg_version": 1, "neff_version_major": 3, "feature_bits": 1 << 27}))
    answer = dge("neff", "info", path, "--json", "--supported", "0xffffffff")
    info = answer.json("neff")
    assert answer.code == 0 and info["hash"] == "unverified" and info["version"]["loads"] is False
    assert [verdict["loads"] for verdict in info["features"]["verdicts"]] == [False, False]
    text = dge("neff", "info", path)
    assert text.code == 1 and "version 3.0 by a loader of version 2: refused" in text.text
    assert {issue["rule"] for issue in info["issues"]} == {"neff.hash", "neff.version"}


def test_info_of_the_published_refusal(dge: Dge, write: Callable[..., Path]) -> None:
    path = write(pack(members([]), {"feature_bits": 0x100}))
    answer = dge("neff", "info", path)
    assert answer.code == 1 and "refused for bits 0x100" in answer.text
    assert dge("neff", "info", path, "--supported", "0x1ff").code == 0


def test_entries_of_the_wrong_form_stop_info(dge: Dge, write: Callable[..., Path]) -> None:
    for table in (3, {**entry(copy()), "queue": 7}, entry({**copy(), "op": "move"}), entry([])):
        answer = dge("neff", "info", write(neff([table])))  # type: ignore[list-item]
        assert answer.code == 3 and "dma[0]" in answer.err


def test_dump_names_what_words_and_entries_mean(dge: Dge, write: Callable[..., Path]) -> None:
    records = dge("neff", "dump", GRADIENT, "--json").json_lines("neff_dump")
    entries = [record for record in records if record["record"] == "entry"]
    words = [record for record in records if record["record"] == "word"]
    assert [(one["queue"], one["semaphore"]) for one in entries] == [("q_gradient_in", 10), ("q_gradient_out", 11)]
    assert entries[0]["movements"][0]["from"][0] == {
        "variable": "input", "offset": 0, "steps": [1, 128], "sizes": [128, 1], "dtype": None,
    }  # fmt: skip
    assert [(one["engine"], one["slot"]) for one in words] == [("pe", 0), ("pool", 0), ("pool", 1), ("pool", 2)]
    assert words[1]["symbols"] == {"queue_name": "queue set q_gradient_in, in"}
    word = PseudoDmaDirect2D(src_start_addr=PseudoAddr8Var(var_id=1), dst_start_addr=PseudoAddr8Var(var_id=9))
    path = write(neff([entry(copy(source="x"), queue="gone")], stream=word.encode()))
    shown = dge("neff", "dump", path).text
    assert "src_start_addr.var_id is y" in shown and "dst_start_addr.var_id is no variable of this file" in shown
    assert "id 0 on gone (unknown), semaphore none" in shown and "copy x [1,256] -> y [1,256]" in shown
    records = dge("neff", "dump", write(neff([], stream=bytes(8))), "--json").json_lines("neff_dump")
    assert records == [{"record": "stream", "subgraph": "sg00", "engine": "pool", "bytes": 8, "hex": "00" * 8}]


def test_dump_can_be_narrowed(dge: Dge, write: Callable[..., Path]) -> None:
    path = write(neff([entry(copy())], cores=2))
    assert len(dge("neff", "dump", path, "--json").lines) == 2
    assert len(dge("neff", "dump", path, "--json", "--subgraph", "sg01", "--engine", "pool").lines) == 1
    for option in ("--subgraph", "--engine"):
        answer = dge("neff", "dump", path, option, "none")
        assert answer.code == 2 and "cli.neff" in answer.err


def test_check(dge: Dge, write: Callable[..., Path]) -> None:
    assert dge("neff", "check", GRADIENT).lines == ["no issues"]
    path = write(neff([entry(copy(source="z"), copy(to_sizes=[1]))]))
    answer = dge("neff", "check", path, "--json")
    assert answer.code == 1
    assert [issue["rule"] for issue in answer.json("neff_check")["issues"]] == [
        "neff.variable",
        "neff.amount",
    ]
    assert dge("neff", "check", path).lines[-1] == "2 issues"
    lost = members([])
    kelf = lost.pop("kelf-a.json")
    lost["neff.json"] = json.loads(json.dumps(lost["neff.json"]).replace("kelf-a", "kelf-b"))
    answer = dge("neff", "check", write(pack(lost)))
    assert kelf and answer.code == 1 and "kelf-b.json" in answer.text


def test_check_knows_the_queue_limit(dge: Dge, write: Callable[..., Path]) -> None:
    rows = copy(sizes=[1, 1 << 24], from_steps=[1, 2], to_steps=[1, 2])
    sides = {
        "x": {"type": "input", "var_id": 0, "size": 1 << 26},
        "y": {"type": "output", "var_id": 1, "size": 1 << 26},
    }
    path = write(neff([entry(rows)], {"q": {"type": "in"}}, sides))
    for verb in ("check", "rings"):
        answer = dge("neff", verb, path)
        assert answer.code == 1 and "rings.queue_limit" in answer.text + answer.err and "16777200" in answer.text
    assert dge("neff", "rings", path, "--json").json("neff_rings")["largest"]["descriptors"] == (1 << 24) + 1


def test_rings_in_every_form(dge: Dge, write: Callable[..., Path]) -> None:
    path = write(neff([entry(copy(sizes=[256]), copy(sizes=[64, 8]))], cores=2, stream=bytes(640)))
    shown = dge("neff", "rings", path, "--json").json("neff_rings")
    assert [core["ring_bytes"]["estimate_a"] for core in shown["cores"]] == [1312, 1312]
    assert shown["ring_bytes"]["estimate_a"] == 2624 and shown["limit"] == 16777200
    head, *rows = csv.reader(io.StringIO(dge("neff", "rings", path, "--csv").text))
    assert tuple(head) == COLUMNS and len(rows) == 2
    first = dict(zip(head, rows[0], strict=True))
    assert (first["queue"], first["estimate_a_bytes"], first["exact_bytes"]) == ("q", "1312", str(16 * 36))
    assert any("1312" in line and line.split()[0] == "q" for line in dge("neff", "rings", path).lines)
    assert dge("neff", "rings", path, "--csv", "--json").code == 2
    assert "cli.rings" in dge("neff", "rings", path, "--csv", "--runtime").err


def test_rings_as_the_runtime_prints_them(dge: Dge, write: Callable[..., Path]) -> None:
    """The items of the runtime's print-out (neff.md 3b), in its order and units."""
    queues = {"qSPSpillReload0": {"type": "data"}, "qIO": {"type": "in"}}
    entries = [entry(copy(), queue=name, id=n) for name in queues for n in range(300)]
    lines = dge(
        "neff",
        "rings",
        write(neff(entries, queues, cores=2, stream=random.Random(1).randbytes(64 * 40_000))),
        "--runtime",
    ).lines
    rows = [re.split(r"\s{2,}", line.strip()) for line in lines]
    assert [row[0] for row in rows] == [
        "item", "model code", "model constants", "scratchpad", "runtime", "dma rings io", "dma rings spill",
        "dma rings collectives", "dma rings runtime", "collectives", "total of these", "shared scratchpad",
    ]  # fmt: skip
    values = {row[0]: row[1:] for row in rows}
    assert values["item"] == ["core 0", "core 1"] and values["model code"] == ["2.441 MB"] * 2
    assert values["dma rings io"] == values["dma rings spill"] == ["18.750 KB"] * 2
    assert values["runtime"] == ["-", "-"] and values["scratchpad"] == ["0", "0"]


def test_extract_and_build_are_each_others_inverse(dge: Dge, tmp_path: Path) -> None:
    folder, again = tmp_path / "out", tmp_path / "again.neff"
    listed = dge("neff", "extract", GRADIENT, "-o", folder, "--json").json("neff_extract")
    assert {one["file"] for one in listed} >= {HEADER_FILE, "sg00/pool.bin"} and len(listed) == 19
    built = dge("neff", "build", folder, "-o", again, "--json")
    assert again.read_bytes() == GRADIENT.read_bytes()
    assert json.loads(built.text)["sha256"] == hashlib.sha256(GRADIENT.read_bytes()).hexdigest()
    assert dge("neff", "build", folder, "-o", "-").out == GRADIENT.read_bytes()
    plain = dge("neff", "build", folder, "-o", tmp_path / "plain.neff", "--plain")
    assert plain.code == 0 and dge("neff", "diff", GRADIENT, tmp_path / "plain.neff").code == 0
    header = tmp_path / "h.json"
    header.write_text(json.dumps({"header": {"name": "other", "feature_bits": "0x1"}}))
    assert dge("neff", "build", folder, "-o", again, "--header", header).code == 0
    assert "other" in dge("neff", "info", again).text
    (line,) = dge("neff", "extract", GRADIENT, "neff.json", "-o", tmp_path / "one").lines
    assert line.endswith("neff.json")
    assert dge("neff", "extract", GRADIENT, "none", "-o", tmp_path / "one").code == 2
    assert dge("neff", "build", tmp_path / "nothing", "-o", again).code == 3


def test_the_header_file_follows_its_schema(dge: Dge, tmp_path: Path) -> None:
    from schema_checker import problems

    from dgekit.export.publish import stored_schema

    dge("neff", "extract", GRADIENT, "-o", tmp_path)
    assert problems(json.loads((tmp_path / HEADER_FILE).read_text()), stored_schema("neff_header")) == []


def test_diff(dge: Dge, write: Callable[..., Path]) -> None:
    left, right = write(neff([entry(copy())]), "a.neff"), write(neff([entry(copy(sizes=[128]))]), "b.neff")
    assert dge("neff", "diff", left, left).code == 0
    answer = dge("neff", "diff", left, right, "--json")
    found = answer.json("neff_diff")["differences"]
    assert answer.code == 1 and [one["where"] for one in found] == ["sg00.pool.dma"] * 2
    assert "nothing ->" in dge("neff", "diff", left, right).text


def test_standard_input(dge: Dge) -> None:
    data = GRADIENT.read_bytes()
    for verb in ("info", "dump", "check", "rings"):
        assert dge("neff", verb, "-", stdin=data).code == 0
    assert dge("neff", "diff", GRADIENT, "-", stdin=data).code == 0


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb[0])
def test_what_cannot_be_read(verb: list[str], dge: Dge, write: Callable[..., Path], tmp_path: Path) -> None:
    """A damaged header, a cut archive, no file: one line, exit code 3, nothing written."""
    data = GRADIENT.read_bytes()
    for bad in (data[:600], data[:-30], data[:1024], b"x" * 3000, b""):
        path = write(bad)
        options = [str(tmp_path / "out") if option == "out" else option for option in verb[1:]]
        answer = dge("neff", verb[0], path, *options)
        assert answer.code == 3 and answer.err.count("\n") == 1 and answer.out == b""
        assert [one.name for one in tmp_path.iterdir()] == ["f.neff"]
    assert dge("neff", verb[0], tmp_path / "none", *verb[1:]).code == 3


@pytest.mark.slow
def test_progress_is_shown_on_a_terminal_only(write: Callable[..., Path]) -> None:
    path = write(neff([entry(copy(from_off=number % 977), id=number) for number in range(150_000)]))
    command = [sys.executable, "-c", "from dgekit.cli.main import main; main()", "neff", "rings", str(path)]
    quiet = subprocess.run(command, capture_output=True, check=True)
    assert quiet.stderr == b""
    ours, theirs = pty.openpty()
    with open(ours, "rb", buffering=0) as screen:
        running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs)
        out, _ = running.communicate()
        time.sleep(0.1)
        shown = screen.read(1 << 16).decode()
    assert out == quiet.stdout and "sg00/pool.json: " in shown and " % of " in shown and shown.endswith("\r")

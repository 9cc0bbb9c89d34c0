"""dge log parse, explain and ring: what they print, how they end, and that a pipe is answered at once."""

from __future__ import annotations

import gzip
import json
import os
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dgekit.descriptors.notification import dge_completion

Dge = Callable[..., Any]
MIXED = b"""kernel: booting
[ 1.5] nc0: S: Setting up DGE\r
nc0: P3: Generating 8 descriptors; ring_ndesc = 64
S: DGE: Select backend Poo
S: push GENERATE to DMA[0
S: zork
S: push REGWRITE to DMA[3]"""


def test_parse(dge: Dge) -> None:
    answer = dge("log", "parse", stdin=MIXED)
    lines = answer.json_lines("log_parse")
    assert [line["line"] for line in lines] == [1, 2, 3, 4, 5, 6, 7]
    assert [line["dialect"] for line in lines] == [None, "S", "P", "S", "S", "S", "S"]
    assert lines[1] == {
        "line": 2, "dialect": "S", "processor": None, "stage": "setup", "format": "S: Setting up DGE", "fields": {},
        "text": "[ 1.5] nc0: S: Setting up DGE", "host": "nc0",
    }  # fmt: skip
    assert (lines[2]["processor"], lines[2]["fields"]) == (3, {"Generating": 8, "ring_ndesc": 64})
    assert (lines[3]["format"], lines[3]["cut"]) == ("S: DGE: Select backend Pool", True)
    assert (lines[4]["format"], lines[4]["cut"]) == (None, True)
    assert lines[4]["candidates"] == ["S: push GENERATE to DMA[%d]: %s : addr=0x%llx, elem_size=%d, sem_num=%i"]
    assert "candidates" not in lines[5]
    assert lines[6]["fields"] == {"op": "REGWRITE", "dma": 3}
    assert answer.code == 0
    assert answer.err == "7 lines: 4 understood, 2 that no format fits, 1 others\n"
    firmware = dge("log", "parse", "--only-firmware", stdin=MIXED)
    assert len(firmware.lines) == 6
    assert firmware.err == answer.err


def test_strict(dge: Dge) -> None:
    assert dge("log", "parse", "--strict", stdin=MIXED).code == 1
    assert dge("log", "parse", "--strict", stdin=b"kernel: x\nS: Halt\n").code == 0
    assert dge("log", "parse", "--strict", stdin=b"S: zork\n").code == 1


def test_gzip_and_files_that_are_none(dge: Dge, tmp_path: Path) -> None:
    packed = tmp_path / "a.log.gz"
    packed.write_bytes(gzip.compress(MIXED))
    assert dge("log", "parse", packed).out == dge("log", "parse", stdin=MIXED).out
    packed.write_bytes(gzip.compress(MIXED)[:-4])
    broken = dge("log", "parse", packed)
    assert broken.code == 3
    assert "logs.gzip" in broken.err
    assert dge("log", "parse", tmp_path / "none").code == 3
    assert dge("log", "parse", tmp_path).code == 3
    assert dge("log", "prase").code == 2


def test_a_live_pipe_is_answered_line_by_line() -> None:
    command = [sys.executable, "-c", "from dgekit.cli.main import main; main()", "log", "parse"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for text in ("S: Halt", "P1: DGE INDIRECT"):
            process.stdin.write(f"{text}\n".encode())
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["text"] == text  # while the pipe stays open
        process.stdin.close()
        assert process.wait(20) == 0


def test_a_reader_that_goes_away_ends_it() -> None:
    code = "from dgekit.cli.main import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", code, "log", "parse"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        try:
            process.stdin.write(b"S: Halt\n" * 100000)
            process.stdin.close()
        except BrokenPipeError:
            pass
        assert process.wait(20) == 0
        assert b"Traceback" not in process.stderr.read()


@pytest.mark.slow
def test_two_hundred_thousand_lines(tmp_path: Path) -> None:
    """Under 5 seconds of processor time, and the memory of a short log."""
    import resource

    path = tmp_path / "long.log"
    lines = [f"S: push DIMPUSH to DMA[{n % 16}]: [{n % 65536},1][{n},-1]\n" for n in range(1000)]
    path.write_text("".join(lines) * 200)
    code = "from dgekit.cli.main import main; main()"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    with open(os.devnull, "wb") as nothing:
        subprocess.run(
            [sys.executable, "-c", code, "log", "parse", str(path)], stdout=nothing, stderr=nothing, check=True
        )
    took = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert took.ru_utime - before.ru_utime < 5, time.perf_counter() - start


def test_explain_a_run(dge: Dge, tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    assert dge("run", "examples/wait_chain.toml", "--log", log).code == 0
    answer = dge("log", "explain", log, "--gen", "trn2")
    assert answer.code == 0
    assert "word 2, lines 73 to 141: DIRECT2D, backend pool, done" in answer.lines
    found = dge("log", "explain", log, "--json").json("log_explain")
    assert [card["semaphore"] for card in found["cards"]] == [4, 5]
    assert "first_difference" not in found


def test_explained_words_are_encoded_again(dge: Dge, tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    dge("run", "examples/cast.toml", "--log", log)
    resolved = json.loads(dge("run", "examples/cast.toml", "--json").text)["transfers"][0]["words"]["resolved"]
    words = dge("log", "explain", log, "--as", "words", "--json")
    (word,) = words.json_lines("decode")
    assert {issue["rule"] for issue in word["issues"]} == {"logs.derived", "logs.not_carried"}
    assert dge("encode", "--format", "hex", stdin=words.out).lines == resolved
    text = dge("log", "explain", log, "--as", "words").text
    assert "not in the log: events.wait_mode" in text
    assert "derived: dst_elem_size" in text
    skipped = dge("log", "explain", "--as", "words", stdin=b"S: DGE: NO BACKEND FOUND, doing nothing\n")
    assert skipped.code == 1
    assert "does not tell enough" in skipped.err


def test_a_program_beside_the_log(dge: Dge, tmp_path: Path) -> None:
    log = tmp_path / "run.log"
    dge("run", "examples/wait_chain.toml", "--log", log)
    same = dge("log", "explain", log, "--program", "examples/wait_chain.toml")
    assert (same.code, same.lines[-1]) == (0, "the log is the program's")
    log.write_text(log.read_text().replace("elem_size=512, sem_num=5", "elem_size=256, sem_num=5", 1))
    answer = dge("log", "explain", log, "--program", "examples/wait_chain.toml")
    assert answer.code == 1
    assert answer.lines[-3].startswith("first difference: word 2, line ")
    found = dge("log", "explain", log, "--program", "examples/wait_chain.toml", "--json").json("log_explain")
    assert found["first_difference"]["fields"] == ["elem_size"]
    assert found["generation"] == "CAYMAN"
    both = dge("log", "explain", log, "--program", "examples/wait_chain.toml", "--as", "words")
    assert both.code == 2
    assert "cli.log_explain" in both.err


def test_ring(dge: Dge, tmp_path: Path) -> None:
    ring = b"\x04S: Setting up DGE\n\0\x01S: DGE: NO BACKEND FOUND, doing nothing\0"
    dump = struct.pack("<IIQII", 0x6099CB34, 0x80, 0x2000001000, len(ring), 4).ljust(0x48, b"\0") + ring.ljust(
        0x80, b"\0"
    )
    path = tmp_path / "core.bin"
    path.write_bytes(dump)
    answer = dge("log", "ring", path)
    assert answer.lines == ["0x000000 4 S: Setting up DGE", "0x000014 1 S: DGE: NO BACKEND FOUND, doing nothing"]
    assert answer.err == "2 records; ring of 0x80 bytes at 0x48, head 0x3d, not wrapped, of a destroyed core\n"
    records = dge("log", "ring", path, "--json").json_lines("log_ring")
    assert [(record["severity"], record["level"], record["stage"]) for record in records] == [
        (4, "debug", "setup"), (1, "error", "select"),
    ]  # fmt: skip
    alone = dge("log", "ring", "-", "--head", hex(len(ring)), "--size", "128", stdin=ring.ljust(128, b"\0"))
    assert alone.lines == answer.lines
    assert dge("log", "ring", path, "--head", "x").code == 2
    assert dge("log", "ring", "-", stdin=b"short").code == 3


def test_notification_records(dge: Dge) -> None:
    data = dge_completion(0x123, range(16), 8).encode() + bytes(16)
    answer = dge("log", "ring", "--records", stdin=data)
    assert len(answer.lines) == 1
    assert answer.lines[0].startswith("0x0000 completion: DgeCompletion(")
    (record,) = dge("log", "ring", "--records", "--json", stdin=data).json_lines("log_records")
    assert (record["kind"], record["fields"]["dma"]["num_packets"]) == ("completion", 8)
    both = dge("log", "ring", "--records", "--head", "1", stdin=data)
    assert both.code == 2
    assert "cli.ring" in both.err

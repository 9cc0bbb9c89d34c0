"""Bad input: one line that names file, place and rule, the exit code of the design, nothing half-written."""

from __future__ import annotations

import gzip
import io
import json
import os
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dgekit.cli.main import run_cli
from dgekit.frontends.neff.header import HEADER_SIZE, encode_header
from dgekit.frontends.neff.read import read_neff
from dgekit.frontends.neff.write import build_neff

Dge = Callable[..., Any]
EXAMPLES = Path(__file__).parents[2] / "examples"
GRADIENT = (EXAMPLES / "gradient.neff").read_bytes()
MEMBERS = dict(read_neff(GRADIENT).members)
VERBS = (["run"], ["lower"], ["check"])


def tensor(name: str, space: str = "hbm", shape: str = "[4, 8]", dtype: str = "float32", more: str = "") -> str:
    return f'[tensors.{name}]\nspace = "{space}"\nshape = {shape}\ndtype = "{dtype}"\n{more}\n'


def copy(more: str = "", src: str = '"x"', dst: str = '"y"') -> str:
    return f'[[transfers]]\nname = "t"\nop = "copy"\nsrc = {src}\ndst = {dst}\n{more}\n'


TWO = tensor("x") + tensor("y")
UNREADABLE = [
    ("", b"\xff\xfe", "toml.syntax", "no UTF-8"),
    ("syntax", "[tensors", "toml.syntax", "end of document"),
    ("unclosed", 'generation = "trn2', "toml.syntax", "end of document"),
    ("huge number", "x = " + "9" * 5000, "toml.limit", "prog.toml"),
    ("deep", "x = " + "[" * 100_000, "toml.", "prog.toml"),
    ("deep keys", ".".join("a" * 3 for _ in range(1000)) + " = 1", "toml.limit", "line 1"),
    ("large", "# " + "x" * (4 << 20), "toml.limit", "4194304"),
    ("unknown key", "generatio = 'v3'", "toml.key", "write generation"),
    ("unknown key of a tensor", TWO.replace("space", "spce", 1), "toml.key", "tensors.x"),
    ("unknown key of a transfer", TWO + copy("semaphor = 1"), "toml.key", "write semaphore"),
    ("unknown choice", "[choices]\nstep_units = 'bytes'", "toml.key", "choices"),
    ("wrong choice", "[choices]\nstep_unit = 'pounds'", "toml.value", "choices.step_unit"),
    ("unknown tensor", TWO + copy(src='"z"'), "toml.", "transfers[0].src"),
    ("unknown generation", "generation = 'trn9'", "toml.", "generation"),
    ("no number", TWO + copy("semaphore = 'ten'"), "toml.type", "transfers[0].semaphore"),
    ("nan", TWO + copy("semaphore = nan"), "toml.type", "transfers[0].semaphore"),
    ("inf", TWO + copy("increment = inf"), "toml.type", "transfers[0].increment"),
    ("semaphore range", TWO + copy("semaphore = 256"), "toml.value", "255"),
    ("negative increment", TWO + copy("semaphore = 1\nincrement = -1"), "toml.value", "increment"),
    ("register range", "[registers]\n64 = 1", "toml.", "registers"),
    ("register value", "[registers]\n5 = 4294967296", "toml.", "registers"),
    ("shape register", "[[shape_registers]]\nindex = 4\nnum = [1,1,1,1]\nstep = [1,1,1,1]", "toml.value", "index"),
    ("zero extent", tensor("x", shape="[0]"), "toml.value", "tensors.x.shape"),
    ("negative extent", tensor("x", shape="[-4]"), "toml.value", "tensors.x.shape"),
    ("no shape", tensor("x", shape="[]"), "toml.", "tensors.x.shape"),
    ("huge shape", tensor("x", shape="[65536, 65536, 65536]"), "toml.", "tensors"),
    ("many bytes", tensor("x", shape="[1099511627776]", dtype="int8"), "toml.memory", "4294967296"),
    ("unknown dtype", tensor("x", dtype="float31"), "toml.", "tensors.x.dtype"),
    ("missing file", tensor("x", more='init = "missing.npy"'), "toml.file", "missing.npy"),
    ("pin of the other space", tensor("x", more="partition = 1"), "toml.", "tensors.x"),
    ("five dimensions are fine, none is not", TWO + copy(src='{ tensor = "x", pattern = [] }'), "toml.", "pattern"),
    ("half a step", TWO + copy(src='{ tensor = "x", pattern = [[1]] }'), "toml.", "pattern[0]"),
    ("too many partitions", tensor("x", "sbuf", "[129, 4]"), "toml.value", "128"),
    ("array of tables", "transfers = 3", "toml.type", "transfers"),
]


@pytest.mark.parametrize(("content", "rule", "part"), [case[1:] for case in UNREADABLE], ids=[c[0] for c in UNREADABLE])
@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb[0])
def test_unreadable_transfer_files(
    verb: list[str], content: str | bytes, rule: str, part: str, tmp_path: Path, dge: Dge
) -> None:
    path = tmp_path / "prog.toml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    answer = dge(*verb, path, *(["--out", f"x={tmp_path}/x.npy"] if verb == ["run"] else []))
    assert (answer.code, answer.out) == (3, b""), answer
    assert answer.err.startswith("dge: ") and answer.err.count("\n") == 1
    assert "prog.toml" in answer.err
    assert f"[{rule}" in answer.err and part in answer.err, answer.err
    assert [one.name for one in tmp_path.iterdir()] == ["prog.toml"]


REFUSED = [
    ("overlap", tensor("x", more="address = 268435456") + tensor("y", more="address = 268435460"), "dec.D39"),
    ("out of space", tensor("x", "sbuf", "[128, 1000000]"), "dec.D39"),
    ("address of nothing", tensor("x", more="address = 16"), "memory.unmapped"),
]


@pytest.mark.parametrize(("content", "rule"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
def test_tensors_that_cannot_be_placed(content: str, rule: str, tmp_path: Path, dge: Dge) -> None:
    path, saved = tmp_path / "prog.toml", tmp_path / "x.npy"
    path.write_text(content)
    answer = dge("run", path, "--out", f"x={saved}")
    assert (answer.code, answer.out) == (1, b""), answer
    assert answer.err.startswith("dge: ") and f"[{rule}" in answer.err, answer.err
    assert not saved.exists()


FAILED = [
    ("sizes", TWO + copy(src='{ tensor = "x", pattern = [[1, 4]] }')),
    ("past the end", TWO + copy(src='{ tensor = "x", offset = 1 }')),
    ("before the start", TWO + copy(src='{ tensor = "x", pattern = [[-1, 32]] }')),
    ("bound register", TWO + copy("src_bound = { register = 64 }")),
    ("waits for itself", TWO + copy("wait = [{ semaphore = 4, at_least = 1 }]")),
    ("dtypes", tensor("x", dtype="int64") + tensor("y", dtype="bfloat16") + copy()),
    ("mode", "generation = 'trn1'\n" + TWO + copy("mode = 'hwdge'")),
]


@pytest.mark.parametrize("content", [case[1] for case in FAILED], ids=[case[0] for case in FAILED])
def test_transfers_that_cannot_run(content: str, tmp_path: Path, dge: Dge) -> None:
    """Exit 1 (or 3, where the file itself is wrong); the run says which transfer, which rule, and moves nothing."""
    path = tmp_path / "prog.toml"
    path.write_text(content)
    answer = dge("run", path, "--json")
    assert answer.code in (1, 3), answer
    if answer.code == 3:
        assert answer.out == b"" and "prog.toml: transfers[0]" in answer.err
        return
    result = answer.json("run")
    (transfer,) = result["transfers"]
    issues = [*transfer["issues"], *result["issues"]]
    assert transfer["status"] in ("refused", "skipped")
    assert any(issue["severity"] == "error" and issue["rule"] and issue["message"] for issue in issues)
    assert result["tensors"]["y"]["sha256"] == dge("run", path, "--json").json("run")["tensors"]["y"]["sha256"]


def test_two_transfers_that_wait_for_each_other(tmp_path: Path, dge: Dge) -> None:
    """A cyclic reference in time: a deadlock is an error with the wait graph, not a hang."""
    first = copy("semaphore = 1\nengine = 'pool'\nwait = [{ semaphore = 2, at_least = 1 }]")
    second = copy("semaphore = 2\nengine = 'act'\nwait = [{ semaphore = 1, at_least = 1 }]").replace('"t"', '"u"')
    path = tmp_path / "prog.toml"
    path.write_text(TWO + first + second)
    answer = dge("run", path, "--json")
    assert answer.code == 1
    assert "run.deadlock" in {issue["rule"] for issue in answer.json("run")["issues"]}


def tar_of(*entries: tuple[tarfile.TarInfo, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for entry, content in entries:
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def in_neff(payload: bytes) -> bytes:
    return encode_header({"header_size": HEADER_SIZE, "data_size": len(payload), "pkg_version": 1}) + payload


def link(name: str, target: str) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname = tarfile.SYMTYPE, target
    return entry


def changed(name: str, content: bytes) -> bytes:
    return build_neff({**MEMBERS, name: content})


HOSTILE = [
    ("empty", b"", ""),
    ("header only", GRADIENT[:HEADER_SIZE], "neff.truncated"),
    ("half a header", GRADIENT[:600], "neff.header"),
    ("cut archive", GRADIENT[:-40], "neff."),
    ("trailing bytes", GRADIENT + b"x" * 100, "neff.gzip"),
    ("damaged gzip", GRADIENT[:1100] + b"\xff" * 50 + GRADIENT[1150:], "neff."),
    ("bomb", in_neff(gzip.compress(bytes(64 << 20))), "neff.limit"),
    ("path out", in_neff(tar_of((tarfile.TarInfo("../../etc/x"), b"x"))), "neff.path"),
    ("absolute path", in_neff(tar_of((tarfile.TarInfo("/etc/x"), b"x"))), "neff.path"),
    ("link", in_neff(tar_of((link("neff.json", "/etc/passwd"), b""))), "neff.member"),
    ("twice", in_neff(tar_of((tarfile.TarInfo("a"), b"1"), (tarfile.TarInfo("a"), b"2"))), "neff.duplicate"),
    ("no tar", in_neff(b"\x1f\x8b" + bytes(600)), "neff.gzip"),
    ("json", changed("neff.json", b"{"), "neff.json"),
    ("deep json", changed("neff.json", b"[" * 200_000), "neff.json"),
    ("nan", changed("sg00/def.json", b'{"name": NaN}'), "neff.json"),
    ("double key", changed("sg00/def.json", b'{"name": "a", "name": "b"}'), "neff.json"),
    ("no utf-8", changed("sg00/def.json", b'{"name": "\xff"}'), "neff.json"),
    ("wrong type", changed("sg00/def.json", b"[]"), "neff."),
    (
        "unknown variable",
        changed("sg00/pool.json", MEMBERS["sg00/pool.json"].replace(b'"input"', b'"inputs"')),
        "neff.",
    ),
    ("stream", changed("sg00/pool.bin", MEMBERS["sg00/pool.bin"][:-1]), "neff.stream"),
    ("absent kelf", build_neff({k: v for k, v in MEMBERS.items() if k != "kelf-a.json"}), "neff.reference"),
]


@pytest.mark.parametrize(("data", "rule"), [case[1:] for case in HOSTILE], ids=[case[0] for case in HOSTILE])
def test_hostile_neffs(data: bytes, rule: str, tmp_path: Path, dge: Dge) -> None:
    path = tmp_path / "f.neff"
    path.write_bytes(data)
    for verb in (["run", "--format", "neff"], ["lower", "--format", "neff"], ["check", "--format", "neff"]):
        answer = dge(*verb, path)
        assert (answer.code, answer.out) == (3, b""), answer
        assert answer.err.startswith("dge: f.neff") and answer.err.count("\n") == 1
        assert f"[{rule}" in answer.err, answer.err
    if rule not in ("neff.stream", "neff."):  # what only a program's reader looks at
        assert dge("neff", "info", path).code == 3
    assert [one.name for one in tmp_path.iterdir()] == ["f.neff"]


def test_files_that_cannot_be_read(tmp_path: Path, dge: Dge) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    for verb in (*VERBS, ["decode"], ["neff", "info"], ["diff", "-"]):
        for path in (tmp_path / "missing", tmp_path, loop, tmp_path / ("x" * 300), "a\0b"):
            answer = dge(*verb, path)
            assert (answer.code, answer.out) == (3, b""), (verb, path)
            assert "input.file" in answer.err and answer.err.count("\n") == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_without_permission(tmp_path: Path, dge: Dge) -> None:
    path = tmp_path / "p.toml"
    path.write_text("")
    path.chmod(0)
    answer = dge("run", path)
    assert answer.code == 3
    assert "Permission denied" in answer.err


def test_input_over_the_limit(tmp_path: Path, dge: Dge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dgekit.cli.inputs.MAX_INPUT", 100)
    path = tmp_path / "w.bin"
    path.write_bytes(bytes(128))
    for answer in (dge("decode", path), dge("decode", stdin=bytes(128))):
        assert answer.code == 3
        assert "input.limit" in answer.err


@pytest.mark.parametrize("data", [b"", b"\n \n"])
def test_empty_input(data: bytes, dge: Dge) -> None:
    """Nothing in, nothing out: no words are no fault; a program without transfers is one that does nothing."""
    assert (dge("decode", stdin=data).code, dge("encode", stdin=data).code) == (0, 0)
    assert dge("run", "-", "-q", stdin=data).code == 0
    assert dge("diff", "-", "-", stdin=data).code == 3


def test_names_no_terminal_should_see(tmp_path: Path, dge: Dge) -> None:
    """Control characters of an input never reach the terminal raw, in errors as little as in output."""
    path = tmp_path / "p.toml"
    path.write_text(TWO + copy('"\\u001b[31mred\\n" = 1'))
    answer = dge("run", path)
    assert answer.code == 3
    assert answer.err.count("\n") == 1
    path.write_text(TWO + copy().replace('name = "t"', 'name = "\\u001b[31m\\nred"'))
    dge("run", path)  # the fixture looks for the escape
    definition = json.loads(MEMBERS["sg00/def.json"])
    definition["name"] = "\ud800"
    definition["dma_queue"]["\ud800\x1b[1m"] = definition["dma_queue"]["q_gradient_in"]
    neff = tmp_path / "f.neff"
    neff.write_bytes(changed("sg00/def.json", json.dumps(definition).encode()))
    assert dge("neff", "info", neff).code == 0
    assert dge("neff", "info", neff, "--json").code == 0
    assert dge("run", neff).code == 0


def test_internal_faults_are_told_not_shown(dge: Dge, monkeypatch: pytest.MonkeyPatch) -> None:
    def fault(*_: object) -> None:
        raise ZeroDivisionError("one\ntwo")

    monkeypatch.setattr("dgekit.export.stages.stage_named", fault)
    answer = dge("lower", "examples/seed_copy.toml")
    assert (answer.code, answer.out) == (70, b"")
    assert answer.err.startswith("dge: internal fault: ZeroDivisionError") and answer.err.count("\n") == 1
    assert "dge.internal" in answer.err and "DGE_DEBUG=1" in answer.err
    monkeypatch.setenv("DGE_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        run_cli(["lower", "examples/seed_copy.toml"])


@pytest.mark.parametrize(("fault", "rule"), [(MemoryError, "dge.memory"), (RecursionError, "dge.input")])
def test_inputs_that_exhaust_the_machine(
    fault: type[Exception], rule: str, dge: Dge, monkeypatch: pytest.MonkeyPatch
) -> None:
    def exhausted(*_: object) -> None:
        raise fault

    monkeypatch.setattr("dgekit.export.stages.stage_named", exhausted)
    answer = dge("lower", "examples/seed_copy.toml")
    assert answer.code == 3
    assert rule in answer.err


def test_unsupported_and_unspecified_exit_4(tmp_path: Path, dge: Dge) -> None:
    path = tmp_path / "f.neff"
    pool = json.loads(MEMBERS["sg00/pool.json"])
    pool["dma"][0]["desc"][0]["op"] = "transpose"  # its shape's order is not published
    path.write_bytes(changed("sg00/pool.json", json.dumps(pool).encode()))
    answer = dge("run", path)
    assert (answer.code, answer.out) == (4, b"")
    assert "neff.transpose" in answer.err

"""`dge collective`: reports, files, refusals, deadlocks."""

from importlib.util import find_spec

import ml_dtypes
import numpy as np
import pytest

RING = ("collective", "allreduce", "--ranks", "3", "--dtype", "bfloat16")
needs_mpi = pytest.mark.skipif(find_spec("mpi4py") is None, reason="the extra mpi is not installed")


def test_the_report(dge):
    told = dge(*RING, "--algo", "ring", "--elements", "1000", "--verify", "--json").json("collective")
    assert {name: told[name] for name in ("ranks", "algo", "op", "dtype", "elements", "identical", "verified")} == {
        "ranks": 3, "algo": "ring", "op": "add", "dtype": "bfloat16", "elements": 1000, "identical": True,
        "verified": True,
    }  # fmt: skip
    assert len(told["per_rank"]) == len(told["semaphores"]) == 3
    assert "deadlock" not in told and told["choices"]["ring_path"] == "device"
    again = dge(*RING, "--elements", "1000", "--json").json("collective")
    assert (again["verified"], again["sha256"]) == (None, told["sha256"])


def test_what_people_see(dge):
    answer = dge(*RING, "--elements", "100", "--algo", "kangaring", "--verify")
    assert answer.code == 0
    assert answer.lines[0] == ("allreduce over 3 ranks on CAYMAN: kangaring, add in float32, 100 elements of bfloat16")
    assert answer.lines[1] == "1 channel, 1 pass, chunks of 128 elements, groups of 3, 4 credits"
    assert answer.lines[2].startswith("rank 0: 2 steps, 7 packets") and answer.lines[3].startswith("rank 1: 2 steps, 0")
    assert answer.lines[-3:-1] == ["identical: yes", "verified: yes"]


def test_rows_in_and_out(dge, tmp_path):
    """The golden case from files: bf16 as its raw bits."""
    rows = np.stack([np.full(96, value, ml_dtypes.bfloat16) for value in (1, 2**-8, 2**-8)])
    np.save(tmp_path / "in.npy", rows.view(np.uint16))
    given = ("collective", "allreduce", "--dtype", "bfloat16", "--in", tmp_path / "in.npy")
    for algo, wanted in (("ring", [0x3F81] * 32 + [0x3F80] * 64), ("mesh", [0x3F81] * 96)):
        told = dge(*given, "--algo", algo, "--out", tmp_path / "out.npy", "--verify", "--json").json("collective")
        assert (told["ranks"], told["elements"], told["verified"]) == (3, 96, True)
        out = np.load(tmp_path / "out.npy")
        assert out.dtype == np.uint16 and out.tolist() == [wanted] * 3


def test_shards_in_and_out(dge, tmp_path):
    """Seven elements over three ranks: shards of 3, 3 and 1; an all-gather of what a reduce-scatter gave."""
    rows = np.arange(21, dtype=np.int32).reshape(3, 7)
    total = rows.sum(0)
    np.save(tmp_path / "in.npy", rows)
    told = dge(
        "collective", "reducescatter", "--dtype", "int32", "--in", tmp_path / "in.npy", "--out", tmp_path / "s.npy",
        "--verify", "--json",
    ).json("collective")  # fmt: skip
    assert (told["identical"], told["verified"]) == (None, True)
    shards = np.load(tmp_path / "s.npy")
    assert shards.tolist() == [total[:3].tolist(), total[3:6].tolist(), [total[6], 0, 0]]
    for more, width in ((("--elements", "7"), 7), ((), 9)):
        told = dge(
            "collective", "allgather", "--dtype", "int32", "--in", tmp_path / "s.npy", "--out", tmp_path / "a.npy",
            *more, "--json",
        ).json("collective")  # fmt: skip
        assert (told["op"], told["elements"], told["identical"]) == (None, width, True)
        assert np.load(tmp_path / "a.npy").tolist() == [[*total.tolist(), 0, 0][:width]] * 3


def test_a_deadlock_is_an_answer(dge):
    told = dge(*RING, "--elements", "96", "--credits", "2", "--json")
    assert told.code == 1
    report = told.json("collective")
    assert [edge["waits_for"] for edge in report["deadlock"]] == [[1], [2], [0]]
    assert (report["identical"], report["verified"], report["sha256"]) == (None, None, None)
    seen = dge(*RING, "--elements", "96", "--credits", "2")
    assert seen.code == 1 and "[collective.deadlock]" in seen.err
    assert "rank 2 channel 0 pass 0 H0: recv_reduce_send needs send_sema >= 1, it is 0" in seen.text


@pytest.mark.parametrize("drop", [("--drop-signal",), ("--drop-signal", "2"), ("--drop-signal", "1:4")])
def test_a_lost_signal(dge, tmp_path, drop):
    answer = dge(*RING, "--elements", "96", "--out", tmp_path / "o.npy", *drop, "--json")
    assert answer.code == 1 and answer.json("collective")["deadlock"]
    assert not list(tmp_path.iterdir())


def test_switches_and_flags_of_the_ring(dge):
    def counts(*options):
        return dge(*RING, "--elements", "96", *options, "--json").json("collective")["per_rank"][0]

    assert counts("--set", "ring_path=host")["steps"] == counts("--set", "ring_path=device")["steps"] - 2
    told = dge(*RING, "--elements", "96", "--set", "ring_credits=2", "--json")
    assert told.json("collective")["credits"] == 2 and told.code == 1
    assert dge(*RING, "--elements", "96", "--set", "ring_credits=4", "--json").code == 0


def test_advice(dge):
    told = dge(
        "collective",
        "allgather",
        "--ranks",
        "2",
        "--dtype",
        "float8_e4m3fn",
        "--elements",
        "8",
        "--op",
        "max",
        "--json",
    ).json("collective")
    assert [(issue["rule"], issue["severity"]) for issue in told["issues"]] == [
        ("dec.D54", "warning"), ("collective.no_reduce", "advice"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("options", "code", "rule"),
    [
        (("--ranks", "0", "--elements", "8"), 2, "collective.range"),
        (("--ranks", "3"), 2, "collective.size"),
        (("--elements", "3"), 2, "collective.size"),
        (("--ranks", "x", "--elements", "8"), 2, "cli.number"),
        (("--ranks", "2", "--elements", "8", "--dtype", "bfloat61"), 2, "dec.D54"),
        (("--ranks", "2", "--elements", "8", "--leg", "rdma", "--gen", "trn1"), 4, "dec.D77"),
        (("--ranks", "2", "--elements", "8", "--out", "-"), 2, "collective.out"),
        (("--ranks", "2", "--elements", "8", "--out", "no/such/folder.npy"), 3, "output.file"),
        (("--ranks", "2", "--elements", "8", "--drop-signal", "5"), 2, "collective.drop"),
        (("--ranks", "2", "--elements", str(1 << 47)), 4, "collective.memory"),
        (("--ranks", "2", "--elements", "8", "--dtype", "float32r"), 1, "cce.5.2"),
    ],
)
def test_refusals(dge, options, code, rule):
    answer = dge("collective", "allreduce", "--dtype", "float32", *options)
    assert (answer.code, answer.out) == (code, b"")
    assert f"[{rule}]" in answer.err


def test_files_that_do_not_fit(dge, tmp_path):
    np.save(tmp_path / "flat.npy", np.zeros(6, np.float32))
    np.save(tmp_path / "rows.npy", np.zeros((2, 6), np.float32))
    (tmp_path / "text.npy").write_text("no array")
    for name, options, rule in (
        ("flat.npy", (), "collective.rows"),
        ("rows.npy", ("--ranks", "3"), "collective.rows"),
        ("rows.npy", ("--elements", "5"), "collective.rows"),
        ("rows.npy", ("--dtype", "int32"), "dec.D54"),
        ("text.npy", (), "input.npy"),
        ("none.npy", (), "input.file"),
    ):
        answer = dge("collective", "allreduce", "--dtype", "float32", "--in", tmp_path / name, *options)
        assert answer.code == 3 and f"[{rule}]" in answer.err, (name, answer.err)


@needs_mpi
def test_mpi_from_the_command_line(dge, tmp_path):
    """The command starts itself under mpiexec: same report, same file, exit code and wait graph of a deadlock."""
    np.save(tmp_path / "in.npy", np.random.default_rng(0).standard_normal((2, 77), np.float32))
    base = ("--gen", "MARIANA", "collective", "allreduce", "--dtype", "float32", "--in", tmp_path / "in.npy", "--json")
    reports = {}
    for transport in ("inprocess", "mpi"):
        out = tmp_path / f"{transport}.npy"
        answer = dge(*base, "--verify", "--out", out, "--transport", transport, "--set", "ring_path=host")
        assert answer.code == 0 and answer.err == ""
        reports[transport] = answer.json("collective")
    assert reports["mpi"].pop("transport") == "mpi" and reports["inprocess"].pop("transport") == "inprocess"
    assert reports["mpi"] == reports["inprocess"]
    assert (tmp_path / "mpi.npy").read_bytes() == (tmp_path / "inprocess.npy").read_bytes()
    stuck = dge(*base, "--credits", "1", "--transport", "mpi")
    assert stuck.code == 1 and len(stuck.json("collective")["deadlock"]) == 2


def test_mpi_without_the_extra(dge, monkeypatch):
    from dgekit.collectives import mpi_run

    monkeypatch.setattr(mpi_run, "find_spec", lambda name: None)
    answer = dge(*RING, "--elements", "8", "--transport", "mpi")
    assert answer.code == 4 and "pip install 'dgekit[mpi]'" in answer.err


def test_a_joined_rank_that_is_not_the_first_is_silent(dge, monkeypatch):
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "1")
    answer = dge(*RING, "--elements", "0", "--transport", "mpi")
    assert (answer.code, answer.out, answer.err) == (2, b"", "")

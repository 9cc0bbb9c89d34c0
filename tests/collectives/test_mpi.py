"""One rank a process on MPI: the same bytes, counts and wait graphs as in one process, and MPI's own sums."""

import json
import os
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from collective_cases import setup_of

from dgekit.collectives import mpi_run
from dgekit.collectives.mpi_run import launch, launched_rank, run_on_mpi, this_command, under_mpi, world
from dgekit.core.errors import Unsupported, UsageError

needs_mpi = pytest.mark.skipif(find_spec("mpi4py") is None, reason="the extra mpi is not installed")
HELPERS = Path(__file__).parents[1] / "helpers"

CASES = [
    ("allreduce", "ring", 4, "bfloat16", 1001, {"channels": 2}),
    ("allreduce", "ring", 3, "int32", 1001, {}),
    ("allreduce", "ring", 4, "uint32", 100_003, {"choices": {"ring_path": "host"}}),
    ("allreduce", "kangaring", 4, "int32", 333, {"channels": 3}),
    ("allreduce", "kangaring", 3, "float32", 333, {}),
    ("allreduce", "mesh", 2, "uint32", 64, {}),
    ("allreduce", "mesh", 4, "int32", 700, {}),
    ("allreduce", "mesh", 4, "float16", 700, {"mesh": "t2", "group": 2}),
    ("reducescatter", "ring", 4, "float8_e4m3", 777, {}),
    ("reducescatter", "kangaring", 4, "bfloat16", 777, {}),
    ("reducescatter", "mesh", 3, "float32", 2, {}),
    ("allgather", "ring", 4, "int64", 13, {}),
    ("allgather", "kangaring", 4, "uint8", 500, {"channels": 2}),
    ("allgather", "mesh", 3, "float32", 500, {}),
    ("allreduce", "ring", 1, "float32", 40, {}),
]
STUCK = [
    ("allreduce", "ring", 3, "float32", 500, {"credits": 2}),
    ("allreduce", "ring", 4, "float32", 500, {"drop": [1, 5]}),
    ("allreduce", "kangaring", 4, "float32", 500, {"drop": [0, 0]}),
    ("allgather", "mesh", 4, "float32", 500, {"drop": [3, 2]}),
]


@needs_mpi
def test_mpi_is_the_same_as_one_process(monkeypatch):
    """All in one start of four processes; a deadlock must end too, and leave MPI usable."""
    paths = [str(HELPERS), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
    done = launch([sys.executable, str(HELPERS / "mpi_cases.py"), json.dumps([*CASES, *STUCK])], 4)
    assert done.returncode == 0, done.stderr.decode()
    for asked, found in zip([*CASES, *STUCK], json.loads(done.stdout), strict=True):
        stuck = asked in STUCK
        assert found["same_report"] and found["same_bytes"], asked
        assert (found["deadlock"] > 0) == stuck and found["verified"] is (None if stuck else True), asked
        if asked[0] == "allreduce" and asked[3] in ("int32", "uint32"):
            assert found["mpi_agrees"], asked


@needs_mpi
def test_exit_codes_come_through_without_the_launchers_notice():
    done = launch([sys.executable, "-c", "import sys, mpi4py.MPI; sys.exit(3)"], 2)
    assert (done.returncode, done.stderr) == (3, b"")


@needs_mpi
def test_a_world_of_another_size_is_refused():
    class World:
        def Get_rank(self):  # noqa: N802
            return 0

        def Get_size(self):  # noqa: N802
            return 5

    setup = setup_of("allreduce", "ring", 4, "float32", 64)
    with pytest.raises(UsageError) as caught:
        run_on_mpi(setup, World(), lambda rank: None, verify=False)
    assert (caught.value.rule, caught.value.values) == ("collective.mpi", {"processes": 5, "ranks": 4})


def test_without_the_extra_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(mpi_run, "find_spec", lambda name: None)
    for call in (world, lambda: launch(this_command([]), 2)):
        with pytest.raises(Unsupported) as caught:
            call()
        assert caught.value.rule == "collective.mpi_extra"
        assert caught.value.fix == "pip install 'dgekit[mpi]'"


def test_without_mpiexec_it_says_so_too(monkeypatch, tmp_path):
    monkeypatch.setattr(mpi_run, "find_spec", lambda name: object())
    monkeypatch.setattr(mpi_run.sysconfig, "get_path", lambda name: str(tmp_path))
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(Unsupported, match="no mpiexec"):
        launch(["true"], 2)


def test_a_process_knows_its_launcher(monkeypatch):
    for name in ("OMPI_COMM_WORLD_RANK", "PMI_RANK"):
        monkeypatch.delenv(name, raising=False)
    assert (under_mpi(), launched_rank()) == (False, 0)
    monkeypatch.setenv("PMI_RANK", "3")
    assert (under_mpi(), launched_rank()) == (True, 3)


@needs_mpi
def test_a_rank_that_fails_ends_all_of_them():
    """The others would wait for its messages for ever."""
    script = (
        "from mpi4py import MPI\nfrom dgekit.cli.verb_collective import _ending_all\n"
        "with _ending_all(MPI.COMM_WORLD):\n"
        "    if MPI.COMM_WORLD.Get_rank():\n        raise MemoryError('no room for a row')\n"
        "    MPI.COMM_WORLD.recv(source=1)\n"
    )
    done = launch([sys.executable, "-c", script], 2)
    assert done.returncode == 70
    assert b"dge: rank 1: no room for a row" in done.stderr

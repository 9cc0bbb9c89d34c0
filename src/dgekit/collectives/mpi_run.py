"""Running on MPI: under mpiexec already, or by starting the wheel's mpiexec (extra `mpi`; decision D75)."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from dgekit.collectives.actor import U8
from dgekit.collectives.mpi import MpiRank
from dgekit.collectives.reference import expected, expected_row
from dgekit.collectives.request import REDUCESCATTER, Setup
from dgekit.collectives.run import CollectiveResult, digest, semaphores_json
from dgekit.core.errors import Unsupported, UsageError

# what the launchers of Open MPI and of MPICH's family tell a process they have started
_RANK = ("OMPI_COMM_WORLD_RANK", "PMI_RANK")
# Open MPI refuses to run as root without both
_AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
# what its launcher adds when a process ends with an exit code, which here is an answer
_EXIT_NOTICE = re.compile(rb"-{60,}\n(?:(?!-{60}).*\n)*?.*exited with non-zero status(?:.*\n)*?-{60,}\n")
_FIX = "pip install 'dgekit[mpi]'"


def under_mpi() -> bool:
    """True in a process that a launcher of MPI has started."""
    return any(name in os.environ for name in _RANK)


def launched_rank() -> int:
    """The rank that the launcher gave this process; 0 where there is none."""
    return next((int(os.environ[name]) for name in _RANK if os.environ.get(name, "").isdigit()), 0)


def world() -> Any:
    """The communicator of all processes; raises Unsupported without mpi4py."""
    _check_installed()
    from mpi4py import MPI

    return MPI.COMM_WORLD


def launch(command: Sequence[str], ranks: int) -> subprocess.CompletedProcess[bytes]:
    """Start `command` once a rank under mpiexec and wait for it; raises Unsupported without the extra.

    The exit code is that of the first process that fails.
    """
    _check_installed()
    mpiexec = _mpiexec()
    environment = {**os.environ, **(_AS_ROOT if os.geteuid() == 0 else {})}
    done = subprocess.run(
        [mpiexec, "--oversubscribe", "-n", str(ranks), *command],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    done.stderr = _EXIT_NOTICE.sub(b"", done.stderr)
    return done


def run_on_mpi(setup: Setup, comm: Any, row_of: Callable[[int], U8], *, verify: bool) -> tuple[CollectiveResult, U8]:
    """Run this process's rank; the result, complete on rank 0, and the rank's own output.

    `row_of` gives the input of any rank; with `verify` rank 0 takes those of all. A communicator of another size
    raises UsageError. What goes wrong on one rank only ends all of them, so that none waits for it.
    """
    rank, size = comm.Get_rank(), comm.Get_size()
    if size != setup.ranks:
        raise UsageError(
            f"{size} processes for {setup.ranks} ranks",
            rule="collective.mpi",
            where="ranks",
            values={"processes": size, "ranks": setup.ranks},
            fix=f"mpiexec -n {setup.ranks}",
        )
    me = MpiRank(setup, comm, row_of(rank))
    stuck = me.run()
    output = me.actor.output
    told = (me.actor.tally, semaphores_json(me.actor.semaphores), stuck, digest(output))
    tallies, semaphores, edges, digests = zip(*comm.allgather(told), strict=True)
    found = CollectiveResult(
        setup, "mpi", tallies, semaphores, (output,), deadlock=tuple(edge for part in edges for edge in part)
    )
    if found.deadlock:
        return found, output
    verified = None
    if verify:
        verified = comm.bcast(_verified(setup, row_of, digests) if rank == 0 else None)
    identical = None if setup.kind == REDUCESCATTER else len(set(digests)) == 1
    result = CollectiveResult(setup, "mpi", tallies, semaphores, (output,), digests[0], identical, verified)
    return result, output


def gathered_rows(setup: Setup, comm: Any, output: U8) -> Iterator[U8]:
    """The outputs of all ranks in order, on rank 0, one at a time; every other rank sends its own and gets none."""
    if comm.Get_rank():
        comm.Send(output, 0)
        return
    yield output
    for rank in range(1, setup.ranks):
        first, end = setup.held(rank, output=True)
        row = np.empty((end - first) * setup.size, np.uint8)
        comm.Recv(row, rank)
        yield row


def _verified(setup: Setup, row_of: Callable[[int], U8], digests: Sequence[str]) -> bool:
    whole = expected(setup, [row_of(rank) for rank in range(setup.ranks)])
    return all(digest(expected_row(setup, rank, whole)) == one for rank, one in enumerate(digests))


def _check_installed() -> None:
    if find_spec("mpi4py") is None:
        raise Unsupported("mpi4py is not installed", rule="collective.mpi_extra", where="transport", fix=_FIX)


def _mpiexec() -> str:
    """The mpiexec of the wheel, beside this interpreter, else the one on the path."""
    beside = Path(sysconfig.get_path("scripts")) / "mpiexec"
    found = str(beside) if beside.exists() else shutil.which("mpiexec")
    if found is None:
        raise Unsupported("there is no mpiexec", rule="collective.mpi_extra", where="transport", fix=_FIX)
    return found


def this_command(arguments: Sequence[str]) -> list[str]:
    """The command line that runs `dge` with these arguments under this interpreter."""
    return [sys.executable, "-c", "from dgekit.cli.main import main; main()", *arguments]

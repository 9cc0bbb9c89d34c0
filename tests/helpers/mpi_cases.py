"""Run under mpiexec: every case on the first ranks of the world, outputs and comparisons as JSON on rank 0's stdout.

Each case is done on MPI, and on rank 0 in one process too; for int32 and uint32 MPI's own allreduce joins in.
"""

import json
import sys

import numpy as np
from collective_cases import held, setup_of
from mpi4py import MPI

from dgekit.collectives.mpi_run import gathered_rows, run_on_mpi
from dgekit.collectives.request import Drop
from dgekit.collectives.run import run_collective
from dgekit.machine.contents import value_dtype


def row_of(setup, rank):
    rng = np.random.default_rng(rank)
    kind = value_dtype(setup.request.dtype)
    elements = setup.request.elements
    if kind.kind in "iu":
        full = rng.integers(0, 256, elements * kind.itemsize, np.uint8).view(kind)
    else:
        full = rng.standard_normal(elements, np.float32)
    return held(setup, rank, full).view(np.uint8)


def case(kind, algo, ranks, dtype, elements, options, world):
    comm = world.Split(0 if world.Get_rank() < ranks else MPI.UNDEFINED, world.Get_rank())
    if comm == MPI.COMM_NULL:
        return None
    if "drop" in options:
        options = options | {"drop": Drop(*options["drop"])}
    setup = setup_of(kind, algo, ranks, dtype, elements, **options)
    result, output = run_on_mpi(setup, comm, lambda rank: row_of(setup, rank), verify=True)
    rows = list(gathered_rows(setup, comm, output))
    own = None
    if dtype in ("int32", "uint32") and kind == "allreduce" and not result.deadlock:
        total = np.empty(elements, dtype)
        comm.Allreduce(row_of(setup, comm.Get_rank()).view(dtype), total)
        own = total.tobytes() == output.tobytes()
    if comm.Get_rank():
        return None
    here = run_collective(setup, [row_of(setup, rank) for rank in range(ranks)], verify=True)
    mine, theirs = result.to_json(), here.to_json()
    return {
        "same_report": {**mine, "transport": ""} == {**theirs, "transport": ""},
        "same_bytes": bool(here.deadlock) or [r.tobytes() for r in rows] == [r.tobytes() for r in here.rows],
        "verified": mine["verified"],
        "deadlock": len(mine.get("deadlock", [])),
        "mpi_agrees": own,
    }


if __name__ == "__main__":
    found = [case(*one, MPI.COMM_WORLD) for one in json.loads(sys.argv[1])]
    if MPI.COMM_WORLD.Get_rank() == 0:
        sys.stdout.write(json.dumps(found))

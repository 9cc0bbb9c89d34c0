"""The JSON form of a run (schema dgekit.run/1, schemas/run.json)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from dgekit.descriptors.summary import summary
from dgekit.firmware.values import DimPush, Generate, MicroOp
from dgekit.machine.results import RunResult, TransferResult

RUN_SCHEMA = "dgekit.run/1"


def run_to_json(
    run: RunResult, outputs: Mapping[str, npt.NDArray[Any]] | None = None, nki_version: str = ""
) -> dict[str, Any]:
    """The object that `dge run --json` prints; of a kernel, with what it returned and the NKI version it ran as."""
    return {
        "schema": RUN_SCHEMA,
        "generation": run.generation.name,
        "choices": dict(run.choices),
        "transfers": [transfer_to_json(result) for result in run.transfers],
        "semaphores": {str(index): value for index, value in run.semaphores.items()},
        "core_semaphores": {
            str(core): {str(index): value for index, value in values.items()}
            for core, values in run.core_semaphores.items()
        },
        "tensors": {
            name: {
                "shape": list(entry.tensor.shape),
                "dtype": entry.tensor.dtype.name,
                "sha256": entry.sha256,
            }
            for name, entry in run.tensors.items()
        },
        "log": list(run.log),
        "notifications": [record.hex() for record in run.notifications],
        "issues": [issue.to_json() for issue in run.issues],
        **({"nki_version": nki_version, "outputs": outputs_to_json(outputs or {})} if nki_version else {}),
    }


def outputs_to_json(outputs: Mapping[str, npt.NDArray[Any]]) -> dict[str, Any]:
    """What a kernel returned, by name."""
    return {
        name: {"shape": list(array.shape), "dtype": array.dtype.name, "sha256": digest(array)}
        for name, array in outputs.items()
    }


def digest(array: npt.NDArray[Any]) -> str:
    """The SHA-256 of an array's dense bytes."""
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


def transfer_to_json(result: TransferResult) -> dict[str, Any]:
    """One entry of `transfers`."""
    return {
        "name": result.name,
        "where": result.where,
        "kind": result.kind,
        "mode": result.mode,
        "backend": result.backend.value,
        "words": {
            "pseudo": [word.hex() for word in result.pseudo],
            "resolved": [word.hex() for word in result.resolved],
        },
        "program": [micro_op_to_json(op) for op in result.program],
        "descriptors": summary(result.descriptors),
        "lossy": result.lossy,
        "status": result.status,
        "issues": [issue.to_json() for issue in result.issues],
    }


def micro_op_to_json(op: MicroOp) -> dict[str, Any]:
    """One micro-op; addresses are hex strings (D44), a 65536-byte element stays 65536 (D49)."""
    if isinstance(op, Generate):
        return {
            "op": "GENERATE",
            "dma": op.dma,
            "dir": op.dir,
            "addr": hex(op.addr),
            "elem_size": op.elem_size,
            "sem_num": op.sem_num,
        }
    if isinstance(op, DimPush):
        return {"op": "DIMPUSH", "dma": op.dma, "num": list(op.num), "step": list(op.step)}
    return {"op": "REGWRITE", "dma": op.dma}

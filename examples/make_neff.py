"""Writes gradient.neff: the documented all-reduce sample, rebuilt from its published values.

Header values, members, queues, variables, dma lists and the known instruction bytes are the published ones. What no
source publishes is ours: the text of the listings, and `x_dgekit_collectives` in pe.json, which says what the
collective trigger moves, since the payload of that word is not known.

    python examples/make_neff.py [FILE]
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from dgekit.frontends.neff.write import build_neff
from dgekit.words.enums import UpdateMode, WaitMode
from dgekit.words.structs import Events, PseudoDmaTrigger

BYTES = 128
ELEMENTS = 32
LOADED, REDUCED, STORED = 10, 22, 11  # semaphores
EVENT_SEMAPHORE = 0xA0
PSEUDO_TRIGGER_COLLECTIVE = 0xC8
HEADER = {"neff_build_version": "2.0.21884.0 (dgekit example)", "name": "gradient"}


def as_json(value: object) -> bytes:
    return (json.dumps(value, indent=1) + "\n").encode()


def definition() -> dict[str, object]:
    shape = {"element_size": 4, "internal_shape": [1, 1, 1, ELEMENTS]}
    definition: dict[str, object] = {
        "name": "sg00",
        "dma_queue": {
            "q_gradient_in": {"type": "in", "owner": "pool", "semaphore": LOADED},
            "q_gradient_out": {"type": "out", "owner": "pool", "semaphore": STORED},
        },
        "var": {
            "state-buffer": {"type": "state-buffer", "var_id": 1, "size": 33554432},
            "input": {"type": "input", "var_id": 0, "size": BYTES, **shape},
            "output": {"type": "output", "var_id": 2, "size": BYTES, **shape},
            "gradient_in": {"type": "tmp-buf", "var_id": 3, "size": BYTES},
            "gradient_out": {"type": "tmp-buf", "var_id": 4, "size": BYTES},
        },
    }
    for engine in ("pe", "act", "pool", "dve", "sp"):
        definition[engine] = f"{engine}.json"
        definition[f"{engine}_instr"] = f"{engine}.bin"
    return definition


def movement(queue: str, source: str, target: str) -> dict[str, object]:
    pattern = {"sizes": [BYTES, 1], "steps": [1, BYTES]}
    desc = {"op": "copy", "from": source, "from_off": 0, "to": target, "to_off": 0}
    for side in ("from", "to"):
        desc |= {f"{side}_{key}": value for key, value in pattern.items()}
    return {"id": 0, "queue": queue, "desc": [desc]}


def pool_stream() -> bytes:
    """Load; when the collective is done, store; wait for the store."""
    load = PseudoDmaTrigger(queue_name="q_gradient_in", dma_block_id=0)
    after = Events(wait_mode=WaitMode.WAIT_FOR_SEM_GT_IMM, wait_idx=REDUCED)
    store = PseudoDmaTrigger(queue_name="q_gradient_out", dma_block_id=0, events=after)
    finish = Events(wait_mode=WaitMode.WAIT_FOR_SEM_GT_IMM, wait_idx=STORED)
    return load.encode() + store.encode() + instruction(EVENT_SEMAPHORE, finish)


def pe_stream() -> bytes:
    """All-reduce once the load is done."""
    gates = Events(
        wait_mode=WaitMode.WAIT_FOR_SEM_GT_IMM,
        wait_idx=LOADED,
        update_mode=UpdateMode.SEM_INC_COMPLETE,
        update_idx=REDUCED,
    )
    return instruction(PSEUDO_TRIGGER_COLLECTIVE, gates)


def instruction(opcode: int, events: Events) -> bytes:
    return bytes((opcode, 0x10, 0, 0)) + events.encode() + bytes(52)


def graph() -> dict[str, object]:
    kelf = {"op": "tvm_op", "name": "kelf-a", "attrs": {"func_name": "__kelf", "kelf": "kelf-a.json"}}
    nodes = [
        {"op": "null", "name": "input", "inputs": []},
        {**kelf, "inputs": [[0, 0, 0]]},
    ]
    attrs = {"shape": ["list_shape", [[1, 1, 1, ELEMENTS]] * 2], "dltype": ["list_str", ["float32"] * 2]}
    return {"nodes": nodes, "arg_nodes": [0], "heads": [[1, 0, 0]], "node_row_ptr": [0, 1, 2], "attrs": attrs}


def members() -> dict[str, bytes]:
    collective = {"slot": 0, "op": "all-reduce", "reduce": "add", "dtype": "float32"}
    collective |= {"input": 3, "output": 4, "elements": ELEMENTS}
    return {
        "kelf-a.json": as_json(
            {"version": "0.5", "target": "*", "graphs": [{"name": "sg00", "definition": "sg00/def.json"}]}
        ),
        "neff.json": as_json(graph()),
        "sg00/": b"",
        "sg00/def.json": as_json(definition()),
        "sg00/pool.json": as_json(
            {
                "dma": [
                    movement("q_gradient_in", "input", "gradient_in"),
                    movement("q_gradient_out", "gradient_out", "output"),
                ],
                "instr": "pool.bin",
            }
        ),
        "sg00/pe.json": as_json({"dma": [], "instr": "pe.bin", "x_dgekit_collectives": [collective]}),
        "sg00/dve.json": as_json({"dma": [], "instr": "dve.bin"}),
        "sg00/act.json": as_json({"dma": [], "instr": "act.bin", "act_semaphore": 9}),
        "sg00/sp.json": as_json({"dma": [], "instr": "sp.bin"}),
        "sg00/pool.bin": pool_stream(),
        "sg00/pe.bin": pe_stream(),
        "sg00/dve.bin": b"",
        "sg00/act.bin": b"",
        "sg00/sp.bin": b"",
        "sg00/pool.asm": b"trigger q_gradient_in\n$S[22]>0 trigger q_gradient_out\n$S[11]>0 event_semaphore\n",
        "sg00/pe.asm": b"$S[10]>0 all-reduce add fp32 3 -> 4 [32] $S[22]++@complete\n",
        "sg00/dve.asm": b"",
        "sg00/act.asm": b"",
        "sg00/sp.asm": b"",
    }


def build() -> bytes:
    return build_neff(members(), HEADER)


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("gradient.neff")
    target.write_bytes(build())

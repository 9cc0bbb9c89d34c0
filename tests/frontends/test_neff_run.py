"""A NEFF as a workload: variables, dma lists, streams, and everything that is refused by name."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dgekit.core.dtypes import Dtype, dtype_named
from dgekit.core.errors import ComputeError, DgeError, InputError, Unspecified, Unsupported
from dgekit.core.generations import MARIANA, SUNDA
from dgekit.frontends.neff.read import read_neff
from dgekit.frontends.neff.write import build_neff
from dgekit.frontends.neff_run import workload
from dgekit.transfers.transfer import Access, RawWords, SemaphoreStep, Transfer, Update, Wait, Workload
from dgekit.words.structs import Events, PseudoDmaDirect2D, PseudoDmaExt, PseudoDmaRearm, PseudoDmaTrigger

EXAMPLE = Path(__file__).parents[2] / "examples" / "gradient.neff"
SBUF_BYTES = 33554432
DESC = {"from": "x", "from_sizes": [64], "from_steps": [1], "to": "y", "to_sizes": [64], "to_steps": [1]}
VARIABLES = {
    "x": {"type": "input", "var_id": 0, "size": 64},
    "y": {"type": "output", "var_id": 1, "size": 64},
    "t": {"type": "tmp-buf", "var_id": 2, "size": 64},
    "sb": {"type": "state-buffer", "var_id": 3, "size": SBUF_BYTES},
    "v0": {"type": "virtual", "var_id": 4, "size": 64, "backing_variable_off": 128},
    "v1": {"type": "virtual", "var_id": 5, "size": 64, "backing_variable_off": 160},
    "w": {"type": "file", "var_id": 6, "size": 16, "file_name": "w.npy"},
    "p": {"type": "pointer", "var_id": 7, "size": 8, "referenced_var_id": 0},
    "empty": {"type": "output", "var_id": 8, "size": 0},
}
QUEUES = {
    "q": {"type": "in", "num_queues": 16, "semaphore": 3, "queue_instances": ["q_0"]},
    "r": {"type": "out"},
    "s": {"type": "data", "semaphore_set": [1, 2]},
}
SOURCE = {"from": "x", "from_sizes": [64], "from_dtype": "float32"}
SUM = {"op": "add", "from_arr": [SOURCE, SOURCE], "to": "y", "to_sizes": [64], "to_dtype": "float32"}


def npy(array: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def program(
    dma: list[Any] | None = None,
    stream: bytes = b"",
    variables: dict[str, Any] | None = None,
    engine: str = "pool",
    more: dict[str, bytes] | None = None,
    **engine_json: Any,
) -> bytes:
    definition = {
        engine: f"{engine}.json",
        f"{engine}_instr": f"{engine}.bin",
        "dma_queue": QUEUES,
        "var": VARIABLES if variables is None else variables,
    }
    members = {
        "neff.json": {"nodes": [{"attrs": {"func_name": "__kelf", "file": "kelf-a.json"}}]},
        "kelf-a.json": {"graphs": [{"name": "sg00", "definition": "sg00/def.json"}]},
        "sg00/def.json": definition,
        f"sg00/{engine}.json": {"dma": dma or [], **engine_json},
    }
    encoded = {name: json.dumps(value).encode() for name, value in members.items()}
    files = {"sg00/w.npy": npy(np.arange(4, dtype=np.int32)), f"sg00/{engine}.bin": stream}
    return build_neff({**encoded, **files, **(more or {})})


def run(*args: Any, **more: Any) -> Workload:
    keys = ("inputs", "choices", "generation", "subgraph", "memory_limit")
    settings = {key: more.pop(key) for key in keys if key in more}
    return workload(read_neff(program(*args, **more), name="f.neff"), **settings)


def entry(desc: Any = None, **more: Any) -> dict[str, Any]:
    return {"id": 0, "queue": "q", "desc": DESC if desc is None else desc, **more}


def transfers(found: Workload) -> list[Transfer]:
    return [item for item in found.items if isinstance(item, Transfer)]


def trigger(queue: str = "q", block: int = 0, **events: int) -> bytes:
    return PseudoDmaTrigger(queue_name=queue, dma_block_id=block, events=Events(**events)).encode()


def instruction(opcode: int, **events: int) -> bytes:
    return bytes((opcode, 0x10, 0, 0)) + Events(**events).encode() + bytes(52)


# the sample


def test_the_sample_program() -> None:
    found = workload(read_neff(EXAMPLE))
    assert found.generation.name == "CAYMAN" and found.issues == () and found.choices == {}
    assert {t.name: (t.space, t.shape, t.init, t.var_id) for t in found.tensors} == {
        "input": ("hbm", (128,), "arange", 0),
        "output": ("hbm", (128,), "zeros", 2),
        "gradient_in": ("hbm", (128,), "zeros", 3),
        "gradient_out": ("hbm", (128,), "zeros", 4),
    }
    by_name = {item.name: item for item in found.items}
    load, store = by_name["q_gradient_in.0"], by_name["q_gradient_out.0"]
    reduce, finish = by_name["all-reduce[0]"], by_name["pool[2]"]
    assert isinstance(load, Transfer) and isinstance(store, Transfer) and isinstance(reduce, Transfer)
    pattern = ((128, 1), (1, 128))
    assert (load.src, load.dst) == (Access("input", 0, pattern), Access("gradient_in", 0, pattern))
    assert (store.src.tensor, store.dst.tensor) == ("gradient_out", "output")
    assert [(t.semaphore, t.increment, t.num_queues, t.queue_type, t.mode) for t in (load, store)] == [
        (10, 1, 1, "in", "unknown"),
        (11, 1, 1, "out", "unknown"),
    ]
    assert load.wait == () and store.wait == (Wait(22, 0, "gt"),)
    assert (reduce.src.tensor, reduce.dst.tensor, reduce.mode) == ("gradient_in", "gradient_out", "none")
    assert reduce.wait == (Wait(10, 0, "gt"),) and reduce.updates == (Update(22, "add", 1),)
    assert reduce.semaphore is None and reduce.src.pattern == ((1, 128),)
    assert isinstance(finish, SemaphoreStep) and finish.wait == (Wait(11, 0, "gt"),)
    assert [item.engine for item in found.items].count("pool") == 3


def test_static_expansion_by_choice_and_where_nothing_else_exists() -> None:
    neff = read_neff(EXAMPLE)
    loads = [workload(neff, choices={"neff_path": "static"}), workload(neff, generation=SUNDA)]
    assert all(t.mode == "none" for found in loads for t in transfers(found))
    assert workload(neff, generation=MARIANA).generation is MARIANA


def test_inputs_replace_arange() -> None:
    neff = read_neff(EXAMPLE)
    assert workload(neff, {"input": b"\1" * 128}).arrays == {"input": b"\1" * 128}
    array = np.arange(32, dtype=np.float32)
    assert workload(neff, {"input": array}).arrays == {"input": array.tobytes()}
    with pytest.raises(InputError) as caught:
        workload(neff, {"inputs": b""})
    assert caught.value.rule == "neff.variable" and caught.value.fix == "write input"
    with pytest.raises(InputError) as caught:
        workload(neff, {"input": bytes(129)})
    assert caught.value.rule == "neff.size" and caught.value.values == {"given": 129, "size": 128}


def test_a_collective_is_refused_by_choice() -> None:
    with pytest.raises(Unsupported) as caught:
        workload(read_neff(EXAMPLE), choices={"solo_collective": "refuse"})
    assert caught.value.rule == "dec.D43" and caught.value.where == "gradient.neff: sg00/pe.bin: slot 0"


# variables


def test_only_what_is_used_gets_memory() -> None:
    found = run([entry()])
    assert [tensor.name for tensor in found.tensors] == ["x", "y"]
    found = run([entry({**DESC, "to": "sb", "to_off": 0x40000})])
    buffer = found.tensors[-1]
    assert (buffer.name, buffer.space, buffer.linear, buffer.partition, buffer.offset) == ("sb", "sbuf", True, 0, 0)
    assert transfers(found)[0].dst == Access("sb", 0x40000, ((1, 64),))


def test_virtual_variables_share_one_area() -> None:
    found = run([entry({**DESC, "to": "v0"}), entry({**DESC, "from": "v1"}, queue="r")])
    area = found.tensors[-1]
    assert (area.name, area.shape, area.var_id) == ("scratchpad.main", (224,), 9)
    first, second = transfers(found)
    assert (first.dst.offset, second.src.offset) == (128, 160)
    with pytest.raises(Unsupported):
        run([entry({**DESC, "to": "v0"})], inputs={"v0": b"1"})


def test_file_variables_hold_the_members_data() -> None:
    used = entry({**DESC, "from": "w", "from_sizes": [16], "to_sizes": [16]})
    data = np.arange(4, dtype=np.int32).tobytes()
    assert run([used]).arrays == {"w": data}
    raw = {**VARIABLES, "w": {**VARIABLES["w"], "file_name": "w.raw"}}
    assert run([used], variables=raw, more={"sg00/w.raw": b"abc"}).arrays == {"w": b"abc"}
    with pytest.raises(InputError) as caught:
        run([used], variables=raw)
    assert caught.value.rule == "neff.reference"
    archive = io.BytesIO()
    np.savez(archive, a=np.zeros(1))
    for content in (b"no array", archive.getvalue()):
        with pytest.raises(InputError) as caught:
            run([used], more={"sg00/w.npy": content})
        assert caught.value.rule == "input.npy"
    with pytest.raises(InputError) as caught:
        run([used], more={"sg00/w.npy": npy(np.zeros(5, np.int32))})
    assert caught.value.rule == "neff.size"


def test_unused_file_variables_do_not_matter() -> None:
    assert run([entry()]).arrays == {}


def test_memory_has_a_limit() -> None:
    big = {**VARIABLES, "x": {**VARIABLES["x"], "size": 1 << 40}}
    with pytest.raises(InputError) as caught:
        run([entry()], variables=big)
    assert caught.value.rule == "neff.memory"
    assert run([entry()], variables=big, memory_limit=1 << 41).tensors[0].nbytes == 1 << 40


# dma lists


def test_patterns_are_reversed_to_outermost_first() -> None:
    desc = {
        **DESC,
        "to": "sb",
        "from_sizes": [4, 16],
        "from_steps": [1, 4],
        "to_sizes": [4, 16],
        "to_steps": [1, 262144],
    }
    (transfer,) = transfers(run([entry(desc)]))
    assert transfer.src.pattern == ((4, 16), (1, 4)) and transfer.dst.pattern == ((262144, 16), (1, 4))
    assert (transfer.semaphore, transfer.increment, transfer.num_queues) == (3, 16, 16)


def test_one_size_needs_no_step() -> None:
    desc = {key: value for key, value in DESC.items() if "steps" not in key}
    assert transfers(run([entry(desc)]))[0].src.pattern == ((1, 64),)


def test_casts_count_elements() -> None:
    desc = {**DESC, "op": "cast", "from_off": 0, "from_sizes": [16, 2], "from_steps": [1, 32], "from_dtype": "float32"}
    desc |= {"to_sizes": [8, 2], "to_steps": [1, 16], "to_dtype": 7, "to_off": 8}
    (transfer,) = transfers(run([entry(desc)]))
    assert transfer.src.dtype is not None and transfer.src.dtype.code == Dtype.FP32
    assert transfer.dst.dtype is not None and transfer.dst.dtype.code == Dtype.BFLOAT16
    assert transfer.src.pattern == ((8, 2), (1, 4))
    assert (transfer.dst.offset, transfer.dst.pattern) == (4, ((8, 2), (1, 4)))


def test_compute_ops_are_reductions() -> None:
    half = {**SOURCE, "from_sizes": [32], "scale": 0.5}
    bare = {"from": "x", "from_off": 32, "from_dtype": "float32"}  # sizes and scale are the desc's
    desc = {"op": "fma", "from_arr": [half, bare], "to": "y", "to_sizes": [32], "to_dtype": "float32", "scale": 2}
    (found,) = transfers(run([entry(desc)]))
    in_x, fp32 = ((1, 8),), dtype_named("float32")
    assert found.srcs == (Access("x", 0, in_x, fp32), Access("x", 8, in_x, fp32)) and found.src == found.srcs[0]
    assert (found.op, found.compute, found.scales, found.constant) == ("reduce", "fma", (0.5, 2.0), None)
    assert (found.semaphore, found.num_queues) == (3, 16)
    bounded = {**SUM, "op": "min", "constant": 7, "constant_dtype": "int32", "scale": 1}
    (found,) = transfers(run([entry(bounded)]))
    assert (found.constant, found.constant_dtype, found.scales) == (7, "int32", (1.0, 1.0))
    (found,) = transfers(run([entry({**DESC, "op": "add"})]))  # one source of bytes
    assert found.srcs == (Access("x", 0, ((1, 64),), dtype_named("uint8")),)


def test_a_typed_copy_stays_bytes() -> None:
    (transfer,) = transfers(run([entry({**DESC, "from_dtype": "float32", "to_dtype": 5})]))
    assert transfer.src.dtype is None


def test_only_the_last_desc_increments() -> None:
    found = transfers(run([entry([DESC, DESC], semaphore=9)]))
    assert [(t.name, t.semaphore) for t in found] == [("q.0.0", None), ("q.0.1", 9)]


def test_a_queue_without_semaphore_increments_none() -> None:
    assert transfers(run([entry(queue="r")]))[0].semaphore is None


REFUSED = [
    (entry(queue="z"), InputError, "neff.queue"),
    ({"id": 0, "desc": DESC}, InputError, "neff.queue"),
    (entry(queue="s"), Unspecified, "neff.semaphore"),
    (entry(event=1), Unsupported, "neff.event"),
    (entry(remote_semaphores=[1]), Unsupported, "neff.remote_semaphores"),
    ({"id": 0, "queue": "q"}, InputError, "neff.missing"),
    (entry({**DESC, "op": "transpose"}), Unspecified, "neff.transpose"),
    (entry({"op": "add", "from_arr": [], "to": "y", "to_sizes": [64]}), InputError, "neff.value"),
    (entry({"op": "add", "from_arr": [SOURCE]}), InputError, "neff.missing"),
    (entry({"op": "add", "to": "y", "to_sizes": [64]}), InputError, "neff.missing"),
    (entry({**SUM, "op": "fma", "scale_dtype": "bfloat16"}), ComputeError, "cce.2.3"),
    (entry({**SUM, "op": "max", "constant": 1, "constant_dtype": "int8"}), InputError, "neff.constant"),
    (entry({"to": "y", "to_sizes": [64]}), InputError, "neff.missing"),
    (entry({"from": "x", "from_sizes": [64]}), InputError, "neff.missing"),
    (entry({**DESC, "from": "q"}), InputError, "neff.variable"),
    (entry({**DESC, "from": "p"}), Unsupported, "neff.variable"),
    (entry({**DESC, "from_sizes": [32]}), InputError, "neff.amount"),
    (entry({"from": "x", "to": "y", "to_sizes": [64]}), InputError, "neff.missing"),
    (entry({**DESC, "from_sizes": [32, 2], "from_steps": [1]}), InputError, "neff.pattern"),
    (entry({**DESC, "from_off": 1}), InputError, "neff.bounds"),
    (entry({**DESC, "from_sizes": [64], "from_steps": [-1]}), InputError, "neff.bounds"),
    (entry({**DESC, "from": "empty"}), InputError, "neff.bounds"),
    (entry({**DESC, "from_dtype": "float32"}), Unspecified, "neff.dtype"),
    (entry({**DESC, "op": "cast", "from_dtype": "float32", "from_sizes": [62]}), InputError, "neff.dtype"),
    (
        entry({**DESC, "op": "cast", "from_dtype": "float32", "from_sizes": [16], "from_steps": [4]}),
        InputError,
        "neff.dtype",
    ),
    (entry({**DESC, "op": "cast", "from_dtype": "float32"}), InputError, "neff.amount"),
]


@pytest.mark.parametrize(("one", "error", "rule"), REFUSED, ids=[f"{n}-{case[2]}" for n, case in enumerate(REFUSED)])
def test_entries_that_are_refused(one: dict[str, Any], error: type[DgeError], rule: str) -> None:
    with pytest.raises(error) as caught:
        run([one])
    assert caught.value.rule == rule and caught.value.where.startswith("f.neff: sg00/")


# streams


def test_without_triggers_lists_run_in_order() -> None:
    found = run([entry(), entry(queue="r")], instruction(0xA0))
    assert [item.name for item in found.items] == ["q.0", "r.0", "pool[0]"]


def test_a_block_triggered_twice_runs_twice() -> None:
    found = run(
        [entry()], trigger("q_0") + trigger(wait_mode=5, wait_idx=1, semaphore_value=7, update_mode=0x15, update_idx=2)
    )
    first, second = transfers(found)
    assert [first.name, second.name] == ["q.0", "q.0#2"]
    assert second.wait == (Wait(1, 7, "ge"),) and second.updates == (Update(2, "add", 7),)


def test_gates_of_a_trigger_frame_all_its_entries() -> None:
    found = transfers(
        run([entry(), entry()], trigger(wait_mode=1, wait_idx=1, semaphore_value=2, update_mode=4, update_idx=9))
    )
    assert [t.wait for t in found] == [(Wait(1, 2, "eq"),), ()]
    assert [t.updates for t in found] == [(), (Update(9, "sub", 1),)]


def test_entries_that_nothing_triggers_are_reported() -> None:
    found = run([entry(), entry(id=5)], trigger())
    assert len(found.items) == 1
    assert [(issue.rule, "dma[1]" in issue.where) for issue in found.issues] == [("neff.trigger", True)]


def test_raw_words_ride_along_with_their_extension() -> None:
    pseudo = PseudoDmaDirect2D(events=Events(wait_mode=2, wait_idx=3, semaphore_value=4)).encode()
    found = run([], pseudo + PseudoDmaExt().encode() + pseudo)
    first, second = found.items
    assert isinstance(first, RawWords) and isinstance(second, RawWords)
    assert (first.words, second.words) == (pseudo + PseudoDmaExt().encode(), pseudo)
    assert first.wait == (Wait(3, 4, "lt"),) and (first.name, second.name) == ("pool[0]", "pool[2]")
    names = {tensor.name for tensor in found.tensors}
    assert {"x", "y", "t", "sb", "w", "scratchpad.main"} == names  # a word may name any of them by id


def test_other_instructions_keep_their_semaphores() -> None:
    compute = instruction(0x21, update_mode=0x13, update_idx=6)
    found = run([entry()], trigger() + compute + compute + PseudoDmaRearm(queue_name="q").encode() + bytes(64))
    steps = [item for item in found.items if isinstance(item, SemaphoreStep)]
    assert [step.updates for step in steps] == [(Update(6, "add", 1),)] * 2 + [()]
    reported = {
        issue.values["opcode"]: issue.values["count"] for issue in found.issues if issue.rule == "neff.instruction"
    }
    assert reported == {0x21: 2, 0xC2: 1, 0x00: 1}


def test_stream_findings_name_the_member() -> None:
    found = run([entry()], PseudoDmaExt().encode() + trigger())
    assert any(issue.rule == "isa.stream.extension" and "sg00/pool.bin" in issue.where for issue in found.issues)


def test_a_ragged_stream() -> None:
    with pytest.raises(InputError) as caught:
        run([entry()], bytes(65))
    assert caught.value.rule == "neff.stream" and caught.value.values == {"bytes": 65}
    found = run([entry()], bytes(72), engine="sp")
    assert [issue.rule for issue in found.issues] == ["neff.stream"] and len(found.items) == 1


STREAMS = [
    (trigger(block=9), InputError, "neff.trigger"),
    (trigger("z"), InputError, "neff.queue"),
    (instruction(0xC8), Unspecified, "neff.collective"),
    (instruction(0xC7), Unspecified, "neff.collective"),
    (instruction(0xD9), Unspecified, "neff.collective"),
    (instruction(0xD3), Unsupported, "neff.control_flow"),
    (instruction(0xCC), Unsupported, "neff.control_flow"),
    (instruction(0x21, wait_mode=0x81), Unspecified, "isa.EVENTS"),
    (trigger(wait_mode=0x06), Unsupported, "isa.EVENTS"),
]


@pytest.mark.parametrize(("stream", "error", "rule"), STREAMS, ids=[f"{n}-{case[2]}" for n, case in enumerate(STREAMS)])
def test_streams_that_are_refused(stream: bytes, error: type[DgeError], rule: str) -> None:
    with pytest.raises(error) as caught:
        run([entry()], stream)
    assert caught.value.rule == rule and caught.value.where == "f.neff: sg00/pool.bin: slot 0"


def test_collective_companions_are_checked() -> None:
    def companion(**change: Any) -> Workload:
        one = {"slot": 0, "op": "all-reduce", "dtype": "float32", "input": 0, "output": 1, "elements": 16, **change}
        return run([], instruction(0xC8), x_dgekit_collectives=[one])

    assert transfers(companion())[0].dst == Access("y", 0, ((1, 64),))
    for change, rule in (
        ({"input": 99}, "neff.variable"),
        ({"elements": 17}, "neff.bounds"),
        ({"output": 8}, "neff.bounds"),
    ):
        with pytest.raises(InputError) as caught:
            companion(**change)
        assert caught.value.rule == rule


# subgraphs


def test_several_subgraphs_need_a_choice() -> None:
    graphs = [{"name": name, "definition": "sg00/def.json"} for name in ("sg00", "sg01")]
    data = program([entry()], more={"kelf-a.json": json.dumps({"graphs": graphs}).encode()})
    neff = read_neff(data)
    with pytest.raises(Unsupported) as caught:
        workload(neff)
    assert caught.value.rule == "neff.subgraph"
    assert len(workload(neff, subgraph="sg01").items) == 1
    with pytest.raises(InputError) as missing:
        workload(neff, subgraph="sg02")
    assert missing.value.rule == "neff.reference"

"""Every line that the specification knows whole and that belongs to the DGE's stages comes out of some run."""

from __future__ import annotations

from collections.abc import Iterator

import ml_dtypes
import numpy as np
import pytest

from dgekit.api import Device
from dgekit.core.choices import Choices
from dgekit.logs.formats import FORMATS
from dgekit.logs.render import render_lines
from dgekit.words.structs import (
    Addr8Immediate,
    BoundCheckReg,
    DmaDirect2D,
    Dtype,
    ExtendedRdmaDescGen,
    ExtendedRdmaDescStart,
)

STAGES = frozenset(
    {"setup", "decode", "shape", "reshape", "select", "dump", "push", "bounds", "spray", "indirection", "swdge"}
)
SHAPE_REG = 0x40 >> 2


def indirect(device: Device, op: str, **options: object) -> None:
    table = device.hbm(np.arange(64 * 128, dtype=np.uint16).reshape(64, 128).view(ml_dtypes.bfloat16))
    rows = device.sbuf(contents=np.arange(16, dtype=np.uint32).reshape(1, 16))
    if op == "gather":
        device.gather(device.hbm(shape=(16, 128), dtype="bfloat16"), table, rows, **options)
    else:
        device.gather_transpose(device.sbuf((128, 16), "bfloat16"), table, rows, **options)


def transposed(device: Device, mode: str) -> None:
    src = device.hbm(np.zeros((64, 128), np.uint16).view(ml_dtypes.bfloat16))
    device.transpose(device.sbuf((128, 64), "bfloat16"), src, mode=mode)


def copies(device: Device) -> None:
    src = device.hbm(np.zeros((128, 64), np.float32))
    device.copy(device.sbuf((128, 64), "float32"), src)
    device.copy(device.sbuf((128, 64), "float32"), device.sbuf((128, 64), "float32"), mode="hwdge")
    device.copy(device.sbuf((128, 64), "bfloat16"), src, mode="hwdge")  # a cast: no backend
    device.set_local_registers({38: 2})
    device.set_shape_register(0, (4, 1, 1, 1), (16, 1, 1, 1))
    address = Addr8Immediate(address=0x1000_0000, marker_bits=SHAPE_REG)
    bound = BoundCheckReg(bc_reg=1, bc_enabled=1)  # register 1 holds 0: every address is above it
    device.run_words(
        DmaDirect2D(
            src_start_addr=address, dst_start_addr=address, src_elem_size=4, dst_elem_size=4, src_bound_reg=bound,
            src_num_elem=(0, 0), dst_num_elem=(0, 0), src_step_elem=(0, 0), dst_step_elem=(0, 0),
            in_dtype=Dtype.FP32, out_dtype=Dtype.FP32,
        ).encode()
    )  # fmt: skip


def mismatched_role() -> Device:
    """Descriptors for the role that their processor has not: the same line as a short count (pipeline 3.7)."""
    device = Device("trn2", {"rdma_prid": 1})
    device.run_words(ExtendedRdmaDescGen(dma_engine_mask=1, remote_core_id=1, local_sem=1, remote_sem=2).encode())
    device.run_words(ExtendedRdmaDescStart().encode())
    return device


def devices() -> Iterator[Device]:
    for generation in ("trn2", "trn3+"):
        device = Device(generation)
        copies(device)
        for op in ("gather", "gather_transpose"):
            indirect(device, op)
        for mode in ("unknown", "swdge"):
            transposed(device, mode)
        device.copy(device.hbm(shape=[8], dtype="uint8"), device.hbm(np.zeros(8, np.uint8)), mode="swdge")
        yield device
    yield mismatched_role()


def test_every_known_line_of_the_stages_comes_out_of_a_run() -> None:
    shown = {
        line.key for device in devices() for line in render_lines(device.session.events, device.generation, Choices())
    }
    wanted = {row.key for row in FORMATS.values() if row.is_line and row.stage in STAGES and not row.is_elided}
    assert wanted - shown == set()


@pytest.mark.parametrize(("who", "prefixes"), [("both", ["S: ", "P0: "]), ("sequencer", ["S: "]), ("q7", ["P0: "])])
def test_who_prints_the_reshape_of_a_transpose(who: str, prefixes: list[str]) -> None:
    device = Device("trn2", {"transpose_log": who})
    indirect(device, "gather_transpose")
    for text, numbers in (
        (": tile_src_rows=16 tile_src_cols=128 dtype_size=2", ""),
        (" BEFORE: elem_size=2 num_elem=[128,16,1,1] step_elem=[2,256,0,0]", " is_src=1"),
        (" AFTER: elem_size=2 num_elem=[16,128,1,1] step_elem=[256,2,0,0]", ""),
    ):
        line = f"tensor_reshape_indirect_transpose{text}{numbers}"
        assert [entry for entry in device.log if line in entry] == [prefix + line for prefix in prefixes]


@pytest.mark.parametrize("opcode", ["ba", "c0", "ff"])
def test_an_opcode_that_the_generation_lacks_is_a_bad_one(opcode: str) -> None:
    device = Device("trn2")  # the line was read in CAYMAN's image
    done = device.run_words(opcode + "10" + "00" * 62)
    assert done.status == "refused" and device.log[-1] == f"S: ErrorHandler : Bad Opcode(0x{opcode})"


@pytest.mark.parametrize("opcode", ["12", "68", "b2", "c1"])
def test_a_word_of_somebody_else_is_refused_without_a_line(opcode: str) -> None:
    """0x12 is not among the opcodes that the specification lists, which is no proof that there is none."""
    device = Device("trn2")
    done = device.run_words(opcode + "10" + "00" * 62)
    assert done.status == "refused" and [issue.rule for issue in done.issues] == ["pipeline.2.1"]
    assert not any("ErrorHandler" in line for line in device.log)

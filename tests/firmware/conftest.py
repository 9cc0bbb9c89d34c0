"""Short ways to make words and to send one through the firmware."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any

import pytest

from dgekit.core.choices import Choices
from dgekit.core.events import Event, EventLog
from dgekit.core.generations import generation_named
from dgekit.core.state import Availability, StateView
from dgekit.firmware.context import availability_of
from dgekit.firmware.decode import kind_of
from dgekit.firmware.pipeline import Outcome, run_word
from dgekit.logs.render import render_log
from dgekit.words.structs import (
    Addr4Immediate,
    Addr8Immediate,
    BoundCheckReg,
    DmaConfigs,
    DmaDirect2D,
    DmaDirect2DXpose,
    DmaGatherTransposeFlags,
    DmaGatherXpose,
    DmaIndirect1D,
    DmaIndirectFlags,
    Dtype,
    DtypePair,
)

HBM = 0x1000_0000
SBUF = 0x20_0000_0000
ROW = 0x4_0000


def _addresses(fields: dict[str, Any]) -> dict[str, Any]:
    """Plain numbers as immediate addresses."""
    arms = {name: Addr4Immediate if "idx" in name else Addr8Immediate for name in fields if name.endswith("start_addr")}
    plain = {name: arm for name, arm in arms.items() if isinstance(fields[name], int)}
    four = {name: arm(addr_immediate=fields[name]) for name, arm in plain.items() if arm is Addr4Immediate}
    eight = {name: arm(address=fields[name]) for name, arm in plain.items() if arm is Addr8Immediate}
    return {**fields, **four, **eight}


@dataclass
class FlatMemory:
    """A dict of byte strings by address: what index vectors are read from."""

    blocks: dict[int, bytes] = field(default_factory=dict)

    def read(self, address: int, size: int) -> bytes:
        for start, data in self.blocks.items():
            if start <= address and address + size <= start + len(data):
                return data[address - start : address - start + size]
        raise AssertionError(f"nothing at {address:#x}")


@dataclass
class Run:
    """One word that went through: outcome, events, log lines."""

    outcome: Outcome
    events: EventLog
    log: list[str]

    def args(self, name: str) -> list[tuple[Any, ...]]:
        return [event.args for event in self.events if event.name == name]

    def shown(self) -> list[Event]:
        return [event for event in self.events if event.line]


class Words:
    """Words with sensible rest fields."""

    HBM, SBUF, ROW = HBM, SBUF, ROW

    @staticmethod
    def bound(register: int, *, silent: bool = False) -> BoundCheckReg:
        return BoundCheckReg(bc_reg=register, bc_disable_oob_error_notif=int(silent), bc_enabled=1)

    @staticmethod
    def direct(**fields: Any) -> DmaDirect2D:
        """A 4-row copy of 16 bytes a row, HBM to HBM, unless told otherwise; `elem` sets both sizes."""
        elem = fields.pop("elem", 16)
        dtype = fields.pop("dtype", Dtype.FP32)
        base: dict[str, Any] = {
            "src_start_addr": HBM, "dst_start_addr": HBM + 0x10_0000,
            "src_step_elem": (16, 1), "dst_step_elem": (32, 1), "src_num_elem": (4, 1), "dst_num_elem": (4, 1),
            "src_elem_size": elem % 65536, "dst_elem_size": elem % 65536, "in_dtype": dtype, "out_dtype": dtype,
            "semaphore": 10, "sem_increment": 1,
        }  # fmt: skip
        if "priority" in fields:
            base["dma_configs"] = DmaConfigs(priority_class=fields.pop("priority"))
        return DmaDirect2D(**_addresses({**base, **fields}))

    @staticmethod
    def load(rows: int = 128, **fields: Any) -> DmaDirect2D:
        """The published form of a 128 x 128 BF16 load (D2): 256 B elements, one a partition."""
        return Words.direct(
            **{
                "elem": 256, "dtype": Dtype.BFLOAT16, "dst_start_addr": SBUF,
                "src_step_elem": (256, 1), "dst_step_elem": (ROW, 1),
                "src_num_elem": (rows, 1), "dst_num_elem": (rows, 1), **fields,
            }
        )  # fmt: skip

    @staticmethod
    def transpose(**fields: Any) -> DmaDirect2DXpose:
        """64 x 128 BF16 as four tiles (D10): source step 4096, row step 256, destination step 32."""
        return DmaDirect2DXpose(
            **_addresses({
                "src_start_addr": HBM, "dst_start_addr": SBUF,
                "src_step_elem": (4096, 1), "dst_step_elem": (32, 1), "src_num_elem": (4, 1), "dst_num_elem": (4, 1),
                "tile_src_row_step": 256, "tile_src_rows": 16, "tile_src_cols": 128,
                "in_dtype": Dtype.BFLOAT16, "out_dtype": Dtype.BFLOAT16, "semaphore": 20, **fields,
            })
        )  # fmt: skip

    @staticmethod
    def indirect(lanes: int = 4, mode: int = 0, **fields: Any) -> DmaIndirect1D:
        """Rows of 64 bytes picked by a u32 vector at offset 0x100 of partition 0."""
        flags = DmaIndirectFlags(
            indirect_mode=mode,
            idx_bound_is_err=fields.pop("is_err", 1),
            non_unique_dst_idx=fields.pop("non_unique", 0),
        )
        return DmaIndirect1D(
            **_addresses({
                "src_start_addr": HBM, "dst_start_addr": SBUF, "src_step_elem": 64, "dst_step_elem": ROW,
                "src_num_elem": lanes, "dst_num_elem": lanes, "src_elem_size": 64, "dst_elem_size": 64,
                "src_idx_start_addr": 0x100, "dst_idx_start_addr": 0x100 if mode == 2 else (0x100 if mode == 1 else 0),
                "in_dtype": Dtype.FP32, "out_dtype": Dtype.FP32, "idx_num_active_channels": 128,
                "flags": flags, "semaphore": 12, "sem_increment": 1, **fields,
            })
        )  # fmt: skip

    @staticmethod
    def gather_transpose(**fields: Any) -> DmaGatherXpose:
        """32 rows of 128 BF16, gathered and transposed: one column a partition."""
        return DmaGatherXpose(
            **_addresses({
                "src_start_addr": HBM, "dst_start_addr": SBUF, "src_step_elem": (2, 256),
                "src_num_elem": (128, 32), "dst_num_elem": (32, 128), "dst_step_elem_1": ROW, "elem_size": 256,
                "dtype": DtypePair(dtype_lo=Dtype.BFLOAT16, dtype_hi=Dtype.BFLOAT16),
                "flags": DmaGatherTransposeFlags(gather_dim=1), "src_idx_start_addr": 0x100,
                "idx_num_active_channels": 128, "semaphore": 12, **fields,
            })
        )  # fmt: skip

    @staticmethod
    def indices(*values: int, at: int = SBUF + 0x100) -> FlatMemory:
        return FlatMemory({at: struct.pack(f"<{len(values)}I", *values)})


@pytest.fixture
def words() -> type[Words]:
    return Words


@pytest.fixture
def send():
    """send(word, mode=..., gen=..., state=..., **choices) -> Run."""

    def run(
        word: Any,
        mode: str = "unknown",
        gen: str = "CAYMAN",
        state: StateView | None = None,
        availability: Availability | None = None,
        sem_increment: int | None = None,
        is_out_queue: bool = False,
        **switches: Any,
    ) -> Run:
        choices, events, generation = Choices(switches), EventLog(), generation_named(gen)
        if availability is None:
            availability = (
                availability_of(mode, kind_of(word)) if word.header.opcode not in (0xB9, 0xBA) else Availability()
            )
        outcome = run_word(
            word, state or StateView(), availability, generation, choices, events,
            sem_increment=sem_increment, is_out_queue=is_out_queue,
        )  # fmt: skip
        return Run(outcome, events, render_log(events, generation, choices))

    return run

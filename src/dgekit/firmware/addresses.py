"""How a word names an address: immediate, registers, address table, index vectors, bounds (isa-words 1.3 to 1.6)."""

from __future__ import annotations

import struct
from typing import Any

from dgekit.core.errors import IllegalWord, LoweringError, Unspecified
from dgekit.core.generations import Generation
from dgekit.core.state import NUM_REGISTERS, StateView
from dgekit.firmware.values import BoundCheck
from dgekit.words.enums import INDEX_BYTES, MAX_INDICES_PER_LEG, PARTITION_OFFSET_BITS, Addr4Marker, Addr8MarkerBit
from dgekit.words.substructs import ADDR8

PARTITION_BYTES = 1 << PARTITION_OFFSET_BITS  # partition 0 of SBUF has all higher bits zero (isa-words 1.5)


def leg_address(address: Any, name: str, state: StateView) -> int:
    """The SoC address an ADDR8 stands for; raises IllegalWord for a marker or register that does not exist.

    Register arm: register pair; table arms: entry plus immediate, register or register-pair offset. A table entry
    that nobody set raises LoweringError.
    """
    marker = int(address.marker_value)
    if marker not in ADDR8.arms:
        raise IllegalWord(
            f"marker {marker:#x} of the {name} address is none of ADDR8's",
            rule="isa.1.3.marker",
            where=f"{name}_start_addr",
            values={"marker": marker},
            source="isa-words 1.3",
        )
    if marker & Addr8MarkerBit.ADDR_TBL:
        return _table_entry(address.table_entry_id, name, state) + _table_offset(address, marker, name, state)
    if marker & Addr8MarkerBit.ADDR_REG:
        low, high = register_value(address.reg_lo, name, state), register_value(address.reg_hi, name, state)
        return high << 32 | low
    return int(address.address)


def takes_shape_register(address: Any) -> bool:
    """Bit 6 of the marker decides, also for 0x6c (isa-words C5, open point 24)."""
    return bool(int(address.marker_value) & Addr8MarkerBit.SHAPE_REG)


def bound_check(bound: Any, name: str, state: StateView, *, wide: bool) -> BoundCheck:
    """A BOUND_CHECK_REG with its limit read: 32 bits, or 64 from the pair for a wide marker; IllegalWord by C7, C8."""
    register, silent, enabled = int(bound.bc_reg), int(bound.bc_disable_oob_error_notif), int(bound.bc_enabled)
    raw = register | silent << 6 | enabled << 7
    if not enabled:
        if raw:
            raise IllegalWord(
                f"{name} {raw:#04x} is neither zero nor enabled",
                rule="isa.C7",
                where=name,
                values={"bc_reg": register, "bc_disable_oob_error_notif": silent, "bc_enabled": enabled},
                source="isa-words 4.1",
                fix="clear the byte, or set bit 7",
            )
        return BoundCheck()
    limit = _register_pair(register, name, state) if wide else register_value(register, name, state)
    return BoundCheck(True, register, limit, not silent, raw)


def is_wide(address: Any) -> bool:
    """True when the offset, and so the limit, is a register pair."""
    return bool(int(address.marker_value) & Addr8MarkerBit.ADDR_TBL_OFFSET_WIDE)


def index_address(address: Any, name: str, state: StateView, generation: Generation) -> int:
    """The SoC address of an index vector: SBUF partition 0 of the executing core, named directly or by a register.

    Raises IllegalWord outside partition 0 and Unspecified for the ADDR4 markers whose meaning nobody gives.
    """
    marker = int(address.marker_value)
    if marker == Addr4Marker.IMM:
        offset = int(address.address)
    elif marker == Addr4Marker.ADDR_REG:
        offset = register_value(address.regnum, name, state)
    else:
        raise Unspecified(
            f"no source says what ADDR4 marker {marker:#x} of {name} means for an index vector",
            rule="isa.1.5",
            where=name,
            values={"marker": marker},
            fix="give the index vector as an immediate or in a register",
        )
    if offset >= PARTITION_BYTES:
        raise IllegalWord(
            f"index vector at {offset:#x} is not in SBUF partition 0",
            rule="isa.4.3.partition0",
            where=name,
            values={"offset": offset, "limit": PARTITION_BYTES},
            source="isa-words 1.5, 4.3",
            fix="put the indices in partition 0",
        )
    return generation.sbuf_base(state.core) + offset


def read_indices(address: int, count: int, name: str, state: StateView) -> tuple[int, ...]:
    """`count` u32 indices from memory; raises IllegalWord above 4096 and the memory's own faults."""
    if count > MAX_INDICES_PER_LEG:
        raise IllegalWord(
            f"{count} indices are more than the {MAX_INDICES_PER_LEG} a leg may have",
            rule="isa.4.3.index_count",
            where=name,
            values={"indices": count, "maximum": MAX_INDICES_PER_LEG},
            source="isa-words 4.3",
            fix="cut the transfer into several words",
        )
    if count == 0:
        return ()
    if state.memory is None:
        raise LoweringError(f"there is no memory to read the indices of {name} from", rule="pipeline.2.3", where=name)
    return struct.unpack(f"<{count}I", state.memory.read(address, count * INDEX_BYTES))


def _table_entry(entry: int, name: str, state: StateView) -> int:
    base = state.address_table.get(entry)
    if base is None:
        raise LoweringError(
            f"entry {entry} of the DGE address table is not set",
            rule="pipeline.2.3",
            where=f"{name}_start_addr",
            values={"table_entry_id": entry, "set": sorted(state.address_table)},
            fix="set it in [[address_table]]",
        )
    return base


def _table_offset(address: Any, marker: int, name: str, state: StateView) -> int:
    if not marker & Addr8MarkerBit.ADDR_TBL_OFFSET_REG:
        return int(address.offset)
    register = int(address.offset_reg)
    return (
        _register_pair(register, name, state)
        if marker & Addr8MarkerBit.ADDR_TBL_OFFSET_WIDE
        else register_value(register, name, state)
    )


def _register_pair(number: int, name: str, state: StateView) -> int:
    return register_value(number, name, state) | register_value(number + 1, name, state) << 32


def register_value(number: int, name: str, state: StateView) -> int:
    """What general register `number`, named by field `name`, holds; raises IllegalWord where there is none."""
    if not 0 <= number < NUM_REGISTERS:
        raise IllegalWord(
            f"register {number}, named by {name}, does not exist",
            rule="isa.C8",
            where=name,
            values={"register": number, "maximum": NUM_REGISTERS - 1},
            source="isa-words 1.5, 4.1",
        )
    return state.register(number)

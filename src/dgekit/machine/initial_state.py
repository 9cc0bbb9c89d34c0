"""Machine state before a program starts (D41): what is given must name what exists and fit where it is kept.

A transfer file is checked when it is read; state that comes from Python, or from another front end, is checked here.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import replace

from dgekit.core.choices import Choices
from dgekit.core.errors import LoweringError
from dgekit.core.state import (
    NUM_REGISTERS,
    NUM_SEMAPHORES,
    NUM_SHAPE_REGISTERS,
    REG_DMA_CONFIG,
    REG_FEATURE_FLAGS,
    Mailbox,
    ShapeRegister,
)
from dgekit.transfers.transfer import MachineInit

MAILBOXES = PRIORITY_CLASSES = 4  # of the control block (pipeline 1.5)
_LAST_ENTRY = 0xFFFF  # table_entry_id is a u16 (isa-words 1.3)
_LOCAL = range(REG_FEATURE_FLAGS, REG_DMA_CONFIG + 1)
_U8, _U16, _U32, _U64 = ((0, (1 << bits) - 1) for bits in (8, 16, 32, 64))
_I32 = (-(1 << 31), (1 << 31) - 1)
_PACKET = (1, _U32[1])

Limits = tuple[int, int]


def checked_state(init: MachineInit, choices: Choices) -> MachineInit:
    """The state with plain integers; raises LoweringError for a number that does not exist or a value that is too big.

    Tensors named by the address table stay names.
    """
    return replace(
        init,
        registers=_numbered("register", init.registers, range(NUM_REGISTERS), _U32, "isa.1.5"),
        local_registers=_numbered("local register", init.local_registers, _LOCAL, _U32, "pipeline.1.6"),
        shape_registers={
            index: _fitting(index, register, choices)
            for index, register in init.shape_registers.items()
            if _exists("shape register", index, range(NUM_SHAPE_REGISTERS), "pipeline.2.4")
        },
        address_table=_table(init.address_table),
        mailboxes=_mailboxes(init.mailboxes),
        priority_bytes=_priority_bytes(init.priority_bytes),
        semaphores=_numbered("semaphore", init.semaphores, range(NUM_SEMAPHORES), _I32, "dec.D42"),
    )


def _numbered(noun: str, given: Mapping[int, int], legal: range, limits: Limits, rule: str) -> dict[int, int]:
    """A register file's values by number."""
    return {
        int(number): _whole(f"{noun} {number}", value, limits, rule)
        for number, value in given.items()
        if _exists(noun, number, legal, rule)
    }


def _exists(noun: str, number: object, legal: range, rule: str) -> bool:
    """True; raises LoweringError for a number that nothing has."""
    if isinstance(number, int) and number in legal:
        return True
    raise LoweringError(
        f"{noun} {number} has no known meaning",
        rule=rule,
        values={"number": number, "first": legal[0], "last": legal[-1]},
        fix=f"{noun}s {legal[0]} to {legal[-1]} can be set",
    )


def _whole(what: str, value: object, limits: Limits, rule: str) -> int:
    """The value as an int; raises LoweringError for another type or one outside its limits."""
    low, high = limits
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = low - 1
    if not low <= number <= high:
        raise LoweringError(
            f"{what}: {value!r} is no whole number from {low} to {high}",
            rule=rule,
            where=what,
            values={"value": value, "minimum": low, "maximum": high},
        )
    return number


def _fitting(index: int, register: ShapeRegister, choices: Choices) -> ShapeRegister:
    """The register, if its counts are u16 and its steps fit the width of the file (pipeline 2.4)."""
    what, rule = f"shape register {index}", "pipeline.2.4"
    bits = choices.number("shape_reg_width")
    low, high = -(1 << (bits - 1)), (1 << bits) - 1
    first, second, third, fourth = (_whole(f"{what}.num", count, _U16, rule) for count in register.num)
    for step in register.step:
        if not low <= step <= high:
            raise LoweringError(
                f"step {step} does not fit the {bits}-bit steps of {what}",
                rule=rule,
                where=f"shape_registers[{index}]",
                values={"step": step, "low": low, "high": high},
                fix="--set shape_reg_width=32",
            )
    return replace(register, num=(first, second, third, fourth))


def _table(entries: Mapping[int, int | str]) -> dict[int, int | str]:
    rule = "isa.1.3.table"
    return {
        _whole("address table entry", entry, (0, _LAST_ENTRY), rule): (
            to if isinstance(to, str) else _whole(f"address table entry {entry}", to, _U64, rule)
        )
        for entry, to in entries.items()
    }


def _mailboxes(given: Sequence[Mailbox]) -> tuple[Mailbox, ...]:
    rule = "pipeline.1.5"
    _at_most("mailboxes", given, MAILBOXES, rule)
    return tuple(
        Mailbox(
            _whole(f"mailbox {k}.priority", box.priority, _U8, rule), _whole(f"mailbox {k}.mask", box.mask, _U16, rule)
        )
        for k, box in enumerate(given)
    )


def _priority_bytes(given: Sequence[int]) -> tuple[int, ...]:
    rule = "pipeline.1.5"
    _at_most("priority classes", given, PRIORITY_CLASSES, rule)
    return tuple(_whole(f"bytes of priority class {k}", value, _PACKET, rule) for k, value in enumerate(given, 1))


def _at_most(noun: str, given: Sequence[object], limit: int, rule: str) -> None:
    if len(given) > limit:
        raise LoweringError(
            f"{len(given)} {noun} are given, there are {limit}", rule=rule, values={"given": len(given), "limit": limit}
        )

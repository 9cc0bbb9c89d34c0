"""The EVENTS block of a word as waits and updates: what gates its issue and what it writes itself when it is done.

Sources: isa-words 1.2 (layout, one shared value), 2.8 and 2.9 (modes). Both the read and the complete form of an
update take effect when the instruction is done: nothing here runs between the two moments.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from dgekit.core.errors import Unspecified, Unsupported
from dgekit.core.evt_sem import PROGRAM_CORE
from dgekit.transfers.transfer import Compare, Update, UpdateOp, Wait
from dgekit.words.codec import decode_word
from dgekit.words.enums import UpdateMode, WaitMode
from dgekit.words.structs import Events

COMPARES: Mapping[int, Compare] = {
    WaitMode.WAIT_FOR_SEM_EQ_IMM: "eq",
    WaitMode.WAIT_FOR_SEM_LT_IMM: "lt",
    WaitMode.WAIT_FOR_SEM_LE_IMM: "le",
    WaitMode.WAIT_FOR_SEM_GT_IMM: "gt",
    WaitMode.WAIT_FOR_SEM_GE_IMM: "ge",
}
WAIT_FOR_NOTHING = (WaitMode.NONE, WaitMode.UNORDERED)
COMPLETE = 0x10  # isa-words 2.9: the complete form is the read form + 0x10
REGISTER = 0x80  # ... and the register form is the immediate form + 0x80
COUNTS: Mapping[int, UpdateOp] = {UpdateMode.SEM_INC_READ: "add", UpdateMode.SEM_DEC_READ: "sub"}
IMMEDIATES: Mapping[int, UpdateOp] = {
    UpdateMode.SEM_ADD_IMM_READ: "add",
    UpdateMode.SEM_SUB_IMM_READ: "sub",
    UpdateMode.SEM_WR_IMM_READ: "write",
}


def word_events(word: bytes, where: str, core: int = PROGRAM_CORE) -> tuple[tuple[Wait, ...], tuple[Update, ...]]:
    """Waits and updates of a 64-byte word on the semaphores of `core`; none without an EVENTS block.

    Raises as `read_events`.
    """
    events = getattr(decode_word(word), "events", None)
    waits, updates = read_events(events, where) if isinstance(events, Events) else ((), ())
    return tuple(replace(wait, core=core) for wait in waits), tuple(replace(update, core=core) for update in updates)


def read_events(events: Events, where: str) -> tuple[tuple[Wait, ...], tuple[Update, ...]]:
    """Waits and updates of an EVENTS block.

    Raises Unsupported for event flags, which are not modelled, and Unspecified for register operands, whose
    contents no file holds, and for modes without a meaning.
    """
    return _waits(events, where), _updates(events, where)


def _waits(events: Events, where: str) -> tuple[Wait, ...]:
    mode = int(events.wait_mode)
    if mode in WAIT_FOR_NOTHING:
        return ()
    if mode in COMPARES:
        return (Wait(events.wait_idx, events.semaphore_value, COMPARES[mode]),)
    raise _refused("wait", mode, _mode_name(WaitMode, mode), where)


def _updates(events: Events, where: str) -> tuple[Update, ...]:
    mode = int(events.update_mode)
    if mode == UpdateMode.NONE:
        return ()
    moment = mode & ~COMPLETE
    if moment in COUNTS:
        return (Update(events.update_idx, COUNTS[moment], 1),)
    if moment in IMMEDIATES:
        return (Update(events.update_idx, IMMEDIATES[moment], events.semaphore_value),)
    raise _refused("update", mode, _mode_name(UpdateMode, mode), where)


def _mode_name(modes: type[WaitMode] | type[UpdateMode], mode: int) -> str:
    return next((known.name for known in modes if known == mode), "")


def _refused(kind: str, mode: int, name: str, where: str) -> Unsupported | Unspecified:
    values = {"mode": mode}
    if name and not mode & REGISTER:
        return Unsupported(
            f"{kind} mode {name} works on an event flag; only semaphores are modelled",
            rule="isa.EVENTS",
            where=where,
            values=values,
            source="isa-words 2.8, 2.9",
        )
    meaning = f"{name} takes its operand from an engine register" if name else "has no meaning in any source"
    return Unspecified(
        f"{kind} mode {mode:#x} {meaning}", rule="isa.EVENTS", where=where, values=values, source="isa-words 2.8, 2.9"
    )

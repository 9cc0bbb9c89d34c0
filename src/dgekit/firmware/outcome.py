"""What the firmware hands back for one word."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from dgekit.cce.work import Work
from dgekit.core.errors import Issue
from dgekit.firmware.values import Backend, Plan, Program, ShapePair
from dgekit.transfers.transfer import Update, Wait

Status = Literal["done", "skipped", "refused"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """One word through the firmware: how it ended, and every value on the way that was reached.

    `done`: `work` is to be moved (nothing left of it when every row was skipped). `skipped`: a bound failed, nothing
    moves and no semaphore is bumped. `refused`: no backend, an illegal word, or a rule of the run; `fatal` marks the
    illegal word, after which the sequencer stops. `notifications` are 16-byte records for the error queue;
    `packet_bytes` caps a packet of this word. `waits` and `updates` are those that a word of MAVERICK holds itself.
    """

    status: Status
    pair: ShapePair | None = None
    plan: Plan | None = None
    backend: Backend = Backend.NONE
    program: Program = field(default_factory=Program)
    work: tuple[Work, ...] = ()
    notifications: tuple[bytes, ...] = ()
    issues: tuple[Issue, ...] = ()
    packet_bytes: int = 65536
    fatal: bool = False
    waits: tuple[Wait, ...] = ()
    updates: tuple[Update, ...] = ()

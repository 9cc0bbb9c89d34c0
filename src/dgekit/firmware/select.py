"""Stage 4, select: the sw flag and the availability table pick who builds the descriptors (pipeline 4.2, D14, D16)."""

from __future__ import annotations

from dgekit.core.choices import Choices
from dgekit.core.events import EventLog
from dgekit.core.state import Availability
from dgekit.firmware.values import Backend, Kind, ShapePair

_DIRECT_KINDS = frozenset({Kind.DIRECT2D, Kind.TRANSPOSE})
_LINES = {Backend.POOL: "select.pool", Backend.RTL: "select.rtl", Backend.NONE: "select.none", Backend.SOFTWARE: ""}


def select(pair: ShapePair, availability: Availability, choices: Choices, events: EventLog) -> Backend:
    """The backend of a word, with its line; software is picked without one, NONE means that nothing is done."""
    candidates = _candidates(availability, choices.text("select"))
    guard = choices.flag("capability_guard")
    backend = next((b for b in candidates if not guard or takes(b, pair)), Backend.NONE)
    table = {"pool": availability.pool, "rtl": availability.rtl, "sw": availability.sw}
    events.emit("select", "select", _LINES[backend], backend=backend.value, table=table, guard=guard)
    return backend


def takes(backend: Backend, pair: ShapePair) -> bool:
    """Whether a backend takes the word: Pool direct kinds, RTL those without cast or compute, software all (D16)."""
    if backend is Backend.SOFTWARE:
        return True
    if backend is Backend.POOL:
        return pair.kind in _DIRECT_KINDS
    return pair.kind in _DIRECT_KINDS and not pair.is_cast and not pair.compute_op


def _candidates(availability: Availability, order: str) -> tuple[Backend, ...]:
    """The available backends in the order they are tried."""
    pool = (Backend.POOL,) if availability.pool else ()
    rtl = (Backend.RTL,) if availability.rtl else ()
    software = (Backend.SOFTWARE,) if availability.sw else ()
    match order:
        case "two_tier":
            return software or pool + rtl
        case "chained":
            return pool + rtl + software
    return pool  # visible_only: word 0 of the table decides alone

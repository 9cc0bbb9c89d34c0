"""Reading packets off a queue pair: where they end, what they fill on the other leg, and which rule one breaks.

Pure functions over BD columns: the engine executes what this module finds legal, `Machine.validate` reports what it
does not. Sources: rings 1.6 to 1.8, 2.5, 2.6; decisions D12, D30, D32.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from dgekit.core.dtypes import DTYPES
from dgekit.core.errors import DgeError, EngineError, RingError, Unsupported
from dgekit.descriptors import bd
from dgekit.descriptors.batch import U32, PacketKind
from dgekit.descriptors.build import addresses_of, bytes_read, lengths_of
from dgekit.descriptors.doorbell import Leg
from dgekit.machine import causes
from dgekit.machine.ring import NO_KIND, Packets
from dgekit.patterns.runs import I64

SideOf = Callable[[I64], Packets]  # the side rows of the packets whose first BDs have these numbers

_OP_SHIFT, _OPTYPE_SHIFT = 23, 20
_ANY = None
_OPERATION = {  # (op, optype) that the first word1 must carry for a kind of packet
    PacketKind.COPY: (bd.SdmaOp.CME, bd.CmeOptype.COPY),
    PacketKind.SEMAPHORE: (bd.SdmaOp.CME, bd.CmeOptype.COPY),
    PacketKind.CAST: (bd.SdmaOp.CCE, bd.CceOptype.ADD),
    PacketKind.COMPUTE: (bd.SdmaOp.CCE, _ANY),
    PacketKind.TRANSPOSE: (bd.SdmaOp.DRE, bd.DreOptype.TRANSPOSE),
}
_OPTYPES: dict[int, type[enum.IntEnum]] = {
    bd.SdmaOp.CME: bd.CmeOptype,
    bd.SdmaOp.CCE: bd.CceOptype,
    bd.SdmaOp.DRE: bd.DreOptype,
}


@dataclass(frozen=True, slots=True)
class Limits:
    """What an engine accepts in one packet: bytes and M2S BDs as it is programmed, elements that it can compute."""

    packet_bytes: int
    packet_bds: int
    elements: int = bd.MAX_BD_BYTES


@dataclass(frozen=True, slots=True)
class Problem:
    """Why packet number `packet` is refused; `bd` counts in the columns of leg `unit`.

    `cause` is the error cause of the engine, -1 where the tool refuses and not the engine.
    """

    error: DgeError
    packet: int
    unit: Leg
    bd: int
    cause: int = causes.UNKNOWN


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """The legal packets at the head of a queue pair, in order, and what stopped the reading.

    `m2s_ends` and `s2m_ends` (k,) count the BDs of each leg up to and with packet i; `side` (k,) are the side rows
    with `kind` filled in; `m2s` and `s2m` their BDs. `src_starts` and `src_lengths` leave out the BDs that hold
    operands: run i is M2S BD `src_rows[i]`, and `src_ends` (k,) counts runs.
    `waiting` is "packet" (no LAST yet), "s2m" (too little posted
    there) or empty. A `problem` is about the packet after the last legal one.
    """

    m2s: U32
    s2m: U32
    src_starts: I64
    src_lengths: I64
    src_rows: I64
    src_ends: I64
    dst_starts: I64
    dst_lengths: I64
    m2s_ends: I64
    s2m_ends: I64
    side: Packets
    waiting: str = ""
    problem: Problem | None = None

    def __len__(self) -> int:
        return len(self.m2s_ends)


class _Reading:
    """How far the packets are legal: `stop` is the number of the first packet that is refused or held up."""

    __slots__ = ("problem", "stop", "waiting")

    def __init__(self, complete: int, rest: bool) -> None:
        self.stop = complete + rest
        self.waiting = "packet" if rest else ""
        self.problem: Problem | None = None

    def refuse(self, problem: Problem) -> None:
        """Stop before a packet that breaks a rule; of several rules the first one checked counts."""
        if problem.packet < self.stop:
            self.stop, self.waiting, self.problem = problem.packet, "", problem

    def mismatch(self, text: str, packet: int, unit: Leg, at: int, rule: str = "rings.1.8", **values: int) -> None:
        """Refuse a packet whose legs do not fit each other (M2S cause 0)."""
        error = _engine_error("M2S", causes.MISMATCH, text, rule, values)
        self.refuse(Problem(error, packet, unit, at, causes.MISMATCH))

    def hold(self, packet: int) -> None:
        """Stop before a packet that has no room on the S2M leg yet."""
        if packet < self.stop:
            self.stop, self.waiting, self.problem = packet, "s2m", None


def read_packets(
    m2s: U32, s2m: U32, side_of: SideOf, limits: Limits, ring_ids: tuple[U32, U32] | None = None
) -> Window:
    """What the BDs of a queue pair, (n, 4) and (m, 4) oldest first, make the engine do.

    `ring_ids` are the ids that the slots of each leg must carry (None: not checked). Nothing is raised: the first
    packet that breaks a rule is the window's `problem`.
    """
    src_lengths, dst_lengths = bytes_read(m2s), lengths_of(s2m)
    m2s_ends: I64 = np.flatnonzero(m2s[:, 0] & bd.LAST) + 1
    complete = len(m2s_ends)
    reading = _Reading(complete, rest=len(m2s) > (int(m2s_ends[-1]) if complete else 0))
    _check_framing(m2s, src_lengths, m2s_ends, limits, ring_ids[0] if ring_ids else None, reading)
    firsts = np.concatenate((np.zeros(1, np.int64), m2s_ends[:-1]))[:complete]
    side = _kinds(m2s, firsts, side_of(firsts), reading)
    produced = _produced(m2s, src_lengths, firsts, m2s_ends, side, limits, reading)
    s2m_ends = _filled(dst_lengths, produced[: reading.stop], reading)
    _check_tiles(src_lengths, dst_lengths, m2s_ends, s2m_ends, side, reading)
    _check_copies(dst_lengths, m2s, m2s_ends, s2m_ends, side, reading)
    if ring_ids:
        _check_s2m_ids(s2m, s2m_ends, ring_ids[1], reading)
    count = min(reading.stop, complete)
    m2s_used = int(m2s_ends[count - 1]) if count else 0
    s2m_used = int(s2m_ends[count - 1]) if count else 0
    src_rows: I64 = np.flatnonzero(src_lengths[:m2s_used])
    return Window(
        m2s[:m2s_used],
        s2m[:s2m_used],
        addresses_of(m2s[src_rows]),
        src_lengths[src_rows],
        src_rows,
        np.searchsorted(src_rows, m2s_ends[:count]),
        addresses_of(s2m[:s2m_used]),
        dst_lengths[:s2m_used],
        m2s_ends[:count],
        s2m_ends[:count],
        side[:count],
        reading.waiting,
        reading.problem,
    )


def _check_framing(m2s: U32, lengths: I64, ends: I64, limits: Limits, ring_ids: U32 | None, reading: _Reading) -> None:
    """FIRST and LAST, the caps, and the ring ids, over complete packets and an incomplete rest."""
    total = len(m2s)
    if not total:
        return
    starts = np.concatenate((np.zeros(1, np.int64), ends[ends < total]))
    counts = np.diff(starts, append=total)
    firsts = (m2s[:, 0] & bd.FIRST) != 0
    extra = np.add.reduceat(firsts, starts, dtype=np.int64) - firsts[starts]
    nbytes = np.add.reduceat(lengths, starts)
    rules = (
        (causes.TOO_MANY, counts > limits.packet_bds, "rings.2.5", f"{{0}} M2S BDs are over {limits.packet_bds}"),
        (causes.NO_FIRST, ~firsts[starts], "rings.1.8", "a packet begins without FIRST"),
        (causes.NO_LAST, extra > 0, "rings.1.8", "a packet has no LAST before the next FIRST"),
        (causes.TOO_LONG, nbytes > limits.packet_bytes, "rings.2.5", f"{{1}} bytes are over {limits.packet_bytes}"),
    )
    for cause, broken, rule, text in rules:
        for packet in np.flatnonzero(broken)[:1].tolist():
            values = {"bds": int(counts[packet]), "bytes": int(nbytes[packet])}
            error = _engine_error("M2S", cause, text.format(*values.values()), rule, values)
            reading.refuse(Problem(error, packet, "M2S", int(starts[packet]), cause))
    if ring_ids is not None:
        wrong = _wrong_ring_id(m2s, ring_ids)
        if wrong is not None:
            packet = int(np.searchsorted(starts, wrong, "right")) - 1
            reading.refuse(_ring_id_problem("M2S", packet, m2s, ring_ids, wrong))


def _kinds(m2s: U32, firsts: I64, side: Packets, reading: _Reading) -> Packets:
    """The side rows with the kind of plain copies filled in; refuses operations this tool does not execute."""
    rows = side.copy()
    word1 = m2s[firsts, 1]
    op, optype = word1 >> _OP_SHIFT & 7, word1 >> _OPTYPE_SHIFT & 7
    op = np.where((op == bd.SdmaOp.NONE) & (optype == 0), bd.SdmaOp.CME, op)  # treated as copy (rings 1.6, MODEL)
    plain = (op == bd.SdmaOp.CME) & (optype == bd.CmeOptype.COPY) & ((m2s[firsts, 0] & bd.MD) == 0)
    rows["kind"][plain & (rows["kind"] == NO_KIND)] = PacketKind.COPY
    known = np.zeros(len(rows), np.bool_)
    for kind, operation in _OPERATION.items():
        fits = (op == operation[0]) & ((optype == operation[1]) | (operation[1] is _ANY))
        known |= (rows["kind"] == kind) & fits
    for packet in np.flatnonzero(~known)[:1].tolist():
        error = _unsupported(int(op[packet]), int(optype[packet]), int(rows["kind"][packet]))
        reading.refuse(Problem(error, packet, "M2S", int(firsts[packet])))
    return rows


def _unsupported(op: int, optype: int, kind: int) -> DgeError:
    names = {int(o): o.name for o in bd.SdmaOp}
    optypes = {int(t): t.name for t in _OPTYPES.get(op, ())}
    what = f"op {op} ({names.get(op, 'unnamed')}) optype {optype} ({optypes.get(optype, 'unnamed')})"
    values = {"op": op, "optype": optype}
    if kind != NO_KIND:
        name = PacketKind(kind).name if kind in PacketKind.__members__.values() else str(kind)
        return RingError(
            f"a packet marked {name} carries {what}", rule="rings.1.4", values=values, source="rings 1.4, 1.6"
        )
    return Unsupported(
        f"this tool does not execute {what} from bare descriptors",
        rule="rings.1.6",
        values=values,
        fix="plain copies (op 2 optype 0, no metadata bit) run; compute and transposes need their side columns",
    )


def _produced(m2s: U32, lengths: I64, firsts: I64, ends: I64, side: Packets, limits: Limits, reading: _Reading) -> I64:
    """The bytes each packet writes; refuses casts and compute packets whose BDs do not fit their kind."""
    if not len(firsts):
        return np.zeros(0, np.int64)
    used = lengths[: int(ends[-1])]
    taken: I64 = np.add.reduceat(used, firsts)
    is_cast, is_compute = side["kind"] == PacketKind.CAST, side["kind"] == PacketKind.COMPUTE
    if not (is_cast.any() or is_compute.any()):
        return taken
    in_size, out_size = _sizes()[side["in_dtype"]], _sizes()[side["out_dtype"]]
    sources = np.where(is_compute, np.add.reduceat(used > 0, firsts, dtype=np.int64), 1)
    each = taken // np.maximum(sources, 1)
    whole = (in_size > 0) & (out_size > 0) & (each % np.maximum(in_size, 1) == 0)
    longest = np.maximum.reduceat(used, firsts)
    uneven = longest * sources != taken
    copies = _copies(m2s, ends, is_compute)
    elements = each // np.maximum(in_size, 1)
    rules = (
        (is_cast & (ends - firsts != 1), "a cast packet has one M2S BD", "rings.1.8"),
        (is_cast & ~whole, "a cast packet holds whole elements of both its types", "rings.1.8"),
        (is_compute & (sources == 0), "a compute packet has a source", "cce.4.10"),
        (is_compute & uneven, "the sources of a compute packet have one length", "cce.4.10"),
        (is_compute & ~whole, "a compute packet holds whole elements of both its types", "cce.4.10"),
        (
            is_compute & (elements > limits.elements),
            f"a compute packet has {limits.elements} elements at most",
            "cce.5.1",
        ),
        (copies == 0, "a replication goes to one destination at least", "cce.CHOICE-17"),
    )
    for broken, text, rule in rules:
        for packet in np.flatnonzero(broken)[:1].tolist():
            count = int(ends[packet] - firsts[packet])
            found = f"{text}, not {count} BDs of {taken[packet]} bytes in all"
            at = int(firsts[packet])
            reading.mismatch(found, packet, "M2S", at, rule, bds=count, bytes=int(taken[packet]))
    return np.where(is_cast | is_compute, elements * out_size * copies, taken)


def _copies(m2s: U32, ends: I64, is_compute: npt.NDArray[np.bool_]) -> I64:
    """How many destinations the result of each packet goes to: the count of a replication BD at its end (cce 3.7)."""
    word1 = m2s[ends - 1, 1] & ~np.uint32(bd.MORE)
    replicates = is_compute & (word1 >> _OP_SHIFT & 7 == bd.SdmaOp.DRE)
    replicates &= word1 >> _OPTYPE_SHIFT & 7 == bd.DreOptype.REPLICATION
    return np.where(replicates, word1 & bd.LENGTH, 1).astype(np.int64)


@cache
def _sizes() -> I64:
    """Element bytes by dtype code, 0 for a code that is no type of whole bytes; (256,)."""
    table = np.zeros(256, np.int64)
    for info in DTYPES:
        table[info.code] = info.size
    return table


def _filled(dst_lengths: I64, produced: I64, reading: _Reading) -> I64:
    """How many S2M BDs are used up after each packet; an S2M BD never spans two packets."""
    wanted = np.cumsum(produced)
    posted = np.cumsum(dst_lengths)
    index = np.searchsorted(posted, wanted, "left")
    short = np.flatnonzero(index == len(posted))
    reached = index[: int(short[0])] if len(short) else index
    wrong = np.flatnonzero(posted[reached] != wanted[: len(reached)])
    if len(wrong):
        packet = int(wrong[0])
        before = int(wanted[packet - 1]) if packet else 0
        end = int(posted[index[packet]])
        text = f"the packet writes {produced[packet]} bytes and an S2M BD ends after {end - before} of them"
        at = int(index[packet])
        reading.mismatch(text, packet, "S2M", at, bytes=int(produced[packet]), posted=end - before)
    elif len(short):
        reading.hold(int(short[0]))
    return index + 1


def _check_tiles(
    src_lengths: I64, dst_lengths: I64, m2s_ends: I64, s2m_ends: I64, side: Packets, reading: _Reading
) -> None:
    """A transpose packet holds whole tiles: `tile_rows` M2S BDs, each a row, and `tile_cols` S2M BDs, each a column."""
    count = min(reading.stop, len(s2m_ends), len(side))
    for packet in np.flatnonzero(side["kind"][:count] == PacketKind.TRANSPOSE).tolist():
        rows, cols = int(side["tile_rows"][packet]), int(side["tile_cols"][packet])
        first = int(m2s_ends[packet - 1]) if packet else 0
        taken = src_lengths[first : m2s_ends[packet]]
        filled = dst_lengths[int(s2m_ends[packet - 1]) if packet else 0 : s2m_ends[packet]]
        size = int(taken[0]) // cols if cols > 0 else 0
        whole = rows > 0 and size > 0 and len(taken) % rows == 0 and len(taken) * cols == len(filled) * rows
        if whole and (taken == size * cols).all() and (filled == size * rows).all():
            continue
        text = f"{len(taken)} row BDs and {len(filled)} column BDs are no tiles of {rows} x {cols} elements"
        reading.mismatch(text, packet, "M2S", first, "dec.D12", rows=len(taken), columns=len(filled))
        return


def _check_copies(dst_lengths: I64, m2s: U32, m2s_ends: I64, s2m_ends: I64, side: Packets, reading: _Reading) -> None:
    """Each destination of a compute packet is one S2M BD that takes the whole result."""
    count = min(reading.stop, len(s2m_ends), len(side))
    is_compute = side["kind"][:count] == PacketKind.COMPUTE
    if not is_compute.any():
        return
    firsts = np.concatenate((np.zeros(1, np.int64), s2m_ends[: count - 1]))
    used = dst_lengths[: s2m_ends[count - 1]]
    buffers = s2m_ends[:count] - firsts
    wanted = _copies(m2s, m2s_ends[:count], is_compute)
    uneven = np.maximum.reduceat(used, firsts) * buffers != np.add.reduceat(used, firsts)
    for packet in np.flatnonzero(is_compute & ((buffers != wanted) | uneven))[:1].tolist():
        text = f"{buffers[packet]} S2M BDs for {wanted[packet]} destinations of one size"
        values = {"buffers": int(buffers[packet]), "dests": int(wanted[packet])}
        reading.mismatch(text, packet, "S2M", int(firsts[packet]), "cce.4.10", **values)


def _check_s2m_ids(s2m: U32, s2m_ends: I64, ring_ids: U32, reading: _Reading) -> None:
    wrong = _wrong_ring_id(s2m, ring_ids)
    if wrong is not None:
        packet = int(np.searchsorted(s2m_ends, wrong, "right"))
        reading.refuse(_ring_id_problem("S2M", packet, s2m, ring_ids, wrong))


def _wrong_ring_id(bds: U32, ring_ids: U32) -> int | None:
    wrong = np.flatnonzero((bds[:, 0] & bd.RING_ID) >> bd.RING_ID_SHIFT != ring_ids)
    return int(wrong[0]) if len(wrong) else None


def _ring_id_problem(unit: Leg, packet: int, bds: U32, ring_ids: U32, at: int) -> Problem:
    cause = causes.RING_ID[unit]
    found = int((bds[at, 0] & bd.RING_ID) >> bd.RING_ID_SHIFT)
    wanted = int(ring_ids[at])
    error = _engine_error(
        unit,
        cause,
        f"a BD carries ring id {found} in a slot of ring id {wanted}",
        "rings.2.6",
        {"found": found, "expected": wanted},
    )
    return Problem(error, packet, unit, at, cause)


def _engine_error(unit: Leg, cause: int, text: str, rule: str, values: dict[str, int]) -> EngineError:
    name = causes.name(unit, cause)
    return EngineError(
        f"{text}: {unit} error cause {cause} ({name})",
        cause=cause,
        rule=rule,
        values={**values, "unit": unit, "cause": cause},
        source="rings 2.4",
    )

"""One resolved word through the whole DGE, stage after stage: the place to start reading.

decode -> (fast path) -> reshape -> select -> bounds -> dump and push -> what each channel moves. Every stage emits
its events; only values come back (`Outcome`), nothing is moved here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from dgekit.cce.expand import expand
from dgekit.cce.work import Work
from dgekit.core.choices import Choices
from dgekit.core.errors import IllegalWord, Issue, LoweringError, MemoryFault, Unspecified, Unsupported, has_errors
from dgekit.core.events import EventLog
from dgekit.core.generations import Generation
from dgekit.core.state import Availability, StateView
from dgekit.firmware import bounds, emit, fast, inline, notify, software, spray
from dgekit.firmware.context import channels, packet_bytes, queue_of
from dgekit.firmware.decode import KIND_OF, decode
from dgekit.firmware.expand import plan_work
from dgekit.firmware.outcome import Outcome
from dgekit.firmware.reshape import reshape
from dgekit.firmware.select import select
from dgekit.firmware.values import Backend, Plan, ShapePair
from dgekit.words.checks import check_word
from dgekit.words.enums import UNASSIGNED_OPCODES

__all__ = ["Outcome", "illegal_outcome", "run_word"]

_TOLD = ("error", "warning")


@dataclass(frozen=True, slots=True)
class _Station:
    """What every stage of one word may look at."""

    state: StateView
    availability: Availability
    generation: Generation
    choices: Choices
    events: EventLog
    is_out_queue: bool


def run_word(
    word: Any,
    state: StateView,
    availability: Availability,
    generation: Generation,
    choices: Choices,
    events: EventLog,
    *,
    sem_increment: int | None = None,
    is_out_queue: bool = False,
) -> Outcome:
    """Carry one word (0xb8, 0xbb, 0xbd, 0xf1; on MAVERICK 0xba, 0xb9) through the firmware.

    `sem_increment` is the pseudo word's, for words without the field (D5); `is_out_queue` makes the log show the
    WR leg (D18). An illegal word, missing state or a memory fault while decoding is a `refused` outcome; Unsupported
    (also for every other word) and Unspecified are raised.
    """
    station = _Station(state, availability, generation, choices, events, is_out_queue)
    if word.kind not in inline.KINDS and word.kind not in KIND_OF:
        return _no_dge_word(word, station)
    if word.kind not in inline.KINDS and not (generation.has_selector and generation.has_push_model):
        return _without_selector(generation)
    findings = [issue for issue in check_word(word, generation, choices) if issue.severity in _TOLD]
    if has_errors(findings):
        return _illegal(word, findings, station)
    try:
        if word.kind in inline.KINDS:
            outcome = inline.run(word, state, generation, choices, events)
        else:
            outcome = _run(word, sem_increment, station)
    except IllegalWord as error:
        return _illegal(word, [*findings, error.as_issue()], station)
    except (LoweringError, MemoryFault) as error:
        events.emit("decode", "refused", rule=error.rule)
        outcome = Outcome("refused", issues=(error.as_issue(),))
    return _with_issues(outcome, tuple(findings))


def _run(word: Any, sem_increment: int | None, at: _Station) -> Outcome:
    pair, remarks = decode(word, at.state, at.generation, at.choices, at.events, sem_increment)
    bounds.check_totals(pair, at.choices)
    dmas = channels(at.state, at.generation, pair.priority_class)
    if fast.takes(pair, at.availability, at.generation, at.choices):
        return _with_issues(_on_fast_path(pair, dmas, at), remarks)
    plan = reshape(pair, dmas, at.generation, at.choices, at.events)
    backend = select(pair, at.availability, at.choices, at.events)
    if backend is Backend.NONE:
        outcome = _no_backend(pair, plan, at)
    elif backend is Backend.SOFTWARE:
        outcome = _on_software(pair, plan, at)
    else:
        outcome = _on_hardware(pair, plan, backend, at)
    return _with_issues(outcome, remarks)


def _on_hardware(pair: ShapePair, plan: Plan, backend: Backend, at: _Station) -> Outcome:
    """Pool and RTL: bounds, dump and pushes in the order the choices give, then the work of every channel."""
    if pair.indices is not None:
        raise Unspecified(
            f"no source says what {backend.value} does with a {pair.kind.name} word",
            rule="dec.D16",
            values={"backend": backend.value, "kind": pair.kind.name},
            fix="leave capability_guard on, or use mode swdge",
        )
    effective = bounds.effective_addresses(pair, at.generation, at.choices)
    program = emit.build_program(plan, pair, backend, at.generation, at.choices)
    reached = Outcome("skipped", pair, plan, backend)
    if at.choices.text("q7_kind_line") == "always":
        spray.emit_dispatch(pair, at.events)
    before = at.choices.text("check_position") == "before_push"
    if before and (skipped := _bounds_failure(pair, reached, effective, at)):
        return skipped
    work = plan_work(plan, pair, at.generation, at.choices, queue_of(at.state))
    size = packet_bytes(at.state, pair.priority_class, at.choices)
    if issue := _count_failure(work, size, backend, at):
        return replace(reached, status="refused", issues=(issue,))
    leg = emit.shown_leg(pair, at.is_out_queue)
    dump_first = at.choices.text("dump_position") == "before_push"
    if dump_first:
        emit.emit_dump(pair, plan, backend, effective, at.choices, at.events)
    emit.emit_program(program, leg, at.choices, at.events)
    if not dump_first:
        emit.emit_dump(pair, plan, backend, effective, at.choices, at.events)
    if not before and (skipped := _bounds_failure(pair, replace(reached, program=program), effective, at)):
        return skipped
    return replace(reached, status="done", program=program, work=work, packet_bytes=size)


def _on_fast_path(pair: ShapePair, dmas: tuple[int, ...], at: _Station) -> Outcome:
    """MARIANA_PLUS, SBUF to SBUF: no analysis, no selection, tiles under credits (pipeline 3.8)."""
    plan = fast.plan(pair, dmas)
    reached = Outcome("skipped", pair, plan, Backend.FAST)
    effective = bounds.effective_addresses(pair, at.generation, at.choices)
    if skipped := _bounds_failure(pair, reached, effective, at):
        return skipped
    program = fast.push_tiles(pair, plan, emit.shown_leg(pair, at.is_out_queue), at.choices, at.events)
    work = plan_work(plan, pair, at.generation, at.choices, queue_of(at.state))
    size = packet_bytes(at.state, pair.priority_class, at.choices)
    return replace(reached, status="done", program=program, work=work, packet_bytes=size)


def _on_software(pair: ShapePair, plan: Plan, at: _Station) -> Outcome:
    """The Q7 backend; address bounds are still checked here, index bounds there."""
    reached = Outcome("skipped", pair, plan, Backend.SOFTWARE)
    effective = bounds.effective_addresses(pair, at.generation, at.choices)
    if skipped := _bounds_failure(pair, reached, effective, at):
        return skipped
    result = software.run(pair, plan, at.state, at.generation, at.choices, at.events, is_out_queue=at.is_out_queue)
    return replace(
        reached,
        status=result.status,
        program=result.program,
        work=result.work,
        notifications=result.notifications,
        issues=result.issues,
        packet_bytes=packet_bytes(at.state, pair.priority_class, at.choices),
    )


def _bounds_failure(pair: ShapePair, reached: Outcome, effective: tuple[int, int], at: _Station) -> Outcome | None:
    """The skipped outcome of a word whose address is over its limit, None when both legs pass."""
    failure = bounds.check_addresses(pair, effective, at.choices, at.events)
    if failure is None:
        return None
    records = notify.bound_failure(failure.shape.bound, at.state, at.generation, at.choices, at.events)
    return replace(reached, status="skipped", notifications=records, issues=(failure.as_issue(),))


def _count_failure(work: Iterable[Work], size: int, backend: Backend, at: _Station) -> Issue | None:
    """The carveout's finding; expansion is only needed for it when register 39 is set."""
    if backend is not Backend.POOL or not at.state.carveout:
        return None
    batch = expand(work, at.generation, size, at.choices, barrier_last=False)
    return bounds.check_count(batch, backend, at.state, at.choices, at.events)


def _no_backend(pair: ShapePair, plan: Plan, at: _Station) -> Outcome:
    """NO BACKEND: nothing is emitted, the engine goes on (pipeline 6.4)."""
    records = notify.no_backend(at.state, at.generation, at.choices, at.events)
    issue = Issue(
        "dec.D16",
        "error",
        f"no available backend takes this {pair.kind.name} word",
        "",
        {
            "pool": at.availability.pool,
            "rtl": at.availability.rtl,
            "sw": at.availability.sw,
            "cast": pair.is_cast,
            "compute_op": pair.compute_op,
        },
        "pipeline 4.2, dec.D14 to D16",
        "use mode swdge, or unknown for a direct word",
    )
    return Outcome("refused", pair, plan, notifications=records, issues=(issue,))


def _illegal(word: Any, findings: list[Issue], at: _Station) -> Outcome:
    return illegal_outcome(word, findings, at.state, at.generation, at.choices, at.events)


def illegal_outcome(
    word: Any, findings: list[Issue], state: StateView, generation: Generation, choices: Choices, events: EventLog
) -> Outcome:
    """The fatal path: one line, then the sequencer spins.

    An opcode that the generation does not have is a bad opcode, every other breach an illegal instruction (pipeline
    6.2, 6.6).
    """
    opcode = word.encode()[0]
    rules = [issue.rule for issue in findings if issue.severity == "error"]
    line = "seq.bad_opcode" if _is_nobodys(opcode, generation) else "seq.illegal"
    events.emit("decode", "illegal", line, (opcode,), rules=rules)
    records = notify.illegal_instruction(state, generation, choices)
    return Outcome("refused", issues=tuple(findings), notifications=records, fatal=True)


def _no_dge_word(word: Any, at: _Station) -> Outcome:
    """A word that the DGE does not take: no opcode of the generation at all, or the business of somebody else."""
    opcode = word.encode()[0]
    if _is_nobodys(opcode, at.generation):
        return _illegal(
            word, [issue for issue in check_word(word, at.generation, at.choices) if issue.severity in _TOLD], at
        )
    raise Unsupported(
        f"{word.kind} ({opcode:#x}) is no word of the DGE, and this tool runs no other processor",
        rule="pipeline.2.1",
        values={"opcode": opcode, "kind": word.kind},
        source="pipeline 2.1",
        fix="leave it out; pseudo words other than 0xd4 are for the loader",
    )


def _is_nobodys(opcode: int, generation: Generation) -> bool:
    """True for an opcode known to be none; one that the specification does not list may be a compute word's."""
    return opcode in UNASSIGNED_OPCODES or opcode in generation.opcodes_absent


def _without_selector(generation: Generation) -> Outcome:
    issue = Issue(
        "dec.D47",
        "error",
        f"{generation.name} has no backend selector: its words do not go through the DGE",
        "",
        {"generation": generation.name, "modes": list(generation.modes)},
        "dec.D47, pipeline 9",
        "use mode none, or another generation",
    )
    return Outcome("refused", issues=(issue,))


def _with_issues(outcome: Outcome, issues: tuple[Issue, ...]) -> Outcome:
    return replace(outcome, issues=(*issues, *outcome.issues))

"""A word between cores in a session: check it, read its leg, build and start the rings (pipeline 3.7, D77)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dgekit.core.errors import IllegalWord, has_errors
from dgekit.core.state import StateView
from dgekit.descriptors.batch import DescriptorBatch
from dgekit.firmware.outcome import Outcome
from dgekit.firmware.pipeline import illegal_outcome
from dgekit.firmware.rdma import StreamMismatch
from dgekit.firmware.remote import Leg, check_generation, read_generate
from dgekit.firmware.sb2sb import read_collective, tell_collective
from dgekit.firmware.values import Backend
from dgekit.machine.remote import RemoteCopier
from dgekit.words.checks import check_word
from dgekit.words.structs import ExtendedRdmaDescGen, ExtendedRdmaDescStart, S3D3Collective

if TYPE_CHECKING:
    from dgekit.machine.session import Session

REMOTE_KINDS = frozenset(word.kind for word in (ExtendedRdmaDescGen, ExtendedRdmaDescStart, S3D3Collective))
INCREMENT = 1  # every engine adds one (rings 7)


def run_remote(
    word: Any, state: StateView, session: Session, copier: RemoteCopier
) -> tuple[Outcome, DescriptorBatch | None]:
    """Carry out one word of REMOTE_KINDS on core `state.core`; the batch is what a generate has built.

    An illegal word, and a stream that start finds wrong, stop the sequencer (`fatal`). Raises a DgeError for the rest.
    """
    generation, choices, events = session.generation, session.choices, session.events
    findings = [issue for issue in check_word(word, generation, choices) if issue.severity in ("error", "warning")]
    if has_errors(findings):
        return illegal_outcome(word, findings, state, generation, choices, events), None
    done = Outcome("done", backend=Backend.SOFTWARE, issues=tuple(findings))
    batch = None
    try:
        if isinstance(word, ExtendedRdmaDescStart):
            check_generation(generation)
            copier.start(state.core, events)
        elif isinstance(word, S3D3Collective):
            leg = read_collective(word, state, generation, choices, session.chip_id)
            tell_collective(leg, word, generation, choices, events)
            batch = _generate(leg, session, copier)
            copier.start(state.core, events)
        else:
            batch = _generate(read_generate(word, state, generation, choices), session, copier)
    except IllegalWord as error:
        return illegal_outcome(word, [*findings, error.as_issue()], state, generation, choices, events), None
    except StreamMismatch as error:
        return Outcome("refused", backend=Backend.SOFTWARE, issues=(*findings, error.as_issue()), fatal=True), batch
    return done, batch


def _generate(leg: Leg, session: Session, copier: RemoteCopier) -> DescriptorBatch:
    return copier.generate(leg, lambda dma: session.increment_word(dma, INCREMENT, leg.core), session.events)

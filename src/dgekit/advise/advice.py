"""What to change, ranked by what the model says it gains: every candidate is predicted again, nothing is guessed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dgekit.advise.change import Change, Effect, effect_of
from dgekit.advise.cost import Band
from dgekit.advise.predict import Prediction
from dgekit.advise.proposal import Proposal
from dgekit.advise.remedies import proposals
from dgekit.advise.ring_bytes import RingBytes
from dgekit.core.choices import Choices
from dgekit.transfers.transfer import Workload

LEAST_NS = 1.0  # a gain below this is none
LEAST_SHARE = 0.005  # of the program's time
MOST = 12  # pieces of advice shown
TRIED = 60  # groups that are predicted again


@dataclass(frozen=True, slots=True)
class Advice:
    """One piece of advice: what to change about which transfers, and what the program then takes.

    `gain_ns` is the difference of the program's two estimates; `before` and `after` are their bands, `rings` and
    `rings_after` the ring memory of the transfers in question if the host expands them.
    """

    kind: str
    transfers: tuple[str, ...]
    message: str
    source: str
    before: Band
    after: Band
    rings: RingBytes
    rings_after: RingBytes
    change: Change

    @property
    def gain_ns(self) -> float:
        """Time saved, by the estimates."""
        return self.before.estimate - self.after.estimate

    def applied(self, workload: Workload) -> Workload:
        """The program with this change made."""
        return self.change.applied(workload)

    def to_json(self, rank: int) -> dict[str, object]:
        """The entry of `advice`."""
        return {
            "rank": rank,
            "kind": self.kind,
            "transfers": list(self.transfers),
            "message": self.message,
            "gain_ns": round(self.gain_ns, 1),
            "gain_percent": round(100 * self.gain_ns / self.before.estimate, 1),
            "time_ns": self.after.to_json(),
            "ring_bytes": {"before": self.rings.exact, "after": self.rings_after.exact},
            "source": self.source,
        }


def advice_for(prediction: Prediction, choices: Choices) -> tuple[Advice, ...]:
    """What to change, the greatest gain first; needs a prediction with all modes, and a time."""
    before = prediction.time_ns
    if before is None or not before.estimate:
        return ()
    found = []
    for proposal in _grouped(prediction):
        effect = effect_of(proposal.change, prediction, choices)
        if effect is not None:
            advice = _advice(proposal, effect, prediction, before)
            if advice.gain_ns >= max(LEAST_NS, LEAST_SHARE * before.estimate):
                found.append(advice)
    found.sort(key=lambda advice: -advice.gain_ns)
    return tuple(found[:MOST])


def _grouped(prediction: Prediction) -> Iterator[Proposal]:
    """Proposals of one kind and key as one, each item once and each new tensor under a name of its own."""
    groups: dict[tuple[object, ...], list[Proposal]] = {}
    for proposal in proposals(prediction):
        groups.setdefault((proposal.kind, *proposal.key), []).append(proposal)
    for group in list(groups.values())[:TRIED]:
        change = group[0].change
        for proposal in group[1:]:
            if not set(proposal.change.items) & set(change.items):
                change = change.joined(proposal.change)
        first = group[0]
        yield Proposal(first.kind, first.key, first.message, first.source, _once(change, prediction.workload))


def _once(change: Change, workload: Workload) -> Change:
    """The change without a tensor that is there already or named twice: transfers of a loop share their tile."""
    taken = {tensor.name for tensor in workload.tensors}
    tensors = {tensor.name: tensor for tensor in change.tensors if tensor.name not in taken}
    return Change(change.items, tuple(tensors.values()), change.merged)


def _advice(proposal: Proposal, effect: Effect, prediction: Prediction, before: Band) -> Advice:
    rows = {row.number: row for row in prediction.transfers}
    changed = [rows[number] for number in proposal.change.items]
    return Advice(
        proposal.kind,
        tuple(row.name for row in changed),
        proposal.message,
        proposal.source,
        before,
        effect.time_ns,
        sum((row.rings for row in changed), RingBytes()),
        effect.rings,
        proposal.change,
    )

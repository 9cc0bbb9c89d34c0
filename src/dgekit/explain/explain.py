"""From the lines of a log to its explanation: rebuilt, checked, with the cause of every failure."""

from __future__ import annotations

from collections.abc import Iterable

from dgekit.core.choices import Choices
from dgekit.core.generations import Generation
from dgekit.explain.cards import Explanation
from dgekit.explain.causes import explain_failures, explain_other_errors
from dgekit.explain.checks import check_card
from dgekit.explain.finding import Setting, finding
from dgekit.explain.rebuild import rebuild
from dgekit.logs.parse import ParsedLine


def explain(lines: Iterable[ParsedLine], generation: Generation | None, choices: Choices) -> Explanation:
    """The cards of a log with everything that does not add up.

    `generation` None: checks that need one are left out. `choices` say how open values are to be read (`dump_index`,
    `dump_bracket`, `step_unit`, `bound_address`).
    """
    found = rebuild(lines)
    at = Setting(generation, choices)
    for card in found.cards:
        card.issues += [*explain_failures(card, at), *check_card(card, at)]
        if card.kind is None:
            card.issues.append(
                finding("logs.kind", "warning", "no line tells the kind of this word", card,
                        source="D96", fix="log all stages (log_stages = all)")
            )  # fmt: skip
        elif card.kind_by_shape is not None and not card.lines.first("reshape.transpose"):
            card.issues.append(
                finding("logs.kind", "advice", f"the log has no analysis lines: {card.kind.name} by its counts", card,
                        source="D96", fix="log all stages (log_stages = all)")
            )  # fmt: skip
    found.issues += explain_other_errors(found)
    return found

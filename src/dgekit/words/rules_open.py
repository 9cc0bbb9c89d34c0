"""Predicates whose body no source gives (isa-words 8.23, decision D7): they report `unspecified`, never pass or fail.

One is reported where the header would consult it: the arms that a word does not take are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from dgekit.words.rules import Finding, Subject, rule
from dgekit.words.rules_address import address_bounds, index_bounds
from dgekit.words.rules_common import RESOLVED, SHAPED
from dgekit.words.rules_copy import is_compute_copy

_Consulted = Callable[[Subject], bool]


def _always(_: Subject) -> bool:
    return True


def _has_events(s: Subject) -> bool:
    return hasattr(s.word, "events")


def _has_enabled_bound(s: Subject) -> bool:
    bounds = [bound for _, bound, _ in address_bounds(s.word)] + [bound for _, bound in index_bounds(s.word)]
    return any(bound.bc_enabled for bound in bounds)


def _steps_matter(s: Subject) -> bool:
    return is_compute_copy(s) and s.choices.text("step_unit") == "bytes"


def _open(name: str, what: str, words: tuple[str, ...], consulted: _Consulted = _always, since: int = 2) -> None:
    """Declare one predicate as a rule that only says that it cannot be judged."""

    def find(s: Subject) -> Iterator[Finding]:
        if consulted(s):
            yield Finding(f"{name} cannot be judged: {what}")

    rule(f"isa.8.23.{name}", f"{what[0].upper()}{what[1:]}.", source="8.23", evidence="-", words=words, since=since)(
        find
    )


_open("is_valid_addr8", "no source gives the body beyond the list of markers", RESOLVED)
_open(
    "is_valid_register_read_with_marker",
    "no source gives the body beyond the range of register numbers",
    RESOLVED,
    _has_enabled_bound,
)
_open("is_valid_dge_compute_op", "no source says how element counts and addresses limit the op", SHAPED)
_open("are_valid_memcpy_dtypes", "no source lists the legal pairs of a cast or a compute copy", SHAPED, is_compute_copy)
_open("is_aligned_step", "no source gives the body; multiples of the dtype are the reading here", SHAPED, _steps_matter)
_open("cce_element_size", "no source gives the formula of the CCE element-size check", SHAPED, is_compute_copy)
_open("has_dma_indirect_valid_idx_start_addr", "no source gives the body", ("DMA_INDIRECT1D",))
_open("events_consistency", "no source says when a semaphore update is consistent", (), _has_events)


@rule(
    "isa.C15",
    "MAVERICK adds a tile index that must be zero; where it lives is unknown.",
    source="4.1",
    evidence="-",
    since=5,
)
def _tile_index(s: Subject) -> Iterator[Finding]:
    yield Finding("whether this word has MAVERICK's tile index, and where, no source says")

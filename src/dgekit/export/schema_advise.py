"""The schemas of what `dge advise` prints, with and without `--what-if`."""

from __future__ import annotations

from typing import get_args

from dgekit.advise.facts import PATHS
from dgekit.advise.predict import CHOSEN_MODES
from dgekit.core.generations import GENERATIONS
from dgekit.export.schema_parts import COUNT, TEXT, Schema, by_name, closed, head, issue, list_of, nullable
from dgekit.firmware.values import Backend
from dgekit.machine.results import Status
from dgekit.transfers.transfer import MODES

TIME = {"type": "number", "minimum": 0}
_GENERATION = {"enum": [generation.name for generation in GENERATIONS]}


def _band() -> Schema:
    return nullable(
        closed(
            {"low": TIME, "estimate": TIME, "high": TIME},
            doc="Nanoseconds, an estimate and its band; null where no public number exists.",
        )
    )


def _ring_bytes() -> Schema:
    return closed(
        {"estimate_a": COUNT, "estimate_b": COUNT, "exact": COUNT},
        doc="HBM for descriptors that the host expands, in bytes, by both published estimates and by expansion.",
    )


def _per_engine() -> Schema:
    return list_of(closed({"engine": COUNT, "m2s": COUNT, "s2m": COUNT, "bytes": COUNT}))


def _sizes() -> Schema:
    return {
        **list_of(closed({"bytes": COUNT, "descriptors": COUNT})),
        "description": "data descriptors by size: at least so many bytes and less than twice as many",
    }


def _totals() -> Schema:
    queue = closed({"name": TEXT, "largest_ring": COUNT, "limit": COUNT})
    return closed(
        {
            "transfers": COUNT,
            "descriptors": {**COUNT, "description": "of both legs"},
            "bytes": COUNT,
            "packets": nullable(COUNT),
            "small_descriptors": nullable(COUNT),
            "small_bytes": {**COUNT, "description": "below which a descriptor counts as small: a parameter"},
            "sizes": _sizes(),
            "per_engine": _per_engine(),
            "ring_bytes": _ring_bytes(),
            "largest_queue": nullable(queue),
            "time_ns": _band(),
        }
    )


def _transfer() -> Schema:
    return closed(
        {
            "name": TEXT,
            "where": TEXT,
            "mode": {"enum": list(MODES)},
            "backend": {"enum": [backend.value for backend in Backend]},
            "status": {"enum": list(get_args(Status))},
            "queue": TEXT,
            "descriptors": closed({"m2s": COUNT, "s2m": COUNT, "bytes": COUNT, "per_engine": _per_engine()}),
            "packets": COUNT,
            "small_descriptors": COUNT,
            "sizes": _sizes(),
            "ring_bytes": _ring_bytes(),
            "time_ns": {**_band(), "description": "from issue to completion, alone"},
            "interval_ns": {**_band(), "description": "back to back with others like it"},
            "data_ns": {**_band(), "description": "the busiest engine's data"},
            "bound_by": nullable({"enum": ["data", "issue", "fixed"]}),
            "issues": list_of(issue()),
        }
    )


def _advice() -> Schema:
    return closed(
        {
            "rank": COUNT,
            "kind": {"enum": ["mode", "alternate", "partitions", "coalesce", "transpose", "split", "merge"]},
            "transfers": list_of(TEXT),
            "message": TEXT,
            "gain_ns": {**TIME, "description": "what the program's estimate becomes shorter by"},
            "gain_percent": TIME,
            "time_ns": _band(),
            "ring_bytes": closed({"before": COUNT, "after": COUNT}),
            "source": TEXT,
        }
    )


def advise_schema() -> Schema:
    """The output of `dge advise --json`."""
    queue = {"name": TEXT, "transfers": COUNT, "descriptors": COUNT, "bytes": COUNT, "ring_bytes": _ring_bytes()}
    fact = {"name": TEXT, "value": TIME, "fast": TIME, "slow": TIME, "unit": TEXT, "about": TEXT, "evidence": TEXT}
    carveout = {"descriptors": COUNT, "largest_word": COUNT, "software_descriptors": COUNT}
    return {
        **head("advise", "dgekit advise"),
        **closed(
            {
                "schema": {"const": "dgekit.advise/1"},
                "source": TEXT,
                "generation": _GENERATION,
                "choices": by_name({"type": ["string", "integer", "boolean"]}),
                "notes": list_of(TEXT),
                "totals": _totals(),
                "carveout": nullable(closed(carveout, doc="Register 39, where the program sets it, in descriptors.")),
                "queues": list_of(closed({**queue, "largest_ring": COUNT, "limit": COUNT})),
                "transfers": {**list_of(_transfer()), "description": "empty where only totals were counted"},
                "advice": {**list_of(_advice()), "description": "the greatest gain first"},
                "facts": {
                    **list_of(closed(fact)),
                    "description": "the public numbers behind the times: issue of " + ", ".join(PATHS) + " paths, ...",
                },
                "issues": list_of(issue()),
            }
        ),
    }


def what_if_schema() -> Schema:
    """The output of `dge advise --what-if --json`."""
    case = closed(
        {
            "legal": {"type": "boolean"},
            "issues": list_of(issue()),
            "descriptors": COUNT,
            "bytes": COUNT,
            "ring_bytes": _ring_bytes(),
            "time_ns": _band(),
            "interval_ns": _band(),
        }
    )
    row = {"name": TEXT, "where": TEXT, "requested": {"enum": list(MODES)}}
    return {
        **head("what_if", "dgekit what-if"),
        **closed(
            {
                "schema": {"const": "dgekit.what_if/1"},
                "source": TEXT,
                "generation": _GENERATION,
                "transfers": list_of(closed({**row, "modes": closed(dict.fromkeys(CHOSEN_MODES, case))})),
            }
        ),
    }

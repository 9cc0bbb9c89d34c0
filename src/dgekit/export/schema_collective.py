"""The schema of what `dge collective --json` prints (decision D74)."""

from __future__ import annotations

from dgekit.collectives.request import ALGOS, KINDS, LEGS, MESHES
from dgekit.core.generations import GENERATIONS
from dgekit.export.schema_parts import COUNT, SHA256, TEXT, Schema, by_name, closed, head, issue, list_of, nullable


def collective_schema() -> Schema:
    """The output of `dge collective --json`."""
    counts = ("steps", "m2s", "s2m", "bytes", "packets")
    yes_no = {"type": "boolean"}
    edge = closed(
        {
            "rank": COUNT,
            "channel": COUNT,
            "pass": COUNT,
            "half": nullable({"enum": ["H0", "H1"]}),
            "step": TEXT,
            "semaphore": TEXT,
            "value": COUNT,
            "at_least": COUNT,
            "waits_for": list_of(COUNT),
        }
    )
    return {
        **head("collective", "dgekit collective"),
        **closed(
            {
                "schema": {"const": "dgekit.collective/1"},
                "collective": {"enum": list(KINDS)},
                "ranks": COUNT,
                "algo": {"enum": list(ALGOS)},
                "op": {**nullable({"enum": ["add", "min", "max"]}), "description": "null for an all-gather"},
                "dtype": TEXT,
                "accum": {**nullable(TEXT), "description": "accumulator type; null for an all-gather"},
                "elements": {**COUNT, "description": "of the full vector"},
                "identical": {
                    **nullable(yes_no),
                    "description": "all ranks hold the same bytes; null for a reduce-scatter and after a deadlock",
                },
                "verified": {**nullable(yes_no), "description": "equal to the reference; null without --verify"},
                "sha256": {**nullable(SHA256), "description": "of the bytes of rank 0's result"},
                "per_rank": {
                    **list_of(closed(dict.fromkeys(counts, COUNT))),
                    "description": "steps taken; BDs of either leg, bytes read and packets of the rank's own engine",
                },
                "semaphores": {
                    **list_of(by_name({"type": "integer"})),
                    "description": "final values of each rank, as name[channel]",
                },
                "generation": {"enum": [generation.name for generation in GENERATIONS]},
                "transport": {"enum": ["inprocess", "mpi"]},
                "leg": {"enum": list(LEGS), "description": "how bytes reach another rank"},
                "legs": {**list_of(COUNT), "description": "RDMA legs of each rank's steps; 0 with plain copies"},
                "channels": COUNT,
                "passes": COUNT,
                "chunk_elements": {**COUNT, "description": "elements of a chunk of a whole pass"},
                "group": {**nullable(COUNT), "description": "ranks of a kangaring position or mesh group"},
                "mesh": {**nullable({"enum": list(MESHES)}), "description": "mesh subtype"},
                "credits": COUNT,
                "choices": by_name({"type": ["string", "integer", "boolean"]}),
                "issues": list_of(issue()),
                "deadlock": {**list_of(edge), "description": "the wait graph, only after a deadlock"},
            },
            optional=("deadlock",),
        ),
    }

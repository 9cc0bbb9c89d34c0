"""A run as one HTML file that needs no network: a table of transfers, then the walk of each."""

from __future__ import annotations

from html import escape

from dgekit.descriptors.summary import summary
from dgekit.export.walk import walk_lines
from dgekit.machine.results import RunResult, TransferResult

_STYLE = (
    "body{font:14px sans-serif;margin:2em;max-width:90em}pre{background:#f4f4f4;padding:1em;overflow-x:auto}"
    "table{border-collapse:collapse}td,th{border:1px solid #bbb;padding:.3em .6em;text-align:left}"
    ".refused,.skipped{color:#b00}"
)
_HEADS = ("transfer", "kind", "backend", "status", "bytes", "M2S", "S2M", "engines", "issues")


def run_to_html(run: RunResult) -> str:
    """The report; every text of the program is escaped."""
    head = "".join(f"<th>{name}</th>" for name in _HEADS)
    rows = "".join(_row(result) for result in run.transfers)
    walk = escape("\n".join(walk_lines(run)))
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>dge run</title>'
        f"<style>{_STYLE}</style></head>"
        f"<body><h1>dge run on {escape(run.generation.name)}</h1><table><tr>{head}</tr>{rows}</table>"
        f"<h2>Walk</h2><pre>{walk}</pre></body></html>\n"
    )


def _row(result: TransferResult) -> str:
    counts = summary(result.descriptors)
    cells = (
        result.name,
        result.kind,
        result.backend.value,
        result.status,
        counts["bytes"],
        counts["m2s"],
        counts["s2m"],
        len(counts["per_engine"]),
        "; ".join(str(issue) for issue in result.issues),
    )
    return f'<tr class="{result.status}">' + "".join(f"<td>{escape(str(cell))}</td>" for cell in cells) + "</tr>"

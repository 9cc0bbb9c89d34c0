"""`dge advise`: what a program will ask of the DMA system, and what to change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dgekit.cli.inputs import read_program
from dgekit.cli.options import (
    chosen_generation,
    common,
    overrides_from,
    print_issues,
    print_json,
    program_options,
)
from dgekit.core.errors import UsageError

if TYPE_CHECKING:
    from dgekit.advise.report import Report
    from dgekit.core.errors import Issue


@click.command("advise")
@click.argument("program")
@program_options
@click.option("--what-if", "what_if", is_flag=True, help="Every transfer in every mode side by side.")
@click.option("--csv", "as_csv", is_flag=True, help="With --what-if: comma-separated, one row a transfer and mode.")
@common
def command(
    program: str,
    form: str,
    subgraph: str,
    what_if: bool,
    as_csv: bool,
    gen: str | None,
    sets: tuple[str, ...],
    as_json: bool,
) -> int:
    """Predict PROGRAM (a transfer file, a NEFF, FILE.py:FUNCTION, or words; - for standard input) before it runs.

    Descriptors, bytes and queues; ring memory by both published estimates and by exact expansion; an estimate of the
    time with its band, from public numbers; and what to change, each with the time that the same model says it saves.
    Nothing is moved. Exit 1 when a transfer is refused or a limit is broken.

    \b
    Examples:
      dge advise examples/wait_chain.toml
      dge advise examples/wait_chain.toml --what-if --csv
      dge advise examples/gradient.neff --json
      dge advise kernel.py:load --arg a=a.npy --gen trn3
    """
    if as_csv and (as_json or not what_if):
        raise UsageError("--csv goes with --what-if, and without --json", rule="cli.advise")
    report = _report(program, form, subgraph, gen, sets, with_advice=not what_if)
    if what_if:
        return _show_what_if(report, as_csv=as_csv, as_json=as_json)
    from dgekit.export.advise_report import report_lines, report_to_json

    if as_json:
        print_json(report_to_json(report))
    else:
        for line in report_lines(report):
            click.echo(line)
        print_issues(_issues(report))
    return 0 if report.ok else 1


def _report(
    program: str, form: str, subgraph: str, gen: str | None, sets: tuple[str, ...], *, with_advice: bool
) -> Report:
    """The report; a NEFF is not read whole."""
    from dgekit.advise.report import advise, is_neff
    from dgekit.cli.progress import progress
    from dgekit.frontends.detect import AUTO

    chip, choices = chosen_generation(gen), overrides_from(sets)
    path = Path(program)
    if program == "-" or form not in (AUTO, "neff") or not is_neff(path):
        workload = read_program(program, form, chip, choices, subgraph=subgraph)
        return advise(workload, choices=choices, with_advice=with_advice)
    with progress() as show:
        return advise(path, generation=chip, choices=choices, subgraph=subgraph, with_advice=with_advice, progress=show)


def _issues(report: Report) -> list[Issue]:
    rows = report.prediction.transfers if report.prediction is not None else ()
    return [*report.issues, *(issue for row in rows for issue in row.issues)]


def _show_what_if(report: Report, *, as_csv: bool, as_json: bool) -> int:
    from dgekit.advise.whatif import COLUMNS, table, what_if
    from dgekit.export.advise_report import what_if_lines, what_if_to_json

    if report.prediction is None:
        raise UsageError(
            f"no table: {report.notes[0]}",
            rule="cli.advise",
            fix="name a subgraph, or look at the totals without --what-if",
        )
    rows = what_if(report.prediction)
    if as_json:
        print_json(what_if_to_json(rows, report.generation, report.source))
    elif as_csv:
        _print_csv(COLUMNS, table(rows))
    else:
        for line in what_if_lines(table(rows)):
            click.echo(line)
    return 0 if report.ok else 1


def _print_csv(names: tuple[str, ...], rows: Iterable[Mapping[str, object]]) -> None:
    import csv
    import sys

    writer = csv.DictWriter(sys.stdout, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)

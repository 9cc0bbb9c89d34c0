"""`dge check`: a program against the rules of every mode, and its words, or bare words, against theirs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from dgekit.cli.inputs import read_input_or_hex, read_program
from dgekit.cli.options import (
    chosen_generation,
    common,
    exit_code,
    generation_or_default,
    kernel_options,
    overrides_from,
    print_issues,
    print_json,
    program_options,
)
from dgekit.core.choices import Choices
from dgekit.core.errors import Issue
from dgekit.core.generations import Generation

if TYPE_CHECKING:
    from dgekit.transfers.transfer import Workload


@click.command("check")
@click.argument("source", default="-")
@program_options
@click.option("--all", "show_all", is_flag=True, help="Also list predicates whose body no source gives.")
@common
def command(
    source: str, form: str, subgraph: str, show_all: bool, gen: str | None, sets: tuple[str, ...], as_json: bool
) -> int:
    """Judge a program (TOML, NEFF, FILE.py:FUNCTION) in every mode, or check the words in SOURCE; exit 1 on an error.

    For a program: a table of its transfers and the modes none, swdge and hwdge, each legal or named with the rules it
    breaks, then what is wrong in the mode asked for, with both numbers and the fix; what lowering and the words say;
    and pairs of transfers that touch the same bytes without an order. A rule's id goes to dge spec. Nothing is moved.
    --gen chooses the generation, --nki-version the NKI whose rules count. Exit 1 when a mode asked for is illegal or
    a finding is an error.

    \b
    Examples:
      dge check examples/wait_chain.toml
      dge check kernel.py:gather --arg a=a.npy --nki-version 0.5.0
      dge encode DMA_DIRECT2D semaphore=10 | dge check --gen trn3 --json
    """
    from dgekit.frontends.detect import AUTO, WORD_KINDS, detect

    data, name = read_input_or_hex(source)
    kind = detect(data, name) if form == AUTO else form
    if kind in WORD_KINDS and not subgraph:
        return _check_words(data, form, name, generation_or_default(gen), overrides_from(sets), show_all, as_json)
    workload = read_program(source, form, chosen_generation(gen), overrides_from(sets), data=data, subgraph=subgraph)
    return _check_program(workload, show_all, as_json)


def _check_words(
    data: bytes,
    form: str,
    name: str,
    generation: Generation,
    choices: dict[str, str],
    show_all: bool,
    as_json: bool,
) -> int:
    from dgekit.export.check_report import told, words_to_json
    from dgekit.frontends.detect import read_words_input
    from dgekit.words.checks import check_stream
    from dgekit.words.stream import split_stream

    stream = split_stream(read_words_input(data, form, name))
    issues = check_stream(stream, generation, Choices(choices))
    shown = told(issues, everything=show_all)
    if as_json:
        print_json(words_to_json(shown, generation))
    else:
        print_issues(shown)
        _print_sum(f"{len(stream.items)} words", issues, shown)
    return exit_code(issues)


def _check_program(workload: Workload, show_all: bool, as_json: bool) -> int:
    from dgekit.advise.verdict import report
    from dgekit.export.check_report import check_to_json, collapsed, reason_lines, table_lines, told

    found = report(workload, nki_version=kernel_options()["nki_version"])
    issues = list(found.all_issues)
    if as_json:
        print_json(check_to_json(found, everything=show_all))
    else:
        shown = told(issues, everything=show_all)
        for line in (*table_lines(found), *reason_lines(found)):
            click.echo(line)
        print_issues(collapsed(shown))
        _print_sum(f"{len(found.verdicts)} transfers", issues, shown)
    return 0 if found.ok else 1


def _print_sum(counted: str, issues: Sequence[Issue], shown: Sequence[Issue]) -> None:
    errors = sum(issue.severity == "error" for issue in issues)
    hidden = len(issues) - len(shown)
    more = f" ({hidden} predicates that no source gives are left out; --all lists them)" if hidden else ""
    click.echo(f"{counted}: {errors} errors, {len(shown) - errors} other findings{more}")

"""`dge check`: words, or every word of a program, against the rules."""

from __future__ import annotations

import click

from dgekit.cli.inputs import read_input_or_hex, read_program
from dgekit.cli.options import (
    chosen_generation,
    common,
    exit_code,
    generation_or_default,
    overrides_from,
    print_issues,
    print_json,
    program_options,
)
from dgekit.core.choices import Choices


@click.command("check")
@click.argument("source", default="-")
@program_options
@click.option("--all", "show_all", is_flag=True, help="Also list predicates whose body no source gives.")
@common
def command(
    source: str, form: str, subgraph: str, show_all: bool, gen: str | None, sets: tuple[str, ...], as_json: bool
) -> int:
    """Check the words in SOURCE, or a program (TOML, NEFF) by the words it becomes; exit 1 on an error.

    A finding names its rule (dge spec explains those of words), the place, both numbers and the fix. Nothing
    is moved. --gen chooses the generation whose rules count.

    \b
    Examples:
      dge check examples/seed_transpose.toml
      dge encode DMA_DIRECT2D semaphore=10 | dge check --gen trn3 --json
    """
    from dgekit.frontends.detect import AUTO, WORD_KINDS, detect, read_words_input
    from dgekit.words.checks import check_stream
    from dgekit.words.stream import split_stream

    data, name = read_input_or_hex(source)
    choices = overrides_from(sets)
    kind = detect(data, name) if form == AUTO else form
    if kind in WORD_KINDS and not subgraph:
        stream = split_stream(read_words_input(data, form, name))
        issues = check_stream(stream, generation_or_default(gen), Choices(choices))
        counted = f"{len(stream.items)} words"
    else:
        from dgekit.machine.checking import check_workload

        workload = read_program(source, form, chosen_generation(gen), choices, data=data, subgraph=subgraph)
        issues = check_workload(workload)
        counted = f"{len(workload.items)} transfers"
    shown = [issue for issue in issues if show_all or issue.severity != "unspecified"]
    if as_json:
        print_json({"schema": "dgekit.check/1", "issues": [issue.to_json() for issue in shown]})
    else:
        print_issues(shown)
        errors = sum(issue.severity == "error" for issue in issues)
        hidden = len(issues) - len(shown)
        more = f" ({hidden} predicates that no source gives are left out; --all lists them)" if hidden else ""
        click.echo(f"{counted}: {errors} errors, {len(shown) - errors} other findings{more}")
    return exit_code(issues)

"""`dge lower`: a program at one stage."""

from __future__ import annotations

import click

from dgekit.cli.inputs import read_program
from dgekit.cli.options import chosen_generation, common, overrides_from, print_issues, print_json, program_options


@click.command("lower")
@click.argument("program")
@click.option("--stage", default="word", help="pseudo, word, shape, plan, program or descriptors (word).")
@program_options
@common
def command(
    program: str, stage: str, form: str, subgraph: str, gen: str | None, sets: tuple[str, ...], as_json: bool
) -> int:
    """Lower PROGRAM and print one stage of every transfer.

    \b
    pseudo       the words the compiler would write
    word         the words the loader makes of them
    shape        what the firmware's decode extracts
    plan         kind, partitions, and what each DMA channel takes
    program      GENERATE, DIMPUSH and REGWRITE
    descriptors  the 16-byte descriptors of both legs, as the rings hold them

    The program runs on a simulated device to get there, because indices and waits are only known then.

    \b
    Examples:
      dge lower examples/seed_copy.toml --stage program
      dge lower examples/gradient.neff --stage descriptors --json
    """
    from dgekit.export.stages import stage_lines, stage_named, stage_to_json
    from dgekit.machine.session import run_workload

    wanted = stage_named(stage)
    workload = read_program(program, form, chosen_generation(gen), overrides_from(sets), subgraph=subgraph)
    result, _ = run_workload(workload)
    if as_json:
        print_json(stage_to_json(result, wanted))
    else:
        for line in stage_lines(result, wanted):
            click.echo(line)
        print_issues(result.issues)
    return 0 if result.ok else 1

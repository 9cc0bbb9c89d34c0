"""`dge neff`: what is inside a NEFF."""

from __future__ import annotations

import click

from dgekit.cli.inputs import read_input
from dgekit.cli.options import common, exit_code, print_issues, print_json, whole_number


@click.group("neff")
def command() -> None:
    """Look into a NEFF file. To run one: dge run FILE.neff.

    \b
    Example:
      dge neff info examples/gradient.neff
    """


@command.command("info")
@click.argument("source", metavar="FILE")
@click.option("--supported", metavar="MASK", help="Feature bits the loader knows (0x80000000000000ff).")
@common
def info(source: str, supported: str | None, gen: str | None, sets: tuple[str, ...], as_json: bool) -> int:
    """Show header, feature bits, members, subgraphs, queues, variables and dma lists; exit 1 on an error.

    Nothing is unpacked to disk. Feature bits are judged by both published masks; --supported decides the exit.

    \b
    Examples:
      dge neff info examples/gradient.neff
      dge neff info file.neff --json --supported 0x1ff
    """
    from dgekit.export.neff_info import neff_lines, neff_to_json
    from dgekit.frontends.neff.header import SUPPORTED_FEATURES
    from dgekit.frontends.neff.read import read_neff

    mask = SUPPORTED_FEATURES if supported is None else whole_number("--supported", supported, bits=64)
    data, name = read_input(source)
    neff = read_neff(data, name=name, supported=mask)
    if as_json:
        print_json(neff_to_json(neff))
    else:
        for line in neff_lines(neff):
            click.echo(line)
        print_issues(neff.issues)
    return exit_code(neff.issues)

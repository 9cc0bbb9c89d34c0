"""`dge cce decode`: 16-byte BDs to kinds and fields."""

from __future__ import annotations

import click

from dgekit.cli.inputs import read_input_or_hex
from dgekit.cli.options import common, exit_code, overrides_from, print_issues, print_json
from dgekit.core.choices import Choices
from dgekit.core.errors import InputError


@click.command("decode")
@click.argument("source", default="-")
@click.option("--format", "form", default="auto", help="auto, hex, bin or jsonl.")
@click.option(
    "--leg",
    type=click.Choice(["auto", "m2s", "s2m"]),
    default="auto",
    help="Read side (m2s), write side (s2m), or tell them apart by their bits.",
)
@common
def command(source: str, form: str, leg: str, gen: str | None, sets: tuple[str, ...], as_json: bool) -> int:
    """Decode the BDs in SOURCE (a file, - for standard input, or the hex itself); exit 1 on an error.

    Every 16 bytes have a kind: a source (add, fma, max, min, gce), an operand (fma_parameter, minmax_constant, seed,
    gce_parameter), a stage (ext, replication), a plain copy, a write-side buffer, or raw.

    \b
    Examples:
      dge cce decode 0010800980600a020020001000200000
      dge cce encode packet.toml | dge cce decode --json | dge cce encode

    --json prints one object a BD: offset, leg, kind, fields, hex, issues.
    """
    from dgekit.cce.classify import LEGS, decode_bd
    from dgekit.cce.lint import bd_issues
    from dgekit.cce.text import bd_from_json, bd_line, bd_to_json
    from dgekit.descriptors.bd import BD_BYTES
    from dgekit.frontends.detect import read_records

    data, name = read_input_or_hex(source)
    data = read_records(data, bd_from_json, form, name, "BDs")
    chosen = next(one for one in LEGS if one == leg)
    choices = Choices(overrides_from(sets))
    found = []
    for offset in range(0, len(data) - len(data) % BD_BYTES, BD_BYTES):
        raw = data[offset : offset + BD_BYTES]
        issues = [issue.at(f"{offset:#x}") for issue in bd_issues(*decode_bd(raw, chosen, choices))]
        found += issues
        if as_json:
            print_json(bd_to_json(raw, offset, chosen, choices, issues), indent=None)
        else:
            click.echo(f"{offset:#06x}  {bd_line(raw, chosen, choices)}")
            print_issues(issues)
    if len(data) % BD_BYTES:
        raise InputError(
            f"{len(data) % BD_BYTES} bytes are left over after the last whole BD",
            rule="cce.stream",
            where=name,
            values={"bytes": len(data), "size": BD_BYTES},
        )
    return exit_code(found)

"""`dge spec`: what a word, field, enum or rule is, and how it is known."""

from __future__ import annotations

import click

from dgekit.cli.options import common, print_json


@click.command("spec")
@click.argument("name", required=False)
@common
def command(name: str | None, gen: str | None, sets: tuple[str, ...], as_json: bool) -> None:
    """Explain NAME: its table, bit diagram and evidence. Without a NAME, list what can be explained.

    \b
    Examples:
      dge spec DMA_DIRECT2D          a word: every field with offset, type, meaning, confidence
      dge spec 0xb8                  the same, by opcode
      dge spec src_elem_size         a field, in every word that has it
      dge spec DTYPE                 an enum, with generations
      dge spec isa.C7                a rule: condition, words, generations, severity, source
    """
    from dgekit.words.describe import describe, names_by_kind

    if name is None:
        groups = names_by_kind()
        if as_json:
            print_json({kind: list(members) for kind, members in groups.items()})
            return
        for kind, members in groups.items():
            click.echo(f"{kind}: {', '.join(members)}")
        return
    description = describe(name)
    if as_json:
        print_json(description.to_json())
        return
    for line in description.lines():
        click.echo(line)

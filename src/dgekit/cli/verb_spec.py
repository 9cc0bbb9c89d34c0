"""`dge spec`: what a word, field, enum or rule is, and how it is known."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import click

from dgekit.cli.options import common, print_json

if TYPE_CHECKING:
    from dgekit.words.description import Description


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
      dge spec isa.C7                a rule of words: condition, words, generations, severity, source
      dge spec nki.C5                a rule of NKI calls: modes, NKI versions, pages, fix
    """
    from dgekit.advise.describe import describe_rule
    from dgekit.advise.rulebook import ALL_RULES
    from dgekit.words.describe import describe, names_by_kind

    if name is None:
        known = names_by_kind()
        groups = {**known, "rule": tuple(dict.fromkeys((*known["rule"], *ALL_RULES)))}
        if as_json:
            print_json({kind: list(members) for kind, members in groups.items()})
            return
        for kind, members in groups.items():
            click.echo(f"{kind}: {', '.join(members)}")
        return
    description = describe_rule(name) or _described(name, describe, ALL_RULES)
    if as_json:
        print_json(description.to_json())
        return
    for line in description.lines():
        click.echo(line)


def _described(name: str, describe: Callable[[str], Description], rules: Iterable[str]) -> Description:
    """What the words' own table says; a wrong NKI rule is answered with the nearest right ones."""
    import difflib

    from dgekit.core.errors import UsageError

    if name.lower().startswith("nki."):
        near = difflib.get_close_matches(name, list(rules), 3, 0.5)
        fix = f"did you mean {', '.join(near)}?" if near else "dge spec lists all names"
        raise UsageError(f"nothing is named {name[:60]!r}", rule="spec.name", where=name[:60], fix=fix)
    return describe(name)

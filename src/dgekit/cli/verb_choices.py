"""`dge choices`: each switch, its values, its default and why it exists."""

from __future__ import annotations

import click

from dgekit.cli.options import common, overrides_from, print_json
from dgekit.core.choices import CHOICES, Choice, Choices, Value, choice_named


def _text(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def choice_to_json(choice: Choice, current: Value) -> dict[str, object]:
    """One switch as the JSON form prints it."""
    return {
        "name": choice.name,
        "default": choice.default,
        "value": current,
        "values": None if choice.is_number else list(choice.values),
        "question": choice.question,
        "why": choice.why,
        "source": choice.source,
    }


@click.command("choices")
@click.argument("name", required=False)
@common
def command(name: str | None, gen: str | None, sets: tuple[str, ...], as_json: bool) -> None:
    """List every modelling switch (or one NAME): what it decides, its values, the default and why.

    A switch stands for a question that no source settles. Set one with --set NAME=VALUE on any command, or under
    [choices] in a transfer file; every result lists the switches it depended on.

    \b
    Examples:
      dge choices step_unit
      dge run examples/seed_copy.toml --set log_stages=select --log -
    """
    current = Choices(overrides_from(sets))
    wanted = [choice_named(name)] if name else list(CHOICES.values())
    if as_json:
        print_json([choice_to_json(choice, current[choice.name]) for choice in wanted])
        return
    for choice in wanted:
        values = "a whole number" if choice.is_number else ", ".join(_text(value) for value in choice.values)
        click.echo(f"{choice.name} = {_text(current[choice.name])}")
        click.echo(f"    {choice.question}")
        click.echo(f"    values: {values} (default {_text(choice.default)})")
        click.echo(f"    why: {choice.why} [{choice.source}]")

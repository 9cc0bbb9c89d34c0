"""`dge schema`: the published JSON Schemas."""

from __future__ import annotations

import click

from dgekit.cli.options import common
from dgekit.core.errors import UsageError


@click.command("schema")
@click.argument("name", required=False)
@common
def command(name: str | None, gen: str | None, sets: tuple[str, ...], as_json: bool) -> None:
    """Print the JSON Schema NAME (program, run, decode, issue, ...); without a NAME, list them.

    \b
    Example:
      dge schema run > run.schema.json
    """
    from importlib import resources

    folder = resources.files("dgekit.export") / "schemas"
    names = sorted(entry.name.removesuffix(".json") for entry in folder.iterdir() if entry.name.endswith(".json"))
    if name is None:
        click.echo("\n".join(names))
        return
    if name not in names:
        raise UsageError(f"there is no schema {name!r}", rule="cli.schema", fix="one of " + ", ".join(names))
    click.echo((folder / f"{name}.json").read_text("utf-8").rstrip())

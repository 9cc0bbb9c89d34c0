"""`dge log`: firmware logs, read and explained. Each subcommand has a module of its own, imported when called."""

from __future__ import annotations

import importlib

import click

SUBCOMMANDS = {
    "parse": "Firmware lines to JSON lines, or back to columns for people.",
    "explain": "Rebuild the transfers of a log and say what does not add up.",
    "ring": "Read a binary dump of the device log ring, or of a notification queue.",
}


class _Group(click.Group):
    """A group whose commands live in modules `dgekit.cli.log_NAME`, imported when called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(SUBCOMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in SUBCOMMANDS:
            return None
        command: click.Command = importlib.import_module(f"dgekit.cli.log_{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(SUBCOMMANDS.items()))


@click.group("log", cls=_Group)
def command() -> None:
    """Read firmware logs: the S:, P<id>: and R: lines of the DGE, from a file, a pipe or a ring dump."""

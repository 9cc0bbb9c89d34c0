"""`dge cce`: in-transfer compute."""

from __future__ import annotations

import importlib

import click

COMMANDS: dict[str, str] = {
    "decode": "Decode 16-byte BDs to kinds and fields.",
    "encode": "Encode BDs from JSON lines, or packets from TOML.",
    "plan": "Show the packets and BDs of a reduction without running it.",
    "run": "Reduce arrays as compute packets do, bit for bit.",
}


class CceGroup(click.Group):
    """A group whose commands live in modules `dgekit.cli.cce_NAME`, imported when called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands, in the order people meet them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one command."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"dgekit.cli.cce_{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group("cce", cls=CceGroup)
def command() -> None:
    """In-transfer compute: the packets in which a DMA engine adds, scales, or takes the least or greatest of sources.

    \b
    Examples:
      dge cce plan --op add --dtype bfloat16 --elements 5000 --sources 3
      dge cce run --op add --dtype bfloat16 a.npy b.npy c.npy -o sum.npy
      dge cce encode packet.toml | dge cce decode
    """

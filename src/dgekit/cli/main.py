"""The `dge` command: global options, lazy verbs, exit codes.

A verb's module is imported only when that verb is called, so that `dge --help` stays near bare Python.
Exit codes: 0 clean, 1 findings or a failed transfer, 2 usage, 3 unreadable input, 4 unsupported or unspecified,
70 internal fault.
"""

from __future__ import annotations

import importlib
import io
import os
import sys

import click

from dgekit import __version__

VERBS: dict[str, str] = {
    "run": "Run a program (TOML or NEFF) through words, firmware, descriptors, rings and engines.",
    "decode": "Decode 64-byte words from hex, binary or a NEFF stream.",
    "encode": "Encode words from JSON lines, or from KIND field=value ...",
    "diff": "Compare two words field by field.",
    "check": "Check words or a program against the rules; exit 1 on an error.",
    "advise": "Predict descriptors, ring memory and time of a program; what to change.",
    "lower": "Show a program at one stage: pseudo, word, shape, plan, program, descriptors.",
    "spec": "Explain a word, field, enum or rule: table, bit diagram, evidence.",
    "choices": "List every modelling switch, its default and why.",
    "cce": "In-transfer compute: decode and encode its BDs, plan a reduction, run one.",
    "collective": "All-reduce, reduce-scatter, all-gather over ranks: ring, kangaring, mesh.",
    "neff": "NEFF files: info, dump, check, rings, extract, build, diff.",
    "image": "Look into firmware images: list, carve, strings, census, anchors, identify, diff.",
    "log": "Read firmware logs: parse, explain, ring.",
    "schema": "Print the JSON Schema of the program file or of an output.",
}


class LazyGroup(click.Group):
    """A group whose commands live in modules `dgekit.cli.verb_NAME`, imported when called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The verbs, in the order people meet them."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return the verb's command."""
        if cmd_name not in VERBS:
            return None
        module = importlib.import_module(f"dgekit.cli.verb_{cmd_name}")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Like click's, but an unknown verb names the nearest one."""
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            import difflib

            near = difflib.get_close_matches(args[0], VERBS, 1)
            hint = f" Did you mean `dge {near[0]}`?" if near else ""
            raise click.UsageError(f"no command is named {args[0]!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the verbs without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))


@click.group(
    cls=LazyGroup,
    invoke_without_command=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="dge COMMAND --help teaches each command. `-` is standard input. --gen and --set work with every command. "
    "Exit codes: 0 clean, 1 findings or a failed transfer, 2 usage, 3 unreadable input, 4 unsupported or unspecified, "
    "70 internal fault (DGE_DEBUG=1 shows where).",
)
@click.version_option(__version__, "-V", "--version", prog_name="dge", message="%(prog)s %(version)s (numpy kernels)")
@click.option("--gen", "gen", metavar="NAME", help="Generation, for every command.")
@click.option("--set", "sets", multiple=True, metavar="CHOICE=VALUE", help="Set a modelling switch.")
@click.pass_context
def cli(ctx: click.Context, gen: str | None, sets: tuple[str, ...]) -> None:
    """The open workbench for the DMA stack of AWS Trainium."""
    from dgekit.cli.options import Globals

    ctx.obj = Globals(gen, sets)


def main(argv: list[str] | None = None) -> None:
    """Entry point: run the command, turn every error into one line and an exit code."""
    sys.exit(run_cli(sys.argv[1:] if argv is None else argv))


def run_cli(argv: list[str]) -> int:
    """Run `argv` and return the exit code; nothing but a fault of the tool itself prints a report."""
    from dgekit.core.errors import DgeError, one_line

    _write_any_text()
    try:
        outcome = cli.main(argv, prog_name="dge", standalone_mode=False)
    except DgeError as error:
        click.echo(f"dge: {error}", err=True)
        return error.exit_code
    except click.exceptions.Exit as done:
        return int(done.exit_code)
    except click.ClickException as error:
        error.show()
        return 3 if isinstance(error, click.FileError) else 2
    except click.Abort:
        return 130
    except SystemExit:  # click's answer to a reader that closed the pipe: nobody is left to tell
        return 0
    except OSError as problem:
        _drop_output()
        click.echo(f"dge: reading or writing failed: {problem.strerror or problem} [dge.io]", err=True)
        return 3
    except RecursionError:
        click.echo("dge: the input is nested too deeply [dge.input]", err=True)
        return 3
    except MemoryError:
        click.echo("dge: the input asks for more memory than there is [dge.memory]", err=True)
        return 3
    except Exception as fault:
        if os.environ.get("DGE_DEBUG"):
            raise
        told = one_line(f"{type(fault).__name__}: {fault}")
        click.echo(
            f"dge: internal fault: {told} [dge.internal] Fix: DGE_DEBUG=1 shows where; please report it", err=True
        )
        return 70
    return outcome if isinstance(outcome, int) else 0


def _write_any_text() -> None:
    """Names come from files: what the terminal's encoding lacks is written as an escape, never a fault."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _drop_output() -> None:
    """Point stdout at nothing: what is still in its buffer would fail again when the interpreter ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

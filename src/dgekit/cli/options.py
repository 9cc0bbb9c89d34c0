"""Options that every verb shares, and what they turn into."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import click

from dgekit.core.choices import Choices
from dgekit.core.errors import Issue, UsageError, has_errors
from dgekit.core.generations import DEFAULT, Generation, generation_named

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(slots=True)
class Globals:
    """What was given before the verb: the same options, merged with those after it."""

    gen: str | None = None
    sets: tuple[str, ...] = ()


def common(verb: F) -> F:
    """Add --gen, --set and --json to a verb; a wrong generation or switch is refused even where it changes nothing."""

    @functools.wraps(verb)
    def checked(*args: Any, gen: str | None, sets: tuple[str, ...], **others: Any) -> Any:
        chosen_generation(gen)
        overrides_from(sets)
        return verb(*args, gen=gen, sets=sets, **others)

    command = click.option("--json", "as_json", is_flag=True, help="Print machine output on stdout.")(cast(F, checked))
    command = click.option(
        "--set", "sets", multiple=True, metavar="CHOICE=VALUE", help="Set a modelling switch (dge choices lists them)."
    )(command)
    return click.option(
        "--gen", "gen", metavar="NAME", help="Generation: SUNDA, CAYMAN (trn2), MARIANA, MARIANA_PLUS, MAVERICK."
    )(command)


def chosen_generation(gen: str | None) -> Generation | None:
    """The generation of --gen (after or before the verb); None when nobody named one."""
    name = gen or _before_verb().gen
    return generation_named(name) if name else None


def generation_or_default(gen: str | None) -> Generation:
    """The generation of --gen, else the reference generation CAYMAN."""
    return chosen_generation(gen) or DEFAULT


def overrides_from(sets: Iterable[str]) -> dict[str, str]:
    """The switches of every --set, before and after the verb; raises UsageError for a form or name that is wrong."""
    found: dict[str, str] = {}
    for text in (*_before_verb().sets, *sets):
        name, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"--set {text!r} is not CHOICE=VALUE", rule="cli.set")
        found[name.strip()] = value.strip()
    Choices(found)  # names and values are checked here
    return found


def program_options(command: F) -> F:
    """Add --format, --subgraph and the options of a kernel (`kernel_options` reads them) to a verb."""
    command = click.option(
        "--nki-version", default="", expose_value=False, callback=_keep, metavar="VERSION",
        help="Rules of which NKI, for a script (0.6.0).",
    )(command)  # fmt: skip
    command = click.option(
        "--arg", multiple=True, expose_value=False, callback=_keep, metavar="NAME=VALUE",
        help="Argument of a script's function: FILE.npy, FILE.npy:DTYPE for its raw bits, or a number.",
    )(command)  # fmt: skip
    command = click.option(
        "--subgraph", default="", metavar="NAME", help="The subgraph of a NEFF that has several (dge neff info)."
    )(command)
    return click.option("--format", "form", default="auto", help="auto, toml, neff, py, jsonl, hex or bin.")(command)


def _keep(ctx: click.Context, option: click.Parameter, value: Any) -> None:
    """Keep an option that few inputs have for whoever reads the program."""
    ctx.meta[f"dgekit.{option.name}"] = value


def kernel_options() -> dict[str, Any]:
    """What --arg and --nki-version gave: `arguments` by name, and `nki_version`; raises UsageError."""
    from dgekit.frontends.nki.versions import DEFAULT_VERSION, version_named

    context = click.get_current_context(silent=True)
    meta = context.meta if context is not None else {}
    arguments: dict[str, Any] = {}
    for text in meta.get("dgekit.arg", ()):
        name, equals, value = text.partition("=")
        if not equals or not name or not value:
            raise UsageError(f"--arg {text!r} is not NAME=VALUE", rule="cli.pair")
        from dgekit.frontends.nki.arguments import argument_value

        arguments[name] = argument_value(value, f"--arg {name}")
    return {"arguments": arguments, "nki_version": version_named(meta.get("dgekit.nki_version") or DEFAULT_VERSION)}


def whole_number(option: str, text: str, *, bits: int) -> int:
    """An unsigned number of an option, in any base; raises UsageError."""
    try:
        value = int(text, 0)
    except ValueError:
        value = -1
    if not 0 <= value < 1 << bits:
        raise UsageError(f"{option} {text[:40]!r} is no whole number of at most {bits} bits", rule="cli.number")
    return value


def _before_verb() -> Globals:
    context = click.get_current_context(silent=True)
    while context is not None:
        if isinstance(context.obj, Globals):
            return context.obj
        context = context.parent
    return Globals()


def print_json(value: Any, *, indent: int | None = 2) -> None:
    """One JSON value on stdout."""
    import json

    click.echo(json.dumps(value, indent=indent))


def print_issues(issues: Iterable[Issue], *, err: bool = False) -> None:
    """Issues for people, one a line, the severity coloured on a terminal."""
    colours = {"error": "red", "warning": "yellow", "advice": "cyan", "unspecified": "magenta"}
    for issue in issues:
        text = str(issue)
        severity, rest = text.split(":", 1)
        stream = sys.stderr if err else sys.stdout
        if use_colour(stream):
            severity = click.style(severity, fg=colours[issue.severity])
        click.echo(f"{severity}:{rest}", err=err)


def use_colour(stream: Any) -> bool:
    """Colour only on a terminal, and never when NO_COLOR is set."""
    import os

    return bool(stream.isatty()) and "NO_COLOR" not in os.environ


def exit_code(issues: Iterable[Issue]) -> int:
    """1 when an issue is an error, else 0."""
    return 1 if has_errors(issues) else 0

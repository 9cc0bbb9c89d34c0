"""`dge log explain`: the transfers of a log, rebuilt and checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from dgekit.cli.inputs import open_stream, read_program
from dgekit.cli.options import chosen_generation, common, exit_code, overrides_from, print_json
from dgekit.core.choices import Choices
from dgekit.core.errors import UsageError

if TYPE_CHECKING:
    from dgekit.core.generations import Generation
    from dgekit.explain.beside import Difference
    from dgekit.explain.cards import Explanation


@click.command("explain")
@click.argument("source", default="-")
@click.option("--as", "form", type=click.Choice(["cards", "words"]), default="cards", help="cards (default) or words.")
@click.option("--program", metavar="FILE", help="Run FILE on the model and show where the log leaves it.")
@common
def command(source: str, form: str, program: str | None, gen: str | None, sets: tuple[str, ...], as_json: bool) -> int:
    """Rebuild the transfers in the log SOURCE, one card a word, and say what does not add up; exit 1 on an error.

    What can be derived again is: bytes on both sides, pushes against the backend, channels against the dump, bounds,
    descriptors against the ring, lines the generation does not have (--gen), permutations of transposes.

    \b
    --as words      the 64-byte words that would produce the lines, each field the log does not tell marked;
                    with --json in the form of dge decode, so that dge encode reads it
    --program FILE  the same program on the model, and the first line that differs

    \b
    Examples:
      dge run prog.toml --log prog.log; dge log explain prog.log
      dge log explain device.log --gen trn2 --as words --json | dge encode --format bin
      dge log explain device.log --program prog.toml
    """
    from dgekit.explain.explain import explain
    from dgekit.explain.show import explanation_lines, explanation_to_json
    from dgekit.logs.parse import parse_lines
    from dgekit.logs.source import batches

    if program is not None and form == "words":
        raise UsageError("--program and --as words are two questions", rule="cli.log_explain", fix="ask one at a time")
    generation, switches, model_log = chosen_generation(gen), overrides_from(sets), None
    if program is not None:
        generation, switches, model_log = _run_program(program, generation, switches)
    choices = Choices(switches)
    with open_stream(source) as stream:
        lines = (raw for batch in batches(stream) for raw in batch)
        found = explain(parse_lines(lines), generation, choices)
    if form == "words":
        return _print_words(found, choices, as_json)
    difference = _compare(found, model_log)
    if as_json:
        value = explanation_to_json(found, generation)
        if model_log is not None:
            value["first_difference"] = difference.to_json() if difference is not None else None
        print_json(value)
    else:
        for line in explanation_lines(found):
            click.echo(line)
        if model_log is not None:
            for line in difference.lines() if difference is not None else ["the log is the program's"]:
                click.echo(line)
    return 1 if difference is not None else exit_code(found.all_issues)


def _run_program(
    program: str, generation: Generation | None, switches: dict[str, str]
) -> tuple[Generation, dict[str, str], tuple[str, ...]]:
    """The generation and switches of a program, and the log that the model writes for it."""
    from dgekit.machine.session import run_workload

    workload = read_program(program, "auto", generation, switches)
    result, _ = run_workload(workload)
    return result.generation, {**workload.choices, **switches}, result.log


def _compare(found: Explanation, model_log: tuple[str, ...] | None) -> Difference | None:
    from dgekit.explain.beside import first_difference

    return first_difference(model_log, found.cards) if model_log is not None else None


def _print_words(found: Explanation, choices: Choices, as_json: bool) -> int:
    from dgekit.explain.words import rebuild_word
    from dgekit.words.text import format_word, word_to_json

    offset = 0
    for card in found.cards:
        rebuilt = rebuild_word(card, choices)
        if rebuilt is None:
            click.echo(f"word {card.number}, {card.status}: the log does not tell enough of it", err=True)
            continue
        if as_json:
            print_json(word_to_json(rebuilt.word, offset, rebuilt.issues()), indent=None)
        else:
            click.echo(f"word {card.number}, from line {card.lines[0].line}")
            click.echo(format_word(rebuilt.word, offset))
            click.echo(f"derived: {', '.join(sorted(rebuilt.derived)) or 'nothing'}")
            click.echo(f"not in the log: {', '.join(rebuilt.not_carried())}")
            click.echo()
        offset += len(rebuilt.word.encode())
    return exit_code(found.all_issues)

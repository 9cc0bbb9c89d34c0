"""`dge decode`: 64-byte words to fields."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from dgekit.cli.inputs import read_input_or_hex
from dgekit.cli.options import common, exit_code, generation_or_default, overrides_from, print_issues, print_json
from dgekit.core.choices import Choices
from dgekit.words.enums import WORD_SIZE

if TYPE_CHECKING:
    from dgekit.words.stream import Stream
    from dgekit.words.structs import Word


@click.command("decode")
@click.argument("source", default="-")
@click.option("--format", "form", default="auto", help="auto, hex, bin or jsonl.")
@click.option("--check/--no-check", default=False, help="Also check every word; exit 1 on an error.")
@common
def command(source: str, form: str, check: bool, gen: str | None, sets: tuple[str, ...], as_json: bool) -> int:
    """Decode the words in SOURCE (a file, - for standard input, or the hex itself).

    \b
    Examples:
      dge decode words.bin
      dge decode "b8 10 00 00 ..."          (the hex of a word as one argument)
      cat words.hex | dge decode --json | dge encode --format hex

    --json prints one object a word: offset, kind, opcode, fields, hex, issues.
    """
    from dgekit.frontends.detect import read_words_input
    from dgekit.words.stream import split_stream
    from dgekit.words.text import format_word, word_to_json

    data, name = read_input_or_hex(source)
    stream = split_stream(read_words_input(data, form, name))
    if check:
        from dgekit.words.checks import check_stream

        issues = check_stream(stream, generation_or_default(gen), Choices(overrides_from(sets)))
    else:
        issues = list(stream.issues)
    for offset, word in _words(stream):
        own = [issue for issue in issues if issue.where.split(" ")[0] == f"{offset:#x}"]
        if as_json:
            print_json(word_to_json(word, offset, own), indent=None)
        else:
            click.echo(format_word(word, offset))
            print_issues(own)
            click.echo()
    print_issues([issue for issue in issues if issue.rule == "isa.stream.partial"], err=True)
    return exit_code(issues)


def _words(stream: Stream) -> Iterator[tuple[int, Word]]:
    """Every word with its offset; an extension stands one slot after the word that owns it."""
    for offset, word, extension in stream.items:
        yield offset, word
        if extension is not None:
            yield offset + WORD_SIZE, extension

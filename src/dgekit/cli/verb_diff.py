"""`dge diff`: two words, field by field."""

from __future__ import annotations

import click

from dgekit.cli.inputs import read_input_or_hex
from dgekit.cli.options import common, print_json
from dgekit.core.errors import InputError


@click.command("diff")
@click.argument("left")
@click.argument("right")
@click.option("--format", "form", default="auto", help="auto, hex, bin or jsonl.")
@common
def command(left: str, right: str, form: str, gen: str | None, sets: tuple[str, ...], as_json: bool) -> int:
    """Compare two words (or streams of words) field by field; exit 1 when they differ.

    LEFT and RIGHT are files, - for standard input, or the hex itself.

    \b
    Examples:
      dge diff mine.bin theirs.bin
      dge encode DMA_DIRECT2D semaphore=10 | dge diff - theirs.hex --json
    """
    from dgekit.frontends.detect import read_words_input
    from dgekit.words.codec import decode_word
    from dgekit.words.enums import WORD_SIZE
    from dgekit.words.text import diff_words

    a, b = (read_words_input(*_pair(source, form)) for source in (left, right))
    if len(a) != len(b) or not a or len(a) % WORD_SIZE:
        raise InputError(
            f"{len(a)} bytes against {len(b)}: both sides must be the same number of whole words",
            rule="diff.size",
            values={"left": len(a), "right": len(b)},
        )
    differences = [
        {"offset": at, "path": path, "left": one, "right": other}
        for at in range(0, len(a), WORD_SIZE)
        for path, one, other in diff_words(decode_word(a[at : at + WORD_SIZE]), decode_word(b[at : at + WORD_SIZE]))
    ]
    if as_json:
        print_json(differences)
    for entry in differences if not as_json else ():
        click.echo(f"{entry['offset']:#06x}  {entry['path']}: {entry['left']} -> {entry['right']}")
    return 1 if differences else 0


def _pair(source: str, form: str) -> tuple[bytes, str, str]:
    data, name = read_input_or_hex(source)
    return data, form, name

"""`dge encode`: words from JSON lines or from assignments."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from dgekit.cli.inputs import read_input, write_output
from dgekit.cli.options import common, print_json
from dgekit.core.errors import InputError, UsageError
from dgekit.words.enums import WORD_SIZE

if TYPE_CHECKING:
    from dgekit.words.structs import Word


@click.command("encode")
@click.argument("source", default="-")
@click.argument("assignments", nargs=-1)
@click.option("--format", "form", type=click.Choice(["hex", "bin"]), default="hex", help="What to write (hex).")
@click.option("-o", "--output", default="-", help="Output file (standard output).")
@common
def command(
    source: str,
    assignments: tuple[str, ...],
    form: str,
    output: str,
    gen: str | None,
    sets: tuple[str, ...],
    as_json: bool,
) -> None:
    """Encode words from JSON lines in SOURCE (a file or -), or one word from KIND field=value ...

    \b
    Examples:
      dge decode words.bin --json | dge encode --format bin -o same.bin
      dge encode DMA_DIRECT2D semaphore=10 src_elem_size=4 src_num_elem=128,1 src_step_elem=4,1
      dge encode PSEUDO_DMA_DIRECT2D src_start_addr=var:0+0x10 dge_op=DMA_DIRECT2D

    Field paths are dotted (events.wait_mode, src_bound_reg.bc_reg); values are integers in any base, enum names or
    comma lists. Address fields take an integer, var:ID+OFFSET, reg:LO,HI or table:ENTRY+OFFSET.
    dge spec KIND shows the fields. Fields decide; the hex of a JSON line is ignored.
    """
    from dgekit.words.text import word_from_assignments, word_to_json

    if not assignments and (problem := _no_file_and_no_word(source)):
        raise problem
    if assignments or (source != "-" and not os.path.exists(source)):
        words = [word_from_assignments(source, assignments)]
    else:
        words = _words_of_lines(source)
    if as_json:
        for index, word in enumerate(words):
            print_json(word_to_json(word, WORD_SIZE * index), indent=None)
        return
    data = b"".join(word.encode() for word in words)
    if form == "hex":
        data = "".join(f"{data[at : at + WORD_SIZE].hex()}\n" for at in range(0, len(data), WORD_SIZE)).encode()
    write_output(output, data)


def _no_file_and_no_word(source: str) -> InputError | None:
    """The error for an argument that is neither, None for a file, standard input or the name of a word."""
    from dgekit.words.names import word_named

    if source == "-" or os.path.exists(source):
        return None
    try:
        word_named(source)
    except UsageError as problem:
        message = f"there is no file {source}, and no word of that name"
        return InputError(message, rule="input.file", where=source, fix=problem.fix)
    return None


def _words_of_lines(source: str) -> list[Word]:
    from dgekit.frontends.detect import read_words_input
    from dgekit.words.codec import decode_word

    data, name = read_input(source)
    packed = read_words_input(data, "jsonl", name)
    return [decode_word(packed[at : at + WORD_SIZE]) for at in range(0, len(packed), WORD_SIZE)]

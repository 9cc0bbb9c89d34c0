"""`dge cce encode`: BDs from JSON lines, or packets from TOML."""

from __future__ import annotations

import click

from dgekit.cli.inputs import read_input, write_output
from dgekit.cli.options import chosen_generation, common, overrides_from, print_json
from dgekit.core.choices import Choices
from dgekit.core.errors import InputError


@click.command("encode")
@click.argument("source", default="-")
@click.option("--format", "form", type=click.Choice(["hex", "bin"]), default="hex", help="What to write (hex).")
@click.option("-o", "--output", default="-", help="Output file (standard output).")
@common
def command(source: str, form: str, output: str, gen: str | None, sets: tuple[str, ...], as_json: bool) -> None:
    """Encode the BDs in SOURCE (a file or -): the JSON lines of dge cce decode, or packets as TOML.

    \b
    A packet file:
      generation = "trn2"
      [[packets]]
      op = "add"                       # add, fma, max, min, gce
      dtype = "bfloat16"               # accum, out_dtype: optional
      elements = 2048
      sources = [0x200010000000, 0x200010001000]
      dests = [0x200020000000]
      # scales = [0.5, 0.5]  constant = 6.0  seed = 1  gce = { header = 0x200030000000 }

    The BDs of a packet come in ring order, read side first. Of a JSON line, kind and fields decide; the hex is ignored
    and what is not named is what the kind has by default. Decode then encode is an identity.

    \b
    Examples:
      dge cce encode packet.toml
      dge cce decode bds.bin --json | dge cce encode --format bin -o same.bin
    """
    from dgekit.cce.text import bd_from_json, bd_to_json
    from dgekit.descriptors.bd import BD_BYTES
    from dgekit.frontends.detect import detect, read_records
    from dgekit.frontends.packet_file import loads_packets

    data, name = read_input(source)
    overrides = overrides_from(sets)
    if detect(data, name) == "toml":
        file = loads_packets(_text(data, name), name)
        data = b"".join(built.encode() for built in file.build(chosen_generation(gen), overrides))
    else:
        data = read_records(data, bd_from_json, "jsonl", name, "BDs")
    choices = Choices(overrides)
    rows = [data[at : at + BD_BYTES] for at in range(0, len(data), BD_BYTES)]
    if as_json:
        for index, row in enumerate(rows):
            print_json(bd_to_json(row, BD_BYTES * index, choices=choices), indent=None)
        return
    write_output(output, "".join(f"{row.hex()}\n" for row in rows).encode() if form == "hex" else data)


def _text(data: bytes, name: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as problem:
        raise InputError(f"byte {problem.start} is no UTF-8", rule="toml.syntax", where=name) from None

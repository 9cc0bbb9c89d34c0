"""`dge log parse`: one JSON object a line, as the lines come."""

from __future__ import annotations

import json
import sys

import click

from dgekit.cli.inputs import open_stream


@click.command("parse")
@click.argument("source", default="-")
@click.option("--strict", is_flag=True, help="Exit 1 when a line looks like firmware and matches no format.")
@click.option("--only-firmware", is_flag=True, help="Leave out the lines of others; they are still counted.")
def command(source: str, strict: bool, only_firmware: bool) -> int:
    """Parse the log in SOURCE (a file, gzip or not; - for standard input): one JSON object a line.

    \b
    Keys: line, dialect (S, P, R or null), processor, stage, format (the exact printf text), fields, text;
    host, cut and candidates where there is something to say. A line that no format fits has format null.

    A live pipe is answered line by line. The count of all kinds of lines goes to standard error.

    \b
    Examples:
      dge log parse device.log
      journalctl -f | dge log parse | jq 'select(.stage == "dump").fields'
    """
    from dgekit.logs.parse import parse_line
    from dgekit.logs.source import batches

    total = firmware = unknown = 0
    with open_stream(source) as stream:
        for batch in batches(stream):
            for raw in batch:
                parsed = parse_line(raw.text, raw.number, ended=raw.ended)
                total += 1
                firmware += bool(parsed.row)
                unknown += parsed.is_unknown
                if parsed.dialect or parsed.row or not only_firmware:
                    sys.stdout.write(json.dumps(parsed.to_json()) + "\n")
            sys.stdout.flush()
    click.echo(summary(total, firmware, unknown), err=True)
    return 1 if strict and unknown else 0


def summary(total: int, firmware: int, unknown: int) -> str:
    """The counts of a log, in one line."""
    return f"{total} lines: {firmware} understood, {unknown} that no format fits, {total - firmware - unknown} others"

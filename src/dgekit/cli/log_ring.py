"""`dge log ring`: a binary dump of the device log ring, or of a notification queue."""

from __future__ import annotations

import click

from dgekit.cli.inputs import read_input
from dgekit.cli.options import print_json
from dgekit.core.errors import UsageError


class _Number(click.ParamType):  # type: ignore[type-arg]
    """A number in any base."""

    name = "number"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            return value if isinstance(value, int) else int(str(value), 0)
        except ValueError:
            self.fail(f"{value!r} is no number", param, ctx)


NUMBER = _Number()


@click.command("ring")
@click.argument("source", default="-")
@click.option("--head", type=NUMBER, help="Where the device writes next, for a dump without control block.")
@click.option("--size", type=NUMBER, help="Size of the ring, for a dump without control block.")
@click.option("--at", type=NUMBER, help="Offset of the ring in the dump.")
@click.option("--records", is_flag=True, help="The dump is a notification queue of 16-byte records.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a record.")
def command(source: str, head: int | None, size: int | None, at: int | None, records: bool, as_json: bool) -> int:
    """Read the log ring in the binary dump SOURCE: its control block and the ring, or the ring alone.

    A record is a severity byte (1 error to 4 debug), a C string and a NUL. A dump without control block needs --head
    and --size. A ring that has wrapped is read from the first whole record past the head.

    \b
    Examples:
      dge log ring core0.bin
      dge log ring ring.bin --head 0x1234 --size 0x20000 --json
      dge log ring errors_nt.bin --records
    """
    data, _ = read_input(source)
    if records:
        if (head, size, at) != (None, None, None):
            raise UsageError("--records takes the whole dump", rule="cli.ring", fix="leave --head, --size, --at out")
        _print_records(data, as_json)
        return 0
    from dgekit.logs.ring import UNCLAIMED, open_ring, ring_records

    ring = open_ring(data, head=head, size=size, at=at)
    count = 0
    for record in ring_records(ring):
        count += 1
        if as_json:
            print_json(record.to_json(), indent=None)
        else:
            click.echo(f"{record.offset:#08x} {record.severity or '-'} {record.parsed.text}")
    state = "wrapped" if ring.wrapped else "not wrapped"
    gone = ", of a destroyed core" if ring.block is not None and ring.block.magic == UNCLAIMED else ""
    click.echo(
        f"{count} records; ring of {len(ring.data):#x} bytes at {ring.at:#x}, head {ring.head:#x}, {state}{gone}",
        err=True,
    )
    return 0


def _print_records(data: bytes, as_json: bool) -> None:
    from dgekit.logs.ring import notifications

    for found in notifications(data):
        if as_json:
            print_json(found.to_json(), indent=None)
            continue
        click.echo(
            f"{found.offset:#06x} {found.kind}: {found.record if found.record is not None else found.data.hex()}"
        )

"""`dge cce plan`: the packets and BDs of a reduction, without running it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from dgekit.cli.options import common, generation_or_default, overrides_from, print_json, whole_number
from dgekit.core.choices import Choices
from dgekit.core.errors import UsageError

if TYPE_CHECKING:
    from dgekit.cce.plan import Plan

OPS = ("add", "fma", "max", "min")
MOST_LISTED = 1 << 20


@click.command("plan")
@click.option("--op", type=click.Choice(OPS), required=True, help="Operation.")
@click.option(
    "--dtype", required=True, metavar="TYPE", help="Element type of the sources (bfloat16, float32, int8 ...)."
)
@click.option("--accum", metavar="TYPE", help="Accumulator type (by operation and types unless given).")
@click.option("--out-dtype", metavar="TYPE", help="Element type written (that of the sources unless given).")
@click.option("--elements", required=True, metavar="N", help="Elements of each source.")
@click.option("--sources", required=True, metavar="K", help="Number of sources, 1 to 32.")
@click.option("--dests", default="1", metavar="D", help="Number of destinations (1).")
@click.option("--constant", type=float, metavar="X", help="Constant of min or max, in float32.")
@click.option("--seed", metavar="N", help="Seed of stochastic rounding; the first packet carries it.")
@click.option("--packet-bytes", metavar="N", help="Cap on the bytes of one source of a packet.")
@click.option("--priority-class", metavar="C", help="Priority class 0 to 4: its cap and the 32-byte granule apply.")
@click.option("--priority-caps", default="0,0,0,0,0", metavar="A,B,C,D,E", help="Caps of the five classes, 0 for none.")
@click.option("--packets", "list_packets", is_flag=True, help="List every packet with its offsets.")
@common
def command(
    op: str,
    dtype: str,
    accum: str | None,
    out_dtype: str | None,
    elements: str,
    sources: str,
    dests: str,
    constant: float | None,
    seed: str | None,
    packet_bytes: str | None,
    priority_class: str | None,
    priority_caps: str,
    list_packets: bool,
    gen: str | None,
    sets: tuple[str, ...],
    as_json: bool,
) -> None:
    """Show how a reduction of K sources of N elements is cut into packets, and the BDs of each. Nothing is moved.

    Whole packets come first, one remainder last. A packet takes at most the generation's elements (2048; 1024 on
    SUNDA), what its accumulator holds, and --packet-bytes of each source.

    \b
    Examples:
      dge cce plan --op add --dtype bfloat16 --elements 5000 --sources 3
      dge cce plan --op fma --dtype float32 --elements 1024 --sources 2 --json
      dge cce plan --op add --dtype bfloat16 --elements 4096 --sources 2 --priority-class 1 --priority-caps 0,1000,0,0,0
    """
    from dgekit.cce.constants import constant_of
    from dgekit.cce.enums import CceType, Dtype
    from dgekit.cce.limits import reduce_packet_want
    from dgekit.cce.plan import plan
    from dgekit.core.dtypes import dtype_named

    code = dtype_named(dtype).code
    count = whole_number("--elements", elements, bits=63)
    cap = None if packet_bytes is None else whole_number("--packet-bytes", packet_bytes, bits=63)
    if priority_class is not None:
        if cap is not None:
            raise UsageError("--packet-bytes and --priority-class both cap a packet", rule="cli.plan", fix="give one")
        caps = [whole_number("--priority-caps", one, bits=32) for one in priority_caps.split(",")]
        cap = reduce_packet_want(code, count, whole_number("--priority-class", priority_class, bits=8), caps)
    made = plan(
        CceType[op.upper()],
        count,
        _count("--sources", sources),
        code,
        generation_or_default(gen),
        Choices(overrides_from(sets)),
        accum_dtype=None if accum is None else dtype_named(accum).code,
        out_dtype=None if out_dtype is None else dtype_named(out_dtype).code,
        dests=_count("--dests", dests),
        constant=None if constant is None else constant_of(constant, Dtype.FP32),
        seed=None if seed is None else whole_number("--seed", seed, bits=32),
        packet_bytes=cap,
    )
    if list_packets and made.packet_count > MOST_LISTED:
        raise UsageError(
            f"{made.packet_count} packets are too many to list",
            rule="cli.plan",
            values={"packets": made.packet_count, "limit": MOST_LISTED},
        )
    if as_json:
        print_json(_json(made, list_packets))
    else:
        _show(made, list_packets)


def _count(option: str, text: str) -> int:
    """A small count; the planner itself says which counts are legal."""
    return whole_number(option, text, bits=16)


def _json(made: Plan, list_packets: bool) -> dict[str, object]:
    shown = made.to_json()
    if list_packets:
        shown["packets"] = [
            {
                "index": packet.index,
                "first_element": packet.first_element,
                "elements": packet.elements,
                "source_offset": packet.source_offset,
                "dest_offset": packet.dest_offset,
            }
            for packet in made.packets()
        ]
    return shown


def _show(made: Plan, list_packets: bool) -> None:
    told = made.to_json()
    types, totals = told["dtypes"], told["totals"]
    click.echo(
        f"{told['op']} on {told['generation']}: {told['sources']} sources of {made.elements} elements, "
        f"{types['in']} in, {types['accum']} accumulated, {types['out']} out"
    )
    for shape in made.shapes:
        plural = "packet" if shape.packets == 1 else "packets"
        click.echo(f"{shape.packets} {plural} of {shape.elements} elements: {shape.tx} tx and {shape.rx} rx BDs each")
        for bd in shape.bds:
            size = f"{bd.nbytes} B" if bd.nbytes else "-"
            click.echo(f"  {bd.leg}  {bd.kind:16} {size:>8}  word1 {bd.word1:#010x}")
    if list_packets:
        for packet in made.packets():
            click.echo(
                f"packet {packet.index}: elements {packet.first_element} to "
                f"{packet.first_element + packet.elements - 1}, source + {packet.source_offset}, "
                f"destination + {packet.dest_offset}"
            )
    click.echo(
        f"in all {totals['packets']} packets, {totals['tx']} tx and {totals['rx']} rx BDs, "
        f"{totals['bytes_read']} bytes read, {totals['bytes_written']} written"
    )

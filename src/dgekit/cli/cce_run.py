"""`dge cce run`: reduce arrays as the engine's compute packets do it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from dgekit.cli.options import common, generation_or_default, overrides_from, print_issues, print_json, whole_number
from dgekit.core.choices import Choices
from dgekit.core.errors import InputError, Issue, UsageError

if TYPE_CHECKING:
    from dgekit.cce.packet import Constant
    from dgekit.cce.plan import Plan
    from dgekit.core.dtypes import DtypeInfo
    from dgekit.numerics.codes import U8

OPS = ("add", "fma", "max", "min")


@click.command("run")
@click.option("--op", type=click.Choice(OPS), required=True, help="Operation.")
@click.option("--dtype", required=True, metavar="TYPE", help="Element type of the arrays (bfloat16, float8_e4m3 ...).")
@click.option("--accum", metavar="TYPE", help="Accumulator type (by operation and types unless given).")
@click.option("--out-dtype", metavar="TYPE", help="Element type written (that of the arrays unless given).")
@click.option("--scales", metavar="A,B,...", help="One float32 scale an array, for fma.")
@click.option("--constant", type=float, metavar="X", help="Constant of min or max.")
@click.option("--seed", metavar="N", help="Round stochastically, from this 32-bit seed.")
@click.option("--packet-bytes", metavar="N", help="Cap on the bytes of one array in a packet.")
@click.option("-o", "--output", required=True, metavar="OUT.npy", help="File of the result.")
@click.argument("arrays", nargs=-1, required=True, metavar="A.npy B.npy ...")
@common
def command(
    op: str,
    dtype: str,
    accum: str | None,
    out_dtype: str | None,
    scales: str | None,
    constant: float | None,
    seed: str | None,
    packet_bytes: str | None,
    output: str,
    arrays: tuple[str, ...],
    gen: str | None,
    sets: tuple[str, ...],
    as_json: bool,
) -> None:
    """Reduce arrays of equal shape, element by element, bit for bit as compute packets do, and save the result.

    Types that numpy lacks are read from and written as their raw bits: uint16 for bfloat16, uint8 for the FP8 types.
    Nothing is written when something is wrong.

    \b
    Examples:
      dge cce run --op add --dtype bfloat16 a.npy b.npy c.npy -o sum.npy
      dge cce run --op fma --dtype float32 --scales 0.5,0.5 a.npy b.npy -o mean.npy --json
      dge cce run --op min --dtype float16 --constant 6 a.npy -o clamped.npy
    """
    from dataclasses import replace

    from dgekit.cce.enums import CceType
    from dgekit.cce.execute import compute_many
    from dgekit.cce.plan import plan
    from dgekit.cli.inputs import check_writable
    from dgekit.core.dtypes import dtype_named

    read = dtype_named(dtype)
    written = read if out_dtype is None else dtype_named(out_dtype)
    choices, generation = Choices(overrides_from(sets)), generation_or_default(gen)
    if output != "-":
        check_writable(output, "-o")
    sources, shape = _sources(arrays, read)
    made = plan(
        CceType[op.upper()],
        sources[0].size // read.size if read.size else 0,
        len(sources),
        read.code,
        generation,
        choices,
        accum_dtype=None if accum is None else dtype_named(accum).code,
        out_dtype=written.code,
        constant=None if constant is None else _constant(constant, read),
        seed=None if seed is None else whole_number("--seed", seed, bits=32),
        packet_bytes=None if packet_bytes is None else whole_number("--packet-bytes", packet_bytes, bits=63),
    )
    packet = replace(made.template, scales=_scales(scales), in_fn=read.fn, out_fn=written.fn)
    counts = [shape.elements for shape in made.shapes for _ in range(shape.packets)]
    result = compute_many(packet, sources, counts, choices, generation)
    _save(output, result.data, written, shape)
    issues = (*_form_issues(read, written, made), *result.issues)
    if as_json:
        report = _report(made, result.data, choices)
        found = {"lossy": result.lossy, "promoted": result.promoted, "issues": [issue.to_json() for issue in issues]}
        print_json(report | found)
    elif output != "-":
        types = "{in} in, {accum} accumulated, {out} out".format(**made.to_json()["dtypes"])
        click.echo(f"{op} of {len(sources)} arrays of {made.elements} elements on {generation.name}: {types}")
        click.echo(f"{made.packet_count} packets, {made.tx} tx and {made.rx} rx BDs")
        moved = "bytes are moved, no element is converted"
        click.echo(moved if result.promoted else f"{result.lossy} elements lost bits in the output conversion")
        print_issues(issues)


def _sources(paths: tuple[str, ...], kind: DtypeInfo) -> tuple[list[U8], tuple[int, ...]]:
    """The bytes of each array and the shape of all; raises InputError where a type or shape does not fit (D54)."""
    from pathlib import Path

    from dgekit.machine.contents import dense_bytes, load_npy
    from dgekit.transfers.transfer import Tensor

    loaded = [load_npy(Path(path), path) for path in paths]
    shape = loaded[0].shape
    if not loaded[0].size:
        raise InputError(f"{paths[0]} holds no element", rule="tensor.shape", where=paths[0])
    tensors = [Tensor(path, "hbm", shape, kind) for path in paths]
    return [dense_bytes(array, tensor) for array, tensor in zip(loaded, tensors, strict=True)], shape


def _scales(text: str | None) -> tuple[float, ...]:
    if text is None:
        return ()
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise UsageError(f"--scales {text[:60]!r} is no list of numbers", rule="cli.number", fix="0.5,0.5") from None


def _constant(number: float, read: DtypeInfo) -> Constant:
    """In fp32 for floats; for integers in their own type, or in 32 bits where a constant cannot have it."""
    from dgekit.cce.constants import constant_of
    from dgekit.cce.dtypes import CONSTANT_DTYPES
    from dgekit.core.dtypes import Dtype

    if read.is_float:
        return constant_of(number, Dtype.FP32)
    wide = Dtype.UINT32 if read.name.startswith("u") else Dtype.INT32
    return constant_of(number, read.code if read.code in CONSTANT_DTYPES else wide)


def _form_issues(read: DtypeInfo, written: DtypeInfo, made: Plan) -> list[Issue]:
    """The FN form of E4M3 where the hardware computes the other one (D54)."""
    from dgekit.frontends.program.tensors import tensor_issues
    from dgekit.transfers.transfer import Tensor

    pairs = (("--dtype", read), ("--out-dtype", written))
    tensors = [Tensor(option, "hbm", (made.elements,), kind, where=option) for option, kind in pairs]
    return tensor_issues(tensors, made.generation)


def _save(path: str, data: U8, kind: DtypeInfo, shape: tuple[int, ...]) -> None:
    import io

    import numpy as np

    from dgekit.cli.inputs import write_output
    from dgekit.machine.contents import file_dtype

    buffer = io.BytesIO()
    np.save(buffer, data.view(file_dtype(kind)).reshape(shape), allow_pickle=False)
    write_output(path, buffer.getvalue())


def _report(made: Plan, data: U8, choices: Choices) -> dict[str, Any]:
    import hashlib

    planned = made.to_json()
    kept = ("generation", "op", "dtypes", "elements", "sources")
    return {
        "schema": "dgekit.cce_run/1",
        **{name: planned[name] for name in kept},
        "packets": made.packet_count,
        "descriptors": {"m2s": made.tx, "s2m": made.rx, "bytes": planned["totals"]["bytes_read"]},
        "choices": choices.used(),
        "sha256": hashlib.sha256(data.data).hexdigest(),
    }

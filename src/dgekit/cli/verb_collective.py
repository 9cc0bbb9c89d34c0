"""`dge collective`: all-reduce, reduce-scatter and all-gather on the compute path."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from dgekit.cli.options import (
    common,
    generation_or_default,
    overrides_from,
    print_issues,
    print_json,
    whole_number,
)
from dgekit.core.choices import Choices
from dgekit.core.errors import DgeError, Issue, UsageError, one_line

if TYPE_CHECKING:
    from dgekit.collectives.actor import U8
    from dgekit.collectives.request import Drop, Request, Setup
    from dgekit.collectives.run import CollectiveResult

KINDS = ("allreduce", "reducescatter", "allgather")
_FIRST_SIGNAL = "0:0"


@click.command("collective")
@click.argument("kind", type=click.Choice(KINDS), metavar="allreduce|reducescatter|allgather")
@click.option("--ranks", metavar="N", help="Number of ranks (rows of --in unless given).")
@click.option("--algo", type=click.Choice(("ring", "kangaring", "mesh")), default="ring", help="Algorithm (ring).")
@click.option("--dtype", required=True, metavar="TYPE", help="Element type (bfloat16, float32, int32 ...).")
@click.option("--elements", metavar="N", help="Elements of the full vector (from --in unless given).")
@click.option("--op", type=click.Choice(("add", "min", "max")), default="add", help="Reduction (add).")
@click.option("--accum", metavar="TYPE", help="Accumulator type (by the element type unless given).")
@click.option("--channels", default="1", metavar="N", help="Channels, 1 to 32 (1).")
@click.option("--group", metavar="N", help="Ranks of a kangaring position, or of a group of mesh t2.")
@click.option("--mesh", type=click.Choice(("t0", "t1", "t2")), help="Mesh subtype (t0 for two ranks, else t1).")
@click.option("--credits", "credit_count", metavar="N", help="Initial send credits (switch ring_credits).")
@click.option(
    "--drop-signal",
    is_flag=False,
    flag_value=_FIRST_SIGNAL,
    metavar="[RANK[:NUMBER]]",
    help="Lose a signal: the NUMBERth (from 0) that RANK sends on channel 0.",
)
@click.option("--leg", type=click.Choice(("copy", "rdma")), default="copy", help="How bytes reach other ranks (copy).")
@click.option("--transport", type=click.Choice(("inprocess", "mpi")), default="inprocess", help="Where ranks run.")
@click.option("--in", "source", metavar="FILE.npy", help="One row a rank: the full vector, for allgather the shard.")
@click.option("--out", "target", metavar="FILE.npy", help="Save the results, one row a rank.")
@click.option("--verify", is_flag=True, help="Compare with a reference computed in the documented order.")
@common
def command(
    kind: str,
    ranks: str | None,
    algo: str,
    dtype: str,
    elements: str | None,
    op: str,
    accum: str | None,
    channels: str,
    group: str | None,
    mesh: str | None,
    credit_count: str | None,
    drop_signal: str | None,
    leg: str,
    transport: str,
    source: str | None,
    target: str | None,
    verify: bool,
    gen: str | None,
    sets: tuple[str, ...],
    as_json: bool,
) -> int:
    """Run a collective over N ranks, step by step, every reduction bit for bit as compute packets do it.

    Without --in, rank r holds random values from seed r. Rows of types that numpy lacks are their raw bits: uint16 for
    bfloat16, uint8 for the FP8 types. The rows of a reduce-scatter are shards, the last ones filled up with zeros.

    --transport mpi runs one rank a process: it starts the mpiexec of the extra `mpi`; under mpiexec it joins.

    A deadlock ends with its wait graph and exit code 1.

    \b
    Examples:
      dge collective allreduce --ranks 8 --algo ring --dtype bfloat16 --elements 1048576 --verify
      dge collective reducescatter --dtype float32 --in rows.npy --out shards.npy
      dge collective allreduce --ranks 4 --algo mesh --dtype int32 --elements 1000 --json
      dge collective allreduce --ranks 3 --dtype float32 --elements 96 --credits 2
      dge collective allreduce --ranks 9 --dtype bfloat16 --elements 5000 --leg rdma --verify
    """
    from dataclasses import replace

    from dgekit.collectives.mpi_run import under_mpi
    from dgekit.collectives.prepare import prepare

    joined = transport == "mpi" and under_mpi()
    try:
        request, rows = _request(kind, ranks, algo, dtype, elements, op, accum, source)
        request = replace(_options(request, channels, group, mesh, credit_count, drop_signal), leg=leg)
        setup = prepare(request, generation_or_default(gen), Choices(overrides_from(sets)))
        if target is not None:
            _check_target(target)
        setup = replace(setup, issues=(*setup.issues, *_advice(setup)))
        row_of = _row_source(setup, rows, source)
        if transport == "mpi" and not joined:
            return _relaunched(setup)
        return _run(setup, row_of, target, verify, joined, as_json)
    except DgeError as problem:
        if joined:
            _only_once(problem)
        raise


def _request(
    kind: str,
    ranks: str | None,
    algo: str,
    dtype: str,
    elements: str | None,
    op: str,
    accum: str | None,
    source: str | None,
) -> tuple[Request, Any]:
    """What is asked, and the rows of the file if one is given; sizes that are not given are the file's."""
    from dgekit.cce.enums import CceType
    from dgekit.collectives.request import ALLGATHER, Request
    from dgekit.collectives.rows import load_rows
    from dgekit.core.dtypes import dtype_named

    info = dtype_named(dtype)
    rows = None if source is None else load_rows(source, "--in")
    height, width = (0, 0) if rows is None else rows.shape
    for option, given in (("--ranks", ranks), ("--elements", elements)):
        if given is None and rows is None:
            raise UsageError(f"{option} or --in is needed", rule="collective.size", where=option)
    count = height if ranks is None else whole_number("--ranks", ranks, bits=31)
    if kind == ALLGATHER:
        width *= count
    return (
        Request(
            kind=kind,
            algo=algo,
            ranks=count,
            dtype=info,
            elements=whole_number("--elements", elements, bits=63) if elements is not None else width,
            op=CceType[op.upper()],
            accum=None if accum is None else dtype_named(accum).code,
        ),
        rows,
    )


def _options(
    request: Request, channels: str, group: str | None, mesh: str | None, credit_count: str | None, drop: str | None
) -> Request:
    from dataclasses import replace

    return replace(
        request,
        channels=whole_number("--channels", channels, bits=31),
        group=None if group is None else whole_number("--group", group, bits=31),
        mesh=mesh,
        credits=None if credit_count is None else whole_number("--credits", credit_count, bits=31),
        drop=None if drop is None else _drop(drop),
    )


def _drop(text: str) -> Drop:
    from dgekit.collectives.request import Drop

    rank, colon, number = text.partition(":")
    return Drop(
        whole_number("--drop-signal", rank, bits=31),
        whole_number("--drop-signal", number, bits=31) if colon else 0,
    )


def _check_target(target: str) -> None:
    from dgekit.cli.inputs import check_writable

    if target == "-":
        raise UsageError("--out takes a file", rule="collective.out", where="--out")
    check_writable(target, "--out")


def _row_source(setup: Setup, rows: Any, source: str | None) -> Callable[[int], U8]:
    """What gives the input of a rank."""
    from dgekit.collectives.rows import generated_row, row_of

    if rows is None:
        return lambda rank: generated_row(setup, rank)
    row_of(setup, rows, 0, "--in")  # a wrong shape or type is told before anything runs
    return lambda rank: row_of(setup, rows, rank, "--in")


def _run(
    setup: Setup, row_of: Callable[[int], U8], target: str | None, verify: bool, joined: bool, as_json: bool
) -> int:
    from dgekit.collectives.run import check_memory, run_collective

    check_memory(setup, 1 if joined else setup.ranks, verify=verify)
    if joined:
        return _run_joined(setup, row_of, target, verify, as_json)
    result = run_collective(setup, [row_of(rank) for rank in range(setup.ranks)], verify=verify)
    if target is not None and not result.deadlock:
        _save(setup, target, result.rows)
    return _report(result, as_json)


def _run_joined(setup: Setup, row_of: Callable[[int], U8], target: str | None, verify: bool, as_json: bool) -> int:
    """One rank of an MPI run; rank 0 alone saves and prints."""
    from dgekit.collectives.mpi_run import gathered_rows, run_on_mpi, world

    comm = world()
    with _ending_all(comm):
        result, output = run_on_mpi(setup, comm, row_of, verify=verify)
        rows = gathered_rows(setup, comm, output) if target is not None and not result.deadlock else iter(())
        if comm.Get_rank():
            list(rows)
        elif target is not None and not result.deadlock:
            _save(setup, target, rows)
    return _report(result, as_json) if comm.Get_rank() == 0 else int(not result.ok)


def _report(result: CollectiveResult, as_json: bool) -> int:
    if as_json:
        print_json(result.to_json())
    else:
        _show(result)
        result.raise_deadlock()
    return int(not result.ok)


def _show(result: CollectiveResult) -> None:
    told = result.to_json()
    what = f"{told['op']} in {told['accum']}, " if told["op"] else ""
    click.echo(
        f"{told['collective']} over {told['ranks']} ranks on {told['generation']}: "
        f"{' '.join(filter(None, (told['algo'], told['mesh'])))}, {what}{told['elements']} elements of {told['dtype']}"
    )
    cut = [_plural(told["channels"], "channel", "channels"), _plural(told["passes"], "pass", "passes")]
    cut.append(f"chunks of {told['chunk_elements']} elements")
    cut += [f"groups of {told['group']}"] if told["group"] else []
    cut += [f"{told['credits']} credits"] if result.setup.algo in ("ring", "kangaring") else []
    click.echo(", ".join(cut))
    _show_counts(told["per_rank"])
    if any(told["legs"]):
        click.echo(f"{sum(told['legs'])} RDMA legs between ranks")
    print_issues(result.setup.issues)
    if result.deadlock:
        for edge in result.deadlock:
            click.echo(str(edge))
        return
    for name in ("identical", "verified"):
        if told[name] is not None:
            click.echo(f"{name}: {'yes' if told[name] else 'NO'}")
    click.echo(f"sha256 of rank 0: {told['sha256']}")


def _plural(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def _show_counts(counts: list[dict[str, int]]) -> None:
    """One line where all ranks did the same, else one a rank."""
    same = all(each == counts[0] for each in counts)
    for rank, each in enumerate(counts[:1] if same else counts):
        who = "each rank" if same else f"rank {rank}"
        click.echo(
            f"{who}: {each['steps']} steps, {each['packets']} packets, {each['m2s']} M2S and {each['s2m']} S2M BDs, "
            f"{each['bytes']} bytes read"
        )


def _advice(setup: Setup) -> list[Issue]:
    """The form of E4M3 that the hardware computes (D54), and options that change nothing."""
    from dgekit.frontends.program.tensors import tensor_issues
    from dgekit.transfers.transfer import Tensor

    request = setup.request
    tensor = Tensor("--dtype", "hbm", (request.elements,), request.dtype, where="--dtype")
    found = tensor_issues([tensor], setup.generation)
    if not setup.reduces and (request.accum is not None or request.op.name != "ADD"):
        found.append(
            Issue("collective.no_reduce", "advice", "an all-gather only copies: --op and --accum change nothing")
        )
    return found


def _save(setup: Setup, target: str, rows: Iterable[U8]) -> None:
    from dgekit.collectives.rows import out_width, save_rows

    save_rows(target, setup.request.dtype, setup.ranks, out_width(setup), rows)


def _relaunched(setup: Setup) -> int:
    """This command again, once a rank under mpiexec; what it prints is passed on."""
    from dgekit.collectives.mpi_run import launch, this_command

    done = launch(this_command(_arguments(setup)), setup.ranks)
    click.echo(done.stdout.decode(errors="replace"), nl=False)
    click.echo(done.stderr.decode(errors="replace"), nl=False, err=True)
    return done.returncode


def _arguments(setup: Setup) -> list[str]:
    """The arguments of this call, with generation and switches from wherever they were given."""
    context = click.get_current_context()
    given = ["collective", setup.kind]
    for option in context.command.params:
        value = context.params.get(str(option.name))
        if not isinstance(option, click.Option) or option.name in ("gen", "sets") or value in (None, False):
            continue
        given += [option.opts[0]] if value is True else [option.opts[0], str(value)]
    given += ["--gen", setup.generation.name]
    for name, value in setup.choices.overrides().items():
        given += ["--set", f"{name}={value}"]
    return given


@contextmanager
def _ending_all(comm: Any) -> Iterator[None]:
    """A rank that cannot go on ends all of them; what every rank finds wrong alike is raised."""
    try:
        yield
    except UsageError:
        raise
    except Exception as problem:
        code = problem.exit_code if isinstance(problem, DgeError) else 70
        click.echo(f"dge: rank {comm.Get_rank()}: {one_line(str(problem) or type(problem).__name__)}", err=True)
        comm.Abort(code)


def _only_once(problem: DgeError) -> None:
    """Every rank finds the same wrong; only rank 0 says so."""
    from dgekit.collectives.mpi_run import launched_rank

    if launched_rank():
        raise click.exceptions.Exit(problem.exit_code) from None

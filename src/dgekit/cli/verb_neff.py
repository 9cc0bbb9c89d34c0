"""`dge neff`: what is inside a NEFF, how much ring memory it takes, and NEFFs from folders."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dgekit.cli.inputs import read_input, write_output
from dgekit.cli.options import (
    chosen_generation,
    common,
    exit_code,
    overrides_from,
    print_issues,
    print_json,
    whole_number,
)
from dgekit.cli.progress import progress
from dgekit.core.errors import Issue, UsageError, one_line

if TYPE_CHECKING:
    from dgekit.frontends.neff.opened import OpenNeff

_supported = click.option("--supported", metavar="MASK", help="Feature bits the loader knows (0x80000000000000ff).")


@click.group("neff")
def command() -> None:
    """Look into NEFF files, check them, count their rings, take them apart, put them together, compare them.

    FILE is a NEFF or - for standard input. To run one: dge run FILE.neff. Large files are read as a stream.

    \b
    Examples:
      dge neff info examples/gradient.neff
      dge neff rings examples/gradient.neff
      dge neff extract examples/gradient.neff -o gradient
    """


@command.command("info")
@click.argument("source", metavar="FILE")
@_supported
@common
def info(source: str, supported: str | None, gen: str | None, sets: tuple[str, ...], as_json: bool) -> int:
    """Show header, feature bits, members, subgraphs, queues, variables and dma lists; exit 1 on an error.

    Nothing is unpacked to disk. Feature bits are judged by both published masks; --supported decides the exit.

    \b
    Examples:
      dge neff info examples/gradient.neff
      dge neff info file.neff --json --supported 0x1ff
    """
    from dgekit.export.neff_info import neff_lines, neff_to_json

    with _opened(source, supported) as neff:
        shown = neff_to_json(neff)
        issues = neff.all_issues()
    if as_json:
        print_json(shown)
    else:
        _print(neff_lines(shown))
        print_issues(issues)
    return exit_code(issues)


@command.command("dump")
@click.argument("source", metavar="FILE")
@click.option("--subgraph", default="", metavar="NAME", help="Only this subgraph.")
@click.option("--engine", default="", metavar="NAME", help="Only this engine: pe, act, pool, dve or sp.")
@common
def dump(source: str, subgraph: str, engine: str, gen: str | None, sets: tuple[str, ...], as_json: bool) -> int:
    """Show every dma entry and every 64-byte word of every engine, with the names its numbers stand for.

    Patterns are [step,size], innermost first, in bytes. --json prints one object a line.

    \b
    Examples:
      dge neff dump examples/gradient.neff
      dge neff dump examples/gradient.neff --engine pool --json
    """
    from dgekit.export.neff_dump import dump as records

    with _opened(source) as neff:
        _known(neff, subgraph, engine)
        for record in records(neff, subgraph, engine):
            if as_json:
                print_json(record.to_json(), indent=None)
            else:
                _print(record.lines())
    return 0


@command.command("check")
@click.argument("source", metavar="FILE")
@_supported
@common
def check(source: str, supported: str | None, gen: str | None, sets: tuple[str, ...], as_json: bool) -> int:
    """Find everything that is wrong inside; exit 1 on an error.

    Header and hash; missing members; queues, variables and ids that do not fit together; patterns that leave their
    variable; sides that do not hold the same bytes; triggers and entries without one another; rings over the limit
    of 16,777,200 descriptors.

    \b
    Example:
      dge neff check examples/gradient.neff
    """
    from dgekit.advise.rings import neff_rings
    from dgekit.core.choices import Choices
    from dgekit.frontends.neff.checks import check_neff

    found: list[Issue] = []
    with _opened(source, supported, found) as neff:
        issues = [*found, *check_neff(neff)]
        if not any(issue.severity == "error" for issue in issues):
            rings = neff_rings(neff, Choices(overrides_from(sets)), generation=chosen_generation(gen))
            issues += [issue for issue in rings.issues if issue.rule == "rings.queue_limit"]
    if as_json:
        shown = [issue.to_json() for issue in issues]
        print_json({"schema": "dgekit.neff_check/1", "file": neff.source, "issues": shown})
    else:
        print_issues(issues)
        click.echo(f"{len(issues)} issues" if issues else "no issues")
    return exit_code(issues)


@command.command("rings")
@click.argument("source", metavar="FILE")
@click.option("--runtime", is_flag=True, help="The items of the runtime's own print-out, a column a core.")
@click.option("--csv", "as_csv", is_flag=True, help="Comma-separated: one row a core and queue.")
@common
def rings(source: str, runtime: bool, as_csv: bool, gen: str | None, sets: tuple[str, ...], as_json: bool) -> int:
    """Predict the memory of descriptor rings, by queue and core; exit 1 when a ring is over the limit.

    Estimate A is what the compiler's analyser counts; estimate B was made for spill queues; exact is by static
    expansion: data descriptors of both legs and a semaphore pair on every hardware queue of an entry.

    \b
    Examples:
      dge neff rings examples/gradient.neff
      dge neff rings file.neff --runtime
      dge neff rings file.neff --csv > rings.csv
    """
    from dgekit.advise.rings import neff_rings
    from dgekit.core.choices import Choices
    from dgekit.export.neff_rings import rings_lines, rings_rows, rings_to_json, runtime_lines

    if runtime + as_csv + as_json > 1:
        raise UsageError("--runtime, --csv and --json exclude one another", rule="cli.rings")
    found: list[Issue] = []
    with _opened(source, found=found) as neff:
        counted = neff_rings(neff, Choices(overrides_from(sets)), generation=chosen_generation(gen))
    issues = [*found, *counted.issues]
    if as_json:
        shown = rings_to_json(counted)
        print_json({**shown, "issues": [issue.to_json() for issue in issues]})
    elif as_csv:
        _print_csv(rings_rows(counted))
    else:
        _print(runtime_lines(counted) if runtime else rings_lines(counted))
    if not as_json:
        print_issues(issues, err=True)
    return exit_code(issues)


@command.command("extract")
@click.argument("source", metavar="FILE")
@click.argument("names", nargs=-1, metavar="[MEMBER]...")
@click.option("-o", "--output", required=True, metavar="DIR", help="Folder for the files, made if missing.")
@common
def extract(
    source: str, names: tuple[str, ...], output: str, gen: str | None, sets: tuple[str, ...], as_json: bool
) -> int:
    """Write members (all, and the header as neff-header.json, when none is named) into DIR.

    Nothing is written outside DIR, and no file is ever half there; a file of that name is replaced.

    \b
    Examples:
      dge neff extract examples/gradient.neff -o gradient
      dge neff extract examples/gradient.neff sg00/pool.json -o gradient
    """
    from dgekit.frontends.neff.folder import extract as extract_members

    with _opened(source, found=[]) as neff:
        paths = extract_members(neff, Path(output), names)
    if as_json:
        print_json([{"file": path.relative_to(output).as_posix(), "bytes": path.stat().st_size} for path in paths])
    else:
        _print(f"{path.stat().st_size:>10}  {path}" for path in paths)
    return 0


@command.command("build")
@click.argument("folder", metavar="DIR")
@click.option("-o", "--output", required=True, metavar="FILE", help="The NEFF; - is standard output.")
@click.option("--header", metavar="FILE", help="Header, order and form: JSON, in place of DIR/neff-header.json.")
@click.option("--gzip/--plain", "compress", default=None, help="Compressed, or a plain tar archive.")
@common
def build(
    folder: str,
    output: str,
    header: str | None,
    compress: bool | None,
    gen: str | None,
    sets: tuple[str, ...],
    as_json: bool,
) -> int:
    """Write a NEFF of the files in DIR; the same files give the same bytes.

    Member names are the paths below DIR, sorted unless neff-header.json lists them; sizes and hash are worked out.
    What extract wrote gives the same NEFF again.

    \b
    Example:
      dge neff build gradient -o gradient.neff
    """
    import hashlib

    from dgekit.frontends.neff.folder import build_folder
    from dgekit.frontends.neff.json_member import read_json

    given: Any = None
    if header is not None:
        data, name = read_input(header)
        given = read_json({name: data}, name, name)
    built = build_folder(Path(folder), header=given, compress=compress)
    write_output(output, built)
    if output == "-":
        return 0
    digest = hashlib.sha256(built).hexdigest()
    if as_json:
        print_json({"file": output, "bytes": len(built), "sha256": digest})
    else:
        click.echo(f"{output}  {len(built)} bytes  sha256 {digest}")
    return 0


@command.command("diff")
@click.argument("left", metavar="A")
@click.argument("right", metavar="B")
@common
def diff(left: str, right: str, gen: str | None, sets: tuple[str, ...], as_json: bool) -> int:
    """Compare two NEFFs by what they mean; exit 1 when they differ.

    The order of keys, entries and members, paths, sizes, hash and uuid do not count.

    \b
    Example:
      dge neff diff examples/gradient.neff other.neff
    """
    from dgekit.frontends.neff.diff import diff_neffs

    with _opened(left) as one, _opened(right) as other:
        found = list(diff_neffs(one, other))
    if as_json:
        print_json({"schema": "dgekit.neff_diff/1", "differences": [difference.to_json() for difference in found]})
    else:
        _print(f"{one.where}: {_side(one.left)} -> {_side(one.right)}" for one in found)
    return 1 if found else 0


def _side(value: Any) -> str:
    return "nothing" if value is None else one_line(str(value))


@contextmanager
def _opened(source: str, supported: str | None = None, found: list[Issue] | None = None) -> Iterator[OpenNeff]:
    """The NEFF of a file or of standard input, while something reads it; progress is shown on a terminal."""
    from dgekit.frontends.neff.header import SUPPORTED_FEATURES
    from dgekit.frontends.neff.opened import open_neff

    mask = SUPPORTED_FEATURES if supported is None else whole_number("--supported", supported, bits=64)
    data: str | bytes = source
    name = Path(source).name
    if source == "-":
        data, name = read_input(source)
    with progress() as show:
        yield open_neff(data, name=name, supported=mask, progress=show, found=found)


def _known(neff: OpenNeff, subgraph: str, engine: str) -> None:
    """Raises UsageError for a subgraph or engine that is not there."""
    graphs = [graph.name for graph in neff.subgraphs]
    engines = list(dict.fromkeys(name for graph in neff.subgraphs for name in graph.engines))
    for option, given, names in (("--subgraph", subgraph, graphs), ("--engine", engine, engines)):
        if given and given not in names:
            raise UsageError(f"{option} {given!r} is not there", rule="cli.neff", fix="one of " + ", ".join(names))


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        click.echo(one_line(line))


def _print_csv(rows: Iterator[tuple[object, ...]]) -> None:
    import csv
    import io

    for row in rows:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerow(row)
        click.echo(text.getvalue(), nl=False)

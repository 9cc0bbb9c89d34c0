"""`dge run`: a program through every stage."""

from __future__ import annotations

from typing import Any

import click

from dgekit.cli.inputs import check_writable, read_kernel, read_program
from dgekit.cli.options import chosen_generation, common, overrides_from, print_issues, print_json, program_options
from dgekit.core.errors import UsageError


@click.command("run")
@click.argument("program")
@program_options
@click.option("--in", "inputs", multiple=True, metavar="NAME=FILE.npy", help="Load a tensor before the run.")
@click.option("--out", "outputs", multiple=True, metavar="NAME=FILE.npy", help="Save a tensor after the run.")
@click.option("--log", "log_file", metavar="FILE", help="Write the firmware's log lines (- for standard output).")
@click.option("--trace", "trace_file", metavar="FILE", help="Write a trace that Perfetto and Chrome open.")
@click.option("--report", "report_file", metavar="FILE.html", help="Write the run as one HTML page.")
@click.option("--quiet", "-q", is_flag=True, help="Print one line a transfer only.")
@common
def command(
    program: str,
    form: str,
    subgraph: str,
    inputs: tuple[str, ...],
    outputs: tuple[str, ...],
    log_file: str | None,
    trace_file: str | None,
    report_file: str | None,
    quiet: bool,
    gen: str | None,
    sets: tuple[str, ...],
    as_json: bool,
) -> int:
    """Run PROGRAM (a transfer file, a NEFF, FILE.py:FUNCTION, or words; - for standard input) on a simulated device.

    Every transfer goes through its words, the DGE firmware, 16-byte descriptors, rings and engines; the walk is
    printed, with the firmware's own log lines. Exit 1 when a transfer is not done or an issue is an error.

    \b
    Examples:
      dge run examples/gradient.neff
      dge run examples/seed_copy.toml --json
      dge run kernel.py:gather --arg a=a.npy --arg rows=64 --out out=out.npy
      dge run prog.toml --in x=x.npy --out y=y.npy --gen trn3 --set generate_pairing=pair
    """
    from dgekit.api import Run
    from dgekit.export.walk import summary_lines, walk_lines
    from dgekit.machine.session import run_workload

    targets = _pairs("--out", outputs)
    for name, path in targets.items():
        check_writable(path, f"--out {name}")
    for option, side in (("--trace", trace_file), ("--report", report_file)):
        if side is not None:
            check_writable(side, option)
    _check_stdout(as_json, log_file)
    chip, choices, arrays = chosen_generation(gen), overrides_from(sets), _inputs(inputs)
    kernel = read_kernel(program, form, chip, choices, arrays)
    if kernel is not None:
        finished = Run(kernel.result(), kernel.session, kernel.output_arrays(), kernel.version)
        _check_names(targets, finished.names)
    else:
        workload = read_program(program, form, chip, choices, arrays, subgraph=subgraph)
        _check_names(targets, [tensor.name for tensor in workload.tensors])
        finished = Run(*run_workload(workload))
    _save(finished, targets)
    if log_file is not None:
        _write_log(finished, log_file)
    _write_views(finished, trace_file, report_file)
    if as_json:
        print_json(finished.to_json())
    elif log_file != "-":
        for line in summary_lines(finished.result) if quiet else walk_lines(finished.result):
            click.echo(line)
        for line in finished.output_lines():
            click.echo(line)
        if quiet:
            print_issues([issue for result in finished.result.transfers for issue in result.issues])
        print_issues(finished.result.issues)
    return 0 if finished.result.ok else 1


def _pairs(option: str, texts: tuple[str, ...]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for text in texts:
        name, equals, path = text.partition("=")
        if not equals or not name or not path:
            raise UsageError(f"{option} {text!r} is not NAME=FILE.npy", rule="cli.pair")
        pairs[name] = path
    return pairs


def _inputs(texts: tuple[str, ...]) -> dict[str, Any]:
    from pathlib import Path

    from dgekit.machine.contents import load_npy

    return {name: load_npy(Path(path), f"--in {name}") for name, path in _pairs("--in", texts).items()}


def _check_names(targets: dict[str, str], names: list[str]) -> None:
    """A tensor that the program does not have is found before anything runs; a script's are known when it has run."""
    for name in targets:
        if name not in names:
            raise UsageError(
                f"--out names tensor {name!r}, which the program does not have",
                rule="cli.tensor",
                fix="one of " + ", ".join(sorted(names)),
            )


def _check_stdout(as_json: bool, log_file: str | None) -> None:
    """Standard output carries one thing."""
    if as_json and log_file == "-":
        raise UsageError(
            "--json and --log - both want standard output", rule="cli.stdout", fix="the log is part of the JSON"
        )


def _save(finished: Any, targets: dict[str, str]) -> None:
    import io

    import numpy as np

    from dgekit.cli.inputs import write_output

    for name, path in targets.items():
        buffer = io.BytesIO()
        np.save(buffer, finished.file_array(name), allow_pickle=False)
        write_output(path, buffer.getvalue())


def _write_log(finished: Any, path: str) -> None:
    from dgekit.cli.inputs import write_output

    write_output(path, "".join(f"{line}\n" for line in finished.result.log).encode())


def _write_views(finished: Any, trace_file: str | None, report_file: str | None) -> None:
    import json

    from dgekit.cli.inputs import write_output

    if trace_file is not None:
        from dgekit.export.trace import run_to_trace

        write_output(trace_file, json.dumps(run_to_trace(finished.result)).encode())
    if report_file is not None:
        from dgekit.export.html_report import run_to_html

        write_output(report_file, run_to_html(finished.result).encode())

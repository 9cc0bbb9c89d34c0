"""Reading what a verb was given: a file, standard input, or hex text on the command line."""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dgekit.core.errors import InputError

if TYPE_CHECKING:
    from dgekit.core.generations import Generation
    from dgekit.frontends.nki.kernel_run import KernelRun
    from dgekit.transfers.transfer import Workload

MAX_INPUT = 1 << 30
STDIN = "<stdin>"
_SCRIPT = re.compile(r"(.+\.py):\w+")
_HEX = re.compile(r"(0[xX])?[0-9A-Fa-f][0-9A-Fa-f\s:]*")


def read_input(source: str) -> tuple[bytes, str]:
    """The bytes of a file or of standard input (`-`), and the name to call it in messages; raises InputError.

    A script may be given as FILE.py:FUNCTION; the function stays in the name.
    """
    name = STDIN if source == "-" else Path(source).name
    script = _SCRIPT.fullmatch(source)
    try:
        if source != "-":
            with Path(script[1] if script else source).open("rb") as file:
                return _limited(file.read(MAX_INPUT + 1), name), name
        if sys.stdin is None:
            raise InputError("standard input is closed", rule="input.file", where=name)
        return _limited(sys.stdin.buffer.read(MAX_INPUT + 1), name), name
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        shown = name if source == "-" else source
        raise InputError(f"cannot read {shown}: {reason}", rule="input.file", where=name) from None


@contextmanager
def open_stream(source: str) -> Iterator[io.BufferedReader]:
    """A file, or standard input (`-`), to be read as a stream of any size; raises InputError, also while reading."""
    try:
        if source == "-":
            yield sys.stdin.buffer  # type: ignore[misc]
        else:
            with Path(source).open("rb") as file:
                yield file
    except BrokenPipeError:
        raise
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise InputError(f"cannot read {source}: {reason}", rule="input.file", where=source) from None


def read_input_or_hex(source: str) -> tuple[bytes, str]:
    """Like `read_input`, but text that is no file and looks like a word's hex is taken as the hex itself."""
    digits = re.sub(r"\s|0[xX]", "", source)
    if source != "-" and len(digits) >= 16 and _HEX.fullmatch(source) and not os.path.exists(source):
        return source.encode(), "<argument>"
    return read_input(source)


def read_program(
    source: str,
    form: str,
    generation: Generation | None,
    choices: dict[str, str],
    inputs: dict[str, Any] | None = None,
    *,
    data: bytes | None = None,
    subgraph: str = "",
) -> Workload:
    """The workload of a program file or of standard input; `data` are its bytes, where they have been read."""
    from dgekit.cli.options import kernel_options
    from dgekit.frontends.load import load_program

    if data is None:
        data, name = read_input(source)
    else:
        name = STDIN if source == "-" else Path(source).name
    folder = None if source == "-" else Path(source).parent
    with redirect_stdout(sys.stderr):  # what a script prints is no output of ours
        return load_program(
            data,
            name,
            base_dir=folder,
            form=form,
            generation=generation,
            choices=choices,
            inputs=inputs,
            subgraph=subgraph,
            **kernel_options(),
        )


def read_kernel(
    source: str, form: str, generation: Generation | None, choices: dict[str, str], inputs: dict[str, Any]
) -> KernelRun | None:
    """The run of an NKI-style script; None when the program is none. What the script prints goes to stderr."""
    from dgekit.cli.options import kernel_options
    from dgekit.frontends.nki import run_script, split_source

    parts = split_source(source)
    if form != "py" and (parts is None or form != "auto"):
        return None
    file, function = parts or (source, "")
    data, _ = read_input(source)
    given = kernel_options()
    with redirect_stdout(sys.stderr):
        return run_script(
            data,
            STDIN if source == "-" else Path(file).name,
            function,
            {**inputs, **given["arguments"]},
            folder=None if source == "-" else Path(file).parent,
            generation=generation,
            choices=choices,
            nki_version=given["nki_version"],
        )


def write_output(path: str, data: bytes) -> None:
    """Write a whole file, or standard output for `-`; a failure leaves no half-written file."""
    if path == "-":
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    check_writable(path, path)
    target = Path(path).resolve()
    if target.exists() and not target.is_file():  # a device or a pipe is written to, never replaced
        target.write_bytes(data)
        return
    partial = target.with_name(target.name + ".partial")
    try:
        partial.write_bytes(data)
        partial.replace(target)
    except OSError as problem:
        partial.unlink(missing_ok=True)
        raise InputError(f"cannot write {path}: {problem.strerror}", rule="output.file", where=path) from None


def check_writable(path: str, where: str) -> None:
    """Refuse an output file that cannot be one, before the work is done; raises InputError."""
    if not Path(path).parent.is_dir():
        raise InputError(f"cannot write {path}: no such folder", rule="output.file", where=where)
    if not Path(path).name or Path(path).is_dir():
        raise InputError(f"cannot write {path!r}: it names a folder", rule="output.file", where=where)


def _limited(data: bytes, name: str) -> bytes:
    if len(data) > MAX_INPUT:
        raise InputError(f"more than {MAX_INPUT} bytes", rule="input.limit", where=name, values={"limit": MAX_INPUT})
    return data

"""Reading what a verb was given: a file, standard input, or hex text on the command line."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dgekit.core.errors import InputError

if TYPE_CHECKING:
    from dgekit.core.generations import Generation
    from dgekit.transfers.transfer import Workload

MAX_INPUT = 1 << 30
_HEX = re.compile(r"(0[xX])?[0-9A-Fa-f][0-9A-Fa-f\s:]*")


def read_input(source: str) -> tuple[bytes, str]:
    """The bytes of a file or of standard input (`-`), and the name to call it in messages; raises InputError."""
    if source == "-":
        return _limited(sys.stdin.buffer.read(MAX_INPUT + 1), "<stdin>"), "<stdin>"
    path = Path(source)
    try:
        with path.open("rb") as file:
            return _limited(file.read(MAX_INPUT + 1), path.name), path.name
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise InputError(f"cannot read {source}: {reason}", rule="input.file", where=source) from None


def read_input_or_hex(source: str) -> tuple[bytes, str]:
    """Like `read_input`, but text that is no file and looks like a word's hex is taken as the hex itself."""
    digits = re.sub(r"\s|0[xX]", "", source)
    if source != "-" and len(digits) >= 16 and _HEX.fullmatch(source) and not Path(source).exists():
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
) -> Workload:
    """The workload of a program file or of standard input; `data` are its bytes, where they have been read."""
    from dgekit.frontends.load import load_program

    if data is None:
        data, name = read_input(source)
    else:
        name = Path(source).name
    folder = None if source == "-" else Path(source).parent
    return load_program(data, name, base_dir=folder, form=form, generation=generation, choices=choices, inputs=inputs)


def write_output(path: str, data: bytes) -> None:
    """Write a whole file, or standard output for `-`; a failure leaves no half-written file."""
    if path == "-":
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    target = Path(path)
    partial = target.with_name(target.name + ".partial")
    try:
        partial.write_bytes(data)
        partial.replace(target)
    except OSError as problem:
        partial.unlink(missing_ok=True)
        raise InputError(f"cannot write {path}: {problem.strerror}", rule="output.file", where=path) from None


def _limited(data: bytes, name: str) -> bytes:
    if len(data) > MAX_INPUT:
        raise InputError(f"more than {MAX_INPUT} bytes", rule="input.limit", where=name, values={"limit": MAX_INPUT})
    return data

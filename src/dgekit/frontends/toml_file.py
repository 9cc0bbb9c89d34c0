"""Transfer files: TOML text to a `Workload`.

Every error is an InputError that names the file, the place (`prog.toml: transfers[2].src.pattern`, or the line where
the text is no TOML), the rule (`toml.key`, `toml.type`, ...) and the fix.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from dgekit.core.choices import Value, choice_named
from dgekit.core.errors import DgeError, InputError
from dgekit.frontends.place import Place
from dgekit.frontends.program.keys import PROGRAM
from dgekit.frontends.program.state import read_state
from dgekit.frontends.program.tensors import read_tensors, tensor_issues
from dgekit.frontends.program.transfers import read_transfers
from dgekit.transfers.placement import MEMORY_LIMIT
from dgekit.transfers.transfer import Workload

MAX_BYTES = 4 << 20
MAX_KEY_PARTS = 16
_LINE = re.compile(r"^(.*) \((at line \d+, column \d+|at end of document)\)$", re.DOTALL)
# The standard parser takes quadratic time for a dotted key of thousands of parts; no program needs more than three.
_PART = r"""(?:[A-Za-z0-9_-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+"""
_LONG_KEY = re.compile(rf"(?<![A-Za-z0-9_-])(?:{_PART}){{{MAX_KEY_PARTS}}}")


def load(path: str | Path, *, memory_limit: int = MEMORY_LIMIT) -> Workload:
    """The workload of a transfer file; relative .npy paths start at the file's folder.

    `memory_limit` caps the bytes of all tensors together. Raises InputError.
    """
    path = Path(path)
    try:
        if path.stat().st_size > MAX_BYTES:
            raise _too_large(path.stat().st_size, path.name)
        text = path.read_bytes().decode("utf-8")
    except OSError as problem:
        raise InputError(f"cannot read {path}: {problem.strerror}", rule="input.file", where=path.name) from None
    except UnicodeDecodeError as problem:
        raise InputError(
            f"byte {problem.start} is no UTF-8", rule="toml.syntax", where=path.name, values={"offset": problem.start}
        ) from None
    return loads(text, path.parent, name=path.name, memory_limit=memory_limit)


def loads(
    text: str, base_dir: Path | None = None, *, name: str = "<text>", memory_limit: int = MEMORY_LIMIT
) -> Workload:
    """The workload of a transfer file's text; `name` stands for the file in messages. Raises InputError.

    >>> loads('[tensors.x]\\nspace="hbm"\\nshape=[4]\\ndtype="int8"').tensors[0].nbytes
    4
    """
    return read_document(parse_toml(text, name), base_dir, name=name, memory_limit=memory_limit)


def read_document(
    document: dict[str, Any],
    base_dir: Path | None = None,
    *,
    name: str = "<document>",
    memory_limit: int = MEMORY_LIMIT,
) -> Workload:
    """The workload of a transfer file already parsed into plain tables, lists and values. Raises InputError."""
    place = Place(name)
    program = PROGRAM.check(document, place)
    generation = program["generation"]
    tensors = read_tensors(program["tensors"] or {}, place.key("tensors"), generation, base_dir, memory_limit)
    names = [tensor.name for tensor in tensors]
    items = read_transfers(program["transfers"] or (), document.get("transfers", []), place.key("transfers"), names)
    return Workload(
        generation=generation,
        tensors=tensors,
        items=items,
        choices=read_choices(program["choices"] or {}, place.key("choices")),
        state=read_state(program, place, names),
        base_dir=base_dir,
        source=name,
        issues=tuple(tensor_issues(tensors, generation)),
    )


def parse_toml(text: str, name: str) -> dict[str, Any]:
    """The tables of a TOML text; raises InputError with the line, and for a text beyond the limits."""
    if len(text) > MAX_BYTES:
        raise _too_large(len(text), name)
    long_key = _LONG_KEY.search(text)
    if long_key:
        line = text.count("\n", 0, long_key.start()) + 1
        raise InputError(
            f"more than {MAX_KEY_PARTS} dotted parts in a row", rule="toml.limit", where=f"{name}: line {line}"
        )
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as problem:
        found = _LINE.match(str(problem))
        message, at = (found[1], found[2].removeprefix("at ")) if found else (str(problem), "")
        raise InputError(message, rule="toml.syntax", where=f"{name}: {at}" if at else name) from None
    except RecursionError:
        raise InputError("values are nested too deeply", rule="toml.limit", where=name) from None
    except ValueError as problem:  # a number of thousands of digits
        raise InputError(f"a value cannot be read: {problem}", rule="toml.limit", where=name) from None


def _too_large(size: int, name: str) -> InputError:
    return InputError(
        f"{size} bytes are more than the limit of {MAX_BYTES} for a transfer file",
        rule="toml.limit",
        where=name,
        values={"size": size, "limit": MAX_BYTES},
    )


def read_choices(table: dict[str, Value], place: Place) -> dict[str, Value]:
    """The switches of a `choices` table; raises InputError at the key that is none or has no such value."""
    found = {}
    for name, value in table.items():
        try:
            found[name] = choice_named(name).parse(value)
        except DgeError as problem:
            rule = "key" if problem.rule == "choices.name" else "value"
            raise place.key(name).error(rule, problem.message, values=problem.values, fix=problem.fix) from None
    return found

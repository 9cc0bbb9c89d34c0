"""One door for every program: a transfer file, a NEFF, an NKI-style script, or bare words, as a `Workload`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dgekit.core.choices import Choices
from dgekit.core.errors import InputError, UsageError
from dgekit.core.generations import DEFAULT, Generation, generation_named
from dgekit.frontends import toml_file
from dgekit.frontends.detect import AUTO, WORD_KINDS, check_kind, detect, read_words_input
from dgekit.frontends.neff.read import read_neff
from dgekit.frontends.neff_run import workload as neff_workload
from dgekit.frontends.nki.script import split_source, trace
from dgekit.frontends.nki.versions import DEFAULT_VERSION
from dgekit.transfers.events import word_events
from dgekit.transfers.transfer import RawWords, Workload
from dgekit.words.stream import split_stream
from dgekit.words.structs import Word


def load(
    program: str | Path | Workload,
    *,
    generation: str | Generation | None = None,
    choices: Mapping[str, object] | None = None,
    inputs: Mapping[str, Any] | None = None,
    form: str = AUTO,
    subgraph: str = "",
    nki_version: str = DEFAULT_VERSION,
) -> Workload:
    """The workload of a program file (TOML, NEFF, words, or `kernel.py:function`); raises InputError.

    A Workload is taken as it is, with `generation`, `choices` and `inputs` on top. `subgraph` names the one to take of
    a NEFF that has several; `inputs` of a script are its arguments, `nki_version` is the NKI it is written for.
    """
    chip = generation_named(generation) if generation is not None else None
    if isinstance(program, Workload):
        merged = {**program.choices, **Choices(choices).overrides()}
        arrays = {**program.arrays, **(inputs or {})}
        return replace(program, generation=chip or program.generation, choices=merged, arrays=arrays)
    script = split_source(str(program))
    path = Path(script[0] if script else program)
    return load_program(
        read_file(path),
        Path(program).name,
        base_dir=path.parent,
        form=form,
        generation=chip,
        choices=choices,
        inputs=inputs,
        subgraph=subgraph,
        nki_version=nki_version,
    )


def read_file(path: Path) -> bytes:
    """The bytes of a file; raises InputError."""
    try:
        return path.read_bytes()
    except OSError as problem:
        raise InputError(f"cannot read {path}: {problem.strerror}", rule="input.file", where=path.name) from None


def load_program(
    data: bytes,
    name: str,
    *,
    base_dir: Path | None = None,
    form: str = AUTO,
    generation: Generation | None = None,
    choices: Mapping[str, object] | None = None,
    inputs: Mapping[str, Any] | None = None,
    subgraph: str = "",
    arguments: Mapping[str, Any] | None = None,
    nki_version: str = DEFAULT_VERSION,
) -> Workload:
    """The workload of a program's bytes; `generation`, `choices` and `inputs` win over what the program says.

    `form` is auto, toml, neff, py, jsonl, hex or bin; `inputs` are arrays by tensor (or variable) name; `subgraph`
    names one of a NEFF; `arguments` (arrays and numbers, beside `inputs`) and `nki_version` are for a script, whose
    `name` may end in `:function`. Raises InputError for what cannot be read, UsageError for inputs, arguments or a
    subgraph where there are none.
    """
    kind = detect(data, name) if form in ("", AUTO) else check_kind(form)
    if kind == "py":
        return _kernel(
            data, name, base_dir, generation, choices or {}, {**(inputs or {}), **(arguments or {})}, nki_version
        )
    if arguments:
        raise UsageError(
            f"{name} is a {kind} input and takes no arguments", rule="input.arguments", fix="--in loads its tensors"
        )
    if kind == "neff":
        neff = read_neff(data, name=name)
        return neff_workload(neff, inputs, Choices(choices), generation=generation, subgraph=subgraph)
    if subgraph:
        raise UsageError(
            f"{name} is a {kind} input and has no subgraphs", rule="input.subgraph", fix="leave --subgraph out"
        )
    if kind in WORD_KINDS:
        return _words(read_words_input(data, kind, name), name, generation, choices or {})
    return _toml(data, name, base_dir, generation, choices or {}, inputs or {})


def _toml(
    data: bytes,
    name: str,
    base_dir: Path | None,
    generation: Generation | None,
    choices: Mapping[str, object],
    inputs: Mapping[str, Any],
) -> Workload:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as problem:
        raise InputError(
            f"byte {problem.start} is no UTF-8", rule="toml.syntax", where=name, values={"offset": problem.start}
        ) from None
    loaded = toml_file.loads(text, base_dir, name=name)
    known = {tensor.name for tensor in loaded.tensors}
    for given in inputs:
        if given not in known:
            raise InputError(
                f"--in names tensor {given!r}, which {name} does not declare",
                rule="input.tensor",
                where=name,
                fix="one of " + ", ".join(sorted(known)),
            )
    return replace(
        loaded,
        generation=generation or loaded.generation,
        choices={**loaded.choices, **Choices(choices).overrides()},
        arrays={**loaded.arrays, **inputs},
    )


def _kernel(
    data: bytes,
    name: str,
    folder: Path | None,
    generation: Generation | None,
    choices: Mapping[str, object],
    arguments: Mapping[str, Any],
    nki_version: str,
) -> Workload:
    file, function = split_source(name) or (name, "")
    return trace(
        data, file, function, arguments, folder=folder, generation=generation, choices=choices, nki_version=nki_version
    )


def _words(data: bytes, name: str, generation: Generation | None, choices: Mapping[str, object]) -> Workload:
    """Bare words as raw transfers: each word, with the extension that belongs to it, is one."""
    stream = split_stream(data)
    items = tuple(_raw(f"w{number}", word, extension) for number, (_, word, extension) in enumerate(stream.items))
    return Workload(generation or DEFAULT, (), items, Choices(choices).overrides(), source=name, issues=stream.issues)


def _raw(name: str, word: Word, extension: Word | None) -> RawWords:
    waits, updates = word_events(word.encode(), name)
    return RawWords(
        name, word.encode() + (extension.encode() if extension is not None else b""), wait=waits, updates=updates
    )

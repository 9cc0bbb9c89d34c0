"""The names under which a script imports the API, installed for one run only."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from dgekit.frontends.nki import isa, kernels, language, names

ROOTS = ("nki", "neuronxcc.nki")
_KERNELS = ("jit", "simulate")


@contextmanager
def installed(folder: Path | None) -> Iterator[None]:
    """Make `nki`, `neuronxcc.nki` and their modules importable, and modules beside the script; then undo all of it.

    Modules of the script's folder that were imported meanwhile are forgotten: they hold the aliases.
    """
    before, path = dict(sys.modules), list(sys.path)
    for name in [name for name in sys.modules if _is_alias(name)]:
        del sys.modules[name]
    sys.modules.update(_modules())
    if folder is not None:
        sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path[:] = path
        for name in list(sys.modules):
            if _is_alias(name) or (name not in before and _lies_in(sys.modules[name], folder)):
                del sys.modules[name]
        sys.modules.update({name: module for name, module in before.items() if _is_alias(name)})
        importlib.invalidate_caches()


def _is_alias(name: str) -> bool:
    return name.split(".")[0] in ("nki", "neuronxcc")


def _lies_in(module: Any, folder: Path | None) -> bool:
    file = getattr(module, "__file__", None)
    return folder is not None and isinstance(file, str) and file.startswith(str(folder.resolve()) + os.sep)


def _modules() -> dict[str, ModuleType]:
    compiler = _package("neuronxcc", {})
    made = {"neuronxcc": compiler}
    for root in ROOTS:
        package = _package(root, {name: getattr(kernels, name) for name in _KERNELS})
        parts = {
            "isa": _module(f"{root}.isa", vars(isa)),
            "language": _module(f"{root}.language", vars(language)),
            "typing": _module(f"{root}.typing", {}),
        }
        for name, part in parts.items():
            setattr(package, name, part)
            made[f"{root}.{name}"] = part
        made[root] = package
    vars(compiler)["nki"] = made["neuronxcc.nki"]
    return made


def _module(name: str, contents: dict[str, Any]) -> ModuleType:
    """A module of public names; what it has not is `Absent`, under the name without the compiler's."""
    module = ModuleType(name)
    vars(module).update({key: value for key, value in contents.items() if not key.startswith("_")})
    found = contents.get("__getattr__")
    shown = name.removeprefix("neuronxcc.")
    vars(module)["__getattr__"] = found or (lambda key: names.absent(shown, key))
    return module


def _package(name: str, contents: dict[str, Any]) -> ModuleType:
    module = _module(name, contents)
    vars(module)["__path__"] = []
    return module

"""Arguments of a kernel as text: arrays from files, and numbers."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import numpy as np

from dgekit.core.dtypes import dtype_named
from dgekit.core.errors import UsageError
from dgekit.machine.contents import load_npy, value_dtype


def argument_value(text: str, where: str) -> Any:
    """An array of FILE.npy, of FILE.npy:DTYPE for the raw bits of a type that numpy lacks (D54), or a number.

    >>> argument_value("0x10", "--arg n"), argument_value("0.5", "--arg x"), argument_value("True", "--arg b")
    (16, 0.5, True)
    """
    path, _, dtype = text.partition(".npy:")
    if dtype:
        return _as_type(load_npy(Path(path + ".npy"), where), dtype, where)
    if text.endswith(".npy"):
        return np.array(load_npy(Path(text), where))
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        value = ...
    if value is not None and not isinstance(value, int | float | bool):
        raise UsageError(
            f"{where}: {text[:60]!r} is no number and no .npy file", rule="nki.arguments",
            fix="NAME=FILE.npy, NAME=FILE.npy:bfloat16, NAME=128",
        )  # fmt: skip
    return value


def _as_type(array: Any, name: str, where: str) -> Any:
    info = dtype_named(name)
    wanted = value_dtype(info)
    if array.dtype.itemsize != wanted.itemsize or array.dtype.kind not in "uV":
        raise UsageError(
            f"{where}: a file of {array.dtype} holds no raw bits of {info.name}", rule="dec.D54",
            values={"given": str(array.dtype), "declared": info.name},
            fix=f"save them as uint{info.bits}",
        )  # fmt: skip
    return np.array(array).view(wanted)

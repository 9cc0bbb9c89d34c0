"""What stops a kernel: a call that means nothing, or an exception of the script itself."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import dgekit
from dgekit.core.errors import DgeError

F = TypeVar("F", bound=Callable[..., Any])
OURS = str(Path(dgekit.__file__).parent) + os.sep


class KernelError(DgeError):
    """A kernel cannot go on: a call breaks a rule that `run` enforces (D81), a DMA failed, or the script raised.

    `told` is true when a transfer's own issues say it already.
    """

    default_rule = "nki.script"

    def __init__(self, message: str, *, told: bool = False, **details: Any) -> None:
        super().__init__(message, **details)
        self.told = told


def here() -> str:
    """The author's line that called into this package, as `file.py:12`; empty when there is none."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(OURS):
        frame = cast(Any, frame.f_back)
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}" if frame is not None else ""


def instruction(function: F) -> F:
    """Give the errors of an API function the author's line, where they name no place yet."""

    @functools.wraps(function)
    def placed(*args: Any, **options: Any) -> Any:
        try:
            return function(*args, **options)
        except DgeError as problem:
            problem.where = problem.where or here()
            raise

    return cast(F, placed)

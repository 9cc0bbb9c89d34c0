"""A kernel in a Python file: load the unmodified script, call its function, keep what the device did.

The script runs in a namespace of its own with the API's names installed for that time. What it raises becomes one
issue with the script's line; nothing of ours is ever in its traceback.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from dgekit.core.choices import Choices
from dgekit.core.errors import DgeError, InputError, UsageError
from dgekit.core.generations import DEFAULT, Generation
from dgekit.frontends.nki.aliases import installed
from dgekit.frontends.nki.faults import OURS, KernelError
from dgekit.frontends.nki.kernel_run import KernelRun
from dgekit.frontends.nki.kernels import Kernel, launch
from dgekit.frontends.nki.tensor import NkiTensor
from dgekit.frontends.nki.versions import DEFAULT_VERSION
from dgekit.transfers.transfer import Workload

_SOURCE = re.compile(r"(?P<path>.+\.py)(?::(?P<function>[A-Za-z_]\w*))?")
MESSAGE_LENGTH = 300


def split_source(text: str) -> tuple[str, str] | None:
    """(path, function) of `script.py` or `script.py:function`; None for what is no script.

    >>> split_source("a/b.py:gather"), split_source("b.py"), split_source("x.toml")
    (('a/b.py', 'gather'), ('b.py', ''), None)
    """
    found = _SOURCE.fullmatch(text)
    return (found["path"], found["function"] or "") if found else None


def run_script(
    data: bytes,
    name: str,
    function: str = "",
    arguments: Mapping[str, Any] | None = None,
    *,
    folder: Path | None = None,
    generation: Generation | None = None,
    choices: Mapping[str, object] | None = None,
    nki_version: str = DEFAULT_VERSION,
) -> KernelRun:
    """Run one function of a script; what stops it is the run's last issue (unless a transfer's issues say it).

    `data` is the script's text, `name` its file name; `function` may be left out where the script has one kernel.
    Raises InputError for a script that cannot be loaded, UsageError for arguments that do not fit.
    """
    code = _compiled(data, name)
    run = KernelRun(generation or DEFAULT, Choices(choices), nki_version, name)
    with installed(folder), run.active():
        try:
            kernel = _chosen(_executed(code, name), name, function)
            returned = launch(run, kernel, (), arguments or {}, {})
            run.outputs.update(_outputs(returned))
        except UsageError:
            raise
        except DgeError as problem:
            _note(run, problem)
        except (Exception, SystemExit) as problem:
            _note(run, _told(problem, name))
    return run


def trace(
    data: bytes, name: str, function: str = "", arguments: Mapping[str, Any] | None = None, **options: Any
) -> Workload:
    """The program that a kernel is: its concrete transfers, in order, with the author's calls and lines.

    Arguments and errors as `run_script`; a kernel that stops early yields what it did so far and an issue.
    """
    return run_script(data, name, function, arguments, **options).workload()


def _compiled(data: bytes, name: str) -> CodeType:
    try:
        return compile(data, name, "exec", dont_inherit=True)
    except SyntaxError as problem:
        raise InputError(
            f"SyntaxError: {problem.msg}", rule="nki.syntax", where=f"{name}:{problem.lineno or 1}",
            values={"line": problem.lineno or 1},
        ) from None  # fmt: skip
    except (ValueError, RecursionError, MemoryError) as problem:
        raise InputError(f"no Python: {str(problem)[:MESSAGE_LENGTH]}", rule="nki.syntax", where=name) from None


def _executed(code: CodeType, name: str) -> ModuleType:
    """The script's namespace; `__name__` is the file's stem, so that its main part does not run."""
    module = ModuleType(Path(name).stem)
    vars(module)["__file__"] = name
    exec(code, vars(module))
    return module


def _chosen(module: ModuleType, name: str, function: str) -> Callable[..., Any]:
    """The function asked for, or the one kernel of the script."""
    kernels = [key for key, value in vars(module).items() if isinstance(value, Kernel)]
    if not function and len(kernels) == 1:
        function = kernels[0]
    found = vars(module).get(function)
    if not callable(found) or function.startswith("__"):
        wanted = f"no function {function!r}" if function else f"{len(kernels)} kernels"
        listed = kernels or [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
        raise UsageError(
            f"{name} has {wanted}", rule="nki.function",
            fix=f"name one: {name}:FUNCTION, with " + (", ".join(listed[:10]) or "a function of the script"),
        )  # fmt: skip
    chosen: Callable[..., Any] = found
    return chosen


def _outputs(returned: Any) -> dict[str, NkiTensor]:
    """What the kernel returned by name: out, out1, out2 ..., or the keys of a dict."""
    if isinstance(returned, dict):
        return {str(key): value for key, value in returned.items() if isinstance(value, NkiTensor)}
    values = returned if isinstance(returned, tuple | list) else (returned,)
    return {
        f"out{number}" if number else "out": value
        for number, value in enumerate(values)
        if isinstance(value, NkiTensor)
    }


def _note(run: KernelRun, problem: DgeError) -> None:
    if isinstance(problem, KernelError) and problem.told:
        run.stopped = problem
    else:
        run.issues.append(problem.as_issue())


def _told(problem: BaseException, name: str) -> KernelError:
    """The script's own exception: its type and message, at its last line that took part."""
    walked = [frame for frame in traceback.extract_tb(problem.__traceback__) if not frame.filename.startswith(OURS)]
    frames = [frame for frame in walked if frame.filename == name] or walked
    where = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else name
    text = str(problem).strip()[:MESSAGE_LENGTH]
    if isinstance(problem, SystemExit):
        return KernelError(f"the script ended itself with SystemExit({problem.code!r})", where=where)
    return KernelError(f"{type(problem).__name__}: {text}" if text else type(problem).__name__, where=where)

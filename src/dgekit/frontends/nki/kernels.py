"""`jit` and `simulate`: a kernel as a function of numpy arrays."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dgekit.core.choices import Choices
from dgekit.core.errors import Unsupported, UsageError
from dgekit.core.generations import DEFAULT, Generation, generation_named
from dgekit.frontends.nki.faults import KernelError, here
from dgekit.frontends.nki.kernel_run import KernelRun, is_running
from dgekit.frontends.nki.names import REGIONS
from dgekit.frontends.nki.tensor import NkiTensor
from dgekit.frontends.nki.versions import DEFAULT_VERSION


class Kernel:
    """A function marked as a kernel. Called inside a kernel it is a plain function, elsewhere it is simulated."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        functools.update_wrapper(self, function)

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Run it: inside a kernel with its values, elsewhere with arrays."""
        if is_running():
            return self.function(*args, **options)
        return Simulation(self)(*args, **options)

    def __getitem__(self, grid: Any) -> Kernel:
        sizes = grid if isinstance(grid, tuple) else (grid,)
        if any(int(size) != 1 for size in sizes):
            told = f"a launch grid of {grid}: one program runs here"
            raise Unsupported(told, rule="nki.grid", where=here(), fix="launch [1]")
        return self


def jit(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Mark a function as a kernel; options of the compiler change nothing here."""
    del options
    if function is None:
        return Kernel
    return function if isinstance(function, Kernel) else Kernel(function)


class Simulation:
    """A kernel to be called with arrays; `run` holds the last call's `KernelRun`."""

    def __init__(
        self,
        kernel: Callable[..., Any],
        generation: str | Generation = DEFAULT,
        nki_version: str = DEFAULT_VERSION,
        choices: Mapping[str, object] | None = None,
    ) -> None:
        self.kernel = kernel
        self.generation = generation_named(generation)
        self.nki_version = nki_version
        self.choices = Choices(choices)
        self.run: KernelRun | None = None

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Arrays in, arrays out; an array given that the kernel wrote to is updated. Raises what the kernel raises."""
        run = self.run = KernelRun(self.generation, self.choices, self.nki_version)
        given: dict[str, Any] = {}
        with run.active():
            returned = launch(run, self.kernel, args, options, given)
        _write_back(run, given)
        return _as_arrays(run, returned)


def simulate(
    kernel: Callable[..., Any],
    *,
    generation: str | Generation = DEFAULT,
    nki_version: str = DEFAULT_VERSION,
    choices: Mapping[str, object] | None = None,
) -> Simulation:
    """A kernel as a function of numpy arrays: `simulate(kernel)(a, b)`.

    `generation` (trn2 unless named), `nki_version` and `choices` say what it runs on.
    """
    return Simulation(kernel, generation, nki_version, choices)


def launch(
    run: KernelRun, kernel: Callable[..., Any], args: Sequence[Any], options: Mapping[str, Any], given: dict[str, Any]
) -> Any:
    """Call the kernel with its arrays in HBM; `given` gets the arrays by the name of their tensor."""
    function = kernel.function if isinstance(kernel, Kernel) else kernel
    bound = bind(function, args, options)
    for name, value in bound.arguments.items():
        bound.arguments[name] = _argument(run, name, value, given)
    return function(*bound.args, **bound.kwargs)


def bind(function: Callable[..., Any], args: Sequence[Any], options: Mapping[str, Any]) -> inspect.BoundArguments:
    """The arguments by name; raises UsageError naming the parameters."""
    try:
        signature = inspect.signature(function)
        return signature.bind(*args, **options)
    except (TypeError, ValueError) as problem:
        parameters = ", ".join(inspect.signature(function).parameters) if callable(function) else "none"
        raise UsageError(
            f"the kernel's arguments do not fit: {problem}", rule="nki.arguments", fix=f"its parameters: {parameters}"
        ) from None


def _argument(run: KernelRun, name: str, value: Any, given: dict[str, Any]) -> Any:
    if isinstance(value, tuple | list):
        return type(value)(_argument(run, f"{name}{n}", one, given) for n, one in enumerate(value))
    if not isinstance(value, np.ndarray):
        return value
    if not value.ndim:
        return value.item()
    try:
        tensor = run.allocate(value.shape, value.dtype, REGIONS["shared_hbm"], name, np.ascontiguousarray(value))
    except KernelError as problem:
        problem.where = problem.where or f"argument {name}"
        raise
    given[tensor.name] = value
    return tensor


def _write_back(run: KernelRun, given: Mapping[str, Any]) -> None:
    for name, array in given.items():
        held = run.session.tensor_array(name)
        if array.flags.writeable and held.tobytes() != np.ascontiguousarray(array).tobytes():
            array[...] = held


def _as_arrays(run: KernelRun, value: Any) -> Any:
    if isinstance(value, NkiTensor):
        return run.read(value)
    if isinstance(value, tuple | list):
        return type(value)(_as_arrays(run, one) for one in value)
    if isinstance(value, dict):
        return {key: _as_arrays(run, one) for key, one in value.items()}
    return value

"""The device under a running kernel: its tensors, the transfers that ran, and what a `Workload` keeps of them."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dgekit.core.choices import Choices
from dgekit.core.errors import Issue, UsageError
from dgekit.core.generations import DEFAULT, Generation
from dgekit.frontends.nki.faults import KernelError, here
from dgekit.frontends.nki.names import REGIONS, ParDim, Region, element_info
from dgekit.frontends.nki.tensor import Buffer, NkiTensor, whole
from dgekit.frontends.nki.versions import DEFAULT_VERSION, is_before, version_named
from dgekit.machine.contents import value_dtype
from dgekit.machine.results import RunResult
from dgekit.machine.session import Session
from dgekit.patterns.runs import runs
from dgekit.transfers.access import access_walk
from dgekit.transfers.call import Call
from dgekit.transfers.placement import MEMORY_LIMIT
from dgekit.transfers.transfer import Item, SemaphoreStep, Tensor, Transfer, Workload, Write

_CURRENT: ContextVar[KernelRun | None] = ContextVar("dgekit_nki_run", default=None)
PoolKey = tuple[str, tuple[int, ...], str, str]


@dataclass
class KernelRun:
    """One kernel on one session; `items`, `calls` and `issues` are in the order of the script.

    A tile that the script no longer holds gives its place to the next one of the same shape and type, so that a loop
    needs as much SBUF as it holds at a time.
    """

    generation: Generation = DEFAULT
    choices: Choices = field(default_factory=Choices)
    version: str = DEFAULT_VERSION
    source: str = ""
    items: list[Item] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    issues: list[Issue] = field(default_factory=list)
    outputs: dict[str, NkiTensor] = field(default_factory=dict)
    arrays: dict[str, Any] = field(default_factory=dict)
    stopped: KernelError | None = None  # a transfer that failed, whose own issues say why

    def __post_init__(self) -> None:
        self.version = version_named(self.version)
        self.session = Session(self.generation, self.choices)
        self._tensors: dict[str, Tensor] = {}
        self._names: dict[str, int] = {}
        self._pool: dict[PoolKey, list[str]] = {}
        self._bytes = 0

    def before(self, version: str) -> bool:
        """True when the rules are those of an NKI older than `version`."""
        return is_before(self.version, version)

    # tensors

    def allocate(
        self, shape: Any, dtype: Any, region: Region = REGIONS["sbuf"], name: str = "", contents: Any = None
    ) -> NkiTensor:
        """A new tensor; `contents` is an array that it starts with. Raises a DgeError where it has no place."""
        extents = _extents(shape)
        info = element_info(dtype)
        space = region.space
        order = _partition_first(extents) if space != "hbm" else tuple(range(len(extents)))
        physical = tuple(int(extents[dim]) for dim in order)
        buffer = self._reused((space, physical, info.name, name), region) if contents is None else None
        if buffer is None:
            label = self._named(name or ("tensor" if space == "hbm" else "tile"))
            buffer = Buffer(self, label, space, region, physical, info)
            self._place(buffer, contents)
        if space == "sbuf" and contents is None:
            weakref.finalize(buffer, _release, self._pool, (space, physical, info.name, name), buffer.name)
        view = whole(buffer)
        if order == tuple(range(len(order))):
            return view
        inverse = [order.index(dim) for dim in range(len(order))]
        return view.permute(inverse)

    def _reused(self, key: PoolKey, region: Region) -> Buffer | None:
        free = self._pool.get(key)
        if not free:
            return None
        space, shape, dtype, _ = key
        return Buffer(self, free.pop(), space, region, shape, element_info(dtype))

    def _place(self, buffer: Buffer, contents: Any) -> None:
        self._bytes += buffer.nbytes
        if self._bytes > MEMORY_LIMIT:
            raise KernelError(
                f"the tensors up to here ask for {self._bytes} bytes, the limit is {MEMORY_LIMIT}",
                rule="nki.memory",
                values={"bytes": self._bytes, "limit": MEMORY_LIMIT},
            )
        if buffer.space == "psum":
            return  # DMA rules speak of it, but nothing here computes into it
        space: Any = buffer.space
        tensor = Tensor(buffer.name, space, buffer.shape, buffer.dtype, where=here())
        arrays = {} if contents is None else {buffer.name: contents}
        self.session.add_tensors([tensor], None, arrays)
        self._tensors[buffer.name] = tensor
        self.arrays |= arrays

    def _named(self, base: str) -> str:
        """The name, or the first of name_1, name_2 ... that is free."""
        label = base
        while label in self._names:
            self._names[base] += 1
            label = f"{base}_{self._names[base]}"
        self._names[label] = 0
        return label

    # bytes

    def read(self, view: NkiTensor) -> npt.NDArray[Any]:
        """The elements of a view as memory holds them now."""
        check_reach(view)
        walk = access_walk(view.access(), self.session.placement, self.generation, here())
        pieces = runs(walk)
        data = self.session.machine.memory.gather(pieces.starts, pieces.lengths)
        return data.view(value_dtype(view.info)).reshape(view.shape)

    def write(self, view: NkiTensor, data: bytes) -> None:
        """What a compute engine leaves in a view: its elements in order, or one that all get."""
        check_reach(view)
        step = SemaphoreStep(self._named("write"), engine="dve", where=here(), writes=(Write(view.access(), data),))
        self.session.run_items([step])
        self.items.append(step)
        self._raise_last(step.where)

    # transfers

    def perform(self, transfer: Transfer, issues: Iterable[Issue] = ()) -> None:
        """Run one transfer now; raises KernelError when it is not done. Every issue gets the author's line."""
        named = replace(transfer, name=self._named(transfer.name))
        self.items.append(named)
        (result,) = self.session.run_items([named])
        result.issues[:] = [_at(issue, named.where) for issue in (*issues, *result.issues)]
        self._raise_last(named.where)

    def _raise_last(self, where: str) -> None:
        result = self.session.results[-1]
        if result.ok:
            return
        issue = next((one for one in result.issues if one.severity == "error"), None)
        message = issue.message if issue else f"{result.name} is {result.status}"
        rule = issue.rule if issue else "nki.script"
        details = {"values": issue.values, "source": issue.source, "fix": issue.fix} if issue else {}
        raise KernelError(message, rule=rule, where=where, told=True, **details)

    # results

    def result(self) -> RunResult:
        """What the kernel left behind; what stopped it is among the issues."""
        finished = self.session.finish()
        return replace(finished, issues=(*finished.issues, *self.issues))

    def workload(self) -> Workload:
        """The kernel as a program: concrete transfers, each with its call, and the tensors where they lay."""
        placed = self.session.placement.placed
        tensors = tuple(
            replace(
                tensor,
                address=None if placed[name].in_sbuf else placed[name].address,
                partition=placed[name].partition if placed[name].in_sbuf else None,
                offset=placed[name].offset if placed[name].in_sbuf else None,
            )
            for name, tensor in self._tensors.items()
        )
        return Workload(
            self.generation,
            tensors,
            tuple(self.items),
            self.choices.overrides(),
            arrays=dict(self.arrays),
            source=self.source,
            issues=(*self.issues, *self._cut_short()),
            calls=tuple(self.calls),
        )

    def _cut_short(self) -> Iterator[Issue]:
        """A program that ends where a transfer failed is not the whole kernel, and says so."""
        if self.stopped is not None:
            message = f"the kernel stopped here, so nothing behind it is known: {self.stopped.message}"
            yield Issue("nki.stopped", "error", message, self.stopped.where, self.stopped.values, self.stopped.source)

    def output_arrays(self) -> Mapping[str, npt.NDArray[Any]]:
        """What the kernel returned, by name, as arrays."""
        return {name: self.read(view) for name, view in self.outputs.items()}

    @contextmanager
    def active(self) -> Iterator[None]:
        """Make this the run that API functions act on."""
        token = _CURRENT.set(self)
        try:
            yield
        finally:
            _CURRENT.reset(token)


def current() -> KernelRun:
    """The run that API functions act on; raises UsageError outside a kernel."""
    run = _CURRENT.get()
    if run is None:
        raise UsageError(
            "no kernel is running", rule="nki.outside", fix="call the kernel through nki.simulate or dge run"
        )
    return run


def is_running() -> bool:
    """True inside a kernel."""
    return _CURRENT.get() is not None


def check_reach(view: NkiTensor) -> None:
    """Raises KernelError for a view with elements outside its tensor, or in a memory that is not simulated."""
    if view.space == "psum":
        raise KernelError(f"{view.name} is in PSUM, which no DMA of NKI 0.3.0 and later takes", rule="nki.C1")
    low, high, elements = view.reach()
    if low < 0 or high >= elements:
        raise KernelError(
            f"the view of {view.name} reaches from element {low} to {high}, the tensor has {elements}",
            rule="nki.C11" if view.scalar else "nki.bounds",
            values={"lowest": low, "highest": high, "elements": elements},
            source="nki-dma 3",
            fix="patterns and offsets count in elements",
        )


def _release(pool: dict[PoolKey, list[str]], key: PoolKey, name: str) -> None:
    pool.setdefault(key, []).append(name)


def _at(issue: Issue, where: str) -> Issue:
    return issue if issue.where.startswith(where) else issue.at(where)


def _extents(shape: Any) -> tuple[int, ...]:
    try:
        extents = tuple(shape) if not isinstance(shape, int | np.integer) else (shape,)
    except TypeError:
        extents = ()
    bad = [extent for extent in extents if not hasattr(extent, "__index__") or extent < 1]
    if not extents or bad:
        raise KernelError(f"{shape!r} is no shape", rule="nki.shape", fix="a tuple of whole numbers from 1 on")
    return extents


def _partition_first(extents: tuple[int, ...]) -> tuple[int, ...]:
    """The order of dimensions in SBUF: the one marked nl.par_dim first, then the others as they stand."""
    marked = [dim for dim, extent in enumerate(extents) if isinstance(extent, ParDim)]
    first = marked[0] if marked else 0
    return (first, *(dim for dim in range(len(extents)) if dim != first))

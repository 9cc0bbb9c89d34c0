"""What a kernel holds: a view over a buffer of the device, with shape, strides and offset in elements.

In SBUF element e of a buffer lies in partition e // row (D40), so the strides of a view say partition and column at
once. Views share their buffer; nothing is copied.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from dgekit.core.dtypes import DtypeInfo
from dgekit.frontends.nki import layout
from dgekit.frontends.nki.faults import KernelError, instruction
from dgekit.frontends.nki.names import Absent, Element, Region, Register, element_info
from dgekit.transfers.transfer import Access

if TYPE_CHECKING:
    from dgekit.frontends.nki.kernel_run import KernelRun


class Buffer:
    """One tensor of the device: its name there, memory and physical shape (SBUF: the partition first)."""

    __slots__ = ("__weakref__", "dtype", "name", "region", "run", "shape", "space")

    def __init__(
        self, run: KernelRun, name: str, space: str, region: Region, shape: tuple[int, ...], dtype: DtypeInfo
    ) -> None:
        self.run, self.name, self.space, self.region, self.shape, self.dtype = run, name, space, region, shape, dtype

    @property
    def nbytes(self) -> int:
        """Bytes of the buffer."""
        return math.prod(self.shape) * self.dtype.size


@dataclass(frozen=True, slots=True, eq=False)
class NkiTensor:
    """A view: `shape`, `strides` and `start` in elements of `info`, over a buffer.

    `base_shape` is the tensor that an access pattern counts in; `pattern` the author's own pattern, if there is one.
    `vector` holds the row indices of a gather or scatter, `scalar` says that a run-time number is part of `start`.
    """

    storage: Buffer
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    info: DtypeInfo
    start: int = 0
    base_shape: tuple[int, ...] = ()
    pattern: tuple[tuple[int, int], ...] | None = None
    vector: NkiTensor | None = None
    scalar: bool = False
    indirect_dim: int = 0

    __array_ufunc__: ClassVar[None] = None
    __iter__: ClassVar[None] = None

    # facts

    @property
    def dtype(self) -> Element:
        """The element type."""
        return Element(self.info)

    @property
    def buffer(self) -> Region:
        """The memory it is in."""
        return self.storage.region

    @property
    def name(self) -> str:
        """The buffer's name on the device."""
        return self.storage.name

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def offset(self) -> int:
        """Elements from the buffer's start."""
        return self.start

    @property
    def space(self) -> str:
        """hbm, sbuf or psum."""
        return self.storage.space

    @property
    def is_whole(self) -> bool:
        """True when the view is its buffer, in order, whatever its shape."""
        dense = layout.dense_strides(self.shape)
        in_order = all(
            stride == wanted or extent == 1
            for stride, wanted, extent in zip(self.strides, dense, self.shape, strict=True)
        )
        return in_order and not self.start and self.size * self.info.size == self.storage.nbytes and self.vector is None

    def access(self) -> Access:
        """The view as a transfer names it."""
        dims = tuple(zip(self.strides, self.shape, strict=True)) or ((1, 1),)
        return Access(self.name, self.start, dims, None if self.info == self.storage.dtype else self.info)

    def reach(self) -> tuple[int, int, int]:
        """(lowest element, highest element, elements of the buffer)."""
        low = self.start + sum(min(0, s * (n - 1)) for s, n in zip(self.strides, self.shape, strict=True))
        high = self.start + sum(max(0, s * (n - 1)) for s, n in zip(self.strides, self.shape, strict=True))
        return low, high, self.storage.nbytes // self.info.size

    # views

    @instruction
    def __getitem__(self, key: Any) -> NkiTensor:
        from dgekit.frontends.nki.indexing import indexed

        return indexed(self, key if isinstance(key, tuple) else (key,))

    @instruction
    def __setitem__(self, key: Any, value: Any) -> None:
        from dgekit.frontends.nki.onchip import assign

        assign(self[key], value)

    @instruction
    def ap(
        self,
        pattern: Sequence[Sequence[int]],
        offset: int = 0,
        scalar_offset: Any = None,
        vector_offset: Any = None,
        indirect_dim: int = 0,
        dtype: Any = None,
    ) -> NkiTensor:
        """The elements of a hardware pattern: `[step, count]` pairs, outermost first, in elements (nki-dma 3).

        The pattern counts in the tensor it is called on and replaces an earlier one. Raises KernelError for a call
        that breaks the rules of addressing (nki.A1 to A5).
        """
        from dgekit.frontends.nki.patterns import patterned

        return patterned(self, pattern, offset, scalar_offset, vector_offset, indirect_dim, dtype)

    @instruction
    def reshape(self, *shape: Any) -> NkiTensor:
        """The same elements in another shape; raises KernelError where that needs a copy."""
        wanted = shape[0] if len(shape) == 1 and isinstance(shape[0], Sequence) else shape
        extents = layout.filled(tuple(int(extent) for extent in wanted), self.size)
        if self.space == "sbuf" and self.is_whole and extents[:1] != self.shape[:1]:
            raise KernelError(
                f"a reshape from {self.shape} to {extents} would move elements to other partitions",
                rule="nki.view",
                values={"shape": list(self.shape), "wanted": list(extents)},
                fix="keep the first dimension, or copy",
            )
        strides = layout.reshaped(self.shape, self.strides, extents)
        if strides is None or self.vector is not None:
            raise KernelError(
                f"a view of shape {self.shape} has no shape {extents} without a copy",
                rule="nki.view",
                values={"shape": list(self.shape), "wanted": list(extents)},
            )
        view = replace(self, shape=extents, strides=strides, pattern=None)
        return replace(view, base_shape=extents) if self.is_whole else view

    @instruction
    def permute(self, dims: Sequence[int]) -> NkiTensor:
        """The dimensions in another order."""
        order = tuple(int(dim) for dim in dims)
        if sorted(order) != list(range(self.ndim)):
            raise KernelError(f"{list(order)} is no order of {self.ndim} dimensions", rule="nki.view")
        shape, strides = (tuple(values[dim] for dim in order) for values in (self.shape, self.strides))
        return replace(self._plain(), shape=shape, strides=strides)

    @instruction
    def slice(self, dim: int, start: int, end: int, step: int = 1) -> NkiTensor:
        """A range of one dimension."""
        return self[(slice(None),) * dim + (slice(start, end, step),)]

    @instruction
    def select(self, dim: int, index: Any) -> NkiTensor:
        """One index of a dimension, which goes away."""
        return self[(slice(None),) * dim + (index,)]

    @instruction
    def expand_dim(self, dim: int) -> NkiTensor:
        """A new dimension of one element."""
        return self[(slice(None),) * dim + (None,)]

    @instruction
    def squeeze_dim(self, dim: int) -> NkiTensor:
        """Without a dimension of one element."""
        if self.shape[dim] != 1:
            raise KernelError(f"dimension {dim} has {self.shape[dim]} elements, not 1", rule="nki.view")
        return self.select(dim, 0)

    @instruction
    def view(self, dtype: Any) -> NkiTensor:
        """The same bytes as another element type: the innermost dimension counts anew."""
        info = element_info(dtype)
        if info.size == self.info.size:
            return replace(self, info=info)
        last = (self.shape[-1] * self.info.size) if self.shape else 0
        values = [stride * self.info.size for stride in (self.start, *self.strides[:-1])]
        if not self.shape or self.strides[-1] != 1 or last % info.size or any(value % info.size for value in values):
            raise KernelError(
                f"rows of {last} bytes hold no whole {info.name}", rule="nki.view", values={"bytes": last}
            )
        start, *strides = (value // info.size for value in values)
        shape = (*self.shape[:-1], last // info.size)
        view = replace(self._plain(), shape=shape, strides=(*strides, 1), info=info, start=start)
        return replace(view, base_shape=shape) if view.is_whole else view

    def _plain(self) -> NkiTensor:
        """The view, which must not be dynamic."""
        if self.vector is not None:
            raise KernelError("a view with a vector offset cannot be taken apart", rule="nki.A4")
        return replace(self, pattern=None)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return Absent(f"nki.language.NkiTensor.{name}")

    def __len__(self) -> int:
        return self.shape[0] if self.shape else 0

    def __repr__(self) -> str:
        return f"<{self.name}: {self.space} {self.shape} {self.info.name}>"


def whole(buffer: Buffer) -> NkiTensor:
    """The view of a whole buffer."""
    return NkiTensor(buffer, buffer.shape, layout.dense_strides(buffer.shape), buffer.dtype, base_shape=buffer.shape)


def is_number(value: Any) -> bool:
    """True for what `int` may be asked of: whole numbers and registers."""
    return isinstance(value, Register) or (hasattr(value, "__index__") and not hasattr(value, "ndim"))

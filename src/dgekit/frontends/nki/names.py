"""Names of the API that are values: enums, element types, buffers, operators, loops, and what is absent (D90)."""

from __future__ import annotations

import enum
from typing import Any, NoReturn

import numpy as np

from dgekit.core.dtypes import DtypeInfo, dtype_named
from dgekit.core.errors import DgeError, Unsupported
from dgekit.frontends.nki.faults import KernelError, here
from dgekit.machine.contents import value_dtype

# nki-dma 1: the enums of nki.isa


class dge_mode(enum.Enum):  # noqa: N801 - the API's own spelling
    """Who writes the descriptors of a DMA."""

    unknown = 0
    swdge = 1
    hwdge = 2
    none = 3


class oob_mode(enum.Enum):  # noqa: N801
    """What an address out of bounds does."""

    error = 0
    skip = 1


class engine(enum.Enum):  # noqa: N801
    """The engines of a NeuronCore."""

    unknown = 0
    tensor = 1
    scalar = 2
    gpsimd = 3
    dma = 4
    vector = 5
    sync = 6


class nc_version(enum.Enum):  # noqa: N801
    """The NeuronCore version of the target: Trn1 and Inf2, Trn2, Trn3."""

    gen2 = 2
    gen3 = 3
    gen4 = 4


class dma_engine(enum.Enum):  # noqa: N801
    """Who moves the bytes of a sendrecv."""

    dma = 1
    gpsimd_dma = 2


class Element:
    """An element type of nki.language; equal to its name and to the numpy type of that name."""

    def __init__(self, info: DtypeInfo) -> None:
        self.info = info
        self.dtype = value_dtype(info)  # what numpy.dtype(element) finds

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.info.size

    def __eq__(self, other: object) -> bool:
        try:
            return element_info(other) == self.info
        except DgeError:
            return False

    def __hash__(self) -> int:
        return hash(self.info.name)

    def __repr__(self) -> str:
        return self.info.name


def element_info(given: Any) -> DtypeInfo:
    """The element type of a name, a numpy type or an Element; raises KernelError for what a device has not.

    >>> element_info("bfloat16").size, element_info(np.float32).name
    (2, 'float32')
    """
    if isinstance(given, Element):
        return given.info
    if isinstance(given, Absent):
        given.refuse()
    if isinstance(given, str):
        name = given
    else:
        try:
            name = np.dtype(given).name
        except TypeError:
            name = str(given)
    try:
        info = dtype_named(name)
    except DgeError as problem:
        raise KernelError(f"no element type is named {name[:60]!r}", rule="nki.dtype", fix=problem.fix) from None
    if info.size == 0:
        raise Unsupported(f"{info.name} has {info.bits} bits; memory is laid out in bytes", rule="nki.dtype")
    return info


DTYPE_NAMES = (
    "int8", "int16", "int32", "uint8", "uint16", "uint32", "float16", "float32", "bfloat16",
    "float8_e4m3", "float8_e4m3fn", "float8_e5m2", "float8_e3m4",
)  # fmt: skip
ELEMENTS = {name: Element(dtype_named(name)) for name in DTYPE_NAMES}


class Region:
    """A memory that a tensor may be in: hbm, sbuf or psum."""

    def __init__(self, name: str, space: str) -> None:
        self.name, self.space = name, space

    def __repr__(self) -> str:
        return self.name


REGIONS = {
    name: Region(name, "hbm" if name.endswith("hbm") else name)
    for name in ("sbuf", "psum", "hbm", "shared_hbm", "private_hbm")
}


def region_space(given: Any) -> str:
    """hbm, sbuf or psum of a buffer argument; raises KernelError for what is none."""
    if given is None or given is Ellipsis:
        return "sbuf"
    region = given if isinstance(given, Region) else REGIONS.get(str(given))
    if region is None:
        raise KernelError(f"{given!r} is no buffer", rule="nki.buffer", fix="one of " + ", ".join(REGIONS))
    return region.space


class Operator:
    """An arithmetic operator of nki.language: DMA takes its name only, it computes nothing here."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, *_args: Any, **_options: Any) -> NoReturn:
        """Raise Unsupported."""
        told = f"nki.language.{self.name} computes; only data movement runs here"
        raise Unsupported(told, rule="nki.unsupported", where=here())

    def __repr__(self) -> str:
        return f"nki.language.{self.name}"


OPERATORS = {name: Operator(name) for name in ("add", "subtract", "multiply", "maximum", "minimum")}


def operator_name(given: Any) -> str:
    """The name of an operator: ours, or numpy's of older scripts."""
    if isinstance(given, Absent):
        given.refuse()
    return str(getattr(given, "name", "") or getattr(given, "__name__", "") or given)


class Absent:
    """A name of the API that this tool has not: it can be imported and passed on, using it raises Unsupported."""

    def __init__(self, name: str) -> None:
        self._name = name

    def refuse(self) -> NoReturn:
        """Raise Unsupported naming the function."""
        raise Unsupported(
            f"{self._name} is not part of this tool, which runs data movement only",
            rule="nki.unsupported",
            where=here(),
            values={"name": self._name},
        )

    def __call__(self, *_args: Any, **_options: Any) -> NoReturn:
        """Raise Unsupported."""
        self.refuse()

    def __getitem__(self, _key: Any) -> Absent:
        return self  # an annotation such as tensor[128, 512]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent(f"{self._name}.{name}")

    def __repr__(self) -> str:
        return self._name


def absent(module: str, name: str) -> Absent:
    """What a module's `__getattr__` gives for a name it has not; names that tools look for anywhere stay missing."""
    if name.startswith(("_", "pytest")):
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    return Absent(f"{module}.{name}")


class ParDim(int):
    """An extent that lies along the partitions (nl.par_dim)."""


class Register:
    """A register of a sequencer: one whole number known at run time."""

    def __init__(self, value: int | None = None) -> None:
        self.value = value

    def __index__(self) -> int:
        if self.value is None:
            raise KernelError(
                "the register was never written", rule="nki.register", fix="register_move or register_load"
            )
        return self.value

    __int__ = __index__

    def __repr__(self) -> str:
        return f"Register({self.value})"


class Dynamic:
    """A slice that starts where a number says (nl.ds): `start` may be a register."""

    def __init__(self, start: Any, size: int) -> None:
        self.start, self.size = start, int(size)


class TileSize:
    """The constants of nl.tile_size (nki-dma 6)."""

    pmax = 128
    psum_fmax = 512
    gemm_stationary_fmax = 128
    gemm_moving_fmax = 512


class Grid(tuple[Any, ...]):
    """The index tiles of nl.mgrid, to unpack or to name: p, x, y, z, w."""

    def __getattr__(self, name: str) -> Any:
        if name in (names := ("p", "x", "y", "z", "w")) and names.index(name) < len(self):
            return self[names.index(name)]
        raise AttributeError(name)


class MeshGrid:
    """nl.mgrid: dense index tiles, as numpy's."""

    def __getitem__(self, key: Any) -> Grid:
        ranges = key if isinstance(key, tuple) else (key,)
        return Grid(np.mgrid[ranges])

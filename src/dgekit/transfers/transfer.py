"""What a user asked, as values: tensors, accesses, transfers and the whole workload.

Units at this level: elements of the tensor's dtype. `Access.pattern` is `((step, count), ...)` outermost first, as
NKI writes it. A front end builds a `Workload`; nothing below this package sees TOML, NEFF or Python kernels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from dgekit.core.dtypes import DtypeInfo
from dgekit.core.errors import Issue
from dgekit.core.evt_sem import PROGRAM_CORE
from dgekit.core.generations import Generation
from dgekit.core.state import Mailbox, ShapeRegister
from dgekit.transfers.call import Call

Space = Literal["hbm", "sbuf"]
Op = Literal["copy", "transpose", "gather", "scatter", "gather_transpose", "reduce"]
Mode = Literal["unknown", "none", "swdge", "hwdge"]
OPS: tuple[Op, ...] = ("copy", "transpose", "gather", "scatter", "gather_transpose", "reduce")
ENGINES = ("pe", "act", "pool", "dve", "sp")  # the processors whose streams hold words
REDUCTIONS = ("add", "fma", "min", "max")
Accumulate = Literal["", "add", "max", "min", "multiply"]
UPDATES: tuple[Accumulate, ...] = ("add", "max", "min", "multiply")  # the compute ops of a word, as keys
Oob = Literal["error", "skip"]
OOB: tuple[Oob, ...] = ("error", "skip")
MODES: tuple[Mode, ...] = ("unknown", "none", "swdge", "hwdge")


@dataclass(frozen=True, slots=True)
class Tensor:
    """A named block of memory: HBM (row-major, contiguous) or SBUF (first dimension = partition, D40).

    Pins (D39): `address` (SoC, HBM), `partition` and `offset` (SBUF; bytes inside the partition), `core`, `var_id`.
    `linear` marks a NEFF state-buffer: SBUF seen as linear bytes, 0x40000 = the next partition (D17).
    `init` is arange, zeros, ones, random, a path ending in .npy, or empty (uninitialised).
    """

    name: str
    space: Space
    shape: tuple[int, ...]
    dtype: DtypeInfo
    init: str = ""
    seed: int = 0
    address: int | None = None
    partition: int | None = None
    offset: int | None = None
    core: int = 0
    var_id: int | None = None
    linear: bool = False
    where: str = ""

    @property
    def fn_form(self) -> bool:
        """True for E4M3 in its FN form (D54)."""
        return self.dtype.fn

    @property
    def elements(self) -> int:
        """Number of elements."""
        total = 1
        for extent in self.shape:
            total *= extent
        return total

    @property
    def nbytes(self) -> int:
        """Bytes of the whole tensor, densely packed."""
        return self.elements * self.dtype.size

    @property
    def row_elements(self) -> int:
        """Elements of one SBUF partition row: the product of all dimensions but the first."""
        return self.elements // self.shape[0] if self.shape and self.shape[0] else 0


@dataclass(frozen=True, slots=True)
class Access:
    """A pattern over one tensor: `offset` and `(step, count)` in elements, outermost first; None = the whole tensor.

    `dtype` reads the tensor's bytes as another type (a NEFF variable is bytes, each entry names its own type);
    offset, pattern and the transfer's types then count in that type. None: the tensor's own.
    """

    tensor: str
    offset: int = 0
    pattern: tuple[tuple[int, int], ...] | None = None
    dtype: DtypeInfo | None = None


@dataclass(frozen=True, slots=True)
class Bound:
    """A bound on one leg: general register `register` holds `limit` (None: whatever the register holds)."""

    register: int
    limit: int | None = None
    notify: bool = True


Compare = Literal["ge", "gt", "eq", "le", "lt"]
UpdateOp = Literal["add", "sub", "write"]


@dataclass(frozen=True, slots=True)
class Wait:
    """Do not start before semaphore `semaphore` compares to `value`; then subtract `value` if `decrement` (D53).

    The transfer file's `at_least` is `compare = "ge"`. `core` is the core whose semaphores count; a program's own
    are those of core 0 (D42).
    """

    semaphore: int
    value: int
    compare: Compare = "ge"
    decrement: bool = False
    core: int = PROGRAM_CORE


@dataclass(frozen=True, slots=True)
class Update:
    """A semaphore write that the issuing instruction itself does when it is done (its EVENTS block)."""

    semaphore: int
    op: UpdateOp
    value: int
    core: int = PROGRAM_CORE


@dataclass(frozen=True, slots=True)
class Write:
    """Bytes that an instruction other than a DMA leaves in memory (a memset, an iota, a register that is stored).

    `data` holds the elements of the access in order, or one element that all of them get.
    """

    access: Access
    data: bytes


@dataclass(frozen=True, slots=True)
class SemaphoreStep:
    """An instruction of an engine stream that is no DMA: it waits, leaves its `writes`, then updates semaphores."""

    name: str
    wait: tuple[Wait, ...] = ()
    updates: tuple[Update, ...] = ()
    engine: str = "pool"
    where: str = ""
    writes: tuple[Write, ...] = ()


@dataclass(frozen=True, slots=True)
class Transfer:
    """One request. `src` and `dst` for all ops; `indices` for gather, scatter, gather_transpose.

    reduce reads `srcs` and writes `dst`, or all of `dsts`; `src` and `dst` are then the first of each.
    `call` is the author's call, where the front end knows it.
    """

    name: str
    op: Op
    src: Access
    dst: Access
    mode: Mode = "unknown"
    semaphore: int | None = None
    increment: int = 1
    wait: tuple[Wait, ...] = ()
    updates: tuple[Update, ...] = ()
    indices: Access | None = None
    oob: Oob = "error"
    accumulate: Accumulate = ""
    non_unique: bool = False
    src_bound: Bound | None = None
    dst_bound: Bound | None = None
    priority: int = 0
    queue: str = ""
    engine: str = "pool"
    queue_type: str = ""
    num_queues: int | None = None
    srcs: tuple[Access, ...] = ()
    compute: str = ""
    dsts: tuple[Access, ...] = ()
    scales: tuple[float, ...] = ()
    constant: float | None = None
    constant_dtype: str = ""
    accum: str = ""
    seed: int | None = None
    call: Call | None = None
    where: str = ""


@dataclass(frozen=True, slots=True)
class RawWords:
    """A transfer given as words: 64 bytes (resolved, or a pseudo word), or 128 (pseudo and its extension), D41.

    `core` is the core that executes them; None: the one whose SBUF the word names, else 0.
    """

    name: str
    words: bytes
    mode: Mode = "unknown"
    semaphore: int | None = None
    increment: int | None = None
    wait: tuple[Wait, ...] = ()
    updates: tuple[Update, ...] = ()
    engine: str = "pool"
    where: str = ""
    core: int | None = None


@dataclass(frozen=True, slots=True)
class MachineInit:
    """Machine state a program sets before it starts (D41); registers hold unsigned 32-bit values.

    `chip_id` is the routing id of the device, by which legs between cores name it.
    """

    registers: Mapping[int, int] = field(default_factory=dict)
    local_registers: Mapping[int, int] = field(default_factory=dict)
    shape_registers: Mapping[int, ShapeRegister] = field(default_factory=dict)
    address_table: Mapping[int, int | str] = field(default_factory=dict)
    mailboxes: tuple[Mailbox, ...] = ()
    priority_bytes: tuple[int, ...] = ()
    semaphores: Mapping[int, int] = field(default_factory=dict)
    chip_id: int = 0


Item = Transfer | RawWords | SemaphoreStep


@dataclass(frozen=True, slots=True)
class Workload:
    """Everything a front end hands over: generation, choice overrides, tensors, machine state and the transfers.

    `base_dir` is where relative .npy paths start; `arrays` holds contents that did not come from a file name
    (bytes of a NEFF member, numpy arrays of a kernel), by tensor name. Items of one `engine` run in order; a
    blocked item holds up its own engine's stream only. `issues` is what the front end noticed and went on from;
    `calls` are an author's calls that become no item, because this tool checks them but does not run them (D81).
    """

    generation: Generation
    tensors: tuple[Tensor, ...]
    items: tuple[Item, ...]
    choices: Mapping[str, Any] = field(default_factory=dict)
    state: MachineInit = field(default_factory=MachineInit)
    base_dir: Path | None = None
    arrays: Mapping[str, Any] = field(default_factory=dict)
    source: str = ""
    issues: tuple[Issue, ...] = ()
    calls: tuple[Call, ...] = ()

"""Rules about a whole program: memory shapes, queues and semaphores (nki-dma 3, 6 and 7).

These look at a `Program`, not at one call; they are declared in `PROGRAM_RULES` in the same form.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dgekit.advise.rings import QUEUE_LIMIT
from dgekit.advise.rules import LIBRARY, Finding, severity_of
from dgekit.core.errors import Issue, Severity
from dgekit.core.generations import GIB, KIB, Generation
from dgekit.core.state import NUM_REGISTERS, NUM_SEMAPHORES
from dgekit.patterns.walk import Walk
from dgekit.transfers.access import whole_pattern
from dgekit.transfers.call import Call
from dgekit.transfers.queues import queue_name
from dgekit.transfers.transfer import Access, RawWords, Tensor, Transfer, Workload

SCRATCH = 16384  # bytes of each partition that the library leaves to dynamic DMA
SCRATCH_MORE = 8 + 256  # what the library takes off besides
PSUM_BYTES = 16 * KIB
HBM_BYTES: Mapping[int, int] = {2: 32 * GIB, 3: 96 * GIB, 4: 144 * GIB}  # a chip, by NeuronCore version
DESCRIPTOR_BYTES = 1 << 16

_GUIDES = (("D", "Trainium, Trainium2 and Trainium3 architecture guides"),)
_TRN1_GUIDE = (("D", "Trainium/Inferentia2 architecture guide"),)
_DRIVER = (("S", "aws-neuron-driver"),)


@dataclass(frozen=True, slots=True)
class Program:
    """What a program rule looks at: the workload, its calls (one a transfer, then the check-only ones), the modes."""

    workload: Workload
    calls: Sequence[Call]
    dynamic: bool

    @property
    def generation(self) -> Generation:
        """The target."""
        return self.workload.generation


@dataclass(frozen=True, slots=True)
class ProgramRule:
    """One declared rule about a whole program."""

    id: str
    statement: str
    sources: tuple[tuple[str, str], ...]
    severity: Severity
    fix: str
    find: Callable[[Program], Iterator[tuple[str, Finding]]]

    @property
    def source(self) -> str:
        """The pages as one line, each with its evidence letter."""
        return "; ".join(f"{page} [{letter}]" for letter, page in self.sources)

    def issues(self, program: Program) -> Iterator[Issue]:
        """The findings as issues; a finding without a place gets the program's name."""
        for where, found in self.find(program):
            place = where or program.workload.source
            fix = found.fix or self.fix
            yield Issue(
                self.id, found.severity or self.severity, found.message, place, dict(found.values), self.source, fix
            )


PROGRAM_RULES: dict[str, ProgramRule] = {}
Find = Callable[[Program], Iterator[tuple[str, Finding]]]


def program_rule(
    rule_id: str,
    statement: str,
    sources: tuple[tuple[str, str], ...],
    fix: str,
    severity: Severity | None = None,
) -> Callable[[Find], Find]:
    """Declare the decorated function as a rule; it yields (place, finding)."""

    def declare(find: Find) -> Find:
        if rule_id in PROGRAM_RULES:
            raise ValueError(f"rule {rule_id} is declared twice")
        level = severity or severity_of(sources)
        PROGRAM_RULES[rule_id] = ProgramRule(rule_id, statement, sources, level, fix, find)
        return find

    return declare


def program_issues(program: Program) -> list[Issue]:
    """Every finding of every rule."""
    return [issue for each in PROGRAM_RULES.values() for issue in each.issues(program)]


def _on_chip(program: Program) -> Iterator[Tensor]:
    return (tensor for tensor in program.workload.tensors if tensor.space == "sbuf" and not tensor.linear)


@program_rule(
    "nki.6.partitions",
    "SBUF and PSUM have 128 partitions; the first dimension of a tensor there is the partition.",
    _GUIDES,
    "cut the first dimension into tiles of 128",
)
def partitions(program: Program) -> Iterator[tuple[str, Finding]]:
    """First dimensions over the number of partitions."""
    limit = program.generation.partitions
    for tensor in _on_chip(program):
        last = (tensor.partition or 0) + (tensor.shape[0] if tensor.shape else 1)
        if last > limit:
            message = f"{tensor.name} {list(tensor.shape)} ends at partition {last}, there are {limit}"
            yield tensor.where or tensor.name, Finding(message, {"end": last, "partitions": limit})


@program_rule(
    "nki.6.sbuf",
    "A partition of SBUF holds 192 KiB (NeuronCore-v2), 224 KiB (v3) or 256 KiB (v4).",
    _GUIDES,
    "cut the rows, or use tiles that share a place",
)
def sbuf_bytes(program: Program) -> Iterator[tuple[str, Finding]]:
    """Rows wider than a partition, and all tensors of a core side by side."""
    limit = program.generation.active_bytes
    for tensor in _on_chip(program):
        end = (tensor.offset or 0) + tensor.row_elements * tensor.dtype.size
        if end > limit:
            message = f"{tensor.name} ends at byte {end} of its partitions, which hold {limit} on "
            message += program.generation.name
            yield tensor.where or tensor.name, Finding(message, {"bytes": end, "maximum": limit})


@program_rule(
    "nki.6.scratch",
    "The library leaves 16384 bytes of each partition to dynamic DMA, and 264 more to others.",
    (("L", LIBRARY),),
    "keep SBUF tensors below that, or use mode none",
    "advice",
)
def dynamic_scratch(program: Program) -> Iterator[tuple[str, Finding]]:
    """SBUF in use, of programs with a run-time address."""
    if not program.dynamic:
        return
    limit = program.generation.active_bytes - SCRATCH - SCRATCH_MORE
    used: Counter[int] = Counter()
    for tensor in _on_chip(program):
        size = tensor.row_elements * tensor.dtype.size
        used[tensor.core] = max(used[tensor.core] + (size if tensor.offset is None else 0), (tensor.offset or 0) + size)
    for core, end in sorted(used.items()):
        if end > limit:
            message = f"tensors reach byte {end} of core {core}'s partitions; dynamic DMA wants {SCRATCH} bytes free"
            yield "", Finding(message, {"bytes": end, "limit": limit, "scratch": SCRATCH})


@program_rule(
    "nki.6.psum",
    "A partition of PSUM holds 16 KiB.",
    _GUIDES,
    "cut the tile",
)
def psum_bytes(program: Program) -> Iterator[tuple[str, Finding]]:
    """PSUM operands of calls."""
    for call in program.calls:
        for view in (call.dst, *call.srcs):
            size = math.prod(view.base_shape[1:]) * view.dtype.size
            if view.space == "psum" and size > PSUM_BYTES:
                message = f"{view.tensor} has {size} bytes a partition of PSUM, which holds {PSUM_BYTES}"
                yield call.line, Finding(message, {"bytes": size, "maximum": PSUM_BYTES})


@program_rule(
    "nki.6.hbm",
    "A chip has 32 GiB of HBM (NeuronCore-v2), 96 GiB (v3) or 144 GiB (v4).",
    _GUIDES,
    "keep less in HBM at a time",
)
def hbm_bytes(program: Program) -> Iterator[tuple[str, Finding]]:
    """All HBM tensors together."""
    limit = HBM_BYTES.get(program.generation.nc)
    total = sum(tensor.nbytes for tensor in program.workload.tensors if tensor.space == "hbm")
    if limit is not None and total > limit:
        yield "", Finding(f"{total} bytes in HBM, the chip has {limit}", {"bytes": total, "maximum": limit})


@program_rule(
    "nki.A6",
    "A sequencer has 64 registers of 32 bits.",
    _TRN1_GUIDE,
    "keep values in SBUF, or use registers again",
)
def registers(program: Program) -> Iterator[tuple[str, Finding]]:
    """General registers that the program sets."""
    for number in sorted(program.workload.state.registers):
        if number >= NUM_REGISTERS:
            values = {"register": number, "registers": NUM_REGISTERS}
            yield "", Finding(f"register {number}; there are {NUM_REGISTERS}, from 0 on", values)


@program_rule(
    "nki.7.queues",
    "A DMA engine has 16 queues; one DMA uses the same queue of all engines.",
    (("D", "Introduction to DMA with NKI"),),
    "let transfers share queues",
    "warning",  # names are not numbers: the runtime may map several to one queue
)
def queues(program: Program) -> Iterator[tuple[str, Finding]]:
    """Distinct queue names."""
    names = {queue_name(item) for item in program.workload.items if isinstance(item, Transfer)}
    limit = program.generation.queues_per_engine
    if len(names) > limit:
        message = f"{len(names)} queues are named, an engine has {limit}"
        yield "", Finding(message, {"queues": len(names), "maximum": limit})


@program_rule(
    "nki.7.semaphores",
    "A core has 256 semaphores.",
    _DRIVER,
    "use semaphores 0 to 255",
)
def semaphores(program: Program) -> Iterator[tuple[str, Finding]]:
    """Semaphores that are incremented or waited for."""
    for item in program.workload.items:
        own = [item.semaphore] if isinstance(item, Transfer | RawWords) and item.semaphore is not None else []
        for number in {*own, *(wait.semaphore for wait in item.wait), *(each.semaphore for each in item.updates)}:
            if not 0 <= number < NUM_SEMAPHORES:
                message = f"semaphore {number}; a core has {NUM_SEMAPHORES}"
                yield item.where or item.name, Finding(message, {"semaphore": number, "semaphores": NUM_SEMAPHORES})


@program_rule(
    "nki.7.queue_limit",
    "A queue takes 32 to 16,777,200 descriptors.",
    (*_DRIVER, ("I", "aws-neuron-sdk report 980")),
    "merge runs, or spread the transfers over queues",
)
def queue_limit(program: Program) -> Iterator[tuple[str, Finding]]:
    """Descriptors of static transfers by queue: at least the runs of the longer side, over all engines."""
    tensors = {tensor.name: tensor for tensor in program.workload.tensors}
    counts: Counter[str] = Counter()
    for item in program.workload.items:
        if isinstance(item, Transfer) and item.mode == "none":
            counts[queue_name(item)] += max(_descriptors(access, tensors) for access in (item.src, item.dst))
    for name, total in counts.items():
        each = -(-total // program.generation.engines)
        if each > QUEUE_LIMIT:
            message = f"queue {name} holds at least {each} descriptors on some engine, the limit is {QUEUE_LIMIT}"
            yield "", Finding(message, {"descriptors": each, "maximum": QUEUE_LIMIT})


def _descriptors(access: Access, tensors: Mapping[str, Tensor]) -> int:
    """Descriptors of one side: its runs, none longer than 64 KiB; in SBUF a run ends with the row at the latest."""
    tensor: Any = tensors.get(access.tensor)
    size = (access.dtype or tensor.dtype).size if tensor is not None else 0
    if size < 1:
        return 0
    pattern = access.pattern if access.pattern is not None else whole_pattern(tensor, size)
    if any(count < 1 for _, count in pattern):
        return 0
    folded = Walk(0, tuple((step * size, count) for step, count in reversed(pattern)), size).folded()
    longest = DESCRIPTOR_BYTES
    if tensor.space == "sbuf" and not tensor.linear:
        longest = min(longest, max(1, tensor.row_elements * tensor.dtype.size))
    return folded.count * -(-folded.elem // longest)

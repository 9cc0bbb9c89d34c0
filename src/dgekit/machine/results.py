"""What a run leaves behind: one result per transfer, the semaphores, the tensors and the events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from dgekit.cce.work import ComputeWork
from dgekit.core.choices import Value
from dgekit.core.errors import Issue, has_errors
from dgekit.core.events import EventLog
from dgekit.core.generations import Generation
from dgekit.descriptors.batch import DescriptorBatch
from dgekit.firmware.pipeline import Outcome
from dgekit.firmware.values import Backend, MicroOp
from dgekit.transfers.transfer import Tensor

Status = Literal["done", "skipped", "refused"]


@dataclass(slots=True)
class TransferResult:
    """One transfer as it went: words, firmware outcomes, descriptors, status and issues.

    `index` is the item's number in the program, which events carry; `line` the author's line, for a kernel.
    `pseudo` and `resolved` are 64-byte words (a pseudo word is followed by its extension, if it has one);
    `outcomes` holds one firmware outcome a resolved word (none for the static path). `computes` is what each channel
    computes; `lossy` counts the elements that lost bits when a cast or a computation wrote them.
    """

    name: str
    kind: str
    mode: str
    index: int = -1
    backend: Backend = Backend.NONE
    status: Status = "done"
    pseudo: list[bytes] = field(default_factory=list)
    resolved: list[bytes] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    batches: list[DescriptorBatch] = field(default_factory=list)
    issues: list[Issue] = field(default_factory=list)
    lossy: int = 0
    computes: list[ComputeWork] = field(default_factory=list)
    where: str = ""
    line: str = ""

    @property
    def program(self) -> tuple[MicroOp, ...]:
        """The micro-ops of every word of the transfer, in order."""
        return tuple(op for outcome in self.outcomes for op in outcome.program.ops)

    @property
    def descriptors(self) -> DescriptorBatch:
        """Every descriptor of the transfer."""
        return DescriptorBatch.joined(self.batches)

    @property
    def ok(self) -> bool:
        """True when the transfer is done and no issue is an error (D44)."""
        return self.status == "done" and not has_errors(self.issues)

    def refuse(self, issue: Issue) -> None:
        """Mark the transfer refused for the reason given."""
        self.status = "refused"
        self.issues.append(issue)


@dataclass(frozen=True, slots=True)
class TensorResult:
    """A tensor after the run: its declaration and the SHA-256 of its dense bytes."""

    tensor: Tensor
    sha256: str


@dataclass(frozen=True, slots=True)
class RunResult:
    """A whole run; `choices` lists the switches it depended on, `issues` those that belong to no transfer;
    `notifications` are the 16-byte records that the host got, in order; `semaphores` are those of core 0,
    `core_semaphores` those of the others."""

    generation: Generation
    choices: Mapping[str, Value]
    transfers: tuple[TransferResult, ...]
    semaphores: Mapping[int, int]
    tensors: Mapping[str, TensorResult]
    events: EventLog
    log: tuple[str, ...]
    issues: tuple[Issue, ...] = ()
    notifications: tuple[bytes, ...] = ()
    core_semaphores: Mapping[int, Mapping[int, int]] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """True when every transfer is done and no issue is an error."""
        return all(result.ok for result in self.transfers) and not has_errors(self.issues)

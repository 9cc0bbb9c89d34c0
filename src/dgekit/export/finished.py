"""What is finished, as people and programs use it: a run with its tensors as they are now, a transfer of a device."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from dgekit.advise.cost import Cost, cost_of, path_of
from dgekit.core.dtypes import dtype_named
from dgekit.core.errors import Issue
from dgekit.core.events import Event
from dgekit.core.generations import Generation
from dgekit.descriptors.batch import DescriptorBatch
from dgekit.export.run_json import run_to_json
from dgekit.export.walk import output_lines
from dgekit.firmware.values import MicroOp
from dgekit.machine.contents import file_dtype
from dgekit.machine.results import RunResult, TransferResult
from dgekit.machine.session import Session
from dgekit.words.codec import decode_word


class Run:
    """A finished run: the values of its `RunResult`, and the tensors as they are now.

    `ok`, `transfers` (words, outcomes, program, descriptors, status, issues of each), `semaphores`, `log`, `choices`,
    `notifications`, `issues`, `generation`, `events`, `tensors`. Of a kernel also what it returned: `outputs`, arrays
    by name (out, out1, ...), which `tensor` and `file_array` know too.
    """

    def __init__(
        self,
        result: RunResult,
        session: Session,
        outputs: Mapping[str, npt.NDArray[Any]] | None = None,
        nki_version: str = "",
    ) -> None:
        self.result = result
        self.outputs = dict(outputs or {})
        self.nki_version = nki_version
        self._session = session

    @property
    def names(self) -> list[str]:
        """What `tensor` takes."""
        return [*self.outputs, *self.result.tensors]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.result, name)

    def tensor(self, name: str) -> npt.NDArray[Any]:
        """A copy of a tensor as it is after the run."""
        return self.outputs[name].copy() if name in self.outputs else self._session.tensor_array(name)

    def file_array(self, name: str) -> npt.NDArray[Any]:
        """A tensor in the storage type of a .npy file: types numpy lacks as uint8 or uint16 (D54)."""
        if name in self.outputs:
            array = self.outputs[name]
            return array.view(file_dtype(dtype_named(array.dtype.name)))
        return self._session.tensor_array(name, for_file=True)

    def to_json(self) -> dict[str, Any]:
        """The object that `dge run --json` prints."""
        return run_to_json(self.result, self.outputs, self.nki_version)

    def output_lines(self) -> Iterator[str]:
        """What a kernel returned, one line each; nothing for other programs."""
        return output_lines(self.result, self.outputs, self.nki_version)


@dataclass(frozen=True, slots=True)
class Done:
    """One transfer of a device, carried out (or refused): words, micro-ops, descriptors, log lines, issues, cost."""

    result: TransferResult
    log: tuple[str, ...]
    events: tuple[Event, ...]
    generation: Generation

    @property
    def status(self) -> str:
        """done, skipped or refused."""
        return self.result.status

    @property
    def ok(self) -> bool:
        """True when it is done and no issue is an error."""
        return self.result.ok

    @property
    def words(self) -> tuple[Any, ...]:
        """The resolved words, decoded."""
        return tuple(decode_word(data) for data in self.result.resolved)

    @property
    def program(self) -> tuple[MicroOp, ...]:
        """The micro-ops."""
        return self.result.program

    @property
    def descriptors(self) -> DescriptorBatch:
        """The 16-byte descriptors of both legs."""
        return self.result.descriptors

    @property
    def lossy(self) -> int:
        """Elements that lost bits when a cast or a computation wrote them."""
        return self.result.lossy

    @property
    def issues(self) -> tuple[Issue, ...]:
        """What was found on the way."""
        return tuple(self.result.issues)

    @property
    def cost(self) -> Cost:
        """How long it may take: an estimate, its band and sources; raises Unspecified where nothing is published."""
        return cost_of(self.result.batches, path_of(self.result.backend), self.generation)

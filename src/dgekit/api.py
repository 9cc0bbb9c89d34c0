"""The facade behind the package's public names: words in and out, checks, runs, and a `Device` to try things on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dgekit.advise.verdict import Verdict
from dgekit.advise.verdict import verdicts as judge
from dgekit.core.choices import Choices
from dgekit.core.dtypes import DtypeInfo, dtype_named
from dgekit.core.errors import InputError, Issue, UsageError
from dgekit.core.generations import DEFAULT, Generation, generation_named
from dgekit.core.state import Mailbox, ShapeRegister
from dgekit.export.finished import Done, Run
from dgekit.export.stages import stage_named, stage_to_json
from dgekit.frontends.load import load, read_file
from dgekit.frontends.nki import run_script, split_source
from dgekit.frontends.nki.versions import DEFAULT_VERSION
from dgekit.frontends.program.options import option_fields
from dgekit.frontends.program.tensors import tensor_issues
from dgekit.logs.render import render_log
from dgekit.machine.fabric import Fabric
from dgekit.machine.session import Session, run_workload
from dgekit.transfers.events import word_events
from dgekit.transfers.transfer import Access, MachineInit, RawWords, Tensor, Transfer, Workload
from dgekit.words.checks import check_word
from dgekit.words.codec import decode_word, encode_word
from dgekit.words.enums import WORD_SIZE
from dgekit.words.word import Word

Overrides = Mapping[str, object]
Given = str | Path | Workload


def decode(data: bytes | str) -> Any:
    """One word from 64 bytes or from hex text.

    Raises DecodeError for another size, InputError for bad hex, UsageError for anything else.

    >>> decode("b8100000" + "00" * 60).kind
    'DMA_DIRECT2D'
    """
    return decode_word(_as_bytes(data))


def encode(word: Any) -> bytes:
    """The 64 bytes of a word; raises UsageError for what is none.

    >>> from dgekit.words.structs import DmaDirect2D
    >>> encode(DmaDirect2D(semaphore=10))[:16].hex(" ")
    'b8 10 00 00 00 00 00 00 00 00 00 00 00 0a 00 00'
    """
    if not isinstance(word, Word):
        raise UsageError(f"{type(word).__name__} is no word", rule="api.word", fix="decode it first")
    return encode_word(word)


def check(
    word: Any, generation: str | Generation = DEFAULT, choices: Overrides | None = None, *, extension: Any = None
) -> list[Issue]:
    """Every issue of a word (64 bytes, hex text or a decoded word) on a generation; nothing is raised for findings.

    `extension` is the PSEUDO_DMA_EXT behind a pseudo word. Raises UsageError for an unknown generation or choice.

    >>> [issue.rule for issue in check("bd100000" + "00" * 60, "trn1") if issue.severity == "error"]
    ['isa.7.word']
    """
    decoded = word if isinstance(word, Word) else decode(word)
    return check_word(decoded, generation_named(generation), Choices(choices), extension)


def _as_bytes(data: bytes | str) -> bytes:
    if not isinstance(data, str):
        try:
            return bytes(memoryview(data))
        except TypeError:
            raise UsageError(f"{type(data).__name__} is neither bytes nor hex text", rule="api.word") from None
    try:
        return bytes.fromhex("".join(data.split()))
    except ValueError:
        raise InputError("a word's text must be hex digits", rule="input.hex") from None


def run(
    program: Given,
    *,
    generation: str | Generation | None = None,
    choices: Overrides | None = None,
    inputs: Mapping[str, Any] | None = None,
    subgraph: str = "",
    nki_version: str = DEFAULT_VERSION,
) -> Run:
    """Run a program file (TOML, NEFF, words, or `kernel.py:function`) or a Workload on a fresh device.

    `generation` and `choices` win over the program's own; `inputs` are arrays by tensor name, or the arguments of a
    kernel. What fails inside a transfer is in its status and issues; what cannot be read raises InputError.
    """
    script = None if isinstance(program, Workload) else split_source(str(program))
    if script is not None:
        path = Path(script[0])
        chip = generation_named(generation) if generation is not None else None
        kernel = run_script(
            read_file(path),
            path.name,
            script[1],
            inputs,
            folder=path.parent,
            generation=chip,
            choices=choices,
            nki_version=nki_version,
        )
        return Run(kernel.result(), kernel.session, kernel.output_arrays(), kernel.version)
    workload = load(program, generation=generation, choices=choices, inputs=inputs, subgraph=subgraph)
    return Run(*run_workload(workload))


def verdicts(
    program: Given,
    *,
    generation: str | Generation | None = None,
    nki_version: str = "",
    choices: Overrides | None = None,
    inputs: Mapping[str, Any] | None = None,
    subgraph: str = "",
) -> list[Verdict]:
    """For each transfer of a program and each mode: legal or not, by which rules, as `dge check` shows it.

    Arguments as those of `run`; without `nki_version` the calls' own counts, else 0.6.0. Nothing is moved. Raises
    InputError for what cannot be read.
    """
    workload = load(
        program,
        generation=generation,
        choices=choices,
        inputs=inputs,
        subgraph=subgraph,
        nki_version=nki_version or DEFAULT_VERSION,
    )
    return judge(workload, nki_version=nki_version)


def lower(
    program: Given,
    stage: str = "descriptors",
    *,
    generation: str | Generation | None = None,
    choices: Overrides | None = None,
    subgraph: str = "",
) -> dict[str, Any]:
    """A program at one stage as data, as `dge lower --json` prints it (schema `lower`).

    `stage` is pseudo, word, shape, plan, program or descriptors; raises UsageError for another, InputError as `run`.
    """
    wanted = stage_named(stage)
    return stage_to_json(run(program, generation=generation, choices=choices, subgraph=subgraph).result, wanted)


@dataclass(frozen=True, slots=True)
class TensorRef:
    """A tensor of a device; `at` names a part of it, `numpy` reads it."""

    device: Device
    name: str
    access: Access

    def at(self, pattern: Sequence[Sequence[int]] | None = None, offset: int = 0) -> TensorRef:
        """A part: `[step, count]` pairs outermost first, and an offset, all in elements."""
        dims = None if pattern is None else tuple((int(step), int(count)) for step, count in pattern)
        return TensorRef(self.device, self.name, Access(self.name, offset, dims))

    def numpy(self) -> npt.NDArray[Any]:
        """A copy of the whole tensor's present contents."""
        return self.device.session.tensor_array(self.name)

    def store(self, array: npt.NDArray[Any]) -> None:
        """Overwrite the whole tensor."""
        self.device.session.store_array(self.name, np.asarray(array))


class Device:
    """One simulated device: put tensors in HBM and SBUF, move data between them, look at every stage.

    >>> import numpy as np
    >>> device = Device("trn2")
    >>> x = device.hbm(np.arange(8, dtype=np.float32).reshape(2, 4), name="x")
    >>> y = device.sbuf((2, 4), "float32")
    >>> device.copy(y, x).status, y.numpy().tolist() == x.numpy().tolist()
    ('done', True)
    """

    def __init__(
        self,
        generation: str | Generation = DEFAULT,
        choices: Overrides | None = None,
        *,
        chip_id: int = 0,
        fabric: Fabric | None = None,
    ) -> None:
        """`chip_id` is its routing id; devices of one `fabric` reach each other's cores."""
        self.generation = generation_named(generation)
        self.session = Session(self.generation, Choices(choices), chip_id=chip_id, fabric=fabric)

    # tensors

    def hbm(
        self,
        contents: npt.ArrayLike | None = None,
        *,
        shape: Sequence[int] | None = None,
        dtype: str = "",
        name: str = "",
        address: int | None = None,
    ) -> TensorRef:
        """A tensor in HBM, from an array or (uninitialised) from shape and dtype."""
        array = None if contents is None else np.asarray(contents)
        extents, info = _declared(array, shape, dtype)
        return self._add(Tensor(self._named(name), "hbm", extents, info, address=address), array)

    def sbuf(
        self,
        shape: Sequence[int] | None = None,
        dtype: str = "",
        *,
        contents: npt.ArrayLike | None = None,
        name: str = "",
        partition: int | None = None,
        offset: int | None = None,
        core: int = 0,
    ) -> TensorRef:
        """A tensor in SBUF; its first dimension is the partition."""
        array = None if contents is None else np.asarray(contents)
        extents, info = _declared(array, shape, dtype)
        tensor = Tensor(self._named(name), "sbuf", extents, info, partition=partition, offset=offset, core=core)
        return self._add(tensor, array)

    def _named(self, name: str) -> str:
        taken = self.session.placement.placed
        return name or next(f"t{n}" for n in range(len(taken) + 1) if f"t{n}" not in taken)

    def _add(self, tensor: Tensor, contents: npt.NDArray[Any] | None) -> TensorRef:
        arrays = {} if contents is None else {tensor.name: contents}
        self.session.add_tensors([tensor], None, arrays)
        self.session.issues += tensor_issues([tensor], self.generation)
        return TensorRef(self, tensor.name, Access(tensor.name))

    # state

    def set_registers(self, values: Mapping[int, int]) -> None:
        """Load general registers 0..63."""
        self.session.set_state(MachineInit(registers=values))

    def set_local_registers(self, values: Mapping[int, int]) -> None:
        """Load local registers: 38 feature flags, 39 carveout, 40 allowed DMAs and queues."""
        self.session.set_state(MachineInit(local_registers=values))

    def set_shape_register(self, index: int, num: Sequence[int], step: Sequence[int]) -> None:
        """Load a DGE shape register: four counts and four steps, fastest first."""
        register = ShapeRegister(_four(num), _four(step))
        self.session.set_state(MachineInit(shape_registers={index: register}))

    def set_address_table(self, entries: Mapping[int, int | TensorRef]) -> None:
        """Load entries of the DGE address table, with addresses or tensors."""
        table = {entry: to.name if isinstance(to, TensorRef) else to for entry, to in entries.items()}
        self.session.set_state(MachineInit(address_table=table))

    def set_mailboxes(self, mailboxes: Sequence[tuple[int, int]]) -> None:
        """Set the DGE mailboxes as (priority, mask) pairs."""
        self.session.set_state(MachineInit(mailboxes=tuple(Mailbox(*pair) for pair in mailboxes)))

    def set_priority_bytes(self, packet_bytes: Sequence[int]) -> None:
        """Set the preferred bytes per packet of classes 1..4."""
        self.session.set_state(MachineInit(priority_bytes=tuple(packet_bytes)))

    @property
    def semaphores(self) -> dict[int, int]:
        """All semaphores that are not 0."""
        return self.session.machine.semaphores.nonzero()

    # transfers; keyword options are the keys of a transfer (mode, semaphore, increment, wait, oob, ...)

    def copy(self, dst: TensorRef, src: TensorRef, **options: Any) -> Done:
        """Copy (and cast, when the dtypes differ) `src` to `dst`; `accumulate` updates `dst` instead."""
        return self.transfer("copy", dst, src, **options)

    def transpose(self, dst: TensorRef, src: TensorRef, **options: Any) -> Done:
        """Transpose a 2-D `src` into `dst`."""
        return self.transfer("transpose", dst, src, **options)

    def gather(self, dst: TensorRef, src: TensorRef, indices: TensorRef, **options: Any) -> Done:
        """Rows `indices` of `src` to `dst`; `oob` is error or skip."""
        return self.transfer("gather", dst, src, indices=indices.access, **options)

    def scatter(self, dst: TensorRef, src: TensorRef, indices: TensorRef, **options: Any) -> Done:
        """`src` to rows `indices` of `dst`; `accumulate` (add, max, min, multiply) updates them."""
        return self.transfer("scatter", dst, src, indices=indices.access, **options)

    def gather_transpose(self, dst: TensorRef, src: TensorRef, indices: TensorRef, **options: Any) -> Done:
        """Rows `indices` of `src`, transposed, to `dst`."""
        return self.transfer("gather_transpose", dst, src, indices=indices.access, **options)

    def reduce(
        self, dst: TensorRef | Sequence[TensorRef], srcs: Sequence[TensorRef], compute: str = "add", **options: Any
    ) -> Done:
        """Combine `srcs` element by element by `compute` (add, fma, min, max) and write `dst`, or each of several.

        Options: `scales` (fma, one a source), `constant` and `constant_dtype` (min, max), `accum`, `seed`.

        >>> import numpy as np
        >>> device = Device("trn2")
        >>> a, b = (device.hbm(np.full(8, value, np.float32)) for value in (1.0, 3.0))
        >>> mean = device.hbm(shape=[8], dtype="float32")
        >>> device.reduce(mean, [a, b], "fma", scales=[0.5, 0.5]).status, float(mean.numpy()[0])
        ('done', 2.0)
        """
        targets = [dst] if isinstance(dst, TensorRef) else list(dst)
        if not targets or not srcs:
            raise UsageError("a reduction has a source and a destination", rule="api.reduce")
        options |= {key: dtype_named(options[key]).name for key in ("accum", "constant_dtype") if key in options}
        sides = {"srcs": tuple(ref.access for ref in srcs), "dsts": tuple(ref.access for ref in targets)}
        return self.transfer("reduce", targets[0], srcs[0], compute=compute, **sides, **options)

    def transfer(self, op: Any, dst: TensorRef, src: TensorRef, **options: Any) -> Done:
        """Any transfer; raises UsageError for an option that does not exist, InputError for a table that is wrong."""
        name = options.pop("name", f"{op}{len(self.session.results)}")
        try:
            item = Transfer(name, op, src.access, dst.access, **option_fields(name, options))
        except TypeError as problem:
            raise UsageError(f"{op}: {problem}".replace("Transfer.__init__() ", ""), rule="api.option") from None
        return self._carried(item)

    def run_words(self, words: bytes | str, *, mode: Any = "unknown", name: str = "", core: int | None = None) -> Done:
        """Run words given as bytes or hex, one after the other: 64 bytes each, a pseudo word with its extension 128.

        Waits and updates of their EVENTS are honoured; `core` is the core that executes them, whose semaphores they
        then name.
        """
        named, data = name or f"w{len(self.session.results)}", _as_bytes(words)
        waits, updates = word_events(data[:WORD_SIZE], named, core or 0) if len(data) >= WORD_SIZE else ((), ())
        return self._carried(RawWords(named, data, mode, wait=waits, updates=updates, core=core))

    def _carried(self, item: Transfer | RawWords) -> Done:
        session = self.session
        before = len(session.events)
        (result,) = session.run_items([item])
        events = session.events.since(before)
        return Done(result, tuple(render_log(events, self.generation, session.choices)), events, self.generation)

    @property
    def log(self) -> list[str]:
        """Every log line so far."""
        return render_log(self.session.events, self.generation, self.session.choices)

    def __iter__(self) -> Iterator[TensorRef]:
        for name in self.session.placement.placed:
            yield TensorRef(self, name, Access(name))


def _four(values: Sequence[int]) -> tuple[int, int, int, int]:
    if len(values) != 4:
        raise UsageError(f"a shape register has 4 dimensions, {len(values)} given", rule="pipeline.2.4")
    first, second, third, fourth = values
    return first, second, third, fourth


def _declared(
    array: npt.NDArray[Any] | None, shape: Sequence[int] | None, dtype: str
) -> tuple[tuple[int, ...], DtypeInfo]:
    """Shape and element type of a new tensor; a named dtype wins over the array's."""
    if array is None and (shape is None or not dtype):
        raise UsageError("a tensor needs contents, or shape and dtype", rule="api.tensor")
    extents = tuple(shape) if shape is not None else array.shape if array is not None else ()
    info = dtype_named(dtype) if dtype else dtype_named(str(array.dtype) if array is not None else "")
    return tuple(int(extent) for extent in extents), info


__all__ = ["Device", "Done", "Run", "TensorRef", "check", "decode", "encode", "load", "lower", "run", "verdicts"]

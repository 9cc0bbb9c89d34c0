"""A device with guarded tensors: every byte of every tensor is known before and compared after a transfer."""

from __future__ import annotations

from typing import Any

import numpy as np
from oracle import Flat, numpy_dtype

from dgekit.api import Device, Done, TensorRef

# every pair of generation and mode that exists (D47, isa-words 7, pipeline 9)
PUSH_MODES = ("none", "unknown", "swdge", "hwdge")
PAIRS = [
    ("SUNDA", "none"),
    *((gen, mode) for gen in ("CAYMAN", "MARIANA", "MARIANA_PLUS") for mode in PUSH_MODES),
    ("MAVERICK", "none"),
]
SPACES = [(src, dst) for src in ("hbm", "sbuf") for dst in ("hbm", "sbuf")]
DTYPES = (
    "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16", "bfloat16", "float32",
    "float8_e3m4", "float8_e4m3", "float8_e4m3fn", "float8_e5m2",
)  # fmt: skip
ENGINES = {"SUNDA": 16, "CAYMAN": 16, "MARIANA": 16, "MARIANA_PLUS": 16, "MAVERICK": 8}
SEMAPHORE, INCREMENT = 10, 3


class World:
    """Tensors with a guard on either side of each; `refs` names them, `before` holds their bytes."""

    def __init__(
        self, generation: str, choices: dict[str, Any] | None = None, seed: int = 0, partitions: int = 32
    ) -> None:
        self.generation = generation
        self.device = Device(generation, choices)
        self.refs: dict[str, TensorRef] = {}
        self.before: dict[str, Flat] = {}
        self._random = np.random.default_rng(seed)
        self._guards = 0
        self._partitions = partitions  # that guards in SBUF cover; a page of memory each
        for space in ("hbm", "sbuf"):
            self.guard(space)

    def guard(self, space: str) -> None:
        """A tensor that no transfer touches, behind whatever lies there."""
        self._guards += 1
        self.tensor(f"guard{self._guards}", space, (self._partitions, 16), "uint32")

    def tensor(
        self, name: str, space: str, shape: tuple[int, ...], dtype: str, values: Flat | None = None
    ) -> TensorRef:
        """A tensor with the given values, else with random bytes."""
        info = numpy_dtype(dtype)
        if values is None:
            count = int(np.prod(shape)) * info.itemsize
            values = self._random.integers(0, 256, count, np.uint8).view(info).reshape(shape)
        make = self.device.hbm if space == "hbm" else self.device.sbuf
        self.refs[name] = make(contents=values, shape=shape, dtype=dtype, name=name)
        self.before[name] = values.reshape(-1).copy()
        if not name.startswith("guard"):
            self.guard(space)
        return self.refs[name]

    def flat(self, name: str) -> Flat:
        """A tensor's elements now."""
        return self.refs[name].numpy().reshape(-1)

    def changed(self) -> list[str]:
        """The tensors that do not hold their first bytes any more."""
        return [
            name for name, before in self.before.items() if self.flat(name).view("u1").tobytes() != before.tobytes()
        ]

    def expect_untouched(self, done: Done) -> None:
        """The transfer changed nothing, signalled nothing, and says why, with a rule."""
        assert done.status in ("refused", "skipped"), (done.status, done.issues)
        assert self.changed() == [] and self.device.semaphores == {}
        assert any(issue.severity == "error" and issue.rule and issue.message for issue in done.issues), done.issues
        assert not done.ok

    def expect_signal(self, done: Done) -> None:
        """The semaphore as D33 wants it: once on the way through the DGE, once an engine where pairs of BDs do it."""
        mode = done.result.mode
        if mode == "none":
            times = ENGINES[self.generation]
        elif self.device.session.choices.text("sem_mode") == "per_engine":
            times = len({channel.dma for channel in done.result.batches[-1].channels})
        else:
            times = 1
        assert self.device.semaphores == {SEMAPHORE: INCREMENT * times}

"""NKI-style kernels on the simulated device: `nki.jit`, `nki.simulate`, `nki.isa`, `nki.language`.

>>> import numpy as np
>>> from dgekit import nki
>>> from dgekit.nki import isa, language as nl
>>> @nki.jit
... def first_rows(a):
...     out = nl.ndarray((2, a.shape[1]), dtype=a.dtype, buffer=nl.shared_hbm)
...     isa.dma_copy(dst=out, src=a[0:2])
...     return out
>>> nki.simulate(first_rows)(np.arange(12, dtype=np.float32).reshape(4, 3)).tolist()
[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
"""

from __future__ import annotations

from typing import Any

import dgekit.nki.isa as isa  # `from dgekit.nki` would find what __getattr__ makes, not the module
import dgekit.nki.language as language
from dgekit.frontends.nki import names
from dgekit.frontends.nki.kernels import Kernel, Simulation, jit, simulate

__all__ = ["Kernel", "Simulation", "isa", "jit", "language", "simulate"]


_ABSENT = ("baremetal", "benchmark", "compiler", "profile", "simulate_kernel", "trace", "typing")


def __getattr__(name: str) -> Any:
    if name in _ABSENT:
        return names.absent("nki", name)
    raise AttributeError(f"module 'nki' has no attribute {name!r}")

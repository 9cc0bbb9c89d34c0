"""dgekit: the open workbench for the DMA stack of AWS Trainium.

Words in and out: `decode`, `encode`, `check`. Programs (transfer files, NEFF, words): `run`, `lower`, `load`, and
before anything runs `verdicts` for what is legal, `advise` for what to expect. A device to try things on: `Device`.
Switches for what no source settles: `Choices`. What went wrong: `Issue`, `DgeError`.

>>> import dgekit
>>> word = dgekit.decode("b8100000" + "00" * 60).replace(semaphore=10)
>>> word
DmaDirect2D(semaphore=10)
>>> dgekit.encode(word)[13]
10
>>> import numpy as np
>>> device = dgekit.Device("trn2")
>>> x = device.hbm(np.arange(256, dtype=np.int16).reshape(16, 16), name="x")
>>> tile = device.sbuf((16, 8), "int16", name="tile")
>>> done = device.copy(tile, x.at([[16, 16], [2, 8]]), semaphore=3)
>>> done.status, device.semaphores, tile.numpy()[1].tolist()
('done', {3: 1}, [16, 18, 20, 22, 24, 26, 28, 30])
>>> done.log[-3]
'S: push GENERATE to DMA[1]: RD : addr=0x10000100, elem_size=2, sem_num=3'

The same is on the command line as `dge`. The public names are imported when first used, so that `import dgekit` costs
nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dgekit.advise.report import advise
    from dgekit.api import Device, Run, check, decode, encode, load, lower, run, verdicts
    from dgekit.core.choices import Choices
    from dgekit.core.errors import DgeError, Issue

__version__ = "0.1.0"

__all__ = [
    "Choices", "Device", "DgeError", "Issue", "Run", "advise", "check", "decode", "encode", "load", "lower", "run",
    "verdicts",
]  # fmt: skip

_HOMES = {
    "Choices": "dgekit.core.choices",
    "DgeError": "dgekit.core.errors",
    "Issue": "dgekit.core.errors",
    "advise": "dgekit.advise.report",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'dgekit' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES.get(name, "dgekit.api")), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])

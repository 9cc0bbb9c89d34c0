"""dgekit: the open workbench for the DMA stack of AWS Trainium.

The public names are imported when first used, so that `import dgekit` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dgekit.api import Device, Run, check, decode, encode, load, lower, run
    from dgekit.core.choices import Choices
    from dgekit.core.errors import DgeError, Issue

__version__ = "0.1.0"

__all__ = ["Choices", "Device", "DgeError", "Issue", "Run", "check", "decode", "encode", "load", "lower", "run"]

_HOMES = {"Choices": "dgekit.core.choices", "DgeError": "dgekit.core.errors", "Issue": "dgekit.core.errors"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'dgekit' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_HOMES.get(name, "dgekit.api")), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])

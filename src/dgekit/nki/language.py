"""nki.language: tensors, indices, loops, loads and stores. What is missing raises Unsupported when it is used."""

from __future__ import annotations

from dgekit.frontends.nki.language import *  # noqa: F403
from dgekit.frontends.nki.language import __all__ as __all__
from dgekit.frontends.nki.language import __dir__ as __dir__
from dgekit.frontends.nki.language import __getattr__ as __getattr__

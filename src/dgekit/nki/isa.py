"""nki.isa: instructions that move data. What is missing raises Unsupported when it is used."""

from __future__ import annotations

from dgekit.frontends.nki.isa import *  # noqa: F403
from dgekit.frontends.nki.isa import __all__ as __all__
from dgekit.frontends.nki.isa import __getattr__ as __getattr__

"""Runs: the contiguous pieces that a walk (or an index vector) visits, as numpy columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

I64 = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Runs:
    """Contiguous pieces in order: `starts` (n,) byte addresses and `lengths` (n,) bytes, both int64."""

    starts: I64
    lengths: I64

    @property
    def nbytes(self) -> int:
        """Bytes of all pieces together."""
        return int(self.lengths.sum())

    def __len__(self) -> int:
        return len(self.starts)

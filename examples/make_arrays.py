"""Writes the small index arrays that the transfer files beside it read.

python examples/make_arrays.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

ARRAYS = {
    "gather_rows.npy": 3 * np.arange(64, dtype=np.uint32).reshape(1, 64),
    "scatter_bins.npy": np.array([[5, 5, 200, 5]], np.uint32),
}

if __name__ == "__main__":
    for name, array in ARRAYS.items():
        np.save(Path(__file__).with_name(name), array)

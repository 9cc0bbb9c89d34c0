"""The committed example files are what their scripts write."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np

from dgekit.frontends.neff.archive import read_archive
from dgekit.frontends.neff.header import HEADER_SIZE

EXAMPLES = Path(__file__).parents[2] / "examples"


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_neff_is_what_the_script_builds() -> None:
    built, stored = script("make_neff").build(), (EXAMPLES / "gradient.neff").read_bytes()
    # Another build of zlib may pack differently: the members decide, and the bytes where the packing is the same.
    assert dict(read_archive(built[HEADER_SIZE:], "built")) == dict(read_archive(stored[HEADER_SIZE:], "stored"))
    if len(built) == len(stored):
        assert built == stored


def test_the_index_arrays_are_what_the_script_writes() -> None:
    arrays = script("make_arrays").ARRAYS
    assert {path.name for path in EXAMPLES.glob("*.npy")} == set(arrays)
    for name, array in arrays.items():
        stored = np.load(EXAMPLES / name)
        assert stored.dtype == np.uint32 and np.array_equal(stored, array)
    assert np.array_equal(arrays["gather_rows.npy"][0], np.arange(0, 192, 3))


def test_the_sample_lists_its_nineteen_entries() -> None:
    assert len(script("make_neff").members()) == 19

"""The public face of NKI-style kernels."""

from __future__ import annotations

import numpy as np
import pytest

import dgekit.nki as nki
from dgekit.core.errors import Unsupported
from dgekit.nki import isa, language


def test_the_face_has_the_modules() -> None:
    assert nki.isa is isa and nki.language is language
    assert isa.dge_mode.hwdge.value == 2 and isa.nc_version.gen4.value == 4 and isa.dma_engine.gpsimd_dma.value == 2
    assert "float32" in dir(language) and language.tile_size.pmax == 128


def test_what_is_missing_says_its_name() -> None:
    with pytest.raises(Unsupported, match=r"nki\.benchmark"):
        nki.benchmark(lambda: None)
    with pytest.raises(Unsupported, match=r"nki\.isa\.activation"):
        isa.activation()
    with pytest.raises(AttributeError):
        nki.setup_module  # noqa: B018


def test_a_kernel_called_with_arrays_is_simulated() -> None:
    @nki.jit
    def turned(a):
        tile = language.ndarray((a.shape[1], a.shape[0]), a.dtype)
        isa.dma_transpose(tile, a)
        out = language.ndarray(tile.shape, a.dtype, buffer=language.shared_hbm)
        isa.dma_copy(out, tile)
        return out

    @nki.jit
    def outer(a):
        return turned(a)

    a = np.arange(256, dtype=np.int16).reshape(16, 16)
    assert np.array_equal(outer(a), a.T) and outer.__name__ == "outer"

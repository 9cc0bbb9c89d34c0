"""Loads and stores in the style of older scripts: index tiles, a mask at the edge.

dge run examples/nki_tiles.py --arg a=a.npy --out out=out.npy
"""

import neuronxcc.nki.language as nl
from neuronxcc import nki


@nki.jit
def copy_in_tiles(a):
    """A copy of `a`, 128 rows and 512 columns at a time."""
    rows, columns = a.shape
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    ip, jf = nl.mgrid[0 : nl.tile_size.pmax, 0:512]
    for i in nl.affine_range((rows + 127) // 128):
        for j in nl.affine_range((columns + 511) // 512):
            at = i * 128 + ip, j * 512 + jf
            inside = (at[0] < rows) & (at[1] < columns)
            tile = nl.load(a[at], mask=inside)
            nl.store(out[at], value=tile, mask=inside)
    return out

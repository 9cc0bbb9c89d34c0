"""Pages of a cache, transposed on the way into SBUF: the indirect transpose of attention kernels.

dge run examples/nki_paged.py --arg cache=cache.npy:bfloat16 --arg pages=pages.npy --out out=out.npy
"""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def keys(cache, pages):
    """out[d, 0, l, i] = cache[pages[i], l * 128 + d] for 128 pages of `cache.shape[1] / 128` positions."""
    length = cache.shape[1] // 128
    indices = nl.load(pages)
    tile = nl.ndarray((128, 1, length, 128), dtype=cache.dtype, buffer=nl.sbuf)
    nisa.dma_transpose(
        dst=tile,
        src=cache.ap([[length * 128, 128], [1, 1], [128, length], [1, 128]], vector_offset=indices),
        axes=(3, 1, 2, 0),
        dge_mode=nisa.dge_mode.swdge,
    )
    out = nl.ndarray(tile.shape, dtype=cache.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=tile)
    return out

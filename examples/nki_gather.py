"""Rows by index, in the style of the current API: a gather that skips what is out of bounds, and rows that are added.

dge run examples/nki_gather.py:gather --arg table=table.npy --arg rows=rows.npy --out out=out.npy
"""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def gather(table, rows, skip=True):
    """out[i] = table[rows[i]], or -1 where there is no such row."""
    lanes, width = rows.shape[0], table.shape[1]
    indices = nl.ndarray((lanes, 1), dtype=rows.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=indices, src=rows)
    tile = nl.full((lanes, width), -1, dtype=table.dtype)
    nisa.dma_copy(
        dst=tile,
        src=table.ap(pattern=[[width, lanes], [1, width]], offset=0, vector_offset=indices, indirect_dim=0),
        oob_mode=nisa.oob_mode.skip if skip else nisa.oob_mode.error,
    )
    out = nl.ndarray((lanes, width), dtype=table.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=tile)
    return out


@nki.jit
def add_rows(table, rows, values):
    """table[rows[i]] += values[i], by the compute unit of the DMA engines."""
    lanes, width = values.shape
    indices = nl.ndarray((lanes, 1), dtype=rows.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=indices, src=rows)
    tile = nl.ndarray((lanes, width), dtype=values.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=values)
    chosen = table.ap(pattern=[[width, lanes], [1, width]], vector_offset=indices)
    nisa.dma_compute(dst=chosen, srcs=[chosen, tile], reduce_op=nl.add)
    return table

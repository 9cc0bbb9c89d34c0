"""Layer 2, the DGE itself: one 64-byte word becomes the micro-ops and the work of every DMA channel.

Read in the order a word takes: `context` (setup), `decode` (with `addresses`), `reshape` (with `transposes`),
`select`, `bounds` (with `notify`), `emit`, `expand`; `pipeline` runs them one after the other. Beside the main way
lie `software` (the Q7 backend: `indirection`, `gather`, `spray`), `fast` (MARIANA_PLUS) and `inline` (MAVERICK).
The values that travel are in `values`, the result in `outcome`.
"""

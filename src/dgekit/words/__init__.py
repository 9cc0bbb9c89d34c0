"""Layer 1: the 64-byte DMA words, streams, checks, pseudo to resolved, text form."""

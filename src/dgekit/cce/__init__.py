"""In-transfer compute: words and packets of the compute path of the DMA engine, their limits, their execution."""

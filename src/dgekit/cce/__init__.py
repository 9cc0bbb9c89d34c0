"""In-transfer compute: the words and packets of the compute path of the DMA engine, their limits and their execution."""

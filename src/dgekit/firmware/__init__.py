"""Layer 2, the DGE itself: context, decode, reshape, select, bounds, emit, pipeline."""

"""Layer 3 records: the 16-byte BD and completion entry, packets, expansion of runs into BDs."""

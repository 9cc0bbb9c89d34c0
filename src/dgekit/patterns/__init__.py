"""N-D access patterns: immutable walks over bytes, their algebra, bounds and runs."""

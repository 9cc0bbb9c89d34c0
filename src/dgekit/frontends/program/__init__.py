"""The parts of a transfer file: its key table, and how each section becomes a value."""

"""NEFF files: header, archive, JSON, instruction streams (neff.md 1 to 4)."""

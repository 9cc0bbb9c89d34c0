"""NEFF files: header, archive, JSON, instruction streams (neff.md 1 to 4)."""

from dgekit.frontends.neff.read import Engine, Neff, Subgraph, read_neff

__all__ = ["Engine", "Neff", "Subgraph", "read_neff"]

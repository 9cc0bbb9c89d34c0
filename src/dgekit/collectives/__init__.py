"""Collectives on the compute path: all-reduce, reduce-scatter and all-gather over ring, kangaring and mesh (cce 7).

Read `steps` (what a rank does, as values), then `ring`, `kangaring` and `mesh` (who does it when), `actor` (one rank
that carries its steps out), `inprocess` and `mpi` (how ranks reach each other), `run` (all of it together).
"""

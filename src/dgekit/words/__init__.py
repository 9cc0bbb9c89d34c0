"""Layer 1: the 64-byte DMA words, streams, checks, pseudo to resolved, text form.

`structs` declares every word once (with `substructs`, `enums`, `v5`); `codec` and `columns` turn bytes into words and
back, one at a time or many; `stream` cuts bytes into words; `checks` runs the rules of `rules_*`; `resolve` makes a
pseudo word executable; `text` and `describe` are for people.
"""

"""What building hands over: pseudo words with what the loader needs, and work for the host's own expansion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dgekit.core.errors import Issue
from dgekit.patterns.walk import Walk
from dgekit.words.structs import PseudoDmaDirect2D, PseudoDmaExt


@dataclass(frozen=True, slots=True)
class BuiltWord:
    """One pseudo word, its extension, the increment carried beside it (D5) and the table that resolves it."""

    pseudo: PseudoDmaDirect2D
    ext: PseudoDmaExt | None
    sem_increment: int
    relocations: Mapping[int, int]

    def encode(self) -> bytes:
        """The word as a stream: 64 bytes, or 128 with the extension."""
        return self.pseudo.encode() + (self.ext.encode() if self.ext is not None else b"")


@dataclass(frozen=True, slots=True)
class Staging:
    """Bytes to move before a word starts: `source`, in its order, to the contiguous bytes at `address` (D26)."""

    source: Walk
    address: int
    why: str


@dataclass(frozen=True, slots=True)
class Built:
    """The words of one transfer in issue order, and what must be so before they start.

    `registers` are general registers to load first (limits of bound registers, D25); `core` is the NeuronCore that
    executes (D41). Only the last word carries the increment (D4).
    """

    words: tuple[BuiltWord, ...]
    issues: tuple[Issue, ...] = ()
    stagings: tuple[Staging, ...] = ()
    registers: Mapping[int, int] = field(default_factory=dict)
    core: int = 0

"""Where a fact comes from: the confidence tag and the source that each declaration carries."""

from __future__ import annotations

from dataclasses import dataclass

LEVELS = {"H": "high", "M": "medium", "L": "low", "-": "none"}
WAYS = {
    "O": "observed",
    "I": "inferred",
    "C": "carried",
    "D": "open driver",
    "S": "documentation",
    "X": "design choice",
    "-": "no source",
}


@dataclass(frozen=True, slots=True)
class Evidence:
    """How sure a fact is (`level`), how it is known (`way`), and which chapter section says so (`source`).

    >>> Evidence.parse("H/O", "isa-words 3.1").describe()
    'high, observed (isa-words 3.1)'
    """

    level: str
    way: str
    source: str = ""

    @classmethod
    def parse(cls, tag: str, source: str = "") -> Evidence:
        """Read a tag such as `H/O`, `M/I` or `-`; raises ValueError for any other form."""
        if tag == "-":
            return cls("-", "-", source)
        level, _, way = tag.partition("/")
        if level not in LEVELS or way[:1] not in WAYS:
            raise ValueError(f"evidence tag {tag!r} is not LEVEL/WAY with {'|'.join(LEVELS)} / {'|'.join(WAYS)}")
        return cls(level, way[:1], source)

    @property
    def tag(self) -> str:
        """The short form, as the specification prints it."""
        return "-" if self.level == "-" else f"{self.level}/{self.way}"

    def describe(self) -> str:
        """The long form for people."""
        where = f" ({self.source})" if self.source else ""
        return f"{LEVELS[self.level]}, {WAYS[self.way]}{where}"

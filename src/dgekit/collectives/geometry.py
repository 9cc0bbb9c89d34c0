"""Where the pieces of a vector lie: passes, channels, chunks and half-chunks (cce 7.4, CHOICE-51, 52, 54; D73)."""

from __future__ import annotations

from dataclasses import dataclass

from dgekit.cce.limits import CHUNK_GRANULE


@dataclass(frozen=True, slots=True)
class Span:
    """`count` elements of the full vector from element `first` on; a piece clipped away has none."""

    first: int
    count: int

    @property
    def end(self) -> int:
        """The element after the last."""
        return self.first + self.count

    def within(self, first: int, end: int) -> Span:
        """What of the span lies in [first, end)."""
        start = min(max(self.first, first), max(first, end))
        return Span(start, max(0, min(self.end, end) - start))


@dataclass(frozen=True, slots=True)
class Geometry:
    """How `elements` are cut for `parts` chunks side by side (ring positions, or 1) on each of `channels`.

    `region` 0 interleaves the chunks of a pass over the whole vector (CHOICE-51); otherwise chunk k keeps to the
    `region` elements from k x region on (CHOICE-52). `chunk` is the elements of one chunk of a whole pass, a multiple
    of 32, so that halves are whole.
    """

    elements: int
    parts: int
    channels: int
    region: int
    chunk: int

    @property
    def passes(self) -> int:
        """How often the whole algorithm runs."""
        side_by_side = self.channels * (1 if self.region else self.parts)
        return ceil_div(self.region or self.elements, side_by_side * self.chunk)

    def piece(self, number: int, channel: int, part: int, half: int | None = None) -> Span:
        """Chunk `part` of pass `number` on a channel, or one half of it; clipped at the end of what it belongs to.

        >>> [Geometry(100, 3, 1, 0, 64).piece(0, 0, part, 1).count for part in range(3)]
        [32, 4, 0]
        """
        chunk = self.chunk_of(number)
        if self.region:
            start = part * self.region + (number * self.channels + channel) * chunk
            end = min((part + 1) * self.region, self.elements)
        else:
            start = number * self.parts * self.channels * self.chunk + (channel * self.parts + part) * chunk
            end = self.elements
        width = chunk if half is None else chunk // 2
        return Span(start + (half or 0) * width, width).within(0, end)

    def chunk_of(self, number: int) -> int:
        """Elements of a chunk in one pass; the last pass over an interleaved vector has smaller ones."""
        whole = self.parts * self.channels * self.chunk
        left = self.elements - number * whole
        if self.region or left >= whole:
            return self.chunk
        return rounded_chunk(left, self.parts * self.channels)


def ceil_div(number: int, by: int) -> int:
    """The quotient, rounded up.

    >>> ceil_div(5, 2)
    3
    """
    return -(-number // by)


def rounded_chunk(elements: int, shares: int) -> int:
    """One of `shares` equal shares, rounded up to whole units of 32 elements (CHOICE-54)."""
    return ceil_div(ceil_div(elements, shares), CHUNK_GRANULE) * CHUNK_GRANULE

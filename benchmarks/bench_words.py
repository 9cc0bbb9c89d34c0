"""Words: a million mixed ones to columns and back, and one at a time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from measuring import Measure, best

from dgekit.words.codec import decode_word
from dgekit.words.columns import decode_columns, encode_columns
from dgekit.words.structs import word_classes

COUNT = 1_000_000
FEW = 20_000


def mixed(count: int) -> np.ndarray:
    """Random bodies behind the opcodes of every declared word."""
    rng = np.random.default_rng(1)
    words = rng.integers(0, 256, (count, 64), dtype=np.uint8)
    words[:, 0] = rng.choice(np.array([word().encode()[0] for word in word_classes()], np.uint8), count)
    return words


def every_column(words: np.ndarray) -> int:
    return sum(len(columns.all()) for columns in decode_columns(words).values())


def measures(tries: int = 5) -> Iterator[Measure]:
    words = mixed(COUNT)
    yield Measure("1 million mixed words split by kind", best(lambda: decode_columns(words), tries), "s")
    yield Measure("1 million mixed words to every column", best(lambda: every_column(words), tries), "s", floor=0.5)
    columns = decode_columns(words)
    assert (encode_columns(columns) == words).all()
    yield Measure("and back to words", best(lambda: encode_columns(columns), max(1, tries // 2)), "s")
    few = [word.tobytes() for word in words[:FEW]]
    decoded = [decode_word(data) for data in few]
    took = best(lambda: [decode_word(data) for data in few], tries)
    yield Measure("one at a time: decode", FEW / took, "words/s", floor=50_000, at_least=True)
    took = best(lambda: [word.encode() for word in decoded], tries)
    yield Measure("one at a time: encode", FEW / took, "words/s")

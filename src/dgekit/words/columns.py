"""Many words at once: a stream split by kind, each kind as lazy numpy columns, and the way back.

The scalar path (`dgekit.words.codec`) is quicker below some 25 words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dgekit.core.errors import DecodeError, EncodeError
from dgekit.layout.columns import Array, Plan, Rows, plan_of, read_column, read_columns, write_columns
from dgekit.layout.struct import default_of
from dgekit.words.enums import WORD_SIZE, Opcode
from dgekit.words.names import word_named
from dgekit.words.structs import OpaqueWord, Word, word_classes
from dgekit.words.word import SUB_OPCODE_AT


class Columns(Mapping[str, Array]):
    """The words of one kind: `columns["src_elem_size"]` is an array of their values, made when asked for and kept.

    `rows` are their places in the input, in order. Array fields are (n, count), raw bytes and text (n, size) uint8, an
    address is its raw u64 or u32, with `<path>.marker` beside it where a marker tells the arms apart.
    """

    def __init__(self, word: type[Word], words: Rows, rows: NDArray[np.intp] | None) -> None:
        self.word = word
        self.kind = word.kind
        self._words = words
        self._rows = rows
        self._plan: Plan = plan_of(word)
        self._ready: dict[str, Array] = {}

    @property
    def rows(self) -> NDArray[np.intp]:
        """Indices of these words in the input."""
        return np.arange(len(self._words)) if self._rows is None else self._rows

    @property
    def count(self) -> int:
        """How many words there are."""
        return len(self._words) if self._rows is None else len(self._rows)

    def raw(self) -> Rows:
        """The words themselves, (n, 64) uint8."""
        return self._words if self._rows is None else self._words[self._rows]

    def __getitem__(self, path: str) -> Array:
        if path not in self._plan.columns:
            raise KeyError(path)
        if path not in self._ready:
            self._ready[path] = read_column(self._plan, self._words, self._rows, path)
        return self._ready[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._plan.columns)

    def __len__(self) -> int:
        return len(self._plan.columns)

    def all(self) -> dict[str, Array]:
        """Every leaf column, worked in blocks: quicker than asking for them one by one."""
        missing = [path for path in self._plan.columns if path not in self._ready]
        if missing:
            self._ready |= read_columns(self._plan, self._words, self._rows, missing)
        return {path: self._ready[path] for path in self._plan.columns}


def decode_columns(words: Rows | bytes | bytearray | memoryview) -> dict[str, Columns]:
    """The words by kind, in order of first declaration; unknown opcodes under `OPAQUE`, column `raw`.

    `words` is an (n, 64) uint8 array or bytes of a multiple of 64. Raises DecodeError for anything else.
    """
    table = as_rows(words)
    if not len(table):
        return {}
    indices = _kind_indices(table)
    classes = _classes()
    present = np.bincount(indices, minlength=len(classes))
    if int(present.max()) == len(table):
        word = classes[int(present.argmax())]
        return {word.kind: Columns(word, table, None)}
    return {
        classes[index].kind: Columns(classes[index], table, np.flatnonzero(indices == index))
        for index in np.flatnonzero(present).tolist()
    }


def as_rows(words: Rows | bytes | bytearray | memoryview) -> Rows:
    """Words as a C-contiguous (n, 64) uint8 array, without a copy where possible; raises DecodeError."""
    array = words if isinstance(words, np.ndarray) else np.frombuffer(words, np.uint8)
    if array.dtype != np.uint8:
        raise DecodeError(f"words are bytes (uint8), not {array.dtype}", rule="isa.size")
    if array.ndim == 1 and array.size % WORD_SIZE == 0:
        array = array.reshape(-1, WORD_SIZE)
    if array.ndim != 2 or array.shape[1] != WORD_SIZE:
        raise DecodeError(f"words are rows of {WORD_SIZE} bytes, not shape {array.shape}", rule="isa.size")
    return np.ascontiguousarray(array)


def _classes() -> tuple[type[Word], ...]:
    return (*word_classes(), OpaqueWord)


def _kind_indices(table: Rows) -> NDArray[np.uint8]:
    """For each word, the place of its class in `_classes`."""
    by_opcode = np.full(256, len(_classes()) - 1, np.uint8)
    by_sub = np.zeros(256, np.uint8)
    for index, word in enumerate(word_classes()):
        if word.sub_code is None:
            by_opcode[word.code] = index
            if word.code == Opcode.EXTENDED_INST:
                by_sub[:] = index
    for index, word in enumerate(word_classes()):
        if word.sub_code is not None:
            by_sub[word.sub_code] = index
    opcodes = np.ascontiguousarray(table[:, 0])
    indices: NDArray[np.uint8] = by_opcode[opcodes]
    extended = np.flatnonzero(opcodes == Opcode.EXTENDED_INST)
    indices[extended] = by_sub[table[extended, SUB_OPCODE_AT]]
    return indices


def encode_rows(kind: str, columns: Mapping[str, Any], count: int | None = None) -> Rows:
    """Words of one kind from columns, (n, 64) uint8; columns left out hold the default, scalars are repeated.

    `count` is needed only if every column is a scalar. Raises EncodeError naming column, row, value and range, also for
    an opcode that is another word's.
    """
    word = word_named(kind)
    rows = _row_count(columns, count)
    out = np.empty((rows, WORD_SIZE), np.uint8)
    out[...] = np.frombuffer(default_of(word).encode(), np.uint8)
    write_columns(plan_of(word), out, columns)
    wrong = np.flatnonzero(_kind_indices(out) != _classes().index(word)) if rows else out[:0, 0]
    if len(wrong):
        row = int(wrong[0])
        raise EncodeError(
            f"row {row}: opcode {int(out[row, 0]):#04x} is not that of {word.kind}",
            rule="isa.opcode",
            values={"row": row, "opcode": int(out[row, 0])},
        )
    return out


def _row_count(columns: Mapping[str, Any], count: int | None) -> int:
    if count is not None:
        return count
    for path in columns:
        shape = np.shape(columns[path])
        if shape:
            return int(shape[0])
    return 1


def encode_columns(columns: Mapping[str, Columns]) -> Rows:
    """The inverse of `decode_columns`: every word back in its place, (n, 64) uint8."""
    total = sum(part.count for part in columns.values())
    out = np.zeros((total, WORD_SIZE), np.uint8)
    for part in columns.values():
        out[part.rows] = encode_rows(part.kind, part.all(), part.count)
    return out

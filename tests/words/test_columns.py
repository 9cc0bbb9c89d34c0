"""Columns of words: equal to the scalar path, and back to the same bytes."""

import time

import numpy as np
import pytest

from dgekit.core.errors import DecodeError, EncodeError
from dgekit.layout import Struct
from dgekit.layout.union import TaggedUnion, UnionKind
from dgekit.words.codec import decode_word
from dgekit.words.columns import as_rows, decode_columns, encode_columns, encode_rows
from dgekit.words.structs import DmaDirect2D, word_classes

CODES = sorted({cls.code for cls in word_classes()})


def mixed_words(count: int, codes, seed: int = 3) -> np.ndarray:
    rng = np.random.default_rng(seed)
    words = rng.integers(0, 256, (count, 64), dtype=np.uint8)
    words[:, 0] = rng.choice(np.array(codes, np.uint8), count)
    half = words[::2]
    extended = half[:, 0] == 0xF0
    half[extended, 12] = rng.integers(7, 11, int(extended.sum()))
    return words


def scalar_leaves(value: Struct, prefix: str = "") -> dict:
    """Leaf values by column path, with unions as their raw integer and marker."""
    found: dict = {}
    for field in value.layout.fields:
        item, path = getattr(value, field.name), prefix + field.name
        if isinstance(field.kind, UnionKind):
            found[path] = int.from_bytes(item.encode(), "little")
            if isinstance(field.kind.union, TaggedUnion):
                found[f"{path}.marker"] = item.marker_value
        elif isinstance(item, Struct):
            found |= scalar_leaves(item, f"{path}.")
        elif isinstance(item, tuple) and isinstance(item[0], Struct):
            for index, part in enumerate(item):
                found |= scalar_leaves(part, f"{path}.{index}.")
        elif isinstance(item, str):
            found[path] = list(item.encode("latin-1").ljust(field.size, b"\0"))
        else:
            found[path] = list(item) if isinstance(item, (tuple, bytes)) else int(item)
    return found


def test_columns_equal_the_scalar_path_for_every_kind() -> None:
    words = mixed_words(1200, [*CODES, 0x00, 0xFF])
    decoded = decode_columns(words)
    seen = np.zeros(len(words), int)
    for kind, columns in decoded.items():
        expected = [scalar_leaves(decode_word(words[row].tobytes())) for row in columns.rows]
        assert {decode_word(words[row].tobytes()).kind for row in columns.rows} == {kind}
        assert list(columns) == list(expected[0])
        for path, array in columns.all().items():
            assert array.tolist() == [leaves[path] for leaves in expected], (kind, path)
        seen[columns.rows] += 1
    assert set(seen) == {1}
    assert set(decoded) >= {cls.kind for cls in word_classes()} | {"OPAQUE"}


def test_single_columns_equal_all_columns_and_are_kept() -> None:
    columns = decode_columns(mixed_words(500, [0xB8, 0xD4]))["DMA_DIRECT2D"]
    lazy = {path: columns[path] for path in columns}
    fresh = decode_columns(mixed_words(500, [0xB8, 0xD4]))["DMA_DIRECT2D"].all()
    assert list(lazy) == list(fresh) and len(columns) == len(lazy)
    assert all(np.array_equal(lazy[path], fresh[path]) for path in lazy)
    assert columns["semaphore"] is columns["semaphore"] is columns.all()["semaphore"]
    assert "semaphor" not in columns
    with pytest.raises(KeyError):
        columns["semaphor"]


@pytest.mark.parametrize("codes", [[0xB8], CODES, [*CODES, 0x10, 0x20]])
def test_encoding_the_columns_gives_the_words_back(codes) -> None:
    words = mixed_words(700, codes)
    decoded = decode_columns(words)
    assert np.array_equal(encode_columns(decoded), words)
    for columns in decoded.values():
        assert np.array_equal(columns.raw(), words[columns.rows])
        assert columns.count == len(columns.rows)


def test_rows_of_one_kind_from_columns() -> None:
    rows = encode_rows("DMAMEMCPY", {"semaphore": [1, 2], "src_step_elem": [[1, -2], [3, 4]], "in_dtype": 10})
    expected = [
        DmaDirect2D(semaphore=1, src_step_elem=(1, -2), in_dtype=10),
        DmaDirect2D(semaphore=2, src_step_elem=(3, 4), in_dtype=10),
    ]
    assert [row.tobytes() for row in rows] == [word.encode() for word in expected]
    assert encode_rows("DMA_DIRECT2D", {}, 3).shape == (3, 64)
    assert encode_rows("DMA_DIRECT2D", {"semaphore": 1}).shape == (1, 64)
    assert encode_rows("DMA_DIRECT2D", {"semaphore": []}).shape == (0, 64)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"src_elem_size": [1, 70000]}, "src_elem_size: 70000 in row 1 is outside 0..65535"),
        ({"src_elem_size": np.array([-1], np.int64)}, "src_elem_size: -1 in row 0 is outside"),
        ({"dma_configs.priority_class": [8]}, "dma_configs.priority_class: 8 in row 0 is outside 0..7"),
        ({"src_elem_size": [1.5]}, "holds no integers"),
        ({"src_elem": [1]}, "no column 'src_elem'"),
        ({"header.opcode": [0xB8, 0xB9]}, "row 1: opcode 0xb9 is not that of DMA_DIRECT2D"),
        ({"src_start_addr": [0], "src_start_addr.marker": [0x80]}, "disagrees with the address, whose marker is 0x00"),
    ],
)
def test_columns_that_do_not_fit_are_refused(columns, message) -> None:
    with pytest.raises(EncodeError, match=message):
        encode_rows("DMA_DIRECT2D", columns)


def test_input_forms() -> None:
    words = mixed_words(5, [0xB8])
    assert np.array_equal(as_rows(words.tobytes()), words)
    assert np.array_equal(as_rows(words.reshape(-1)), words)
    assert np.array_equal(as_rows(np.asfortranarray(words)), words)
    assert decode_columns(b"") == {} and encode_columns({}).shape == (0, 64)
    for wrong in (np.zeros((2, 63), np.uint8), np.zeros(65, np.uint8), np.zeros((2, 64), np.int16), bytes(63)):
        with pytest.raises(DecodeError) as fault:
            as_rows(wrong)
        assert fault.value.rule == "isa.size"


@pytest.mark.slow
def test_a_million_mixed_words_take_less_than_half_a_second() -> None:
    words = mixed_words(1_000_000, [0xB8, 0xBB, 0xBD, 0xF1, 0xD4, 0xDA, 0xBA, 0xB9])
    best = 9.0
    for _ in range(3):
        start = time.process_time()
        columns = [part.all() for part in decode_columns(words).values()]
        best = min(best, time.process_time() - start)
        assert len(columns) == 8
    assert best < 0.5


@pytest.mark.slow
def test_one_word_at_a_time_is_quick() -> None:
    data = DmaDirect2D().encode()
    decode_word(data)
    best = 9.0
    for _ in range(5):
        start = time.process_time()
        for _ in range(10_000):
            decode_word(data)
        best = min(best, time.process_time() - start)
    assert best / 10_000 < 10e-6

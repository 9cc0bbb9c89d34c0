"""JSON as a stream: the same values as the standard library's parser, at any cut, and the same strictness."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgekit.core.errors import InputError
from dgekit.frontends.neff import json_stream
from dgekit.frontends.neff.json_stream import ObjectStream
from dgekit.frontends.place import Place

PLACE = Place("f.neff: pool.json", rules="neff")


def pieces(data: bytes, size: int) -> Iterator[bytes]:
    yield from (data[at : at + size] for at in range(0, len(data), size))


def streamed(data: bytes, size: int = 1 << 20) -> tuple[list[Any], ObjectStream]:
    stream = ObjectStream(pieces(data, size), PLACE)
    return list(stream.elements("dma")), stream


VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(), inner, max_size=3)),
    max_leaves=8,
)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(VALUES, max_size=5),
    st.dictionaries(st.text().filter(lambda key: key != "dma"), VALUES, max_size=4),
    st.integers(1, 40),
    st.sampled_from([None, 1]),
    st.booleans(),
    st.booleans(),
)
def test_values_are_those_of_the_standard_library(
    elements: list[Any], others: dict[str, Any], size: int, indent: int | None, ascii_only: bool, first: bool
) -> None:
    whole = {"dma": elements, **others} if first else {**others, "dma": elements}
    data = json.dumps(whole, indent=indent, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    try:
        json.loads(data.decode("utf-8"))
    except UnicodeDecodeError:
        return
    found, stream = streamed(data, size)
    assert found == elements and stream.values == others and stream.other is None


@pytest.mark.parametrize("size", [1, 5, 1 << 20])
def test_small_buffers_change_nothing(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With hardly any text kept ahead, every value is cut somewhere."""
    monkeypatch.setattr(json_stream, "_AHEAD", 1)
    elements = [12345, {"a": ["b", 1.5e3, -2]}, "c" * 100, True, None, [], {}, 7]
    data = json.dumps({"k": [1, {"v": "ü"}], "dma": elements, "z": 12}, indent=2, ensure_ascii=False).encode()
    found, stream = streamed(data, size)
    assert found == elements and stream.values == {"k": [1, {"v": "ü"}], "z": 12}


def test_what_is_no_list_is_an_ordinary_member() -> None:
    assert streamed(b'{"dma": {"a": 1}, "b": 2}')[1].values == {"dma": {"a": 1}, "b": 2}
    found, stream = streamed(b" [1, 2] ")
    assert (found, stream.other, stream.values) == ([], [1, 2], {})


WRONG = [
    (b"", "line 1, column 1"),
    (b"{", "line 1, column 2"),
    (b'{"a": 1,}', "column 9"),
    (b'{"a" 1}', "column 6"),
    (b"{1: 1}", "column 2"),
    (b'{"a": 1 "b": 2}', "column 9"),
    (b'{"dma": [1,]}', "column 12"),
    (b'{"dma": [1 2]}', "column 12"),
    (b'{"dma": [1}', "column 11"),
    (b'{"dma": [tru', "column 10"),
    (b'{"dma": ["abc', "Unterminated"),
    (b'{"dma": [NaN]}', "NaN"),
    (b'{"dma": [], "dma": []}', "twice"),
    (b'{"dma": [{"a": 1, "a": 2}]}', "twice"),
    (b'{"dma": []} x', "Extra data"),
    (b'{"dma": [1],\n "x": "\t"}', "line 2"),
    (b'{"dma": ["\xff"]}', "byte 10 is no UTF-8"),
    (b'{"dma": ["\xc3', "byte 10 is no UTF-8"),
    (b"[" * 100_000, "too deeply"),
    (b'{"dma": [' + b"9" * 5000 + b"]}", "4300"),
]


@pytest.mark.parametrize(("data", "told"), WRONG, ids=range(len(WRONG)))
@pytest.mark.parametrize("size", [1, 3, 1 << 20])
def test_wrong_text(data: bytes, told: str, size: int) -> None:
    with pytest.raises(InputError) as caught:
        streamed(data, size)
    assert caught.value.rule == "neff.json" and told in caught.value.message
    assert caught.value.where == "f.neff: pool.json"


def test_places_are_counted_over_the_whole_text() -> None:
    data = ('{"dma": [\n' + '{"a": 1},\n' * 20_000 + "oops]}").encode()
    with pytest.raises(InputError, match="line 20002, column 1"):
        streamed(data, 1000)
    with pytest.raises(InputError, match="line 1, column 200009"):
        streamed(b'{"dma":[' + b'{"a": 1}, ' * 20_000 + b"oops]}", 1000)


def test_one_value_has_a_limit_and_is_not_parsed_over_and_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_stream, "MAX_JSON", 1 << 20)
    started = time.monotonic()
    with pytest.raises(InputError) as caught:
        streamed(b'{"dma": ["' + b"a" * (5 << 20) + b'"]}', 1 << 12)
    assert caught.value.rule == "neff.limit" and caught.value.values == {"limit": 1 << 20}
    assert time.monotonic() - started < 5

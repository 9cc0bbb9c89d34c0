"""Splitting streams: pairing, what cannot be placed, and never an exception."""

from hypothesis import given, settings
from hypothesis import strategies as st

from dgekit.words.stream import iter_stream, split_stream
from dgekit.words.structs import DmaDirect2D, PseudoDmaDirect2D, PseudoDmaExt

COPY = DmaDirect2D().encode()
PSEUDO = PseudoDmaDirect2D(dge_op=1).encode()
PLAIN = PseudoDmaDirect2D().encode()
EXT = PseudoDmaExt(tile_src_rows=16).encode()


def shape(stream):
    return [(item.offset, item.word.kind, item.extension is not None) for item in stream.items]


def test_an_extension_joins_the_pseudo_word_before_it() -> None:
    stream = split_stream(COPY + PSEUDO + EXT + PLAIN + PSEUDO + EXT + COPY)
    assert shape(stream) == [
        (0, "DMA_DIRECT2D", False),
        (64, "PSEUDO_DMA_DIRECT2D", True),
        (192, "PSEUDO_DMA_DIRECT2D", False),
        (256, "PSEUDO_DMA_DIRECT2D", True),
        (384, "DMA_DIRECT2D", False),
    ]
    assert stream.items[1].extension == PseudoDmaExt(tile_src_rows=16)
    assert stream.issues == ()


def test_a_plain_copy_may_be_followed_by_an_extension() -> None:
    stream = split_stream(PLAIN + EXT)
    assert shape(stream) == [(0, "PSEUDO_DMA_DIRECT2D", True)] and stream.issues == ()


def test_an_extension_without_its_word_is_an_error() -> None:
    for data, offset, before in ((EXT, 0, -1), (COPY + EXT, 64, 0xB8), (PSEUDO + EXT + EXT, 128, 0xDA)):
        stream = split_stream(data)
        (issue,) = stream.issues
        assert (issue.rule, issue.severity) == ("isa.stream.extension", "error")
        assert issue.values == {"offset": offset, "before": before}
        assert stream.items[-1].word.kind == "PSEUDO_DMA_EXT"


def test_the_extension_of_another_word_is_told_apart_by_its_place() -> None:
    stream = split_stream(b"\xd9\x10" + bytes(62) + EXT)
    assert [issue.rule for issue in stream.issues] == ["isa.stream.other_extension", "isa.stream.opaque"]
    assert stream.issues[0].severity == "advice"


def test_opaque_words_are_counted_by_opcode() -> None:
    known, unknown = b"\xc8\x10" + bytes(62), b"\x01" + bytes(63)
    stream = split_stream(known + unknown + known + COPY)
    rows = [(issue.rule, issue.severity, issue.values) for issue in stream.issues]
    assert rows == [
        ("isa.stream.opaque", "advice", {"opcode": 0xC8, "count": 2, "first": 0}),
        ("isa.stream.opaque", "warning", {"opcode": 0x01, "count": 1, "first": 64}),
    ]
    assert "PSEUDO_TRIGGER_COLLECTIVE" in stream.issues[0].message


def test_a_partial_word_at_the_end_is_an_error() -> None:
    stream = split_stream(COPY + b"123")
    (issue,) = stream.issues
    assert (issue.rule, issue.values) == ("isa.stream.partial", {"bytes": 67, "left": 3, "word": 64})
    assert len(stream.items) == 1
    assert split_stream(b"").items == () and split_stream(b"").issues == ()


@given(st.binary(max_size=400) | st.lists(st.sampled_from([COPY, PSEUDO, PLAIN, EXT, b"x"]), max_size=9).map(b"".join))
@settings(max_examples=60, deadline=None)
def test_any_bytes_split_and_join_back(data) -> None:
    stream = split_stream(memoryview(data))
    joined = b""
    for offset, word, extension in stream.items:
        assert offset == len(joined)
        joined += word.encode() + (extension.encode() if extension else b"")
    assert joined == data[: len(data) // 64 * 64]
    issues: list = []
    assert tuple(iter_stream(data, issues)) == stream.items and tuple(issues) == stream.issues

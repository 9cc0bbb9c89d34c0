"""Lines out of byte streams: cut by chunks, packed, endless, hostile; memory stays bounded."""

from __future__ import annotations

import gzip
import io
import random
import tracemalloc
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgekit.core.errors import InputError
from dgekit.logs import source
from dgekit.logs.parse import parse_line
from dgekit.logs.source import MAX_LINE, RawLine, batches


class Drip(io.BytesIO):
    """A stream that hands out a few bytes at a time, as a pipe may."""

    def __init__(self, data: bytes, size: int) -> None:
        super().__init__(data)
        self.size = size

    def read1(self, size: int = -1, /) -> bytes:
        return super().read1(min(size, self.size))


def lines(data, size=1 << 16):
    return [line for batch in batches(Drip(data, size)) for line in batch]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 65536])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_lines_do_not_depend_on_how_they_arrive(size, pack):
    data = b"one\r\ntwo\n\n\x00three\xff\nfour"
    assert lines(pack(data), size) == [
        RawLine(1, "one"),
        RawLine(2, "two"),
        RawLine(3, ""),
        RawLine(4, "\x00three\\xff"),
        RawLine(5, "four", False),
    ]
    assert lines(pack(b""), size) == []
    assert lines(pack(b"\n"), size) == [RawLine(1, "")]


def test_each_read_is_answered_before_the_next():
    """A live pipe: the lines of a read are there before the stream is asked again."""
    asked = []

    class Pipe:
        parts = iter([b"a\nb", b"\n", b"c\n", b""])

        def read1(self, size: int, /) -> bytes:
            asked.append(len(asked))
            return next(self.parts)

    found = batches(Pipe())
    assert [line.text for line in next(found)] == ["a"]
    assert len(asked) == 1
    assert [line.text for line in next(found)] == ["b"]
    assert len(asked) == 2


def test_members_and_padding_of_gzip():
    data = gzip.compress(b"one\n") + gzip.compress(b"") + gzip.compress(b"two\n") + bytes(512)
    assert [line.text for line in lines(data)] == ["one", "two"]


@pytest.mark.parametrize("end", [5, 12, 30, -1])
def test_gzip_that_ends_too_early(end):
    packed = gzip.compress(random.Random(1).randbytes(200).hex().encode())
    with pytest.raises(InputError) as caught:
        lines(packed[:end])
    assert caught.value.rule == "logs.gzip"


@pytest.mark.parametrize("data", [b"\x1f\x8b garbage", gzip.compress(b"a\n") + b"garbage"], ids=["header", "tail"])
def test_gzip_that_is_broken(data):
    with pytest.raises(InputError) as caught:
        lines(data)
    assert caught.value.rule == "logs.gzip"


def test_a_bomb_is_refused_in_bounded_memory(monkeypatch):
    monkeypatch.setattr(source, "FREE_BYTES", 1 << 22)
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    bomb = b"".join(packer.compress(bytes(1 << 20)) for _ in range(64)) + packer.flush()
    tracemalloc.start()
    with pytest.raises(InputError) as caught:
        for _ in batches(io.BytesIO(bomb)):
            pass
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert caught.value.rule == "logs.gzip_ratio"
    values = caught.value.values
    assert values["unpacked"] <= values["packed"] * values["max_ratio"] + source.CHUNK < 1 << 24
    assert peak < 4 << 20


def test_a_log_that_packs_well_is_read(monkeypatch):
    monkeypatch.setattr(source, "FREE_BYTES", 1 << 16)
    data = b"".join(b"S: push REGWRITE to DMA[%d]\n" % (n * 7919 % 65536) for n in range(30000))
    assert len(lines(gzip.compress(data))) == 30000


def test_a_line_over_the_limit_is_handed_on_cut():
    long = b"x" * (3 * MAX_LINE + 5)
    found = lines(b"a\n" + long + b"\nb\n", 1000)
    assert [(line.number, len(line.text), line.ended) for line in found] == [
        (1, 1, True), (2, found[1].text.count("x"), False), (3, 1, True),
    ]  # fmt: skip
    assert MAX_LINE <= len(found[1].text) <= MAX_LINE + 1000
    one = lines(long + b"\nb\n", 1 << 20)
    assert [(len(line.text), line.ended) for line in one] == [(MAX_LINE, False), (1, True)]


def test_memory_is_flat_for_an_endless_line():
    class Endless:
        left = 400

        def read1(self, size: int, /) -> bytes:
            self.left -= 1
            return b"y" * size if self.left > 0 else b""

    tracemalloc.start()
    found = [line for batch in batches(Endless()) for line in batch]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [line.ended for line in found] == [False]
    assert peak < 1 << 20


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=600), st.sampled_from(["plain", "packed", "headed", "damaged"]), st.integers(1, 700))
def test_random_bytes_give_lines_or_an_input_error(data, form, size):
    if form == "packed":
        data = gzip.compress(data)
    elif form == "headed":
        data = gzip.compress(b"")[:10] + data
    elif form == "damaged":
        data = bytearray(gzip.compress(data))
        data[size % len(data)] ^= 1 << size % 8
        data = bytes(data)
    try:
        for line in lines(data, size):
            parsed = parse_line(line.text, line.number, ended=line.ended)
            parsed.to_json()
    except InputError as problem:
        assert problem.rule in ("logs.gzip", "logs.gzip_ratio")

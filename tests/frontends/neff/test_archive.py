"""Archives as hostile files: what the standard writer makes is read, everything else is refused by name."""

from __future__ import annotations

import gzip
import io
import tarfile
import time
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dgekit.core.errors import DgeError, InputError
from dgekit.frontends.neff.archive import Limits, read_archive
from dgekit.frontends.neff.write import build_neff


def tar(*members: tarfile.TarInfo | tuple[str, bytes], format: int = tarfile.USTAR_FORMAT) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=format) as archive:
        for member in members:
            entry, content = (
                (member, b"") if isinstance(member, tarfile.TarInfo) else (tarfile.TarInfo(member[0]), member[1])
            )
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def link(kind: bytes) -> tarfile.TarInfo:
    entry = tarfile.TarInfo("evil")
    entry.type, entry.linkname = kind, "/etc/passwd"
    return entry


def directory(name: str) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type = tarfile.DIRTYPE
    return entry


@pytest.mark.parametrize("format", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_members_of_every_format(format: int) -> None:
    long = "d" * 60 + "/" + "e" * 80 + ".json"
    members = {"a.json": b"{}", "sg00/x.bin": bytes(700), long: b"long", "empty": b""}
    data = tar(directory("sg00"), *members.items(), format=format)
    for payload in (data, gzip.compress(data)):
        archive = read_archive(payload, "f")
        assert dict(archive) == members
        assert archive.compressed == (payload is not data) and archive.size("sg00/x.bin") == 700


def test_long_unicode_names() -> None:
    name = "ü" * 120 + ".json"
    for format in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        assert list(read_archive(tar((name, b"1"), format=format), "f")) == [name]


def test_names_are_normalised_and_streams_may_be_joined() -> None:
    data = tar(("./a//b", b"1"))
    half = len(data) // 2
    assert list(read_archive(data, "f")) == ["a/b"]
    assert list(read_archive(gzip.compress(data[:half]) + gzip.compress(data[half:]) + bytes(10), "f")) == ["a/b"]


def damaged(at: int, value: int) -> bytes:
    data = bytearray(tar(("a", b"1")))
    data[at] = value
    return bytes(data)


def with_size(field: bytes) -> bytes:
    """An archive whose only member states this size, with a right checksum."""
    data = bytearray(tar(("a", b"1")))
    data[124:136] = field.ljust(12, b"\0")
    data[148:156] = b" " * 8
    data[148:156] = b"%06o\0 " % sum(data[:512])
    return bytes(data)


def pax(record: bytes) -> bytes:
    entry = tarfile.TarInfo("pax")
    entry.type = tarfile.XHDTYPE
    entry.size = len(record)
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        archive.addfile(entry, io.BytesIO(record))
        archive.addfile(tarfile.TarInfo("a"))
    return buffer.getvalue()


BOMB = gzip.compress(tar(("zeros", bytes(8 << 20))))
REFUSED = [
    (tar(("../a", b"")), "neff.path"),
    (tar(("a/../../b", b"")), "neff.path"),
    (tar(("/etc/passwd", b"")), "neff.path"),
    (tar(("a\\b", b"")), "neff.path"),
    (tar(("a\nb", b"")), "neff.path"),
    (damaged(0, ord("/")), "neff.tar"),
    (tar(("a", b"1"), ("./a", b"2")), "neff.duplicate"),
    *(
        (tar(link(kind)), "neff.member")
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE)
    ),
    (tar(link(b"S")), "neff.member"),
    (pax(b"22 GNU.sparse.major=1\n"), "neff.member"),
    (tar(("a", b"1"))[:700], "neff.truncated"),
    (tar(("a", b"1"))[:300], "neff.truncated"),
    (with_size(b"777777777"), "neff.truncated"),
    (with_size(b"\x80" + b"\xff" * 11), "neff.truncated"),
    (with_size(b"\xff" * 12), "neff.tar"),
    (with_size(b"12x"), "neff.tar"),
    (pax(b"99 path=x\n"), "neff.tar"),
    (pax(b"0 path=x\n"), "neff.tar"),
    (pax(b"path=x\n"), "neff.tar"),
    (pax(b"11 path=ab\0"), "neff.tar"),
    (pax(b"10 size=x\n"), "neff.tar"),
    (pax(b"11 path=\xff\xfe\n"), "neff.path"),
    (pax(b"x" * ((1 << 20) + 1)), "neff.limit"),
    (b"", "neff.truncated"),
    (b"junk" * 300, "neff.tar"),
    (bytes(2048), None),
    (gzip.compress(tar(("a", b"1")))[:-20], "neff.truncated"),
    (gzip.compress(tar(("a", b"1")))[:12], "neff.truncated"),
    (gzip.compress(tar(("a", b"1")))[:2], "neff.truncated"),
    (gzip.compress(tar(("a", b"1"))) + b"more", "neff.gzip"),
    (b"\x1f\x8b" + b"\xff" * 50, "neff.gzip"),
    (gzip.compress(tar(("a", bytes(9000))))[:-6] + bytes(6), "neff.gzip"),
    (BOMB, "neff.limit"),
]


@pytest.mark.parametrize(("payload", "rule"), REFUSED, ids=[f"{n}-{case[1]}" for n, case in enumerate(REFUSED)])
def test_hostile_archives(payload: bytes, rule: str | None) -> None:
    started = time.monotonic()
    if rule is None:
        assert len(read_archive(payload, "f")) == 0
        return
    with pytest.raises(InputError) as caught:
        read_archive(payload, "f.neff")
    assert caught.value.rule == rule and caught.value.where == "f.neff"
    assert time.monotonic() - started < 2


def test_limits_can_be_set() -> None:
    many = tar(*((f"m{n}", b"") for n in range(20)))
    with pytest.raises(InputError) as caught:
        read_archive(many, "f", Limits(members=19))
    assert caught.value.rule == "neff.limit" and caught.value.values == {"limit": 19}
    with pytest.raises(InputError):
        read_archive(many, "f", Limits(unpacked=1000))
    with pytest.raises(InputError):
        read_archive(gzip.compress(many), "f", Limits(unpacked=1000))
    assert len(read_archive(BOMB, "f", Limits(ratio=2000))) == 1


def test_a_bomb_stops_at_its_limit() -> None:
    """A stream of 200 MiB of zeros is refused long before it is unpacked."""
    engine = zlib.compressobj(9, zlib.DEFLATED, 31)
    payload = b"".join(engine.compress(bytes(1 << 20)) for _ in range(200)) + engine.flush()
    started = time.monotonic()
    with pytest.raises(InputError):
        read_archive(payload, "f", Limits(unpacked=4 << 20))
    assert time.monotonic() - started < 1


NEFF = build_neff({"neff.json": b"{}", "sg00/def.json": b"[]", "b.bin": bytes(100)})


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.binary(max_size=40), st.booleans())
def test_damaged_archives_raise_nothing_else(at: int, put: bytes, compressed: bool) -> None:
    data = bytearray(tar(("neff.json", b"{}"), ("x" * 120, b"1"), format=tarfile.PAX_FORMAT))
    data[at % len(data) : at % len(data) + len(put)] = put
    payload = gzip.compress(data, 1) if compressed else bytes(data)
    try:
        read_archive(payload, "f")
    except DgeError as refused:
        assert refused.rule.startswith("neff.")

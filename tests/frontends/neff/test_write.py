"""The writer: what it packs is read back, and the same members give the same bytes."""

from __future__ import annotations

import gzip
import io
import tarfile

import pytest

from dgekit.core.errors import EncodeError
from dgekit.frontends.neff.archive import read_archive
from dgekit.frontends.neff.header import HEADER_SIZE, check_header, decode_header
from dgekit.frontends.neff.write import build_neff

MEMBERS = {"z.json": b"{}", "a/": b"", "a/x.bin": bytes(1000), "empty": b""}


@pytest.mark.parametrize("compress", [True, False])
def test_round_trip(compress: bool) -> None:
    data = build_neff(MEMBERS, {"name": "n"}, compress=compress)
    header, payload = decode_header(data, "f"), data[HEADER_SIZE:]
    assert check_header(header, payload, "f") == []
    assert header.text("name") == "n" and header.number("data_size") == len(payload)
    archive = read_archive(payload, "f")
    assert dict(archive) == {"z.json": b"{}", "a/x.bin": bytes(1000), "empty": b""}
    assert archive.compressed == compress


def test_the_standard_library_reads_it() -> None:
    payload = build_neff(MEMBERS)[HEADER_SIZE:]
    assert gzip.decompress(payload) == build_neff(MEMBERS, compress=False)[HEADER_SIZE:]
    with tarfile.open(fileobj=io.BytesIO(payload)) as archive:
        assert [(m.name, m.mtime, m.uid, m.isdir()) for m in archive] == [
            ("z.json", 0, 0, False),
            ("a", 0, 0, True),
            ("a/x.bin", 0, 0, False),
            ("empty", 0, 0, False),
        ]


def test_it_is_reproducible() -> None:
    assert build_neff(MEMBERS) == build_neff(dict(MEMBERS))
    assert build_neff(MEMBERS)[HEADER_SIZE + 4 : HEADER_SIZE + 8] == bytes(4)  # gzip time


def test_wrong_header_values() -> None:
    with pytest.raises(EncodeError):
        build_neff({}, {"lnc_size": 1 << 40})

"""The header table against neff.md 1, and what the checks say of damaged ones."""

from __future__ import annotations

import hashlib
import struct

import pytest

from dgekit.core.errors import EncodeError, InputError
from dgekit.frontends.neff.header import FIELDS, HEADER_SIZE, check_header, decode_header, encode_header, package_hash

# offset and size of each field, as the chapter's table has them
TABLE = {
    "pkg_version": (0, 8), "header_size": (8, 8), "data_size": (16, 8), "neff_version_major": (24, 8),
    "neff_version_minor": (32, 8), "neff_build_version": (40, 128), "num_tpb": (168, 4), "hash": (172, 32),
    "uuid": (204, 16), "name": (220, 256), "requested_tpb_count": (476, 4), "tpb_per_node": (480, 64),
    "feature_bits": (544, 8), "lnc_size": (552, 4), "padding": (556, 468),
}  # fmt: skip


def test_the_table_is_the_chapters_and_has_no_gap() -> None:
    assert {field.name: (field.offset, field.size) for field in FIELDS} == TABLE
    position = 0
    for field in FIELDS:
        assert field.offset == position and field.meaning
        position += field.size
    assert position == HEADER_SIZE == 1024


def test_the_c_struct_agrees() -> None:
    """The offsets follow from C alignment: an independent packing gives the same bytes."""
    packed = struct.pack(
        "<QQQQQ128sI32s16s256sI64sQI468s",
        2, 1024, 0x6AD, 2, 0, b"2.0.21884.0", 1, b"h" * 32, b"u" * 16, b"toy", 1, b"\1", 0x100, 2, b"",
    )  # fmt: skip
    header = decode_header(packed, "f")
    assert header.number("data_size") == 1709 and header.number("feature_bits") == 0x100
    assert header.text("neff_build_version") == "2.0.21884.0" and header.text("name") == "toy"
    assert header.data("hash") == b"h" * 32 and header.data("tpb_per_node")[:2] == b"\1\0"
    assert encode_header(header.values) == packed


def test_values_that_do_not_fit() -> None:
    for values in ({"num_tpb": 1 << 32}, {"num_tpb": -1}, {"name": "x" * 257}, {"hash": bytes(33)}, {"nam": 1}):
        with pytest.raises(EncodeError):
            encode_header(values)


def test_short_and_foreign_headers() -> None:
    for data in (b"", bytes(1023), bytes(1024)):
        with pytest.raises(InputError) as caught:
            decode_header(data, "f.neff")
        assert caught.value.rule == "neff.header" and caught.value.where == "f.neff"


def rules(payload: bytes = b"payload", supported: int | None = None, **values: int | bytes) -> dict[str, str]:
    given = {"pkg_version": 2, "header_size": 1024, "data_size": len(payload), "hash": package_hash(payload), **values}
    header = decode_header(encode_header(given), "f")
    more = {} if supported is None else {"supported": supported}
    return {issue.rule: issue.severity for issue in check_header(header, payload, "f", **more)}


def test_a_good_header_has_no_issue() -> None:
    assert rules() == {}
    assert rules(feature_bits=0x80000000000000FF) == {}


def test_the_checks() -> None:
    assert rules(data_size=7 + 1025) == {"neff.data_size": "error"}
    assert rules(data_size=7 + 1024) == {"neff.data_size": "warning"}
    assert rules(data_size=0) == {"neff.data_size": "warning"}
    assert rules(feature_bits=0x100) == {"neff.features": "error"}
    assert rules(feature_bits=0x100, supported=0x1FF) == {}
    assert rules(neff_version_major=3) == {"neff.version": "advice"}
    assert rules(hash=bytes(32)) == {"neff.hash": "warning"}
    assert rules(pkg_version=1) == {"neff.hash": "advice"}


def test_the_hash_is_md5_and_sixteen_ascii_zeros() -> None:
    assert package_hash(b"abc") == hashlib.md5(b"abc").digest() + b"0000000000000000"
